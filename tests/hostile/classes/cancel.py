"""SIGINT, SIGTERM and time limits at random moments of a command's whole life: it ends soon, with one error that says
why; what it writes is whole or not there."""

import json
import signal
import subprocess
import time

import judge
import world
import writers

PROMISED_S = 0.2  # docs/cli.md; --slack is what a busy machine may add
ends = []  # seconds from the signal to the end of each cancelled command


def ints(n):
    return {"op": "values", "columns": [{"name": "n", "type": "int64"}], "rows": [[i] for i in range(n)]}


def cross(sizes):
    root = None
    for name, n in zip("abcdef", sizes):
        side = {"op": "project", "exprs": [{"expr": "n", "as": name}], "input": ints(n)}
        root = side if root is None else {"op": "join", "kind": "inner", "on": [], "left": root, "right": side}
    return root


def document(root):
    return json.dumps({"heddle": 1, "root": root}).encode()


LONG = document({"op": "aggregate", "aggs": [{"fn": "sum", "arg": "a * b + c * d", "as": "s"}], "input": cross([3000] * 4)})
MUCH = document(cross([3000, 3000]))
WIDE = document({"op": "aggregate", "keys": ["n"], "input": ints(3),
                 "aggs": [{"fn": "sum", "arg": f"n * {i} + n", "as": f"s{i}"} for i in range(2, 300)]})
MANY = document({"op": "filter", "pred": "n in (" + ", ".join(str(3 * i) for i in range(60000)) + ")", "input": ints(3)})
SLOW_LIKE = document({"op": "filter", "pred": f"s like '%{'a' * 40}%{'_a' * 20}%b'", "input":
                      {"op": "values", "columns": [{"name": "s", "type": "string"}], "rows": [["a" * 2_000_000]]}})
BATCH = b"".join(b'{"plan": %s}\n' % p for p in (document(ints(3)), WIDE, LONG))

# (arguments, standard input, seconds within which the moment lies)
COMMANDS = {
    "long": (["run", "-"], LONG, 1),
    "long on one thread": (["run", "-", "-t", "1"], LONG, 1),
    "much, csv": (["run", "-", "--format", "csv"], MUCH, 2),
    "much, json": (["run", "-", "--format", "json"], MUCH, 2),
    "wide": (["run", "-", "--no-cache"], WIDE, 1),
    "explain wide": (["explain", "-", "--dump", "llvm-opt,asm"], WIDE, 1),
    "many items": (["run", "-"], MANY, 0.5),
    "like": (["run", "-"], SLOW_LIKE, 0.5),
    "batch": (["run", "--batch", "-"], BATCH, 2),
    "idle": (["run", "--batch", "-"], None, 0.5),
    "idle plan": (["run", "-"], None, 0.5),
}


def trial(t):
    kind = t.rng.choice(("command", "command", "command", "writer", "limit"))
    return {"command": command, "writer": writer, "limit": time_limit}[kind](t)


def command(t):
    name = t.rng.choice(list(COMMANDS))
    args, stdin, life = COMMANDS[name]
    signaled(t, name, args, stdin, {}, t.rng.uniform(0, life))
    return judge.ERROR


def writer(t):
    name = t.rng.choice(list(writers.ALL))
    w = writers.ALL[name]
    w.prepare(t)
    moment = t.rng.uniform(0, 1) * writers.length_s(t, name)
    ended_well = signaled(t, name, w.args(t.world), w.stdin, w.env, moment) == 0
    w.look(t, ended_well)
    return judge.ROWS if ended_well else judge.ERROR


def signaled(t, name, args, stdin, env, after):
    """Nobody reads a full pipe: that is a moment, too. The exit status, 0 if the command was faster."""
    sig = t.rng.choice((signal.SIGINT, signal.SIGTERM))
    t.tell(f"{name}, {sig.name} after {after:.3f} s")
    source = t.dir / "stdin"
    if stdin is not None:
        source.write_bytes(stdin)
    with open(source if stdin is not None else "/dev/null", "rb") as f:
        process = t.world.start(args, t.dir, env, stdin=f if stdin is not None else subprocess.PIPE)
    if stdin is not None:
        source.unlink()
    time.sleep(after)
    begun = time.monotonic()
    if process.poll() is None:
        process.send_signal(sig)
    return look_at_end(t, process, sig, begun)


def look_at_end(t, process, sig, begun):
    try:
        process.wait(PROMISED_S + t.world.slack)
        late = False
    except subprocess.TimeoutExpired:
        process.kill()
        late = True
    took = time.monotonic() - begun
    _, err = process.communicate(timeout=world.LIMIT_S)
    judge.hold(not late, f"still there after {took:.2f} s")
    if process.returncode in (0, -sig):  # it was faster, or had not begun
        judge.hold(not err, f"status {process.returncode}: {err!r}")
        return process.returncode
    ends.append(took)
    judge.hold((process.returncode, err) == (1, b"heddle: error: interrupted\n"), f"status {process.returncode}: {err!r}")
    return 1


def time_limit(t):
    name = t.rng.choice([n for n, (args, stdin, _) in COMMANDS.items() if stdin is not None and args[0] == "run"])
    args, stdin, life = COMMANDS[name]
    seconds = f"{t.rng.uniform(0.001, life):.3f}"
    t.tell(f"{name}, --query-timeout {seconds}")
    begun = time.monotonic()
    done = t.run(*args, "--query-timeout", seconds, stdin=stdin, stdout=subprocess.DEVNULL, limit=10 + t.world.slack)
    if name == "batch":
        return judge.ended(done)
    outcome = judge.ended(done)
    judge.hold(outcome == judge.ROWS or (done.status, b"timed out after" in done.err) == (4, True), str(done))
    judge.hold(time.monotonic() - begun < life + PROMISED_S + t.world.slack, f"late: {done}")
    return outcome


def note():
    soon = sum(took <= PROMISED_S for took in ends)
    return ends and (f"cancel: {len(ends)} commands were cancelled, {soon} of them ended within {PROMISED_S} s, "
                     f"the last after {max(ends):.2f} s")
