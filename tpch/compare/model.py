#!/usr/bin/env python3
"""What a model says of TPC-H on many GPUs: compute that divides, bytes over links, columns that do not fit.

Usage: model.py --heddle BIN --small DB --large DB --times SF:BENCH.json [SF:BENCH.json] [--case HOSTS:GPUS:SF]... [--queries]

Databases of two scale factors (heddle gen) say how the bytes of columns and exchanges grow; outputs of `heddle bench tpch
--backend cuda --out BENCH.json` how long one GPU computes. A case is so many hosts of so many GPUs each at a scale factor.
docs/scale.md, "A model", has the formulas; with --queries each query of a case is a line, too.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

GB = 1e9
CASES = ("1:1:300", "1:2:300", "1:4:300", "1:4:1000", "1:8:1000", "1:8:10000", "64:8:10000", "64:8:100000")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--small", type=Path, required=True)
    parser.add_argument("--large", type=Path, required=True)
    parser.add_argument("--times", nargs="+", required=True, metavar="SF:FILE")
    parser.add_argument("--case", action="append", default=[], metavar="HOSTS:GPUS:SF")
    parser.add_argument("--queries", action="store_true", help="each query of each case, too")
    parser.add_argument("--plans", type=Path, default=Path(__file__).resolve().parent.parent / "plans")
    parser.add_argument("--memory", type=float, default=141, help="GB of a GPU (default: 141)")
    parser.add_argument("--peer", type=float, default=326, help="GB/s out of a GPU to others of its host (default: 326)")
    parser.add_argument("--network", type=float, default=50, help="GB/s of a GPU's share of the network (default: 50)")
    parser.add_argument("--link", type=float, default=43, help="GB/s from the host to a GPU, all at once (default: 43)")
    parser.add_argument("--step", type=float, default=1, help="ms for a fragment to begin (default: 1)")
    return parser.parse_args()


def line(low, high):
    """(constant, slope) through two points (scale factor, value), neither below 0."""
    (s0, v0), (s1, v1) = low, high
    slope = max(0.0, (v1 - v0) / (s1 - s0))
    return max(0.0, v1 - slope * s1), slope


def at(fit, sf):
    return fit[0] + fit[1] * sf


def stored_bytes(db):
    """{(table, word of an argument): bytes} of what programs read, and the scale factor."""
    tables = json.loads((db / "catalog.json").read_text())["tables"]
    sizes = {}
    for table in tables:
        name = table["name"]
        for column in table["columns"]:
            data = sum(column[k]["size"] for k in ("data", "bits") if isinstance(column.get(k), dict))
            sizes[name, column["name"], "data"] = data
            sizes[name, column["name"], "text"] = sum(column[k]["size"] for k in ("text", "text_base") if k in column)
        for kind, lists in (("foreign key", "foreign_keys"), ("key index", "key_indexes")):
            for number, entry in enumerate(table.get(lists, [])):
                files = {**entry, **(entry["index"] if isinstance(entry.get("index"), dict) else {})}
                for part, value in files.items():
                    if isinstance(value, dict) and "size" in value:
                        sizes[name, kind, number, part] = value["size"]
    rows = {t["name"]: t["rows"] for t in tables}
    return sizes, rows["supplier"] / 10_000


def read_bytes(spec, sizes):
    """{(table, word of an argument): bytes} that a plan's program reads of base tables: whole columns, texts, indexes."""
    found = set()
    for words in re.findall(r"^  w\d+ (.*)$", spec, re.M):
        if column := re.match(r"column (data|text \w+) (\w+)\.(\w+)", words):
            found.add((column[2], column[3], "data" if column[1] == "data" else "text"))
        elif linked := re.match(r"(foreign key|key index) ([a-z ]+) (\w+) (\d+)", words):
            part = {"child rows": "child_rows"}.get(linked[2], linked[2])
            found.add((linked[3], linked[1], int(linked[4]), part))
    return {key: sizes.get(key, 0) for key in found}


def spread_tables(fragments):
    """Names of tables of which a worker reads its ranges only."""
    names = set()

    def walk(node):
        if isinstance(node, dict):
            if node.get("op") == "scan" and '"worker_' in json.dumps(node.get("filter", "")):
                names.add(node["table"])
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    for fragment in fragments:
        walk(fragment["plan"])
    return names


def explain(args, plan, db, *options):
    command = [args.heddle, "explain", str(plan), "--db", str(db), "--trust", *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Plan:
    """One query: bytes of its columns and times, as lines over the scale factor; exchanges by the number of GPUs."""

    def __init__(self, args, path, dbs, times):
        self.name = path.stem
        self.args, self.path, self.dbs = args, path, dbs
        low, high = (read_bytes(explain(args, path, d[0], "--backend", "cuda", "--dump", "spec"), d[1]) for d in dbs)
        scales = [d[2] for d in dbs]
        self.parts = {key: line((scales[0], low.get(key, 0)), (scales[1], high[key])) for key in high}
        ms = sorted((sf, seen[self.name]) for sf, seen in times)
        self.time = line(ms[0], ms[-1]) if len(ms) > 1 else (0.0, ms[0][1] / ms[0][0])
        self.cuts = {}

    def cut(self, workers):
        """[(exchange, line of bytes)] of the fragments on so many workers, and the tables that they spread."""
        if workers == 1:
            return [], {key[0] for key in self.parts}
        if workers not in self.cuts:
            small, large = (
                json.loads(explain(self.args, self.path, d[0], "--fragments", str(workers)))["fragments"] for d in self.dbs
            )
            # A cut that differs between the two is taken of the large one, in proportion.
            same = [f["exchange"] for f in small] == [f["exchange"] for f in large]
            sent = []
            for number, fragment in enumerate(large):
                point = (self.dbs[1][2], fragment["bytes"])
                fit = line((self.dbs[0][2], small[number]["bytes"]), point) if same else (0.0, point[1] / point[0])
                sent.append((fragment["exchange"], fit))
            self.cuts[workers] = sent, spread_tables(large)
        return self.cuts[workers]

    def predict(self, hosts, gpus, sf):
        """{compute, exchange, streamed, steps: ms; sent, own, whole: bytes of a GPU; held: those by column} of one execution."""
        args, workers = self.args, hosts * gpus
        sent, spread = self.cut(workers)
        rate = args.peer if hosts == 1 else args.network
        over_link = 0.0
        for exchange, fit in sent:
            size = at(fit, sf)
            share = {"gather": 1, "broadcast": 1, "shuffle": 1 / workers}.get(exchange, 0)
            over_link += size * share * (workers - 1) / workers
        held = {key: at(fit, sf) / (workers if key[0] in spread else 1) for key, fit in self.parts.items()}
        own = sum(size for key, size in held.items() if key[0] in spread)
        return {
            "compute": self.time[0] + self.time[1] * sf / workers,
            "exchange": over_link / rate / GB * 1e3,
            "streamed": own / args.link / GB * 1e3,
            "steps": args.step * len(sent),
            "sent": over_link,
            "own": own,
            "whole": sum(held.values()) - own,
            "held": held,
        }


def case_line(args, plans, case):
    """Prints a case, sums over its queries. What one of them has whole, all have whole; what does not fit is streamed."""
    hosts, gpus, sf = (int(part) for part in case.split(":"))
    seen = {p.name: p.predict(hosts, gpus, sf) for p in plans}
    resident = {}
    for one in seen.values():
        for key, size in one["held"].items():
            resident[key] = max(resident.get(key, 0), size)
    stored = sum(resident.values())
    streams = stored > 0.8 * args.memory * GB
    total = {k: sum(s[k] for s in seen.values()) for k in ("compute", "exchange", "streamed", "steps", "sent")}
    time = sum(
        max(s["compute"], s["streamed"] if streams else 0) + s["exchange"] + s["steps"] for s in seen.values()
    )
    print(
        f"{hosts:5} {gpus:5} {sf:7} {total['compute']:10.1f} {total['exchange']:10.1f} {total['steps']:8.0f} "
        f"{total['streamed'] if streams else 0:10.1f} {time:10.1f} {total['sent'] / GB:10.2f} {stored / GB:10.1f} "
        f"{max(s['whole'] for s in seen.values()) / GB:10.1f}"
    )
    if args.queries:
        for name, s in seen.items():
            print(
                f"   {name:6} compute {s['compute']:9.2f} exchange {s['exchange']:9.2f} streamed {s['streamed']:9.2f} ms; "
                f"{s['sent'] / GB:8.3f} GB over a link, {s['own'] / GB:8.2f} GB of own rows, {s['whole'] / GB:8.2f} GB whole"
            )


def main():
    args = parse_args()
    dbs = [(db, *stored_bytes(db)) for db in (args.small, args.large)]
    times = []
    for item in args.times:
        sf, path = item.split(":", 1)
        report = json.loads(Path(path).read_text())
        times.append((float(sf), {q["name"]: q["runs"][q["fastest"]]["execute_ms"] for q in report["queries"]}))
    plans = [Plan(args, path, dbs, times) for path in sorted(args.plans.glob("q*.json"))]
    print(
        "hosts  GPUs      SF compute ms exchange ms steps ms streamed ms   total ms  GB a link  GB a GPU   GB whole"
    )
    for case in args.case or CASES:
        case_line(args, plans, case)


if __name__ == "__main__":
    main()
