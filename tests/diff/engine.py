"""Drives the heddle command line: loads databases, and runs many plans in one process (`run --batch`)."""

import json
import os
import select
import subprocess
from dataclasses import dataclass

import results

LOAD_TIMEOUT = 120


@dataclass
class Answer:
    """What one run of a plan gave: rows, an error, or no answer at all."""
    columns: list = None  # (name, type) or, in csv, names only
    nullable: list = None
    rows: list = None
    error: dict = None  # {"class", "path", "message", "status"}
    lost: str = None  # the process crashed or hung

    def kind(self):
        if self.lost:
            return "lost"
        return "error " + self.error["class"] if self.error else "rows"


class LoadFailed(Exception):
    pass


class Engine:
    def __init__(self, heddle, cache_dir, options=(), timeout=60):
        """timeout: seconds that a process may go without answering a line."""
        self.heddle, self.options, self.timeout = heddle, list(options), timeout
        # Both tiers of code, which take turns: of two numbers of threads each pipeline begins in the one and the other.
        tiers = {} if "HEDDLE_TIER" in os.environ else {"HEDDLE_TIER_TURNS": "1"}
        self.env = {**tiers, **os.environ, "HEDDLE_CACHE": cache_dir}

    def load(self, directory, out):
        """schema.json and data/ of the directory become the database `out`."""
        command = [self.heddle, "load", "--schema", os.path.join(directory, "schema.json"),
                   "--from", os.path.join(directory, "data"), "--out", out]
        done = subprocess.run(command, env=self.env, capture_output=True, timeout=LOAD_TIMEOUT)
        if done.returncode:
            raise LoadFailed(f"exit {done.returncode}: {tail(done.stderr)}")

    def convert(self, db, plan, to):
        """The file of the plan in another form, and None; or None, and why there is none. Other errors are the plan's."""
        out = f"{plan}.{to}"
        done = subprocess.run([self.heddle, "convert", plan, "--db", db, "--to", to], env=self.env, capture_output=True)
        if done.returncode:
            why = tail(done.stderr).partition(": $")[2].partition(": ")[2]
            return None, why.partition(":")[0] if "Substrait" in why else "an error of its own"
        with open(out, "wb") as f:
            f.write(done.stdout)
        return out, None

    def run(self, db, jobs, workdir):
        """jobs: dicts of plan (a file), params, threads, format, types. Answers in the same order."""
        answers = [None] * len(jobs)
        waiting = list(range(len(jobs)))
        while waiting:
            done, reason = self.run_some(db, jobs, waiting, workdir, answers)
            if done < len(waiting):
                # the process ended before this line was answered; the rest gets a new process
                answers[waiting[done]] = Answer(lost=reason)
                done += 1
            waiting = waiting[done:]
        return answers

    def run_some(self, db, jobs, waiting, workdir, answers):
        """Runs the jobs of `waiting` in one process until it ends: (number answered, why it ended)."""
        batch = os.path.join(workdir, "batch.jsonl")
        with open(batch, "w", encoding="utf-8") as f:
            for i in waiting:
                job = jobs[i]
                line = {"plan": job["plan"], "params": job["params"], "format": job["format"],
                        "threads": job["threads"], "id": i, "out": os.path.join(workdir, f"out{i}")}
                f.write(json.dumps(line) + "\n")
        command = [self.heddle, "run", "--batch", batch, "--db", db, *self.options]
        lines, reason = self.read_lines(command, os.path.join(workdir, "stderr"))
        for line in lines:
            answers[line["id"]] = read_answer(line, jobs[line["id"]], os.path.join(workdir, f"out{line['id']}"))
        return len(lines), reason

    def read_lines(self, command, stderr):
        """The answers until the process ends or hangs, and a word on how it ended."""
        lines, text, hung = [], b"", True
        with open(stderr, "wb") as err:
            process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=err)
        while select.select([process.stdout], [], [], self.timeout)[0]:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                hung = False
                break
            *whole, text = (text + chunk).split(b"\n")
            lines += [json.loads(line) for line in whole if line.startswith(b"{")]
        if hung:
            process.kill()
        process.stdout.close()
        status = process.wait()
        with open(stderr, "rb") as err:
            return lines, f"no answer within {self.timeout:g} s" if hung else f"exit {status}: {tail(err.read())}"


def tail(text):
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return " | ".join(lines[-3:])[-600:]


def read_answer(line, job, path):
    if "error" in line:
        return Answer(error=line["error"])
    with open(path, "rb") as f:
        text = f.read().decode("utf-8", "surrogateescape")
    os.unlink(path)
    try:
        return read_rows(text, job)
    except (ValueError, KeyError, IndexError) as wrong:
        return Answer(error={"class": "unreadable output", "path": "", "status": 0, "message": f"{wrong}: {text[:200]!r}"})


def read_rows(text, job):
    if job["format"] == "json":
        columns, nullable, rows = results.read_json(text)
        return Answer(columns, nullable, rows)
    names, rows = results.read_csv(text, job["types"])
    return Answer([(n, t) for n, t in zip(names, job["types"])], None, rows)
