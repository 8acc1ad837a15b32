#!/usr/bin/env python3
"""The page of a profile, as a headless Chromium draws it: nothing fails in it, and what it shows is in the report.

    page.py --heddle BIN --db DB [--backend cuda]

--db is TPC-H of any scale factor. Status 77 without a Chromium: the test is skipped. A fault planted in
the page is found, or nothing was looked at.
"""

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
QUERIES = ("q03", "q13")  # lookups, a level, an order; texts


def expect(truth, *what):
    if not truth:
        sys.exit(" ".join(map(str, what)))


def draw(browser, page):
    """(document once its script has run, what the script complained about)"""
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000",
                           "--enable-logging=stderr", "--dump-dom", page.resolve().as_uri()],
                          capture_output=True, text=True, timeout=120, check=False)
    expect(done.returncode == 0 and "</html>" in done.stdout, browser, done.returncode, done.stderr)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def embedded(page, name):
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S).group(1))


def visible(document):
    """Text of the page, without scripts and emitted code."""
    document = re.sub(r"<(script|style|pre)\b.*?</\1>", "", document, flags=re.S)
    return html.unescape(re.sub(r"<[^>]*>", "\n", document))


def row_of(document, pipeline):
    row = re.search(rf'<tr id="floor-{pipeline}">(.*?)</tr>', document, re.S)
    expect(row, pipeline, "has no row of times and floors")
    return [visible(cell).strip() for cell in re.findall(r"<td\b.*?</td>", row.group(1), re.S)]


def number(text):
    """'1.25 ms', '3 µs', '17.4 MB' as ms or bytes; '' is 0."""
    units = {"ms": 1, "µs": 1e-3, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "": 1}
    found = re.fullmatch(r"([\d.,]+) ?(\S*)", text)
    return float(found.group(1).replace(",", "")) * units[found.group(2)] if found else 0


def check_row(p, cells):
    time = p["gpu"]["kernel_ms"] if "gpu" in p else p["ms"]
    shown = [number(cells[i]) for i in (1, 2, 7, 8, 9, 10, 11, 12)]
    wanted = [time, p["floor_ms"], *(p["bytes"][k] for k in ("scan", "lookup", "text", "write")), p["lookups"], p["atomics"]]
    for a, b in zip(shown, wanted):
        expect(abs(a - b) <= 0.01 * b + 1e-4, p["name"], "shows", cells, "of", wanted)
    for cell, floor in zip(cells[4:6], (p["floor_ms"], p["random_floor_ms"])):
        expect(abs(number(cell) - time / floor) <= 0.05 * time / floor + 0.01 if floor > 0 else cell == "", p["name"], "times of floors", cells)


def check_page(document):
    report, text = embedded(document, "report"), visible(document)
    for wrong in ("NaN", "undefined", "Infinity", "[object"):
        expect(wrong not in text, wrong, "in the page:", text)
    spans = report["timeline"]
    for what in {s["what"] for s in spans}:
        bars = len(re.findall(rf'<a class="{what}"', document))
        wanted = [s for s in spans if s["what"] == what]
        own = [s for s in wanted if what == "run" or any(p["state"] == s["state"] for p in report["pipelines"])]
        expect(bars == len(wanted) + len(own), bars, "bars of", what, "for", wanted)
    for p in report["pipelines"]:
        check_row(p, row_of(document, p["name"]))
        for step in p["steps"]:
            expect(step["name"] in text and f"{step['rows']:,}" in text, p["name"], "lacks", step)
    warps = sum(1 for p in report["pipelines"] if p.get("gpu", {}).get("warps"))
    expect(document.count("<canvas") == warps, document.count("<canvas"), "pictures of warps, expected", warps)


def check_alone(page):
    """It asks nobody for anything."""
    markup = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.S)
    found = re.search(r"\b(src|action)\s*=|\burl\(|@import|https?://|\bfetch\(|XMLHttpRequest|\bimport\b", markup)
    expect(not found, "the page is not self-contained:", found)


def make(args, query, folder):
    page = Path(folder) / f"{query}.html"
    options = ["--backend", args.backend] if args.backend else ["--threads", "2"]
    done = subprocess.run([args.heddle, "run", ROOT / "tpch" / "plans" / f"{query}.json", "--db", args.db, "--profile", page,
                           *options], capture_output=True, text=True, timeout=300, check=False)
    expect(done.returncode == 0, query, done.stderr)
    return page


def check_planted(browser, page, folder):
    broken = Path(folder) / "broken.html"
    broken.write_text(page.read_text().replace("drawFloors();", "drawFlaws();"))
    _, errors = draw(browser, broken)
    expect(errors, "a call of a function that is not there went unseen")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--db", required=True)
    parser.add_argument("--backend")
    args = parser.parse_args()
    browser = next((b for b in map(shutil.which, BROWSERS) if b), None)
    if not browser:
        print("skipped: no Chromium")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="heddle-page-") as folder:
        for query in QUERIES:
            page = make(args, query, folder)
            check_alone(page.read_text())
            document, errors = draw(browser, page)
            expect(not errors, query, errors)
            check_page(document)
            texts = any(p["bytes"]["text"] for p in embedded(document, "report")["pipelines"])
            expect(texts == (query == "q13"), query, "texts", texts)
        check_planted(browser, page, folder)
    print(f"{len(QUERIES)} pages in {browser}")


if __name__ == "__main__":
    main()
