"""The rules by which every trial is judged, whatever its class.

1. A process ends by itself, within its time limit, with an exit status that docs/cli.md names; only one that a trial
   itself has killed ends by a signal. No sanitizer has anything to say.
2. Success says nothing on standard error. Failure says one line, "heddle: error: ...", in UTF-8, without control characters.
3. A line of a batch is answered by one line of JSON: rows, or an error with status, class, path and message.
4. Rows are those of the undamaged run.
5. A folder holds what a trial expects, nothing half-written, and what was the user's is still there.
"""

import json
import os
import re
from dataclasses import dataclass

ROWS, ERROR = "rows", "error"

STATUSES = {1, 2, 3, 4}
CLASSES = {"user", "unsupported", "data", "io", "corrupt", "execution", "resource", "cancelled", "timeout", "tool"}
SANITIZERS = (b"AddressSanitizer", b"LeakSanitizer", b"ThreadSanitizer", b"runtime error:")
ERROR_LINE = re.compile(r"heddle: error: [^\n]+\n")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Broken(Exception):
    """A rule that did not hold."""


class Missing(Exception):
    """What a class needs is not built, or not allowed here: it is skipped, and the table says so."""


@dataclass
class Done:
    """A process that has ended, or that was killed because its time was over (late)."""
    args: list
    status: int
    out: bytes
    err: bytes
    took: float
    late: bool = False

    def __str__(self):
        words = " ".join(str(a) for a in self.args)
        return f"{words[:400]}: status {self.status} after {self.took:.2f} s: {self.err[-1500:].decode(errors='replace')}"


def hold(condition, message):
    if not condition:
        raise Broken(message)


def ended(done):
    """Rules 1 and 2; ROWS or ERROR."""
    hold(not done.late, f"time limit: {done}")
    hold(not any(mark in done.err for mark in SANITIZERS), f"sanitizer: {done}")
    hold(done.status == 0 or done.status in STATUSES, f"exit status: {done}")
    if done.status == 0:
        hold(done.err == b"", f"a word on standard error: {done}")
        return ROWS
    try:
        text = done.err.decode()
    except UnicodeDecodeError:
        raise Broken(f"error is not UTF-8: {done.err!r}") from None
    hold(ERROR_LINE.fullmatch(text), f"not one line of error: {done}")
    hold(not CONTROL.search(text), f"control characters in {done.err!r}")
    return ERROR


def answers(done, lines):
    """Rules 1 to 3 for a batch of that many lines; the answers."""
    ended(done)
    texts = done.out.splitlines()
    hold(len(texts) == lines, f"{len(texts)} answers to {lines} lines: {done}")
    found = [json.loads(text) for text in texts]
    for number, answer in enumerate(found, 1):
        hold(answer["line"] == number, f"line {number} is answered as {answer}")
        hold(("rows" in answer) != ("error" in answer), f"neither rows nor an error: {answer}")
        if "error" in answer:
            error = answer["error"]
            hold(set(error) == {"status", "class", "path", "message"} and error["status"] in STATUSES
                 and error["class"] in CLASSES and error["message"], f"not a clean error: {answer}")
    hold(done.status == (1 if any("error" in a for a in found) else 0), f"status of a batch: {done}")
    return found


def same(rows, expected, what):
    """Rule 4, for texts; what they are of."""
    if rows != expected:
        at = next((i for i, (a, b) in enumerate(zip(rows, expected)) if a != b), min(len(rows), len(expected)))
        raise Broken(f"other rows of {what}, from {at}: {rows[at:at + 200]!r} instead of {expected[at:at + 200]!r}")


def only(folder, expected, what):
    """Rule 5: the folder's names."""
    found = set(os.listdir(folder))
    hold(found == set(expected), f"{what}: found {sorted(found - set(expected))}, missing {sorted(set(expected) - found)}")
