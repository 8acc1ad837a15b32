"""Running the `heddle` binary in tests. HEDDLE_BINARY names it."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BINARY = os.environ["HEDDLE_BINARY"]
SOURCE = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120

# One row of every type, a row of NULLs, and what text forms must get right.
EVERY_TYPE = {
    "op": "values",
    "columns": [{"name": "b", "type": "bool"}, {"name": "i", "type": "int32"},
                {"name": "l", "type": "int64"}, {"name": "d", "type": "decimal(12,2)"},
                {"name": "f", "type": "float64"}, {"name": "day", "type": "date"},
                {"name": "ts", "type": "timestamp"}, {"name": "s", "type": "string"}],
    "rows": [
        [True, 1, "9007199254740992", "1.50", 0.1, "1998-09-02", "1998-09-02 12:34:56", "plain"],
        [False, -2147483648, "9007199254740993", "-0.05", 1e22, "0001-01-01",
         "1969-12-31 23:59:59.999999", ""],
        [None] * 8,
        [True, 0, "-9223372036854775808", "9999999999.99", -2.5e-300, "9999-12-31",
         "2000-01-01 00:00:00", 'comma, "quote"'],
        [True, 7, "0", "0", 3, "1970-01-01", "1970-01-01 00:00:00.5", "two\nlines é"],
    ],
}


def plan(root, **more):
    return json.dumps({"heddle": 1, "root": root, **more})


class CliTest(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-cli-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def run_cli(self, *args, status=0, stdin="", environment=None):
        """Runs the binary in the test's own folder; gives standard output and standard error."""
        done = subprocess.run([BINARY, *map(str, args)], cwd=self.dir, input=stdin.encode(),
                              capture_output=True, timeout=TIMEOUT_S, check=False,
                              env={**os.environ, "HEDDLE_CACHE": "", **(environment or {})})
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f"{args}\n{out}\n{err}")
        return out, err

    def fail_cli(self, *args, status=2, **more):
        """The message of a command that must fail: exactly one line on standard error."""
        out, err = self.run_cli(*args, status=status, **more)
        self.assertRegex(err, r"\Aheddle: error: [^\n]+\n\Z")
        self.assertEqual(out, "")
        return err[len("heddle: error: "):-1]

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path


def main():
    unittest.main(verbosity=2)
