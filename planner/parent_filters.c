/* Children that are found from a parent's row by a foreign key's index have that key: what a filter compares the foreign key's column
 * with, the parent's key may have been compared with already, or can be compared with first. Fragments of several workers have such
 * filters on both tables (docs/scale.md). Then neither the column of the children is read nor are those of parents that are left out. */
#include "planner/parent_filters.h"

#include <string.h>

#include "planner/build.h"
#include "planner/handle.h"
#include "planner/lower_value.h"

enum { HELD_MAX = 16 };

/* A column of the row in a slot, compared with a constant. */
struct condition {
    int row_slot;
    const struct fe_table *table;
    int column;
    enum fe_op op;
    int arg;
};

struct filters {
    struct ctx *c;
    struct open_pipeline *p;
    int at; /* the step */
    int fold; /* that is open; -1: none */
    int nheld;
    struct condition held[HELD_MAX]; /* of all rows that get so far */
};

/* ---- conditions -------------------------------------------------------------------------------- */

static const struct pl_step *load_of(const struct filters *f, int slot)
{
    for (int i = f->at - 1; i >= 0; i--)
        if (f->p->steps.v[i].slot == slot)
            return f->p->steps.v[i].kind == PL_STEP_LOAD_COLUMN ? &f->p->steps.v[i] : NULL;
    return NULL;
}

static bool is_number(const struct filters *f, const struct pl_expr *x)
{
    const struct rt_arg *a = x->op == FE_LIT && !x->is_null ? &f->c->args.v[x->arg] : NULL;
    return a && a->kind == RT_ARG_CONST && (a->phys == RT_I32 || a->phys == RT_I64);
}

static bool is_comparison(enum fe_op op)
{
    return op == FE_EQ || op == FE_LT || op == FE_LE || op == FE_GT || op == FE_GE;
}

/* Constants stand on the right; those on the left are left alone. */
static bool read_condition(const struct filters *f, int e, struct condition *out)
{
    const struct pl_expr *x = &f->c->exprs.v[e];
    if (!is_comparison(x->op))
        return false;
    const struct pl_expr *of = &f->c->exprs.v[x->args[0]], *with = &f->c->exprs.v[x->args[1]];
    const struct pl_step *load = of->op == FE_COL && is_number(f, with) ? load_of(f, of->slot) : NULL;
    if (!load)
        return false;
    *out = (struct condition){load->row_slot, load->table, load->column, x->op, with->arg};
    return true;
}

static bool holds(const struct filters *f, const struct condition *x)
{
    for (int i = 0; i < f->nheld; i++) {
        const struct condition *h = &f->held[i];
        if (h->row_slot == x->row_slot && h->table == x->table && h->column == x->column && h->op == x->op &&
            f->c->args.v[h->arg].i == f->c->args.v[x->arg].i)
            return true;
    }
    return false;
}

/* ---- parents ----------------------------------------------------------------------------------- */

/* The row whose children a step goes through, one that has at least one or ends; -1: it is no such step. */
static int parent_slot(const struct pl_step *s)
{
    if (s->kind == PL_STEP_FOLD)
        return s->parent_slot;
    return s->kind == PL_STEP_EXPAND_FK && s->probe == PL_INNER && !s->row_nullable ? s->row_slot : -1;
}

/* The step that finds the condition's rows as children by the column that it is about; -1: none. */
static int opened_by(const struct filters *f, const struct condition *x)
{
    for (int i = f->at - 1; i >= 0; i--) {
        const struct pl_step *s = &f->p->steps.v[i];
        if (s->slot != x->row_slot)
            continue;
        if (parent_slot(s) < 0)
            return -1;
        const struct fe_foreign_key *fk = &s->table->fks[s->index];
        return fk->n_columns == 1 && fk->columns[0] == x->column ? i : -1;
    }
    return -1;
}

static struct condition of_parent(const struct filters *f, const struct condition *x, int opened)
{
    const struct pl_step *s = &f->p->steps.v[opened];
    const struct fe_foreign_key *fk = &s->table->fks[s->index];
    return (struct condition){parent_slot(s), fk->parent, fk->parent_columns[0], x->op, x->arg};
}

/* ---- moving -------------------------------------------------------------------------------------- */

/* The last n steps go to where `to` is; returns how far those behind it have moved. */
static void move_last(struct open_pipeline *p, int n, int to)
{
    struct pl_step last[2];
    HD_ASSERT(n <= (int)HD_COUNT(last));
    memcpy(last, &p->steps.v[p->steps.n - n], (size_t)n * sizeof *last);
    memmove(&p->steps.v[to + n], &p->steps.v[to], (size_t)(p->steps.n - n - to) * sizeof *last);
    memcpy(&p->steps.v[to], last, (size_t)n * sizeof *last);
    for (int i = to; i < to + n; i++) {
        p->steps.v[i].level = p->steps.v[to + n].level;
        p->steps.v[i].est = p->steps.v[to + n].est;
    }
}

/* Fewer rows reach the steps from the one that opens the children to the filter that was behind it. */
static void scale_estimates(struct filters *f, int from, double share)
{
    for (int i = from; i <= f->at; i++)
        if (f->p->steps.v[i].est >= 0)
            f->p->steps.v[i].est *= share;
}

/* True of the parent's key first: a parent all of whose children are left out makes no row of its own. False: it stays. */
static bool move(struct filters *f, const struct condition *key, int opened, double share)
{
    struct ctx *c = f->c;
    struct pl_step *s = &f->p->steps.v[opened];
    const struct rt_arg *with = &c->args.v[key->arg];
    struct pl_val v;
    int before = f->p->steps.n;
    if (h_value(c, f->p, h_column(c, key->table, key->column, h_row(c, key->row_slot, key->table, -1, false)), &v) != 0)
        return false;
    if (v.nullable || v.phys != with->phys || f->p->steps.n != before + 1) {
        f->p->steps.n = before;
        return false;
    }
    int args[] = {v.expr, pb_const_int(c, with->phys, with->i)};
    pb_filter(c, f->p, pb_op(c, key->op, RT_BOOL, false, 2, args), 1, s->path);
    move_last(f->p, 2, opened);
    f->at += 2;
    if (f->fold >= opened)
        f->fold += 2;
    scale_estimates(f, opened + 2, share);
    return true;
}

/* ---- steps --------------------------------------------------------------------------------------- */

static void note_held(struct filters *f, const struct condition *x)
{
    if (f->nheld < HELD_MAX)
        f->held[f->nheld++] = *x;
}

static double share_left(const struct filters *f)
{
    const struct open_pipeline *p = f->p;
    double before = p->steps.v[f->at].est, behind = f->at + 1 < p->steps.n ? p->steps.v[f->at + 1].est : p->est;
    return before > 0 && behind >= 0 && behind < before ? behind / before : 1;
}

/* Whether the filter can go. */
static bool is_dropped(struct filters *f)
{
    struct condition x, key;
    if (!read_condition(f, f->p->steps.v[f->at].expr, &x))
        return false;
    if (holds(f, &x))
        return true;
    int opened = opened_by(f, &x);
    if (opened >= 0) {
        key = of_parent(f, &x, opened);
        if (holds(f, &key))
            return true;
        if (move(f, &key, opened, share_left(f))) {
            note_held(f, &key);
            return true;
        }
    }
    if (f->fold < 0) /* what holds of children does not outlive the fold */
        note_held(f, &x);
    return false;
}

static void drop(struct filters *f)
{
    struct pl_step *s = &f->p->steps.v[f->at];
    memmove(s, s + 1, (size_t)(--f->p->steps.n - f->at) * sizeof *s);
}

static void filter_parents(struct filters *f)
{
    while (f->at < f->p->steps.n) {
        const struct pl_step *s = &f->p->steps.v[f->at];
        if (pl_opens_fold(s->kind))
            f->fold = f->at;
        if (s->kind == PL_STEP_FOLD_END)
            f->fold = -1;
        if (s->kind == PL_STEP_FILTER && is_dropped(f))
            drop(f);
        else
            f->at++;
    }
}

void pl_filter_parents(struct ctx *c)
{
    for (int i = 0; i < c->pipelines.n; i++) {
        struct filters f = {.c = c, .p = c->pipelines.v[i], .fold = -1};
        filter_parents(&f);
    }
}
