"""SQL: DataFusion reads a query and makes Substrait of its logical plan, which Heddle plans and runs.

DataFusion knows tables by their columns alone: names, types, and what may be NULL. It executes nothing. Facts, the order
of joins and everything physical are Heddle's.
"""
from __future__ import annotations

import collections
import json
import re
import threading
from typing import Sequence

from ._errors import SQLError, UnsupportedError
from ._sql_windows import has_lost, mark_distinct

# What a query may have that no Substrait has, by DataFusion's names of parts of plans.
_CONSTRUCTS = {"RecursiveQuery": "WITH RECURSIVE", "Unnest": "UNNEST", "Explain": "EXPLAIN (use con.explain)",
               "Analyze": "EXPLAIN ANALYZE (use result.profile)", "DescribeTable": "DESCRIBE (use con.schema)",
               "DmlStatement": "INSERT, UPDATE or DELETE", "CopyTo": "COPY", "Ddl": "DDL", "Statement": "a statement"}


# Plans that are kept, of the texts that were used last.
_KEPT = 256


class Planner:
    """Queries to Substrait, for the tables of a connection. Plans of the last texts are kept as long as the set of tables is the
    same: a query that is asked again costs no planning by DataFusion."""

    def __init__(self, con):
        try:
            import datafusion
            import datafusion.substrait
        except ImportError:
            raise UnsupportedError("con.sql reads SQL with DataFusion: pip install 'heddle[sql]'") from None
        self._con, self._lock = con, threading.Lock()
        self._df = datafusion
        self._allowed = (datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False))
        self._plain, self._version = None, None
        self._kept: collections.OrderedDict[str, tuple[bytes, Sequence[str] | None]] = collections.OrderedDict()
        self._keeping = None  # a context that leaves IN (subquery) as it is; made when it is needed

    # -- contexts --

    def _context(self, keep_subqueries=False):
        """Tables without rows: names, types and nullability."""
        import pyarrow
        config = self._df.SessionConfig()
        # Numbers with a point are decimals, as in the standard; strings are one type.
        config = config.set("datafusion.sql_parser.parse_float_as_decimal", "true")
        config = config.set("datafusion.sql_parser.map_string_types_to_utf8view", "false")
        context = self._df.SessionContext(config)
        if keep_subqueries:
            context.remove_optimizer_rule("decorrelate_predicate_subquery")
        for name in self._con.tables():
            empty = pyarrow.RecordBatch.from_pylist([], schema=self._con.schema(name))
            context.register_record_batches(f'"{name}"', [[empty]])
        return context

    def _refresh(self):
        if self._version != self._con._version:
            self._version = self._con._version
            self._plain, self._keeping = self._context(), None
            self._kept.clear()

    # -- plans --

    def plan(self, query: str) -> tuple[bytes, Sequence[str] | None]:
        """The Substrait plan, and the names of its parameters in their order; None: they are $1, $2 and so on."""
        with self._lock:
            self._refresh()
            if query in self._kept:
                self._kept.move_to_end(query)
                return self._kept[query]
            text, names = number_parameters(query)
            made = self._kept[query] = self._substrait(text), names
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return made

    def _substrait(self, text):
        plan, context, found = self._logical(text)
        try:
            made = self._df.substrait.Producer.to_substrait_plan(plan, context)
            printed = plan.display_indent()
            if not found and not has_lost(printed):
                return made.encode()
            made = json.loads(made.to_json())
            if found:
                mark(made, printed, found)
            if has_lost(printed):
                mark_distinct(made, printed)
            return json.dumps(made).encode()
        except SQLError:
            raise
        except Exception as e:
            raise SQLError(_explain(str(e))) from None

    def _logical(self, text):
        """A plan, its context, and what of it must be marked."""
        plan, optimized = self._plans(self._plain, text)
        found = lost_null(plan.display_indent(), optimized.display_indent())
        if not found:
            return optimized, self._plain, found
        # As an expression it keeps its meaning; as a join it would not.
        if self._keeping is None:
            self._keeping = self._context(keep_subqueries=True)
        _, kept = self._plans(self._keeping, text)
        if "outer_ref(" not in kept.display_indent():
            return kept, self._keeping, []
        return optimized, self._plain, found  # other subqueries must become joins

    def _plans(self, context, text):
        try:
            frame = context.sql_with_options(text, self._allowed)
            return frame.logical_plan(), frame.optimized_logical_plan()
        except Exception as e:
            raise SQLError(_explain(str(e))) from None


def _explain(message: str) -> str:
    """DataFusion's message in few words, with the construct's name."""
    found = re.search(r"Unsupported plan type: (\w+)", message)
    if found:
        return f"con.sql does not take {_CONSTRUCTS.get(found[1], found[1])}"
    message = re.sub(r"^(Error during planning|Schema error|SQL error|This feature is not implemented|NotImplemented|"
                     r"Substrait|DataFusion error)\s*[:(]\s*", "", message.strip())
    message = re.sub(r'^ParserError\("(.*)"\)$', r"\1", message, flags=re.S)
    message = message.replace("datafusion.public.", "").strip('")')
    found = re.match(r"(DDL|DML|Statement) not supported: (.*)", message)
    if found:
        return f"con.sql only takes queries, not {found[2]} ({found[1]})" if found[1] != "Statement" else \
            f"con.sql only takes queries, not the statement {found[2]}"
    return " ".join(message.split())[:500]


# ---- NOT IN ---------------------------------------------------------------------------------------

# DataFusion makes joins of x IN (subquery). Where the subquery has a NULL, or x is one, x IN and x NOT IN are NULL and
# not false and true. For x IN as a condition this is the same. For x NOT IN it is not: the anti join is marked null_aware,
# which Substrait says by a hint at most; and a mark join, that of x NOT IN below OR, loses it in DataFusion itself.

_IN = "IN (<subquery>)"
_LITERAL = re.compile(r'(?:Large)?Utf8(?:View)?\("[^"]*"\)')
_COMPARES = re.compile(r" (?:[=<>!]+|IS|LIKE|ILIKE|~|BETWEEN|DISTINCT) ")


def lost_null(plan: str, optimized: str) -> list[str]:
    """Conditions of a query that would lose NULLs as joins, as DataFusion prints them. Says so rather once too often: what is
    not plainly `x IN (subquery)` in a condition of AND and OR counts."""
    found = []
    for line in map(str.strip, plan.splitlines()):
        if _IN not in line or line.startswith(("Projection: ", "Aggregate: ", "Sort: ", "Window")) or " Join: " in line:
            continue  # there it stays an expression
        if not line.startswith("Filter: "):
            found.append(line)
            continue
        condition = _without_literals(line)
        bad = '"' in condition or any(_IN in o and not _is_plain_in(o) for o in _operands(condition))
        if bad and not (_is_not_in(condition) and "null_aware" not in optimized):
            found.append(line.removeprefix("Filter: "))
    return found


def _without_literals(condition: str) -> str:
    return _LITERAL.sub("''", condition.removeprefix("Filter: "))


def mark(made: dict, optimized: str, found: list[str]) -> None:
    """Puts a hint, docs/substrait.md, into Substrait's JSON at each join that DataFusion prints as null_aware. An error where
    that is not all that would be lost."""
    refused = SQLError(f"{found[0][:200]}: with NULLs this is not what the join that it becomes is, and a subquery that refers to the "
                       "query around it allows no other way; write NOT EXISTS, or keep NULLs out")
    printed = [line.strip() for line in optimized.splitlines() if re.match(r"\s*(?!Cross)\w+ Join: ", line)]
    joins = list(_joins(made["relations"][0]["root"]["input"]))
    if "Subquery:" in optimized or "Mark Join:" in optimized or len(joins) != len(printed):
        raise refused
    if not all(_is_not_in(_without_literals(condition)) for condition in found):
        raise refused
    for join, line in zip(joins, printed):
        if not line.endswith(" null_aware"):
            continue
        if not re.fullmatch(r"LeftAnti Join: [^,]+ = [^,]+ null_aware", line) or " Filter: " in line \
                or join["type"] != "JOIN_TYPE_LEFT_ANTI":
            raise refused
        join.setdefault("common", {}).setdefault("hint", {})["alias"] = "null_aware"


def _joins(relation):
    """The joins of a relation in the order in which DataFusion prints them."""
    for kind, of in relation.items():
        if kind == "join":
            yield of
        for inner in [of[k] for k in ("input", "left", "right") if k in of] + of.get("inputs", []):
            yield from _joins(inner)


def _is_plain_in(operand: str) -> bool:
    """x IN (<subquery>), of an x without conditions in it."""
    x = operand.removesuffix(_IN)
    return (x != operand and _IN not in x and not x.startswith(("NOT ", "CASE ")) and not x.endswith(" NOT ")
            and not _COMPARES.search(x))


def _is_not_in(condition: str) -> bool:
    """Every such operand is x NOT IN (<subquery>), and below AND alone: an anti join, marked where it matters."""
    if " OR " in condition or '"' in condition:
        return False
    wrong = [o for o in _operands(condition) if _IN in o and not _is_plain_in(o)]
    return all(_is_plain_in(o.removesuffix("NOT " + _IN) + _IN) and o.endswith("NOT " + _IN) for o in wrong)


def _operands(condition: str) -> list[str]:
    """Operands of AND and OR, of those in parentheses too."""
    parts, depth, begin = [], 0, 0
    for m in re.finditer(r"[()]| AND | OR ", condition):
        if m[0] == "(":
            depth += 1
        elif m[0] == ")":
            depth -= 1
        elif depth == 0:
            parts.append(condition[begin:m.start()])
            begin = m.end()
    parts.append(condition[begin:])
    if len(parts) == 1:
        one = parts[0].strip()
        inside = one[1:-1]
        if one.startswith("(") and one.endswith(")") and _balanced(inside):
            return _operands(inside)
        return [one]
    return [o for p in parts for o in _operands(p)]


def _balanced(text: str) -> bool:
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


# ---- parameters -----------------------------------------------------------------------------------

# What a parameter cannot stand in: strings, quoted names, comments. Then $name or $1.
_TOKEN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/)|\$(\w+)|(\?)""", re.S)


def number_parameters(query: str) -> tuple[str, list[str] | None]:
    """Named parameters as $1, $2, in order of their first appearance, and their names. None: they have numbers."""
    names: list[str] = []
    numbered = set()

    def number(m):
        if m[1] is not None:
            return m[0]
        if m[3] is not None:
            raise SQLError("parameters are $1, $2 or $name, not ?")
        if m[2].isdigit():
            numbered.add(m[2])
            return m[0]
        if m[2] not in names:
            names.append(m[2])
        return f"${names.index(m[2]) + 1}"

    text = _TOKEN.sub(number, query)
    if names and numbered:
        raise SQLError(f"parameters are numbers or names, not both: ${min(numbered)} and ${names[0]}")
    return text, names or None
