"""The prompt of `python -m heddle shell`: queries end with `;`, what begins with a point is a command."""
from __future__ import annotations

import os
import pathlib
import shlex
import sys
from typing import Callable, Iterator

import heddle

HELP = """.tables                 names and numbers of rows
.schema TABLE           columns of a table
.read NAME FILE         a table in memory, of a file of Parquet
.explain [STAGES] QUERY what is made of a query; STAGES such as plan,pipelines
.time                   prints times after each query, or no longer
.quit                   ends, as Ctrl-D does"""
KEYWORDS = """select from where group by having order limit offset with as on join left right full inner outer cross union all
intersect except distinct case when then else end and or not in exists between like is null true false count sum avg min
max cast extract interval date desc asc over partition rows range""".split()


class Shell:
    """A prompt's state: the connection, and what has been switched on."""

    def __init__(self, con: heddle.Connection, out: Callable[[str], None] = print):
        self.con, self.out, self.timed = con, out, False

    def words(self) -> Iterator[str]:
        """What can be completed: keywords, tables, columns."""
        yield from KEYWORDS
        for table in self.con.tables():
            yield table
            yield from self.con.schema(table).names

    def complete(self, text: str) -> bool:
        """Whether an input is all there."""
        text = text.strip()
        return not text or text.startswith(".") or text.endswith(";")

    def run(self, text: str) -> bool:
        """Runs an input; False: that was the last."""
        text = text.strip().rstrip(";").strip()
        try:
            if text.startswith("."):
                return self._command(*(text[1:].split(None, 1) + [""])[:2])
            if text:
                result = self.con.sql(text)
                self.out(result._text(100))
                if self.timed:
                    self.out(repr(result.profile))
        except heddle.Error as e:
            self.out(f"error: {e}")
        except KeyboardInterrupt:
            self.out("cancelled")
        return True

    def _command(self, name, rest):
        if name in ("quit", "exit", "q"):
            return False
        if name == "tables":
            for table in self.con.tables():
                self.out(f"{table:24} {self.con.rows(table):>14,}")
        elif name == "schema":
            for f in self.con.schema(rest):
                self.out(f"{f.name:24} {f.type}{'' if f.nullable else ' not null'}")
        elif name == "read":
            self._read(*shlex.split(rest)[:2])
        elif name == "explain":
            first, _, query = rest.partition(" ")
            stages = first if set(first.split(",")) <= set("plan physical pipelines spec llvm llvm-opt asm cuda ptx".split()) else ""
            self.out(self.con.prepare_sql(query if stages else rest).explain(stages or "plan"))
        elif name == "time":
            self.timed = not self.timed
        else:
            self.out(HELP)
        return True

    def _read(self, name="", path=""):
        import pyarrow.dataset
        if not os.path.exists(path):
            raise heddle.IoError("no such file", path)
        self.con.register(name, pyarrow.dataset.dataset(path).to_table())


def history_file() -> pathlib.Path:
    """Where inputs are kept from one session to the next."""
    folder = pathlib.Path(os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state") / "heddle"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "history"


def _session(shell: Shell, **more):
    """A prompt of prompt_toolkit: history, completion, queries of several lines."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.application import get_app
    words = WordCompleter(lambda: sorted(set(shell.words())), ignore_case=True)
    return PromptSession("heddle> ", completer=words, history=FileHistory(str(history_file())),
                         complete_while_typing=False,
                         multiline=Condition(lambda: not shell.complete(get_app().current_buffer.text)), **more)


def inputs(shell: Shell, **more) -> Iterator[str]:
    """What is entered, by prompt_toolkit where it is there."""
    if sys.stdin.isatty() or more:
        try:
            session = _session(shell, **more)
        except ImportError:
            session = None
    else:
        session = None
    read = session.prompt if session else _lines(shell)
    while True:
        try:
            yield read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _lines(shell):
    def read():
        text = input("heddle> " if sys.stdin.isatty() else "")
        while not shell.complete(text):
            text += "\n" + input("   ...> " if sys.stdin.isatty() else "")
        return text
    return read


def run(con: heddle.Connection) -> None:
    """Reads and runs until the end of the input."""
    shell = Shell(con)
    if sys.stdin.isatty():
        print(f"Heddle {heddle.__version__}, {con!r}. Queries end with ;  .help tells the rest.")
    for text in inputs(shell):
        if not shell.run(text):
            break
