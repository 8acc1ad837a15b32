/* Passes over one GPU: rows that any pass can make anew are not sent from pass to pass, but each keeps its part of them, by a
 * hash. So a table is scanned as often as there are passes, from the GPU's memory or over the link, and nothing goes through
 * the host's memory. */
#include "frontend/json_make.h"
#include "planner/distribute_fragment.h"

/* A byte that is read over the link, in rows that are gone through: 48 GB/s, where what is sent from pass to pass takes 32 rows and 2
 * for each of its bytes, at 4 GB/s (distribute_fragment.c). */
static const double LINK_BYTE = 0.3;

static double column_bytes(const struct fe_table *t, int column)
{
    const struct fe_table_column *c = &t->cols[column];
    double bytes = (double)fe_column_bytes(c, t->rows);
    return c->storage == FE_STORE_TEXT ? bytes + (double)c->at.text_size : bytes;
}

void dist_read(struct dist *d, const struct fe_node *n, double share)
{
    double bytes = 0;
    for (int i = 0; i < n->ncols; i++)
        if (d->need[n->id][i])
            bytes += column_bytes(n->u.scan.table, n->u.scan.columns[i]);
    if (d->streams && dist_in_passes(d))
        d->cost += share * bytes * LINK_BYTE;
}

/* What the cut counts of a table only in part, as if an index led to its rows, is read whole by each pass. */
static void read_again(struct dist *d, const struct fe_node *n)
{
    if (n->op == FE_SCAN_OP)
        dist_read(d, n, 1 - DIST_WHOLE);
    for (int i = 0; i < n->ninputs; i++)
        read_again(d, n->inputs[i]);
}

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
    d->cost += dist_rows(d, rel.node) * dist_tested(d);
    read_again(d, rel.node);
    return out;
}

struct dist_rel dist_spread(struct dist *d, struct dist_rel rel, int n, const int *columns, int way)
{
    return rel.split || !dist_in_passes(d) ? dist_shuffle(d, rel, n, columns, way) : keep_part(d, rel, n, columns, way);
}
