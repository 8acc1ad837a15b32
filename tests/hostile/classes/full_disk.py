"""Disks that are full, files that may not grow, and a system that says no: whatever writes ends well or with one error,
and then nothing unfinished is there and old files are as they were."""

import functools
import resource
import subprocess
import tempfile

import judge
import writers

FAULTS = ("write", "open", "mmap", "read", "sync", "rename", "alloc", "thread")
ONE = b'{"heddle": 1, "root": {"op": "values", "columns": [{"name": "n", "type": "int32"}], "rows": [[1]]}}'
PRINTING = (["run", "-", "--format", "csv"], ["run", "-", "--format", "json"], ["run", "-"], ["explain", "-"], ["info"],
            ["params", "tpch"], ["--help"], ["explain", "-", "--dump", "llvm"])


def trial(t):
    return t.rng.choice((limit, limit, fault, fault, fault, small_disk, full_device))(t)


def judged(t, name, done):
    """A cache is best effort: a query runs without."""
    outcome = judge.ended(done)
    writers.ALL[name].look(t, outcome == judge.ROWS)
    return outcome


def limit(t):
    """RLIMIT_FSIZE: no file may grow beyond it."""
    name = t.rng.choice(list(writers.ALL))
    size = int(t.log_uniform(1, 2_000_000))
    t.tell(f"{name}, files of at most {size} bytes")
    writers.ALL[name].prepare(t)
    done = writers.ALL[name].run(t, setup=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    judge.hold(name != "cache" or done.status == 0, f"a query fails for its cache: {done}")
    return judged(t, name, done)


def fault(t):
    """HEDDLE_FAULT (runtime/base/fault.h): the n-th call fails, and perhaps all later ones."""
    name, kind = t.rng.choice(list(writers.ALL)), t.rng.choice(FAULTS)
    spec = f"{kind}:{int(t.log_uniform(1, 300))}{t.rng.choice(('', '+'))}"
    t.tell(f"{name}, HEDDLE_FAULT={spec}")
    writers.ALL[name].prepare(t)
    done = t.run(*writers.ALL[name].args(t.world), stdin=writers.ALL[name].stdin,
                 env={**writers.ALL[name].env, "HEDDLE_FAULT": spec})
    return judged(t, name, done)


# In a namespace of its own, where the caller is root; the folder's names after the run are for the world outside.
ON_A_SMALL_DISK = """heddle=$3; mount -t tmpfs -o size=$1 none "$2" && cd "$2" && shift 2 && "$@"; status=$?
find . -mindepth 1 > ../listing
[ $status != 0 ] || [ ! -d db ] || "$heddle" check db > ../listing || exit 99
exit $status"""


@functools.cache
def may_mount():
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", folder]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def small_disk(t):
    """A real file system that fills up; a container may forbid to mount one."""
    if not may_mount():
        return fault(t)
    size = int(t.log_uniform(4096, 3_000_000))
    name = t.rng.choice(("gen", "load", "texts"))
    t.tell(f"{name}, a disk of {size} bytes")
    (t.dir / "disk").mkdir()
    done = t.run("/usr/bin/env", "unshare", "-Urm", "/bin/sh", "-c", ON_A_SMALL_DISK, "sh", size, t.dir / "disk",
                 t.world.heddle, *writers.ALL[name].args(t.world))
    outcome = judge.ended(done)
    found = set((t.dir / "listing").read_text().split())
    judge.hold(outcome == judge.ROWS or found <= {"./tbl"}, f"left behind: {sorted(found)}")
    return outcome


def full_device(t):
    """Standard output takes nothing."""
    args = t.rng.choice(PRINTING)
    t.tell(f"{' '.join(args)} > /dev/full")
    with open("/dev/full", "wb") as full:
        done = t.run(*args, stdin=ONE, stdout=full)
    judge.hold(done.status == 1, f"a full device: {done}")
    return judge.ended(done)
