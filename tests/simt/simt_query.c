/* Runs a plan on the emulator: the emitted CUDA source, compiled by the host compiler, under
 * several interleavings, which must all give one result. Prints it as `heddle run --format
 * csv` does, rows sorted as text unless the plan sorts them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/strbuf.h"
#include "tests/simt/check.h"
#include "tests/simt/sim.h"

static const char usage[] =
    "usage: simt_query PLAN.json --db DB [--seed N] [--seeds N] [--blocks N] [--take N]\n"
    "                  [--balance auto|none|nifs|nifs+fws|nifs+fws-local|nifs+aws]\n"
    "                  [--fws-threshold N] [--scan-warps N]\n"
    "                  [--min-gifts N] [--dump] [--profile] [--stats]\n"
    "--min-gifts: fails if less work than that moved between warps, all seeds together\n";

struct options {
    const char *plan, *db;
    uint64_t seeds, min_gifts;
    bool dump, profile, stats;
    enum rt_balance balance;
    struct grid_options grid;
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
    else if (strcmp(name, "--seed") == 0)
        o->grid.seed = number(value);
    else if (strcmp(name, "--seeds") == 0)
        o->seeds = number(value);
    else if (strcmp(name, "--min-gifts") == 0)
        o->min_gifts = number(value);
    else if (strcmp(name, "--blocks") == 0)
        o->grid.blocks = (uint32_t)number(value);
    else if (strcmp(name, "--take") == 0)
        o->grid.take = (uint32_t)number(value);
    else if (strcmp(name, "--balance") == 0)
        return read_balance(o, value);
    else if (strcmp(name, "--fws-threshold") == 0)
        o->grid.threshold = (uint32_t)number(value);
    else if (strcmp(name, "--scan-warps") == 0)
        o->grid.scan_warps = (uint32_t)number(value);
    else
        return false;
    return true;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){.seeds = 1};
    grid_options_init(&o->grid);
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
    return o->plan && o->db && o->grid.blocks && o->grid.take && o->seeds;
}

static int fail(struct hd_err *err)
{
    fprintf(stderr, "simt_query: %s%s%s (%s)\n", err->path, *err->path ? ": " : "",
            err->message, hd_err_class_name(err->class));
    if (err->detail)
        fprintf(stderr, "%s\n", err->detail);
    int status = hd_err_status(err);
    hd_err_release(err);
    return status;
}

static void print_stats(const struct sim_stats *s, uint64_t seed)
{
    double iir = s->visits ? (double)s->idle_lanes / (32.0 * (double)s->visits) : 0;
    fprintf(stderr,
            "seed %llu: %llu launches (%llu again after an overflow), %llu gifts, "
            "%llu warp iterations, %.1f %% idle lanes, %llu switches\n",
            (unsigned long long)seed, (unsigned long long)s->launches,
            (unsigned long long)s->retries, (unsigned long long)s->gifts,
            (unsigned long long)s->visits, iir * 100, (unsigned long long)s->switches);
}

static void print_counters(const struct sim_program *p, const struct sim_result *r)
{
    for (int i = 0; i < p->pl->npipelines; i++) {
        const struct rt_pipeline *q = &p->pl->spec->pipelines[i];
        for (int k = 0; k < q->ncounters; k++)
            fprintf(stderr, "%s %d %s: %llu\n", q->name, k, q->counter_names[k],
                    (unsigned long long)r->counters[i][k]);
    }
}

/* Runs one seed; its result must be the first one's, which *first keeps. */
static int run_seed(const struct options *o, const struct sim_program *p,
                    const struct sim_kernel *kernels, const struct grid_options *g,
                    char **first, uint64_t *gifts, struct hd_err *err)
{
    struct sim_result r;
    int status = sim_run(p, kernels, g, &r, err);
    char *csv = status == 0 ? sim_result_csv(p, &r, p->ordered) : NULL;
    *gifts += r.stats.gifts;
    if (o->stats)
        print_stats(&r.stats, g->seed);
    if (o->profile && !*first)
        print_counters(p, &r);
    if (csv && *first && strcmp(csv, *first) != 0)
        status = HD_FAIL(err, TOOL, o->plan, "seed %llu gives another result than seed %llu",
                         (unsigned long long)g->seed, (unsigned long long)o->grid.seed);
    if (*first)
        free(csv);
    else
        *first = csv;
    sim_result_release(&r);
    return status;
}

static int run_seeds(const struct options *o, const struct sim_program *p,
                     const struct sim_kernel *kernels, struct hd_err *err)
{
    char *first = NULL;
    uint64_t gifts = 0;
    struct grid_options g = o->grid;
    int status = 0;
    for (uint64_t i = 0; i < o->seeds && status == 0; i++, g.seed++)
        status = run_seed(o, p, kernels, &g, &first, &gifts, err);
    if (status == 0 && gifts < o->min_gifts)
        status =
            HD_FAIL(err, TOOL, o->plan, "work moved between warps %llu times, expected %llu",
                    (unsigned long long)gifts, (unsigned long long)o->min_gifts);
    if (status == 0)
        fputs(first, stdout);
    free(first);
    return status;
}

static int run_program(const struct options *o, const struct sim_program *p,
                       struct hd_err *err)
{
    const struct sim_compiler compiler = {.cxx = SIMT_CXX,
                                          .flags = SIMT_FLAGS,
                                          .root = SIMT_ROOT,
                                          .twin = SIMT_ROOT "/tests/simt/twin.cuh",
                                          .cache = SIMT_CACHE};
    int n = p->art.nunits, status = 0;
    struct sim_kernel *kernels = sim_alloc(sizeof *kernels * (size_t)n);
    for (int i = 0; i < n && status == 0; i++)
        status = sim_kernel_load(&compiler, &p->art.units[i], &kernels[i], err);
    if (status == 0)
        status = run_seeds(o, p, kernels, err);
    for (int i = 0; i < n; i++)
        sim_kernel_unload(&kernels[i]);
    free(kernels);
    return status;
}

static void dump(const struct sim_program *p)
{
    for (int i = 0; i < p->art.nunits; i++)
        printf("%s%s", i ? "\n" : "", p->art.units[i].text);
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
    struct pl_options po = {.profile = o.profile, .balance = o.balance, .threads = 1, .gpu_blocks = 2};
    if (sim_program_init(&p, o.plan, o.db, &po, &err) != 0)
        return fail(&err);
    int status = 0;
    if (o.dump)
        dump(&p);
    else
        status = run_program(&o, &p, &err);
    sim_program_release(&p);
    return status == 0 ? 0 : fail(&err);
}
