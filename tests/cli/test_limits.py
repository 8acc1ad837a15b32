#!/usr/bin/env python3
"""Deep and wide plans: pipelines that are cut where their levels end, and each limit of docs/plan.md at the limit and
one above."""

import itertools
import json
import unittest

import cli

BACKENDS = ("pipelines", "cuda")


def values(columns, rows):
    return {"op": "values", "columns": [{"name": c, "type": "int64"} for c in columns],
            "rows": [[None if v is None else str(v) for v in row] for row in rows]}


def ref(name, alias=None):
    return {"op": "ref", "name": name, **({"alias": alias} if alias else {})}


def join(left, right, kind="inner", **more):
    return {"op": "join", "kind": kind, "left": left, "right": right, **more}


ONE = values(["k"], [[1]])


class Limits(cli.CliTest):
    def emit(self, text):
        """Plans and emits for both backends; the LLVM code is compiled where the answer is asked for."""
        path = self.write("plan.json", text)
        return [self.run_cli("explain", path, "--dump", what)[0] for what in BACKENDS]

    def answer(self, text):
        out, _ = self.run_cli("run", self.write("plan.json", text), "--format", "csv")
        return [tuple(None if v == "" else int(v) for v in line.split(",")) for line in out.splitlines()[1:]]

    def cuts(self, text):
        """How often the planner keeps rows between levels."""
        return self.emit(text)[0].count(": keeps the rows that come to it")

    def refuse(self, text, message):
        """One error of class user, whatever is asked of the plan."""
        path = self.write("plan.json", text)
        for command in (["run", path], *(["explain", path, "--dump", what] for what in BACKENDS)):
            self.assertRegex(self.fail_cli(*command), message)


class Levels(Limits):
    """A pipeline has sixteen levels; joins that open more are plans as any other."""
    COUNTS = (6, 14, 15, 16, 17, 40)

    def assert_cut(self, text, levels):
        """Fifteen levels beside the source's are the most, wide ones fewer."""
        cuts = self.cuts(text)
        self.assertGreaterEqual(cuts, (levels - 1) // 15)
        self.assertLessEqual(cuts, levels // 8)

    def test_distinct_counts(self):
        for n in self.COUNTS:
            columns = [f"c{i}" for i in range(n)]
            text = cli.plan({
                "op": "aggregate", "input": values(columns, [[r % (i + 2) for i in range(n)] for r in range(60)]),
                "aggs": [{"fn": "count", "distinct": True, "arg": c, "as": f"d{c}"} for c in columns]})
            self.assert_cut(text, n - 1)
            self.assertEqual(self.answer(text), [tuple(i + 2 for i in range(n))])

    def left_joins(self, n, **more):
        """Rows with 0, 1 and 2 matches in each right input; few of the inputs multiply."""
        left, rows = values(["k"], [[0], [1], [2]]), [(0,), (1,), (2,)]
        for i in range(n):
            right = [(0, i), (1, 7 + i)] + [(1, 8 + i)] * (i % 9 == 0)
            left = join(left, values([f"k{i}", f"v{i}"], right + [(5, 1), (5, 2)]), "left", on=[["k", f"k{i}"]], **more)
            matched = [[r + m for m in right if m[0] == r[0]] or [r + (None, None)] for r in rows]
            rows = list(itertools.chain.from_iterable(matched))
        return cli.plan(left), rows

    def test_left_joins(self):
        for n in self.COUNTS:
            text, rows = self.left_joins(n)
            self.assert_cut(text, n)
            self.assertEqual(sorted(map(str, self.answer(text))), sorted(map(str, rows)))

    def test_left_joins_with_residuals(self):
        text, rows = self.left_joins(17, residual="k < 5")
        self.emit(text)
        self.assertEqual(sorted(map(str, self.answer(text))), sorted(map(str, rows)))

    def test_cross_theta_and_scalar(self):
        for n in self.COUNTS:
            inputs = {
                "cross": [{} for _ in range(n)],
                "theta": [{"residual": f"k = k{i}"} for i in range(n)],
                "scalar": [{"single": True} for _ in range(n)]}
            for name, more in inputs.items():
                left = values(["k"], [[1], [2]])
                for i in range(n):
                    one = [[1]] if name != "theta" else [[1], [2], [3]]
                    left = join(left, values([f"k{i}"], one), "left" if name == "scalar" else "inner", **more[i])
                text = cli.plan(left)
                self.assert_cut(text, n)
                want = [(k,) + ((k if name == "theta" else 1),) * n for k in (1, 2)]
                self.assertEqual(sorted(self.answer(text)), want, name)

    def test_batch(self):
        """One such plan ended the process of a batch, and with it the plans behind it."""
        text, rows = self.left_joins(17)
        lines = [json.dumps({"id": i, "plan": json.loads(text)}) for i in range(2)]
        out, _ = self.run_cli("run", "--batch", self.write("batch", "\n".join(lines) + "\n"))
        self.assertEqual([json.loads(line)["rows"] for line in out.splitlines()], [len(rows)] * 2)


class Carried(Limits):
    """What a level carries from a row to its children has to fit shared memory of a GPU."""

    def wide(self, n, pred, exprs=None, on=None):
        columns = ["k"] + [f"w{i}" for i in range(n)]
        left = values(columns, [[i] + [i * 7 + c for c in range(n)] for i in range(3)])
        if exprs:
            left = {"op": "project", "exprs": ["k", *exprs], "input": left}
        left = {"op": "filter", "pred": pred, "input": left}
        return cli.plan(join(left, values(["k0", "v"], [[0, 1], [0, 2], [1, 3]]), "left", on=on or [["k", "k0"]]))

    def test_loaded_before_and_read_after(self):
        text = self.wide(300, " and ".join(f"w{i} > 0" for i in range(300)))
        self.emit(text)
        self.assertEqual(sorted(map(str, self.answer(text))), sorted(map(str, [
            (1, *range(7, 307), 1, 3), (2, *range(14, 314), None, None)])))

    def test_computed_before_and_read_after(self):
        n = 300
        exprs = [{"expr": f"k * k + w{i}", "as": f"x{i}"} for i in range(n)]
        text = self.wide(n, " and ".join(f"x{i} > 0" for i in range(n)), exprs)
        self.assertEqual(self.cuts(text), 1)
        self.assertEqual(sorted(map(str, self.answer(text))), sorted(map(str, [
            (1, *range(8, 8 + n), 1, 3), (2, *range(18, 18 + n), None, None)])))

    def test_keys(self):
        n = 400
        left, right = [f"a{i}" for i in range(n)], [f"b{i}" for i in range(n)]
        text = cli.plan(join(values(left, [[1] * n, [2] * n]), values(right, [[1] * n] * 2), "left",
                             on=[list(pair) for pair in zip(left, right)]))
        self.emit(text)
        self.assertEqual(sorted(map(str, self.answer(text))), sorted(map(str, [
            (1,) * (2 * n), (1,) * (2 * n), (2,) * n + (None,) * n])))

    def computed_keys(self, n, key, of, types):
        """A join of rows 1 to 3 on n computed columns, which the result has as well; rows 1 and 3 match twice."""
        left = {"op": "project", "input": values(["k", "s"], [[k, 7] for k in (1, 2, 3)]),
                "exprs": ["k", *({"expr": key(i), "as": f"x{i}"} for i in range(n))]}
        right = {"op": "values", "rows": [[of(k, i) for i in range(n)] + [str(v)] for k in (1, 3) for v in (k, 10 * k)],
                 "columns": [*({"name": f"b{i}", "type": types} for i in range(n)), {"name": "v", "type": "int64"}]}
        return {"op": "join", "kind": "left", "left": left, "right": right, "build": "right",
                "on": [[f"x{i}", f"b{i}"] for i in range(n)]}

    def test_computed_keys(self):
        """Keys are values once the level opens, so rows with many of them are kept before it."""
        forms = {
            "int64": (lambda i: f"k * {i + 2} + s", lambda k, i: str(k * (i + 2) + 7)),
            "decimal(36,2)": (lambda i: f"cast(k as decimal(30,2)) * {i + 2}", lambda k, i: f"{k * (i + 2)}.00"),
            "string": (lambda i: f"cast(k + {i} as string)", lambda k, i: str(k + i))}
        for types, (key, of) in forms.items():
            for n, cuts in ((8, 0), (150, 1)):
                text = cli.plan({"op": "aggregate", "keys": ["k"], "input": self.computed_keys(n, key, of, types),
                                 "aggs": [{"fn": "sum", "arg": "v", "as": "v"},
                                          *({"fn": "count", "arg": f"x{i}", "as": f"n{i}"} for i in range(n))]})
                self.assertEqual(self.cuts(text), cuts, (types, n))
                self.assertEqual(sorted((r[0], r[1] or 0, *r[2:]) for r in self.answer(text)),
                                 [(1, 11, *[2] * n), (2, 0, *[1] * n), (3, 33, *[2] * n)])

    def test_rows_of_lookups(self):
        """Row ids of many lookups, each found by a unique key."""
        shared, rows, serial = {}, values(["k"], [[1], [2]]), itertools.count()
        for group in range(3):
            for _ in range(60):
                i = next(serial)
                unique = {"op": "aggregate", "keys": [f"k{i}"], "aggs": [{"fn": "max", "arg": f"v{i}", "as": f"m{i}"}],
                          "input": values([f"k{i}", f"v{i}"], [[1, 5], [2, 6]])}
                rows = join(rows, unique, on=[["k", f"k{i}"]])
            shared[f"g{group}"], rows = rows, ref(f"g{group}")
        text = cli.plan(join(rows, values(["kx"], [[1], [1]]), "left", on=[["k", "kx"]]), shared=shared)
        self.assertGreater(self.cuts(text), 0)
        self.assertEqual(len(self.answer(text)), 3)

    def test_wide_groups(self):
        n = 1000
        columns = [f"a{i}" for i in range(n)]
        text = cli.plan({"op": "aggregate", "keys": columns, "aggs": [{"fn": "count", "as": "n"}],
                         "input": values(columns, [[1] * n, [2] * n])})
        self.emit(text)
        self.assertEqual(sorted(self.answer(text)), [(1,) * (n + 1), (2,) * n + (1,)])


class AtTheLimit(Limits):
    """Accepted at the limit, refused one above."""

    def operators(self, n):
        """n operators on one path, through references."""
        shared, root, left = {}, ONE, n - 1
        while left > 100:
            for _ in range(99):
                root = {"op": "filter", "pred": "k > 0", "input": root}
            name = f"s{len(shared)}"
            shared[name], root, left = root, ref(name), left - 100
        for _ in range(left):
            root = {"op": "filter", "pred": "k > 0", "input": root}
        return cli.plan(root, shared=shared)

    def test_operators_on_a_path(self):
        self.assertEqual(self.answer(self.operators(256)), [(1,)])
        self.emit(self.operators(256))
        self.refuse(self.operators(257), r"^\S*\.input: operators are nested deeper than 256 levels$")

    def test_json_levels(self):
        """Root's object and k trees around a column are 5 + 2 k levels."""
        def tree(k, leaf):
            for _ in range(k):
                leaf = {"op": "neg", "args": [leaf]}
            return cli.plan({"op": "project", "input": ONE, "exprs": [{"expr": leaf, "as": "x"}]})
        self.assertEqual(self.answer(tree(125, "k")), [(-1,)])
        self.assertEqual(self.answer(tree(125, {"col": "k"})), [(-1,)])
        self.refuse(tree(126, {"col": "k"}), r"^\$: not valid JSON: .* nested deeper than 256 levels$")

    def test_columns(self):
        def computed(n):
            return cli.plan({"op": "project", "input": ONE,
                             "exprs": [{"expr": f"k + {i}", "as": f"x{i}"} for i in range(n)]})
        def constant(n):
            return cli.plan(values([f"x{i}" for i in range(n)], [range(n)]))
        self.assertEqual(self.answer(constant(4096)), [tuple(range(4096))])
        self.assertEqual(self.answer(computed(4096)), [tuple(range(1, 4097))])
        self.emit(computed(4096))
        for wide in (computed, constant):
            self.refuse(wide(4097), r"^\$\.root: expected at most 4096 output columns, found 4097$")

    def test_parameters(self):
        def text(n):
            return cli.plan({"op": "filter", "input": values(["k"], [[5], [n - 1], [n]]),
                             "pred": "k in (" + ", ".join(f":p{i}" for i in range(n)) + ")"},
                            params={f"p{i}": {"type": "int64", "default": str(i)} for i in range(n)})
        self.assertEqual(self.answer(text(1024)), [(5,), (1023,)])
        self.emit(text(1024))
        self.refuse(text(1025), r"^\$\.params: expected at most 1024 members$")

    def test_shared_subplans(self):
        def text(n):
            return cli.plan({"op": "union_all", "inputs": [ref(f"s{i}") for i in range(n)] * 2},
                            shared={f"s{i}": values(["k"], [[i]]) for i in range(n)})
        self.assertEqual(sorted(self.answer(text(1024))), sorted([(i,) for i in range(1024)] * 2))
        self.emit(text(1024))
        self.refuse(text(1025), r"^\$\.shared: expected at most 1024 members$")

    def test_nesting_of_expressions(self):
        forms = {
            "nested": lambda n: "k" + " + k" * (n - 1),
            "signs": lambda n: "- " * (n - 1) + "k",
            "parentheses": lambda n: "(" * (n - 1) + "k" + ")" * (n - 1),
            "cases": lambda n: "case when k > 0 then " * (n - 2) + "k" + " end" * (n - 2)}
        want = {"nested": 256, "signs": -1, "parentheses": 1, "cases": 1}
        for name, form in forms.items():
            def text(n, form=form):
                return cli.plan({"op": "project", "input": ONE, "exprs": [{"expr": form(n), "as": "x"}]})
            self.emit(text(256))
            self.assertEqual(self.answer(text(256)), [(want[name],)], name)
            self.refuse(text(258 if name == "parentheses" else 257), r"^\$\.root\.exprs\[0\]\.expr: character \d+: the expression is nested "
                                   r"(too deeply|deeper than 256 levels)$")

    def test_parts_of_an_expression(self):
        """An `in` of n literals is n + 2 parts."""
        def tree(n):
            items = [{"lit": i % 10} for i in range(n - 2)]
            return cli.plan({"op": "filter", "input": ONE, "pred": {"op": "in", "args": ["k", *items]}})
        self.assertEqual(self.answer(tree(200000)), [(1,)])
        self.emit(tree(200000))
        self.refuse(tree(200001), r"^\$\.root\.pred: the expression has more than 200000 parts$")

    def test_text_of_an_expression(self):
        def text(n):
            return cli.plan({"op": "filter", "input": ONE, "pred": "k > 0" + " " * (n - 5)})
        self.assertEqual(self.answer(text(1 << 20)), [(1,)])
        self.refuse(text((1 << 20) + 1), r"^\$\.root\.pred: expected an expression of at most 1048576 bytes$")


class Growth(Limits):
    """Planning looks at what is reached on many ways once: these took two to the power of their depth, or gigabytes."""

    def test_conjuncts(self):
        self.emit(cli.plan({"op": "filter", "input": ONE, "pred": " and ".join(["k < 9"] * 49999)}))

    def test_shared_subplans_used_twice(self):
        for kind in ("semi", "inner"):
            shared = {"s0": values(["k"], [[1], [2]])}
            for i in range(1, 64):
                both = join(ref(f"s{i - 1}"), ref(f"s{i - 1}", "b"), kind, on=[["k", "b.k"]])
                shared[f"s{i}"] = {"op": "project", "exprs": ["k"], "input": both}
            self.emit(cli.plan(ref("s63"), shared=shared))

    def test_keys_that_follow_from_pairs(self):
        self.write("schema.json", json.dumps({"tables": [{
            "name": "t", "primary_key": ["k"], "columns": [{"name": c, "type": "int64"} for c in "kcd"]}]}))
        self.write("t.tbl", "1|2|3|\n2|3|4|\n")
        self.run_cli("load", "--schema", "schema.json", "--from", ".", "--out", "db")
        rows, c, d = {"op": "scan", "table": "t"}, "c", "d"
        for i in range(60):
            unique = {"op": "aggregate", "keys": [f"a{i}", f"b{i}"],
                      "aggs": [{"fn": "max", "arg": "x", "as": f"c{i}"}, {"fn": "max", "arg": "y", "as": f"d{i}"}],
                      "input": values([f"a{i}", f"b{i}", "x", "y"], [[2, 3, 2, 3], [3, 4, 3, 4]])}
            rows = join(rows, unique, on=[[c, f"a{i}"], [d, f"b{i}"]], build="right")
            c, d = f"c{i}", f"d{i}"
        text = cli.plan({"op": "aggregate", "keys": ["k", c, d], "aggs": [{"fn": "count", "as": "n"}], "input": rows})
        out, _ = self.run_cli("explain", self.write("plan.json", text), "--db", "db", "--dump", "pipelines")
        self.assertTrue("2 of 3 group keys follow from the others" in out)

    def test_keys_given_twice(self):
        rows = values(["k0"], [[1], [2]])
        for i in range(60):
            rows = join(values([f"m{i}"], [[1], [2]]), rows, on=[[f"m{i}", "k0"]] * 2)
        self.emit(cli.plan(rows))


if __name__ == "__main__":
    cli.main()
