/* Rules of expressions: each operator has a form, the physical types of its result and its operands, which is a
 * column of frontend/ops.def. */
#include <limits.h>
#include <string.h>

#include "planner/verify.h"
#include "runtime/base/guard.h"

/* The result's type, then the operands'. One letter each:
 *   b bool  d int32  w int64  x int128  s text  i int32, int64 or int128  W int64 or int128
 *   f float64  g float32  r f or g  l i or g  k i or f  n i, f or g  v int64, int128, f or g  a any
 *   t int32 for dates, int64 for timestamps, by in_type  o likewise, by out_type
 *   = the result's type  1 the first operand's  ? the next operand may be missing
 *   * the operand before it again, any number of times */

enum { DIGITS_MAX = 38 };

static const struct pl_expr *arg_of(const struct vf *v, const struct pl_expr *e, int i)
{
    return &v->g->exprs[e->args[i]];
}

static bool is_date_phys(struct hd_type t, enum rt_phys p)
{
    return t.kind == HD_DATE ? p == RT_I32 : (t.kind == HD_TIMESTAMP || t.kind == HD_TIME) && p == RT_I64;
}

static bool fits(const struct vf *v, char letter, const struct pl_expr *e, enum rt_phys p)
{
    bool integer = p == RT_I32 || p == RT_I64 || p == RT_I128;
    switch (letter) {
    case 'b': return p == RT_BOOL;
    case 'd': return p == RT_I32;
    case 'w': return p == RT_I64;
    case 'x': return p == RT_I128;
    case 's':
    case 'p': return p == RT_STR;
    case 'f': return p == RT_F64;
    case 'g': return p == RT_F32;
    case 'r': return rt_phys_is_float(p);
    case 'l': return integer || p == RT_F32;
    case 'k': return integer || p == RT_F64;
    case 'i': return integer;
    case 'W': return p == RT_I64 || p == RT_I128;
    case 'n': return integer || rt_phys_is_float(p);
    case 'v': return p == RT_I64 || p == RT_I128 || rt_phys_is_float(p);
    case 't': return is_date_phys(e->in_type, p);
    case 'o': return is_date_phys(e->out_type, p);
    case '=': return p == e->phys;
    case '1': return p == arg_of(v, e, 0)->phys;
    }
    return letter == 'a';
}

static bool check_form(struct vf *v, const struct pl_expr *e)
{
    const char *form = fe_op_form(e->op)->types + 1;
    int n = 0;
    VF_CHECK(v, EXPR_TYPE, fits(v, form[-1], e, e->phys));
    for (; *form; form++) {
        bool optional = *form == '?', again = *form == '*';
        if (optional || again)
            form += optional;
        if (again) {
            for (; n < e->nargs; n++)
                VF_CHECK(v, EXPR_TYPE, fits(v, form[-1], e, arg_of(v, e, n)->phys));
            continue;
        }
        if (optional && n == e->nargs)
            continue;
        VF_CHECK(v, EXPR_ARITY, n < e->nargs);
        VF_CHECK(v, EXPR_TYPE, fits(v, *form, e, arg_of(v, e, n)->phys));
        n++;
    }
    VF_CHECK(v, EXPR_ARITY, n == e->nargs);
    return true;
}

static bool is_condition(const struct pl_expr *e, int i)
{
    return e->op == FE_CASE && i % 2 == 0 && i < e->nargs / 2 * 2;
}

/* What letters cannot tell. */
static bool check_types(struct vf *v, const struct pl_expr *e)
{
    for (int i = 0; i < e->nargs && e->op == FE_CASE; i++)
        VF_CHECK(v, EXPR_TYPE, arg_of(v, e, i)->phys == (is_condition(e, i) ? RT_BOOL : e->phys));
    if (e->op == FE_WIDEN)
        VF_CHECK(v, EXPR_TYPE, arg_of(v, e, 0)->phys < e->phys);
    if (e->op == FE_NARROW)
        VF_CHECK(v, EXPR_TYPE, arg_of(v, e, 0)->phys >= e->phys);
    return true;
}

static bool must_be_nullable(const struct vf *v, const struct pl_expr *e)
{
    bool *nullable = HD_NEWN(v->arena, bool, e->nargs + 1), any = false;
    for (int i = 0; i < e->nargs; i++)
        any |= nullable[i] = arg_of(v, e, i)->nullable;
    return fe_op_form(e->op)->nulls == FE_NULLS_OWN ? any : fe_op_nullable(e->op, e->nargs, nullable);
}

static bool check_values(struct vf *v, const struct pl_expr *e)
{
    bool scaled = e->op == FE_RESCALE || e->op == FE_DIVROUND || e->op == FE_TO_F64 || e->op == FE_TO_F32 ||
                  e->op == FE_FROM_F64 || e->op == FE_OF_PARTS || (e->op == FE_DIV && e->phys == RT_I128);
    VF_CHECK(v, EXPR_NULL, e->nullable || !must_be_nullable(v, e));
    VF_CHECK(v, EXPR_NULL, !e->nullable || fe_op_form(e->op)->nulls != FE_NULLS_NEVER);
    VF_CHECK(v, EXPR_OUTLINED, !e->outlined || v->p->framed);
    bool can_fail = fe_op_form(e->op)->fails != FE_FAILS_NEVER;
    VF_CHECK(v, EXPR_FAIL, !e->fail || (can_fail && e->path >= 0 && e->path < v->spec->nsites));
    VF_CHECK(v, EXPR_SCALE, !scaled || (e->scale >= 0 && e->scale <= DIGITS_MAX));
    VF_CHECK(v, EXPR_SCALE, e->limit_digits >= 0 && e->limit_digits <= DIGITS_MAX);
    VF_CHECK(v, EXPR_SATURATE, !e->saturate || (e->op == FE_RESCALE && e->phys == RT_I128 && !e->fail));
    return true;
}

/* ---- leaves and what looks into memory ---- */

static const struct rt_arg *arg_at(const struct vf *v, int arg, enum rt_arg_kind kind)
{
    return arg >= 0 && arg < v->spec->nargs && v->spec->args[arg].kind == kind ? &v->spec->args[arg] : NULL;
}

static bool check_slot(struct vf *v, const struct pl_expr *e)
{
    VF_CHECK(v, EXPR_SLOT, e->slot >= 0 && e->slot < v->p->nslots);
    const struct pl_slot *s = &v->p->slots[e->slot];
    VF_CHECK(v, EXPR_SLOT, s->phys == e->phys && s->nullable == e->nullable);
    return true;
}

static bool check_literal(struct vf *v, const struct pl_expr *e)
{
    const struct rt_arg *a = arg_at(v, e->arg, RT_ARG_CONST), *first = arg_at(v, e->arg, RT_ARG_SOURCE_FIRST);
    a = a ? a : first;
    VF_CHECK(v, LITERAL_ARG, !first || v->p->spec == &v->spec->pipelines[first->index]);
    VF_CHECK(v, LITERAL_NULL, e->nullable == e->is_null);
    VF_CHECK(v, LITERAL_ARG, e->is_null || (a && a->phys == e->phys));
    return true;
}

static bool check_lookup(struct vf *v, const struct pl_expr *e)
{
    const struct rt_arg *a = arg_at(v, e->arg, RT_ARG_STATE_ROWS);
    VF_CHECK(v, LOOKUP_STATE, vf_state_is(v, e->state, VF_BIT(RT_STATE_ARRAY)) && a && a->state == e->state);
    const struct rt_state *st = &v->spec->states[e->state];
    VF_CHECK(v, LOOKUP_STATE, st->nfields > 0 && st->fields[0].phys == e->phys);
    VF_CHECK(v, LOOKUP_STATE, e->nullable || st->fields[0].valid_offset < 0);
    return true;
}

static bool check_dict(struct vf *v, const struct pl_expr *e)
{
    const struct rt_arg *a = arg_at(v, e->arg, RT_ARG_DICT_OFFSETS), *b = arg_at(v, e->arg2, RT_ARG_DICT_BYTES);
    VF_CHECK(v, DICT_ARG, a && b && a->table == b->table && a->column == b->column);
    return true;
}

/* The word's bits are the set's elements, of which others are nothing that is looked for. */
static bool tells_bits(const struct vf *v, const struct pl_expr *e, const struct rt_arg *set)
{
    const struct pl_expr *word = arg_of(v, e, 1);
    const struct rt_arg *k = word->op == FE_LIT ? arg_at(v, word->arg, RT_ARG_CONST) : NULL;
    uint64_t bits = 0;
    if (!k || word->phys > RT_I64)
        return false;
    for (int i = 0; i < set->nset; i++) {
        int32_t x = ((const int32_t *)set->set)[i];
        if (x >= 0 && x < (word->phys == RT_I32 ? 32 : 64))
            bits |= (uint64_t)1 << x;
    }
    return k->i == (word->phys == RT_I32 ? (hd_i128)(int32_t)(uint32_t)bits : (hd_i128)(int64_t)bits);
}

static bool check_memory(struct vf *v, const struct pl_expr *e)
{
    const struct rt_arg *set = arg_at(v, e->arg, RT_ARG_SET);
    if (e->op == FE_COL)
        return check_slot(v, e);
    if (e->op == FE_LIT)
        return check_literal(v, e);
    if (e->op == FE_LOOKUP)
        return check_lookup(v, e);
    if (e->op == FE_DICT_STRING)
        return check_dict(v, e);
    VF_CHECK(v, BOUND_ARG, e->op != FE_BOUND || arg_at(v, e->arg, RT_ARG_STATE_BOUND));
    VF_CHECK(v, SET_ARG, !pl_is_set(e->op) || (set && set->phys == arg_of(v, e, 0)->phys));
    VF_CHECK(v, SET_BITS, e->op != FE_IN_BITS || tells_bits(v, e, set));
    VF_CHECK(v, LIKE_ARG, e->op != FE_LIKE || arg_at(v, e->arg, RT_ARG_LIKE));
    return true;
}

/* ---- trees ---- */

static bool check_node(struct vf *v, int i)
{
    const struct pl_expr *e = &v->g->exprs[i];
    v->expr = i;
    VF_CHECK(v, EXPR_OP, e->op < FE_OP_COUNT && *fe_op_form(e->op)->types);
    VF_TRY(check_form(v, e));
    VF_TRY(check_types(v, e));
    VF_TRY(check_values(v, e));
    VF_TRY(check_memory(v, e));
    VF_TRY(vf_evaluation(v, e));
    v->expr = -1;
    return true;
}

/* Nodes are shared, so each is looked at once in a pipeline: slots that are set stay so. */
static bool check_tree(struct vf *v, int i)
{
    int busy = 2 * v->pipeline + 1, done = busy + 1, ready = 0;
    VF_CHECK(v, EXPR_INDEX, i >= 0 && i < v->g->nexprs);
    VF_CHECK(v, EXPR_CYCLE, v->seen[i] != busy);
    if (v->seen[i] == done)
        return true;
    hd_poll();
    v->seen[i] = busy;
    const struct pl_expr *e = &v->g->exprs[i];
    for (int a = 0; a < e->nargs; a++) {
        VF_TRY(check_tree(v, e->args[a]));
        ready = HD_MAX(ready, v->ready[e->args[a]]);
    }
    VF_TRY(check_node(v, i));
    if (e->op == FE_DICT_STRING || e->op == FE_LOOKUP)
        v->looks[v->nlooks++] = i;
    v->ready[i] = e->op == FE_COL ? v->set_by[e->slot] : ready;
    v->seen[i] = done;
    return true;
}

bool vf_expr(struct vf *v, int e, int at)
{
    VF_TRY(check_tree(v, e));
    v->expr = e;
    VF_CHECK(v, SLOT_DEFINED, v->ready[e] <= at);
    v->expr = -1;
    return true;
}
