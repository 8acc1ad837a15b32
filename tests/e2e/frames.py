#!/usr/bin/env python3
"""Frames of the operator window against DuckDB: offsets of rows, range and groups, by keys of all types up to the ends of
these, ascending and descending, NULLs first and last, ties, empty frames; rows that are excluded; NULLs that are ignored.

Usage: frames.py --heddle BIN [--backend cpu|cuda] [--seed N] [--plans N] [--rows N] [--threads N,N...]
"""
import sys

import windows
from windows import Decimal

windows.TYPES.clear()
windows.TYPES.update({"id": "int32", "g": "int32", "i": "int32", "j": "int64", "d": "decimal(12,2)", "m": "decimal(38,3)", "f": "float64",
                      "e": "float32", "a": "date", "b": "date", "z": "timestamp", "t": "string"})
KEYS = ["i", "j", "d", "m", "f", "e", "a", "b", "z"]
# as wide as no end of a key overflows
WIDE = {"i": "cast(i as bigint)", "j": "cast(j as hugeint)", "d": "cast(d as decimal(30,2))", "m": "cast(replace(cast(m as varchar), '.', '') as hugeint)"}
FRAMED = ["lag", "lead", "first_value", "last_value", "nth_value", "count", "sum", "avg", "count", "sum", "min", "max"]


def random_value(rng, name, row):
    return {
        "id": lambda: row,
        "g": lambda: rng.randint(0, 4),
        "i": lambda: rng.choice([2**31 - 1, -2**31] + [rng.randint(-20, 20)] * 8),
        "j": lambda: rng.choice([2**63 - 1, -2**63, 2**63 - 2, 3 - 2**63] + [rng.randint(-50, 50)] * 6),
        "d": lambda: Decimal(rng.choice([999999999999, -999999999999] + [rng.randint(-999, 999)] * 8)) / 100,
        "m": lambda: Decimal(rng.choice([10**38 - 1, 1 - 10**38, rng.randint(-9, 9) * 10**24, rng.randint(-10**4, 10**4)])) / 1000,
        "f": lambda: rng.choice([0.0, -0.0, 1e300, -1e308, 1.7e308, float("inf"), float("-inf"), float("nan")]
                                + [rng.randint(-50, 50) / 8] * 8),
        "e": lambda: rng.choice([0.0, 2.0**20, -2.0**21, float("nan"), float("inf")] + [rng.randint(-50, 50) / 8] * 8),
        "a": lambda: f"199{rng.randint(0, 1)}-0{rng.randint(1, 9)}-{rng.choice(['01', '10', '28', '15'])}",
        "b": lambda: rng.choice(["0001-01-01", "9999-12-31", "9999-11-30", "0001-02-03", "2024-02-29", "2024-03-31", "2023-01-31",
                                 f"2024-0{rng.randint(1, 9)}-2{rng.randint(0, 9)}"]),
        "z": lambda: rng.choice(["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2024-01-30 23:00:00", "2024-01-31 01:00:00",
                                 f"2024-0{rng.randint(1, 3)}-{rng.randint(27, 29)} {rng.randint(10, 23)}:00:00"]),
        "t": lambda: "".join(rng.choice("ab~") for _ in range(rng.randint(0, 4))),
    }[name]()


windows.random_value = random_value


class Plan(windows.Plan):
    def __init__(self, rng, table):
        self.rng, self.table = rng, table
        self.partition = rng.sample(["g", "i", "t"], rng.choice([0, 1, 1, 1, 2]))
        keys = rng.sample(KEYS, 1 if rng.random() < 0.8 else rng.choice([0, 2]))
        self.order = [(c, rng.random() < 0.4, rng.choice(["first", "last"])) for c in keys]
        self.params = {}
        self.functions = [self.function(n) for n in range(rng.randint(1, 5))]

    def offset(self, key):
        """(JSON, SQL)"""
        rng = self.rng
        if key in ("a", "b", "z"):
            if key == "z" and rng.random() < 0.4:
                unit, n = rng.choice([("hour", 5), ("minute", 600), ("second", 86400 * 2), ("microsecond", 1), ("hour", 10**8)])
                return f"interval '{n}' {unit}", f"interval '{n}' {unit}"
            unit, n = rng.choice([("day", rng.choice([0, 1, 3, 40, 4000000])), ("month", rng.choice([0, 1, 2, 14])),
                                  ("year", rng.choice([1, 3, 9998, 20000]))])
            return f"interval '{n}' {unit}", f"interval '{n}' {unit}"
        if key in ("f", "e"):
            n = rng.choice(["0e0", "0.5", "1.25e0", "3", "1e300" if key == "f" else "1e30"])
            return n, n if "e" in n else n + "::double" if key == "f" else n + "::real"
        if key == "m":
            n = rng.choice(["0", "1", "2500.125", "5000000000000000000000.5", "69999999999999999999999999999999999.999"])
            return n, f"{int(Decimal(n) * 1000)}::hugeint"
        if key == "d":
            n = rng.choice(["0", "1", "0.5", "2.25", "9999999999.99"])
        else:
            n = rng.choice(["0", "1", "2", "7", "30", str(2**31)] + [str(2**63 - 1)] * (key == "j"))
        return int(n) if rng.random() < 0.5 and "." not in n and int(n) < 2**53 else n, n

    def bound(self, unit, side):
        rng = self.rng
        if unit == "range":
            n, sql = self.offset(self.order[0][0])
        else:
            n = rng.choice([0, 1, 2, 5, 40])
            sql = str(n)
        if unit == "range" and self.order[0][0] not in ("a", "b", "z") and rng.random() < 0.3:
            name, key = f"p{len(self.params)}", windows.TYPES[self.order[0][0]]
            self.params[name] = {"type": "int64" if key == "int32" else key, "default": str(n) if "decimal" in key else float(n) if "float" in key else n}
            n = {"param": name} if rng.random() < 0.5 else f":{name}"
        return {side: n}, f"{sql} {side}"

    def frame(self, args_exact):
        rng = self.rng
        units = ["rows", "groups", "groups"] + (["range"] * 4 if len(self.order) == 1 else [])
        if not self.order:
            units = ["rows"]
        unit = rng.choice([u for u in units if u in UNITS])
        order = {"unbounded preceding": 0, "preceding": 1, "current row": 2, "following": 3, "unbounded following": 4}
        sides = sorted(rng.choices(list(order)[:4], [2, 6, 2, 3])+rng.choices(list(order)[1:], [3, 2, 6, 2]), key=order.get)
        if sides[0] == sides[1] and sides[0].startswith("unbounded"):
            return None
        ends = [self.bound(unit, s) if s in ("preceding", "following") else (s, s) for s in sides]
        frame, sql = {"unit": unit, "start": ends[0][0], "end": ends[1][0]}, f"{unit} between {ends[0][1]} and {ends[1][1]}"
        if rng.random() < 0.4:
            few = unit != "rows" or self.table != "many"  # DuckDB collects lists of these
            frame["exclude"] = rng.choice(["no others", "current row"] + ["group", "ties"] * few)
            sql += f" exclude {frame['exclude']}"
        return frame, sql, unit == "rows"

    def json(self):
        return {**super().json(), "params": self.params}

    def function(self, n):
        rng = self.rng
        fn = rng.choice(FRAMED)
        f = {"fn": fn, "as": f"w{n}"}
        if fn in ("sum", "avg"):
            f["arg"] = rng.choice(("i", "j", "d", "e"))
        elif fn != "count" or rng.random() < 0.6:
            f["arg"] = rng.choice(["id", "i", "d", "e", "b", "t"])
        if fn == "nth_value":
            f["n"] = rng.choice([1, 2, 3, 7])
        ignoring = fn in ("first_value", "last_value", "nth_value", "lag", "lead") and self.table != "many" and rng.random() < 0.5
        if ignoring:
            f["nulls"] = "ignore"
        if fn in ("lag", "lead"):
            f["offset"] = rng.choice([1, 1, 2, 5])
            if ignoring and f["arg"] in ("i", "id") and rng.random() < 0.5:
                f["default"] = "-7"
            return f
        frame = self.frame(True)
        if frame:
            f["frame"], f["_sql"], f["_rows"] = frame
            if fn == "nth_value" and "exclude" in f["frame"] and self.table == "many":
                f["fn"] = "last_value"
                del f["n"]
        return f

    def sql(self):
        partition = f"partition by {', '.join(self.partition)} " if self.partition else ""
        stated = [f"{WIDE.get(c, c)} {'desc' if d else 'asc'} nulls {n}" for c, d, n in self.order]
        named = [c for c, _, _ in self.order]
        whole = ([f"{c} {'desc' if d else 'asc'} nulls {n}" for c, d, n in self.order]
                 + [f"{c} asc nulls last" for c in windows.TYPES if c not in named])
        by_stated = f"{partition}{'order by ' + ', '.join(stated) if stated else ''}"
        by_whole = f"{partition}order by {', '.join(whole)}"
        numbers = (f"select *, row_number() over ({by_whole}) as rn, rank() over ({by_stated}) as rk, "
                   f"count(*) over ({by_stated}{' range between unbounded preceding and current row' if stated else ''})"
                   f" as pe from {self.table}")
        items = [self.item(f, by_stated, by_whole) for f in self.functions]
        ends = "".join(f", {self.place(f, self.over(f, by_stated, by_whole))} as at_{f['as']}" for f in self.functions)
        return f"select {', '.join(windows.TYPES)}, {', '.join(items)} from (select *{ends} from ({numbers}))"

    def over(self, f, by_stated, by_whole):
        sql = f.get("_sql", "")
        if self.is_list(f) and f["fn"] in ("lag", "lead"):
            return f"over ({by_whole} rows between " + ("unbounded preceding and 1 preceding)" if f["fn"] == "lag" else "1 following and unbounded following)")
        if self.is_list(f) and f.get("_rows"):
            sql = sql.split(" exclude")[0]
        return f"over ({by_whole if f.get('_rows') else by_stated} {sql})"

    def is_list(self, f):
        """Neither order of DuckDB has both the rows and their peers."""
        return "nulls" in f or (f.get("_rows") and f["frame"].get("exclude") in ("group", "ties"))

    def rows_of_list(self, f, over):
        exclude = f.get("frame", {}).get("exclude") if f.get("_rows") else None
        own = {"group": "(s.r < rk or s.r > pe)", "ties": "(s.r < rk or s.r > pe or s.r = rn)", "current row": "s.r <> rn"}.get(exclude, "true")
        there = " and s.v is not null" if "nulls" in f else ""
        rows = f"list(struct_pack(r := rn, v := {f.get('arg', 'rn')})) {over}"
        return f"list_sort(list_filter(coalesce({rows}, []), lambda s: {own}{there}))"

    def item_of_list(self, f):
        at = f"at_{f['as']}"
        n, total = f"len(list_filter({at}, lambda s: s.v is not null))", f"list_sum(list_transform({at}, lambda s: s.v))"
        default = f.get("default", "null")
        k = f.get("offset", 1)
        some = f"list_filter(list_transform({at}, lambda s: s.v), lambda v: v is not null)"
        if f.get("arg") == "e" and f["fn"] == "avg":
            return f"list_sum(list_transform({some}, lambda v: v::double)) / nullif({n}, 0)"
        if f["fn"] in ("min", "max"):
            return f"list_{f['fn']}({some})"
        return {"lag": f"case when len({at}) >= {k} then {at}[-{k}].v else {default} end",
                "lead": f"case when len({at}) >= {k} then {at}[{k}].v else {default} end", "first_value": f"{at}[1].v", "last_value": f"{at}[-1].v", "nth_value": f"{at}[{f.get('n')}].v", "count": n, "sum": total,
                "avg": f"struct_pack(s := {total}, n := {n})"}[f["fn"]]

    def place(self, f, over):
        """The number of the row that has the value; rows of a frame have successive ones."""
        if self.is_list(f):
            return self.rows_of_list(f, over)
        nth = f"case when count(*) {over} >= {f.get('n')} then min(rn) {over} + {f.get('n')} - 1 end"
        if "exclude" in f.get("frame", {}):
            nth = f"list_sort(list(rn) {over})[{f.get('n')}]"
        return {"first_value": f"min(rn) {over}", "last_value": f"max(rn) {over}",
                "nth_value": nth}.get(f["fn"], "0")

    def item(self, f, by_stated, by_whole):
        fn, arg, over = f["fn"], f.get("arg", ""), self.over(f, by_stated, by_whole)
        if self.is_list(f):
            return self.item_of_list(f)
        every = f"over ({by_whole} rows between unbounded preceding and unbounded following)"
        if fn in ("first_value", "last_value", "nth_value"):
            return f"case when at_{f['as']} is not null then nth_value({arg}, greatest(1, at_{f['as']})) {every} end"
        if fn in ("lag", "lead"):
            return f"{fn}({arg}, {f['offset']}, {f.get('default', 'null')}) over ({by_whole})"
        if fn in ("sum", "avg") and arg == "e":
            return f"sum(cast(e as double)) {over}" + (f" / count(e) {over}" if fn == "avg" else "")
        if fn == "avg":
            whole = {"j": "cast({} as hugeint)"}.get(arg, "{}").format(arg)
            return f"struct_pack(s := sum({whole}) {over}, n := count({arg}) {over})"
        return f"{fn}({arg}) {over}" if arg else f"greatest(count(*) {over}, 0)"  # DuckDB 1.x: below 0 where the end is before the start


UNITS = ["rows", "range", "groups"]
windows.Plan = Plan
windows.REAL.clear()

if __name__ == "__main__":
    sys.exit(windows.main())
