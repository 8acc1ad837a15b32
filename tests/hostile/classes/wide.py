"""Plans of hundreds of expressions, keys and joins (tests/e2e/wide.py), of random sizes, cut small or not: their rows, in
time."""

import judge
import wide  # tests/e2e

SHARE = 0.2
LIMIT_S = 10


def trial(t):
    shape, most = t.rng.choice(wide.SHAPES)
    n = int(t.log_uniform(2, 2 * most))
    name, source = t.rng.choice(sorted(wide.inputs().items()))
    weight = t.rng.choice((None, None, "1", "20", "300"))
    t.tell(f"{shape.__name__} of {n}, {name}, frame weight {weight}")
    plan, rows = shape(n, source)
    if name == "many" and shape in (wide.conjunction, wide.disjunction, wide.membership):
        plan = {"op": "project", "input": plan, "exprs": ["a", "b"]}
    done = t.run("run", "-", "--format", "csv", "--no-cache", "-t", t.rng.choice((1, 2, 3)), limit=LIMIT_S,
                 stdin=wide.document(plan).encode(), env={"HEDDLE_FRAME_WEIGHT": weight} if weight else {})
    judge.hold(judge.ended(done) == judge.ROWS, f"a plan within the limits: {done}")
    judge.same(wide.parse(done.out.decode()), wide.text(rows), shape.__name__)
    return judge.ROWS
