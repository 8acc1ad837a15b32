/* union is distinct over union_all. intersect and except are semi and anti joins by all columns, NULL alike, below a
 * distinct: what the other inputs drop is then in no group, and whatever a join by these columns can be (a bitmap, an
 * index, a hash table) finds it. */
#include "planner/rewrite_sets.h"

#include "frontend/catalog.h"

bool rw_is_set(const struct fe_node *n)
{
    return n->op == FE_UNION_OP || n->op == FE_INTERSECT_OP || n->op == FE_EXCEPT_OP;
}

/* `of` may know better than rows which of the columns can be NULL, and calls them by its names. */
static struct fe_node *distinct(const struct rewriting *w, struct fe_node *rows, const struct fe_node *of)
{
    struct fe_node *n = rw_node(w, FE_DISTINCT_OP, of, 1, rows, NULL);
    rw_set_columns(w, n, of);
    n->u.agg.nkeys = rows->ncols;
    n->u.agg.keys = rw_columns(w, rows);
    return n;
}

static struct fe_node *distinct_union(const struct rewriting *w, struct fe_node *n)
{
    struct fe_node *all = hd_dup(w->a, n, sizeof *n);
    all->op = FE_UNION_ALL_OP;
    return distinct(w, all, n);
}

enum { LOOKS = 1000 }; /* at nodes: shared subplans can make a small plan a large tree */

/* Rows of the largest table below. */
static int64_t table_rows(const struct rewriting *w, const struct fe_node *n, int *looks)
{
    if (--*looks < 0)
        return 0;
    if (n->op == FE_REF_OP)
        return table_rows(w, w->plan->shared[n->u.ref.shared], looks);
    int64_t rows = n->op == FE_SCAN_OP ? n->u.scan.table->rows : n->op == FE_VALUES_OP ? n->u.values.nrows : 0;
    for (int i = 0; i < n->ninputs; i++)
        rows = HD_MAX(rows, table_rows(w, n->inputs[i], looks));
    return rows;
}

/* The rows of input `of` that all others have (SEMI), or none of them (ANTI). */
static struct fe_node *reduced(const struct rewriting *w, const struct fe_node *n, int of, enum fe_join_kind kind)
{
    struct fe_node *rows = n->inputs[of];
    for (int i = 0; i < n->ninputs; i++)
        if (i != of)
            rows = rw_join(w, kind, rows, n->inputs[i], n->ncols, rw_columns(w, rows), NULL, 0);
    return rows;
}

/* Hash tables are made of the others. */
static int largest(const struct rewriting *w, const struct fe_node *n)
{
    int at = 0;
    int64_t most = -1;
    for (int i = 0; i < n->ninputs; i++) {
        int looks = LOOKS;
        int64_t rows = table_rows(w, n->inputs[i], &looks);
        at = rows > most ? i : at;
        most = HD_MAX(most, rows);
    }
    return at;
}

struct fe_node *rw_set(struct rewriting *w, struct fe_node *n)
{
    if (n->op == FE_UNION_OP)
        return distinct_union(w, n);
    if (n->op == FE_EXCEPT_OP)
        return distinct(w, reduced(w, n, 0, FE_ANTI), n);
    return distinct(w, reduced(w, n, largest(w, n), FE_SEMI), n);
}
