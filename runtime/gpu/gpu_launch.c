/* A pipeline on the device: the grid that it gets, the memory that a launch needs besides the
 * states, and launching again with more room. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/exec/source.h"
#include "runtime/gpu/gpu_balance.h"
#include "runtime/gpu/gpu_state.h"
#include "runtime/gpu/gpu_stream.h"
#include "runtime/gpu/gpu_timeline.h"
#include "runtime/store/store_column.h"

enum {
    STRING_BYTES = 16, /* of the heap of strings per row of the source, at first */
    STRING_MIN = 1 << 16,
    MAX_RETRIES = 64,
    MIN_PARTS = 8 /* of a tile: rows of the source are then read by as many warps */
};
_Static_assert(RT_FRAGMENT_ROWS % HDD_WARP_ROWS == 0, "fragments are whole tiles");

/* A launch's own memory: what begins as zeros, records of warps in front, and donations, which need not. */
struct layout {
    size_t share, zeroed, donations; /* where memory for sharing begins; bytes */
};

struct run {
    struct rt_gpu_exec *x;
    const struct rt_pipeline *p;
    const struct rt_kernel *k;
    struct rt_pipeline_stats *st;
    int sink;
    uint64_t first, rows; /* of the source: the fragment's */
    const struct rt_gpu_state *source; /* whose rows the host has not counted, of which rows is a bound; NULL: none */
    bool late; /* they are told to stats later */
    uint32_t blocks, warps;
    enum rt_balance balance;
    struct layout at;
    struct rt_piece zeroed;
    uint64_t outcome; /* address of the launch's struct rt_outcome */
    uint64_t cursors; /* and of its cursors */
    struct rt_piece heap; /* of strings, where the kernel makes some */
};

/* ---- shape of the launch --------------------------------------------------------------- */

/* Rows come out as they are visited, which is in order where one warp runs. */
static bool keeps_order(const struct run *r)
{
    return r->p->ordered && !r->p->row_for_row;
}

/* A tile of a source with few rows may go to several warps. Its strings would be made as often; and of a part of the
 * source these would be the first tiles. */
static bool may_divide(const struct run *r, uint64_t tiles, uint64_t warps)
{
    return r->p->balance == RT_BALANCE_AWS && !r->k->unit->makes_strings && !r->x->o->scan_warps && !r->first &&
           tiles * MIN_PARTS <= warps;
}

static uint32_t tile_rows(const struct rt_pipeline *p)
{
    return (uint32_t)p->lane_rows * HDD_WARP_LANES;
}

static uint64_t tiles_of(const struct rt_pipeline *p, uint64_t rows)
{
    return (rows + tile_rows(p) - 1) / tile_rows(p);
}

static uint64_t resident_blocks(const struct rt_gpu_exec *x, const struct rt_kernel *k)
{
    return (uint64_t)k->info.blocks * (uint64_t)x->d->info.multiprocessors;
}

/* All that fit the device at once, but for a kernel that does not share work not more warps than
 * tiles; a loop over pairs divides these among warps. Where somebody says how many warps, as many, but of those that
 * wait for each other not more than fit. */
static void choose_grid(struct run *r)
{
    uint32_t per_block = (uint32_t)r->k->unit->threads / HDD_WARP_LANES;
    uint64_t tiles = tiles_of(r->p, r->rows), blocks = resident_blocks(r->x, r->k);
    r->balance = r->k->unit->by_lane ? RT_BALANCE_NONE : r->p->balance;
    bool shares = rt_balance_shares(r->balance), divides = may_divide(r, tiles, blocks * per_block);
    if (keeps_order(r))
        blocks = 1;
    else if (r->x->o->warps)
        blocks = HD_MIN(r->x->o->warps / per_block, shares ? blocks : UINT32_MAX / per_block);
    else if (!shares && !divides && r->p->shape != RT_SHAPE_LOOP)
        blocks = HD_MIN(blocks, (tiles + per_block - 1) / per_block);
    r->blocks = (uint32_t)HD_MAX(blocks, (uint64_t)1);
    r->warps = r->blocks * per_block;
}

static struct rt_balance_memory share_memory(const struct run *r, uint64_t base)
{
    return rt_balance_layout(r->balance, r->warps, r->k->unit->donation_bytes, r->k->unit->slot_bytes,
                             r->x->o->fws_threshold, base);
}

static void lay_out(struct run *r)
{
    size_t records = r->x->o->profile ? sizeof(struct hdd_warp_profile) * r->warps : 0;
    struct rt_balance_memory m = share_memory(r, 0);
    r->at = (struct layout){.share = hd_align_up(records, 256), .donations = m.bytes - m.clear};
    r->at.zeroed = r->at.share + m.clear;
}

static struct hdd_share_memory place_share(const struct run *r)
{
    struct rt_balance_memory m = share_memory(r, r->zeroed.address + r->at.share);
    if (r->at.donations)
        m.at.donations = r->x->scratch.address;
    return m.at;
}

static uint32_t scan_warps(const struct run *r)
{
    if (keeps_order(r))
        return 1;
    return r->x->o->scan_warps ? HD_MIN(r->x->o->scan_warps, r->warps) : r->warps;
}

/* Over how many warps a tile goes; 0: one. */
static uint32_t parts(const struct run *r)
{
    uint64_t tiles = tiles_of(r->p, r->rows);
    return may_divide(r, tiles, r->warps) ? r->warps / (uint32_t)tiles : 0;
}

/* Of the source: those of executions before, where that is all that the host knows. */
static uint64_t likely_rows(const struct run *r)
{
    uint64_t seen = r->source && r->source->guessed ? rt_state_seen(r->x, r->source->s) : 0;
    return seen ? HD_MIN(seen, r->rows) : r->rows;
}

static uint32_t batch_bits(const struct run *r)
{
    return rt_balance_batch_bits(likely_rows(r), r->warps, tile_rows(r->p));
}

static struct hdd_launch describe(const struct run *r)
{
    struct hdd_launch l = {.source_rows = r->first + r->rows,
                           .first_row = r->first,
                           .source_count = r->source ? r->source->count_at : 0,
                           .progress = r->outcome + offsetof(struct rt_outcome, progress),
                           .counters = r->x->counters.address,
                           .profile = r->x->o->profile ? r->zeroed.address : 0,
                           .warps = r->warps,
                           .scan_warps = scan_warps(r),
                           .cursors = r->cursors,
                           .ncursors = keeps_order(r) ? 1 : r->x->outcomes.ncursors,
                           .batch_bits = batch_bits(r),
                           .balance = (hdd_u32)r->balance,
                           .share = place_share(r),
                           .string_heap = r->heap.address,
                           .string_capacity = r->heap.n,
                           .string_cursor = r->outcome + offsetof(struct rt_outcome, string_cursor)};
    l.ncounters = (hdd_u32)r->p->ncounters;
    l.parts = parts(r);
    l.part_unit = l.parts ? UINT64_MAX / l.parts : 0;
    rt_gpu_state_sink(r->x, r->sink, r->outcome + offsetof(struct rt_outcome, sink_cursor), &l.sink);
    return l;
}

/* ---- one launch ------------------------------------------------------------------------ */

static int alloc_memory(struct run *r, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    if (x->scratch.n < r->at.donations) {
        rt_gpu_release(x, &x->scratch);
        HD_TRY(rt_gpu_alloc(x, NULL, r->at.donations, &x->scratch, err));
    }
    rt_gpu_release(x, &r->zeroed); /* of a run that had no room */
    return r->at.zeroed ? rt_gpu_alloc_zeroed(x, NULL, r->at.zeroed, &r->zeroed, err) : 0;
}

/* Since then the host may have waited. */
static void look_at_source(struct run *r)
{
    if (r->source && !r->source->count_at) {
        r->rows = r->source->nrows;
        r->source = NULL;
    }
}

static int clear(struct run *r, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    HD_TRY(alloc_memory(r, err));
    struct rt_launched l = {.stats = &r->st->kernel, .heap = r->heap.n, .source_rows = &r->st->source_rows};
    HD_TRY(rt_gpu_outcome_take(x, &l, &r->outcome, &r->cursors, err));
    look_at_source(r);
    rt_gpu_outcome_last(x)->source = r->source;
    r->late |= r->source != NULL;
    uint64_t cursor = rt_gpu_state_cursor(x, r->sink);
    if (cursor)
        HD_TRY(x->d->ops->upload(x->d, r->outcome + offsetof(struct rt_outcome, sink_cursor), &cursor, sizeof cursor,
                                 err));
    if (!x->o->profile)
        return 0;
    return x->d->ops->set(x->d, x->counters.address, 0, x->counters.n, err);
}

/* The args vector where the kernel wants it: its words, or their address. */
static int place_words(struct run *r, struct rt_launch *l, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    size_t n = sizeof *x->words * (size_t)x->spec->nwords;
    l->param[0].p = x->words;
    l->param[0].n = n;
    if (!r->k->unit->far_args)
        return 0;
    if (!x->far_words.address)
        HD_TRY(rt_gpu_alloc(x, NULL, n, &x->far_words, err));
    l->param[0].p = &x->far_words.address;
    l->param[0].n = sizeof x->far_words.address;
    return x->d->ops->upload(x->d, x->far_words.address, x->words, n, err);
}

/* Queues the kernel. */
static int launch(struct run *r, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    HD_TRY(clear(r, err));
    const struct hdd_launch run = describe(r);
    struct rt_launch l = {.blocks = r->blocks,
                          .threads = (uint32_t)r->k->unit->threads,
                          .shared_bytes = rt_gpu_shared_bytes(&r->x->d->info, r->k->unit),
                          .cooperative = rt_balance_shares(r->balance),
                          .nparams = 2,
                          .param = {[1] = {&run, sizeof run}}};
    struct rt_launched *at = rt_gpu_outcome_last(x);
    HD_TRY(place_words(r, &l, err));
    bool timed = x->o->kernel_times || x->o->timeline;
    if (timed)
        HD_TRY(x->d->ops->event(x->d, &at->from, err));
    int rc = x->d->ops->launch(x->d, r->k->f, &l, err);
    if (rc == 0 && timed)
        rc = x->d->ops->event(x->d, &at->to, err);
    rt_gpu_span_add(x, RT_SPAN_RUN, (int)(r->p - x->spec->pipelines), at->from, at->to);
    r->st->kernel.launches++;
    return rc;
}

/* ---- the pipeline ---------------------------------------------------------------------- */

/* Bytes for strings that a kernel makes: as many a row as it had to have before, where that is a part of the memory. */
static uint64_t first_heap(const struct run *r)
{
    uint64_t some = HD_MAX(r->rows * STRING_BYTES, (uint64_t)STRING_MIN), part = rt_gpu_limit(r->x) / 4;
    return HD_MAX(some, *r->k->heap < part / r->rows ? r->rows * *r->k->heap : 0);
}

/* Another heap for the pipeline's strings, of n bytes. */
static int alloc_heap(struct run *r, uint64_t n, struct hd_err *err)
{
    rt_gpu_release(r->x, &r->heap);
    return rt_gpu_alloc(r->x, NULL, (size_t)n, &r->heap, err);
}

/* Strings live as long as the execution. */
static void keep_heap(struct run *r)
{
    struct rt_gpu_strings *t = HD_NEW(r->x->arena, struct rt_gpu_strings);
    *t = (struct rt_gpu_strings){r->heap, r->x->strings};
    r->x->strings = t;
}

/* Rows of the source that warps have taken: the first tiles, and what the cursors count (templates/scan.cuh). */
static int count_read(const struct run *r, uint64_t *rows, struct hd_err *err)
{
    struct hdd_cursor cursors[HDD_CURSORS];
    uint64_t taken = scan_warps(r);
    uint32_t n = r->x->outcomes.ncursors;
    HD_TRY(r->x->d->ops->download(r->x->d, cursors, r->cursors, n * sizeof *cursors, err));
    for (uint32_t i = 0; i < n; i++)
        taken += cursors[i].taken;
    *rows = (taken << batch_bits(r)) * tile_rows(r->p);
    return 0;
}

/* Groups used up the slots of their table (insert() of templates/aggregate.cuh), and the kernel
 * ended early: what is still to come is projected from what the part of the source that it read
 * has brought. */
static int project_groups(const struct run *r, const struct rt_outcome *out, uint64_t *groups, struct hd_err *err)
{
    uint64_t read = 0;
    HD_TRY(count_read(r, &read, err));
    double share = read && read < r->rows ? (double)read / (double)r->rows : 1;
    if (parts(r)) /* nobody knows: all warps began with all rows */
        share = 0.25;
    *groups = (uint64_t)((double)out->sink_cursor / share * 1.125) + 64;
    return 0;
}

static int count_asked_for(const struct run *r, const struct rt_outcome *out, uint64_t *rows, struct hd_err *err)
{
    const struct rt_gpu_state *v = &r->x->state[r->sink];
    bool used_up = rt_state_filling(v->s->kind) == RT_KEYED && out->sink_cursor > v->mask - v->mask / 8;
    *rows = out->sink_cursor;
    return used_up ? project_groups(r, out, rows, err) : 0;
}

/* What the pipeline changed is undone, and there is more room. */
static int prepare_retry(struct run *r, const struct rt_outcome *out, bool strings, uint64_t needed, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    struct rt_gpu_span *span;
    HD_TRY(rt_gpu_span_begin(x, RT_SPAN_CLEAR, r->sink, &span, err));
    if (strings) {
        HD_TRY(alloc_heap(r, HD_MAX(out->string_cursor, 2 * (uint64_t)r->heap.n), err));
        *r->k->heap = HD_MAX(*r->k->heap, (out->string_cursor + r->rows - 1) / r->rows);
        for (int k = 1; k < r->p->nwrites; k++)
            HD_TRY(rt_gpu_marks_undo(x, r->p->writes[k], err));
    }
    HD_TRY(rt_gpu_state_retry(x, r->sink, needed, err));
    return rt_gpu_span_end(x, span, err);
}

/* A row of the source gives one of the sink, and both have as many as the host knows of. */
static bool is_counted(const struct run *r)
{
    const struct rt_gpu_state *v = &r->x->state[r->sink];
    bool gaps = r->p->source == RT_SOURCE_ROWS && r->x->state[r->p->state].sparse;
    return r->p->all_arrive && !r->source && !gaps && v->before + r->rows <= v->capacity;
}

/* Nothing can be missing, no row can fail, and nobody asks for a count: the host goes on. What another device reads must be
 * there. */
static bool may_be_left_alone(const struct run *r)
{
    const struct rt_gpu_exec *x = r->x;
    if (x->spec->ndevices > 1 || x->o->profile || r->p->nstreamed || r->k->unit->makes_strings || r->k->unit->may_fail)
        return false;
    if (!rt_state_has_cursor(x->state[r->sink].s))
        return true;
    return !x->few.last && r->p->nlevels == 1 && (is_counted(r) || rt_gpu_state_may_be_uncounted(x, r->sink, r->rows));
}

/* More rows than have room may come, but did not in executions before. */
static bool is_guessed(const struct run *r)
{
    const struct rt_gpu_exec *x = r->x;
    return !x->few.last && !r->p->nstreamed && !r->k->unit->makes_strings && !r->k->unit->may_fail &&
           rt_gpu_state_is_guessed(x, r->sink);
}

/* The next one may be queued. guessed: what it brings may be more than there is room for. */
static int leave_alone(struct run *r, bool guessed, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    bool counted = !guessed && is_counted(r);
    uint64_t most = guessed ? rt_gpu_state_room(x, r->sink) : r->rows;
    if (!x->queued)
        x->queued = hd_asprintf(x->arena, "the pipeline %s, which", r->p->name);
    if (!rt_state_has_cursor(x->state[r->sink].s))
        return 0;
    if (!counted)
        rt_gpu_outcome_last(x)->counted = &x->state[r->sink];
    if (guessed)
        rt_gpu_outcome_last(x)->room = x->state[r->sink].before + most;
    x->state[r->sink].guessed = guessed;
    return rt_gpu_state_uncounted(x, r->sink, r->p->nlevels == 1 ? HD_MIN(most, r->rows) : most,
                                  counted ? 0 : r->outcome + offsetof(struct rt_outcome, sink_cursor), err);
}

static int launch_until_it_fits(struct run *r, struct rt_outcome *out, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    for (int i = 0; i < MAX_RETRIES; i++) {
        uint64_t needed = 0, asked = 0;
        HD_TRY(launch(r, err));
        if (may_be_left_alone(r) || is_guessed(r))
            return leave_alone(r, !may_be_left_alone(r), err);
        HD_TRY(rt_gpu_few_queue(x, r->sink, r->outcome, r->heap.n, err));
        HD_TRY(rt_gpu_outcomes_settle(x, out, err));
        look_at_source(r);
        bool strings = out->string_cursor > r->heap.n;
        HD_TRY(count_asked_for(r, out, &asked, err));
        HD_TRY(rt_gpu_state_full(x, r->sink, asked, &needed, err));
        if (!needed && !strings) {
            rt_gpu_few_look(x, r->sink, out);
            return rt_gpu_state_filled(x, r->sink, err);
        }
        HD_TRY(prepare_retry(r, out, strings, needed, err));
        rt_gpu_args_resolve(x);
    }
    HD_BUG("%s asked for more room %d times", r->p->name, MAX_RETRIES);
}

static void record_kernel(const struct run *r, bool ran)
{
    struct rt_kernel_stats *k = &r->st->kernel;
    const struct rt_device_info *d = &r->x->d->info;
    k->registers = r->k->info.registers;
    k->local_bytes = r->k->info.local_bytes;
    k->shared_bytes = r->k->info.shared_bytes;
    k->blocks = (int)r->blocks;
    k->warps_per_block = r->k->unit->threads / HDD_WARP_LANES;
    k->occupancy = d->warps ? (double)(r->k->info.blocks * k->warps_per_block) / d->warps : 0;
    k->balance = r->balance;
    k->runs += ran;
    if (!r->late)
        r->st->source_rows += r->rows;
}

/* A warp's clock, which says how it divided its time, on the device's timer. */
static void record_warp(struct hd_arena *a, const struct hdd_warp_profile *p, uint64_t begin, struct rt_warp_stats *out)
{
    double start = (double)(p->begin - begin) / 1e3, us = (double)(p->end - p->begin) / 1e3;
    double ticks = (double)(p->busy + p->wait), of_tick = ticks > 0 ? us / ticks : 0;
    *out = (struct rt_warp_stats){.start_us = start,
                                  .end_us = start + us,
                                  .busy_us = ticks > 0 ? (double)p->busy * of_tick : us,
                                  .transitions = p->transitions};
    out->nwaits = (int)HD_MIN(p->transitions, (hdd_u64)HDD_PROFILE_WAITS);
    out->waits = HD_NEWN(a, struct rt_span_us, out->nwaits);
    for (int i = 0; i < out->nwaits; i++)
        out->waits[i] =
            (struct rt_span_us){start + (double)p->waits[i][0] * of_tick, start + (double)p->waits[i][1] * of_tick};
}

static void record_warps(const struct run *r, const struct hdd_warp_profile *records)
{
    struct rt_kernel_stats *k = &r->st->kernel;
    struct hd_arena *a = &r->x->stats->arena;
    uint64_t begin = UINT64_MAX;
    k->nwarps = (int)r->warps;
    k->warps = HD_NEWN(a, struct rt_warp_stats, r->warps);
    for (uint32_t w = 0; w < r->warps; w++)
        if (records[w].begin)
            begin = HD_MIN(begin, records[w].begin);
    for (uint32_t w = 0; w < r->warps; w++)
        if (records[w].begin)
            record_warp(a, &records[w], begin, &k->warps[w]);
}

/* IIR and ILIF of the paper's section 8.1, and what each warp did. */
static int read_warps(const struct run *r, struct hd_err *err)
{
    struct rt_balance_report report;
    struct rt_kernel_stats *k = &r->st->kernel;
    size_t bytes = sizeof(struct hdd_warp_profile) * r->warps;
    struct hdd_warp_profile *records = hd_try_malloc(bytes);
    if (!records)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for the profile");
    int rc = r->x->d->ops->download(r->x->d, records, r->zeroed.address, bytes, err);
    if (rc == 0) {
        rt_balance_add_up(records, r->warps, &report);
        k->iir = report.iir;
        k->ilif = report.ilif;
        k->visits = report.all_visits;
        k->idle_lanes = report.all_idle_lanes;
        k->transitions = report.transitions;
        for (int l = 0; l <= r->p->nlevels; l++) {
            k->level_visits[l] = report.visits[l];
            k->level_idle_lanes[l] = report.idle_lanes[l];
        }
        record_warps(r, records);
    }
    free(records);
    return rc;
}

static int read_counters(const struct run *r, struct hd_err *err)
{
    size_t n = (size_t)r->p->ncounters, all = n * HDD_COUNTER_COPIES;
    uint64_t *copies = hd_try_malloc(sizeof *copies * all);
    if (!copies)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for the profile");
    int rc = r->x->d->ops->download(r->x->d, copies, r->x->counters.address, sizeof *copies * all, err);
    for (size_t i = 0; i < all && rc == 0; i++)
        r->st->counters[i % n] += copies[i];
    free(copies);
    return rc;
}

static int read_profile(const struct run *r, struct hd_err *err)
{
    if (!r->x->o->profile)
        return 0;
    HD_TRY(read_warps(r, err));
    return r->p->ncounters ? read_counters(r, err) : 0;
}

static int prepare_states(const struct run *r, struct hd_err *err)
{
    struct rt_gpu_exec *x = r->x;
    struct rt_gpu_span *span;
    HD_TRY(rt_gpu_span_begin(x, RT_SPAN_CLEAR, r->sink, &span, err));
    HD_TRY(rt_gpu_state_start(x, r->sink, r->k->unit->makes_strings, err));
    for (int k = 1; k < r->p->nwrites && r->k->unit->makes_strings; k++)
        HD_TRY(rt_gpu_marks_keep(x, r->p->writes[k], err));
    return rt_gpu_span_end(x, span, err);
}

static bool is_uncounted(const struct rt_gpu_exec *x, const struct rt_pipeline *p)
{
    return p->source == RT_SOURCE_ROWS && x->state[p->state].count_at && !x->state[p->state].sparse;
}

/* Rows that are on the device. */
static int run_there(struct rt_gpu_exec *x, int pipeline, uint64_t first, uint64_t rows, struct hd_err *err)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    struct rt_outcome out;
    struct run r = {.x = x,
                    .p = p,
                    .k = rt_gpu_code_kernel(x->code, pipeline),
                    .st = &x->stats->pipelines[pipeline],
                    .sink = p->writes[0],
                    .source = is_uncounted(x, p) ? &x->state[p->state] : NULL,
                    .first = first,
                    .rows = rows};
    memset(&out, 0, sizeof out);
    choose_grid(&r);
    lay_out(&r);
    HD_TRY(prepare_states(&r, err));
    rt_gpu_args_resolve(x);
    if (r.rows > 0 && r.k->unit->makes_strings)
        HD_TRY(alloc_heap(&r, first_heap(&r), err));
    bool some = r.rows > 0;
    int rc = some ? launch_until_it_fits(&r, &out, err) : rt_gpu_state_filled(x, r.sink, err);
    keep_heap(&r);
    record_kernel(&r, some);
    if (rc == 0 && some)
        rc = read_profile(&r, err);
    rt_gpu_release(x, &r.zeroed);
    return rc;
}

static int run_chunks(struct rt_gpu_exec *x, int pipeline, uint64_t first, uint64_t rows, struct hd_err *err)
{
    uint64_t n = rows;
    int rc = rt_gpu_stream_open(x, &x->spec->pipelines[pipeline], first, rows, &x->stream, err);
    while (rc == 0 && n > 0) {
        rc = rt_gpu_stream_next(x->stream, &first, &n, err);
        if (rc == 0 && n > 0)
            rc = run_there(x, pipeline, first, n, err);
    }
    rt_gpu_stream_close(x->stream);
    x->stream = NULL;
    return rc;
}

/* The first rows of [begin, end) that zones do not rule out, together with those that it takes longer to launch another kernel for
 * than to read. */
static struct rt_source_rows next_piece(const struct rt_pipeline *p, uint64_t begin, uint64_t end)
{
    struct rt_source_rows piece = rt_source_piece(p, begin, end);
    while (piece.end < end) {
        struct rt_source_rows next = rt_source_piece(p, piece.end, end);
        if (next.begin == next.end || next.begin - piece.end > p->zones.bridged)
            break;
        piece.end = next.end;
    }
    return piece;
}

/* A launch for each piece. */
static int run_pieces(struct rt_gpu_exec *x, int pipeline, uint64_t first, uint64_t rows, struct hd_err *err)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    uint64_t end = first + rows;
    struct rt_source_rows piece = next_piece(p, first, end);
    bool last = x->few.last;
    int rc = 0;
    for (bool more = true; more && rc == 0;) {
        struct rt_source_rows next = next_piece(p, piece.end, end);
        more = next.begin < next.end;
        x->few.last = last && !more;
        rc = run_there(x, pipeline, piece.begin, piece.end - piece.begin, err);
        piece = next;
    }
    x->few.last = last;
    return rc;
}

/* Without rows the sink is prepared. */
static int run_rows(struct rt_gpu_exec *x, int pipeline, uint64_t first, uint64_t rows, struct hd_err *err)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    bool some = rt_source_visited(p, first, first + rows) > 0;
    return p->nstreamed && some ? run_chunks(x, pipeline, first, rows, err) : run_pieces(x, pipeline, first, rows, err);
}

/* ---- rows in the order of a bounded state ------------------------------------------------- */

/* The first rows of the source find a bound for the others: so many, at least so many times as can stay, and so many
 * times as many where a filter has left too few. */
enum { SAMPLE_ROWS = 1 << 15, SAMPLE_TIMES = 16, SAMPLE_GROWS = 8 };

/* Takes n rows of the source, [*first, *first + *rows), that have not run yet: from the side whose rows come first. */
static uint64_t take(const struct rt_pipeline *p, const struct rt_state *s, uint64_t n, uint64_t *first, uint64_t *rows)
{
    uint64_t at = *first;
    n = HD_MIN(n, *rows);
    if (p->front && s->sort[0].desc) {
        uint64_t cut = (*rows - n) / RT_FRAGMENT_ROWS * RT_FRAGMENT_ROWS;
        *rows = cut;
        return at + cut;
    }
    n = HD_MIN(hd_align_up(n, RT_FRAGMENT_ROWS), *rows);
    *first += n;
    *rows -= n;
    return at;
}

/* The rows are those of a table that ascends by the state's first sort key, and all of them come too late. */
static bool are_beyond(const struct rt_pipeline *p, const struct rt_gpu_state *v, uint64_t first, uint64_t rows)
{
    bool desc = v->s->sort[0].desc;
    if (!p->front || v->bound == rt_state_no_bound(v->s))
        return false;
    hd_i128 nearest = rt_col_int(&p->table->cols[p->column], (int64_t)(desc ? first + rows - 1 : first));
    return desc ? nearest < v->bound : nearest > v->bound;
}

/* So few rows will come in all that a bound is not worth waiting for: as few as in executions before, or as those that were
 * visited suggest. Where rows come by the first key, a bound ends the scan. */
static bool are_few(const struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t visited, uint64_t rows,
                    bool front)
{
    enum {
        FEW = 1 << 14, /* the first of so many are found in less time than a wait takes (gpu_order.c) */
        MORE = 4 /* may have been bad luck */
    };
    uint64_t seen = rt_state_seen(x, v->s);
    if (visited == 0 || front)
        return seen && seen <= FEW && !front;
    return (double)(v->asked + MORE) / (double)visited * (double)rows <= FEW;
}

/* What found the bound is visited once more, and all that it brought is forgotten: what is left then is few rows, most often. Not
 * where rows are counted, nor where the bound ends the scan. */
static bool begins_again(const struct rt_gpu_exec *x, const struct rt_pipeline *p, uint64_t visited, uint64_t all)
{
    enum { PART = 8 }; /* of the source at most */
    return visited > 0 && visited <= all / PART && !p->front && !x->o->profile;
}

static int run_bounded(struct rt_gpu_exec *x, int pipeline, uint64_t first, uint64_t rows, struct hd_err *err)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    struct rt_gpu_state *v = &x->state[p->writes[0]];
    struct rt_pipeline_stats *st = &x->stats->pipelines[pipeline];
    uint64_t n = HD_MAX((uint64_t)SAMPLE_ROWS, rt_state_wanted_rows(v->s) * SAMPLE_TIMES);
    if (!v->started) { /* by an earlier pipeline */
        v->bound = rt_state_no_bound(v->s);
        HD_TRY(rt_gpu_state_start(x, p->writes[0], false, err));
    }
    const uint64_t begin = first, all = rows, had = v->asked, told = st->source_rows;
    bool last = x->few.last;
    uint64_t visited = 0;
    x->few.last = false;
    while (rows > n && v->bound == rt_state_no_bound(v->s) && !are_few(x, v, visited, rows, p->front)) {
        uint64_t rest = rows, at = take(p, v->s, n, &first, &rest);
        HD_TRY(run_rows(x, pipeline, at, rows - rest, err));
        HD_TRY(rt_gpu_state_bound(x, p->writes[0], n, err));
        visited += rows - rest;
        rows = rest;
        n *= SAMPLE_GROWS;
    }
    x->few.last = last;
    if (v->bound != rt_state_no_bound(v->s) && begins_again(x, p, visited, all)) {
        first = begin;
        rows = all;
        v->asked = had;
        st->source_rows = told;
    }
    return rows && are_beyond(p, v, first, rows) ? 0 : run_rows(x, pipeline, first, rows, err);
}

/* Tiles of the source go to several warps each, unless far more rows came than in executions before: that takes less time than
 * waiting does. */
static bool will_divide(struct rt_gpu_exec *x, int pipeline)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    const struct rt_gpu_state *v = &x->state[p->state];
    const struct run r = {.x = x, .p = p, .k = rt_gpu_code_kernel(x->code, pipeline)};
    uint64_t warps = resident_blocks(x, r.k) * (uint64_t)(r.k->unit->threads / HDD_WARP_LANES);
    return v->guessed && may_divide(&r, tiles_of(p, rt_state_seen(x, v->s)), warps);
}

/* The host must know how many rows there are. */
static bool wants_count(struct rt_gpu_exec *x, int pipeline, struct rt_fragment f)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    return will_divide(x, pipeline) || p->shape == RT_SHAPE_LOOP || f.parts > 1 ||
           x->spec->states[p->writes[0]].bounded || rt_gpu_code_kernel(x->code, pipeline)->unit->makes_strings;
}

int rt_gpu_pipeline_run(struct rt_gpu_exec *x, int pipeline, struct rt_fragment f, struct hd_err *err)
{
    const struct rt_pipeline *p = &x->spec->pipelines[pipeline];
    if (is_uncounted(x, p) && wants_count(x, pipeline, f))
        HD_TRY(rt_gpu_state_count(x, &x->state[p->state], err));
    struct rt_source_rows at = rt_source_span(x->spec, p, f, rt_gpu_source_rows(x, p));
    uint64_t rows = at.end - at.begin;
    return x->spec->states[p->writes[0]].bounded ? run_bounded(x, pipeline, at.begin, rows, err)
                                                 : run_rows(x, pipeline, at.begin, rows, err);
}
