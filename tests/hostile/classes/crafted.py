"""Files changed by somebody who repairs the checksums (tests/store/craft.h): rows, perhaps wrong ones, or one error. Nobody
leaves his memory, which the sanitized build sees."""

import subprocess

import judge


def trial(t):
    craft = t.world.program("store/craft_db")
    db = t.copy(t.world.small)
    names = sorted(p.name for p in db.iterdir() if p.name != "catalog.sum")
    name = t.rng.choice(names + ["catalog.json"] * (len(names) // 2))
    number = t.rng.getrandbits(63)
    done = subprocess.run([craft, db, name, str(number)], capture_output=True, text=True, check=False)
    t.tell(f"{name}, seed {number}: {done.stdout.strip()}")
    if done.returncode:
        return judge.ROWS  # nothing to change: an empty file
    judge.ended(t.run("check", "db"))
    found = t.world.batch(db, t.world.small_plans, t.dir, limit=20)
    failed = any("error" in a and "rows" in e for a, e in zip(found, t.world.expected(t.world.small).values()))
    return judge.ERROR if failed else judge.ROWS
