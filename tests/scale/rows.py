"""Whether two tables of pyarrow have the same rows."""
import math


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-12) or (math.isnan(a) and math.isnan(b))
    return a == b and type(a) is type(b)


def key(row):
    return [(x is None, f"{x + 0.0:.9g}" if isinstance(x, float) else str(x)) for x in row]


def rows(table, ordered):
    table = list(zip(*(column.to_pylist() for column in table.columns)))
    return table if ordered else sorted(table, key=key)


def differences(plan, want, got):
    """What is wrong, or None."""
    if [(f.name, f.type) for f in want.schema] != [(f.name, f.type) for f in got.schema]:
        return f"columns {want.schema} and {got.schema}"
    if want.num_rows != got.num_rows:
        return f"{want.num_rows} and {got.num_rows} rows"
    ordered = plan["root"]["op"] == "sort"
    for a, b in zip(rows(want, ordered), rows(got, ordered)):
        if not all(map(same, a, b)):
            return f"rows {a} and {b}"
    return None
