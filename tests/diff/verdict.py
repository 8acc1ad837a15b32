"""Judges an answer of the engine against the oracle."""

import compare
from hdtypes import ExecutionError

PASS, FAIL, SKIP = "passed", "failed", "skipped"


def judge(expected, answer):
    """(verdict, category, one line). Categories group failures of one kind and name reasons to skip."""
    if answer.lost:
        return FAIL, "crash", answer.lost
    if answer.error and answer.error["class"] != "execution":
        e = answer.error
        return FAIL, f"error {e['class']}", f"{e['class']} error at {e['path']}: {e['message']}"
    if isinstance(expected, ExecutionError) and not expected.definite:
        return SKIP, "ambiguous", str(expected)
    if isinstance(expected, ExecutionError):
        if answer.error:
            return PASS, "raised", ""
        return FAIL, "missing error", f"expected an execution error at {expected.path}, found {len(answer.rows)} rows"
    if answer.error:
        return FAIL, "wrong error", f"{answer.error['path']}: {answer.error['message']}; the oracle gives {len(expected.rows)} rows"
    problem = compare.diff_result(expected, answer.columns, answer.rows, answer.nullable)
    return (FAIL, "rows", problem) if problem else (PASS, "rows", "")


def types_of(expected):
    return [t for _, t in expected.columns] if hasattr(expected, "columns") else []
