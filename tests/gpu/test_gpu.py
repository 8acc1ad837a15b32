"""The `heddle` binary on a GPU: what the emulator cannot show. Without a device it reports itself as skipped.

The environment names the binary (HEDDLE_BINARY) and a folder for data (GPU_SCRATCH, else a temporary one).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("HEDDLE_BINARY", "heddle")
BALANCES = "none,nifs,nifs+fws,nifs+fws-local,nifs+aws,pp,pp+lr,shuffle,shuffle+ibr"
TIMEOUT_S = 300
SKIPPED = 77


def heddle(*args, env=None, check=True):
    done = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env={**os.environ, **(env or {})}, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"heddle {' '.join(map(str, args))}: {done.stderr}")
    return done


def report(done):
    return json.loads(done.stderr.splitlines()[-1])


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="heddle-gpu-")
        folder = Path(os.environ.get("GPU_SCRATCH") or cls.scratch.name)
        cls.db = {}
        for suite in ("tpch", "jcch", "ssb"):
            cls.db[suite] = folder / f"{suite}001"
            if not cls.db[suite].exists():
                heddle("gen", suite, "--sf", 0.01, "--out", cls.db[suite])

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_query(self, number, *options, **more):
        plan = ROOT / "tpch" / "plans" / f"q{number:02}.json"
        return heddle("run", plan, "--db", self.db["tpch"], "--backend", "cuda", "--time", *options, **more)

    def agree(self, suite, *options):
        done = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / "agree.py", "--heddle", BINARY, "--db",
                               self.db[suite], "--sf", "0.01", "--suite", suite, *options],
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_tpch_agrees_with_the_cpu(self):
        self.agree("tpch", "--balance", f"auto,{BALANCES}")

    def test_jcch_agrees_with_the_cpu(self):
        self.agree("jcch", "--class", "normal,skewed", "--balance", f"auto,{BALANCES}")

    def test_ssb_agrees_with_the_cpu(self):
        self.agree("ssb", "--balance", f"auto,{BALANCES}")

    def test_auto_takes_the_gpu(self):
        plan = ROOT / "tpch" / "plans" / "q06.json"
        done = heddle("run", plan, "--db", self.db["tpch"], "--time")
        self.assertEqual(report(done)["backend"], "cuda")
        self.assertIn("device", report(done))

    def test_cached_code_is_found_again(self):
        with tempfile.TemporaryDirectory() as cache:
            first = report(self.run_query(3, env={"HEDDLE_CACHE": cache}))
            again = report(self.run_query(3, env={"HEDDLE_CACHE": cache}))
        self.assertFalse(first["compile_cached"])
        self.assertTrue(again["compile_cached"])

    def test_compiler_process_makes_the_same_code(self):
        info = json.loads(heddle("info", "--json").stdout)
        if not info["compiler_process"]:
            self.skipTest(info["compiler_process_missing"])
        alone = {"HEDDLE_COMPILER": "none"}
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            there = self.run_query(3, env={"HEDDLE_CACHE": one})
            here = self.run_query(3, env={"HEDDLE_CACHE": other, **alone})
            again = self.run_query(3, env={"HEDDLE_CACHE": one, **alone})
            code = [{p.name: p.read_bytes() for p in Path(cache).glob("*.hdo")} for cache in (one, other)]
        self.assertNotIn("compiler_process_missing", report(there))
        self.assertEqual(report(here)["compiler_process_missing"], "$HEDDLE_COMPILER is none")
        self.assertTrue(report(again)["compile_cached"])
        self.assertEqual(there.stdout, here.stdout)
        self.assertEqual(*code)

    def test_damaged_code_is_compiled_again(self):
        with tempfile.TemporaryDirectory() as cache:
            self.run_query(6, env={"HEDDLE_CACHE": cache})
            for entry in Path(cache).iterdir():
                bytes_ = bytearray(entry.read_bytes())
                bytes_[len(bytes_) // 2] ^= 1
                entry.write_bytes(bytes_)
            done = self.run_query(6, env={"HEDDLE_CACHE": cache})
        self.assertFalse(report(done)["compile_cached"])

    def test_too_little_memory_is_an_error(self):
        done = self.run_query(3, "--memory", "20K", check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("GPU memory", done.stderr)

    def test_columns_make_room_for_each_other(self):
        self.agree("tpch", "--memory", "12M")

    def test_every_buffer_its_own_allocation(self):
        self.run_query(9, env={"HEDDLE_POOL": "direct"})

    def test_lost_device_is_made_anew_or_missed(self):
        done = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / "test_lost.py", "--heddle", BINARY, "--db",
                               self.db["tpch"], "--may-stay-lost"],
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_row_that_fails_names_its_place(self):
        plan = {"heddle": 1, "root": {"op": "project", "input": {"op": "scan", "table": "nation", "columns": ["n_nationkey"]},
                         "exprs": [{"expr": "1000 / (n_nationkey - 7)", "as": "x"}]}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(plan, f)
            f.flush()
            done = heddle("run", f.name, "--db", self.db["tpch"], "--backend", "cuda", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"\$\.root.*division by zero")

    def test_running_query_is_cancelled(self):
        def pairs(left, table, column, residual):
            return {"op": "join", "kind": "inner", "strategy": "loop", "left": left, "residual": residual,
                    "right": {"op": "scan", "table": table, "columns": [column]}}
        scan = {"op": "scan", "table": "lineitem", "columns": ["l_orderkey"]}
        every = pairs(pairs(scan, "orders", "o_orderkey", "l_orderkey + o_orderkey > 5"), "customer", "c_custkey",
                      "l_orderkey + o_orderkey + c_custkey < 90000000")
        plan = {"heddle": 1, "root": {"op": "aggregate", "input": every, "aggs": [{"fn": "count", "as": "n"}]}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(plan, f)
            f.flush()
            with subprocess.Popen([BINARY, "run", f.name, "--db", str(self.db["tpch"]), "--backend", "cuda"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as p:
                time.sleep(4)
                p.send_signal(signal.SIGINT)
                begin = time.monotonic()
                _, stderr = p.communicate(timeout=30)
        self.assertEqual(p.returncode, 1, stderr)
        self.assertIn("interrupted", stderr)
        self.assertLess(time.monotonic() - begin, 5)

    def run_test(self, name, suite):
        done = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / name, "--heddle", BINARY, "--db",
                               self.db[suite]], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_profile_fits_together(self):
        self.run_test("test_profile.py", "jcch")

    def test_overflow_happens_once(self):
        self.run_test("test_room.py", "tpch")


if __name__ == "__main__":
    if "\nnvrtc: -" in heddle("info").stdout or "devices: none" in heddle("info").stdout:
        print("skipped: no device, or no NVRTC")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
