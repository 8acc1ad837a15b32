"""What an operator of a plan gives: a common table expression and its columns."""

from dataclasses import dataclass, field

from hdtypes import Type
from hdvalue import Expr


@dataclass
class Column:
    name: str
    type: Type
    nullable: bool
    inexact: bool = False
    sums: tuple = ()  # queries that give (rows, sum of |x|) behind an inexact column passed on unchanged


@dataclass
class Rel:
    cte: str
    columns: list
    order: list = field(default_factory=list)  # ORDER BY terms, if the rows have an order
    free_limit: tuple = None
    unlimited: str = None  # the CTE a free limit chooses from

    def scope(self, prefix=""):
        return {c.name: Expr(f"{prefix}c{i}", c.type, c.nullable, None, c.inexact) for i, c in enumerate(self.columns)}
