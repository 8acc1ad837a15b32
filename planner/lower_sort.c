/* Sort, limit, top-k, and the result of the program. Rows are kept by value: ties are broken by all output columns, so every one
 * is looked at, but for those that others determine. */
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

/* Rows of a sort with a limit for each of which another one comes: from there columns that the first rows alone need are
 * loaded once these are known. */
enum { LATE_ROWS = 16 };

/* What a sort keeps of its rows. */
struct sorted {
    int state;
    int *field; /* of column i: its value's, or that of its row's id */
    bool *lead; /* columns that ties are broken by; NULL: all. The others are the same where these are */
    struct kept kept;
    bool late; /* some columns are kept by row id */
};

/* Finds the columns of a sort with a limit that no tie needs, as columns before them determine them, and the ids of rows
 * that give them later (late materialization: Abadi et al., ICDE 2007). by_row[i]: of column i; false: there is none. */
static bool find_late(struct ctx *c, const struct fe_node *keys, const struct stream *in, double rows, bool *lead,
                      bool *by_row)
{
    struct handle **by = HD_NEWN(c->a, struct handle *, in->ncols + keys->u.sort.nkeys + 1),
                  **rest = HD_NEWN(c->a, struct handle *, in->ncols + 1);
    bool *seen = HD_NEWN(c->a, bool, in->ncols + 1);
    int n = 0, nrest = 0, found = 0;
    if (in->est < LATE_ROWS * rows)
        return false;
    for (int i = 0; i < keys->u.sort.nkeys + in->ncols; i++) {
        const struct fe_expr *e = i < keys->u.sort.nkeys ? keys->u.sort.keys[i].expr : NULL;
        int col = e ? e->op == FE_COL ? e->col : -1 : i - keys->u.sort.nkeys;
        if (col < 0 || seen[col])
            continue;
        seen[col] = true;
        lead[col] = !h_determined(c, in->cols[col], by, n);
        if (lead[col])
            by[n++] = h_plain(in->cols[col]);
    }
    for (int i = 0; i < in->ncols; i++)
        if (!lead[i])
            rest[nrest++] = in->cols[i];
    struct kept k;
    keep_columns(c, rest, nrest, &k);
    for (int i = 0, r = 0; i < in->ncols; i++)
        if (!lead[i])
            found += by_row[i] = k.by_row[r++];
    return found > 0;
}

/* Adds the columns (and further sort keys) of s as fields of the ROWS state. by_row: as keep_chosen has it. */
static int store_values(struct ctx *c, struct stream *s, const bool *by_row, struct sorted *t)
{
    struct open_pipeline *p = pipeline_of(c, s);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = t->state;
    t->field = HD_NEWN(c->a, int, s->ncols + 1);
    keep_chosen(c, s->cols, s->ncols, by_row, &t->kept);
    HD_TRY(keep_store(c, p, &t->kept, t->state, RT_MERGE_KEY, FE_AGG_ANY, &p->sink));
    for (int i = 0; i < s->ncols; i++)
        t->field[i] = t->kept.first + t->kept.via[i];
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
static int sort_keys(struct ctx *c, const struct fe_node *n, struct stream *s, const struct sorted *t,
                     struct handle **key)
{
    const int *field = t->field;
    struct rt_sort_key *keys = HD_NEWN(c->a, struct rt_sort_key, n->u.sort.nkeys + n->ncols + 1);
    bool *used = HD_NEWN(c->a, bool, n->u.sort.nkeys + n->ncols + 1);
    int nk = 0;
    for (int i = 0; i < n->u.sort.nkeys; i++) {
        const struct fe_sort_key *k = &n->u.sort.keys[i];
        if (t->lead && k->expr->op == FE_COL && !t->lead[k->expr->col])
            continue;
        int f = lower_sort_key(c, s, k, t->state, field);
        if (f < 0)
            return -1;
        used[f] = true;
        key[nk] = k->expr->op == FE_COL ? s->cols[k->expr->col] : NULL;
        keys[nk++] = (struct rt_sort_key){f, k->desc, k->nulls_first};
    }
    for (int i = 0; i < n->ncols; i++) /* ties: remaining output columns, ascending, nulls last */
        if (!used[field[i]] && (!t->lead || t->lead[i])) {
            used[field[i]] = true;
            key[nk] = s->cols[i];
            keys[nk++] = (struct rt_sort_key){field[i], false, false};
        }
    c->states.v[t->state].sort = keys;
    c->states.v[t->state].nsort = nk;
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

/* Ends the input of a sort or limit in a state. */
static int sort_state(struct ctx *c, const struct pl_node *p, struct stream *in, struct sorted *t)
{
    const struct fe_node *n = p->n, *keys = p->u.sort.keys;
    int64_t limit = fe_limit(n);
    struct open_pipeline *q = pipeline_of(c, in);
    bool *lead = HD_NEWN(c->a, bool, in->ncols + 1), *by_row = HD_NEWN(c->a, bool, in->ncols + 1);
    *t = (struct sorted){.state = pb_state(c, RT_STATE_ROWS, keys ? "sort" : "limit", n->path)};
    if (p->op != PL_NODE_TOP) {
        c->states.v[t->state].limit = limit;
        c->states.v[t->state].offset = fe_offset(n);
    }
    if (keys && p->op != PL_NODE_TOP && limit >= 0) {
        t->late = find_late(c, keys, in, (double)limit + (double)fe_offset(n), lead, by_row);
        t->lead = t->late ? lead : NULL;
        HD_TRY(leave_out(c, keys, in, t->state));
    }
    HD_TRY(store_values(c, in, t->late ? by_row : NULL, t));
    struct handle **key = HD_NEWN(c->a, struct handle *, (keys ? keys->u.sort.nkeys : 0) + n->ncols + 1);
    if (keys)
        HD_TRY(sort_keys(c, keys, in, t, key));
    else
        keep_order(c, in, t->state);
    pb_state_layout(c, t->state);
    struct rt_state *st = &c->states.v[t->state];
    bool runs = keys && st->limit < 0 && !st->offset && keep_runs(c, in, key, t->state) > 0;
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

static struct stream over_fields(struct ctx *c, const struct fe_node *n, const struct sorted *t,
                                 const struct stream *in)
{
    const int state = t->state, *field = t->field;
    struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_ROWS, n->path);
    p->spec.state = state;
    p->est = c->states.v[state].est_rows;
    struct stream s = {.pipeline = c->pipelines.n - 1, .est = p->est, .max_rows = in->max_rows, .ncols = n->ncols};
    if (c->states.v[state].limit >= 0)
        s.max_rows = HD_MIN(s.max_rows, (double)fe_limit(n));
    struct handle *row = h_row(c, p->source_slot, NULL, state, false);
    s.cols = HD_NEWN(c->a, struct handle *, n->ncols + 1);
    if (t->late)
        keep_load(c, &t->kept, state, row, false, s.cols);
    for (int i = 0; i < n->ncols; i++) {
        if (t->kept.by_row[i])
            continue;
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
    struct sorted t;
    if (p->u.sort.dropped) {
        *out = *in;
        return 0;
    }
    if (is_there(c, p, in)) {
        *out = *in;
        out->ordered = true;
        return 0;
    }
    HD_TRY(sort_state(c, p, in, &t));
    *out = over_fields(c, n, &t, in);
    out->ordered = p->op == PL_NODE_SORT && p->ordered && (c->states.v[t.state].nsort > 0 || in->ordered);
    return 0;
}

/* map: columns of the rows that the result's are; NULL: the same. */
static void result_columns(struct ctx *c, struct rt_spec *s, const struct fe_node *root, const int *field,
                           struct fe_expr *const *map)
{
    s->nresult = root->ncols;
    s->result = HD_NEWN(c->a, struct rt_result_column, root->ncols + 1);
    for (int i = 0; i < root->ncols; i++)
        s->result[i] = (struct rt_result_column){root->cols[i].name, root->cols[i].type, root->cols[i].nullable,
                                                 field[map ? map[i]->col : i]};
}

/* Ends the rows in the state of the result. */
static int result_state(struct ctx *c, struct stream *in, struct sorted *t)
{
    struct open_pipeline *p = pipeline_of(c, in);
    *t = (struct sorted){.state = pb_state(c, RT_STATE_ROWS, "result", c->plan->root->path)};
    HD_TRY(store_values(c, in, NULL, t));
    keep_order(c, in, t->state);
    pb_state_layout(c, t->state);
    c->states.v[t->state].est_rows = in->est;
    pb_end(c, p, true);
    return 0;
}

struct pl_node *lower_result_sort(struct pl_node *root)
{
    struct pl_node *p = root->op == PL_NODE_PROJECT ? root->inputs[0] : root;
    if ((p->op != PL_NODE_SORT && p->op != PL_NODE_TOP) || p->u.sort.dropped)
        return NULL;
    for (int i = 0; p != root && i < root->n->ncols; i++)
        if (root->n->u.project.exprs[i]->op != FE_COL)
            return NULL;
    return p;
}

int lower_result(struct ctx *c, struct pl_node *root, struct stream *in)
{
    const struct fe_node *n = c->plan->root;
    struct pl_node *sort = lower_result_sort(root);
    struct fe_expr *const *map = sort && sort != root ? root->n->u.project.exprs : NULL;
    struct sorted t;
    if (sort && !is_there(c, sort, in)) {
        HD_TRY(sort_state(c, sort, in, &t));
        if (t.late) {
            struct stream first = over_fields(c, sort->n, &t, in);
            first.ordered = true;
            HD_TRY(result_state(c, &first, &t));
        }
    } else {
        in->ordered |= sort != NULL;
        HD_TRY(result_state(c, in, &t));
    }
    c->program->spec->result_state = t.state;
    result_columns(c, c->program->spec, n, t.field, map);
    return 0;
}
