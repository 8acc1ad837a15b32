"""kill -9 of whatever writes, at any moment: nothing unfinished is visible, the next run works and removes what the
killed one left, and nothing else."""

import os
import subprocess
import time

import judge
import world
import writers

HOUR_S = 3600


def trial(t):
    name = t.rng.choice(list(writers.ALL))
    writer, moment = writers.ALL[name], t.rng.uniform(0, 1.1)
    seconds = moment * writers.length_s(t, name)
    t.tell(f"{name}, killed after {seconds:.3f} s")
    writer.prepare(t)
    done = killed(t, writer, seconds)
    writer.look(t, done == 0, leftovers=True)
    grow_old(t.dir / "cache")
    writer.clear(t)
    again = writer.run(t)
    judge.hold(judge.ended(again) == judge.ROWS, f"the run after the kill: {again}")
    writer.look(t, True)
    if name == "cache":
        judge.hold(not list((t.dir / "cache").glob(".*")), "unfinished entries stay in the cache")
    return judge.ROWS


def killed(t, writer, seconds):
    process = t.world.start(writer.args(t.world), t.dir, writer.env, stdout=subprocess.DEVNULL)
    timer = world.stop_after(process, seconds)
    _, err = process.communicate(writer.stdin, timeout=world.LIMIT_S)
    timer.cancel()
    judge.hold(process.returncode in (0, -9), f"status {process.returncode}: {err.decode(errors='replace')}")
    return process.returncode


def grow_old(cache):
    """Unfinished entries younger than an hour may be another process's."""
    for path in cache.glob(".*"):
        then = time.time() - 2 * HOUR_S
        os.utime(path, (then, then))
    for path in cache.glob("*.hdo"):
        path.unlink()  # so that the next run writes one, which is when it looks for old ones
