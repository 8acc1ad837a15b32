/* Of rows that are told apart by their whole order, ties broken by all columns, the first one of a group has the smallest
 * word: sort keys and columns as integers that order like them, one behind the other in one integer. So a top of one row
 * is a grouping with a minimum, of which the columns are taken out again; nothing is kept but groups. */
#include "planner/rewrite_first.h"

#include "planner/rewrite_ordinals.h"
#include "planner/typed.h"

/* A word has at most so many digits: quotients have six more. */
enum { DIGITS = HD_DEC_MAX - 7 };

/* A sort key within words: (its distance from the end that comes first, NULL in front of or behind all) * below. */
struct part {
    const struct fe_sort_key *key;
    struct pl_range range;
    hd_i128 span, below;
};

struct word {
    int n;
    struct part *parts; /* the first one counts most */
};

static const struct hd_type wide = {HD_DECIMAL, HD_DEC_MAX, 0}, quotient = {HD_DECIMAL, HD_DEC_MAX, 6};

/* Of equal floats the one that the row has would be lost. */
static bool is_exact(struct hd_type t)
{
    return !hd_type_is_float(t) && !hd_type_is_text(t);
}

static bool part_of(const struct rewriting *w, const struct fe_node *in, const struct fe_sort_key *k, struct part *p)
{
    const hd_i128 limit = hd_pow10(DIGITS);
    *p = (struct part){.key = k};
    if (!is_exact(k->expr->type))
        return false;
    p->range = rw_ordinals(w, in, k->expr);
    if (!p->range.known || p->range.lo < -limit || p->range.hi > limit || p->range.hi < p->range.lo)
        return false;
    p->span = p->range.hi - p->range.lo + 1 + k->expr->nullable;
    return p->span < limit;
}

static bool word_of(const struct rewriting *w, const struct fe_node *n, struct word *to)
{
    const struct fe_sort_key *keys = n->u.sort.keys + n->u.sort.ngroup;
    hd_i128 below = 1;
    to->n = n->u.sort.nkeys - n->u.sort.ngroup;
    to->parts = HD_NEWN(w->a, struct part, to->n + 1);
    for (int i = to->n - 1; i >= 0; i--) {
        struct part *p = &to->parts[i];
        if (!part_of(w, n->inputs[0], &keys[i], p))
            return false;
        p->below = below;
        if (__builtin_mul_overflow(below, p->span, &below) || below > hd_pow10(DIGITS))
            return false;
    }
    return true;
}

/* Of equal floats in keys, too, the row's own one would be lost. */
static bool has_float_key(const struct fe_node *n)
{
    bool found = false;
    for (int i = 0; i < n->u.sort.ngroup; i++)
        found |= hd_type_is_float(n->u.sort.keys[i].expr->type);
    return found;
}

/* Loops over pairs keep the first ones in registers (planner/loop_top.c). */
static bool is_of_pairs(const struct fe_node *n)
{
    if (n->op == FE_PROJECT_OP || n->op == FE_FILTER_OP)
        return is_of_pairs(n->inputs[0]);
    return n->op == FE_PAIRS_OP || (n->op == FE_JOIN_OP && !n->u.join.nkeys);
}

bool rw_may_be_first(const struct fe_node *n)
{
    return n->op == FE_TOP_OP && fe_limit(n) == 1 && !fe_offset(n) && !n->u.sort.keep && n->u.sort.ngroup &&
           !has_float_key(n) && !is_of_pairs(n->inputs[0]);
}

bool rw_is_first(const struct rewriting *w, const struct fe_node *n)
{
    struct word word;
    return rw_may_be_first(n) && word_of(w, n, &word);
}

/* ---- expressions -------------------------------------------------------------------------------------------- */

static struct fe_expr *op(const struct rewriting *w, enum fe_op o, struct hd_type t, struct fe_expr *x,
                          struct fe_expr *y)
{
    bool nullable = o == FE_COALESCE ? x->nullable && y->nullable : x->nullable || (y && y->nullable);
    return pl_expr_node(w->a, o, t, nullable, x->path, y ? 2 : 1, x, y);
}

static struct fe_expr *number(const struct rewriting *w, hd_i128 v, const char *path)
{
    struct fe_expr *e = pl_expr_node(w->a, FE_LIT, wide, false, path, 0, NULL, NULL);
    e->value = (struct fe_value){.type = wide, .i = v};
    return e;
}

static hd_i128 null_place(const struct part *p)
{
    return p->key->nulls_first ? 0 : p->span - 1;
}

/* Where values that are not NULL begin. */
static hd_i128 first_place(const struct part *p)
{
    return p->key->expr->nullable && p->key->nulls_first;
}

/* x + v, x * v; x itself where that is the same. */
static struct fe_expr *plus(const struct rewriting *w, struct fe_expr *x, hd_i128 v)
{
    return v ? op(w, v < 0 ? FE_SUB : FE_ADD, wide, x, number(w, v < 0 ? -v : v, x->path)) : x;
}

static struct fe_expr *times(const struct rewriting *w, struct fe_expr *x, hd_i128 v)
{
    return v == 1 ? x : op(w, FE_MUL, wide, x, number(w, v, x->path));
}

static struct fe_expr *placed(const struct rewriting *w, const struct part *p)
{
    const char *path = p->key->expr->path;
    struct fe_expr *x = op(w, FE_ORDINAL, wide, p->key->expr, NULL);
    x = p->key->desc ? op(w, FE_SUB, wide, number(w, p->range.hi + first_place(p), path), x)
                     : plus(w, x, first_place(p) - p->range.lo);
    return p->key->expr->nullable ? op(w, FE_COALESCE, wide, x, number(w, null_place(p), path)) : x;
}

static struct fe_expr *packed(const struct rewriting *w, const struct word *word, const char *path)
{
    struct fe_expr *e = NULL;
    for (int i = 0; i < word->n; i++) {
        struct fe_expr *x = times(w, placed(w, &word->parts[i]), word->parts[i].below);
        e = e ? op(w, FE_ADD, wide, e, x) : x;
    }
    return e ? e : number(w, 0, path);
}

/* The division leaves no remainder. */
static struct fe_expr *unpacked(const struct rewriting *w, const struct part *p, struct fe_expr *word)
{
    const char *path = word->path;
    struct hd_type t = p->key->expr->type;
    struct fe_expr *x = op(w, FE_MOD, wide, word, number(w, p->below * p->span, path));
    if (p->below > 1) {
        x = op(w, FE_SUB, wide, x, op(w, FE_MOD, wide, word, number(w, p->below, path)));
        x = op(w, FE_CAST, wide, op(w, FE_DIV, quotient, x, number(w, p->below, path)), NULL);
    }
    struct fe_expr *v = p->key->desc ? op(w, FE_SUB, wide, number(w, p->range.hi + first_place(p), path), x)
                                     : plus(w, x, p->range.lo - first_place(p));
    v = op(w, FE_OF_ORDINAL, t, v, NULL);
    if (!p->key->expr->nullable)
        return v;
    struct fe_expr *there = op(w, FE_NE, hd_type_of(HD_BOOL), x, number(w, null_place(p), path));
    return pl_expr_node(w->a, FE_CASE, t, true, path, 2, there, v);
}

/* ---- the grouping ------------------------------------------------------------------------------------------- */

static struct fe_node *groups(const struct rewriting *w, const struct fe_node *n, const struct word *word)
{
    int nk = n->u.sort.ngroup;
    struct fe_node *g = rw_node(w, FE_AGGREGATE_OP, n, 1, n->inputs[0], NULL);
    g->u.agg.nkeys = nk;
    g->u.agg.keys = HD_NEWN(w->a, struct fe_expr *, nk);
    g->u.agg.naggs = 1;
    g->u.agg.aggs = HD_NEW(w->a, struct fe_agg);
    *g->u.agg.aggs = (struct fe_agg){.fn = FE_AGG_MIN, .arg = packed(w, word, n->path), .type = wide, .path = n->path};
    g->ncols = nk + 1;
    g->cols = HD_NEWN(w->a, struct fe_column, g->ncols);
    for (int i = 0; i < nk; i++) {
        struct fe_expr *e = g->u.agg.keys[i] = n->u.sort.keys[i].expr;
        g->cols[i] = (struct fe_column){"key", e->type, e->nullable};
    }
    g->cols[nk] = (struct fe_column){"first", wide, false};
    return g;
}

static bool is_column(const struct fe_sort_key *k, int col)
{
    return k->expr->op == FE_COL && k->expr->col == col;
}

/* A column is a key of the groups, or a part of the word. */
static struct fe_expr *column(const struct rewriting *w, const struct fe_node *n, const struct fe_node *g,
                              const struct word *word, int col)
{
    for (int i = 0; i < n->u.sort.ngroup; i++)
        if (is_column(&n->u.sort.keys[i], col))
            return rw_column(w, g, i);
    for (int i = 0; i < word->n; i++)
        if (is_column(word->parts[i].key, col))
            return unpacked(w, &word->parts[i], rw_column(w, g, n->u.sort.ngroup));
    HD_BUG("column %d is no key of a sort with all columns", col);
}

struct fe_node *rw_first(const struct rewriting *w, const struct fe_node *n)
{
    struct word word;
    if (!word_of(w, n, &word))
        HD_BUG("a row that does not fit a word");
    struct fe_node *g = groups(w, n, &word), *p = rw_node(w, FE_PROJECT_OP, n, 1, g, NULL);
    rw_set_columns(w, p, n);
    p->u.project.exprs = HD_NEWN(w->a, struct fe_expr *, n->ncols + 1);
    for (int i = 0; i < n->ncols; i++)
        p->u.project.exprs[i] = column(w, n, g, &word, i);
    return p;
}
