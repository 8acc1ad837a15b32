"""What trials share: the binary, databases that are made once, their undamaged answers, and running processes."""

import functools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import judge

SOURCE = Path(__file__).resolve().parents[2]
LIMIT_S = 60  # of any process that has no shorter one


class World:
    """binary: heddle; tests: the build's folder of test programs; slack: seconds that a busy machine may add."""

    def __init__(self, binary, tpch, slack):
        self.heddle = str(Path(binary).resolve())
        self.tests = Path(self.heddle).parents[1] / "tests"
        self.slack = slack
        self.root = Path(tempfile.mkdtemp(prefix="heddle-hostile-"))
        self.cache = self.root / "cache"
        self.given_tpch = tpch and Path(tpch).resolve()
        self.env = {k: v for k, v in os.environ.items() if k == "HEDDLE_NVRTC" or not k.startswith("HEDDLE_")}
        self.env.update(HEDDLE_CACHE=str(self.cache), TMPDIR=str(self.root))

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def program(self, name):
        """A test program of the build."""
        path = self.tests / name
        if not path.exists():
            raise judge.Missing(f"{name} is not built")
        return str(path)

    # ---- processes ----

    def start(self, args, cwd, env=None, setup=None, **streams):
        """heddle with arguments, or a program by its absolute path."""
        command = [str(a) for a in args]
        if not command[0].startswith("/"):
            command.insert(0, self.heddle)
        return subprocess.Popen(command, cwd=cwd, env={**self.env, **(env or {})}, preexec_fn=in_child(setup),
                                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams})

    def run(self, *args, cwd, stdin=b"", limit=LIMIT_S, env=None, setup=None, **streams):
        """Runs until it ends, or kills it after limit (and slack) seconds."""
        begun = time.monotonic()
        process = self.start(args, cwd, env, setup, **streams)
        late = False
        try:
            out, err = process.communicate(stdin, timeout=limit + self.slack)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            late = True
        return judge.Done(list(args), process.returncode, out or b"", err or b"", time.monotonic() - begun, late)

    def must(self, *args, **more):
        """A command on undamaged input; its output."""
        done = self.run(*args, **more)
        judge.hold(judge.ended(done) == judge.ROWS, f"undamaged: {done}")
        return done.out

    # ---- databases ----

    @functools.cached_property
    def small_data(self):
        """Text and schema of tests/simt/make_small.py."""
        out = self.root / "small-data"
        subprocess.run([sys.executable, "-B", SOURCE / "tests/simt/make_small.py", out], check=True)
        return out

    @functools.cached_property
    def small(self):
        self.must("load", "--schema", self.small_data / "schema.json", "--from", self.small_data, "--out", "small", cwd=self.root)
        return self.root / "small"

    @functools.cached_property
    def tpch(self):
        if self.given_tpch:
            return self.given_tpch
        self.must("gen", "tpch", "--sf", "0.01", "--out", "tpch", cwd=self.root)
        return self.root / "tpch"

    # ---- plans and their answers ----

    @functools.cached_property
    def small_plans(self):
        own = sorted((SOURCE / "tests/simt/plans").glob("*.json"))
        return {p.stem: json.loads(p.read_text()) for p in own} | {f"columns of {t}": read_all(self.small_schema[t])
                                                                  for t in self.small_schema}

    @functools.cached_property
    def small_schema(self):
        return {t["name"]: t for t in json.loads((self.small_data / "schema.json").read_text())["tables"]}

    @functools.cached_property
    def tpch_plans(self):
        return {p.stem: json.loads(p.read_text()) for p in sorted((SOURCE / "tpch/plans").glob("*.json"))}

    def plans(self, db):
        return self.small_plans if db == self.small else self.tpch_plans

    @functools.lru_cache
    def expected(self, db):
        """name -> the undamaged answer to each plan, rows or error."""
        folder = self.root / f"expected-{db.name}"
        folder.mkdir()
        return dict(zip(self.plans(db), self.batch(db, self.plans(db), folder)))

    def batch(self, db, plans, folder, *options, **more):
        """Runs the plans in one process: for each its rows as CSV, or its error."""
        lines = "".join(json.dumps({"plan": plan, "out": f"rows{i}", "threads": 2}) + "\n"
                        for i, plan in enumerate(plans.values()))
        done = self.run("run", "--batch", "-", "--db", db, *options, cwd=folder, stdin=lines.encode(), **more)
        if done.status in judge.STATUSES and not done.out:
            judge.ended(done)
            return [{"error": done.err.decode()}] * len(plans)  # the database cannot be opened
        found = judge.answers(done, len(plans))
        return [{"error": a["error"]} if "error" in a else {"rows": (folder / f"rows{i}").read_text(errors="surrogateescape")}
                for i, a in enumerate(found)]

    def compare(self, db, plans, found):
        """Each answer is an error or the undamaged one; ERROR if one is an error that the undamaged run does not have."""
        outcome = judge.ROWS
        for name, answer in zip(plans, found):
            expected = self.expected(db)[name]
            if "error" in answer:
                outcome = judge.ERROR if "rows" in expected else outcome
            else:
                judge.hold("rows" in expected, f"{name} gives rows instead of {expected}")
                judge.same(in_order(plans[name], answer["rows"]), in_order(plans[name], expected["rows"]), name)
        return outcome


def in_order(plan, rows):
    """Rows that are comparable: in the order of the plan's sort, or in any."""
    return rows if plan["root"]["op"] == "sort" else "\n".join(sorted(rows.split("\n")))


def read_all(table):
    """A plan that reads every column of a table."""
    aggs = [{"fn": fn, "arg": c["name"], "as": f"{fn}_{c['name']}"} for c in table["columns"] for fn in ("min", "max", "count")]
    return {"heddle": 1, "root": {"op": "aggregate", "aggs": aggs, "input": {"op": "scan", "table": table["name"]}}}


def in_child(setup):
    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if setup:
            setup()
    return prepare


class Trial:
    """One trial: its number decides everything; what: what is tried, for whoever reads of a failure."""

    def __init__(self, world, name, seed):
        self.world, self.what = world, ""
        self.rng = random.Random(f"{name}:{seed}")
        self.dir = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=world.root))

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def tell(self, what):
        self.what = what

    def run(self, *args, **more):
        return self.world.run(*args, **{"cwd": self.dir, **more})

    def copy(self, db, own=None):
        """A copy of the database in the trial's folder. own: the files that will be changed, the others are links to
        the original's; None: all."""
        out = self.dir / "db"
        out.mkdir()
        for path in db.iterdir():
            if own is None or path.name in own:
                shutil.copy(path, out / path.name)
            else:
                os.link(path, out / path.name)
        return out

    def log_uniform(self, low, high):
        """Small numbers as often as large ones."""
        return low * (high / low) ** self.rng.random()


def stop_after(process, seconds, sig=signal.SIGKILL):
    """Sends the signal after so many seconds, unless the process has ended."""
    def stop():
        if process.poll() is None:
            process.send_signal(sig)
    timer = threading.Timer(seconds, stop)
    timer.start()
    return timer
