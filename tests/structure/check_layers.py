#!/usr/bin/env python3
"""Each layer uses symbols and headers of itself and of the layers that CMake lists for it, and of no others.

    check_layers.py LAYERS.json
"""
import sys

import layers as model

# (folder, folder whose headers it includes though its layer does not link with it, why). An entry that nothing needs fails.
DATA_ONLY = [
    ("runtime", "frontend/catalog.h", "the spec names tables and columns by the catalog's structs"),
    ("runtime", "frontend/segments.h", "whoever writes tables cuts them by the keys that the catalog's structs have"),
    ("runtime", "frontend/zones.h", "who computes zones has values as the ordinals that whoever tests zones compares with"),
    ("runtime", "templates/abi.h", "what generated code and the runtime have in common"),
]


def undefined_elsewhere(layers):
    """Symbols that a layer takes from a layer that it does not list."""
    objects = {name: model.objects([layer.library]) for name, layer in layers.items()}
    home = {symbol: name for name, list_ in objects.items() for o in list_ for symbol in o.defines}
    for name in layers:
        allowed = model.below(layers, name)
        for o in objects[name]:
            for symbol in sorted(o.uses):
                if home.get(symbol, name) not in allowed:
                    yield f"{name}: {o.name} uses {symbol} of the layer {home[symbol]}, which is not below"


def layer_of_headers(layers):
    """Header -> layers: that of the source beside it, else those of its folder."""
    of_source = {source: name for name, layer in layers.items() for source in layer.sources}
    of_folder = {}
    for source, name in of_source.items():
        of_folder.setdefault(source.parent, set()).add(name)
    homes = {}
    for header in (p for p in model.sources("frontend", "planner", "codegen", "runtime", "templates") if p.suffix == ".h"):
        source = header.with_suffix(".c")
        homes[header] = {of_source[source]} if source in of_source else of_folder.get(header.parent, {header.parent.name})
    return of_source, homes


def wrong_includes(layers, used):
    of_source, homes = layer_of_headers(layers)
    files = [(source, {name}) for source, name in of_source.items() if source.exists()] + list(homes.items())
    for path, own in sorted(files):
        for header in model.includes(path):
            allowed = set().union(*(model.below(layers, name) for name in own)) if own else set()
            if header not in homes or homes[header] & allowed:
                continue
            relative = path.relative_to(model.ROOT)
            entry = next((e for e in DATA_ONLY if relative.parts[0] == e[0] and header == model.ROOT / e[1]), None)
            if entry:
                used.add(entry)
            else:
                yield f"{relative} includes {header.relative_to(model.ROOT)}, which is of no layer below"


def main():
    layers = model.read(sys.argv[1])
    used = set()
    found = list(undefined_elsewhere(layers)) + list(wrong_includes(layers, used))
    found += [f"nothing needs the exception {e[0]} -> {e[1]}" for e in DATA_ONLY if e not in used]
    print("\n".join(found) if found else f"{len(layers)} layers, each on those below")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
