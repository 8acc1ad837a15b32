/* Launches of the fixed kernels (templates/finish), and fields of rows as these get them described: as keys to compare,
 * to hash, to order by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/gpu/gpu_state.h"

enum { RESIDENT = 2048 }; /* threads of a multiprocessor at most */

static uint32_t blocks_of(const struct rt_gpu_exec *x, uint64_t n, uint64_t each, uint32_t threads)
{
    uint64_t max = (uint64_t)HD_MAX(x->d->info.multiprocessors, 1) * (RESIDENT / threads);
    return (uint32_t)HD_MAX(HD_MIN((n + each - 1) / each, max), (uint64_t)1);
}

uint32_t rt_finish_blocks(const struct rt_gpu_exec *x, uint64_t n, uint64_t each)
{
    return blocks_of(x, n, each, RT_FINISH_THREADS);
}

uint32_t rt_radix_blocks(const struct rt_gpu_exec *x, uint64_t n, uint64_t each)
{
    return blocks_of(x, n, each, HDD_RADIX_THREADS);
}

/* HEDDLE_FINISH_TIMES: the launch alone, and its time. */
static int launch_timed(struct rt_gpu_exec *x, rt_function *f, const struct rt_launch *l, const char *entry,
                        struct hd_err *err)
{
    const struct rt_device_ops *ops = x->d->ops;
    rt_event *from, *to = NULL;
    double ms = 0;
    HD_TRY(ops->event(x->d, &from, err));
    int rc = ops->launch(x->d, f, l, err);
    if (rc == 0)
        rc = ops->event(x->d, &to, err);
    if (rc == 0)
        rc = ops->elapsed(x->d, from, to, &ms, err);
    ops->event_free(x->d, from);
    if (to)
        ops->event_free(x->d, to);
    if (rc == 0)
        fprintf(stderr, "kernel %s %.4f ms\n", entry, ms);
    return rc;
}

/* What is queued cannot be taken back, so nothing is behind a kernel that takes long. */
static int wait_watched(struct rt_gpu_exec *x, struct hd_err *err)
{
    enum { LOOK_MS = 2 };
    for (bool done = false; !done;)
        HD_TRY(x->d->ops->poll(x->d, LOOK_MS, &done, err));
    return hd_stopped(x->o->stop) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : 0;
}

int rt_finish_launch_bytes(struct rt_gpu_exec *x, const char *module, const char *entry, uint32_t blocks,
                           uint32_t threads, const void *args, size_t bytes, struct hd_err *err)
{
    const struct rt_launch l = {.blocks = blocks, .threads = threads, .nparams = 1, .param = {{args, bytes}}};
    rt_function *f;
    HD_TRY(rt_gpu_finish_function(x, module, entry, &f, err));
    if (secure_getenv("HEDDLE_FINISH_TIMES"))
        HD_TRY(launch_timed(x, f, &l, entry, err));
    else
        HD_TRY(x->d->ops->launch(x->d, f, &l, err));
    return x->watched ? wait_watched(x, err) : 0;
}

/* ---- keys -------------------------------------------------------------------------------- */

_Static_assert((int)HDD_BOOL == (int)RT_BOOL && (int)HDD_I32 == (int)RT_I32 && (int)HDD_I64 == (int)RT_I64 &&
                   (int)HDD_I128 == (int)RT_I128 && (int)HDD_F64 == (int)RT_F64 && (int)HDD_STR == (int)RT_STR &&
                   (int)HDD_F32 == (int)RT_F32,
               "physical types of the kernels are those of the spec");

struct hdd_key rt_key_of_field(const struct rt_field *f)
{
    return (struct hdd_key){
        .offset = (hdd_u32)f->offset, .valid = f->valid_offset, .phys = (hdd_u32)f->phys, .max = 1u << 28};
}

int rt_keys_make(struct rt_gpu_exec *x, const struct rt_state *s, const struct hdd_key *from, int n, struct hdd_keys *k,
                 struct rt_piece *more, struct hd_err *err)
{
    size_t bytes = (size_t)n * sizeof *from;
    *k = (struct hdd_keys){.n = (hdd_u32)n, .stride = (hdd_u32)s->stride};
    *more = (struct rt_piece){0};
    if (n <= HDD_INLINE_KEYS) {
        if (n)
            memcpy(k->key, from, bytes);
        return 0;
    }
    HD_TRY(rt_state_alloc(x, s, bytes, more, err));
    k->more = more->address;
    return x->d->ops->upload(x->d, more->address, from, bytes, err);
}

int rt_keys_of_order(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_keys *k, struct rt_piece *more,
                     struct hd_err *err)
{
    struct hdd_key *key = HD_NEWN(x->arena, struct hdd_key, s->nsort);
    for (int i = 0; i < s->nsort; i++) {
        key[i] = rt_key_of_field(&s->fields[s->sort[i].field]);
        key[i].desc = s->sort[i].desc;
        key[i].nulls_first = s->sort[i].nulls_first;
    }
    return rt_keys_make(x, s, key, s->nsort, k, more, err);
}

int rt_keys_of_group(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_keys *k, struct rt_piece *more,
                     struct hd_err *err)
{
    struct hdd_key *key = HD_NEWN(x->arena, struct hdd_key, s->nkeys);
    for (int i = 0; i < s->nkeys; i++)
        key[i] = rt_key_of_field(&s->fields[i]);
    return rt_keys_make(x, s, key, s->nkeys, k, more, err);
}

int rt_keys_of_strings(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_keys *k, struct rt_piece *more,
                       struct hd_err *err)
{
    struct hdd_key *key = HD_NEWN(x->arena, struct hdd_key, s->nfields);
    int n = 0;
    for (int i = 0; i < s->nfields; i++)
        if (s->fields[i].phys == RT_STR)
            key[n++] = rt_key_of_field(&s->fields[i]);
    return rt_keys_make(x, s, key, n, k, more, err);
}
