#!/usr/bin/env python3
"""gen, load, check, bench: data in, data out, on small data."""

import json
import signal
import subprocess
import time

import cli

COUNT = {"op": "aggregate", "aggs": [{"fn": "count", "as": "n"}]}
QUERIES = 22


class Generated(cli.CliTest):
    def test_text(self):
        self.run_cli("gen", "tpch", "--sf", "0.01", "--tbl", "text")
        lines = (self.dir / "text" / "supplier.tbl").read_text().splitlines()
        self.assertEqual(len(lines), 100)
        self.assertTrue(lines[0].startswith("1|Supplier#000000001|"))
        self.assertTrue(lines[0].endswith("|"))

    def test_chunks_join_to_the_whole(self):
        self.run_cli("gen", "tpch", "--sf", "0.01", "--tbl", "whole", "--tables", "orders")
        whole = (self.dir / "whole" / "orders.tbl").read_bytes()
        parts = b""
        for i in (1, 2, 3):
            self.run_cli("gen", "tpch", "--sf", "0.01", "--tbl", "parts", "--tables", "orders",
                         "--chunk", f"{i}/3")
            parts += (self.dir / "parts" / f"orders.tbl.{i}").read_bytes()
        self.assertEqual(parts, whole)

    def test_database_is_checked_and_benched(self):
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        self.write("count.json", cli.plan({**COUNT, "input": {"op": "scan", "table": "lineitem"}}))
        self.assertEqual(self.run_cli("run", "count.json", "--db", "db", "-f", "csv")[0],
                         "n\n60175\n")
        self.run_cli("check", "db")
        json.loads(self.run_cli("check", "db", "--json")[0])
        out, err = self.run_cli("bench", "tpch", "--db", "db", "--repeat", "2", "--out", "b.json")
        self.assertEqual(err, "")
        self.assertIn("geomean", out)
        report = json.loads((self.dir / "b.json").read_text())
        self.assertAlmostEqual(report["scale_factor"], 0.01)
        self.assertEqual([q["status"] for q in report["queries"]], ["ok"] * QUERIES)
        self.assertEqual({len(q["runs"]) for q in report["queries"]}, {2})
        self.assertEqual({q["answer"] for q in report["queries"]}, {"none"})

    def test_queries_that_compare_with_no_published_time_say_so(self):
        self.run_cli("gen", "jcch", "--sf", "0.01", "--out", "db")
        out, _ = self.run_cli("bench", "jcch", "--db", "db", "--class", "paper", "--queries", "5,6", "--repeat", "1", "--out", "b.json")
        self.assertRegex(out, r"(?m)^q06: not comparable: the published query ")
        self.assertNotIn("q05: not", out)
        found = {q["name"]: "not_comparable" in q for q in json.loads((self.dir / "b.json").read_text())["queries"]}
        self.assertEqual(found, {"q05": False, "q06": True})
        out, _ = self.run_cli("bench", "jcch", "--db", "db", "--queries", "6", "--repeat", "1")
        self.assertNotIn("not comparable", out)

    def test_skewed_data_is_benched(self):
        self.run_cli("gen", "jcch", "--sf", "0.01", "--out", "db")
        self.run_cli("bench", "jcch", "--db", "db", "--queries", "1,12", "--repeat", "1", "--out",
                     "b.json")
        report = json.loads((self.dir / "b.json").read_text())
        self.assertEqual(report["class"], "skewed")
        self.assertEqual([q["status"] for q in report["queries"]], ["ok", "ok"])

    def test_what_a_rename_cannot_replace_is_refused_at_once(self):
        (self.dir / "real").mkdir()
        (self.dir / "link").symlink_to("real")
        (self.dir / "nowhere").symlink_to("missing")
        for out in ("link", "nowhere", "link/", "real/.", "real/.."):
            err = self.fail_cli("gen", "tpch", "--sf", "100", "--out", out)
            self.assertRegex(err, "is a symbolic link|not a name")
        self.assertEqual(list((self.dir / "real").iterdir()), [])

    def test_folders_of_others_are_kept(self):
        (self.dir / "db.tmp-1-1").mkdir()
        self.write("db.tmp-1-1/mine", "x")
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        self.assertTrue((self.dir / "db.tmp-1-1" / "mine").exists())

    def test_files_are_read_instead_of_mapped(self):
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        args = ["bench", "tpch", "--db", "db", "--repeat", "1"]
        self.run_cli(*args, "--no-mmap")
        self.run_cli(*args, "--no-mmap", "--trust")
        self.run_cli("check", "db", "--no-mmap")

    def test_existing_database_is_kept(self):
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        before = sorted(p.name for p in (self.dir / "db").iterdir())
        self.fail_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        self.assertEqual(sorted(p.name for p in (self.dir / "db").iterdir()), before)


class Loaded(cli.CliTest):
    SCHEMA = {"format": {"delimiter": ",", "header": True, "quote": '"', "null": "",
                         "trailing_delimiter": False},
              "tables": [{"name": "item", "primary_key": ["id"],
                          "columns": [{"name": "id", "type": "int32"},
                                      {"name": "name", "type": "string", "nullable": True},
                                      {"name": "price", "type": "decimal(9,2)"}]}]}

    def setUp(self):
        super().setUp()
        (self.dir / "csv").mkdir()
        self.write("schema.json", json.dumps(self.SCHEMA))

    def load(self, status=0):
        return self.run_cli("load", "--schema", "schema.json", "--from", "csv", "--out", "db",
                            status=status)

    def test_csv_goes_round(self):
        self.write("csv/item.csv", 'id,name,price\n1,"a ""quoted"", name",1.50\n2,,0.05\n')
        self.load()
        self.write("p.json", cli.plan({"op": "sort", "keys": ["id"],
                                       "input": {"op": "scan", "table": "item"}}))
        self.assertEqual(self.run_cli("run", "p.json", "--db", "db", "-f", "csv")[0],
                         'id,name,price\n1,"a ""quoted"", name",1.50\n2,,0.05\n')

    def test_bad_row_leaves_nothing(self):
        self.write("csv/item.csv", "id,name,price\n1,x,1.50\n2,y,cheap\n")
        _, err = self.load(status=1)
        for part in ("item.csv", "3", "price", "cheap", "decimal(9,2)"):
            self.assertIn(part, err)
        self.assertFalse((self.dir / "db").exists())


class SuiteOfOnesOwn(cli.CliTest):
    """bench runs any directory with a suite.json, and tells right answers from wrong ones."""

    def setUp(self):
        super().setUp()
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        suite = {"name": "own", "queries": [
                     {"name": "good", "plan": "nation.json", "order": ["n_regionkey"]},
                     {"name": "other", "plan": "nation.json", "order": ["n_regionkey"]},
                     {"name": "broken", "plan": "broken.json", "order": []}],
                 "classes": {"only": "params.json"}, "default_class": "only",
                 "answers": {"only": {"0.01": "answers"}},
                 "scale": {"table": "supplier", "rows": 10000}}
        (self.dir / "own" / "answers").mkdir(parents=True)
        self.write("own/suite.json", json.dumps(suite))
        self.write("own/params.json", '{"good": {"region": "1"}, "other": {"region": "1"}}')
        self.write("own/nation.json", cli.plan(
            {"op": "sort", "keys": ["n_regionkey"],
             "input": {"op": "scan", "table": "nation",
                       "columns": ["n_regionkey", "n_name"], "filter": "n_regionkey <= :region"}},
            params={"region": {"type": "int64", "default": "4"}}))
        self.write("own/broken.json", cli.plan({"op": "scan", "table": "nowhere"}))
        rows = ["1,UNITED STATES", "0,ALGERIA", "0,MOZAMBIQUE", "0,MOROCCO", "0,KENYA",
                "0,ETHIOPIA", "1,ARGENTINA", "1,PERU", "1,CANADA", "1,BRAZIL"]
        head = "n_regionkey,n_name\n"
        self.write("own/answers/good.csv", head + "\n".join(sorted(rows)) + "\n")
        self.write("own/answers/broken.csv", "n\n")
        self.write("own/answers/other.csv",
                   head + "\n".join(sorted(rows)).replace("PERU", "CHILE") + "\n")

    def test_answers_are_told_apart(self):
        out, err = self.run_cli("bench", "./own", "--db", "db", "--repeat", "1", "--out", "b.json",
                                status=1)
        self.assertEqual(err, "heddle: error: 2 of 3 queries failed or gave another answer\n")
        found = {q["name"]: (q["status"], q["answer"])
                 for q in json.loads((self.dir / "b.json").read_text())["queries"]}
        self.assertEqual(found, {"good": ("ok", "equal"), "other": ("ok", "differs"),
                                 "broken": ("error", "none")})
        self.assertRegex(out, r"(?m)^ good .*\| ok$")
        self.assertRegex(out, r"(?m)^ other .*\| DIFFERS$")
        self.assertRegex(out, r"(?m)^other: row \d+ is .* instead of .*")
        self.assertIn("nowhere", out)
        self.assertIn("\nAnswers: 2 of 3 compared, 1 differs; 1 gave no result.\n", out)

    def test_queries_are_picked(self):
        out, _ = self.run_cli("bench", "./own", "--db", "db", "--queries", "good")
        self.assertNotIn("other", out)


class Interrupted(cli.CliTest):
    def test_generation_ends_cleanly(self):
        with subprocess.Popen([cli.BINARY, "gen", "tpch", "--sf", "10", "--tbl", "text"],
                              cwd=self.dir, stderr=subprocess.PIPE) as process:
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=cli.TIMEOUT_S)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn(b"heddle: error: ", err)
        left = list((self.dir / "text").iterdir()) if (self.dir / "text").exists() else []
        self.assertEqual(left, [])

    def assert_folder_and_lock(self, where):
        folder, lock = sorted(where.iterdir())
        self.assertTrue(folder.is_dir())
        self.assertEqual(lock.name, f"{folder.name}.lock")

    def test_killed_writer_leaves_nothing_for_long(self):
        with subprocess.Popen([cli.BINARY, "gen", "tpch", "--sf", "10", "--out", "db"], cwd=self.dir,
                              stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + cli.TIMEOUT_S
            while not list(self.dir.glob("db.tmp-*/*")):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            process.kill()
            process.communicate(timeout=cli.TIMEOUT_S)
        self.assert_folder_and_lock(self.dir)
        self.run_cli("gen", "tpch", "--sf", "0.01", "--out", "db")
        self.assertEqual([p.name for p in self.dir.iterdir()], ["db"])

    def test_killed_text_writer_leaves_nothing_for_long(self):
        text = self.dir / "text"
        with subprocess.Popen([cli.BINARY, "gen", "tpch", "--sf", "10", "--tbl", "text"], cwd=self.dir,
                              stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + cli.TIMEOUT_S
            while not any(p.is_file() and p.stat().st_size for p in text.rglob("*")):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            process.kill()
            process.communicate(timeout=cli.TIMEOUT_S)
        self.assert_folder_and_lock(text)
        self.run_cli("gen", "tpch", "--sf", "0.01", "--tbl", "text", "--tables", "region")
        self.assertEqual([p.name for p in text.iterdir()], ["region.tbl"])

    def test_query_is_cancelled(self):
        numbers = {"op": "values", "columns": [{"name": "n", "type": "int64"}],
                   "rows": [[str(i)] for i in range(1000)]}
        cross = numbers
        for alias in "abcd":
            right = {"op": "project", "input": numbers, "exprs": [{"expr": "n", "as": alias}]}
            cross = {"op": "join", "kind": "inner", "left": cross, "right": right}
        self.write("cross.json", cli.plan({**COUNT, "input": cross}))
        with subprocess.Popen([cli.BINARY, "run", "cross.json"], cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=cli.TIMEOUT_S)
        self.assertEqual((process.returncode, out), (1, b""), err)
        self.assertRegex(err, rb"\Aheddle: error: [^\n]+\n\Z")


if __name__ == "__main__":
    cli.main()
