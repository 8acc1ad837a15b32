/* The args vector: the words that generated code reads. Addresses of states change as states
 * finish, so all words are written anew before each pipeline: there are few. */
#include "runtime/cpu/like.h"
#include "runtime/exec/arg_values.h"
#include "runtime/exec/exec_internal.h"

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void put_plan(uint64_t *w, const struct rt_arg *a)
{
    switch (a->kind) {
    case RT_ARG_CONST:
        if (a->phys != RT_STR) {
            rt_arg_constant(a, w);
            return;
        }
        w[0] = address(a->s);
        w[1] = a->n;
        return;
    case RT_ARG_SET:
    case RT_ARG_LIKE: return; /* made once, in rt_args_init */
#define T_ARG_PLAN(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no constant", (int)a->kind);
}

static uint64_t state_word(const struct rt_arg *a, const struct rt_live *v)
{
    switch (a->kind) {
    case RT_ARG_STATE_BITS: return address(v->bits.p);
    case RT_ARG_STATE_MATCHES: return address(v->matches.p);
    case RT_ARG_STATE_RANGE: return v->s->range;
    case RT_ARG_STATE_ROWS: return address(v->rows);
    case RT_ARG_STATE_NROWS: return v->nrows;
    case RT_ARG_STATE_BOUND: return (uint64_t)v->bound;
    case RT_ARG_STATE_OFFSETS: return address(v->offsets.p);
    case RT_ARG_STATE_SLOTS: return address(v->slots.p);
    case RT_ARG_STATE_MASK: return v->mask;
    case RT_ARG_STATE_FIELD: return address(v->field ? v->field[a->index] : NULL);
    case RT_ARG_STATE_FIELD_VALID: return address(v->valid ? v->valid[a->index] : NULL);
#define T_ARG_STATE(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no state's", (int)a->kind);
}

static void put(struct rt_exec *x, const struct rt_arg *a)
{
    uint64_t *w = x->args + a->word;
    switch (rt_arg_group(a->kind)) {
    case RT_ARGS_PLAN: put_plan(w, a); return;
    case RT_ARGS_NUMBER: rt_arg_number(x->spec, a, w); return;
    case RT_ARGS_MEMORY: w[0] = address(rt_arg_memory(a)); return;
    case RT_ARGS_STATE:
        w[0] = state_word(a, &x->live[a->state]);
        if (a->kind == RT_ARG_STATE_BOUND)
            x->live[a->state].bound_word = (_Atomic uint64_t *)w;
        return;
    }
}

static void init_plan(struct rt_exec *x, const struct rt_arg *a)
{
    uint64_t *w = x->args + a->word;
    if (a->kind == RT_ARG_LIKE)
        w[0] = address(hdr_like_new(&x->arena, a->s, a->n, a->escape, &x->failure));
    if (a->kind != RT_ARG_SET)
        return;
    w[0] = address(rt_set_filtered(&x->arena, a));
    w[1] = (uint64_t)a->nset;
}

int rt_args_init(struct rt_exec *x)
{
    const struct rt_spec *s = x->spec;
    x->args = HD_NEWN(&x->arena, uint64_t, s->nwords + 1);
    for (int i = 0; i < s->nargs; i++)
        init_plan(x, &s->args[i]);
    return 0;
}

void rt_args_resolve(struct rt_exec *x)
{
    for (int i = 0; i < x->spec->nargs; i++)
        put(x, &x->spec->args[i]);
}
