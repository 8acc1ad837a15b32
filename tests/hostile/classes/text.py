"""Text files and schemas with bytes changed, repeated and lost: a database that passes its check, or one error, and then
nothing is there."""

import judge

SHARE = 0.5
PIECES = (b",", b"\n", b"\r\n", b'"', b"'", b"\x00", b"\xff", b"\xc3", b"-", b".", b"0", b"9" * 40, b"1e400", b"nan", b"{", b"}",
          b"[", b"]", b":", b"null", b"\\u0000", b"\xef\xbb\xbf", b" " * 100)


def mutate(rng, data, changes):
    for _ in range(changes):
        at, cut = rng.randrange(len(data) + 1), rng.choice((0, 0, 1, 2, 5, 1000))
        piece = rng.choice((b"", rng.choice(PIECES), data[at:at + rng.randint(1, 200)] * 2))
        data = data[:at] + piece + data[at + cut:]
    return data


def trial(t):
    source = t.dir / "data"
    source.mkdir()
    name = t.rng.choice(("schema.json", "parent.csv", "child.csv"))
    for path in t.world.small_data.iterdir():
        data = path.read_bytes()
        (source / path.name).write_bytes(mutate(t.rng, data, t.rng.choice((1, 1, 2, 4))) if path.name == name else data)
    t.tell(f"load with {name} changed")
    done = t.run("load", "--schema", source / "schema.json", "--from", source, "--out", "db")
    if judge.ended(done) == judge.ERROR:
        judge.only(t.dir, ["data"], "after an error")
        table = name.partition(".")[0]
        judge.hold(table.encode() in done.err or table == "schema", f"the error names neither file nor table: {done}")
        return judge.ERROR
    t.world.must("check", "db", cwd=t.dir)
    return judge.ROWS
