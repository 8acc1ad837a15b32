"""x in (subplan) and exists (subplan): each becomes a column of the input, by its definition."""

from hdtable import Column, Rel
from hdtypes import PlanError, parse_type


class Subplans:
    """Those in the expressions of one operator over rel; `rel` then has a column for each."""

    def __init__(self, owner, node, rel):
        self.owner, self.node, self.rel, self.count = owner, node, rel, 0

    def replaced(self, expr, path):
        """The expression with columns for its subplans."""
        if not isinstance(expr, dict):
            return expr
        if "plan" in expr:
            return {"col": self.column(expr, path)}
        if "args" in expr:
            return {**expr, "args": [self.replaced(a, f"{path}.args[{i}]") for i, a in enumerate(expr["args"])]}
        return expr

    def column(self, expr, path):
        if expr["op"] not in ("in", "exists") or set(expr) - ({"op", "args", "plan"} if expr["op"] == "in" else {"op", "plan", "on", "residual"}):
            raise PlanError(path, "not a condition about a subplan")
        arg = self.replaced(expr["args"][0], path + ".args[0]") if expr["op"] == "in" else None
        sub = self.owner.rel(expr["plan"], path + ".plan")
        sub = Rel(self.owner.cte(f"SELECT * FROM {sub.cte}", materialized=True), sub.columns)
        sql = self.member(arg, sub, path) if expr["op"] == "in" else self.exists(expr, sub, path)
        name = f"#{self.count}"
        self.count += 1
        columns = self.rel.columns + [Column(name, parse_type("bool"), True)]
        items = [f"l.c{i}" for i in range(len(self.rel.columns))] + [sql]
        self.rel = Rel(self.owner.cte(f"SELECT {self.owner.list(items)} FROM {self.rel.cte} l"), columns)
        return name

    def member(self, arg, sub, path):
        if len(sub.columns) != 1:
            raise PlanError(path, "a subplan of one column")
        a, b = self.owner.join_sides(self.node, path, self.rel, sub, (arg, path + ".args[0]"), ({"col": sub.columns[0].name}, path), free=True)
        same = self.owner.compiler({}).compare_values("=", a, b, path).sql
        return (f"CASE WHEN EXISTS (SELECT 1 FROM {sub.cte} r WHERE ({same}) IS TRUE) THEN TRUE "
                f"WHEN EXISTS (SELECT 1 FROM {sub.cte} r WHERE {b.sql} IS NULL) "
                f"OR ({a.sql} IS NULL AND EXISTS (SELECT 1 FROM {sub.cte} r)) THEN NULL ELSE FALSE END")

    def exists(self, expr, sub, path):
        join = {**{k: v for k, v in expr.items() if k in ("on", "residual")}, "op": "join", "kind": "mark"}
        keys = self.owner.join_keys(join, path, self.rel, sub)
        condition = self.owner.join_condition(join, path, self.rel, sub, keys)
        return f"EXISTS (SELECT 1 FROM {sub.cte} r WHERE {condition})"
