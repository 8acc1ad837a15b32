/* What the first execution of plans on a GPU waits for: every source that it compiles with an empty cache (first tiers of
 * pipelines, fixed kernels, libraries), and the processor time that NVRTC takes for each. Needs no GPU.
 *
 *   bench_sources [--each] [--optimised] [--fixed] [--with OPTIONS] [--arch N] [--threads N] [--repeat N] DB PLAN...
 *
 * Sources are compiled one after the other, each in a fork that has read the headers, as by the compiler process; the fastest
 * of N repetitions counts. A line per plan: its sources, the sum of their times, the longest of them, and when the last one
 * is there if so many threads take them in the executor's order (16: of one with cores enough). --each: a line per source,
 * too. --fixed: all fixed kernels and libraries, and no plans. --with: NVRTC's options for fixed kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/gpu/gpu_internal.h"
#include "runtime/gpu/gpu_sources.h"
#include "runtime/gpu/nvrtc.h"
#include "tests/simt/check.h"
#include "tests/simt/sim.h"

enum { SOURCES_MAX = 512, THREADS_MAX = 256, L2_BYTES = 50 << 20 /* of an H100 */ };

struct source {
    const char *name, *text;
    double ms;
};

struct bench {
    struct rt_nvrtc *n;
    bool each, optimised, fixed;
    const char *with; /* NULL: what fixed kernels say themselves */
    struct hd_arena arena;
    int arch, threads, repeat;
    struct source v[SOURCES_MAX];
    int nsources;
};

/* ---- one source -------------------------------------------------------------------------- */

static _Noreturn void compile_here(const struct bench *b, const struct source *s)
{
    struct rt_bytes image;
    struct hd_err err;
    hd_err_init(&err);
    if (rt_nvrtc_compile(b->n, s->name, s->text, b->arch, RT_NVRTC_CUBIN, &image, NULL, &err) != 0) {
        fprintf(stderr, "%s: %s\n%s\n", s->name, err.message, err.detail ? err.detail : "");
        _exit(1);
    }
    _exit(0); /* NVRTC keeps memory that it does not give back */
}

static double ms_of(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static double time_source(const struct bench *b, const struct source *s)
{
    struct rusage used;
    int status;
    pid_t child = fork();
    if (child == 0)
        compile_here(b, s);
    CHECK(child > 0 && wait4(child, &status, 0, &used) == child, "no process for %s", s->name);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s is not compiled", s->name);
    return ms_of(used.ru_utime) + ms_of(used.ru_stime);
}

static void time_all(struct bench *b)
{
    for (int k = 0; k < b->repeat; k++)
        for (int i = 0; i < b->nsources; i++) {
            double ms = time_source(b, &b->v[i]);
            b->v[i].ms = k ? HD_MIN(b->v[i].ms, ms) : ms;
        }
}

/* ---- a plan ------------------------------------------------------------------------------ */

static void add(struct bench *b, const char *name, const char *text)
{
    CHECK(b->nsources < SOURCES_MAX, "too many sources");
    b->v[b->nsources++] = (struct source){.name = name, .text = text};
}

static void add_fixed_source(struct bench *b, const char *name, bool first)
{
    const char *text = rt_gpu_fixed_text(name);
    if (first) {
        char *heap = rt_gpu_fixed_first(name);
        CHECK(heap, "no memory");
        text = hd_strdup(&b->arena, heap);
        free(heap);
    }
    add(b, name, b->with ? hd_asprintf(&b->arena, "//! %s\n%s", b->with, text) : text);
}

static void add_libraries(struct bench *b, unsigned libraries)
{
    for (int i = 0; i < RT_NLIBRARIES; i++)
        if (libraries >> i & 1)
            add_fixed_source(b, rt_gpu_library_name(i), false);
}

static void add_fixed(struct bench *b, const struct rt_spec *spec)
{
    const struct rt_device_info info = {.l2_bytes = L2_BYTES};
    const char *names[RT_FIXED_MAX];
    int n = rt_gpu_fixed_modules(spec, &info, false, names);
    for (int i = 0; i < n; i++)
        add_fixed_source(b, names[i], spec->fixed_tier != RT_FIXED_OPTIMISED);
}

static void add_program(struct bench *b, const struct sim_program *p, struct rt_gpu_sources *s)
{
    unsigned libraries = 0;
    for (int i = 0; i < s->n; i++) {
        const struct rt_unit *first = b->optimised ? NULL : s->v[i].first;
        add(b, s->v[i].name, first ? first->text : s->v[i].text);
        libraries |= first ? first->libraries : s->v[i].libraries;
    }
    add_fixed(b, p->pl->spec);
    add_libraries(b, libraries);
}

/* As runtime/gpu/gpu_code.c has it: what takes longest first. */
static int by_time(const void *a, const void *b)
{
    const struct source *m = a, *n = b;
    double x = rt_gpu_expected_ms(m->name, m->text), y = rt_gpu_expected_ms(n->name, n->text);
    return (x < y) - (x > y);
}

/* When the last source is there; whoever is idle takes the next one. */
static double span(const struct bench *b)
{
    double end[THREADS_MAX] = {0}, last = 0;
    for (int i = 0; i < b->nsources; i++) {
        int t = 0;
        for (int k = 1; k < b->threads; k++)
            if (end[k] < end[t])
                t = k;
        end[t] += b->v[i].ms;
        last = HD_MAX(last, end[t]);
    }
    return last;
}

static void print(const struct bench *b, const char *title)
{
    double sum = 0;
    const struct source *longest = b->v;
    for (int i = 0; i < b->nsources; i++) {
        sum += b->v[i].ms;
        longest = b->v[i].ms > longest->ms ? &b->v[i] : longest;
        if (b->each)
            printf("%s %-22s %6.1f ms\n", title, b->v[i].name, b->v[i].ms);
    }
    printf("%s: %d sources, sum %.0f ms, longest %.0f (%s), %d threads %.0f\n", title, b->nsources, sum, longest->ms,
           longest->name, b->threads, span(b));
    fflush(stdout);
}

static void bench_plan(struct bench *b, const char *db, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct pl_options po = {.on_gpu = true, .threads = 1, .tier = b->optimised ? PL_TIER_OPTIMISED : PL_TIER_AUTO};
    struct sim_program p;
    struct rt_gpu_sources s;
    struct hd_err err;
    hd_err_init(&err);
    CHECK(sim_program_init(&p, path, db, NULL, &po, &err) == 0, "%s: %s", err.path, err.message);
    CHECK(rt_gpu_sources_init(&s, p.art.units, p.art.nunits, &err) == 0, "%s", err.message);
    b->nsources = 0;
    add_program(b, &p, &s);
    qsort(b->v, (size_t)b->nsources, sizeof *b->v, by_time);
    time_all(b);
    print(b, slash ? slash + 1 : path);
    rt_gpu_sources_release(&s);
    sim_program_release(&p);
}

static void bench_fixed(struct bench *b)
{
    for (int i = 0; i < RT_WARM_MAX; i++)
        add_fixed_source(b, rt_gpu_warm_name(i), false);
    time_all(b);
    print(b, "fixed");
}

/* ---- all --------------------------------------------------------------------------------- */

static int options(struct bench *b, char **argv)
{
    int i = 1;
    for (; argv[i] && strncmp(argv[i], "--", 2) == 0; i++) {
        int *number = strcmp(argv[i], "--arch") == 0      ? &b->arch
                      : strcmp(argv[i], "--threads") == 0 ? &b->threads
                      : strcmp(argv[i], "--repeat") == 0  ? &b->repeat
                                                          : NULL;
        if (number && argv[i + 1])
            *number = atoi(argv[++i]);
        if (strcmp(argv[i], "--with") == 0 && argv[i + 1])
            b->with = argv[++i];
        b->each |= strcmp(argv[i], "--each") == 0;
        b->optimised |= strcmp(argv[i], "--optimised") == 0;
        b->fixed |= strcmp(argv[i], "--fixed") == 0;
    }
    b->threads = HD_MAX(HD_MIN(b->threads, THREADS_MAX), 1);
    return i;
}

int main(int argc, char **argv)
{
    static struct bench b = {.arch = 90, .threads = 16, .repeat = 1};
    struct hd_err err;
    hd_err_init(&err);
    hd_arena_init(&b.arena);
    int i = options(&b, argv);
    if (!b.fixed && argc - i < 2) {
        fprintf(stderr, "usage: bench_sources [--each] [--optimised] [--fixed] [--with OPTIONS] [--arch N] [--threads "
                        "N] [--repeat N] DB PLAN...\n");
        return 2;
    }
    if (rt_nvrtc_open(NULL, &b.n, &err) != 0) {
        printf("skipped: %s\n", err.message);
        return CHECK_SKIPPED;
    }
    for (int k = 0; k < 2; k++)
        rt_nvrtc_precompile(b.n, b.arch, RT_NVRTC_CUBIN, k > 0);
    if (b.fixed)
        bench_fixed(&b);
    for (int k = i + 1; !b.fixed && k < argc; k++)
        bench_plan(&b, argv[i], argv[k]);
    rt_nvrtc_close(b.n);
    hd_arena_release(&b.arena);
    return 0;
}
