/* The args vector (runtime/spec.h) with device addresses. What the plan's constants point to
 * travels in one block. */
#include <string.h>

#include "runtime/base/strbuf.h"
#include "runtime/exec/arg_values.h"
#include "runtime/gpu/gpu_internal.h"
#include "runtime/gpu/gpu_like.h"

/* ---- constants ------------------------------------------------------------------------- */

/* A STR field or element of a set. */
struct text {
    uint64_t address, n;
};

/* Offset of the bytes in the block. */
static uint64_t append(struct hd_strbuf *b, const void *p, size_t n)
{
    hd_strbuf_addn(b, 0, (int)(hd_align_up(b->n, 16) - b->n));
    uint64_t at = b->n;
    hd_strbuf_add(b, p, n);
    return at;
}

/* A set of strings: the elements' addresses are completed in `finish_set`. */
static uint64_t append_set(struct hd_arena *a, struct hd_strbuf *b, const struct rt_arg *arg)
{
    size_t n = (size_t)arg->nset;
    if (arg->phys != RT_STR)
        return append(b, arg->set, n * (size_t)rt_phys_size(arg->phys));
    struct text *copy = hd_dup(a, arg->set, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i].address = append(b, (const void *)(uintptr_t)copy[i].address, (size_t)copy[i].n);
    return append(b, copy, n * sizeof *copy);
}

static void finish_set(struct hd_strbuf *b, const struct rt_arg *arg, uint64_t at, uint64_t base)
{
    for (int i = 0; arg->phys == RT_STR && i < arg->nset; i++) {
        struct text t;
        char *p = b->s + at + (size_t)i * sizeof t;
        memcpy(&t, p, sizeof t);
        t.address += base;
        memcpy(p, &t, sizeof t);
    }
}

/* It has bytes in the block. */
static bool points(const struct rt_arg *a)
{
    return rt_arg_group(a->kind) == RT_ARGS_PLAN && (a->kind != RT_ARG_CONST || a->phys == RT_STR);
}

/* Word 0 becomes an offset in the block. */
static void append_constant(struct rt_gpu_exec *x, struct hd_strbuf *b, const struct rt_arg *a)
{
    uint64_t *w = x->words + a->word;
    const void *pattern;
    size_t n;
    switch (a->kind) {
    case RT_ARG_CONST:
        w[0] = append(b, a->s, a->n);
        w[1] = a->n;
        return;
    case RT_ARG_SET:
        w[0] = append_set(x->arena, b, a);
        w[1] = (uint64_t)a->nset;
        return;
    case RT_ARG_LIKE:
        pattern = rt_gpu_like(x->arena, a->s, a->n, a->escape, &n);
        w[0] = append(b, pattern, n);
        return;
#define T_ARG_PLAN(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no constant", (int)a->kind);
}

static void relocate(struct rt_gpu_exec *x, struct hd_strbuf *b)
{
    for (int i = 0; i < x->spec->nargs; i++) {
        const struct rt_arg *a = &x->spec->args[i];
        if (!points(a))
            continue;
        if (a->kind == RT_ARG_SET)
            finish_set(b, a, x->words[a->word], x->constants.address);
        x->words[a->word] += x->constants.address;
    }
}

static int upload_constants(struct rt_gpu_exec *x, struct hd_strbuf *b, struct hd_err *err)
{
    for (int i = 0; i < x->spec->nargs; i++)
        if (points(&x->spec->args[i]))
            append_constant(x, b, &x->spec->args[i]);
    if (b->n == 0)
        return 0;
    HD_TRY(rt_gpu_alloc(x, NULL, b->n, &x->constants, err));
    relocate(x, b);
    /* The block must outlive the copy, which is queued. */
    const void *stays = hd_dup(x->arena, b->s, b->n);
    return x->d->ops->upload(x->d, x->constants.address, stays, b->n, err);
}

/* ---- what stays the same throughout the execution --------------------------------------- */

static int put_memory(struct rt_gpu_exec *x, const struct rt_arg *a, uint64_t *w, struct hd_err *err)
{
    const unsigned char *p = NULL;
    switch (a->way) {
    case RT_WAY_RESIDENT: return rt_gpu_resident_rows(x->g, a, rt_arg_rows(x->spec, a), w, err);
    case RT_WAY_STREAMED: *w = 0; return 0; /* gpu_stream.c */
    case RT_WAY_MAPPED:
        HD_TRY(rt_gpu_host_copy(x->g, a, true, x->o, &p, err));
        *w = (uint64_t)(uintptr_t)p;
        return 0;
    }
    HD_BUG("way %d", (int)a->way);
}

static int put_fixed(struct rt_gpu_exec *x, const struct rt_arg *a, struct hd_err *err)
{
    uint64_t *w = x->words + a->word;
    switch (rt_arg_group(a->kind)) {
    case RT_ARGS_PLAN:
        if (!points(a)) /* those: upload_constants */
            rt_arg_constant(a, w);
        return 0;
    case RT_ARGS_NUMBER: rt_arg_number(x->spec, a, w); return 0;
    case RT_ARGS_MEMORY: return put_memory(x, a, w, err);
    case RT_ARGS_STATE: return 0; /* rt_gpu_args_resolve */
    }
    HD_BUG("argument kind %d", (int)a->kind);
}

int rt_gpu_args_columns(struct rt_gpu_exec *x, struct hd_err *err)
{
    x->words = HD_NEWN(x->arena, uint64_t, x->spec->nwords + 1);
    for (int i = 0; i < x->spec->nargs; i++)
        HD_TRY(put_fixed(x, &x->spec->args[i], err));
    return 0;
}

int rt_gpu_args_constants(struct rt_gpu_exec *x, struct hd_err *err)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    int rc = upload_constants(x, &b, err);
    hd_strbuf_release(&b);
    return rc;
}

/* ---- states ---------------------------------------------------------------------------- */

static uint64_t state_word(const struct rt_arg *a, const struct rt_gpu_state *v)
{
    switch (a->kind) {
    case RT_ARG_STATE_BITS: return v->bits_at.address;
    case RT_ARG_STATE_MATCHES: return v->matches_at.address;
    case RT_ARG_STATE_RANGE: return v->s->range;
    case RT_ARG_STATE_ROWS: return v->finished ? v->rows : v->rows_at.address;
    case RT_ARG_STATE_NROWS: return v->nrows;
    case RT_ARG_STATE_BOUND: return (uint64_t)v->bound;
    case RT_ARG_STATE_OFFSETS: return v->offsets_at.address;
    case RT_ARG_STATE_SLOTS: return v->slots_at.address;
    case RT_ARG_STATE_MASK: return v->mask;
    case RT_ARG_STATE_FIELD: return v->field ? v->field[a->index] : 0;
    case RT_ARG_STATE_FIELD_VALID: return v->valid ? v->valid[a->index] : 0;
#define T_ARG_STATE(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no state's", (int)a->kind);
}

void rt_gpu_args_resolve(struct rt_gpu_exec *x)
{
    for (int i = 0; i < x->spec->nargs; i++) {
        const struct rt_arg *a = &x->spec->args[i];
        if (rt_arg_group(a->kind) == RT_ARGS_STATE)
            x->words[a->word] = state_word(a, &x->state[a->state]);
    }
}
