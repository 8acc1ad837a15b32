#include "planner/distribute_fragment.h"

#include <stdarg.h>
#include <string.h>

#include "frontend/json_make.h"
#include "planner/cost.h"

/* Costs in rows that a worker goes through. */
struct rates {
    double ns;       /* of a row */
    double fragment; /* one more */
    double piece;    /* what a worker sends to one other of a shuffle, beside its rows */
    double bytes;    /* so many cost a row more, on their way to somebody else */
    double loop;     /* of a loop over pairs a nanosecond of a CPU */
    double tested;   /* to find out whether a row is a worker's */
};
/* Machines: a fragment takes 2 ms, 1.6 GB/s go from one to another. */
static const struct rates machines = {10, 200e3, 10e3, 16, 0.1, 0.3};
/* GPUs of one host: a fragment takes 0.2 ms, 500 G pairs take 0.19 s (docs/performance.md), and 40 GB/s go from one to another where
 * nobody knows their link. A row is tested in 5 ps: a key of 4 bytes is read. */
static const struct rates gpus = {0.1, 2e6, 100e3, 4, 0.004, 0.05};
/* Passes: a row (and each 16 bytes) that goes to the host's memory and back, at some 4 GB/s, beside one that is gone through in the
 * GPU's memory. What comes over the link again is priced by itself (distribute_part.c). */
static const double BY_HOST = 32;

/* ---- operators --------------------------------------------------------------------------------------------------- */

struct cJSON *dist_name(struct hd_arena *a, const char *key, const char *name)
{
    struct cJSON *v = fe_make_object(a);
    fe_put(v, key, fe_make_string(a, name));
    return v;
}

struct cJSON *dist_col(struct hd_arena *a, const char *column)
{
    return dist_name(a, "col", column);
}

struct cJSON *dist_apply(struct hd_arena *a, const char *op, struct cJSON *x, struct cJSON *y)
{
    struct cJSON *v = dist_name(a, "op", op), *args = fe_make_list(a);
    fe_push(args, x);
    if (y)
        fe_push(args, y);
    fe_put(v, "args", args);
    return v;
}

struct cJSON *dist_cast(struct hd_arena *a, struct cJSON *x, struct hd_type t)
{
    char type[HD_TEXT_MAX];
    struct cJSON *v = dist_apply(a, "cast", x, NULL);
    fe_put(v, "type", fe_make_string(a, hd_type_text(t, type)));
    return v;
}

struct cJSON *dist_as(struct hd_arena *a, struct cJSON *expr, const char *name)
{
    struct cJSON *v = fe_make_object(a);
    fe_put(v, "expr", expr);
    fe_put(v, "as", fe_make_string(a, name));
    return v;
}

struct cJSON *dist_new_op(struct hd_arena *a, const char *op, struct cJSON *input)
{
    struct cJSON *v = dist_name(a, "op", op);
    fe_put(v, "input", input);
    return v;
}

struct cJSON *dist_over(struct hd_arena *a, const struct cJSON *op, const char *member, struct cJSON *input, ...)
{
    struct cJSON *v = fe_make_object(a);
    for (const struct cJSON *m = fe_first_json(op); m; m = fe_next_json(m)) {
        bool left_out = strcmp(fe_key_of(m), member) == 0;
        va_list without;
        va_start(without, input);
        for (const char *key; (key = va_arg(without, const char *));)
            left_out |= strcmp(fe_key_of(m), key) == 0;
        va_end(without);
        if (!left_out)
            fe_put(v, fe_key_of(m), fe_copy_json(a, m));
    }
    fe_put(v, member, input);
    return v;
}

struct dist_rel dist_result(struct dist *d, const struct cJSON *op, const struct fe_node *n, const struct dist_rel *in,
                            bool *by)
{
    return (struct dist_rel){.op = dist_over(d->a, op, "input", in->op, NULL),
                             .node = n,
                             .split = in->split,
                             .by = by,
                             .way = in->way,
                             .state_bytes = in->state_bytes};
}

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

void dist_work(struct dist *d, const struct dist_rel *rel, double rows)
{
    d->cost += rel->split ? rows / d->workers : rows;
}

static double width_of(struct hd_type t)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: return 1;
    case HD_INT32:
    case HD_FLOAT32:
    case HD_DATE: return 4;
    case HD_INT64:
    case HD_FLOAT64:
    case HD_TIMESTAMP:
    case HD_TIME: return 8;
    case HD_DECIMAL:
    case HD_INTERVAL: return 16;
    case HD_STRING:
    case HD_BINARY: return 24;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", (int)t.kind);
}

/* Bytes of a row of the columns that somebody reads; a first one if nobody does, so that rows can be counted. */
static double row_bytes(const struct dist *d, const struct fe_node *n)
{
    double bytes = 0;
    for (int i = 0; i < n->ncols; i++)
        if (d->need[n->id][i])
            bytes += width_of(n->cols[i].type);
    return HD_MAX(bytes, 1);
}

static bool reads_all(const struct dist *d, const struct fe_node *n)
{
    for (int i = 0; i < n->ncols; i++)
        if (!d->need[n->id][i])
            return false;
    return true;
}

static void push_needed(struct dist *d, const struct fe_node *n, struct cJSON *list)
{
    for (int i = 0; i < n->ncols; i++)
        if (d->need[n->id][i])
            fe_push(list, fe_make_string(d->a, n->cols[i].name));
}

/* The columns that somebody reads; of none, a constant. */
static struct cJSON *needed(struct dist *d, struct dist_rel rel)
{
    struct cJSON *exprs = fe_make_list(d->a), *op;
    const struct fe_node *n = rel.node;
    if (reads_all(d, n))
        return rel.op;
    push_needed(d, n, exprs);
    if (!fe_first_json(exprs))
        fe_push(exprs, dist_as(d->a, fe_make_string(d->a, "true"), n->cols[0].name));
    op = dist_new_op(d->a, "project", rel.op);
    fe_put(op, "exprs", exprs);
    return op;
}

double dist_bytes(const struct dist *d, const struct fe_node *n)
{
    return dist_rows(d, n) * row_bytes(d, n);
}

/* Rows are stored, and moved once when they are finished; slots beside them. */
static double state_bytes(const struct dist *d, const struct fe_node *n)
{
    return 2 * (dist_bytes(d, n) + 8 * dist_rows(d, n));
}

void dist_state(struct dist *d, struct dist_rel *rel, const struct fe_node *n)
{
    rel->state_bytes = HD_MAX(rel->state_bytes, state_bytes(d, n) / (rel->split ? d->workers : 1));
    d->state_bytes = HD_MAX(d->state_bytes, rel->state_bytes);
}

/* Groups stay where they are. How many several keys make is bounded by the product of their values, and mostly far less: too
 * few passes fail in the first one, too many all scan. */
void dist_groups(struct dist *d, struct dist_rel *rel, const struct fe_node *n)
{
    const double of_bound = n->u.agg.nkeys > 1 ? 0.25 : 1;
    double bytes = of_bound * state_bytes(d, n) / 2;
    rel->state_bytes = HD_MAX(rel->state_bytes, bytes / (rel->split ? d->workers : 1));
    d->state_bytes = HD_MAX(d->state_bytes, rel->state_bytes);
}

bool dist_in_passes(const struct dist *d)
{
    return d->memory > 0 && d->workers > 1;
}

bool dist_exceeds(const struct dist *d, const struct fe_node *n)
{
    return d->memory > 0 && state_bytes(d, n) > d->memory;
}

static struct rates rates_of(const struct dist *d)
{
    struct rates r = d->gpus ? gpus : machines;
    if (d->gpus && d->link > 0)
        r.bytes = d->link * r.ns / 1e9;
    return r;
}

double dist_tested(const struct dist *d)
{
    return rates_of(d).tested;
}

double dist_row_ns(const struct dist *d)
{
    return rates_of(d).ns;
}

/* To who reads all of them. */
static double sent(const struct rates *r, double rows, double bytes)
{
    return rows + bytes / r->bytes;
}

double dist_sending(const struct dist *d, const struct fe_node *n)
{
    const struct rates r = rates_of(d);
    return r.fragment + sent(&r, dist_rows(d, n), dist_bytes(d, n));
}

/* Ends a fragment whose rows are those of rel.op. A scan of them. */
static struct cJSON *end_fragment(struct dist *d, struct dist_rel rel, struct dist_fragment f)
{
    f.table = hd_asprintf(d->a, "%s%d", d->table_prefix, d->fragments.n);
    f.root = rel.op;
    f.node = rel.node;
    f.every = rel.split;
    f.bytes = f.rows * row_bytes(d, rel.node);
    f.state_bytes = HD_MAX(rel.state_bytes, f.bytes / (f.every ? d->workers : 1));
    d->state_bytes = HD_MAX(d->state_bytes, f.state_bytes);
    hd_vec_push(d->a, &d->fragments, f);
    const struct rates r = rates_of(d);
    double all = sent(&r, f.rows, f.bytes), shuffled = all / d->workers + r.piece * d->workers;
    if (dist_in_passes(d))
        d->cost += r.fragment + BY_HOST * all / d->workers;
    else
        d->cost += r.fragment + (f.kept ? f.rows / d->workers : f.shuffle ? shuffled : all);
    struct cJSON *scan = dist_name(d->a, "op", "scan");
    fe_put(scan, "table", fe_make_string(d->a, f.table));
    return scan;
}

struct dist_rel dist_cut(struct dist *d, struct dist_rel rel, enum dist_cut how, double rows)
{
    bool kept = how == DIST_KEEP && rel.split;
    rel.op = needed(d, rel);
    if (how == DIST_GATHER_SET)
        rel.op = dist_new_op(d->a, "distinct", rel.op);
    struct dist_rel out = {.node = rel.node, .plain = true, .split = kept, .by = kept ? rel.by : NULL, .way = rel.way};
    out.op = end_fragment(d, rel, (struct dist_fragment){.kept = kept, .rows = rows});
    return out;
}

struct dist_rel dist_cut_own(struct dist *d, struct dist_rel rel, struct pl_scheme *own)
{
    rel.split = true;
    rel.op = needed(d, rel);
    struct cJSON *scan = end_fragment(d, rel, (struct dist_fragment){.rows = dist_rows(d, rel.node), .own = own});
    return (struct dist_rel){.op = scan, .node = rel.node, .plain = true};
}

struct dist_rel dist_cut_all(struct dist *d, struct dist_rel rel, double rows)
{
    struct cJSON *scan = end_fragment(d, rel, (struct dist_fragment){.rows = rows});
    return (struct dist_rel){.op = scan, .node = rel.node, .plain = true};
}

/* A name that no column has. */
static const char *free_name(struct dist *d, const struct fe_node *n, const char *wanted)
{
    char *name = hd_strdup(d->a, wanted);
    for (int i = 0; i < n->ncols; i++)
        if (strcmp(n->cols[i].name, name) == 0) {
            name = hd_asprintf(d->a, "%s_", name);
            i = -1;
        }
    return name;
}

/* rel.op's rows, which have the columns that say where they go. */
static struct dist_rel spread_anew(struct dist *d, struct dist_rel rel, int n, const int *columns, double rows)
{
    const struct fe_column *cols = rel.node->cols;
    const char **names = HD_NEWN(d->a, const char *, n), *to = free_name(d, rel.node, "#worker");
    struct cJSON *exprs = fe_make_list(d->a);
    for (int i = 0; i < n; i++)
        names[i] = cols[columns[i]].name;
    fe_push(exprs, dist_as(d->a, pl_hashed_worker(d->a, names, n, d->workers), to));
    rel.op = dist_new_op(d->a, "project", rel.op);
    fe_put(rel.op, "keep", fe_make_bool(d->a, true));
    fe_put(rel.op, "exprs", exprs);
    struct dist_rel out = {.node = rel.node, .plain = true, .split = true};
    out.op = end_fragment(d, rel, (struct dist_fragment){.rows = rows, .shuffle = to});
    out.by = HD_NEWN(d->a, bool, rel.node->ncols + 1);
    out.by[columns[0]] = n == 1;
    return out;
}

struct dist_rel dist_shuffle(struct dist *d, struct dist_rel rel, int n, const int *columns, int way)
{
    const struct fe_node *node = rel.node;
    struct cJSON *read = fe_make_list(d->a);
    rel.op = needed(d, rel);
    struct dist_rel out = spread_anew(d, rel, n, columns, dist_rows(d, node));
    push_needed(d, node, read);
    fe_put(out.op, "columns", read);
    out.way = way;
    return out;
}

/* The columns that a fragment has of n: needed() leaves one of none. */
static struct cJSON *columns_left(struct dist *d, const struct fe_node *n)
{
    struct cJSON *list = fe_make_list(d->a);
    push_needed(d, n, list);
    if (!fe_first_json(list))
        fe_push(list, fe_make_string(d->a, n->cols[0].name));
    return list;
}

/* rel.op's rows of the columns that somebody reads, with the number of a block, in turns of n, in one more. */
static struct dist_rel dealt(struct dist *d, struct dist_rel rel, int n, const char *block)
{
    const char *row = free_name(d, rel.node, "#row");
    struct cJSON *functions = fe_make_list(d->a), *number = dist_name(d->a, "fn", "row_number"), *exprs;
    fe_put(number, "as", fe_make_string(d->a, row));
    fe_push(functions, number);
    rel.op = dist_new_op(d->a, "window", needed(d, rel));
    fe_put(rel.op, "functions", functions);
    struct cJSON *turn = dist_apply(d->a, "%", dist_col(d->a, row), fe_make_text(d->a, hd_asprintf(d->a, "%d", n)));
    exprs = columns_left(d, rel.node);
    fe_push(exprs, dist_as(d->a, dist_cast(d->a, turn, hd_type_of(HD_INT32)), block));
    rel.op = dist_new_op(d->a, "project", rel.op);
    fe_put(rel.op, "exprs", exprs);
    dist_work(d, &rel, dist_rows(d, rel.node));
    dist_state(d, &rel, rel.node);
    return rel;
}

struct cJSON *dist_deal(struct dist *d, struct dist_rel rel, int n, const char **block)
{
    *block = free_name(d, rel.node, "#block");
    struct dist_rel blocks = dealt(d, rel, n, *block);
    struct cJSON *scan = end_fragment(d, blocks, (struct dist_fragment){.rows = dist_rows(d, rel.node)});
    fe_put(scan, "columns", columns_left(d, rel.node));
    return scan;
}

struct dist_rel dist_shuffle_in_turns(struct dist *d, struct dist_rel rel)
{
    const char *to = free_name(d, rel.node, "#worker");
    struct dist_rel out = {.node = rel.node, .plain = true, .split = true, .way = ++d->ways}, blocks;
    blocks = dealt(d, rel, d->workers, to);
    out.op = end_fragment(d, blocks, (struct dist_fragment){.rows = dist_rows(d, rel.node), .shuffle = to});
    out.by = HD_NEWN(d->a, bool, rel.node->ncols + 1);
    fe_put(out.op, "columns", columns_left(d, rel.node));
    return out;
}

bool dist_gains_by_turns(const struct dist *d, const struct fe_node *l, const struct fe_node *r)
{
    const struct rates of = rates_of(d);
    double pairs = pl_cost_loop(dist_rows(d, l) * dist_rows(d, r), 1) * of.loop;
    double both = sent(&of, dist_rows(d, l) + dist_rows(d, r), dist_bytes(d, l) + dist_bytes(d, r));
    return pairs - pairs / d->workers > 3 * of.fragment + both;
}

struct dist_rel dist_shuffle_all(struct dist *d, struct dist_rel rel, int n, const int *columns, double rows)
{
    struct dist_rel out = spread_anew(d, rel, n, columns, rows);
    out.way = ++d->ways;
    return out;
}

struct dist_rel dist_whole(struct dist *d, struct dist_rel rel)
{
    return rel.split ? dist_cut(d, rel, DIST_GATHER, dist_rows(d, rel.node)) : rel;
}

struct dist_rel dist_everywhere(struct dist *d, struct dist_rel rel)
{
    HD_ASSERT(!rel.split);
    return rel.plain ? rel : dist_cut(d, rel, DIST_GATHER, dist_rows(d, rel.node));
}
