/* Quantiles: rows of each group get numbers in the order of the argument, a filter leaves those with the numbers that
 * are asked for, and an aggregate has their values. Numbers come in one of three ways.
 *
 * Sorting: a window over all rows. Counting: rows are grouped by the keys and the value, and a window over these groups
 * adds up their counts; a group stands for several row numbers. Buckets: rows are counted by keys and bucket, a range of
 * values, and only rows of the buckets that are asked for are sorted: the input is read twice, nearly nothing is sorted
 * (Alabi et al., Fast K-Selection Algorithms for Graphics Processing Units, 2012, section 3.1, bucketSelect). */
#include "frontend/bucket.h"
#include "planner/ordered.h"
#include "planner/rewrite_ordinals.h"
#include "planner/typed.h"

/* What numbers are found by: an exact number that is cast to a float by itself, for the cast keeps the order, and equal
 * floats are equal whichever number they come from. The value that is found is cast then. */
static struct fe_expr *measure(const struct fe_agg *a)
{
    struct fe_expr *x = a->arg;
    bool cast = x->op == FE_CAST && hd_type_is_float(x->type);
    return cast && (hd_type_is_int(x->args[0]->type) || x->args[0]->type.kind == HD_DECIMAL) ? x->args[0] : x;
}

static struct fe_node *values_of(const struct ordering *o, const struct ordered_part *p)
{
    return ro_values(o, p, measure(&o->n->u.agg.aggs[p->first]));
}

static bool is_discrete(const struct fe_agg *a)
{
    return fe_quantile_is_discrete(a->fn, a->type);
}

/* A value that was found, as the argument has it. */
static struct fe_expr *as_argument(const struct ordering *o, const struct fe_agg *a, struct fe_expr *found)
{
    return measure(a) == a->arg ? found : ro_cast(o, found, a->arg->type);
}

/* (rows - 1) * q, its denominator left out. */
static struct fe_expr *position(const struct ordering *o, struct fe_fraction q, struct fe_expr *rows)
{
    struct fe_expr *before = ro_plus(o, rows, -1);
    return q.num == 1 ? before : ro_op(o, FE_MUL, ro_integer, before, ro_number(o, ro_integer, q.num));
}

/* Rows in front of the one at (rows - 1) * q, or in front of the first one with at least the share q up to it. */
static struct fe_expr *rows_before(const struct ordering *o, const struct fe_agg *a, struct fe_expr *rows)
{
    struct fe_fraction q = fe_fraction_of(a->q);
    struct fe_expr *den = ro_number(o, ro_integer, q.den);
    if (q.num == 0)
        return ro_number(o, ro_integer, 0);
    if (!is_discrete(a))
        return q.den == 1 ? position(o, q, rows) : ro_op(o, FE_DIV, ro_integer, position(o, q, rows), den);
    struct fe_expr *part = ro_op(o, FE_MUL, ro_integer, rows, ro_number(o, ro_integer, q.num));
    return ro_op(o, FE_DIV, ro_integer, ro_plus(o, part, -1), den); /* rounded up, less 1 */
}

/* Rows by number: keys, a value at column nk; row numbers of a group from 1, and how many the group has. A row may stand
 * for several with its value: numbers above `below` up to `upto`. */
struct numbering {
    struct fe_node *rows;
    struct fe_expr *below, *upto, *all;
};

static struct fe_expr *has_row(const struct ordering *o, const struct numbering *r, struct fe_expr *before, int more)
{
    struct fe_expr *at = ro_plus(o, before, 1 + more);
    if (!r->below)
        return ro_op(o, FE_EQ, ro_truth, r->upto, at);
    return ro_both(o, ro_op(o, FE_LT, ro_truth, r->below, at), ro_op(o, FE_LE, ro_truth, at, r->upto));
}

/* Values between two rows are asked for, too. */
static bool is_between(const struct fe_agg *a)
{
    return !is_discrete(a) && fe_fraction_of(a->q).den > 1;
}

/* The rows that some aggregate of the part asks for. */
static struct fe_node *asked(const struct ordering *o, int part, const struct numbering *r)
{
    struct fe_expr *pred = NULL;
    for (int i = 0; i < o->n->u.agg.naggs; i++) {
        const struct fe_agg *a = &o->n->u.agg.aggs[i];
        for (int more = 0; o->part[i] == part && more <= is_between(a); more++)
            pred = ro_either(o, pred, has_row(o, r, rows_before(o, a, r->all), more));
    }
    return ro_filtered(o, r->rows, pred);
}

static struct fe_node *groups_of(const struct ordering *o, int part, const struct numbering *r)
{
    int na = o->n->u.agg.naggs, nk = o->n->u.agg.nkeys;
    struct fe_expr *value = rw_column(o->w, r->rows, nk);
    struct fe_node *g = ro_grouped(o, asked(o, part, r), nk, 3 * na);
    for (int i = 0; i < na; i++) {
        const struct fe_agg *a = &o->n->u.agg.aggs[i];
        if (o->part[i] != part)
            continue;
        struct fe_expr *before = rows_before(o, a, r->all);
        struct ordered_columns *at = &o->at[i];
        at->value = ro_add_agg(g, FE_AGG_MAX, ro_when(o, has_row(o, r, before, 0), value, NULL), "value");
        if (!is_between(a))
            continue;
        at->next = ro_add_agg(g, FE_AGG_MAX, ro_when(o, has_row(o, r, before, 1), value, NULL), "next");
        at->rows = ro_add_agg(g, FE_AGG_MAX, r->all, "rows");
    }
    return g;
}

/* ---- rows by number -------------------------------------------------------------------------------------------- */

static struct fe_node *sorted(const struct ordering *o, struct fe_node *in, int ngroup)
{
    struct fe_node *n = ro_window(o, in, ngroup, ngroup + 1, 2);
    ro_add_column(n, (struct fe_window_column){.at.base = FE_WINDOW_ROW, .value = -1}, "row");
    ro_add_column(n, (struct fe_window_column){.at.base = FE_WINDOW_ROWS, .value = -1}, "rows");
    return n;
}

static struct numbering by_sorting(const struct ordering *o, struct fe_node *values)
{
    struct fe_node *n = sorted(o, values, o->n->u.agg.nkeys);
    return (struct numbering){
        .rows = n, .upto = rw_column(o->w, n, n->ncols - 2), .all = rw_column(o->w, n, n->ncols - 1)};
}

/* Groups by the keys and the column behind them, in its order, with the number of rows up to each. */
static struct numbering by_counting(const struct ordering *o, struct fe_node *in)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *g = ro_grouped(o, in, nk + 1, 1);
    int count = ro_add_agg(g, FE_AGG_COUNT_STAR, NULL, "count");
    struct fe_node *n = ro_window(o, g, nk, nk + 1, 2);
    n->u.sort.window->values[n->u.sort.window->nvalues++] =
        (struct fe_window_value){.fn = FE_AGG_SUM, .arg = rw_column(o->w, g, count)};
    int upto = ro_add_column(n, (struct fe_window_column){.at.base = FE_WINDOW_ROW, .value = 0}, "upto");
    int all = ro_add_column(n, (struct fe_window_column){.at.base = FE_WINDOW_ROWS, .value = 0}, "rows");
    struct numbering r = {.rows = n, .upto = rw_column(o->w, n, upto), .all = rw_column(o->w, n, all)};
    r.below = ro_op(o, FE_SUB, ro_integer, r.upto, rw_column(o->w, n, count));
    return r;
}

/* ---- buckets ---------------------------------------------------------------------------------------------------- */

/* How values are spread over buckets; count 0: they are not. */
struct buckets {
    struct pl_range range; /* of their ordinals, divided */
    int64_t cut; /* of floats: what ordinals are divided by */
    int count;
    bool exact; /* one for each value */
};

enum {
    ROWS_MIN = 1 << 15,
    BUCKETS_MIN = 16,
    BUCKETS_MAX = 1 << 12,
    FLOATS_MIN = 1 << 12,
    FLOATS_MAX = 1 << 17,
    COUNTERS_MAX = 1 << 19,
    ROWS_PER_COUNTER = 4
};

/* Buckets of floats are what numbers have in common in front: sign, exponent and some digits. */
static void cut_ordinals(struct buckets *b, double room)
{
    int64_t most = (int64_t)b->range.hi;
    for (b->cut = 1; 2.0 * (double)(most / b->cut) + 1 > room; b->cut *= 2)
        ;
    b->range = (struct pl_range){true, -(most / b->cut), most / b->cut};
}

/* Counting takes counters that are few beside the rows. */
static struct buckets buckets_of(const struct ordering *o, const struct ordered_part *p)
{
    const struct fe_expr *arg = measure(&o->n->u.agg.aggs[p->first]);
    bool real = hd_type_is_float(arg->type), spread = arg->type.kind != HD_INTERVAL;
    struct buckets b = {.range = rw_computed_ordinals(o->w, o->in, arg)};
    double rows = rw_rows(o->w, o->in, arg), groups = 1;
    if (!b.range.known || rows < ROWS_MIN || !spread)
        return b;
    for (int i = 0; i < o->n->u.agg.nkeys; i++) {
        double values = rw_distinct(o->w, o->in, o->n->u.agg.keys[i]);
        if (values < 0)
            return b;
        groups *= values;
    }
    double room = HD_MIN(rows / ROWS_PER_COUNTER, (double)COUNTERS_MAX) / groups;
    if (room < (real ? FLOATS_MIN : BUCKETS_MIN))
        return b;
    if (real)
        cut_ordinals(&b, HD_MIN(room, FLOATS_MAX));
    if (b.range.hi - b.range.lo >= INT64_MAX)
        return b;
    int64_t span = (int64_t)(b.range.hi - b.range.lo + 1);
    b.exact = !real && (double)span <= room;
    b.count = (int)(real || b.exact ? span : HD_MIN((int64_t)room, BUCKETS_MAX));
    return b;
}

static struct fe_expr *bucket(const struct ordering *o, const struct buckets *b, struct fe_expr *x)
{
    if (b->cut)
        x = ro_op(o, FE_DIV, ro_integer, ro_cast(o, ro_op(o, FE_ORDINAL, ro_wide, x, NULL), ro_integer),
                  ro_number(o, ro_integer, b->cut));
    struct hd_type t = fe_bucket_type(x->type);
    struct fe_expr *e =
        pl_expr_node(o->w->a, FE_WIDTH_BUCKET, hd_type_of(HD_INT32), x->nullable, x->path, 4, NULL, NULL);
    e->args = HD_NEWN(o->w->a, struct fe_expr *, 4);
    e->args[0] = x;
    e->args[1] = ro_number(o, t, b->range.lo);
    e->args[2] = ro_number(o, t, b->range.hi + 1);
    e->args[3] = ro_number(o, ro_integer, b->count);
    return e;
}

/* Keys, buckets, and maybe values, of the rows that count. */
static struct fe_node *in_buckets(const struct ordering *o, const struct ordered_part *p, const struct buckets *b,
                                  bool with_values)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *values = values_of(o, p), *to = ro_projected(o, values, nk + 2);
    ro_add_columns(o, to, nk);
    ro_add(to, bucket(o, b, rw_column(o->w, values, nk)), "bucket");
    if (with_values)
        ro_add(to, rw_column(o->w, values, nk), "value");
    return to;
}

/* The buckets with rows that are asked for: key, bucket, how many rows are in front of it, and in all. */
static struct fe_node *asked_buckets(const struct ordering *o, int part, const struct numbering *r)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *to = ro_projected(o, asked(o, part, r), nk + 3);
    ro_add_columns(o, to, nk + 1);
    ro_add(to, r->below, "below");
    ro_add(to, r->all, "rows");
    return rw_share(o->w, to, "buckets");
}

/* Most rows are in buckets that no group asks for, which a look at the bucket alone tells. */
static struct fe_node *rows_asked(const struct ordering *o, struct fe_node *rows, struct fe_node *asked)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *some = nk ? rw_join(o->w, FE_SEMI, rows, asked, 0, NULL, rw_column(o->w, rows, nk), nk) : rows;
    return rw_join(o->w, FE_INNER, some, rw_copy(o->w, asked), nk, rw_columns(o->w, some), rw_column(o->w, some, nk),
                   nk);
}

static struct numbering by_buckets(const struct ordering *o, int part, const struct buckets *b)
{
    int nk = o->n->u.agg.nkeys;
    const struct ordered_part *p = &o->parts[part];
    struct numbering r = by_counting(o, in_buckets(o, p, b, false));
    struct fe_node *rows = rows_asked(o, in_buckets(o, p, b, true), asked_buckets(o, part, &r));
    struct fe_node *in = ro_projected(o, rows, nk + 4);
    ro_add_columns(o, in, nk + 2);
    ro_add(in, rw_column(o->w, rows, 2 * nk + 3), "below");
    ro_add(in, rw_column(o->w, rows, 2 * nk + 4), "rows");
    struct fe_node *n = sorted(o, in, nk + 1), *to = ro_projected(o, n, nk + 3);
    ro_add_columns(o, to, nk);
    ro_add(to, rw_column(o->w, n, nk + 1), "value");
    ro_add(to, ro_op(o, FE_ADD, ro_integer, rw_column(o->w, n, nk + 2), rw_column(o->w, n, nk + 4)), "row");
    ro_add(to, rw_column(o->w, n, nk + 3), "rows");
    return (struct numbering){.rows = to, .upto = rw_column(o->w, to, nk + 1), .all = rw_column(o->w, to, nk + 2)};
}

bool ro_reads_twice(const struct ordering *o, const struct ordered_part *p)
{
    struct buckets b = buckets_of(o, p);
    return b.count && !b.exact;
}

void ro_quantiles(struct ordering *o, int part)
{
    struct ordered_part *p = &o->parts[part];
    struct buckets b = buckets_of(o, p);
    struct numbering r = !b.count  ? by_sorting(o, values_of(o, p))
                         : b.exact ? by_counting(o, values_of(o, p))
                                   : by_buckets(o, part, &b);
    p->groups = groups_of(o, part, &r);
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* lo + (hi - lo) * over / den: exactly, then rounded, of decimals, and of float64 otherwise. */
static struct fe_expr *interpolated(const struct ordering *o, struct fe_expr *lo, struct fe_expr *hi,
                                    struct fe_expr *over, int64_t den, struct hd_type t)
{
    if (t.kind == HD_DECIMAL) {
        struct hd_type sum = hd_decimal(HD_DEC_MAX, lo->type.scale);
        struct fe_expr *k = ro_cast(o, over, ro_wide), *rest = ro_op(o, FE_SUB, ro_wide, ro_number(o, ro_wide, den), k);
        struct fe_expr *all = ro_op(o, FE_ADD, sum, ro_op(o, FE_MUL, sum, lo, rest), ro_op(o, FE_MUL, sum, hi, k));
        return ro_op(o, FE_DIV, t, all, ro_number(o, ro_wide, den));
    }
    struct fe_expr *x = ro_cast(o, lo, ro_real), *y = ro_cast(o, hi, ro_real);
    struct fe_expr *k = ro_op(o, FE_DIV, ro_real, ro_cast(o, over, ro_real), ro_number(o, ro_real, den));
    struct fe_expr *rest = ro_op(o, FE_SUB, ro_real, ro_number(o, ro_real, 1), k);
    struct fe_expr *sum =
        ro_op(o, FE_ADD, ro_real, ro_op(o, FE_MUL, ro_real, x, rest), ro_op(o, FE_MUL, ro_real, y, k));
    return ro_when(o, ro_op(o, FE_EQ, ro_truth, x, y), x, sum);
}

struct fe_expr *ro_quantile(const struct ordering *o, const struct fe_node *all, int i)
{
    int base = o->parts[o->part[i]].base;
    const struct fe_agg *a = &o->n->u.agg.aggs[i];
    struct fe_expr *lo = as_argument(o, a, rw_column(o->w, all, base + o->at[i].value));
    if (is_discrete(a))
        return a->type.kind == HD_BOOL ? ro_op(o, FE_OF_ORDINAL, a->type, lo, NULL) : lo;
    if (!is_between(a))
        return ro_cast(o, lo, a->type);
    struct fe_fraction q = fe_fraction_of(a->q);
    struct fe_expr *hi = as_argument(o, a, rw_column(o->w, all, base + o->at[i].next));
    struct fe_expr *rows = rw_column(o->w, all, base + o->at[i].rows);
    struct fe_expr *over = ro_op(o, FE_MOD, ro_integer, position(o, q, rows), ro_number(o, ro_integer, q.den));
    struct fe_expr *at_row = ro_op(o, FE_EQ, ro_truth, over, ro_number(o, ro_integer, 0));
    return ro_when(o, at_row, ro_cast(o, lo, a->type), interpolated(o, lo, hi, over, q.den, a->type));
}
