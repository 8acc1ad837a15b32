"""Arrow structs, text files, catalogs, schemas, plans and expressions with bytes changed, given straight to their readers:
a replay of each fuzz corpus (tests/fuzz) with other mutations. A trial is one replay, of thousands of inputs."""

import re

import judge
import world

SHARE = 0.3
TARGETS = ("arrow", "arrow", "arrow", "csv", "catalog_json", "schema_json", "plan_json", "expr", "planner")
inputs = 0


def trial(t):
    global inputs
    target = t.rng.choice(TARGETS)
    number = t.rng.getrandbits(32)
    t.tell(f"replay_{target}, seed {number}")
    done = t.run(t.world.program(f"fuzz/replay_{target}"), f"-seed={number}", world.SOURCE / "tests/fuzz/corpus" / target)
    said = re.fullmatch(rb"\d+ files, (\d+) inputs\n", done.out)
    judge.hold(done.status == 0 and said and not any(m in done.err for m in judge.SANITIZERS), str(done))
    inputs += int(said.group(1))
    return judge.ROWS


def note():
    return f"readers: {inputs} inputs in all"
