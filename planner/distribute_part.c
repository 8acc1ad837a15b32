/* Passes over one GPU: rows that any pass can make anew are not sent from pass to pass, but each keeps its part of them, by a
 * hash. So a table is scanned as often as there are passes, from the GPU's memory or over the link, and nothing goes through
 * the host's memory. */
#include "frontend/json_make.h"
#include "planner/distribute_fragment.h"

/* Of rel, which every worker has, each keeps what the hash of n columns gives it; as dist_shuffle, but nothing is sent. */
static struct dist_rel keep_part(struct dist *d, struct dist_rel rel, int n, const int *columns, int way)
{
    struct dist_rel in = dist_everywhere(d, rel), out = {.node = rel.node, .plain = true, .split = true, .way = way};
    const char **names = HD_NEWN(d->a, const char *, n);
    for (int i = 0; i < n; i++)
        names[i] = rel.node->cols[columns[i]].name;
    out.op = dist_new_op(d->a, "filter", in.op);
    fe_put(
        out.op, "pred",
        dist_apply(d->a, "=", pl_hashed_worker(d->a, names, n, d->workers), dist_name(d->a, "param", d->param_prefix)));
    out.by = HD_NEWN(d->a, bool, rel.node->ncols + 1);
    out.by[columns[0]] = n == 1;
    d->cost += dist_rows(d, rel.node) * DIST_TESTED;
    return out;
}

struct dist_rel dist_spread(struct dist *d, struct dist_rel rel, int n, const int *columns, int way)
{
    return rel.split || !dist_in_passes(d) ? dist_shuffle(d, rel, n, columns, way) : keep_part(d, rel, n, columns, way);
}
