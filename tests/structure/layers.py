"""The layers as CMake knows them, and what nm and #include lines say of their files."""
import collections
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


class Layer:
    def __init__(self, name, library, depends, sources):
        self.name, self.library = name, library
        self.depends = [d for d in depends.split(",") if d]
        self.sources = [pathlib.Path(s).resolve() for s in sources.split(",") if s]


def read(path):
    """Name -> layer, from the file that CMake wrote."""
    return {entry["layer"]: Layer(entry["layer"], entry["library"], entry["depends"], entry["sources"])
            for entry in json.loads(pathlib.Path(path).read_text())}


def reach(begin, following):
    """All that is reached from the names in begin, them included."""
    met, waiting = set(), list(begin)
    while waiting:
        at = waiting.pop()
        if at not in met:
            met.add(at)
            waiting += following(at)
    return met


def below(layers, name):
    """The layer and all that it may use."""
    return reach([name], lambda at: layers[at].depends)


class Object:
    def __init__(self, name):
        self.name, self.defines, self.uses = name, set(), set()


def objects(files):
    """Objects of libraries, and object files, with the global symbols that they define and use."""
    out = subprocess.run(["nm", "-A", "-P", "-g", *map(str, files)], capture_output=True, text=True, check=True).stdout
    found = collections.OrderedDict()
    for line in out.splitlines():
        where, symbol, kind = line.split()[:3]
        made = found.setdefault(where, Object(re.sub(r".*\[|\]?:$", "", where).removesuffix(".o")))
        (made.uses if kind in "Uw" else made.defines).add(symbol)
    return list(found.values())


def sources(*folders):
    """C files and headers of folders of the tree."""
    return sorted(p for f in folders for p in (ROOT / f).rglob("*") if p.suffix in (".c", ".h"))


def includes(path):
    """Files of the tree that a file includes."""
    return [p for p in (ROOT / name for name in INCLUDE.findall(path.read_text())) if p.exists()]
