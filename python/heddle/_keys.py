"""Primary and foreign keys as they are declared in Python, and as the schema's JSON has them."""
from __future__ import annotations

from typing import Any, Mapping

from ._errors import UserError


def names(of) -> list[str]:
    """Of columns: "a", "a, b" or a list."""
    return [n.strip() for n in of.split(",")] if isinstance(of, str) else list(of)


def foreign_key(columns, to, primary_keys: Mapping[str, list[str]]) -> dict:
    """`to`: a table, whose primary key is meant, or a table and its columns."""
    if isinstance(to, str):
        if not primary_keys.get(to):
            raise UserError(f"a foreign key refers to {to}, which has no primary key: name the columns, as in "
                            f'("{to}", ["column"])')
        to = (to, primary_keys[to])
    return {"columns": names(columns), "table": to[0], "references": names(to[1])}


def of_table(name: str, primary_key: Any, foreign_keys: Mapping[Any, Any] | None, catalog) -> dict | None:
    """Keys of a table that is registered. `catalog`: a function that gives the database's, asked for where it is needed."""
    if primary_key is None and not foreign_keys:
        return None
    made: dict = {}
    known: dict = {}
    if foreign_keys and any(isinstance(to, str) for to in foreign_keys.values()):
        known = {t["name"]: t.get("primary_key") for t in catalog()["tables"]}
    if primary_key is not None:
        made["primary_key"] = known[name] = names(primary_key)
    if foreign_keys:
        made["foreign_keys"] = [foreign_key(columns, to, known) for columns, to in foreign_keys.items()]
    return made
