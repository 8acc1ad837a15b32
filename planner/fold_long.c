/* Long parents: those of a fold that have more children than a lane or thread should go through, which facts list. A
 * pipeline of its own reads their rows as constants, goes through their children in pieces, a level that is shared like any
 * other, and adds the pieces up in dense groups, one for each. In the fold's pipeline such a parent goes through no
 * children, and has the values of its group. So one heavy key does not lead to a state of all groups. */
#include "planner/fold_long.h"

#include "planner/build.h"
#include "planner/cut.h"
#include "planner/estimate.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/schedule.h"

bool fold_has_long(const struct fe_foreign_key *fk)
{
    return fk->max_children > PL_FOLD_CHILDREN;
}

double fold_long_children(const struct fe_foreign_key *fk)
{
    double n = 0;
    for (int i = 0; i < fk->nlong; i++)
        n += (double)fk->longs[i].children;
    return n;
}

/* ---- whether their children can be added up without the rows that lead to them ------------------------------- */

static bool is_of_rows(struct handle *h, const struct handle *child, const struct handle *parent);

static bool reads_rows(const struct fe_expr *e, struct handle *const *env, const struct handle *child,
                       const struct handle *parent)
{
    bool can = e->op != FE_COL || is_of_rows(env[e->col], child, parent);
    for (int i = 0; i < e->nargs && can; i++)
        can = reads_rows(e->args[i], env, child, parent);
    return can;
}

/* A column of one of the rows, or computed of such without a failure, which nobody may see that drops the parent. */
static bool is_of_rows(struct handle *h, const struct handle *child, const struct handle *parent)
{
    if (h->kind == H_COLUMN)
        return h->row == child || h->row == parent;
    return h->kind == H_EXPR && !lx_may_fail(h->expr) && reads_rows(h->expr, h->env, child, parent);
}

const char *fold_no_long(const struct stage *g, const struct handle *child, const struct handle *parent)
{
    for (int i = 0; i < g->naggs; i++)
        if (g->aggs[i].arg && !is_of_rows(g->aggs[i].arg, child, parent))
            return "a parent has many children, whose values are not theirs alone, or may fail";
    return NULL;
}

/* ---- in the fold's pipeline ------------------------------------------------------------------------------------ */

static int compare(struct ctx *c, enum fe_op op, int a, hd_i128 b)
{
    int args[2] = {a, pb_const_int(c, RT_I32, b)};
    return pb_op(c, op, RT_BOOL, false, 2, args);
}

static int let(struct ctx *c, struct open_pipeline *p, const char *name, int n, const int *cases)
{
    struct pl_val v = {.phys = RT_I32, .expr = pb_op(c, FE_CASE, RT_I32, false, n, cases)};
    return pb_let(c, p, name, v);
}

struct fold_short fold_short(struct ctx *c, struct open_pipeline *p, const struct fe_foreign_key *fk, int row)
{
    struct fold_short s;
    int *cases = HD_NEWN(c->a, int, 2 * fk->nlong + 1), n = 0;
    for (int i = 0; i < fk->nlong; i++) {
        cases[n++] = compare(c, FE_EQ, pb_slot_expr(c, p, row), fk->longs[i].row);
        cases[n++] = pb_const_int(c, RT_I32, i);
    }
    cases[n++] = pb_const_int(c, RT_I32, -1);
    s.number = let(c, p, "long parent", n, cases);
    int shorts[3] = {compare(c, FE_LT, pb_slot_expr(c, p, s.number), 0), pb_slot_expr(c, p, row),
                     pb_const_int(c, RT_I32, -1)};
    s.row = let(c, p, "short parent", 3, shorts);
    return s;
}

/* ---- copies of steps --------------------------------------------------------------------------------------------- */

struct copy {
    struct ctx *c;
    struct open_pipeline *from, *to;
    int *slot; /* of `to`, by slot of `from`; -1: none yet */
};

static int copy_slot(struct copy *k, int slot);

static int copy_expr(struct copy *k, int expr)
{
    struct pl_expr e = k->c->exprs.v[expr];
    if (e.op == FE_COL)
        return pb_slot_expr(k->c, k->to, copy_slot(k, e.slot));
    int *args = HD_NEWN(k->c->a, int, e.nargs + 1);
    for (int i = 0; i < e.nargs; i++)
        args[i] = copy_expr(k, e.args[i]);
    e.args = args;
    return pb_expr(k->c, e);
}

static void copy_step(struct copy *k, int number)
{
    struct pl_step s = k->from->steps.v[number];
    int set = s.slot;
    if (s.row_slot >= 0)
        s.row_slot = copy_slot(k, s.row_slot);
    if (s.expr >= 0)
        s.expr = copy_expr(k, s.expr);
    s.level = k->to->level;
    s.est = k->to->est;
    if (set >= 0) {
        const struct pl_slot *of = &k->from->slots.v[set];
        s.slot = k->slot[set] = pb_slot(k->c, k->to, of->name, of->phys, of->nullable);
    }
    hd_vec_push(k->c->a, &k->to->steps, s);
}

/* What is loaded or computed of the parent's row before the fold is so here as well. */
static int copy_slot(struct copy *k, int slot)
{
    for (int i = 0; k->slot[slot] < 0; i++) {
        HD_ASSERT(i < k->from->fold.step);
        if (k->from->steps.v[i].slot == slot)
            copy_step(k, i);
    }
    return k->slot[slot];
}

/* Of the steps in the fold what they read from outside of it. */
static void copy_outside(struct copy *k, int first, int end)
{
    int n = k->from->slots.n;
    bool *read = HD_NEWN(k->c->a, bool, n), *set = HD_NEWN(k->c->a, bool, n);
    for (int i = first; i < end; i++) {
        const struct pl_step *s = &k->from->steps.v[i];
        pl_step_reads(k->c->exprs.v, s, read);
        if (s->slot >= 0)
            set[s->slot] = true;
    }
    set[k->from->steps.v[first - 1].slot] = true; /* the child's row */
    for (int i = 0; i < n; i++)
        if (read[i] && !set[i])
            copy_slot(k, i);
}

/* ---- the pipeline of their children ---------------------------------------------------------------------------- */

/* Children of a piece, and how far apart they are: lanes of a warp have neighbours, and soon look whether others wait. */
enum { PIECE = 16, STRIDE = HDD_WARP_LANES };

static int64_t pieces_of(int64_t children)
{
    int64_t block = PIECE * STRIDE;
    return (children + block - 1) / block * STRIDE;
}

/* The rows of long parents, and how many pieces their children come in. */
static int long_rows(struct ctx *c, const struct fe_foreign_key *fk, const char *path)
{
    struct pl_val row = {.phys = RT_I32, .type = hd_type_of(HD_INT32)},
                  n = {.phys = RT_I64, .type = hd_type_of(HD_INT64)};
    int st = pb_state(c, RT_STATE_ROWS, "long", path);
    pb_field(c, st, "row", &row, RT_MERGE_KEY);
    pb_field(c, st, "pieces", &n, RT_MERGE_KEY);
    pb_state_layout(c, st);
    struct rt_state *s = &c->states.v[st];
    unsigned char *data = hd_zalloc(c->a, (size_t)s->stride * (size_t)fk->nlong);
    for (int i = 0; i < fk->nlong; i++) {
        unsigned char *at = data + i * s->stride;
        *(int32_t *)(void *)(at + s->fields[0].offset) = (int32_t)fk->longs[i].row;
        *(int64_t *)(void *)(at + s->fields[1].offset) = pieces_of(fk->longs[i].children);
    }
    s->nvalues = fk->nlong;
    s->values = data;
    s->est_rows = c->state_rows.v[st] = (double)fk->nlong;
    pb_finish(c, st);
    return st;
}

static int load(struct ctx *c, struct open_pipeline *q, int field, struct handle *row, struct pl_val *v)
{
    return h_value(c, q, h_field(c, q->spec.state, field, row), v);
}

static void expand_pieces(struct ctx *c, struct open_pipeline *q, int pieces, double n, const char *path)
{
    int slot = pb_slot(c, q, "piece", RT_I32, false);
    struct pl_step *s = pb_step(c, q, PL_STEP_EXPAND_COUNT, path);
    s->expr = pieces;
    s->slot = slot;
    s->splittable = true;
    struct stream of = {.pipeline = c->pipelines.n - 1};
    cut_open_level(c, &of, NULL);
    q->est = n;
}

static void fold_pieces(struct copy *k, int row)
{
    struct ctx *c = k->c;
    struct pl_step of = k->from->steps.v[k->from->fold.step];
    struct pl_val number = {.phys = RT_I32};
    number.expr = pb_slot_expr(c, k->to, k->to->steps.v[k->to->steps.n - 1].slot);
    lx_as_phys(c, &number, RT_I64);
    int slot = k->slot[of.slot] = pb_slot(c, k->to, k->from->slots.v[of.slot].name, RT_I32, false);
    struct pl_step *s = pb_step(c, k->to, PL_STEP_FOLD_PIECE, of.path);
    s->table = of.table;
    s->index = of.index;
    s->a_offsets = of.a_offsets;
    s->slot = slot;
    s->row_slot = row;
    s->expr = number.expr;
    s->piece = PIECE;
    s->stride = STRIDE;
}

static enum rt_merge merge_of(enum fe_agg_fn fn)
{
    return fn == FE_AGG_MIN       ? RT_MERGE_MIN
           : fn == FE_AGG_MAX     ? RT_MERGE_MAX
           : fn == FE_AGG_BIT_OR  ? RT_MERGE_OR
           : fn == FE_AGG_BIT_XOR ? RT_MERGE_XOR
                                  : RT_MERGE_SUM;
}

/* Groups by the number of the long parent, which is that of its row. */
static int sink_of_pieces(struct copy *k, const struct fold_sum *sums, int n, int groups, const char *path)
{
    struct ctx *c = k->c;
    struct open_pipeline *q = k->to;
    int st = pb_state(c, RT_STATE_AGG_DENSE, "long", path);
    struct pl_val at = {.phys = RT_I32, .expr = pb_slot_expr(c, q, q->source_slot)};
    lx_as_phys(c, &at, RT_I64);
    q->sink.kind = PL_SINK_AGG_DENSE;
    q->sink.state = st;
    q->sink.index = at.expr;
    q->sink.group_rows = q->est;
    for (int i = 0; i < n; i++) {
        enum fe_agg_fn fn = sums[i].fn == FE_AGG_COUNT ? FE_AGG_SUM : sums[i].fn;
        int f = pb_field(c, st, fe_agg_name(sums[i].fn), &sums[i].v, merge_of(fn));
        sink_add(c, &q->sink, (struct pl_out){.field = f, .expr = copy_expr(k, sums[i].v.expr), .fn = fn});
    }
    pb_state_layout(c, st);
    c->states.v[st].range = (uint64_t)groups;
    c->states.v[st].est_rows = groups;
    pb_end(c, q, true);
    return st;
}

static int add_up(struct ctx *c, struct open_pipeline *p, const struct fold_sum *sums, int n, int there,
                  const char *path, int *state)
{
    const struct pl_step *fold = &p->steps.v[p->fold.step];
    const struct fe_foreign_key *fk = &fold->table->fks[fold->index];
    int rows = long_rows(c, fk, path), first = p->fold.step + 1, end = first;
    struct open_pipeline *q = pb_pipeline(c, RT_SOURCE_ROWS, path);
    struct copy k = {c, p, q, HD_NEWN(c->a, int, p->slots.n)};
    struct handle *at = h_row(c, q->source_slot, NULL, rows, false);
    struct pl_val row, pieces;
    q->spec.state = rows;
    q->est = fk->nlong;
    HD_TRY(load(c, q, 0, at, &row));
    HD_TRY(load(c, q, 1, at, &pieces));
    memset(k.slot, -1, sizeof *k.slot * (size_t)p->slots.n);
    int slot = k.slot[p->fold.parent_slot] = c->exprs.v[row.expr].slot;
    while (p->steps.v[end].kind != PL_STEP_FOLD_END)
        end++;
    copy_outside(&k, first, end);
    expand_pieces(c, q, pieces.expr, fold_long_children(fk) / PIECE, path);
    fold_pieces(&k, slot);
    for (int i = first; i <= end; i++)
        copy_step(&k, i);
    if (there >= 0) {
        int args[2] = {copy_expr(&k, sums[there].v.expr), pb_const_int(c, sums[there].v.phys, 0)};
        pb_filter(c, q, pb_op(c, FE_GT, RT_BOOL, false, 2, args), 1, path);
    }
    *state = sink_of_pieces(&k, sums, n, fk->nlong, path);
    return 0;
}

/* What a long parent's group has, else what the fold added up. */
static int take_either(struct ctx *c, struct open_pipeline *p, struct pl_val *v, int state, int field,
                       struct handle *number)
{
    struct pl_val of;
    HD_TRY(h_value(c, p, h_field(c, state, field, number), &of));
    int args[2] = {of.expr, v->expr};
    v->expr = pb_op(c, FE_COALESCE, v->phys, v->nullable, 2, args);
    v->expr = pb_slot_expr(c, p, pb_let(c, p, "either", *v));
    return 0;
}

int fold_long(struct ctx *c, struct open_pipeline *p, struct fold_sum *sums, int n, int there, const char *path)
{
    int state;
    HD_TRY(add_up(c, p, sums, n, there, path, &state));
    struct handle *number = h_row(c, p->fold.number, NULL, state, true);
    for (int i = 0; i < n; i++)
        HD_TRY(take_either(c, p, &sums[i].v, state, i, number));
    return 0;
}
