#!/usr/bin/env python3
"""The judge's rules, each broken once: what it lets pass would pass in every class."""

import json
import tempfile
import unittest
from pathlib import Path

import judge

GOOD = b"heddle: error: a/b: expected one thing, found another\n"


def done(status=0, out=b"", err=b"", late=False):
    return judge.Done(["run", "x"], status, out, err, 0.1, late)


class Ends(unittest.TestCase):
    def test_what_holds(self):
        self.assertEqual(judge.ended(done()), judge.ROWS)
        for status in (1, 2, 3, 4):
            self.assertEqual(judge.ended(done(status, err=GOOD)), judge.ERROR)

    def test_what_does_not(self):
        cases = {
            "signal": done(-11, err=GOOD), "abort": done(134, err=GOOD), "status": done(7, err=GOOD),
            "late": done(err=b"", late=True), "sanitizer": done(1, err=GOOD + b"==1==ERROR: AddressSanitizer: x\n"),
            "undefined": done(0, err=b"x.c:1:2: runtime error: shift\n"), "a word": done(0, err=GOOD),
            "silence": done(1), "two lines": done(1, err=GOOD * 2), "no end": done(1, err=GOOD[:-1]),
            "no UTF-8": done(1, err=b"heddle: error: \xff\n"), "escape": done(1, err=b"heddle: error: \x1b[31m\n"),
            "C1": done(1, err="heddle: error: \u009b31m\n".encode()), "another form": done(1, err=b"error: x\n"),
        }
        for name, ending in cases.items():
            with self.subTest(name), self.assertRaises(judge.Broken):
                judge.ended(ending)


class Answers(unittest.TestCase):
    ERROR = {"status": 2, "class": "user", "path": "$", "message": "no"}

    def judge(self, answers, lines=None, status=None):
        failed = any("error" in a for a in answers)
        out = b"".join(json.dumps(a).encode() + b"\n" for a in answers)
        status = (1 if failed else 0) if status is None else status
        return judge.answers(done(status, out, GOOD if status else b""), lines or len(answers))

    def test_what_holds(self):
        self.assertEqual(len(self.judge([{"line": 1, "rows": 3}, {"line": 2, "error": self.ERROR}])), 2)

    def test_what_does_not(self):
        one = {"line": 1, "rows": 3}
        cases = {
            "missing": ([one], 2, None), "order": ([{**one, "line": 2}], 1, None), "both": ([{**one, "error": self.ERROR}], 1, None),
            "neither": ([{"line": 1}], 1, None), "status": ([one], 1, 1), "success": ([{"line": 1, "error": self.ERROR}], 1, 0),
            "class": ([{"line": 1, "error": {**self.ERROR, "class": "odd"}}], 1, None),
            "message": ([{"line": 1, "error": {**self.ERROR, "message": ""}}], 1, None),
            "keys": ([{"line": 1, "error": {"message": "no"}}], 1, None),
        }
        for name, (answers, lines, status) in cases.items():
            with self.subTest(name), self.assertRaises(judge.Broken):
                self.judge(answers, lines, status)


class Rest(unittest.TestCase):
    def test_rows(self):
        judge.same("a\nb\n", "a\nb\n", "x")
        for other in ("a\n", "a\nb\nc\n", "a\nc\n", ""):
            with self.assertRaises(judge.Broken):
                judge.same(other, "a\nb\n", "x")

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a").touch()
            judge.only(folder, ["a"], "x")
            for names in ([], ["a", "b"], ["b"]):
                with self.assertRaises(judge.Broken):
                    judge.only(folder, names, "x")


if __name__ == "__main__":
    unittest.main()
