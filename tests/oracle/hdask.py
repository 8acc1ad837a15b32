"""What is asked of expressions as they were parsed: columns, conjuncts, tests of NULL."""


def strict_columns(e):
    """Columns whose values e needs on every row, whatever the data."""
    if e.op == "col":
        return {e.name}
    if e.op in ("is_null", "is_not_distinct_from"):
        return set()
    if e.op in ("and", "or", "case", "iif", "coalesce"):
        return strict_columns(e.args[0])
    if e.op == "in":
        return strict_columns(e.args[0]) | strict_columns(e.args[1])
    return set().union(*[strict_columns(a) for a in e.args]) if e.args else set()


def has_test(e):
    """Whether some `is null` asks about more than a column or constant."""
    tested = e.op in ("is_null", "is_not_distinct_from") and any(a.args for a in e.args)
    return tested or any(has_test(a) for a in e.args)


def conjuncts(e):
    return [c for a in e.args for c in conjuncts(a)] if e.op == "and" else [e]


def columns_of(e):
    """Every column that e mentions."""
    return {e.name} if e.op == "col" else set().union(*[columns_of(a) for a in e.args])
