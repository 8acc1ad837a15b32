"""con.sql: rows as SQLite has them, NOT IN and NULLs, parameters, what is refused.

Usage: test_sql.py DATABASE (TPC-H at scale factor 0.01)
"""
import datetime
import itertools
import math
import pathlib
import sqlite3
import sys
import tempfile
import unittest
from decimal import Decimal

try:
    import datafusion  # noqa: F401
    import pyarrow as pa
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
import heddle
from heddle._sql import lost_null, number_parameters

DATABASE = sys.argv.pop(1) if __name__ == "__main__" else None
PLANS = pathlib.Path(__file__).resolve().parents[2] / "tpch" / "plans"

Q1 = """select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price,
 sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, count(*) as count_order
 from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day
 group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus"""
Q6 = """select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date '1994-01-01'
 and l_shipdate < date '1994-01-01' + interval '1' year and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24"""
Q3 = """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
 from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
 and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
 group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10"""


class Tpch(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect(DATABASE)

    def test_queries_equal_their_plans(self):
        for name, query in ("q06.json", Q6), ("q03.json", Q3), ("q01.json", Q1):
            with self.subTest(query=name):
                found, want = self.con.sql(query).arrow(), self.con.run(PLANS / name).arrow()
                for column in found.column_names:
                    self.assertEqual(found[column].to_pylist(), want[column].to_pylist())

    def test_plans_are_kept_while_tables_stay(self):
        con = heddle.connect()
        con.register("t", {"a": [1, 2, 3]})
        query = "select sum(a) as s from t where a > $least"
        first = con._planner().plan(query)
        self.assertIs(con._planner().plan(query), first)
        self.assertEqual(con.sql(query, least=1).fetchall(), [(5,)])
        con.register("t", {"a": [1.5, 2.5]})
        self.assertIsNot(con._planner().plan(query), first)
        self.assertEqual(con.sql(query, least=2).fetchall(), [(2.5,)])
        con.drop("t")
        for _ in range(2):
            with self.assertRaises(heddle.SQLError):
                con.sql(query, least=1)

    def test_substrait_is_a_plan_too(self):
        made, _ = self.con._planner().plan(Q6)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "q6.pb"
            path.write_bytes(made)
            want = self.con.run(PLANS / "q06.json").fetchall()
            for form in made, path, str(path), memoryview(made):
                self.assertEqual(self.con.run(form).fetchall(), want)
        with self.assertRaises(heddle.UserError):
            self.con.run(made[:-9])

    def test_casts_that_give_null(self):
        con = heddle.connect()
        con.register("t", {"s": ["7", "x", None, "3000000000"], "f": [1.5, 1e30, math.nan, None]})
        self.assertEqual(con.sql("select try_cast(s as int) i, try_cast(s as bigint) b, try_cast(f as decimal(5,1)) d from t").fetchall(),
                         [(7, 7, Decimal("1.5")), (None, None, None), (None, None, None), (None, 3000000000, None)])
        with self.assertRaisesRegex(heddle.ExecutionError, "'x' is not a value"):
            con.sql("select cast(s as bigint) from t").fetchall()

    def test_explain_takes_sql(self):
        self.assertIn("scan lineitem", self.con.explain(Q6))
        self.assertIn("lineitem", self.con.prepare_sql(Q6).explain("physical"))


class Nulls(unittest.TestCase):
    """IN and NOT IN in every place, with NULL on each side, empty, and columns that have none. SQLite is right."""
    SIDES = {"none": [1, 2, 3], "null": [1, None, 4], "empty": []}
    CONDITIONS = ["x not in (select y from s)", "not (x in (select y from s))", "x in (select y from s)",
                  "x not in (select y from s) or k = 1", "x in (select y from s) or k = 1", "not (x in (select y from s) or k = 1)",
                  "not exists (select 1 from s where y = x)", "exists (select 1 from s where y = x) or k = 2",
                  "(x in (select y from s)) is null", "x not in (select y from s where y is not null)",
                  "case when x in (select y from s) then false else true end", "x not in (select y from s) and k > 1",
                  "x not in (select y from s where y > 1)", "coalesce(x not in (select y from s), true)"]

    def test_conditions(self):
        for (tn, ts), (sn, ss) in itertools.product(self.SIDES.items(), self.SIDES.items()):
            for declared in (True, False):
                if not declared and "null" in (tn, sn):
                    continue
                con, lite = heddle.connect(), sqlite3.connect(":memory:")
                for name, column, values in ("t", "x", ts), ("s", "y", ss):
                    con.register(name, pa.table([pa.array(values, pa.int64()), pa.array(range(len(values)), pa.int64())],
                                                pa.schema([pa.field(column, pa.int64(), declared),
                                                           pa.field("k" if name == "t" else "z", pa.int64(), False)])))
                    lite.execute(f"create table {name} ({column} int, {'k' if name == 't' else 'z'} int)")
                    lite.executemany(f"insert into {name} values (?, ?)", list(zip(values, range(len(values)))))
                for condition in self.CONDITIONS:
                    query = f"select k from t where {condition} order by k"
                    with self.subTest(t=tn, s=sn, declared=declared, condition=condition):
                        self.assertEqual(con.sql(query).fetchall(), lite.execute(query).fetchall())

    def test_correlated_not_in_is_refused_by_name(self):
        con = heddle.connect()
        con.register("t", {"x": [1, None], "k": [1, 2]})
        con.register("s", {"y": [1, None], "z": [1, 2]})
        with self.assertRaisesRegex(heddle.SQLError, r"t.x NOT IN \(<subquery>\).*NOT EXISTS"):
            con.sql("select x from t where x not in (select y from s where z = k)")

    def test_subqueries_in_subqueries_and_in_columns(self):
        for (tn, ts), (sn, ss) in itertools.product(self.SIDES.items(), self.SIDES.items()):
            con, lite = heddle.connect(), sqlite3.connect(":memory:")
            for name, columns, values in ("t", ("x", "k"), ts), ("s", ("y", "z"), ss):
                rows = list(zip(values, range(len(values))))
                con.register(name, pa.table({c: pa.array([r[i] for r in rows], pa.int64()) for i, c in enumerate(columns)}))
                lite.execute(f"create table {name} ({columns[0]} int, {columns[1]} int)")
                lite.executemany(f"insert into {name} values (?, ?)", rows)
            for query in ("select k, x not in (select y from s) as b from t order by k",
                          "select k, x in (select y from s) or k = 1 as b from t order by k",
                          "select k from t where k in (select z from s where z not in (select x from t)) order by k",
                          "select k from t where not (k in (select z from s where z not in (select x from t))) order by k",
                          "select k from t where x not in (select y from s) and not exists (select 1 from s where z = k) order by k",
                          "select k from t where x not in (select y from s) and exists (select 1 from t u where u.k > t.k) order by k",
                          "select k from t where k = (select min(z) from s where y not in (select x from t))"):
                with self.subTest(t=tn, s=sn, query=query):
                    self.assertEqual(con.sql(query).fetchall(), lite.execute(query).fetchall())
        with self.assertRaisesRegex(heddle.SQLError, "NOT IN"):
            con.sql("select k from t where exists (select 1 from s where y = x) or x not in (select y from s)")
        with self.assertRaisesRegex(heddle.UnsupportedError, "a join's condition"):
            con.sql("select t.k from t left join s on t.k = s.z and t.x not in (select y from s)")

    def test_what_a_printed_condition_loses(self):
        safe = ["t.x IN (<subquery>)", "t.x IN (<subquery>) AND t.k = Int64(1)", "(t.x IN (<subquery>) OR t.k = Int64(1)) AND t.k > t.x",
                "t.x + Int64(1) IN (<subquery>)", 't.s = Utf8("(") AND t.x IN (<subquery>)']
        lost = ["t.x NOT IN (<subquery>)", "NOT t.x IN (<subquery>)", "t.x IN (<subquery>) IS NULL", "t.b = t.x IN (<subquery>)",
                "CASE WHEN t.x IN (<subquery>) THEN t.a AND t.b ELSE t.c END", "t.k = Int64(1) OR t.x NOT IN (<subquery>)",
                't.s = Utf8(" "" OR ") AND t.x IN (<subquery>)']
        for condition in safe:
            self.assertEqual(lost_null("Filter: " + condition, "null_aware"), [], condition)
        for condition in lost:
            self.assertEqual(lost_null("Filter: " + condition, "null_aware"), [condition])
        self.assertFalse(lost_null("Filter: t.x NOT IN (<subquery>)", ""))  # none can be NULL
        self.assertTrue(lost_null("Filter: t.k = t.j OR t.x NOT IN (<subquery>)", ""))
        self.assertTrue(lost_null("Other: t.x NOT IN (<subquery>)", ""))


class Windows(unittest.TestCase):
    """DISTINCT and FILTER of functions of windows, which DataFusion's Substrait loses."""

    def setUp(self):
        self.con = heddle.connect()
        self.con.register("t", {"id": [1, 2, 3, 4, 5], "x": [1, 1, 2, None, 1], "s": ["a", "(DISTINCT ", "b", "c", "d"]})

    def test_distinct(self):
        rows = "over (order by id rows between 2 preceding and current row)"
        self.assertEqual(self.con.sql(f"select id, count(distinct x) {rows}, sum(x) {rows}, sum(distinct x) {rows}, median(x) {rows}, "
                                      "count(distinct x) over () from t order by id").fetchall(),
                         [(1, 1, 1, 1, 1.0, 2), (2, 1, 2, 1, 1.0, 2), (3, 2, 4, 3, 1.0, 2), (4, 2, 3, 3, 1.5, 2), (5, 2, 3, 3, 1.5, 2)])
        self.assertEqual(self.con.sql("select a.id, a.n, b.n from (select id, count(distinct x) over (partition by s) n from t) a "
                                      "join (select id, count(x) over () n from t) b on a.id = b.id where a.id < 5 order by a.id").fetchall(),
                         [(1, 1, 4), (2, 1, 4), (3, 1, 4), (4, 0, 4)])

    def test_what_cannot_be_told(self):
        with self.assertRaisesRegex(heddle.SQLError, "FILTER of a function of windows"):
            self.con.sql("select sum(x) filter (where x > 1) over (order by id) from t")
        with self.assertRaisesRegex(heddle.SQLError, "DISTINCT of a function of windows"):
            self.con.sql("select count(distinct case when s = 'a' then x end) over (order by id) from t")


class Parameters(unittest.TestCase):
    def setUp(self):
        self.con = heddle.connect()
        self.con.register("t", {"a": [1, 2, 3, None], "s": ["x", "y", "$b", "?"],
                                "d": [datetime.date(2024, 1, d) for d in (1, 2, 3, 4)],
                                "p": pa.array([Decimal(i) / 10 for i in range(4)], pa.decimal128(9, 2))})

    def test_by_position(self):
        self.assertEqual(self.con.sql("select a from t where a >= $1 and a < $2", [2, 3]).fetchall(), [(2,)])
        self.assertEqual(self.con.sql("select a from t where d = $1", [datetime.date(2024, 1, 3)]).fetchall(), [(3,)])
        self.assertEqual(self.con.sql("select a from t where p > $1 and s <> $2", [Decimal("0.15"), "?"]).fetchall(), [(3,)])

    def test_by_name(self):
        query = "select a from t where a >= $low and a < $high and a >= $low and s <> '$b' -- $c"
        self.assertEqual(self.con.sql(query, {"low": 1, "high": 3}).fetchall(), [(1,), (2,)])
        self.assertEqual(self.con.sql(query, low=2, high=9).fetchall(), [(2,)])
        with self.assertRaisesRegex(heddle.UserError, "no parameter \\$lo;.*\\$low, \\$high"):
            self.con.sql(query, lo=1)

    def test_prepared(self):
        statement = self.con.prepare_sql("select count(*) as n from t where a > $1")
        self.assertEqual([statement.run([n]).fetchone()[0] for n in (0, 1, 5)], [3, 2, 0])

    def test_tokens(self):
        self.assertEqual(number_parameters("""select '$a' "$b" /* $c */ $d, $e -- $f
        $d"""), ("""select '$a' "$b" /* $c */ $1, $2 -- $f
        $1""", ["d", "e"]))
        self.assertEqual(number_parameters("$2 + $1"), ("$2 + $1", None))
        for bad in "$1 + $a", "a = ?":
            with self.assertRaisesRegex(heddle.SQLError, "parameters are"):
                number_parameters(bad)


class Refused(unittest.TestCase):
    CASES = {"create table q (a int)": "CreateMemoryTable", "drop table t": "DropTable", "create view v as select 1": "CreateView",
             "insert into t values (1)": "Insert", "delete from t": "Delete", "update t set a = 1": "Update", "copy t to 'x.csv'": "COPY",
             "set a.b = 1": "SetVariable", "begin": "BEGIN", "explain select 1": "EXPLAIN", "describe t": "DESCRIBE",
             "select foo(a) from t": "foo", "select * from nowhere": "nowhere", "select b from t": "b", "selec 1": "selec",
             "select unnest([1, 2])": "UNNEST", "select 1; select 2": "single",
             "with recursive r as (select 1 a union all select a + 1 from r where a < 5) select * from r": "WITH RECURSIVE"}

    def test_the_construct_is_named(self):
        con = heddle.connect()
        con.register("t", {"a": [1]})
        for query, name in self.CASES.items():
            with self.subTest(query=query), self.assertRaises(heddle.Error) as e:
                con.sql(query)
            self.assertIn(name, str(e.exception))
            self.assertLess(len(str(e.exception)), 700)
        self.assertEqual(con.tables(), ["t"])


class Tables(unittest.TestCase):
    def test_names_and_changes_of_tables(self):
        con = heddle.connect()
        con.register("t", {"a": [1]})
        self.assertEqual(con.sql("select a from t").fetchall(), [(1,)])
        con.register("t", {"b": ["x"], "A b": [1]})
        con.register("Odd name", {"c": [2]})
        self.assertEqual(con.sql('select b, "A b" from t').fetchall(), [("x", 1)])
        self.assertEqual(con.sql('select c from "Odd name"').fetchall(), [(2,)])
        con.drop("t")
        with self.assertRaisesRegex(heddle.SQLError, "t"):
            con.sql("select b from t")

    def test_types(self):
        con = heddle.connect()
        table = pa.table({"i": pa.array([1, None], pa.int32()), "d": pa.array([Decimal("1.25"), None], pa.decimal128(15, 2)),
                          "f": [0.5, None], "s": ["ü", None], "b": [True, None], "day": [datetime.date(2024, 2, 29), None],
                          "t": pa.array([datetime.datetime(2024, 2, 29, 1, 2, 3, 4), None], pa.timestamp("us"))})
        con.register("t", table)
        found = con.sql("select * from t order by i nulls last").arrow()
        self.assertEqual(found.schema.types, table.schema.types)
        self.assertEqual(found.to_pydict(), table.to_pydict())
        self.assertEqual(con.sql("select d * 0.1 as x from t where i = 1").fetchall(), [(Decimal("0.125"),)])


if __name__ == "__main__":
    unittest.main()
