/* Slots of a large HASH whose keys are distinct, window by window (templates/finish/finish_window.cu). */
#include "runtime/gpu/gpu_state.h"

struct windows {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct hdd_window_args p;
    struct rt_radix order;
    struct rt_piece state, begins, spilled, sample;
};

static int launch(struct windows *w, const char *entry, uint64_t items, uint64_t each, struct hd_err *err)
{
    w->p.blocks = rt_finish_blocks(w->x, items, each);
    return rt_finish_launch(w->x, "finish_window", entry, w->p.blocks, &w->p, err);
}

static uint64_t slots_for(uint64_t keys)
{
    return hd_pow2_ceil(HD_MAX(keys + keys / 2, (uint64_t)8));
}

/* Keys that repeat are not worth sorting for: a few rows most often show them. */
static int sample(struct windows *w, bool *failed, struct hd_err *err)
{
    uint64_t rows = w->p.n / HDD_SAMPLED, slots = slots_for(rows);
    struct hdd_window_state state;
    HD_TRY(rt_state_alloc_zeroed(w->x, w->v->s, (size_t)slots * sizeof(uint64_t), &w->sample, err));
    w->p.slots = w->sample.address;
    w->p.mask = slots - 1;
    HD_TRY(launch(w, "hdd_window_sample", rows, RT_FINISH_THREADS, err));
    HD_TRY(w->x->d->ops->download(w->x->d, &state, w->p.state, sizeof state, err));
    rt_gpu_release(w->x, &w->sample);
    *failed = state.failed != 0;
    return 0;
}

static int sort_words(struct windows *w, uint64_t slots, struct hd_err *err)
{
    struct rt_radix *r = &w->order;
    uint64_t upper = (slots - 1) >> HDD_WINDOW_BITS << HDD_WINDOW_BITS;
    HD_TRY(rt_radix_alloc(w->x, w->v->s, w->p.n, false, r, err));
    HD_TRY(rt_radix_sort_hashes(w->x, w->v->s, r, upper << 32, w->p.rows, err));
    w->p.words = r->keys[r->now].address;
    rt_gpu_release(w->x, &r->keys[1 - r->now]);
    return 0;
}

/* No slot needs clearing: each is written. */
static int fill(struct windows *w, uint64_t slots, struct hd_err *err)
{
    uint64_t windows = slots >> HDD_WINDOW_BITS;
    w->p.room = w->p.n / 16 + 1024;
    HD_TRY(rt_state_alloc(w->x, w->v->s, (size_t)(windows + 1) * sizeof(uint32_t), &w->begins, err));
    HD_TRY(rt_state_alloc(w->x, w->v->s, (size_t)w->p.room * sizeof(uint64_t), &w->spilled, err));
    HD_TRY(rt_state_alloc(w->x, w->v->s, (size_t)slots * sizeof(uint64_t), &w->v->slots_at, err));
    w->p.begins = w->begins.address;
    w->p.spilled = w->spilled.address;
    w->p.slots = w->v->slots_at.address;
    HD_TRY(launch(w, "hdd_window_begins", w->p.n + 1, RT_FINISH_THREADS, err));
    HD_TRY(launch(w, "hdd_window_fill", windows, 1, err));
    return launch(w, "hdd_window_finish", w->p.room, RT_FINISH_THREADS, err);
}

static int make(struct windows *w, bool *made, struct hd_err *err)
{
    uint64_t slots = slots_for(w->p.n);
    struct hdd_window_state state;
    bool failed = false;
    HD_TRY(rt_state_alloc_zeroed(w->x, w->v->s, sizeof state, &w->state, err));
    w->p.state = w->state.address;
    if (!w->p.distinct)
        HD_TRY(sample(w, &failed, err));
    if (failed)
        return 0;
    w->p.mask = slots - 1;
    HD_TRY(sort_words(w, slots, err));
    HD_TRY(fill(w, slots, err));
    HD_TRY(w->x->d->ops->download(w->x->d, &state, w->p.state, sizeof state, err));
    *made = !state.failed && state.spilled <= w->p.room;
    return 0;
}

bool rt_hash_has_windows(const struct rt_gpu_exec *x, uint64_t rows)
{
    uint64_t slots = slots_for(rows);
    return rows > (x->first_rows ? x->first_rows : RT_WINDOW_ROWS_MIN) && slots > 1 << HDD_WINDOW_BITS &&
           slots - 1 <= UINT32_MAX;
}

int rt_hash_by_windows(struct rt_gpu_exec *x, struct rt_gpu_state *v, const struct hdd_keys *keys, bool distinct,
                       bool *made, struct hd_err *err)
{
    struct windows w = {.x = x, .v = v, .p = {.keys = *keys, .rows = v->rows, .n = v->nrows, .distinct = distinct}};
    *made = false;
    int rc = make(&w, made, err);
    v->mask = w.p.mask;
    rt_radix_release(x, &w.order);
    rt_gpu_release(x, &w.state);
    rt_gpu_release(x, &w.begins);
    rt_gpu_release(x, &w.spilled);
    rt_gpu_release(x, &w.sample);
    if (!*made)
        rt_gpu_release(x, &v->slots_at);
    return rc;
}
