#!/usr/bin/env python3
"""Files of planner, codegen and the executors depend on each other in one direction: no function of one calls, through
any number of others, back into its own file.

    check_circles.py LAYERS.json
"""
import sys

import layers as model

CHECKED = ("planner", "codegen", "work", "exec", "gpu")


def uses(layer):
    """File -> files of the layer that it calls or whose data it reads."""
    objects = model.objects([layer.library])
    home = {symbol: o.name for o in objects for symbol in o.defines}
    return {o.name: {home[s] for s in o.uses if s in home} - {o.name} for o in objects}


def circles(graph):
    """Sets of files each of which reaches every other."""
    all_ = {name: model.reach(graph[name], graph.__getitem__) for name in graph}
    found = {frozenset(b for b in all_[a] if a in all_[b]) for a in graph if a in all_[a]}
    return sorted(found, key=sorted)


def some_circle(graph, names):
    """One circle among them, as short as there is from its first file."""
    start = min(names)
    paths = [[start]]
    for path in paths:
        for to in sorted(graph[path[-1]] & names):
            if to == start:
                return path + [start]
            if not any(to in p for p in paths):
                paths.append(path + [to])


def main():
    layers = model.read(sys.argv[1])
    bad = []
    for name in CHECKED:
        graph = uses(layers[name])
        for circle in circles(graph):
            bad.append(f"{name}: a circle: {' -> '.join(some_circle(graph, circle))}; it holds {', '.join(sorted(circle))}")
    print("\n".join(bad) if bad else f"no circles in {', '.join(CHECKED)}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
