/* Dead steps: loads, lets and lookups whose value nothing reads. A handle loads where a consumer
 * first asks for it, and not every consumer keeps what it asked for: `is null` of what is never
 * NULL folds, so does a comparison that facts settle. One pass from the sink upwards over what is
 * read later. A value that may fail goes as well: a row raises only where its value is needed
 * (docs/plan.md). Arguments that are left without a reader go with them, or a column would be
 * brought to the device for nobody. */
#include "planner/prune.h"

/* Only its slot says that the step took place; a row neither ends here nor becomes several. */
static bool is_pure(const struct pl_step *s)
{
    enum pl_yield yields = pl_step_form(s->kind)->yields;
    bool looks = yields == PL_YIELDS_PROBED && !pl_opens_fold(s->kind);
    return yields == PL_YIELDS_ONE || (looks && (s->probe == PL_LEFT || s->probe == PL_MARK));
}

static void prune_steps(struct ctx *c, struct open_pipeline *p)
{
    bool *read = HD_NEWN(c->a, bool, p->slots.n + 1);
    bool *keep = HD_NEWN(c->a, bool, p->steps.n + 1);
    pl_sink_reads(c->exprs.v, &p->sink, read);
    for (int i = p->steps.n - 1; i >= 0; i--) {
        const struct pl_step *s = &p->steps.v[i];
        keep[i] = !is_pure(s) || read[s->slot];
        if (keep[i])
            pl_step_reads(c->exprs.v, s, read);
    }
    int n = 0;
    for (int i = 0; i < p->steps.n; i++)
        if (keep[i])
            p->steps.v[n++] = p->steps.v[i];
    p->steps.n = n;
}

/* ---- arguments ------------------------------------------------------------------------- */

/* Arguments that are read, by number, and the expressions that were looked at already. */
struct readers {
    const struct ctx *c;
    bool *args, *exprs;
};

static void read_arg(struct readers *r, int arg)
{
    if (arg >= 0)
        r->args[arg] = true;
}

static void read_expr(struct readers *r, int index)
{
    if (index < 0 || r->exprs[index])
        return;
    const struct pl_expr *e = &r->c->exprs.v[index];
    r->exprs[index] = true;
    int entries = fe_op_form(e->op)->entries;
    if (entries > 0)
        read_arg(r, e->arg);
    if (entries > 1)
        read_arg(r, e->arg2);
    for (int i = 0; i < e->nargs; i++)
        read_expr(r, e->args[i]);
}

static void read_step(struct readers *r, const struct pl_step *s)
{
#define X(name) read_arg(r, s->a_##name);
    PL_STEP_ARGS(X)
#undef X
    read_expr(r, s->expr);
    for (int i = 0; i < s->nkeys; i++)
        read_expr(r, s->keys[i]);
}

static void read_sink(struct readers *r, const struct pl_sink *s)
{
    read_arg(r, s->a_rows);
    read_arg(r, s->a_bits);
    read_expr(r, s->index);
    for (int i = 0; i < s->ncopies; i++)
        read_arg(r, s->copies[i].a_rows);
    for (int i = 0; i < s->nouts; i++) {
        read_expr(r, s->outs[i].expr);
        if (s->a_fields) {
            read_arg(r, s->a_fields[i]);
            read_arg(r, s->a_valids[i]);
        }
    }
}

/* Takes the arguments without a reader out; returns the new numbers of the others. */
static int *close_gaps(struct ctx *c, const bool *read)
{
    int *to = HD_NEWN(c->a, int, c->args.n + 1), n = 0;
    c->nwords = 0;
    for (int i = 0; i < c->args.n; i++) {
        to[i] = read[i] ? n : -1;
        if (!read[i])
            continue;
        c->args.v[n] = c->args.v[i];
        c->args.v[n].word = c->nwords;
        c->nwords += rt_arg_words(&c->args.v[n++]);
    }
    c->args.n = n;
    return to;
}

static void renumber(int *arg, const int *to)
{
    if (*arg >= 0)
        *arg = to[*arg];
}

static void renumber_pipeline(struct open_pipeline *p, const int *to)
{
    for (int i = 0; i < p->steps.n; i++) {
        struct pl_step *s = &p->steps.v[i];
#define X(name) renumber(&s->a_##name, to);
        PL_STEP_ARGS(X)
#undef X
    }
    for (int i = 0; i < p->spec.nends; i++)
        renumber(&p->spec.ends[i].arg, to);
    renumber(&p->sink.a_rows, to);
    renumber(&p->sink.a_bits, to);
    for (int i = 0; i < p->sink.ncopies; i++)
        renumber(&p->sink.copies[i].a_rows, to);
    for (int i = 0; p->sink.a_fields && i < p->sink.nouts; i++) {
        renumber(&p->sink.a_fields[i], to);
        renumber(&p->sink.a_valids[i], to);
    }
}

static bool is_lost(int arg, const int *to)
{
    return arg >= 0 && to[arg] < 0;
}

/* What nothing evaluates becomes NULL with its argument: later passes that look at all expressions meet none without. */
static void renumber_expr(struct pl_expr *e, const int *to)
{
    int entries = fe_op_form(e->op)->entries;
    if ((entries > 0 && is_lost(e->arg, to)) || (entries > 1 && is_lost(e->arg2, to))) {
        *e = (struct pl_expr){
            .op = FE_LIT, .phys = e->phys, .nullable = true, .is_null = true, .slot = -1, .arg = -1, .state = -1};
        return;
    }
    if (entries > 0)
        renumber(&e->arg, to);
    if (entries > 1)
        renumber(&e->arg2, to);
}

static void prune_args(struct ctx *c)
{
    struct readers r = {c, HD_NEWN(c->a, bool, c->args.n + 1), HD_NEWN(c->a, bool, c->exprs.n + 1)};
    for (int i = 0; i < c->pipelines.n; i++) {
        for (int k = 0; k < c->pipelines.v[i]->steps.n; k++)
            read_step(&r, &c->pipelines.v[i]->steps.v[k]);
        read_sink(&r, &c->pipelines.v[i]->sink);
        for (int k = 0; k < c->pipelines.v[i]->spec.nends; k++)
            read_arg(&r, c->pipelines.v[i]->spec.ends[k].arg);
    }
    const int *to = close_gaps(c, r.args);
    for (int i = 0; i < c->pipelines.n; i++)
        renumber_pipeline(c->pipelines.v[i], to);
    for (int i = 0; i < c->exprs.n; i++)
        renumber_expr(&c->exprs.v[i], to);
}

void pl_prune(struct ctx *c)
{
    for (int i = 0; i < c->pipelines.n; i++)
        prune_steps(c, c->pipelines.v[i]);
    prune_args(c);
}
