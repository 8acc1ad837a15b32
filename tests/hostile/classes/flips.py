"""Bytes of database and cache files that change, are missing or are something else, under the old checksums: `check`
finds it always, a query gives the undamaged rows or an error of class corrupt or io that names the file."""

import json
import os
import shutil

import judge


def trial(t):
    return t.rng.choice((database, database, database, cache))(t)


def database(t):
    db = t.rng.choice((t.world.small, t.world.small, t.world.tpch))
    name = t.rng.choice(sorted(p.name for p in db.iterdir() if p.is_file()))
    copy = t.copy(db, own={name})
    path = copy / name
    how = t.rng.choice(DAMAGES)(t.rng, path)
    t.tell(f"{db.name}/{name}: {how or 'nothing to change'}")
    if not how:
        return judge.ROWS
    done = t.run("check", "db")
    judge.hold(judge.ended(done) == judge.ERROR and (name.encode() in done.err + done.out or b"catalog" in done.err),
               f"check does not find it: {done}")
    plans = choose(t.rng, t.world.plans(db), name)
    found = t.world.batch(copy, plans, t.dir, *t.rng.choice(([], ["--no-mmap"])))
    outcome = t.world.compare(db, plans, found)
    for plan, answer in zip(plans, found):
        if "error" in answer and "rows" in t.world.expected(db)[plan]:
            error = answer["error"]
            judge.hold(name in json.dumps(error) or "catalog" in json.dumps(error), f"{plan}: another error: {error}")
    return outcome


def choose(rng, plans, name):
    """All plans of the small database; of TPC-H four."""
    return plans if len(plans) < 20 else {k: plans[k] for k in rng.sample(sorted(plans), 4)}


def flip(rng, path):
    data = bytearray(path.read_bytes())
    places = [rng.randrange(len(data)) for _ in range(rng.randint(1, 8))] if data else []
    for at in set(places):
        data[at] ^= rng.randint(1, 255)
    path.write_bytes(data)
    return f"bytes {sorted(set(places))} changed" if places else None


def cut(rng, path):
    size = path.stat().st_size
    if not size:
        return None
    left = rng.choice((0, size - 1, rng.randrange(size)))
    os.truncate(path, left)
    return f"cut to {left} of {size} bytes"


def extend(rng, path):
    more = rng.choice((1, 8, 4096, rng.randint(1, 100000)))
    with open(path, "ab") as f:
        f.write(rng.randbytes(more))
    return f"{more} bytes behind the end"


def blank(rng, path):
    """A block of a disk that was never written."""
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data)) & ~511 if data else 0
    changed = any(data[at:at + 512])
    data[at:at + 512] = bytes(len(data[at:at + 512]))
    path.write_bytes(data)
    return f"zeros from {at}" if changed else None


def replace(rng, path):
    """Not a file any more; a FIFO must not keep anybody waiting."""
    path.unlink()
    kind = rng.choice(("missing", "a folder", "a FIFO", "a link to itself", "a device"))
    if kind == "a folder":
        path.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a link to itself":
        path.symlink_to(path.name)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    return kind


DAMAGES = (flip, flip, flip, flip, cut, extend, blank, replace)


def cache(t):
    """Whatever is in the cache of compiled plans, rows are the same; what is no entry is compiled anew."""
    plans = t.world.small_plans
    t.world.expected(t.world.small)  # fills the cache
    own = t.dir / "cache"
    own.mkdir(mode=0o700)
    entries = sorted(p for p in t.world.cache.iterdir() if p.suffix == ".hdo")
    told = []
    for entry in t.rng.sample(entries, min(len(entries), 40)):
        path = own / entry.name
        shutil.copy(entry, path)
        told.append(t.rng.choice((flip, cut, extend, replace))(t.rng, path))
    t.tell(f"cache: {len(told)} entries, the first: {told[0]}")
    names = t.rng.sample(sorted(plans), 3)
    plans = {name: plans[name] for name in names}
    found = t.world.batch(t.world.small, plans, t.dir, env={"HEDDLE_CACHE": "cache"})
    judge.hold(t.world.compare(t.world.small, plans, found) == judge.ROWS, f"a query fails for its cache: {found}")
    return judge.ROWS
