"""What tests of shared parts of plans have in common: two tables, plans that run in pairs, and what explain says of some."""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

ROWS = 20000


def load(heddle, folder, rng):
    """p_text and p_code are strings of their own, kept as bytes; f refers to p."""
    lines = [f"{i}|{i % 97}-{rng.randrange(10**9)}|{'' if rng.random() < 0.1 else f'{rng.randrange(90):02}x{i}'}|{rng.randrange(50)}|{'' if rng.random() < 0.1 else rng.randrange(1000)}\n"
             for i in range(ROWS)]
    (folder / "p.tbl").write_text("".join(lines))
    (folder / "f.tbl").write_text("".join(f"{i}|{rng.choice([7, rng.randrange(ROWS)])}|{rng.randrange(40)}\n" for i in range(30000)))
    column = lambda name, kind="int32", nullable=False: {"name": name, "type": kind, **({"nullable": True} if nullable else {})}  # noqa: E731
    tables = [{"name": "p", "primary_key": ["p_id"], "columns": [column("p_id"), column("p_text", "string"), column("p_code", "string", True), column("p_kind"), column("p_val", nullable=True)]},
              {"name": "f", "primary_key": ["f_id"], "columns": [column("f_id"), column("f_p"), column("f_qty")], "foreign_keys": [{"columns": ["f_p"], "table": "p", "references": ["p_id"]}]}]
    form = {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False}
    (folder / "schema.json").write_text(json.dumps({"format": form, "tables": tables}))
    subprocess.run([heddle, "load", "--schema", folder / "schema.json", "--from", folder, "--out", folder / "db"], check=True)


def join(kind, left, right, on, **more):
    return {"op": "join", "kind": kind, "left": left, "right": right, "on": on, **more}


def run(args, folder, plans):
    lines = [json.dumps({"plan": p, "out": str(folder / f"{i}.csv"), "format": "csv"}) for i, p in enumerate(plans)]
    (folder / "batch").write_text("\n".join(lines) + "\n")
    done = subprocess.run([args.heddle, "run", "--batch", folder / "batch", "--db", folder / "db", "--threads", "2", "--backend", args.backend], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return [sorted((folder / f"{i}.csv").read_text().splitlines()) for i in range(len(plans))]


def explained(args, folder, plan, text):
    """Whether the physical plan says so."""
    (folder / "plan.json").write_text(json.dumps(plan))
    done = subprocess.run([args.heddle, "explain", folder / "plan.json", "--db", folder / "db", "--dump", "physical", "--backend", "cpu"], capture_output=True, text=True, check=True)
    return text in done.stdout


def arguments():
    ap = argparse.ArgumentParser()
    ap.add_argument("--heddle", required=True)
    ap.add_argument("--backend", default="cpu")
    ap.add_argument("--count", type=int, default=40)
    ap.add_argument("--seed", type=int, default=1)
    return ap.parse_args()


def compare(args, pairs_of, judge):
    """Runs --count pairs of plans, which pairs_of(rng, count) gives and whose rows must be alike. judge(folder, pairs) returns what it
    found in them, as text, and whether that is wrong. Returns how many pairs have rows, and whether anything is wrong."""
    rng, wrong = random.Random(args.seed), 0
    with tempfile.TemporaryDirectory(prefix="heddle-shared-") as name:
        folder = pathlib.Path(name)
        load(args.heddle, folder, rng)
        pairs = pairs_of(rng, args.count)
        got = run(args, folder, [p for pair in pairs for p in pair])
        for i, pair in enumerate(pairs):
            if got[2 * i] != got[2 * i + 1]:
                wrong += 1
                print(f"pair {i} of seed {args.seed} has unlike rows\n{json.dumps(pair[0])}\n{json.dumps(pair[1])}")
        some = sum(len(rows) > 1 for rows in got[::2])
        said, unlike = judge(folder, pairs)
    print(f"{args.count} pairs of plans, {some} with rows, {wrong} wrong; {said}")
    return some, bool(wrong or unlike)
