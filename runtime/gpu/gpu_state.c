/* States while they are filled: memory and first contents, what a kernel gets, overflow.
 *
 * Of the sinks only those that append can overflow; the others have a place for every index.
 * What a pipeline that overflowed has changed besides its sink needs no undoing then: it sets
 * match bits, and the next run of the same pipeline sets the same ones. Only a pipeline that ran
 * out of memory for strings may have seen wrong values, and all that it changed is undone. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/exec/sort_word.h"
#include "runtime/gpu/gpu_order.h"

static const struct rt_device_ops *ops_of(const struct rt_gpu_exec *x)
{
    return x->d->ops;
}

/* Bits are read as 64-bit words: one line more than needed, as on the CPU. */
static size_t bitmap_bytes(uint64_t n)
{
    return (size_t)(n + 63) / 64 * 8 + 64;
}

/* ---- first contents ---------------------------------------------------------------------- */

static int start_aggregate(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t rows, struct hd_err *err)
{
    v->nrows = v->capacity = rows;
    HD_TRY(rt_state_alloc_cleared(x, v, err));
    v->rows = v->rows_at.address;
    return 0;
}

static int start_scalar(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    return start_aggregate(x, v, 1, err);
}

static int start_dense(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    return start_aggregate(x, v, v->s->range, err);
}

static int start_array(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    v->nrows = v->capacity = v->s->range;
    HD_TRY(rt_state_alloc_zeroed(x, v->s, (size_t)(v->nrows * (uint64_t)v->s->stride), &v->rows_at, err));
    v->rows = v->rows_at.address;
    return 0;
}

static int start_bitmap(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    v->nrows = s->range;
    HD_TRY(rt_state_alloc_zeroed(x, s, bitmap_bytes(s->range), &v->bits_at, err));
    return s->track_matches ? rt_state_alloc_zeroed(x, s, bitmap_bytes(s->range), &v->matches_at, err) : 0;
}

/* One piece for all arrays of a DIRECT state. */
static int start_direct(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    enum { ALIGNMENT = 256 };
    const struct rt_state *s = v->s;
    size_t total = 0;
    HD_TRY(start_bitmap(x, v, err));
    v->field = HD_NEWN(x->arena, uint64_t, s->nfields + 1);
    v->valid = HD_NEWN(x->arena, uint64_t, s->nfields + 1);
    for (int f = 0; f < s->nfields; f++) {
        size_t size = (size_t)rt_phys_size(s->fields[f].phys);
        v->field[f] = total;
        total += hd_align_up((size_t)s->range * size, ALIGNMENT);
        v->valid[f] = total;
        if (s->fields[f].valid_offset >= 0)
            total += hd_align_up((size_t)s->range, ALIGNMENT);
    }
    HD_TRY(rt_state_alloc_zeroed(x, s, total, &v->fields_at, err));
    for (int f = 0; f < s->nfields; f++) {
        v->field[f] += v->fields_at.address;
        v->valid[f] = s->fields[f].valid_offset < 0 ? 0 : v->valid[f] + v->fields_at.address;
    }
    return 0;
}

/* ---- appending --------------------------------------------------------------------------- */

/* Strings of constant rows: their bytes go to the device, and the rows point there. */
static int upload_strings(struct rt_gpu_exec *x, struct rt_gpu_state *v, unsigned char *rows, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    size_t total = 0;
    for (int pass = 0; pass < 2; pass++) { /* lengths; copies */
        unsigned char *bytes = pass ? hd_alloc(x->arena, total + 1) : NULL;
        size_t at = 0;
        for (int64_t r = 0; r < s->nvalues; r++)
            for (int f = 0; f < s->nfields; f++) {
                unsigned char *row = rows + r * s->stride;
                uint64_t text[2];
                if (s->fields[f].phys != RT_STR || (s->fields[f].valid_offset >= 0 && !row[s->fields[f].valid_offset]))
                    continue;
                memcpy(text, row + s->fields[f].offset, sizeof text);
                if (pass) {
                    if (text[1])
                        memcpy(bytes + at, (const void *)(uintptr_t)text[0], text[1]);
                    text[0] = v->strings_at.address + at;
                    memcpy(row + s->fields[f].offset, text, sizeof text);
                }
                at += text[1];
            }
        if (at == 0)
            return 0;
        total = at;
        if (pass)
            return ops_of(x)->upload(x->d, v->strings_at.address, bytes, total, err);
        HD_TRY(rt_state_alloc(x, s, total, &v->strings_at, err));
    }
    return 0;
}

static int start_rows(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    uint64_t constants = x->number == 0 ? (uint64_t)s->nvalues : 0; /* on one device */
    size_t bytes = (size_t)constants * (size_t)s->stride;
    v->capacity = rt_state_first_capacity(x, s);
    v->asked = v->before = constants;
    HD_TRY(rt_state_alloc_estimated(x, v, err));
    if (!bytes)
        return 0;
    unsigned char *rows = hd_dup(x->arena, s->values, bytes);
    HD_TRY(upload_strings(x, v, rows, err));
    return ops_of(x)->upload(x->d, v->rows_at.address, rows, bytes, err);
}

static int start_groups(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    v->capacity = rt_state_first_capacity(x, s);
    if (s->word)
        return rt_state_start_words(x, v, v->capacity, err);
    HD_TRY(rt_state_alloc_cleared(x, v, err));
    return rt_state_make_slots(x, v, err);
}

/* ---- operations by kind ------------------------------------------------------------------ */

/* What pipelines need to fill a state, and what overflows, follows from rt_state_filling. */
struct state_ops {
    int (*start)(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err); /* memory and first contents */
    int (*gather)(const struct rt_gpu_exchange *e, struct hd_err *err); /* adds what another device has */
};

static const struct state_ops bitmap_ops = {.start = start_bitmap, .gather = rt_gpu_gather_bits};
static const struct state_ops direct_ops = {.start = start_direct, .gather = rt_gpu_gather_bits};
static const struct state_ops rows_ops = {.start = start_rows, .gather = rt_gpu_gather_rows};
static const struct state_ops csr_ops = {.start = start_rows, .gather = rt_gpu_gather_rows};
static const struct state_ops hash_ops = {.start = start_rows, .gather = rt_gpu_gather_rows};
static const struct state_ops agg_scalar_ops = {.start = start_scalar, .gather = rt_gpu_gather_places};
static const struct state_ops agg_dense_ops = {.start = start_dense, .gather = rt_gpu_gather_places};
static const struct state_ops agg_hash_ops = {.start = start_groups, .gather = rt_gpu_gather_groups};
static const struct state_ops array_ops = {.start = start_array, .gather = rt_gpu_gather_bits};

static const struct state_ops *const ops[] = {
#define S_STATE(id, stem, name, filling, aggregate, head) [RT_STATE_##id] = &stem##_ops,
#include "runtime/states.def"
};

/* ---- what a retry needs ------------------------------------------------------------------ */

/* Memory of a state that pipelines change in place. */
static size_t pieces_of(struct rt_gpu_state *v, struct rt_piece *out[3])
{
    size_t n = 0;
    if (!rt_state_appends(v->s))
        out[n++] = &v->rows_at;
    out[n++] = &v->bits_at;
    out[n++] = &v->fields_at;
    return n;
}

static size_t used_bytes(const struct rt_gpu_state *v, const struct rt_piece *p)
{
    if (!p->address)
        return 0;
    return rt_state_has_cursor(v->s) ? (size_t)(v->before * (uint64_t)v->s->stride) : p->n;
}

/* What an earlier pipeline left. Rows that are appended stay untouched. */
static int remember(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    struct rt_piece *piece[3];
    size_t n = pieces_of(v, piece), total = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        total += hd_align_up(used_bytes(v, piece[i]), 256);
    rt_gpu_release(x, &v->snapshot);
    if (total == 0)
        return 0;
    HD_TRY(rt_state_alloc(x, v->s, total, &v->snapshot, err));
    for (size_t i = 0; i < n; i++) {
        size_t bytes = used_bytes(v, piece[i]);
        if (bytes)
            HD_TRY(ops_of(x)->copy(x->d, v->snapshot.address + at, piece[i]->address, bytes, err));
        at += hd_align_up(bytes, 256);
    }
    return 0;
}

int rt_gpu_state_start(struct rt_gpu_exec *x, int state, bool reruns, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    HD_ASSERT(!v->finished);
    HD_TRY(rt_gpu_state_count(x, v, err));
    HD_TRY(rt_state_compact_words(x, v, err));
    v->before = v->asked;
    if (v->started && (reruns || rt_state_filling(v->s->kind) == RT_KEYED))
        HD_TRY(remember(x, v, err));
    if (v->started && v->s->word)
        return rt_state_regrow_groups(x, v, HD_MAX(v->capacity, rt_state_word_slots(v->before)), err);
    if (v->started)
        return 0;
    v->started = true;
    return ops[v->s->kind]->start(x, v, err);
}

void rt_gpu_state_sink(const struct rt_gpu_exec *x, int state, uint64_t cursor, struct hdd_sink_state *out)
{
    const struct rt_gpu_state *v = &x->state[state];
    *out = (struct hdd_sink_state){.rows = v->rows_at.address,
                                   .capacity = v->capacity,
                                   .cursor = cursor,
                                   .slots = v->slots_at.address,
                                   .mask = v->mask};
}

/* ---- rows that the host has not counted ---------------------------------------------------- */

/* Kernels have it among their arguments. */
static bool is_asked_for(const struct rt_gpu_exec *x, int state)
{
    for (int i = 0; i < x->spec->nargs; i++)
        if (x->spec->args[i].kind == RT_ARG_STATE_NROWS && x->spec->args[i].state == state)
            return true;
    return false;
}

bool rt_gpu_state_may_be_uncounted(const struct rt_gpu_exec *x, int state, uint64_t rows)
{
    const struct rt_gpu_state *v = &x->state[state];
    if ((v->s->kind != RT_STATE_ROWS && v->s->kind != RT_STATE_AGG_HASH) || v->s->bounded || is_asked_for(x, state))
        return false;
    return v->before + rows <= (v->s->word ? v->mask - v->mask / 8 : v->capacity);
}

/* Any so many rows are enough of a state with a limit, which its kernel knows. */
bool rt_gpu_state_is_guessed(const struct rt_gpu_exec *x, int state)
{
    enum { MARGIN = 64 }; /* so large a part more has room, too, as rt_state_room_for leaves */
    const struct rt_gpu_state *v = &x->state[state];
    uint64_t seen = rt_state_seen(x, v->s);
    if (!x->guesses || !seen || v->s->bounded || v->s->single || v->s->limit >= 0 || is_asked_for(x, state))
        return false;
    return (v->s->kind == RT_STATE_ROWS || v->s->kind == RT_STATE_AGG_HASH) &&
           seen + seen / MARGIN <= v->before + rt_gpu_state_room(x, state);
}

uint64_t rt_gpu_state_room(const struct rt_gpu_exec *x, int state)
{
    const struct rt_gpu_state *v = &x->state[state];
    return (v->s->word ? v->mask - v->mask / 8 : v->capacity) - v->before;
}

int rt_gpu_state_uncounted(struct rt_gpu_exec *x, int state, uint64_t rows, uint64_t count_at, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    v->asked = v->before + rows;
    v->count_at = count_at;
    v->left_alone = true;
    return rt_gpu_state_filled(x, state, err);
}

int rt_gpu_state_count(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hd_err *err)
{
    return v->count_at ? rt_gpu_outcomes_settle(x, NULL, err) : 0;
}

/* ---- overflow ---------------------------------------------------------------------------- */

uint64_t rt_gpu_state_cursor(const struct rt_gpu_exec *x, int state)
{
    const struct rt_gpu_state *v = &x->state[state];
    return rt_state_has_cursor(v->s) ? v->before : 0;
}

int rt_gpu_state_full(struct rt_gpu_exec *x, int state, uint64_t cursor, uint64_t *needed, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    *needed = 0;
    if (!rt_state_has_cursor(v->s))
        return 0;
    v->asked = HD_MIN(cursor, v->capacity);
    if (cursor <= (v->s->word ? v->mask - v->mask / 8 : v->capacity) || v->capacity >= rt_state_enough_rows(v->s))
        return 0;
    if (cursor > RT_ROWS_MAX)
        return rt_state_too_many(v, cursor, err);
    *needed = rt_state_room_for(v->s, cursor);
    return 0;
}

int rt_gpu_state_filled(struct rt_gpu_exec *x, int state, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    v->sparse = v->s->word;
    return x->spec->ndevices > 1 ? rt_state_compact_words(x, v, err) : 0; /* others look at its rows */
}

/* What has a place for every index becomes what it was. */
static int undo(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    struct rt_piece *piece[3];
    size_t n = pieces_of(v, piece), at = 0;
    bool groups = rt_state_aggregates(v->s->kind);
    for (size_t i = 0; i < n; i++) {
        if (!piece[i]->address)
            continue;
        if (v->snapshot.address)
            HD_TRY(ops_of(x)->copy(x->d, piece[i]->address, v->snapshot.address + at, piece[i]->n, err));
        else
            HD_TRY(ops_of(x)->set(x->d, piece[i]->address, 0, piece[i]->n, err));
        at += hd_align_up(piece[i]->n, 256);
    }
    return groups && !v->snapshot.address ? rt_state_clear_groups(x, v, 0, err) : 0;
}

int rt_gpu_state_retry(struct rt_gpu_exec *x, int state, uint64_t needed, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    if (!rt_state_has_cursor(v->s))
        return undo(x, v, err);
    uint64_t rows = v->s->word && needed ? rt_state_word_slots(needed) : needed;
    v->asked = v->before;
    if (rows > v->capacity) {
        rt_state_remember_room(x, v->s, needed);
        v->overflowed = true;
    }
    needed = HD_MAX(rows, v->capacity);
    if (!rt_state_appends(v->s))
        return rt_state_regrow_groups(x, v, needed, err);
    return needed > v->capacity ? rt_state_regrow_rows(x, v, needed, err) : 0;
}

/* ---- match bits -------------------------------------------------------------------------- */

int rt_gpu_marks_keep(struct rt_gpu_exec *x, int state, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    rt_gpu_release(x, &v->marked);
    HD_TRY(rt_state_alloc(x, v->s, v->matches_at.n, &v->marked, err));
    return ops_of(x)->copy(x->d, v->marked.address, v->matches_at.address, v->matches_at.n, err);
}

int rt_gpu_marks_undo(struct rt_gpu_exec *x, int state, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    return ops_of(x)->copy(x->d, v->matches_at.address, v->marked.address, v->matches_at.n, err);
}

/* ---- finish and free --------------------------------------------------------------------- */

/* Aggregates have one place for a group, whoever adds to it. */
static int rt_gpu_finish_merge(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    rt_gpu_release(x, &v->slots_at);
    if (v->sparse && !rt_state_words_stay(v)) {
        HD_TRY(rt_gpu_state_count(x, v, err));
        HD_TRY(rt_state_compact_words(x, v, err));
    }
    v->rows = v->rows_at.address;
    if (rt_state_has_cursor(v->s))
        v->nrows = v->sparse ? v->capacity : v->asked;
    return 0;
}

/* Kernels append one row behind the other. */
static int rt_gpu_finish_compact(struct rt_gpu_exec *x HD_UNUSED, struct rt_gpu_state *v, struct hd_err *err HD_UNUSED)
{
    v->rows = v->rows_at.address;
    v->nrows = v->asked;
    return 0;
}

static int rt_gpu_finish_single(struct rt_gpu_exec *x HD_UNUSED, struct rt_gpu_state *v, struct hd_err *err)
{
    return v->nrows <= 1 ? 0 : HD_FAIL(err, EXEC, v->s->path, "a scalar subquery gave more than one row");
}

int rt_gpu_state_bound(struct rt_gpu_exec *x, int state, uint64_t most, struct hd_err *err)
{
    struct rt_gpu_state *v = &x->state[state];
    uint64_t wanted = rt_state_wanted_rows(v->s), n = HD_MIN(v->asked, most);
    size_t stride = (size_t)v->s->stride;
    if (!wanted || n < wanted)
        return 0;
    unsigned char *rows;
    size_t words_at = hd_align_up(n * stride, sizeof(int64_t));
    HD_TRY(rt_gpu_staging(x->g, words_at + n * sizeof(int64_t), &rows, err));
    int64_t *words = (int64_t *)(void *)(rows + words_at);
    HD_TRY(ops_of(x)->download_async(x->d, RT_STREAM_COMPUTE, rows, v->rows_at.address, n * stride, err));
    HD_TRY(ops_of(x)->stream_sync(x->d, RT_STREAM_COMPUTE, err));
    for (uint64_t i = 0; i < n; i++)
        words[i] = rt_sort_word(v->s, rows + i * stride);
    v->bound = rt_select_word(words, n, v->s->sort[0].desc ? n - wanted : wanted - 1);
    return 0;
}

/* The rows that offset and limit leave: how many, from which on. */
static uint64_t left_rows(const struct rt_gpu_state *v, uint64_t *offset)
{
    uint64_t skip = (uint64_t)HD_MAX(v->s->offset, (int64_t)0);
    *offset = HD_MIN(skip, v->nrows);
    return HD_MIN(v->nrows - *offset, rt_state_wanted_rows(v->s) - skip);
}

static int rt_gpu_finish_limit(struct rt_gpu_exec *x HD_UNUSED, struct rt_gpu_state *v, struct hd_err *err HD_UNUSED)
{
    uint64_t offset, count = left_rows(v, &offset);
    v->rows += offset * (uint64_t)v->s->stride;
    v->nrows = count;
    return 0;
}

static int rt_gpu_finish_sort(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    uint64_t offset, count = left_rows(v, &offset);
    bool there = v->nrows <= 1 || count == 0;
    if (!there && v->s->sorted)
        HD_TRY(rt_gpu_in_order(x, v, &there, err));
    if (there)
        return rt_gpu_finish_limit(x, v, err);
    HD_TRY(rt_gpu_order(x, v, v->nrows, offset, count, err));
    rt_gpu_release(x, &v->rows_at);
    v->rows = v->moved.address;
    v->nrows = count;
    return 0;
}

static int rt_gpu_finish_matches(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    return rt_state_alloc_zeroed(x, v->s, bitmap_bytes(v->nrows), &v->matches_at, err);
}

/* What a finish does with rows that launches were left alone with: nothing, or it needs their number, or its kernels read
 * them, which would not know that a cancelled launch has left some unwritten. */
enum needs { NEEDS_NOTHING, NEEDS_COUNT, NEEDS_ROWS };

static enum needs needs_of(const struct rt_state *s)
{
    enum needs n = NEEDS_NOTHING;
    for (int i = 0; i < s->nfinish; i++) {
        enum rt_finish_op f = s->finish[i];
        if (f == RT_FINISH_SINGLE || f == RT_FINISH_LIMIT)
            n = HD_MAX(n, NEEDS_COUNT);
        else if (f != RT_FINISH_COMPACT && f != RT_FINISH_MERGE && f != RT_FINISH_MATCHES)
            n = NEEDS_ROWS;
    }
    return n;
}

static int settle_rows(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hd_err *err)
{
    enum needs n = needs_of(v->s);
    if (n == NEEDS_COUNT)
        return rt_gpu_state_count(x, v, err);
    return n == NEEDS_ROWS && v->left_alone ? rt_gpu_outcomes_settle(x, NULL, err) : 0;
}

/* A kernel over fewer rows takes well below a millisecond, and so does all of their finish below 0.1 s. */
enum { WATCHED_ROWS = 1 << 26 };

int rt_gpu_state_finish(struct rt_gpu_exec *x, int state, struct hd_err *err)
{
    static int (*const finish[])(struct rt_gpu_exec *, struct rt_gpu_state *, struct hd_err *) = {
#define F_FINISH(id, stem, name) [RT_FINISH_##id] = rt_gpu_finish_##stem,
#include "runtime/finish.def"
    };
    struct rt_gpu_state *v = &x->state[state];
    HD_ASSERT(!v->finished);
    if (!v->started) /* rows of constants alone, or nothing at all */
        HD_TRY(rt_gpu_state_start(x, state, false, err));
    HD_TRY(settle_rows(x, v, err));
    if (v->overflowed) /* what was projected is known now */
        rt_state_remember_room(x, v->s, rt_state_room_for(v->s, v->asked));
    bool there = x->few.there && state == x->spec->result_state;
    if (there)
        rt_gpu_few_finish(x, v);
    for (int i = 0; i < v->s->nfinish && !there; i++) {
        x->watched = x->o && v->nrows >= (x->first_rows ? x->first_rows : WATCHED_ROWS);
        HD_TRY(finish[v->s->finish[i]](x, v, err));
    }
    x->watched = false;
    v->finished = true;
    rt_gpu_release(x, &v->snapshot);
    return 0;
}

int rt_gpu_state_gather(const struct rt_gpu_exchange *e, int state, struct hd_err *err)
{
    if (!e->v->started)
        HD_TRY(rt_gpu_state_start(e->x, state, false, err));
    return ops[e->v->s->kind]->gather(e, err);
}

void rt_gpu_state_free(struct rt_gpu_exec *x, int state)
{
    struct rt_gpu_state *v = &x->state[state];
    struct rt_piece *const all[] = {&v->rows_at,    &v->moved,    &v->bits_at,  &v->matches_at, &v->fields_at,
                                    &v->offsets_at, &v->slots_at, &v->snapshot, &v->strings_at, &v->marked};
    for (size_t i = 0; i < HD_COUNT(all); i++)
        rt_gpu_release(x, all[i]);
    v->rows = 0;
}
