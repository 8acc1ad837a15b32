"""`python -m heddle`: queries, the prompt, databases from files, the program's commands.

Usage: test_command.py DATABASE (TPC-H at scale factor 0.01)
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print("skipped: no pyarrow")
    sys.exit(77)
import heddle
from heddle._shell import Shell

DATABASE = sys.argv.pop(1) if __name__ == "__main__" else None
SQL = importlib.util.find_spec("datafusion") is not None


def command(*arguments, input=""):
    done = subprocess.run([sys.executable, "-m", "heddle", *map(str, arguments)], input=input, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        pq.write_table(pa.table({"a": [1, 2, None], "s": ["x", "y", "z"]}), self.folder / "t.parquet")

    def test_create(self):
        pq.write_table(pa.table({"t": [1, 1]}), self.folder / "u.parquet")
        code, out, err = command("create", self.folder / "db", f"t={self.folder}/t.parquet", f"u={self.folder}/u*.parquet")
        self.assertEqual((code, out, err), (0, "", ""))
        self.assertEqual(heddle.connect(self.folder / "db").rows("u"), 2)
        code, _, err = command("create", self.folder / "db2", f"u={self.folder}/u.parquet", "--primary-key", "u=t")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"^heddle: error: .*t")
        self.assertEqual(command("create", self.folder / "db2", "u")[0], 2)

    def test_the_program(self):
        code, out, _ = command("info")
        self.assertEqual(code, 0)
        self.assertIn("threads", out)
        self.assertEqual(command("run", "nowhere.json", "--db", DATABASE)[0], 2)
        self.assertEqual(command("nothing")[0], 2)

    @unittest.skipUnless(SQL, "no datafusion")
    def test_sql(self):
        query = "select n_name from nation where n_nationkey = $k"
        code, out, _ = command("sql", query, "--db", DATABASE, "-p", "k=1", "--format", "csv")
        self.assertEqual((code, out), (0, "n_name\nARGENTINA\n"))
        code, out, _ = command("sql", "-", "-t", f"t={self.folder}/t.parquet", "--format", "json",
                               input="select * from t where s = 'z'")
        self.assertEqual([json.loads(line) for line in out.splitlines()], [{"a": None, "s": "z"}])
        code, out, err = command("sql", "select count(*) as n from t where a > $1", "-t", f"t={self.folder}/t.parquet", "-p",
                                 "1=1", "--time")
        self.assertEqual((code, out.splitlines()[0].strip(), out.splitlines()[2].strip()), (0, "n", "1"))
        self.assertIn("total", err)
        self.assertEqual(command("sql", query, "--db", DATABASE, "-p", "k=1", "-o", self.folder / "r.parquet")[0], 0)
        self.assertEqual(pq.read_table(self.folder / "r.parquet").to_pydict(), {"n_name": ["ARGENTINA"]})
        code, out, _ = command("sql", "select a from t", "-t", f"t={self.folder}/t.parquet", "--explain")
        self.assertEqual(code, 0)
        self.assertIn("scan t", out)
        code, _, err = command("sql", "drop table nation", "--db", DATABASE)
        self.assertEqual(code, 2)
        self.assertIn("DropTable", err)


class Prompt(unittest.TestCase):
    def setUp(self):
        self.said = []
        self.shell = Shell(heddle.connect(DATABASE), self.said.append)

    def test_commands(self):
        for text in ".tables", ".schema nation", ".nothing", ".schema nowhere":
            self.assertTrue(self.shell.run(text))
        said = "\n".join(self.said)
        for part in "lineitem", "60,175", "n_nationkey              int32 not null", ".quit", "no such table":
            self.assertIn(part, said)
        self.assertFalse(self.shell.run(".quit"))

    def test_inputs_end_with_a_semicolon(self):
        self.assertFalse(self.shell.complete("select 1\nfrom t"))
        self.assertTrue(self.shell.complete("select 1\nfrom t;  "))
        self.assertTrue(self.shell.complete(".tables"))

    def test_words_are_completed(self):
        words = set(self.shell.words())
        self.assertLess({"select", "lineitem", "l_orderkey"}, words)

    @unittest.skipUnless(SQL, "no datafusion")
    def test_queries(self):
        self.shell.run("select n_name\nfrom nation where n_nationkey = 1;")
        self.assertIn("ARGENTINA", self.said[-1])
        self.shell.run("select nothing from nation;")
        self.assertIn("error:", self.said[-1])
        self.shell.run(".time")
        self.shell.run("select 1 as one from region;")
        self.assertIn("total", self.said[-1])
        self.shell.run(".explain pipelines select n_name from nation")
        self.assertIn("scan nation", self.said[-1])

    def test_a_piped_session(self):
        code, out, err = command("shell", "--db", DATABASE, input=".schema\n.schema region\n")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("r_regionkey", out)

    def test_prompt_toolkit_keeps_history(self):
        try:
            from prompt_toolkit.input import create_pipe_input
            from prompt_toolkit.output import DummyOutput
        except ImportError as e:
            self.skipTest(str(e))
        from heddle._shell import inputs
        with tempfile.TemporaryDirectory() as folder, create_pipe_input() as keys:
            os.environ["XDG_STATE_HOME"] = folder
            keys.send_text("select 1\r from t;\r.tab\t\r")
            read = inputs(self.shell, input=keys, output=DummyOutput())
            self.assertEqual(next(read), "select 1\n from t;")
            self.assertIn("select 1", (pathlib.Path(folder) / "heddle" / "history").read_text())


if __name__ == "__main__":
    unittest.main()
