/* Runs a plan on the emulator: the emitted CUDA source, compiled by the host compiler, through
 * the GPU executor, under several interleavings, which must all give one result. Prints it as
 * `heddle run --format csv` does, rows sorted as text unless the plan sorts them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/strbuf.h"
#include "runtime/gpu/gpu.h"
#include "tests/simt/check.h"
#include "tests/simt/sim.h"
#include "tests/simt/sim_compiler.h"
#include "tests/simt/sim_device.h"

static const char usage[] =
    "usage: simt_query PLAN.json --db DB [--params FILE] [--seed N] [--seeds N]\n"
    "                  [--balance MODE]\n"
    "                  [--fws-threshold N] [--scan-warps N] [--multiprocessors N] [--gpu-warps N] [--gpu-block N]\n"
    "                  [--first-rows N] [--min-donations N] [--dump] [--profile] [--stats]\n"
    "                  [--in-order] [--frame-weight N] [--pooled] [--first-tier] [--seen N]\n"
    "--scan-warps: so many warps take work from the source, the others live on donations\n"
    "--first-rows: room that states have at first, in rows, instead of the estimate\n"
    "--seen: as if executions before the first one had brought so many rows to every state\n"
    "--frame-weight: pipelines of more are framed, with 1 all\n"
    "--lane-room: log2 of the rows that sums in a shared word of a thread have room for\n"
    "--pooled: as outside of tests, memory is that of a pool, and room that an execution had to make is there for the "
    "next\n"
    "--first-tier: kernels are those that a GPU begins with, where the plan has such\n"
    "--in-order: every pipeline keeps the order of its source\n"
    "--min-donations: fails if less work than that moved between warps, all seeds together\n";

struct options {
    const char *plan, *db, *params;
    uint64_t seed, seeds, min_donations, first_rows, multiprocessors, fws_threshold, scan_warps, frame_weight, seen,
        gpu_warps, gpu_block, lane_room;
    enum rt_balance balance;
    bool dump, profile, stats, in_order, pooled, first_tier;
};

static uint64_t number(const char *s)
{
    char *end;
    unsigned long long n = strtoull(s, &end, 10);
    CHECK(*s && !*end, "\"%s\" is no number", s);
    return n;
}

static bool read_flag(struct options *o, const char *name)
{
    if (strcmp(name, "--dump") == 0)
        o->dump = true;
    else if (strcmp(name, "--profile") == 0)
        o->profile = true;
    else if (strcmp(name, "--stats") == 0)
        o->stats = true;
    else if (strcmp(name, "--in-order") == 0)
        o->in_order = true;
    else if (strcmp(name, "--pooled") == 0)
        o->pooled = true;
    else if (strcmp(name, "--first-tier") == 0)
        o->first_tier = true;
    else
        return false;
    return true;
}

static bool read_balance(struct options *o, const char *name)
{
    int b = rt_balance_find(name);
    o->balance = (enum rt_balance)HD_MAX(b, 0);
    return b >= 0;
}

static bool read_option(struct options *o, const char *name, const char *value)
{
    if (strcmp(name, "--db") == 0)
        o->db = value;
    else if (strcmp(name, "--params") == 0)
        o->params = value;
    else if (strcmp(name, "--balance") == 0)
        return read_balance(o, value);
    else if (strcmp(name, "--fws-threshold") == 0)
        o->fws_threshold = number(value);
    else if (strcmp(name, "--scan-warps") == 0)
        o->scan_warps = number(value);
    else if (strcmp(name, "--gpu-warps") == 0)
        o->gpu_warps = number(value);
    else if (strcmp(name, "--gpu-block") == 0)
        o->gpu_block = number(value);
    else if (strcmp(name, "--seed") == 0)
        o->seed = number(value);
    else if (strcmp(name, "--seeds") == 0)
        o->seeds = number(value);
    else if (strcmp(name, "--min-donations") == 0)
        o->min_donations = number(value);
    else if (strcmp(name, "--first-rows") == 0)
        o->first_rows = number(value);
    else if (strcmp(name, "--seen") == 0)
        o->seen = number(value);
    else if (strcmp(name, "--frame-weight") == 0)
        o->frame_weight = number(value);
    else if (strcmp(name, "--lane-room") == 0)
        o->lane_room = number(value);
    else if (strcmp(name, "--multiprocessors") == 0)
        o->multiprocessors = number(value);
    else
        return false;
    return true;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){.seeds = 1, .multiprocessors = 2};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            o->plan = argv[i];
        else if (read_flag(o, argv[i]))
            continue;
        else if (i + 1 == argc || !read_option(o, argv[i], argv[i + 1]))
            return false;
        else
            i++;
    }
    return o->plan && o->db && o->seeds && o->multiprocessors;
}

static int fail(struct hd_err *err)
{
    fprintf(stderr, "simt_query: %s%s%s (%s)\n", err->path, *err->path ? ": " : "", err->message,
            hd_err_class_name(err->class));
    if (err->detail)
        fprintf(stderr, "%s\n", err->detail);
    int status = hd_err_status(err);
    hd_err_release(err);
    return status;
}

/* ---- one execution ----------------------------------------------------------------------- */

struct runner {
    const struct options *o;
    const struct sim_program *p;
    struct rt_device *device; /* of gpu */
    struct rt_gpu *gpu;
    struct rt_gpu_code *code;
    struct rt_thread_pool *thread_pool;
    uint64_t *seen, *room; /* rows of states, and one; NULL: none is remembered */
    uint64_t donations;
    char *first; /* result of the first seed */
};

struct calls {
    uint64_t launches, waits, clears, batches;
};

static struct calls calls_since(const struct rt_device *d, struct calls before)
{
    return (struct calls){sim_device_launches(d) - before.launches, sim_device_waits(d) - before.waits,
                          sim_device_clears(d) - before.clears, sim_device_batches(d) - before.batches};
}

static void print_stats(const struct rt_exec_stats *s, uint64_t seed, struct calls calls)
{
    uint64_t pipelines = 0, again = 0, donations = 0, visits = 0, idle = 0;
    for (int i = 0; i < s->npipelines; i++) {
        const struct rt_kernel_stats *k = &s->pipelines[i].kernel;
        pipelines += (uint64_t)k->launches;
        again += (uint64_t)HD_MAX(k->launches - 1, 0);
        donations += k->donations;
        visits += k->visits;
        idle += k->idle_lanes;
    }
    fprintf(stderr,
            "seed %llu: %llu launches, %llu of pipelines (%llu again after an overflow), "
            "%llu donations, %.1f %% idle lanes, %llu waits, %llu clears, %llu batches%s\n",
            (unsigned long long)seed, (unsigned long long)calls.launches, (unsigned long long)pipelines,
            (unsigned long long)again, (unsigned long long)donations,
            visits ? (double)idle / (double)visits * 100 / 32 : 0, (unsigned long long)calls.waits,
            (unsigned long long)calls.clears, (unsigned long long)calls.batches, s->begun_anew ? ", begun anew" : "");
}

static void print_counters(const struct rt_spec *spec, const struct rt_exec_stats *s)
{
    for (int i = 0; i < spec->npipelines; i++)
        for (int k = 0; k < spec->pipelines[i].ncounters; k++)
            fprintf(stderr, "%s %d %s: %llu\n", spec->pipelines[i].name, k, spec->pipelines[i].counter_names[k],
                    (unsigned long long)s->pipelines[i].counters[k]);
}

/* Rows of a result, which outlive the pieces in which they come. */
struct taken {
    const struct rt_state *s;
    struct hd_arena arena;
    unsigned char *rows;
    uint64_t n;
};

static void keep_strings(struct taken *t, unsigned char *row)
{
    for (int f = 0; f < t->s->nfields; f++) {
        const struct rt_field *d = &t->s->fields[f];
        struct rt_row_str text;
        if (d->phys != RT_STR || (d->valid_offset >= 0 && !row[d->valid_offset]))
            continue;
        memcpy(&text, row + d->offset, sizeof text);
        text.s = hd_dup(&t->arena, text.s, (size_t)text.n);
        memcpy(row + d->offset, &text, sizeof text);
    }
}

static int take(void *taker, const unsigned char *rows, uint64_t n, struct hd_err *err HD_UNUSED)
{
    struct taken *t = taker;
    size_t stride = (size_t)t->s->stride, had = (size_t)t->n * stride, more = (size_t)n * stride;
    unsigned char *all = hd_alloc(&t->arena, had + more);
    if (had)
        memcpy(all, t->rows, had);
    memcpy(all + had, rows, more);
    for (uint64_t i = 0; i < n; i++)
        keep_strings(t, all + had + i * stride);
    t->rows = all;
    t->n += n;
    return 0;
}

/* The result as text, NULL after a failure. */
static char *execute(struct runner *r, uint64_t seed, struct hd_err *err)
{
    const struct rt_spec *spec = r->p->pl->spec;
    struct taken taken = {.s = &spec->states[spec->result_state]};
    struct rt_gpu_run_options o = {.profile = r->o->profile,
                                   .take = take,
                                   .taker = &taken,
                                   .threads = 1,
                                   .thread_pool = r->thread_pool,
                                   .fws_threshold = (uint32_t)r->o->fws_threshold,
                                   .scan_warps = (uint32_t)r->o->scan_warps,
                                   .warps = (uint32_t)r->o->gpu_warps,
                                   .seen = r->seen,
                                   .room = r->room,
                                   .first_rows = r->o->first_rows};
    struct rt_exec_stats stats;
    uint64_t nrows;
    char *csv = NULL;
    struct calls before = calls_since(r->device, (struct calls){0});
    sim_device_seed(r->device, seed);
    rt_exec_stats_init(&stats);
    hd_arena_init(&taken.arena);
    if (rt_gpu_run(r->gpu, spec, r->code, &o, &nrows, &stats, err) == 0) {
        CHECK(nrows == taken.n, "%llu rows of %llu came", (unsigned long long)taken.n, (unsigned long long)nrows);
        csv = sim_result_csv(spec, taken.rows, taken.n, r->p->ordered);
    }
    hd_arena_release(&taken.arena);
    for (int i = 0; i < stats.npipelines; i++)
        r->donations += stats.pipelines[i].kernel.donations;
    if (r->o->stats)
        print_stats(&stats, seed, calls_since(r->device, before));
    if (csv && r->o->profile && !r->first)
        print_counters(spec, &stats);
    rt_exec_stats_release(&stats);
    return csv;
}

/* Its result must be the first one's. */
static int run_seed(struct runner *r, uint64_t seed, struct hd_err *err)
{
    char *csv = execute(r, seed, err);
    if (!csv)
        return -1;
    if (!r->first) {
        r->first = csv;
        return 0;
    }
    bool same = strcmp(csv, r->first) == 0;
    free(csv);
    return same ? 0
                : HD_FAIL(err, TOOL, r->o->plan, "seed %llu gives another result than seed %llu",
                          (unsigned long long)seed, (unsigned long long)r->o->seed);
}

static int run_seeds(struct runner *r, struct hd_err *err)
{
    for (uint64_t i = 0; i < r->o->seeds; i++)
        HD_TRY(run_seed(r, r->o->seed + i, err));
    if (r->donations < r->o->min_donations)
        return HD_FAIL(err, TOOL, r->o->plan, "work moved between warps %llu times, expected %llu",
                       (unsigned long long)r->donations, (unsigned long long)r->o->min_donations);
    fputs(r->first, stdout);
    return 0;
}

/* ---- the GPU ----------------------------------------------------------------------------- */

/* Every piece of memory is a buffer of its own, with its guards, unless it shall be pooled. */
static int open_gpu(struct runner *r, struct hd_err *err)
{
    struct sim_device_options so;
    struct rt_compiler *compiler;
    const struct rt_gpu_options go = {.version = "test", .direct_memory = !r->o->pooled};
    sim_device_options_init(&so);
    so.multiprocessors = (int)r->o->multiprocessors;
    HD_TRY(sim_device_open(&so, &r->device, err));
    if (sim_compiler_open(&compiler, err) != 0) {
        r->device->ops->close(r->device);
        return -1;
    }
    return rt_gpu_open(r->device, compiler, &go, &r->gpu, err);
}

static uint64_t *new_seen(uint64_t rows, int n)
{
    uint64_t *seen = calloc((size_t)n + 1, sizeof *seen);
    CHECK(seen, "out of memory");
    for (int i = 0; i < n && rows; i++)
        seen[i] = rows + 1;
    return seen;
}

static int run_program(struct runner *r, struct hd_err *err)
{
    enum rt_cached how;
    r->seen = new_seen(r->o->seen, r->p->pl->spec->nstates);
    r->room = r->o->pooled ? new_seen(0, r->p->pl->spec->nstates) : NULL;
    HD_TRY(open_gpu(r, err));
    r->thread_pool = rt_thread_pool_new();
    int status = rt_gpu_code_get(r->gpu, r->p->pl->spec, r->p->art.units, r->thread_pool, 1, NULL, RT_CODE_RUN,
                                 &r->code, &how, err);
    if (status == 0) {
        status = run_seeds(r, err);
        rt_gpu_code_release(r->gpu, r->code);
    }
    rt_gpu_close(r->gpu);
    rt_thread_pool_free(r->thread_pool);
    free(r->first);
    free(r->seen);
    free(r->room);
    return status;
}

static void dump(const struct sim_program *p)
{
    for (int i = 0; i < p->art.nunits; i++)
        printf("%s%s", i ? "\n" : "", p->art.units[i].text);
}

static void keep_order(struct sim_program *p)
{
    p->ordered = true;
    for (int i = 0; i < p->pl->npipelines; i++)
        p->pl->spec->pipelines[i].ordered = true;
}

int main(int argc, char **argv)
{
    struct options o;
    struct sim_program p;
    struct hd_err err;
    hd_err_init(&err);
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    struct pl_options po = {.profile = o.profile,
                            .balance = o.balance,
                            .on_gpu = o.first_tier,
                            .tier = o.first_tier ? PL_TIER_FIRST : PL_TIER_OPTIMISED,
                            .threads = 1,
                            .gpu_blocks = 2,
                            .gpu_block_warps = (int)o.gpu_block,
                            .frame_weight = (int)o.frame_weight,
                            .lane_room = (int)o.lane_room};
    if (sim_program_init(&p, o.plan, o.db, o.params, &po, &err) != 0)
        return fail(&err);
    if (o.in_order)
        keep_order(&p);
    struct runner r = {.o = &o, .p = &p};
    int status = 0;
    if (o.dump)
        dump(&p);
    else
        status = run_program(&r, &err);
    sim_program_release(&p);
    return status == 0 ? 0 : fail(&err);
}
