#!/usr/bin/env python3
"""Random trees of joins, with their order left to the planner and as written: rows and columns are the same.

Tables have primary and foreign keys, NULLs, duplicates and texts; trees are chains, stars and cliques of inner, semi, anti,
mark and outer joins, with filters and projections between them, conditions over several relations, some that may raise,
cross joins, self joins, and subplans that are used once or twice. Some trees must have been changed.

Usage: join_orders.py --heddle BIN [--backend cpu|cuda] [--count N] [--seed S] [--write DIR]    DIR: plans and database for another check
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

TABLES = {  # columns: name -> type, values drawn from (None: the row's number, a key)
    "a": ({"id": None, "g": 4, "n": 9, "t": "xyz"}, 30),
    "b": ({"id": None, "a": "a", "n": 9, "t": "xyz"}, 90),
    "c": ({"id": None, "b": "b", "a": "a", "n": 9}, 250),
    "d": ({"id": None, "g": 4, "t": "xyz"}, 6),
    "e": ({"n": 9, "g": 4, "m": 9}, 12),
    "f": ({"a": "a", "d": "d", "n": 9}, 80),
}
KEYS = {"f": ["a", "d"]}


def columns_of(table):
    return list(TABLES[table][0])


def values(rng, name, rows):
    """Rows of a table; None is NULL."""
    columns, out = TABLES[name][0], []
    pairs = rng.sample([(x, y) for x in range(TABLES["a"][1]) for y in range(TABLES["d"][1])], rows) if name in KEYS else None
    for i in range(rows):
        row = {}
        for c, of in columns.items():
            if of is None:
                row[c] = i
            elif of in TABLES:
                row[c] = pairs[i][c == "d"] if pairs else None if rng.random() < 0.1 else min(rng.randrange(TABLES[of][1]), rng.randrange(TABLES[of][1]))
            elif isinstance(of, int):
                row[c] = None if rng.random() < 0.1 else rng.randrange(of)
            else:
                row[c] = None if rng.random() < 0.1 else rng.choice(of)
        out.append(row)
    return out


def load(heddle, folder, rng):
    tables = []
    for name, (columns, rows) in TABLES.items():
        key = KEYS.get(name, ["id"] if "id" in columns else [])
        table = {"name": name, "columns": [{"name": c, "type": "string" if isinstance(of, str) and of not in TABLES else "int32" if c == "m" else "int64",
                                            **({"nullable": True} if c not in key else {})} for c, of in columns.items()]}
        if key:
            table["primary_key"] = key
        keys = [{"columns": [c], "table": of, "references": ["id"]} for c, of in columns.items() if of in TABLES]
        if keys:
            table["foreign_keys"] = keys
        tables.append(table)
        text = "".join("|".join("" if v is None else str(v) for v in row.values()) + "\n" for row in values(rng, name, rows))
        (folder / f"{name}.tbl").write_text(text)
    form = {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}
    (folder / "schema.json").write_text(json.dumps({"format": form, "tables": tables}))
    subprocess.run([heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)


class Rel:
    """An operator, its columns (name -> kind: i int64, s string, m int32, b bool), and rows at most, as a guess."""

    def __init__(self, node, columns, rows):
        self.node, self.columns, self.rows = node, columns, rows


class Gen:
    def __init__(self, rng):
        self.rng, self.serial, self.shared = rng, 0, {}

    def fresh(self, stem):
        self.serial += 1
        return f"{stem}{self.serial}"

    def scan(self):
        table = self.rng.choice(list(TABLES))
        alias = self.fresh(table)
        kinds = {c: "s" if isinstance(of, str) and of not in TABLES else "m" if c == "m" else "i" for c, of in TABLES[table][0].items()}
        node = {"op": "scan", "table": table, "alias": alias}
        rel = Rel(node, {f"{alias}.{c}": k for c, k in kinds.items()}, TABLES[table][1])
        if self.rng.random() < 0.3:
            node["filter"] = self.condition(rel, 1)
        return rel

    def column(self, rel, kinds):
        return self.rng.choice([c for c, k in rel.columns.items() if k in kinds] or [None])

    def simple(self, rel):
        """A comparison of a column with a constant, or of two columns."""
        rng, x = self.rng, self.column(rel, "ims")
        if x is None:
            return "true"
        if rel.columns[x] == "s":
            return rng.choice([f"{x} = '{rng.choice('xyzw')}'", f"{x} in ('x', 'y')", f"{x} like 'x%'", f"{x} is null", f"{x} is not null"])
        y = self.column(rel, rel.columns[x])
        return rng.choice([f"{x} {rng.choice(['=', '<', '>=', '<>'])} {rng.randrange(9)}", f"{x} {rng.choice(['=', '<', '<='])} {y}", f"{x} is not null",
                           f"{x} in (1, 2, 5, 7)", f"coalesce({x}, 3) < 6"])

    def condition(self, rel, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < 0.4:
            return self.simple(rel)
        if rng.random() < 0.1:
            x = self.column(rel, "i")
            return f"{x} + {x} > {rng.randrange(6)}" if x else "true"  # may raise, as far as its type tells
        if rng.random() < 0.4:  # arms that have something in common
            both = self.simple(rel)
            return "(" + " or ".join(f"({both} and {self.condition(rel, depth - 1)} and {self.simple(rel)})" for _ in range(2)) + ")"
        word = rng.choice([" and ", " or "])
        return "(" + word.join(self.condition(rel, depth - 1) for _ in range(rng.randint(2, 3))) + ")"

    def pairs(self, left, right):
        """Keys of two inputs: mostly those that foreign keys connect."""
        out, rng = [], self.rng
        for _ in range(rng.choice([1, 1, 1, 1, 2])):
            kinds = rng.choice(["i", "i", "i", "i", "im", "s"])
            x, y = self.column(left, kinds), self.column(right, kinds)
            keyed = [(l, r) for l in left.columns for r in right.columns if {l.split(".")[-1], r.split(".")[-1]} in ({"id", "a"}, {"id", "b"}, {"id", "d"}, {"n"}, {"a"})
                     and left.columns[l] == right.columns[r] == "i"]
            if keyed and rng.random() < 0.7:
                x, y = rng.choice(keyed)
            if x and y:
                out.append([x, y] + (["null_equal"] if rng.random() < 0.07 else []))
        return out

    def join(self, left, right):
        rng = self.rng
        kind = rng.choice(["inner"] * 9 + ["semi", "anti", "left", "left", "right", "full", "mark"])
        pairs = self.pairs(left, right)
        if rng.random() < 0.12 and left.rows * right.rows < 3000:
            pairs = []
        if not pairs and left.rows * right.rows > 20000:
            kind = "semi"
        node = {"op": "join", "kind": kind, "left": left.node, "right": right.node}
        above = kind == "inner" and rng.random() < 0.3 and all(len(p) == 2 for p in pairs)
        if pairs and not above:
            node["on"] = pairs
        both = Rel(None, {**left.columns, **right.columns}, 0)
        if rng.random() < 0.3:
            node["residual"] = self.condition(both)
        if rng.random() < 0.05:
            node["strategy"] = "hash" if node.get("on") else "loop"
        columns = dict(left.columns) if kind in ("semi", "anti", "mark") else {**left.columns, **right.columns}
        rows = left.rows * right.rows if not pairs else max(left.rows, right.rows, left.rows * right.rows // 20)
        if kind in ("semi", "anti", "mark"):
            rows = left.rows
        if kind == "mark":
            node["mark"] = self.fresh("mark")
            columns[node["mark"]] = "b"
        if above and pairs:
            node = {"op": "filter", "pred": " and ".join(f"{x} = {y}" for x, y in pairs), "input": node}
        return Rel(node, columns, rows)

    def between(self, rel):
        rng, marks = self.rng, [c for c, k in rel.columns.items() if k == "b"]
        if marks and rng.random() < 0.5:
            mark = rng.choice(marks)
            pred = rng.choice([mark, f"not {mark}", f"{mark} or {self.simple(rel)}"])
            return Rel({"op": "filter", "pred": pred, "input": rel.node}, rel.columns, rel.rows)
        if rng.random() < 0.25:
            return Rel({"op": "filter", "pred": self.condition(rel), "input": rel.node}, rel.columns, rel.rows)
        if rng.random() < 0.15:
            kept = {c: k for c, k in rel.columns.items() if rng.random() < 0.7} or rel.columns
            exprs, columns, names = [], {}, list(kept)
            rng.shuffle(names)
            for c in names:
                name = self.fresh("p")
                exprs.append({"expr": c, "as": name})
                columns[name] = kept[c]
            x = self.column(rel, "i")
            if x:
                name = self.fresh("q")
                exprs.append({"expr": f"coalesce({x}, 0)", "as": name})
                columns[name] = "i"
            return Rel({"op": "project", "exprs": exprs, "input": rel.node}, columns, rel.rows)
        if rng.random() < 0.08:
            x, n = self.column(rel, "i"), self.fresh("n")
            if x:
                k = self.fresh("k")
                return Rel({"op": "aggregate", "keys": [{"expr": x, "as": k}], "aggs": [{"fn": "count", "as": n}], "input": rel.node}, {k: "i", n: "i"}, min(rel.rows, 90))
        if rng.random() < 0.08:
            name = self.fresh("shared")
            self.shared[name] = rel.node
            x = self.fresh("x")
            columns = {f"{x}.{c}": k for c, k in rel.columns.items()}
            return Rel({"op": "ref", "name": name, "alias": x}, columns, rel.rows)
        return rel

    def again(self):
        """A shared subplan that is used once more."""
        name, x = self.rng.choice(list(self.shared)), self.fresh("x")
        node = self.shared[name]
        if node["op"] != "scan":
            return self.scan()
        return Rel({"op": "ref", "name": name, "alias": x}, {f"{x}.{node['alias']}.{c}": "i" for c in columns_of(node["table"]) if c in ("id", "a", "b", "n", "g")}, 90)

    def tree(self, n):
        if n == 1:
            return self.between(self.again() if self.shared and self.rng.random() < 0.1 else self.scan())
        k = self.rng.choice([1, n - 1, self.rng.randint(1, n - 1)])
        return self.between(self.join(self.tree(k), self.tree(n - k)))

    def plan(self):
        rel = self.tree(self.rng.choice([2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 14]))
        node = rel.node
        if rel.rows > 5000 or self.rng.random() < 0.3:
            kinds = rel.columns
            aggs = [{"fn": "count", "as": "rows"}]
            for c in list(kinds)[:6]:
                if kinds[c] in "im":
                    aggs += [{"fn": "sum", "arg": f"cast({c} as decimal(12,0))", "as": f"sum of {c}"}, {"fn": "count", "arg": c, "as": f"count of {c}"}]
                elif kinds[c] == "s":
                    aggs += [{"fn": "min", "arg": c, "as": f"min of {c}"}, {"fn": "max", "arg": c, "as": f"max of {c}"}]
            node = {"op": "aggregate", "aggs": aggs, "input": node}
        plan = {"heddle": 1, "root": node}
        if self.shared:
            plan["shared"] = self.shared
        return plan


def run(args, folder, db, plans):
    """(columns, sorted rows) or an error, of each plan."""
    lines = [json.dumps({"plan": p, "out": str(folder / f"{i}.csv"), "format": "csv"}) for i, p in enumerate(plans)]
    (folder / "batch").write_text("\n".join(lines) + "\n")
    command = [args.heddle, "run", "--batch", folder / "batch", "--db", db, "--threads", "2", "--backend", args.backend, "--query-timeout", "20"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"exit status {done.returncode}\n{done.stderr}")
    out = []
    for i, line in enumerate(done.stdout.splitlines()):
        said = json.loads(line)
        if "error" in said:
            out.append(("error", said["error"]["message"]))
            continue
        text = (folder / f"{i}.csv").read_text().splitlines()
        out.append((text[0], sorted(text[1:])))
    return out


def moved(args, folder, db, plan):
    (folder / "plan.json").write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "explain", folder / "plan.json", "--db", db, "--dump", "physical"], capture_output=True, text=True)
    return "join order: by cost" in done.stdout


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=300)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--write", type=pathlib.Path)
    args = ap.parse_args()
    rng, wrong, none, some = random.Random(args.seed), 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="heddle-orders-") as folder:
        folder = args.write or pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        load(args.heddle, folder, rng)
        plans = [Gen(rng).plan() for _ in range(args.count)]
        autos = [{**p, "order": "auto"} for p in plans]
        for i, p in enumerate(autos if args.write else []):
            (folder / f"plan{i:03}.json").write_text(json.dumps(p))
        for i, (want, got) in enumerate(zip(run(args, folder, folder / "db", plans), run(args, folder, folder / "db", autos))):
            none += want[0] == "error"
            some += want[0] != "error" and len(want[1]) > 0
            if want != got and not (want[0] == "error" and "timeout" in want[1]):
                wrong += 1
                print(f"plan {i}: written {str(want)[:300]}\nauto {str(got)[:300]}\n{json.dumps(plans[i])}\n")
        changed = sum(moved(args, folder, folder / "db", p) for p in autos[:40])
    print(f"{args.count} plans, {none} of them fail, {some} have rows, {wrong} wrong; of the first 40 {changed} have another order")
    return wrong > 0 or changed < 5 or none > args.count / 4 or some < args.count / 2


if __name__ == "__main__":
    sys.exit(main())
