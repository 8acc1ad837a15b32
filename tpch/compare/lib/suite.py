"""A suite as data (suite.json), its parameters, its queries as SQL text, and its data in DuckDB."""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

TPCH = Path(__file__).resolve().parents[2]
SQL = TPCH / "compare" / "sql"

TABLES = {
    "region": "r_regionkey integer, r_name varchar, r_comment varchar",
    "nation": "n_nationkey integer, n_name varchar, n_regionkey integer, n_comment varchar",
    "part": "p_partkey integer, p_name varchar, p_mfgr varchar, p_brand varchar, p_type varchar, p_size integer,"
            " p_container varchar, p_retailprice decimal(12,2), p_comment varchar",
    "supplier": "s_suppkey integer, s_name varchar, s_address varchar, s_nationkey integer, s_phone varchar,"
                " s_acctbal decimal(12,2), s_comment varchar",
    "partsupp": "ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost decimal(12,2),"
                " ps_comment varchar",
    "customer": "c_custkey integer, c_name varchar, c_address varchar, c_nationkey integer, c_phone varchar,"
                " c_acctbal decimal(12,2), c_mktsegment varchar, c_comment varchar",
    "orders": "o_orderkey bigint, o_custkey integer, o_orderstatus varchar, o_totalprice decimal(12,2),"
              " o_orderdate date, o_orderpriority varchar, o_clerk varchar, o_shippriority integer,"
              " o_comment varchar",
    "lineitem": "l_orderkey bigint, l_partkey integer, l_suppkey integer, l_linenumber integer,"
                " l_quantity decimal(12,2), l_extendedprice decimal(12,2), l_discount decimal(12,2),"
                " l_tax decimal(12,2), l_returnflag varchar, l_linestatus varchar, l_shipdate date,"
                " l_commitdate date, l_receiptdate date, l_shipinstruct varchar, l_shipmode varchar,"
                " l_comment varchar",
}

STAR_TABLES = {
    "date": "d_datekey integer, d_date varchar, d_dayofweek varchar, d_month varchar, d_year integer,"
            " d_yearmonthnum integer, d_yearmonth varchar, d_daynuminweek integer, d_daynuminmonth integer,"
            " d_daynuminyear integer, d_monthnuminyear integer, d_weeknuminyear integer, d_sellingseason varchar,"
            " d_lastdayinweekfl integer, d_lastdayinmonthfl integer, d_holidayfl integer, d_weekdayfl integer",
    "supplier": "s_suppkey integer, s_name varchar, s_address varchar, s_city varchar, s_nation varchar,"
                " s_region varchar, s_phone varchar",
    "customer": "c_custkey integer, c_name varchar, c_address varchar, c_city varchar, c_nation varchar,"
                " c_region varchar, c_phone varchar, c_mktsegment varchar",
    "part": "p_partkey integer, p_name varchar, p_mfgr varchar, p_category varchar, p_brand1 varchar, p_color varchar,"
            " p_type varchar, p_size integer, p_container varchar",
    "lineorder": "lo_orderkey bigint, lo_linenumber integer, lo_custkey integer, lo_partkey integer,"
                 " lo_suppkey integer, lo_orderdate integer, lo_orderpriority varchar, lo_shippriority varchar, lo_quantity integer,"
                 " lo_extendedprice integer, lo_ordtotalprice integer, lo_discount integer, lo_revenue integer,"
                 " lo_supplycost integer, lo_tax integer, lo_commitdate integer, lo_shipmode varchar",
}


class Suite:
    def __init__(self, folder=TPCH):
        self.folder = Path(folder)
        self.data = json.loads((self.folder / "suite.json").read_text())
        self.queries = {q["name"]: q for q in self.data["queries"]}

    def plan_path(self, name):
        return self.folder / self.queries[name]["plan"]

    def parameter_types(self, name):
        plan = json.loads(self.plan_path(name).read_text())
        return {p: spec["type"] for p, spec in plan.get("params", {}).items()}

    def classes(self):
        return list(self.data["classes"])

    def parameters(self, cls, sf):
        """{query: {parameter: value}} of a class, those that shrink with the scale factor divided by it."""
        values = json.loads((self.folder / self.data["classes"][cls]).read_text())
        for rule in self.data.get("divide_by_scale", []):
            if cls not in rule.get("classes", [cls]):
                continue
            mine = values.get(rule["query"], {})
            if rule["param"] in mine:
                unit = Decimal(1).scaleb(-rule["decimals"])
                scaled = (Decimal(mine[rule["param"]]) / Decimal(str(sf))).quantize(unit, ROUND_HALF_UP)
                mine[rule["param"]] = f"{scaled:f}"
        return values

    def answer_path(self, name, cls, sf):
        """The stored answer, or None where there is none for this class and scale factor."""
        for scale, folder in self.data.get("answers", {}).get(cls, {}).items():
            if Decimal(scale) == Decimal(str(sf)):
                return self.folder / folder / f"{name}.csv"
        return None

    def tables(self):
        return STAR_TABLES if self.data["name"] == "ssb" else TABLES

    def own_sql(self):
        """The folder that has the SQL of all queries."""
        own = self.folder / "sql"
        return own if all((own / f"{name}.sql").exists() for name in self.queries) else SQL

    def sql(self, name, values, folders=()):
        """The query's SQL with :name replaced by literals, from the first folder that has it."""
        folders = folders or (self.own_sql(),)
        path = next(f / f"{name}.sql" for f in folders if (f / f"{name}.sql").exists())
        types = self.parameter_types(name)

        def replace(m):
            return literal(values[m[1]], types[m[1]])
        return re.sub(r"(?<!:):([a-z_]\w*)", replace, path.read_text())

    def select(self, text):
        """Names from a list such as 1,5-9,q21: names, or places from 1; all without one."""
        names = list(self.queries)
        wanted = [] if text else names
        for item in text.split(",") if text else ():
            places = re.fullmatch(r"(\d+)(?:-(\d+))?", item)
            first, last = (int(places[1]), int(places[2] or places[1])) if places else (0, 0)
            if item in self.queries:
                wanted.append(item)
            elif 0 < first <= last <= len(names):
                wanted += names[first - 1:last]
            else:
                raise SystemExit(f"no such query: {item}")
        return wanted


def literal(value, type_name):
    """A value of a parameter file as a SQL literal."""
    element = re.fullmatch(r"list\((.*)\)", type_name)
    if element:
        return "(" + ", ".join(literal(v, element[1]) for v in value) + ")"
    if type_name in ("string", "date", "timestamp"):
        quoted = "'" + value.replace("'", "''") + "'"
        return quoted if type_name == "string" else f"{type_name} {quoted}"
    if not re.fullmatch(r"-?\d+(\.\d+)?", str(value)):
        raise ValueError(f"not a number: {value!r}")
    return str(value)


def load_duckdb(connection, folder, tables=TABLES):
    """Creates the tables from TABLE.tbl (also in slices, TABLE.tbl.1 and so on) or TABLE.parquet."""
    folder = Path(folder)
    for table, columns in tables.items():
        names = {c.split()[0]: c.split()[1] for c in columns.split(", ")}
        declared = ", ".join(f"{n} {t} not null" for n, t in names.items())
        connection.execute(f'create table "{table}" ({declared})')
        if (folder / f"{table}.parquet").exists():
            source = f"select * from read_parquet('{folder}/{table}.parquet')"
        else:
            files = sorted(str(p) for p in folder.glob(f"{table}.tbl*"))
            if not files:
                raise FileNotFoundError(f"no {table}.tbl or {table}.parquet in {folder}")
            # A line ends in a delimiter: one more, empty column.
            fields = ", ".join(f"'{n}': '{t}'" for n, t in names.items()) + ", 'line_end': 'varchar'"
            source = (f"select * exclude (line_end) from read_csv({files!r}, delim='|', header=false, quote='',"
                      f" escape='', nullstr='\\N', auto_detect=false, columns={{{fields}}})")
        connection.execute(f'insert into "{table}" {source}')
