/* Sort, limit, top-k, and the result of the program. Rows are kept by value: ties are broken by
 * all output columns, so every one is looked at. */
#include "planner/lower_sort.h"

#include "planner/build.h"
#include "planner/cost.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/physical.h"
#include "planner/schedule.h"
#include "planner/store.h"

/* Of the rows of a sort with a limit, those that get so far: estimated. */
static const double BOUND_SHARE = 0.1;

/* Adds the columns (and further sort keys) of s as fields of a ROWS state; field[i] of column i. */
static int store_values(struct ctx *c, struct stream *s, int state, int *field)
{
    struct open_pipeline *p = pipeline_of(c, s);
    struct kept k;
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = state;
    keep_chosen(c, s->cols, s->ncols, NULL, &k);
    HD_TRY(keep_store(c, p, &k, state, RT_MERGE_KEY, FE_AGG_ANY, &p->sink));
    for (int i = 0; i < s->ncols; i++)
        field[i] = k.first + k.via[i];
    return 0;
}

int lower_sort_key(struct ctx *c, struct stream *s, const struct fe_sort_key *key, int state, const int *field)
{
    struct open_pipeline *p = pipeline_of(c, s);
    struct pl_val v;
    if (key->expr->op == FE_COL)
        return field[key->expr->col];
    if (lx_expr(c, p, s->cols, key->expr, &v) != 0)
        return -1;
    lx_realise(c, &v);
    int f = pb_field(c, state, "sort key", &v, RT_MERGE_KEY);
    sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
    return f;
}

/* key: the columns, as keep_runs takes them. */
static int sort_keys(struct ctx *c, const struct fe_node *n, struct stream *s, int state, const int *field,
                     struct handle **key)
{
    struct rt_sort_key *keys = HD_NEWN(c->a, struct rt_sort_key, n->u.sort.nkeys + n->ncols + 1);
    bool *used = HD_NEWN(c->a, bool, n->u.sort.nkeys + n->ncols + 1);
    int nk = 0;
    for (int i = 0; i < n->u.sort.nkeys; i++) {
        const struct fe_sort_key *k = &n->u.sort.keys[i];
        int f = lower_sort_key(c, s, k, state, field);
        if (f < 0)
            return -1;
        used[f] = true;
        key[nk] = k->expr->op == FE_COL ? s->cols[k->expr->col] : NULL;
        keys[nk++] = (struct rt_sort_key){f, k->desc, k->nulls_first};
    }
    for (int i = 0; i < n->ncols; i++) /* ties: remaining output columns, ascending, nulls last */
        if (!used[field[i]]) {
            used[field[i]] = true;
            key[nk] = s->cols[i];
            keys[nk++] = (struct rt_sort_key){field[i], false, false};
        }
    c->states.v[state].sort = keys;
    c->states.v[state].nsort = nk;
    return 0;
}

/* The word of a sort key, larger or smaller than all others where it is NULL, as NULLs sort. */
static int bound_word(struct ctx *c, const struct fe_sort_key *key, const struct pl_val *v)
{
    int word = v->phys == RT_I64 ? v->expr : pb_op(c, FE_ORDER_WORD, RT_I64, v->nullable, 1, &v->expr);
    if (!v->nullable)
        return word;
    int64_t last = key->nulls_first == key->desc ? INT64_MAX : INT64_MIN;
    int args[2] = {word, pb_const_int(c, RT_I64, last)};
    return pb_op(c, FE_COALESCE, RT_I64, false, 2, args);
}

/* Rows that cannot be among the first ones, by their first sort key and what has come so far, are left out before
 * anything else of them is looked at. */
static int leave_out(struct ctx *c, const struct fe_node *keys, struct stream *in, int state)
{
    const struct fe_sort_key *key = &keys->u.sort.keys[0];
    struct open_pipeline *q = pipeline_of(c, in);
    struct rt_state *st = &c->states.v[state];
    struct pl_val v;
    if (!pl_worth_bound(c->opt.on_gpu && c->opt.cached_bytes <= 0, in->est, (double)st->limit + (double)st->offset) ||
        hd_type_is_text(key->expr->type) || key->expr->type.kind == HD_BOOL)
        return 0;
    st->bounded = true;
    HD_TRY(lx_expr(c, q, in->cols, key->expr, &v));
    lx_realise(c, &v);
    int args[2] = {bound_word(c, key, &v),
                   pb_expr(c, (struct pl_expr){.op = FE_BOUND,
                                               .phys = RT_I64,
                                               .arg = pb_arg_state(c, RT_ARG_STATE_BOUND, state, 0),
                                               .slot = -1,
                                               .state = -1})};
    pb_filter(c, q, pb_op(c, key->desc ? FE_GE : FE_LE, RT_BOOL, false, 2, args), BOUND_SHARE, keys->path);
    const struct handle *h = key->expr->op == FE_COL ? h_plain(in->cols[key->expr->col]) : NULL;
    if (h && h->kind == H_COLUMN && q->spec.source == RT_SOURCE_TABLE &&
        h->table->cols[h->column].storage == FE_STORE_INT && comes_by(c, in, in->cols[key->expr->col])) {
        q->spec.front = true;
        q->spec.column = h->column;
    }
    return 0;
}

/* Ends the input of a sort or limit in a state; field of each output column. */
static int sort_state(struct ctx *c, const struct pl_node *p, struct stream *in, int *state, int *field)
{
    const struct fe_node *n = p->n, *keys = p->u.sort.keys;
    int64_t limit = fe_limit(n);
    struct open_pipeline *q = pipeline_of(c, in);
    *state = pb_state(c, RT_STATE_ROWS, keys ? "sort" : "limit", n->path);
    if (p->op != PL_NODE_TOP) {
        c->states.v[*state].limit = limit;
        c->states.v[*state].offset = fe_offset(n);
    }
    if (keys && p->op != PL_NODE_TOP && limit >= 0)
        HD_TRY(leave_out(c, keys, in, *state));
    HD_TRY(store_values(c, in, *state, field));
    struct handle **key = HD_NEWN(c->a, struct handle *, (keys ? keys->u.sort.nkeys : 0) + n->ncols + 1);
    if (keys)
        HD_TRY(sort_keys(c, keys, in, *state, field, key));
    else
        keep_order(c, in, *state);
    pb_state_layout(c, *state);
    struct rt_state *st = &c->states.v[*state];
    bool runs = keys && st->limit < 0 && !st->offset && keep_runs(c, in, key, *state) > 0;
    if (p->op == PL_NODE_TOP) {
        const struct rt_top top = {.ngroup = n->u.sort.ngroup,
                                   .nstated = n->u.sort.nstated,
                                   .limit = limit,
                                   .offset = fe_offset(n),
                                   .keep = n->u.sort.keep,
                                   .prune = !runs &&
                                            pl_worth_pruning(in->est, (double)limit + (double)fe_offset(n), p->rows)};
        st->top = hd_dup(c->a, &top, sizeof top);
        st->est_rows = p->rows;
    } else {
        st->est_rows = limit >= 0 ? HD_MIN(in->est, (double)limit) : in->est;
    }
    pb_end(c, q, true);
    return 0;
}

static struct stream over_fields(struct ctx *c, const struct fe_node *n, int state, const int *field,
                                 const struct stream *in)
{
    struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_ROWS, n->path);
    p->spec.state = state;
    p->est = c->states.v[state].est_rows;
    struct stream s = {.pipeline = c->pipelines.n - 1, .est = p->est, .max_rows = in->max_rows, .ncols = n->ncols};
    if (c->states.v[state].limit >= 0)
        s.max_rows = HD_MIN(s.max_rows, (double)fe_limit(n));
    struct handle *row = h_row(c, p->source_slot, NULL, state, false);
    s.cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++) {
        s.cols[i] = h_field(c, state, field[i], row);
        s.cols[i]->val.range = h_range(c, h_plain(in->cols[i]));
        if (hd_type_is_text(s.cols[i]->type))
            s.cols[i]->val.range.known = false;
    }
    s.unique_row = row;
    return s;
}

/* Rows come in the order of the sort, unless a cut has lost it. */
static bool is_there(struct ctx *c, const struct pl_node *p, const struct stream *in)
{
    if (!p->u.sort.there)
        return false;
    const struct open_pipeline *q = pipeline_of(c, in);
    const struct handle *h = h_plain(in->cols[p->u.sort.keys->u.sort.keys[0].expr->col]);
    return q->spec.source == RT_SOURCE_TABLE && h->kind == H_COLUMN && h->row->slot == q->source_slot && q->level == 0;
}

int lower_sort(struct ctx *c, struct pl_node *p, struct stream *in, struct stream *out)
{
    const struct fe_node *n = p->n;
    int state, *field = HD_NEWN(c->a, int, n->ncols + 1);
    if (p->u.sort.dropped) {
        *out = *in;
        return 0;
    }
    if (is_there(c, p, in)) {
        *out = *in;
        out->ordered = true;
        return 0;
    }
    HD_TRY(sort_state(c, p, in, &state, field));
    *out = over_fields(c, n, state, field, in);
    out->ordered = p->op == PL_NODE_SORT && p->ordered && (c->states.v[state].nsort > 0 || in->ordered);
    return 0;
}

static void result_columns(struct ctx *c, struct rt_spec *s, const struct fe_node *root, const int *field)
{
    s->nresult = root->ncols;
    s->result = HD_NEWN(c->a, struct rt_result_column, root->ncols + 1);
    for (int i = 0; i < root->ncols; i++)
        s->result[i] =
            (struct rt_result_column){root->cols[i].name, root->cols[i].type, root->cols[i].nullable, field[i]};
}

int lower_result(struct ctx *c, struct pl_node *root, struct stream *in)
{
    const struct fe_node *n = c->plan->root;
    int state, *field = HD_NEWN(c->a, int, n->ncols + 1);
    bool there = root->op == PL_NODE_SORT && is_there(c, root, in);
    if ((root->op == PL_NODE_SORT && !there) || root->op == PL_NODE_TOP) {
        HD_TRY(sort_state(c, root, in, &state, field));
    } else {
        struct open_pipeline *p = pipeline_of(c, in);
        state = pb_state(c, RT_STATE_ROWS, "result", n->path);
        HD_TRY(store_values(c, in, state, field));
        in->ordered |= there;
        keep_order(c, in, state);
        pb_state_layout(c, state);
        c->states.v[state].est_rows = in->est;
        pb_end(c, p, true);
    }
    c->program->spec->result_state = state;
    result_columns(c, c->program->spec, n, field);
    return 0;
}
