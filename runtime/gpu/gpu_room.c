/* Room for rows and groups while a state is filled: how many are expected at first, and more where that was too little. */
#include <string.h>

#include "runtime/gpu/gpu_state.h"

enum {
    FIRST_ROWS = 1024, /* room for at least so many */
    /* Estimates of groups are often far too low, and a second run costs more than the 10 us for a
     * million groups to clear; at most so many, whose slots fit the cache. */
    FIRST_GROUPS = 1 << 16,
    FIRST_GROUPS_MAX = 1 << 20,
    ROWS_OF_A_GROUP = 8,
    MEMORY_SHARE = 4, /* an estimate gets at most so large a part of the memory, */
    LEVEL_SHARE = 32, /* and so large a one where rows multiply: such estimates can be thousands of times too high */
    CHEAP_SHARE = 64 /* of that, what is taken without a thought */
};
/* But not more than this. */
static const uint64_t CHEAP_BYTES = 16 << 20;
/* Groups that are expected get so much at most: clearing it takes 0.1 ms, estimates of groups can be far too high, and
 * a table that is too small ends its run early and is asked for once (rt_gpu_run_options.room). */
static const uint64_t GROUPS_BYTES = 256 << 20;

/* ---- how many ---------------------------------------------------------------------------- */

uint64_t rt_gpu_source_rows(const struct rt_gpu_exec *x, const struct rt_pipeline *p)
{
    switch (p->source) {
    case RT_SOURCE_TABLE: return (uint64_t)p->table->rows;
    case RT_SOURCE_ROWS: return x->state[p->state].nrows;
    case RT_SOURCE_INDEX: return x->spec->states[p->state].range;
    case RT_SOURCE_DICT: return p->table->cols[p->column].dict.n;
    }
    HD_BUG("source %d", (int)p->source);
}

/* Any rows will do, and so many are enough. One more than is allowed shows that there are. */
uint64_t rt_state_enough_rows(const struct rt_state *s)
{
    return s->single ? 2 : s->nsort ? UINT64_MAX : rt_state_wanted_rows(s);
}

/* Rows of the source of the pipeline that alone fills the state, each of which gives at most one
 * row; UINT64_MAX: there are more pipelines, or rows may multiply. */
static uint64_t max_rows(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    const struct rt_pipeline *only = NULL;
    for (int i = 0; i < x->spec->npipelines; i++) {
        const struct rt_pipeline *p = &x->spec->pipelines[i];
        if (&x->spec->states[p->writes[0]] != s)
            continue;
        if (only || p->nlevels > 1)
            return UINT64_MAX;
        only = p;
    }
    if (!only || s->nvalues)
        return UINT64_MAX;
    return only->source == RT_SOURCE_ROWS ? rt_gpu_state_rows(&x->state[only->state]) : rt_gpu_source_rows(x, only);
}

/* Rows that pipelines bring, as the planner expects. An order with a limit leaves fewer. */
static double expected_rows(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    double rows = 0;
    for (int i = 0; i < x->spec->npipelines; i++) {
        const struct rt_pipeline *p = &x->spec->pipelines[i];
        if (&x->spec->states[p->writes[0]] == s && p->ncounters)
            rows += HD_MAX(p->counter_est[p->ncounters - 1], 0.0);
    }
    return rt_state_appends(s) ? HD_MAX(rows, s->est_rows) : s->est_rows;
}

/* Of the largest source of the pipelines that fill the state, as far as is known now. */
static uint64_t source_rows(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    uint64_t rows = 0;
    for (int i = 0; i < x->spec->npipelines; i++) {
        const struct rt_pipeline *p = &x->spec->pipelines[i];
        if (&x->spec->states[p->writes[0]] == s)
            rows = HD_MAX(rows, rt_gpu_source_rows(x, p));
    }
    return rows;
}

/* Room that is taken whatever is expected. */
static uint64_t min_rows(const struct rt_gpu_exec *x, const struct rt_state *s, uint64_t max)
{
    if (rt_state_appends(s))
        return FIRST_ROWS;
    uint64_t groups = source_rows(x, s) / ROWS_OF_A_GROUP;
    groups = HD_MIN(HD_MAX(groups, (uint64_t)FIRST_GROUPS), (uint64_t)FIRST_GROUPS_MAX);
    return HD_MIN(groups, max);
}

/* That an earlier execution had to make; 0: none had to. */
static uint64_t known_rows(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    return x->o && x->o->room ? x->o->room[s - x->spec->states] : 0;
}

/* Groups that there is room for where others were counted before: far more than these. */
static uint64_t seen_groups(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    enum { TIMES = 4, LEAST = 4096 };
    uint64_t seen = rt_state_seen(x, s);
    return seen ? HD_MAX(seen * TIMES, (uint64_t)LEAST) : UINT64_MAX;
}

/* Room for rows costs nothing but memory, while a second run costs as much as the first: where
 * the memory is small beside what there is, all that can come have room. */
uint64_t rt_state_first_capacity(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    bool appends = rt_state_appends(s);
    uint64_t stride = (uint64_t)s->stride, bound = max_rows(x, s);
    uint64_t memory = rt_gpu_limit(x) / (bound == UINT64_MAX ? LEVEL_SHARE : MEMORY_SHARE);
    uint64_t max = (appends ? memory : HD_MIN(memory, GROUPS_BYTES)) / stride + 1;
    uint64_t cheap = appends ? HD_MIN(memory / CHEAP_SHARE, CHEAP_BYTES) / stride : 0;
    double est = HD_MAX(expected_rows(x, s), 0.0) * 1.25;
    uint64_t n = est < (double)max ? (uint64_t)est : max;
    n = HD_MIN(HD_MAX(n, HD_MAX(cheap, min_rows(x, s, max))), bound);
    n = HD_MAX(appends ? n : HD_MIN(n, seen_groups(x, s)), known_rows(x, s));
    if (x->first_rows)
        n = x->first_rows;
    n = HD_MIN(HD_MAX(n, (uint64_t)s->nvalues), RT_ROWS_MAX);
    return HD_MAX(HD_MIN(n, rt_state_enough_rows(s)), (uint64_t)1);
}

int rt_state_alloc_estimated(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    uint64_t stride = (uint64_t)s->stride, min = HD_MAX((uint64_t)s->nvalues, (uint64_t)1);
    while (v->capacity / 4 > min && rt_gpu_alloc(x, s, (size_t)(v->capacity * stride), &v->rows_at, NULL) != 0)
        v->capacity /= 4;
    if (v->rows_at.address)
        return 0;
    return rt_state_alloc(x, s, (size_t)(v->capacity * stride), &v->rows_at, err);
}

/* ---- groups before anything is added ------------------------------------------------------- */

/* The value that every other one replaces (templates/launch.cuh); zero where the kernels look at
 * the validity byte first. */
static void far_end(enum rt_phys p, bool min, unsigned char *at)
{
    int32_t i32 = min ? INT32_MAX : INT32_MIN;
    int64_t i64 = min ? INT64_MAX : INT64_MIN;
    float f32 = min ? __builtin_nanf("") : -__builtin_inff();
    double f64 = min ? __builtin_nan("") : -__builtin_inf();
    if (p == RT_I32)
        memcpy(at, &i32, sizeof i32);
    else if (p == RT_I64)
        memcpy(at, &i64, sizeof i64);
    else if (p == RT_F64)
        memcpy(at, &f64, sizeof f64);
    else if (p == RT_F32)
        memcpy(at, &f32, sizeof f32);
}

/* A row before anything is added to it. False: all its bytes are 0. */
static bool first_row(const struct rt_state *s, unsigned char *row)
{
    bool some = false;
    memset(row, 0, (size_t)s->stride); /* validity bytes, too */
    for (int i = 0; i < s->nfields; i++) {
        if (s->merge[i] != RT_MERGE_MIN && s->merge[i] != RT_MERGE_MAX)
            continue;
        far_end(s->fields[i].phys, s->merge[i] == RT_MERGE_MIN, row + s->fields[i].offset);
        some = true;
    }
    return some;
}

int rt_state_clear_groups(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t from, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    uint64_t n = v->capacity - from, to = v->rows_at.address + from * (uint64_t)s->stride;
    struct hdd_fill_args p = {.to = to, .rows = n, .words = (hdd_u32)s->stride / 8};
    struct rt_piece more = {0};
    unsigned char *row = hd_zalloc(x->arena, (size_t)s->stride);
    if (n == 0)
        return 0;
    if (!first_row(s, row))
        return x->d->ops->set(x->d, to, 0, (size_t)(n * (uint64_t)s->stride), err);
    if (p.words <= HDD_INLINE_WORDS) {
        memcpy(p.pattern, row, (size_t)s->stride);
    } else {
        HD_TRY(rt_state_alloc(x, s, (size_t)s->stride, &more, err));
        HD_TRY(x->d->ops->upload(x->d, more.address, row, (size_t)s->stride, err));
        p.more = more.address;
    }
    p.blocks = rt_finish_blocks(x, n * p.words, 4 * RT_FINISH_THREADS);
    int rc = rt_finish_launch(x, "finish_fill", "hdd_fill", p.blocks, &p, err);
    rt_gpu_release(x, &more);
    return rc;
}

int rt_state_alloc_cleared(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    size_t n = (size_t)(v->capacity * (uint64_t)v->s->stride);
    unsigned char *row = hd_zalloc(x->arena, (size_t)v->s->stride);
    if (!first_row(v->s, row))
        return rt_state_alloc_zeroed(x, v->s, n, &v->rows_at, err);
    HD_TRY(rt_state_alloc(x, v->s, n, &v->rows_at, err));
    return rt_state_clear_groups(x, v, 0, err);
}

int rt_state_make_slots(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    uint64_t groups = s->word ? v->before : v->capacity;
    rt_gpu_release(x, &v->slots_at);
    v->mask = hd_pow2_ceil(groups + groups / 2 + 8) - 1;
    HD_TRY(rt_state_alloc_zeroed(x, s, (size_t)(v->mask + 1) * 8, &v->slots_at, err));
    if (v->before == 0)
        return 0;
    struct hdd_slots_args p = {.rows = v->rows_at.address,
                               .n = v->before,
                               .slots = v->slots_at.address,
                               .mask = v->mask,
                               .blocks = rt_finish_blocks(x, v->before, RT_FINISH_THREADS),
                               .stride = (hdd_u32)s->stride,
                               .word = s->word};
    return rt_finish_launch(x, "finish_fill", "hdd_fill_slots", p.blocks, &p, err);
}

/* ---- rows that are slots ------------------------------------------------------------------- */

uint64_t rt_state_word_slots(uint64_t groups)
{
    return HD_MIN(groups + groups / 2 + 8, RT_ROWS_MAX);
}

static int start_slots(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t slots, struct hd_err *err)
{
    v->capacity = slots;
    v->mask = slots - 1;
    return rt_state_alloc_cleared(x, v, err);
}

int rt_state_start_words(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t groups, struct hd_err *err)
{
    return start_slots(x, v, rt_state_word_slots(groups), err);
}

/* Rows of a snapshot find their places again. */
static int regrow_words(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t slots, struct hd_err *err)
{
    struct hdd_spread_args p = {.from = v->snapshot.address, .n = v->before, .stride = (hdd_u32)v->s->stride};
    rt_gpu_release(x, &v->rows_at);
    HD_TRY(start_slots(x, v, slots, err));
    if (p.n == 0)
        return 0;
    p.to = v->rows_at.address;
    p.slots = slots;
    p.blocks = rt_finish_blocks(x, p.n, RT_FINISH_THREADS);
    return rt_finish_launch(x, "finish_fill", "hdd_spread_groups", p.blocks, &p, err);
}

/* Reading some megabytes takes less time than waiting for the number of groups. */
bool rt_state_words_stay(const struct rt_gpu_state *v)
{
    enum { SLOTS_OF_A_GROUP = 3, SMALL = 32 << 20 };
    bool small = v->count_at && v->capacity * (uint64_t)v->s->stride <= SMALL;
    return v->capacity <= INT32_MAX && (small || v->capacity / SLOTS_OF_A_GROUP <= v->asked);
}

int rt_state_compact_words(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    uint64_t n = v->asked, behind = v->capacity - n;
    struct rt_piece list = {0}, listed = {0};
    struct hdd_compact_args p = {
        .rows = v->rows_at.address, .slots = v->capacity, .n = n, .stride = (hdd_u32)v->s->stride};
    if (!v->sparse)
        return 0;
    v->sparse = false;
    if (n == 0 || behind == 0)
        return 0;
    int rc = rt_state_alloc(x, v->s, (size_t)(HD_MIN(n, behind) * sizeof(hdd_u32)), &list, err);
    if (rc == 0)
        rc = rt_state_alloc_zeroed(x, v->s, 2 * sizeof(hdd_u64), &listed, err);
    p.list = list.address;
    p.listed = listed.address;
    p.blocks = rt_finish_blocks(x, n, 8 * RT_FINISH_THREADS);
    if (rc == 0)
        rc = rt_finish_launch(x, "finish_compact", "hdd_list_free", p.blocks, &p, err);
    p.blocks = rt_finish_blocks(x, behind, 8 * RT_FINISH_THREADS);
    if (rc == 0)
        rc = rt_finish_launch(x, "finish_compact", "hdd_fill_free", p.blocks, &p, err);
    rt_gpu_release(x, &list);
    rt_gpu_release(x, &listed);
    return rc;
}

/* ---- more -------------------------------------------------------------------------------- */

/* Groups are counted by their tags: a few may have been taken for one. */
uint64_t rt_state_room_for(const struct rt_state *s, uint64_t rows)
{
    return HD_MIN(rt_state_appends(s) ? rows : rows + rows / 64 + 16, RT_ROWS_MAX);
}

/* Where the kernel of a pipeline remembers, if it fills the state; NULL: it fills another. */
static const struct rt_kernel *kernel_of(const struct rt_gpu_exec *x, int pipeline, const struct rt_state *s)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    return &x->spec->states[p->writes[0]] == s ? rt_gpu_code_kernel(x->code, pipeline) : NULL;
}

void rt_state_remember_room(struct rt_gpu_exec *x, const struct rt_state *s, uint64_t rows)
{
    if (x->o && x->o->room)
        x->o->room[s - x->spec->states] = rows;
    for (int i = 0; x->code && i < x->spec->npipelines; i++) {
        const struct rt_kernel *k = kernel_of(x, i, s);
        if (k)
            *k->room = rows;
    }
}

void rt_state_recall(struct rt_gpu_exec *x)
{
    for (int s = 0; s < x->spec->nstates; s++)
        for (int i = 0; i < x->spec->npipelines; i++) {
            const struct rt_kernel *k = kernel_of(x, i, &x->spec->states[s]);
            if (k && x->o->room && x->o->room[s] == 0)
                x->o->room[s] = *k->room;
            if (k && x->o->seen && x->spec->ndevices == 1 && x->o->seen[s] == 0)
                x->o->seen[s] = *k->seen;
        }
}

uint64_t rt_state_seen(const struct rt_gpu_exec *x, const struct rt_state *s)
{
    return x->o && x->o->seen && x->spec->ndevices == 1 ? x->o->seen[s - x->spec->states] : 0;
}

/* A bound left rows out: nobody knows how many there would be without. */
void rt_state_remember_rows(struct rt_gpu_exec *x)
{
    for (int i = 0; x->o->seen && x->spec->ndevices == 1 && i < x->spec->nstates; i++) {
        const struct rt_gpu_state *v = &x->state[i];
        if (!v->started || !rt_state_has_cursor(v->s) || (v->s->bounded && v->bound != rt_state_no_bound(v->s)))
            continue;
        x->o->seen[i] = HD_MAX(x->o->seen[i], v->asked + 1);
        for (int p = 0; p < x->spec->npipelines; p++) {
            const struct rt_kernel *k = kernel_of(x, p, v->s);
            if (k)
                *k->seen = x->o->seen[i];
        }
    }
}

int rt_state_too_many(const struct rt_gpu_state *v, uint64_t rows, struct hd_err *err)
{
    return HD_FAIL(err, RESOURCE, v->s->path, "%llu rows, at most %llu have a number", (unsigned long long)rows,
                   (unsigned long long)RT_ROWS_MAX);
}

int rt_state_regrow_rows(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t needed, struct hd_err *err)
{
    struct rt_piece old = v->rows_at;
    uint64_t stride = (uint64_t)v->s->stride;
    if (v->before == 0)
        rt_gpu_release(x, &old); /* nothing in it is kept: there is more room without it */
    v->rows_at = (struct rt_piece){0};
    v->capacity = HD_MIN(needed, rt_state_enough_rows(v->s));
    int rc = rt_state_alloc(x, v->s, (size_t)(v->capacity * stride), &v->rows_at, err);
    if (rc == 0 && v->before)
        rc = x->d->ops->copy(x->d, v->rows_at.address, old.address, (size_t)(v->before * stride), err);
    rt_gpu_release(x, &old);
    return rc;
}

int rt_state_make_room(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t more, uint64_t *n, struct hd_err *err)
{
    *n = HD_MIN(more, rt_state_enough_rows(v->s) - HD_MIN(v->asked, rt_state_enough_rows(v->s)));
    if (v->asked + *n > RT_ROWS_MAX)
        return rt_state_too_many(v, v->asked + *n, err);
    v->before = v->asked;
    return v->asked + *n > v->capacity ? rt_state_regrow_rows(x, v, v->asked + *n, err) : 0;
}

int rt_state_regrow_groups(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t needed, struct hd_err *err)
{
    uint64_t stride = (uint64_t)v->s->stride;
    if (v->s->word)
        return regrow_words(x, v, needed, err);
    rt_gpu_release(x, &v->rows_at);
    rt_gpu_release(x, &v->slots_at);
    v->capacity = needed;
    HD_TRY(rt_state_alloc(x, v->s, (size_t)(v->capacity * stride), &v->rows_at, err));
    if (v->before)
        HD_TRY(x->d->ops->copy(x->d, v->rows_at.address, v->snapshot.address, (size_t)(v->before * stride), err));
    HD_TRY(rt_state_clear_groups(x, v, v->before, err));
    return rt_state_make_slots(x, v, err);
}
