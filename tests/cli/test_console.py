#!/usr/bin/env python3
"""What the documentation shows on a console is what a console shows: every ```console block of the
pages is run, in one folder a page, and its output compared. Times are free.

With --update the pages are rewritten with what came out.
"""

import re
import subprocess
import sys

import cli

PAGES = ("README.md",)
UPDATE = "--update" in sys.argv
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
COMMAND = re.compile(r"(?m)^\$ .*(?:\n> .*)*$")
MILLISECONDS = re.compile(r'("\w*ms":)\[?[\d.,]+\]?')


def free_times(text):
    return MILLISECONDS.sub(r"\1N", text)


class Console(cli.CliTest):
    def run_command(self, text):
        """Output and errors of a command as a reader types it, in the page's folder."""
        script = re.sub(r"(?m)^[$>] ", "", text)
        binaries = cli.Path(cli.BINARY).resolve().parent
        done = subprocess.run(["bash", "-c", script], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=cli.TIMEOUT_S, check=False,
                              env={**cli.os.environ, "PATH": f"{binaries}:{cli.os.environ['PATH']}",
                                   "HEDDLE_CACHE": ""})
        return done.stdout.decode()

    def run_block(self, match):
        out = []
        for command in COMMAND.finditer(match[1]):
            out.append(command[0] + "\n" + self.run_command(command[0]))
        return "```console\n" + "".join(out) + "```"

    def test_pages(self):
        for name in ("examples", "tpch"):
            (self.dir / name).symlink_to(cli.SOURCE / name)
        self.maxDiff = None
        for page in PAGES:
            path = cli.SOURCE / page
            text = path.read_text()
            found = BLOCK.sub(self.run_block, text)
            if UPDATE:
                path.write_text(found)
            else:
                with self.subTest(page=page):
                    self.assertEqual(free_times(found), free_times(text))


if __name__ == "__main__":
    if UPDATE:
        sys.argv.remove("--update")
    cli.main()
