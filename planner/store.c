/* Keeping columns of a stream in a state: as values, or as the row ids from which they load
 * later. Row ids win for strings and for several columns of one row (late materialisation). */
#include "planner/store.h"

#include "planner/build.h"
#include "planner/handle.h"
#include "planner/lower_expr.h"
#include "planner/lower_value.h"
#include "planner/range.h"
#include "planner/schedule.h"

static int value_bytes(const struct handle *h)
{
    const struct fe_table_column *col = h->kind == H_COLUMN ? &h->table->cols[h->column] : NULL;
    if (col && col->storage == FE_STORE_DICT)
        return 4;
    if (hd_type_is_text(h->type))
        return 16;
    return col ? HD_MAX(4, col->width) : 8;
}

/* Whether the columns of this row should be fetched later through its id. */
static bool prefer_row(struct handle *const *cols, int n, const struct handle *row)
{
    int bytes = 0, text = 0;
    for (int i = 0; i < n; i++)
        if (cols[i]->kind == H_COLUMN && cols[i]->row == row) {
            int b = value_bytes(cols[i]);
            bytes += b;
            text += b == 16;
        }
    return text > 0 || bytes > 16;
}

static int add_stored(struct kept *k, struct handle *h)
{
    for (int i = 0; i < k->n; i++)
        if (k->what[i] == h)
            return i;
    k->what[k->n] = h;
    return k->n++;
}

void keep_chosen(struct ctx *c, struct handle *const *cols, int ncols, const bool *by_row, struct kept *k)
{
    *k = (struct kept){.ncols = ncols};
    k->what = HD_NEWN(c->a, struct handle *, ncols + 1);
    k->cols = HD_NEWN(c->a, struct handle *, ncols + 1);
    k->via = HD_NEWN(c->a, int, ncols + 1);
    k->by_row = HD_NEWN(c->a, bool, ncols + 1);
    for (int i = 0; i < ncols; i++) {
        struct handle *h = k->cols[i] = h_plain(cols[i]);
        k->by_row[i] = by_row && by_row[i] && h->kind == H_COLUMN; /* a cut may have kept the value */
        k->via[i] = add_stored(k, k->by_row[i] ? h->row : h);
    }
}

void keep_columns(struct ctx *c, struct handle *const *cols, int ncols, struct kept *k)
{
    struct handle **plain = HD_NEWN(c->a, struct handle *, ncols + 1);
    bool *by_row = HD_NEWN(c->a, bool, ncols + 1);
    for (int i = 0; i < ncols; i++)
        plain[i] = h_plain(cols[i]);
    for (int i = 0; i < ncols; i++)
        by_row[i] = plain[i]->kind == H_COLUMN && prefer_row(plain, ncols, plain[i]->row);
    keep_chosen(c, plain, ncols, by_row, k);
}

int kept_bytes(const struct kept *k)
{
    int bytes = 0;
    for (int i = 0; i < k->ncols; i++)
        bytes += value_bytes(k->cols[i]);
    return bytes;
}

static const char *stored_name(struct ctx *c, const struct handle *h)
{
    if (h->is_row)
        return hd_asprintf(c->a, "%s row", h->table ? h->table->name : "state");
    if (h->kind == H_COLUMN)
        return h->table->cols[h->column].name;
    if (h->kind == H_FIELD)
        return c->states.v[h->state].fields[h->field].name;
    return "x";
}

int keep_store(struct ctx *c, struct open_pipeline *p, struct kept *k, int state, enum rt_merge m, enum fe_agg_fn fn,
               struct pl_sink *sink)
{
    k->first = c->states.v[state].nfields;
    for (int i = 0; i < k->n; i++) {
        struct pl_val v;
        HD_TRY(h_value(c, p, k->what[i], &v));
        lx_realise(c, &v);
        int f = pb_field(c, state, stored_name(c, k->what[i]), &v, m);
        sink_add(c, sink, (struct pl_out){.field = f, .expr = v.expr, .fn = fn});
        k->what[i]->val.range = v.range;
    }
    return 0;
}

void keep_load(struct ctx *c, const struct kept *k, int state, struct handle *row, bool nullable_row,
               struct handle **out)
{
    struct handle **rid = HD_NEWN(c->a, struct handle *, k->n + 1);
    for (int i = 0; i < k->ncols; i++) {
        struct handle *from = k->cols[i], *what = k->what[k->via[i]];
        struct handle *f = state < 0 ? h_kept(c, what, row) : h_field(c, state, k->first + k->via[i], row);
        f->nullable |= nullable_row;
        if (!k->by_row[i]) {
            if (state >= 0)
                f->val.range = what->val.range;
            out[i] = f;
            continue;
        }
        if (!rid[k->via[i]]) { /* one row handle per stored row id, so that it loads once */
            f->is_row = true;
            f->nullable = false;
            f->table = what->table;
            f->row_nullable = what->row_nullable || nullable_row;
            rid[k->via[i]] = f;
        }
        out[i] = h_column(c, from->table, from->column, rid[k->via[i]]);
    }
}

static bool gives_every_row(const struct open_pipeline *p)
{
    for (int i = 0; i < p->steps.n; i++) {
        const struct pl_step *s = &p->steps.v[i];
        switch (pl_step_form(s->kind)->yields) {
        case PL_YIELDS_ONE:
        case PL_YIELDS_MARKED: break;
        case PL_YIELDS_PROBED:
            if (s->probe != PL_LEFT && s->probe != PL_MARK && !s->sure)
                return false;
            break;
        case PL_YIELDS_SOME:
        case PL_YIELDS_MANY: return false;
        }
    }
    return true;
}

/* One thread keeps the order, and so do a GPU's warps if each row of the source has its place (shape.c). Otherwise one
 * warp would be as good as none: rows are put in order again, by the number of the row that they come from. */
void keep_order(struct ctx *c, struct stream *s, int state)
{
    struct open_pipeline *p = pipeline_of(c, s);
    struct rt_state *st = &c->states.v[state];
    p->spec.ordered = s->ordered;
    if (!s->ordered || !c->opt.on_gpu || gives_every_row(p))
        return;
    struct pl_val v = {.expr = pb_slot_expr(c, p, p->source_slot), .phys = RT_I32, .type = hd_type_of(HD_INT32)};
    int f = pb_field(c, state, "position", &v, RT_MERGE_KEY);
    sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = v.expr, .fn = FE_AGG_ANY});
    st->sort = hd_dup(c->a, &(struct rt_sort_key){.field = f}, sizeof *st->sort);
    st->nsort = 1;
    p->spec.ordered = false;
}

/* ---- materialisation ------------------------------------------------------------------------------ */

void stored_unique(struct ctx *c, const struct stream *s, struct stored *st)
{
    st->unique = HD_NEWN(c->a, int, s->ncols + 1);
    if (s->nunique) {
        for (int k = 0; k < s->nunique; k++)
            for (int i = 0; i < s->ncols; i++)
                if (s->cols[i] == s->unique[k] && (!st->want || st->want[i])) {
                    st->unique[st->nunique++] = i;
                    break;
                }
        if (st->nunique != s->nunique)
            st->nunique = 0;
        return;
    }
    for (int i = 0; i < s->ncols && s->unique_row && !st->nunique; i++)
        if ((!st->want || st->want[i]) && !s->cols[i]->nullable && h_determined(c, s->unique_row, &s->cols[i], 1))
            st->unique[st->nunique++] = i;
}

const bool *keep_strings_by_row(struct ctx *c, const struct stream *s, const bool *want)
{
    bool *by_row = HD_NEWN(c->a, bool, s->ncols + 1);
    for (int i = 0, n = 0; i < s->ncols; i++) {
        struct handle *h = h_plain(s->cols[i]);
        if (!want || want[i])
            by_row[n++] = h->kind == H_COLUMN && value_bytes(h) == 16 && hd_type_is_text(h->type);
    }
    return by_row;
}

void store_rows(struct ctx *c, const struct stream *s, const bool *want, const bool *by_row, struct stored *out)
{
    struct handle **cols = HD_NEWN(c->a, struct handle *, s->ncols + 1);
    int n = 0;
    for (int i = 0; i < s->ncols; i++)
        if (!want || want[i])
            cols[n++] = s->cols[i];
    *out = (struct stored){.state = -1,
                           .ncols = s->ncols,
                           .want = want,
                           .cols = s->cols,
                           .est = s->est,
                           .max_rows = s->max_rows,
                           .ordered = s->ordered};
    if (by_row)
        keep_chosen(c, cols, n, by_row, &out->kept);
    else
        keep_columns(c, cols, n, &out->kept);
}

static int store_word(struct ctx *c, struct open_pipeline *p, int state, const struct pl_val *v, const char *name,
                      enum rt_merge m)
{
    int f = pb_field(c, state, name, v, m);
    sink_add(c, &p->sink, (struct pl_out){.field = f, .expr = v->expr, .fn = FE_AGG_ANY});
    return f;
}

bool comes_by(struct ctx *c, const struct stream *s, struct handle *h)
{
    const struct open_pipeline *p = pipeline_of(c, s);
    h = h_plain(h);
    if (h->kind == H_EXPR && pl_uncast(h->expr)->op == FE_COL)
        h = h_plain(h->env[pl_uncast(h->expr)->col]);
    if ((h->kind != H_COLUMN && h->kind != H_FIELD) || h->nullable || h->row->slot != p->source_slot || p->level > 0)
        return false;
    if (h->kind == H_COLUMN && p->spec.source == RT_SOURCE_TABLE)
        return h->table->cols[h->column].facts.known && h->table->cols[h->column].facts.sorted;
    if (h->kind != H_FIELD || p->spec.source != RT_SOURCE_ROWS || h->state != p->spec.state)
        return false;
    const struct rt_state *st = &c->states.v[h->state];
    return st->nsort > 0 && st->sort[0].field == h->field && !st->sort[0].desc && !st->top;
}

bool keep_sorted(struct ctx *c, struct stream *s, struct handle *const *order, int n, int state)
{
    struct open_pipeline *p = pipeline_of(c, s);
    bool there = n > 0 && (!c->opt.on_gpu || gives_every_row(p));
    for (int i = 0; i < n && there; i++)
        there = order[i] && comes_by(c, s, order[i]);
    c->states.v[state].sorted = there ? c->states.v[state].nsort : 0;
    p->spec.ordered |= there;
    return there;
}

/* The column of the row that the pipeline has from its source, which is never absent; NULL: it is something else. */
static const struct handle *of_source(struct ctx *c, const struct stream *s, struct handle *h)
{
    const struct open_pipeline *p = pipeline_of(c, s);
    h = h ? h_plain(h) : NULL;
    bool own = h && (h->kind == H_COLUMN || h->kind == H_FIELD) && h->row->slot == p->source_slot && p->level == 0;
    if (!own || h->null_ext || h->row->row_nullable)
        return NULL;
    return h->kind == H_FIELD ? (p->spec.source == RT_SOURCE_ROWS && h->state == p->spec.state ? h : NULL)
                              : (p->spec.source == RT_SOURCE_TABLE ? h : NULL);
}

/* Keys of a table's order: a column by which it is sorted, or first columns of its primary key. */
static int sorted_columns(struct ctx *c, const struct stream *s, struct handle *const *key,
                          const struct rt_sort_key *how, int n)
{
    int same = 0;
    const struct handle *first = of_source(c, s, key[0]);
    const struct fe_table *t = first->table;
    const struct fe_facts *f = &t->cols[first->column].facts;
    bool sorted = f->known && f->sorted && !how[0].desc && !first->nullable;
    if (sorted && f->unique)
        return n;
    for (; t->pk_sorted && same < n && same < t->npk && !how[same].desc; same++) {
        const struct handle *h = of_source(c, s, key[same]);
        if (!h || h->table != t || h->column != t->pk[same] || h->nullable)
            break;
    }
    return t->pk_sorted && same == t->npk ? n : HD_MAX(same, (int)sorted);
}

/* Keys of the order of the state that the pipeline reads. */
static int sorted_fields(struct ctx *c, const struct stream *s, struct handle *const *key,
                         const struct rt_sort_key *how, int n)
{
    const struct rt_state *st = &c->states.v[pipeline_of(c, s)->spec.state];
    int same = 0;
    for (; same < n && same < st->nsort; same++) {
        const struct handle *h = of_source(c, s, key[same]);
        const struct rt_sort_key *k = &st->sort[same];
        if (!h || h->field != k->field || how[same].desc != k->desc || how[same].nulls_first != k->nulls_first)
            break;
    }
    return same;
}

int keep_runs(struct ctx *c, struct stream *s, struct handle *const *key, int state)
{
    struct open_pipeline *p = pipeline_of(c, s);
    struct rt_state *st = &c->states.v[state];
    const struct handle *first = st->nsort ? of_source(c, s, key[0]) : NULL;
    int n = !first                    ? 0
            : first->kind == H_COLUMN ? sorted_columns(c, s, key, st->sort, st->nsort)
                                      : sorted_fields(c, s, key, st->sort, st->nsort);
    if (c->opt.on_gpu && !gives_every_row(p)) /* a GPU looks whether all keys are in order, or sorts by all */
        n = 0;
    st->sorted = n;
    p->spec.ordered |= n > 0;
    return n;
}

int store_sorted(struct ctx *c, struct stream *s, const struct pl_val *words, struct handle *const *order, int n,
                 const struct pl_val *far, const bool *want, const bool *by_row, const char *name, const char *path,
                 struct stored *out)
{
    struct open_pipeline *p = pipeline_of(c, s);
    store_rows(c, s, want, by_row, out);
    out->state = pb_state(c, RT_STATE_ROWS, name, path);
    p->sink.kind = PL_SINK_ROWS;
    p->sink.state = out->state;
    struct rt_sort_key *keys = HD_NEWN(c->a, struct rt_sort_key, n + 1);
    for (int i = 0; i < n; i++)
        keys[i].field = store_word(c, p, out->state, &words[i], "word", RT_MERGE_KEY);
    if (far)
        store_word(c, p, out->state, far, "far", RT_MERGE_MAX);
    c->states.v[out->state].sort = keys;
    c->states.v[out->state].nsort = n;
    keep_sorted(c, s, order, n, out->state);
    HD_TRY(keep_store(c, p, &out->kept, out->state, RT_MERGE_KEY, FE_AGG_ANY, &p->sink));
    if (n == 0)
        keep_order(c, s, out->state);
    pb_state_layout(c, out->state);
    c->states.v[out->state].est_rows = s->est;
    c->state_rows.v[out->state] = s->max_rows;
    stored_unique(c, s, out);
    pb_end(c, p, true);
    return 0;
}

int store_stream(struct ctx *c, struct stream *s, const bool *want, const bool *by_row, const char *name,
                 const char *path, struct stored *out)
{
    return store_sorted(c, s, NULL, NULL, 0, NULL, want, by_row, name, path, out);
}

void rows_over(struct ctx *c, const struct stored *st, struct handle *row, struct stream *s)
{
    struct handle **kept = HD_NEWN(c->a, struct handle *, st->kept.ncols + 1);
    s->est = st->est;
    s->max_rows = st->max_rows;
    s->ncols = st->ncols;
    keep_load(c, &st->kept, st->state, row, false, kept);
    s->cols = HD_NEWN(c->a, struct handle *, st->ncols + 1);
    for (int i = 0, k = 0; i < st->ncols; i++) {
        if (!st->want || st->want[i])
            s->cols[i] = kept[k++];
        else /* nobody asks for it: a NULL of its type stands in */
            s->cols[i] = h_phys(c, lx_const(c, &(struct fe_value){.type = st->cols[i]->type, .is_null = true}));
    }
    s->unique_row = row;
    s->ordered = st->ordered;
    if (st->nunique) {
        s->nunique = st->nunique;
        s->unique = HD_NEWN(c->a, struct handle *, st->nunique);
        for (int i = 0; i < st->nunique; i++)
            s->unique[i] = s->cols[st->unique[i]];
    }
}

struct stream stream_over(struct ctx *c, const struct stored *st, const char *path)
{
    struct open_pipeline *p = pb_pipeline(c, RT_SOURCE_ROWS, path);
    p->spec.state = st->state;
    p->est = st->est;
    struct stream s = {.pipeline = c->pipelines.n - 1};
    rows_over(c, st, h_row(c, p->source_slot, NULL, st->state, false), &s);
    return s;
}
