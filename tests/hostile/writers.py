"""Commands that write: what each makes, and how to see that it is whole. Classes kill and full_disk interrupt them.

A writer works in a trial's folder, where the user has things of similar names, too; they must outlive everything.
"""

import functools
import json
import shutil
import time

import judge

OLD = "the old file\n"
SCALE = "0.01"
JOIN = {"heddle": 1, "root": {"op": "sort", "keys": ["cid", "name"], "input":
        {"op": "project", "exprs": ["cid", "name", "tag"], "input":
         {"op": "join", "kind": "inner", "on": [["pname", "name"]], "left": {"op": "scan", "table": "child"},
          "right": {"op": "scan", "table": "parent"}}}}}


def decoys_of(name):
    """Folders and locks that look like a writer's, but are not: no lock, another's, an empty one beside a full folder."""
    return [f"{name}.tmp-{n}" for n in ("1-1", "99999-1", "99999-1.lock", "99998-1", "99998-1.lock", "99997-1.lock")]


def make_decoy(path):
    if path.suffix == ".lock":
        path.write_text("" if "99998" in path.name else "mine")
    else:
        path.mkdir(parents=True)
        (path / "precious").write_text("mine")


class Writer:
    """args: of the command; makes: the names that may be in the folder when it has ended well."""
    stdin = b""
    env = {}
    makes = ()
    before = {}  # files that are there before

    def args(self, world):
        raise NotImplementedError

    def prepare(self, t):
        """The user's things: files that the command replaces, and neighbours that look like its own."""
        for name, text in self.before.items():
            (t.dir / name).write_text(text)
        for name in self.decoys():
            make_decoy(t.dir / name)

    def decoys(self):
        return [decoy for name in self.makes for decoy in decoys_of(name)]

    def whole(self, t, ended_well):
        """What is visible is whole; after a good end all of it is there."""
        raise NotImplementedError

    def clear(self, t):
        """Makes room for the next run, as a user would."""

    def look(self, t, ended_well, leftovers=False):
        """The folder's names and what they hold. leftovers: hidden unfinished things are allowed, a killed process
        cannot remove them."""
        found = {p.name for p in t.dir.iterdir()}
        known = set(self.makes) | set(self.before) | set(self.decoys()) | {"listing"}
        judge.hold(leftovers or not found - known, f"left behind: {sorted(found - known)}")
        for name in list(self.decoys()) + [n for n in self.before if n not in self.makes]:
            judge.hold(name in found, f"the user's {name} is gone")
        for name in self.decoys():
            if (t.dir / name).is_dir():
                judge.only(t.dir / name, ["precious"], name)
        self.whole(t, ended_well)

    def run(self, t, **more):
        return t.run(*self.args(t.world), stdin=self.stdin, env=self.env, **more)


class Database(Writer):
    makes = ("db",)

    def whole(self, t, ended_well):
        db = t.dir / "db"
        if ended_well or (db.exists() and any(db.iterdir())):
            t.world.must("check", "db", cwd=t.dir)
            names = self.names(t.world)
            judge.only(db, names, "a database that is visible")

    def names(self, world):
        return [p.name for p in self.reference(world).iterdir()]

    def clear(self, t):
        for path in (t.dir / "db").glob("*"):
            path.unlink()


class Generated(Database):
    def args(self, world):
        return ["gen", "tpch", "--sf", SCALE, "--out", "db"]

    @functools.lru_cache
    def reference(self, world):
        world.must("gen", "tpch", "--sf", SCALE, "--out", "reference-db", cwd=world.root)
        return world.root / "reference-db"


class Loaded(Database):
    def args(self, world):
        return ["load", "--schema", world.small_data / "schema.json", "--from", world.small_data, "--out", "db"]

    def reference(self, world):
        return world.small


class Texts(Writer):
    """Each file is whole or absent; names with .tbl alone are products."""
    makes = ("tbl",)

    def args(self, world):
        return ["gen", "tpch", "--sf", SCALE, "--tbl", "tbl"]

    @functools.lru_cache
    def reference(self, world):
        world.must("gen", "tpch", "--sf", SCALE, "--tbl", "reference-tbl", cwd=world.root)
        return {p.name: p.read_bytes() for p in (world.root / "reference-tbl").iterdir()}

    def prepare(self, t):
        super().prepare(t)
        for name in decoys_of(".heddle-tbl"):
            make_decoy(t.dir / "tbl" / name)

    def whole(self, t, ended_well):
        expected = self.reference(t.world)
        found = {p.name for p in (t.dir / "tbl").iterdir() if not p.name.startswith(".")}
        judge.hold(found <= set(expected), f"unknown files: {sorted(found - set(expected))}")
        judge.hold(not ended_well or found == set(expected), f"missing: {sorted(set(expected) - found)}")
        for name in found:
            judge.hold((t.dir / "tbl" / name).read_bytes() == expected[name], f"{name} is not whole")

    def look(self, t, ended_well, leftovers=False):
        super().look(t, ended_well, leftovers)
        hidden = {p.name for p in (t.dir / "tbl").iterdir() if p.name.startswith(".")}
        users = set(decoys_of(".heddle-tbl"))
        judge.hold(users <= hidden, f"the user's {sorted(users - hidden)} are gone")
        judge.hold(leftovers or hidden == users, f"left behind: {sorted(hidden - users)}")


class Outputs(Writer):
    """Files that replace old ones: the old content, or all of the new one."""

    def whole(self, t, ended_well):
        for name, expected in self.expected(t.world).items():
            text = (t.dir / name).read_text() if (t.dir / name).exists() else None
            judge.hold(self.is_new(text, expected) or (not ended_well and text == self.before.get(name)),
                       f"{name} is not whole: {text and text[:100]!r}...{text and text[-100:]!r}")

    def is_new(self, text, expected):
        return text == expected


class Batch(Outputs):
    before = {"a.csv": OLD}
    makes = ("a.csv", "b.csv")
    stdin = "".join(json.dumps({"plan": JOIN, "out": name}) + "\n" for name in ("a.csv", "b.csv")).encode()

    def args(self, world):
        return ["run", "--batch", "-", "--db", world.small]

    @functools.lru_cache
    def expected(self, world):
        text = world.must("run", "-", "--db", world.small, "--format", "csv", cwd=world.root,
                          stdin=json.dumps(JOIN).encode()).decode()
        return dict.fromkeys(self.makes, text)


class Report(Outputs):
    """JSON that differs from run to run: all of it can be read."""
    before = {"report.json": OLD}
    makes = ("report.json",)

    def expected(self, world):
        return {"report.json": "{}"}

    def is_new(self, text, expected):
        try:
            return isinstance(json.loads(text or ""), dict)
        except ValueError:
            return False


class Bench(Report):
    def args(self, world):
        return ["bench", "tpch", "--db", world.tpch, "--queries", "1,6,14", "--repeat", "1", "--out", "report.json"]


class Profile(Report):
    stdin = json.dumps(JOIN).encode()

    def args(self, world):
        return ["run", "-", "--db", world.small, "--profile", "report.json"]


class Cache(Writer):
    """A cache that starts empty. What a killed process leaves in it goes an hour later."""
    env = {"HEDDLE_CACHE": "cache"}
    stdin = json.dumps(JOIN).encode()
    makes = ("cache",)

    def args(self, world):
        return ["run", "-", "--db", world.small, "--format", "csv"]

    def prepare(self, t):
        super().prepare(t)
        (t.dir / "cache").mkdir(mode=0o700)

    def whole(self, t, ended_well):
        done = t.run("run", "-", "--db", t.world.small, "--format", "csv", stdin=self.stdin, env=self.env)
        judge.hold(judge.ended(done) == judge.ROWS, f"with the cache as it is: {done}")
        judge.same(done.out.decode(), ALL["batch"].expected(t.world)["a.csv"], "a run with the cache")


ALL = {"gen": Generated(), "load": Loaded(), "texts": Texts(), "batch": Batch(), "bench": Bench(), "profile": Profile(),
       "cache": Cache()}
_lengths = {}


def length_s(t, name):
    """How long the command takes when nobody disturbs it, measured once."""
    if name not in _lengths:
        writer = ALL[name]
        folder = t.dir / "undisturbed"
        folder.mkdir()
        begun = time.monotonic()
        done = writer.run(t, cwd=folder)
        judge.hold(done.status == 0, f"undisturbed: {done}")
        _lengths[name] = time.monotonic() - begun
        shutil.rmtree(folder)
    return _lengths[name]

