#!/usr/bin/env python3
"""What the environment may say: where code is cached, and what a setuid program does not hear."""

import json
import os
import shutil
import subprocess
import unittest

import cli


class Cache(cli.CliTest):
    def cache_dir(self, home):
        keep = {k: v for k, v in os.environ.items() if k not in ("HOME", "HEDDLE_CACHE")}
        done = subprocess.run([cli.BINARY, "info", "--json"], cwd=self.dir, capture_output=True,
                              timeout=cli.TIMEOUT_S, check=True,
                              env=keep if home is None else {**keep, "HOME": str(home)})
        return json.loads(done.stdout)["cache_dir"]

    def test_is_in_the_home_that_is_there(self):
        self.assertEqual(self.cache_dir(self.dir), str(self.dir / ".cache/heddle"))
        for home in (None, "", "/", "//", "relative", self.dir / "missing"):
            self.assertIsNone(self.cache_dir(home), home)
        self.assertEqual(list(self.dir.iterdir()), [])


@unittest.skipUnless(os.geteuid() == 0, "only root makes programs of others")
class Setuid(cli.CliTest):
    def test_hears_nothing(self):
        binary = self.dir / "heddle"
        shutil.copy(cli.BINARY, binary)
        plain = {**os.environ, "HEDDLE_CACHE": str(self.dir / "cache")}

        def info(**more):
            # Only what is printed: a leak checker looks at its process as a debugger does, which a setuid
            # program refuses, and then ends it with a status of its own.
            return subprocess.run([binary, "info", "--json"], capture_output=True, check=False,
                                  timeout=cli.TIMEOUT_S, env={**plain, **more})
        self.assertEqual(json.loads(info().stdout)["cache_dir"], str(self.dir / "cache"))
        self.dir.chmod(0o755)
        os.chown(binary, 1, 1)
        binary.chmod(0o4755)
        if os.statvfs(binary).f_flag & os.ST_NOSUID:
            self.skipTest("the file system has no setuid programs")
        told = info(HEDDLE_FAULT="alloc:1+")
        self.assertNotEqual(json.loads(told.stdout)["cache_dir"], str(self.dir / "cache"))


if __name__ == "__main__":
    cli.main()
