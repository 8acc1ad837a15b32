/* Splicing. The parts of an outer join (pairs, rows without a match) are appended to one state, which one pipeline
 * reads. Stored, pairs would take more memory than all inputs, and more time than to find them. So the reader's steps
 * and its sink are put behind the steps of each part: a field that it loads is the expression that the part would have
 * stored there. The parts then run at the reader's turn and fill its state one after the other. */
#include "planner/splice.h"

#include "planner/build.h"
#include "planner/cut.h"

enum {
    PARTS_MAX = 3,  /* that one reader is repeated for: of a full join */
    READER_MAX = 64 /* steps and outs of it: a longer one would be most of the program, three times */
};

/* A state between pipelines. */
struct seam {
    struct ctx *c;
    int state;
    struct open_pipeline *reader;
    int nparts;
    struct open_pipeline *parts[PARTS_MAX];
};

/* ---- whether ---------------------------------------------------------------------------------------- */

static bool is_field_load(const struct seam *m, const struct pl_step *s)
{
    return s->kind == PL_STEP_LOAD_FIELD && s->state == m->state && s->row_slot == m->reader->source_slot;
}

/* Fills in reader and parts; false: the state is read in other ways than by one pipeline, row after row. */
static bool find_ends(struct seam *m)
{
    for (int i = 0; i < m->c->pipelines.n; i++) {
        struct open_pipeline *p = m->c->pipelines.v[i];
        if (p->spec.source == RT_SOURCE_ROWS && p->spec.state == m->state) {
            if (m->reader)
                return false;
            m->reader = p;
        }
        if (p->sink.state == m->state) {
            if (m->nparts == PARTS_MAX)
                return false;
            m->parts[m->nparts++] = p;
        }
    }
    return m->reader && m->nparts > 1 && !m->reader->spec.ordered;
}

/* Nobody asks which row of the state it was. */
static bool rows_are_anonymous(const struct seam *m)
{
    for (int i = 0; i < m->c->pipelines.n; i++) {
        const struct open_pipeline *p = m->c->pipelines.v[i];
        for (int k = 0; k < p->steps.n; k++)
            if (p->steps.v[k].state == m->state && !(p == m->reader && is_field_load(m, &p->steps.v[k])))
                return false;
    }
    const struct open_pipeline *r = m->reader;
    bool *read = HD_NEWN(m->c->a, bool, r->slots.n + 1);
    for (int k = 0; k < r->steps.n; k++)
        if (!is_field_load(m, &r->steps.v[k]))
            pl_step_reads(m->c->exprs.v, &r->steps.v[k], read);
    pl_sink_reads(m->c->exprs.v, &r->sink, read);
    return !read[r->source_slot];
}

/* Bytes of the fields that the reader loads: its levels may carry them all. */
static int loaded_bytes(const struct seam *m)
{
    int bytes = 0;
    for (int k = 0; k < m->reader->steps.n; k++)
        if (is_field_load(m, &m->reader->steps.v[k]))
            bytes += rt_phys_size(m->reader->slots.v[m->reader->steps.v[k].slot].phys) + 8;
    return bytes;
}

static bool has_room(const struct seam *m)
{
    const struct open_pipeline *r = m->reader;
    int more = r->level ? loaded_bytes(m) : 0;
    if (r->steps.n + r->sink.nouts > READER_MAX)
        return false;
    for (int i = 0; i < m->nparts; i++)
        if (!cut_fits(m->parts[i], r, more))
            return false;
    return true;
}

/* ---- expressions of the reader in a part -------------------------------------------------------------- */

struct moved {
    struct ctx *c;
    int by;   /* what is added to the numbers of slots */
    int *at;  /* by expression: where it is now, plus 1 */
};

static int move_expr(struct moved *w, int e)
{
    if (e < 0)
        return e;
    if (w->at[e])
        return w->at[e] - 1;
    struct pl_expr x = w->c->exprs.v[e];
    bool changes = x.op == FE_COL;
    int *args = HD_NEWN(w->c->a, int, x.nargs + 1);
    for (int i = 0; i < x.nargs; i++) {
        args[i] = move_expr(w, x.args[i]);
        changes |= args[i] != x.args[i];
    }
    x.args = args;
    if (x.op == FE_COL)
        x.slot += w->by;
    w->at[e] = (changes ? pb_expr(w->c, x) : e) + 1;
    return w->at[e] - 1;
}

static int stored_in(const struct pl_sink *k, int field)
{
    for (int i = 0; i < k->nouts; i++)
        if (k->outs[i].field == field)
            return k->outs[i].expr;
    HD_BUG("field %d is not filled", field);
}

/* A part may compute with validity what the plan says is never NULL, such as the minimum of a group. */
static int never_null(struct ctx *c, int e)
{
    enum rt_phys phys = c->exprs.v[e].phys;
    int arg = pb_arg(c, (struct rt_arg){.kind = RT_ARG_CONST, .phys = phys, .state = -1, .s = ""});
    int zero = pb_expr(c, (struct pl_expr){.op = FE_LIT, .phys = phys, .arg = arg, .slot = -1, .state = -1});
    int args[2] = {e, zero};
    return pb_op(c, FE_COALESCE, phys, false, 2, args);
}

/* ---- putting it there ------------------------------------------------------------------------------------ */

static struct pl_step moved_step(struct moved *w, const struct pl_step *s, int level, double share)
{
    struct pl_step to = *s;
    int *keys = HD_NEWN(w->c->a, int, s->nkeys + 1);
    to.slot += s->slot >= 0 ? w->by : 0;
    to.row_slot += s->row_slot >= 0 ? w->by : 0;
    to.expr = move_expr(w, s->expr);
    for (int i = 0; i < s->nkeys; i++)
        keys[i] = move_expr(w, s->keys[i]);
    to.keys = keys;
    to.level += level;
    to.est *= s->est > 0 ? share : 1;
    return to;
}

static struct pl_sink moved_sink(struct moved *w, const struct pl_sink *k)
{
    struct pl_sink to = *k;
    to.index = move_expr(w, k->index);
    to.outs = HD_NEWN(w->c->a, struct pl_out, k->nouts + 1);
    for (int i = 0; i < k->nouts; i++) {
        to.outs[i] = k->outs[i];
        to.outs[i].expr = move_expr(w, k->outs[i].expr);
    }
    return to;
}

/* A value of the part in the place of a field that the reader loads. */
static struct pl_step let_field(const struct seam *m, struct moved *w, const struct pl_step *load,
                                const struct pl_sink *stored, int level, double share)
{
    struct pl_step to = moved_step(w, load, level, share);
    to.kind = PL_STEP_LET;
    to.expr = stored_in(stored, load->field);
    if (m->c->exprs.v[to.expr].nullable && !m->reader->slots.v[load->slot].nullable)
        to.expr = never_null(m->c, to.expr);
    to.path = m->c->states.v[m->state].path;
    to.state = to.field = to.row_slot = -1;
#define X(name) to.a_##name = -1;
    PL_STEP_ARGS(X)
#undef X
    return to;
}

/* Fields come before the first level that the reader opens: computed below it, they would make that carry what they
 * are computed from. */
static void append_steps(const struct seam *m, struct open_pipeline *p, struct moved *w, double share)
{
    const struct open_pipeline *r = m->reader;
    int level = p->level;
    bool first = r->level > 0;
    for (int k = 0; k < r->steps.n && first; k++)
        if (is_field_load(m, &r->steps.v[k])) {
            struct pl_step let = let_field(m, w, &r->steps.v[k], &p->sink, level, share);
            let.level = level;
            hd_vec_push(m->c->a, &p->steps, let);
        }
    for (int k = 0; k < r->steps.n; k++) {
        const struct pl_step *s = &r->steps.v[k];
        if (!is_field_load(m, s))
            hd_vec_push(m->c->a, &p->steps, moved_step(w, s, level, share));
        else if (!first)
            hd_vec_push(m->c->a, &p->steps, let_field(m, w, s, &p->sink, level, share));
    }
}

static void append_reader(const struct seam *m, struct open_pipeline *p)
{
    struct ctx *c = m->c;
    const struct open_pipeline *r = m->reader;
    struct moved w = {c, p->slots.n, HD_NEWN(c->a, int, c->exprs.n + 1)};
    double rows = c->states.v[m->state].est_rows, share = rows > 0 ? HD_MIN(1, p->est / rows) : 1;
    for (int i = 0; i < r->slots.n; i++)
        hd_vec_push(c->a, &p->slots, r->slots.v[i]);
    append_steps(m, p, &w, share);
    p->sink = moved_sink(&w, &r->sink);
    p->est = r->est * share;
    p->level += r->level;
    p->queue_bytes += r->queue_bytes + (r->level ? r->level * cut_queue_bytes(loaded_bytes(m)) : 0);
    p->spec.path = r->spec.path;
}

/* ---- turns -------------------------------------------------------------------------------------------------- */

static bool is_part(const struct seam *m, int pipeline)
{
    for (int i = 0; i < m->nparts; i++)
        if (pipeline >= 0 && m->c->pipelines.v[pipeline] == m->parts[i])
            return true;
    return false;
}

/* Turns from the first part's to the state's finish, and the reader's. */
struct turns {
    int first, finish, reader;
};

static struct turns find_turns(const struct seam *m)
{
    struct turns t = {-1, -1, -1};
    for (int i = 0; i < m->c->turns.n; i++) {
        const struct pl_turn *v = &m->c->turns.v[i];
        if (t.first < 0 && is_part(m, v->pipeline))
            t.first = i;
        if (v->state == m->state)
            t.finish = i;
        if (v->pipeline >= 0 && m->c->pipelines.v[v->pipeline] == m->reader)
            t.reader = i;
    }
    HD_ASSERT(t.first >= 0 && t.first < t.finish && t.finish < t.reader);
    return t;
}

/* A dictionary is mapped, or its map finished: that needs columns only. */
static bool is_map(const struct seam *m, const struct pl_turn *t)
{
    return t->pipeline >= 0 ? m->c->pipelines.v[t->pipeline]->spec.source == RT_SOURCE_DICT
                            : m->c->states.v[t->state].kind == RT_STATE_ARRAY;
}

/* What comes between the state's finish and its reader (the tables of joins above) takes its turn before the parts,
 * which need it now. It knows nothing of them but maps of dictionaries, whose first user may be a part: only these and
 * the state lead from them to the rest of the plan. */
static void move_turns(const struct seam *m)
{
    struct ctx *c = m->c;
    const struct turns t = find_turns(m);
    struct pl_turn *to = HD_NEWN(c->a, struct pl_turn, c->turns.n);
    int n = t.first;
    memcpy(to, c->turns.v, sizeof *to * (size_t)n);
    for (int i = t.first; i < t.finish; i++)
        if (is_map(m, &c->turns.v[i]))
            to[n++] = c->turns.v[i];
    for (int i = t.finish + 1; i < t.reader; i++)
        to[n++] = c->turns.v[i];
    for (int i = t.first; i < t.finish; i++)
        if (!is_map(m, &c->turns.v[i]))
            to[n++] = c->turns.v[i];
    for (int i = t.reader + 1; i < c->turns.n; i++)
        to[n++] = c->turns.v[i];
    c->turns.v = to;
    c->turns.n = c->turns.cap = n;
}

static void drop_reader(const struct seam *m)
{
    struct ctx *c = m->c;
    int at = 0, n = 0;
    while (c->pipelines.v[at] != m->reader)
        at++;
    for (int i = 0; i < c->pipelines.n; i++)
        if (i != at)
            c->pipelines.v[n++] = c->pipelines.v[i];
    c->pipelines.n = n;
    for (int i = 0; i < c->turns.n; i++)
        c->turns.v[i].pipeline -= c->turns.v[i].pipeline > at;
}

void pl_splice(struct ctx *c)
{
    for (int i = c->appended.n - 1; i >= 0; i--) { /* the last first: dropping a state renumbers those behind it */
        struct seam m = {.c = c, .state = c->appended.v[i]};
        if (!find_ends(&m) || !rows_are_anonymous(&m) || !has_room(&m))
            continue;
        for (int k = 0; k < m.nparts; k++)
            append_reader(&m, m.parts[k]);
        move_turns(&m);
        drop_reader(&m);
        pb_drop_state(c, m.state);
    }
}
