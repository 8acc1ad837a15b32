#!/usr/bin/env python3
"""heddle warm: what it refuses, and where NVRTC is there, that it compiles once, also beside another one."""

import json
import os
import subprocess
import unittest

import cli

SLOW_S = 600  # every fixed kernel, under sanitizers too


class WarmTest(cli.CliTest):
    def warm(self, *arguments, **environment):
        return subprocess.Popen([cli.BINARY, "warm", *arguments], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={**os.environ, "HEDDLE_CACHE": str(self.dir / "cache"), **environment})

    def refused(self, status, message, *arguments, **environment):
        process = self.warm(*arguments, **environment)
        out, err = process.communicate(timeout=cli.TIMEOUT_S)
        self.assertEqual((process.returncode, out), (status, ""), err)
        self.assertRegex(err, message)
        self.assertEqual(err.count("\n"), 1)


class Refusals(WarmTest):
    def test_refuses(self):
        if "without the cuda backend" in subprocess.run([cli.BINARY, "info"], capture_output=True, text=True, check=True).stdout:
            return self.refused(3, "warm: this build is without the cuda backend", "--arch", "sm_90")
        for arch in ("90", "sm_", "sm_9", "sm_09", "sm_9a", "sm_9000", "sm_90 ", "compute_90"):
            self.refused(2, f'expected sm_ and a number, such as sm_90, found "{arch}"', "--arch", arch)
        self.refused(2, "there is no cache", "--arch", "sm_90", HEDDLE_CACHE="")
        self.refused(3, "no NVRTC found: /nowhere", "--arch", "sm_90", HEDDLE_NVRTC="/nowhere")
        self.refused(2, 'unexpected argument "x"', "x")


class Compiles(WarmTest):
    def test_compiles_once(self):
        if not json.loads(self.run_cli("info", "--json")[0]).get("nvrtc"):
            self.skipTest("no NVRTC")
        self.refused(2, "makes no machine code for sm_35, which is older", "--arch", "sm_35")  # NVRTC 12 knows sm_50 and later
        self.refused(2, "makes no machine code for sm_999$", "--arch", "sm_999")
        (self.dir / "open").mkdir()
        (self.dir / "open").chmod(0o777)
        self.refused(3, "/open: the cache cannot be used", "--arch", "sm_90", HEDDLE_CACHE=str(self.dir / "open"))
        both = [self.warm("--arch", "sm_90", "--json") for _ in range(2)]
        found = [json.loads(process.communicate(timeout=SLOW_S)[0]) for process in both]
        entries = {path.name: path.read_bytes() for path in (self.dir / "cache").iterdir()}
        for one in found:
            self.assertEqual(one["compiled"] + one["found"], len(entries))
        again = json.loads(self.warm("--arch", "sm_90", "--json").communicate(timeout=SLOW_S)[0])
        self.assertEqual((again["architecture"], again["compiled"], again["found"]), ("sm_90", 0, len(entries)))
        self.assertEqual({path.name: path.read_bytes() for path in (self.dir / "cache").iterdir()}, entries)


if __name__ == "__main__":
    cli.main()
