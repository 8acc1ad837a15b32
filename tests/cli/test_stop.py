#!/usr/bin/env python3
"""What ends a command before its time: signals and time limits at every moment, and a system that
refuses memory or large files."""

import json
import os
import random
import resource
import signal
import subprocess
import time
import unittest

import cli

# A signal ends a command within 0.2 s (docs/cli.md); this machine may have others to serve too.
SOON_S = float(os.environ.get("HEDDLE_STOP_SECONDS", "1"))
SANITIZED = b"__asan_init" in cli.Path(cli.BINARY).read_bytes()


def ints(n):
    return {"op": "values", "columns": [{"name": "n", "type": "int64"}], "rows": [[i] for i in range(n)]}


def cross(*inputs):
    """Every row of each with every row of the others, as columns a, b and so on."""
    root = renamed(inputs[0], "a")
    for name, side in zip("bcdef", inputs[1:]):
        root = {"op": "join", "kind": "inner", "left": root, "right": renamed(side, name), "on": []}
    return root


def renamed(node, name):
    return {"op": "project", "exprs": [{"expr": "n", "as": name}], "input": node}


# Runs for hours, in one pipeline; compiles in no time.
LONG = cli.plan({"op": "aggregate", "keys": [], "aggs": [{"fn": "sum", "arg": "a * b + c * d", "as": "s"}],
                 "input": cross(*[ints(3000)] * 4)})
# Prints gigabytes.
MUCH = cli.plan(cross(ints(3000), ints(3000)))
# Takes LLVM a good part of a second at the least.
WIDE = cli.plan({"op": "aggregate", "keys": ["n"],
                 "aggs": [{"fn": "sum", "arg": f"n * {i} + n", "as": f"s{i}"} for i in range(2, 300)],
                 "input": ints(3)})


class Stop(cli.CliTest):
    def start(self, *args, **more):
        environment = {**os.environ, "HEDDLE_CACHE": ""}
        process = subprocess.Popen([cli.BINARY, *map(str, args)], cwd=self.dir, env=environment,
                                   **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE,
                                      "stderr": subprocess.PIPE, **more})
        self.addCleanup(self.clean_up, process)
        return process

    @staticmethod
    def clean_up(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()

    def wait_soon(self, process, begun):
        try:
            process.wait(10 * SOON_S)
        except subprocess.TimeoutExpired:
            self.fail(f"{process.args}: still there after {10 * SOON_S} s")
        took = time.monotonic() - begun
        self.assertLess(took, SOON_S, process.args)

    def interrupt(self, after, *args, sig=signal.SIGINT, **more):
        """The command must end soon after the signal, with one line that says why."""
        process = self.start(*args, **more)
        time.sleep(after)
        if process.poll() is not None:
            return process.returncode
        begun = time.monotonic()
        process.send_signal(sig)
        self.wait_soon(process, begun)
        if process.returncode not in (-sig, 0): # before it had begun, or when it was done
            self.assertEqual((process.returncode, process.stderr.read()),
                             (1, b"heddle: error: interrupted\n"), (after, args))
        return process.returncode

    # ---- signals ----

    def test_while_starting(self):
        self.write("long.json", LONG)
        for i in range(20):
            self.interrupt(0.004 * i, "run", "long.json", sig=(signal.SIGINT, signal.SIGTERM)[i % 2])

    def test_while_planning_and_compiling(self):
        self.write("wide.json", WIDE)
        for _ in range(8):
            self.interrupt(random.uniform(0.05, 1), "run", "wide.json", stdout=subprocess.DEVNULL)
        for stage in ("llvm-opt", "asm"):
            self.interrupt(random.uniform(0.1, 0.8), "explain", "wide.json", "--dump", stage,
                           stdout=subprocess.DEVNULL)

    def test_while_running(self):
        self.write("long.json", LONG)
        self.assertEqual(self.interrupt(0.5, "run", "long.json"), 1)
        self.assertEqual(self.interrupt(0.5, "run", "long.json", "-t", "1", sig=signal.SIGTERM), 1)

    def test_while_reading(self):
        self.write("one.json", cli.plan(ints(1), params={"x": {"type": "int64", "default": "1"}}))
        os.mkfifo(self.dir / "fifo")
        for args in (["run", "-"], ["run", "fifo"], ["explain", "fifo"], ["run", "one.json", "-p", "@fifo"],
                     ["run", "--batch", "-"], ["run", "--batch", "fifo"],
                     ["load", "--schema", "fifo", "--from", ".", "--out", "db"]):
            with self.subTest(args=args):
                self.assertEqual(self.interrupt(0.3, *args), 1)
        writer = os.open(self.dir / "fifo", os.O_RDWR) # a FIFO that somebody writes to, but not now
        os.write(writer, b'{"heddle": 1, ')
        self.assertEqual(self.interrupt(0.3, "run", "fifo", sig=signal.SIGTERM), 1)
        os.close(writer)

    def test_in_an_idle_batch(self):
        process = self.start("run", "--batch", "-")
        process.stdin.write((json.dumps({"plan": json.loads(cli.plan(ints(1)))}) + "\n").encode())
        process.stdin.flush()
        self.assertEqual(json.loads(process.stdout.readline()), {"line": 1, "rows": 1})
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.wait_soon(process, begun)
        self.assertEqual(process.returncode, 1)

    def test_at_a_full_pipe(self):
        self.write("much.json", MUCH)
        self.write("wide.json", WIDE)
        for form in ("csv", "json", "table"):
            with self.subTest(form=form):
                self.assertEqual(self.interrupt(2, "run", "much.json", "--format", form), 1)
        self.assertEqual(self.interrupt(2, "explain", "wide.json", "--dump", "pipelines,llvm"), 1)

    def test_a_reader_that_leaves(self):
        self.write("much.json", MUCH)
        process = self.start("run", "much.json", "--format", "csv")
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.wait(cli.TIMEOUT_S), -signal.SIGPIPE)

    # ---- time limits ----

    def test_time_limit(self):
        self.write("long.json", LONG)
        self.write("wide.json", WIDE)
        self.write("much.json", MUCH)
        for name in ("long.json", "much.json"):
            begun = time.monotonic()
            process = self.start("run", name, "--query-timeout", "0.5")
            process.wait(cli.TIMEOUT_S)
            self.assertLess(time.monotonic() - begun, 0.5 + SOON_S + 0.5) # starting it takes time too
            self.assertEqual((process.returncode, process.stderr.read()),
                             (4, b"heddle: error: timed out after 0.5 s\n"))
        self.assertEqual(self.fail_cli("run", "wide.json", "--query-timeout", "0.02", status=4),
                         "timed out after 0.02 s")
        self.write("rows.json", cli.plan(ints(300_000))) # over while the plan is read
        self.assertEqual(self.fail_cli("run", "rows.json", "--query-timeout", "0.01", status=4), "timed out after 0.01 s")

    def test_time_limit_of_a_batch(self):
        self.write("lines", "".join(json.dumps({"plan": json.loads(p)}) + "\n"
                                    for p in (LONG, cli.plan(ints(1)), WIDE, cli.plan(ints(2)))))
        begun = time.monotonic()
        out, err = self.run_cli("run", "--batch", "lines", "--query-timeout", "0.3", status=1)
        self.assertLess(time.monotonic() - begun, cli.TIMEOUT_S / 4)
        answers = [json.loads(line) for line in out.splitlines()]
        late = {"status": 4, "class": "timeout", "path": "", "message": "timed out after 0.3 s"}
        self.assertEqual(answers[0], {"line": 1, "error": late})
        self.assertEqual([a.get("rows") for a in answers[1::2]], [1, 2])
        self.assertIn(" of 4 lines failed", err)

    def test_time_limit_of_a_benchmark(self):
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        # Many executions: on a busy machine a single one of 5 ms may end before the watch of 1 ms looks.
        out, _ = self.run_cli("bench", "tpch", "--db", "db", "-q", "1,21", "--repeat", "2000", "--query-timeout",
                              "0.001", status=1)
        self.assertEqual(out.count("timeout"), 2, out)

    # ---- limits of the system ----

    def limited(self, what, bytes_, *args, environment=None):
        return subprocess.run([cli.BINARY, *args], cwd=self.dir, capture_output=True, timeout=cli.TIMEOUT_S,
                              check=False, env={**os.environ, "HEDDLE_CACHE": "", **(environment or {})},
                              preexec_fn=lambda: resource.setrlimit(what, (bytes_, bytes_)))

    def test_cache_that_may_not_grow(self):
        self.write("one.json", cli.plan({"op": "filter", "pred": "n > 0", "input": ints(3)}))
        done = self.limited(resource.RLIMIT_FSIZE, 100, "run", "one.json", "--format", "csv",
                            environment={"HEDDLE_CACHE": str(self.dir / "cache")})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"n\n1\n2\n", b""))
        self.assertEqual(list((self.dir / "cache").iterdir()), [])

    def test_output_that_may_not_grow(self):
        done = self.limited(resource.RLIMIT_FSIZE, 1 << 16, "gen", "tpch", "--sf", "0.01", "--out", "db")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rb"\Aheddle: error: .*File too large\n\Z")
        self.assertEqual(list(self.dir.iterdir()), [])

    @unittest.skipIf(SANITIZED, "a sanitized process maps terabytes")
    def test_memory_that_the_system_refuses(self):
        self.write("big.json", cli.plan(ints(1500000)))
        said = set()
        for megabytes in (320, 480, 640, 800):
            done = self.limited(resource.RLIMIT_AS, megabytes << 20, "explain", "big.json")
            if done.returncode != 0:
                self.assertEqual(done.returncode, 3, done.stderr)
                said.add(done.stderr.decode().partition("the system refused")[1])
        self.assertEqual(said - {"the system refused"}, set())
        self.assertTrue(said)
        self.write("group.json", cli.plan({"op": "aggregate", "keys": ["n"], "aggs": [],
                                           "input": ints(1000)}))
        done = self.limited(resource.RLIMIT_AS, 2 << 30, "run", "group.json")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, rb"the system refused memory \(.*\); the limit of \d+ bytes is not reached")


if __name__ == "__main__":
    cli.main()
