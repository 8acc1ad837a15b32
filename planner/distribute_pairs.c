/* Pairs of rows that are spread over W workers: blocks of the input, of which each worker takes pairs of blocks (N. Pitaksiranan,
 * Z. Nouri and Y.-C. Tu, "Algorithms and Framework for Computing 2-body Statistics on GPUs", on large input and several GPUs), in a
 * ring (R. Rui, "Relational Joins on GPUs for In-Memory Database Query Processing", 2020, section 5.2.1).
 *
 * Rows are dealt to blocks of one size, whatever their values are and whoever has them, and all blocks go to every worker: of what
 * is visited as often as there are pairs, sending is the smallest part (docs/scale.md). Worker w pairs the rows of its own block
 * with each other, and with those of the blocks at distance 1 .. (W - 1) / 2 behind it in the ring. If W is even, two workers are
 * opposite each other: then each block has a first and a second half (numbers w and w + W), and of a pair of opposite workers the
 * one in front takes all of its rows with the first half of the other's, the one behind the second half of its rows with all of the
 * other's. So each pair of rows is visited once, and each worker visits the W-th part of them, up to the rows by which blocks
 * differ. */
#include "planner/distribute_pairs.h"

#include "frontend/json_make.h"

struct ring {
    struct dist *d;
    const struct cJSON *op;
    const struct fe_node *node;
    const struct cJSON *scan; /* of all blocks */
    const char *block; /* the column that has a row's number */
    int workers;
    bool halves;
};

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static struct cJSON *number(struct ring *r, int i)
{
    return fe_make_text(r->d->a, hd_asprintf(r->d->a, "%d", i));
}

static struct cJSON *apply(struct ring *r, const char *op, struct cJSON *x, struct cJSON *y)
{
    return dist_apply(r->d->a, op, x, y);
}

static struct cJSON *block_of(struct ring *r)
{
    return dist_col(r->d->a, r->block);
}

static struct cJSON *worker(struct ring *r)
{
    r->d->numbers_workers = true;
    return dist_name(r->d->a, "param", r->d->param_prefix);
}

/* The row is in the worker's own block. */
static struct cJSON *is_own(struct ring *r)
{
    return apply(r, "=", apply(r, "%", block_of(r), number(r, r->workers)), worker(r));
}

/* How far the worker that has a row is behind this one. */
static struct cJSON *distance(struct ring *r)
{
    struct cJSON *behind = apply(r, "+", apply(r, "-", block_of(r), worker(r)), number(r, r->workers));
    return apply(r, "%", behind, number(r, r->workers));
}

static struct cJSON *is_behind(struct ring *r, int from, int to)
{
    if (from == to)
        return apply(r, "=", distance(r), number(r, from));
    return apply(r, "and", apply(r, ">=", distance(r), number(r, from)), apply(r, "<=", distance(r), number(r, to)));
}

static struct cJSON *is_first_half(struct ring *r)
{
    return apply(r, "<", block_of(r), number(r, r->workers));
}

/* The worker is in front of the opposite one. */
static struct cJSON *is_front(struct ring *r)
{
    return apply(r, "<", worker(r), number(r, r->workers / 2));
}

static struct cJSON *own_half(struct ring *r)
{
    struct cJSON *second = apply(r, "not", is_first_half(r), NULL);
    return apply(r, "and", is_own(r), apply(r, "or", is_front(r), second));
}

static struct cJSON *opposite_half(struct ring *r)
{
    struct cJSON *behind = apply(r, "not", is_front(r), NULL);
    return apply(r, "and", is_behind(r, r->workers / 2, r->workers / 2), apply(r, "or", behind, is_first_half(r)));
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static struct cJSON *rows_where(struct ring *r, struct cJSON *condition)
{
    struct cJSON *scan = fe_copy_json(r->d->a, r->scan);
    fe_put(scan, "filter", condition);
    return scan;
}

static struct cJSON *with_alias(struct ring *r, struct cJSON *scan, int side)
{
    fe_put(scan, "alias", fe_make_string(r->d->a, r->node->u.pairs.aliases[side]));
    return scan;
}

/* The own block's pairs. */
static struct cJSON *of_block(struct ring *r)
{
    return dist_over(r->d->a, r->op, "input", rows_where(r, is_own(r)), NULL);
}

/* Own rows with those of other blocks. How they are joined each worker's planner chooses, as for any condition. */
static struct cJSON *of_blocks(struct ring *r, struct cJSON *own, struct cJSON *others)
{
    struct cJSON *v = dist_name(r->d->a, "op", "join");
    fe_put(v, "kind", fe_make_string(r->d->a, "inner"));
    fe_put(v, "left", with_alias(r, rows_where(r, own), 0));
    fe_put(v, "right", with_alias(r, rows_where(r, others), 1));
    if (fe_member(r->op, "pred"))
        fe_put(v, "residual", fe_copy_json(r->d->a, fe_member(r->op, "pred")));
    return v;
}

static struct cJSON *ring_op(struct ring *r)
{
    struct cJSON *inputs = fe_make_list(r->d->a), *v = dist_name(r->d->a, "op", "union_all");
    int behind = (r->workers - 1) / 2;
    fe_push(inputs, of_block(r));
    if (behind > 0)
        fe_push(inputs, of_blocks(r, is_own(r), is_behind(r, 1, behind)));
    if (r->halves)
        fe_push(inputs, of_blocks(r, own_half(r), opposite_half(r)));
    fe_put(v, "inputs", inputs);
    return v;
}

static struct dist_rel on_one(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in)
{
    in = dist_whole(d, in);
    dist_work(d, &in, dist_rows(d, n));
    dist_state(d, &in, in.node);
    return (struct dist_rel){.op = dist_over(d->a, op, "input", in.op, NULL), .node = n, .state_bytes = in.state_bytes};
}

/* One worker has as much to do as there are pairs, so they are spread wherever there are several workers: whether these gain is
 * chosen beside (planner/choice.c). Passes follow each other: there one is enough as long as the rows fit. */
struct dist_rel dist_pairs(struct dist *d, const struct cJSON *op, const struct fe_node *n, struct dist_rel in)
{
    if (d->workers == 1 || (dist_in_passes(d) && !dist_exceeds(d, in.node)))
        return on_one(d, op, n, in);
    struct ring r = {.d = d, .op = op, .node = n, .workers = d->workers, .halves = d->workers % 2 == 0};
    r.scan = dist_deal(d, in, d->workers * (r.halves ? 2 : 1), &r.block);
    struct dist_rel out = {.op = ring_op(&r), .node = n, .split = true, .by = HD_NEWN(d->a, bool, n->ncols + 1)};
    dist_work(d, &out, dist_rows(d, n));
    dist_state(d, &out, in.node);
    return out;
}
