/* Every kernel that the given plans emit compiles with NVRTC to cubins for each of the
 * architectures below that it knows, without warnings. No GPU is needed; without NVRTC the
 * test reports itself as skipped.
 *
 *   test_nvrtc DB PLAN...                the fixed kernels, too, and few may spill
 *   test_nvrtc --plans-only DB PLAN...   any plans: spills are only told */
#include <string.h>

#include "runtime/gpu/nvrtc.h"
#include "templates/embed.h"
#include "tests/simt/check.h"
#include "tests/simt/sim.h"

/* A few bytes are ptxas trading registers for occupancy; more is a kernel that has grown too
 * big. */
enum { SPILL_MOST = 80, SPILL_MOST_ANY = 512 }; /* ANY: kernels that hold every strategy */

static const int architectures[] = {80, 90, 100, 120};

static void stop(struct hd_err *err)
{
    fprintf(stderr, "%s: %s\n%s\n", err->path, err->message, err->detail ? err->detail : "");
    exit(1);
}

static void compile_source(struct rt_nvrtc *n, const char *plan, const char *name,
                           const char *text, int spill_most)
{
    struct hd_err err;
    hd_err_init(&err);
    for (size_t i = 0; i < HD_COUNT(architectures); i++) {
        struct rt_bytes cubin;
        struct rt_nvrtc_report r;
        bool is_cubin;
        int arch = architectures[i];
        if (rt_nvrtc_arch(n, arch, &is_cubin) != arch)
            continue;
        if (rt_nvrtc_compile(n, name, text, arch, RT_NVRTC_CUBIN, &cubin, &r, &err))
            stop(&err);
        CHECK(!r.log || !strstr(r.log, "warning"), "%s %s: %s", plan, name, r.log);
        CHECK(cubin.n > 4 && memcmp(cubin.p, "\177ELF", 4) == 0, "no cubin");
        CHECK(spill_most < 0 || r.spill_bytes <= spill_most, "%s %s spills %d bytes on sm_%d",
              plan, name, r.spill_bytes, arch);
        printf("%s %s sm_%d: %zu bytes, %d registers, %d bytes spilled, %d of shared memory\n",
               plan, name, arch, cubin.n, r.registers, r.spill_bytes, r.shared_bytes);
        free(r.log);
        rt_bytes_release(&cubin);
    }
}

static void compile_plan(struct rt_nvrtc *n, const char *db, const char *plan, bool profile,
                         enum rt_balance balance, bool any_spills)
{
    struct sim_program p;
    struct hd_err err;
    hd_err_init(&err);
    struct pl_options po = {
        .profile = profile, .balance = balance, .threads = 1, .gpu_blocks = 2};
    if (sim_program_init(&p, plan, db, NULL, &po, &err) != 0)
        stop(&err);
    const char *slash = strrchr(plan, '/');
    for (int i = 0; i < p.art.nunits; i++) {
        bool every = p.pl->pipelines[i].spec->shape == RT_SHAPE_ANY;
        compile_source(n, slash ? slash + 1 : plan, p.art.units[i].entry, p.art.units[i].text,
                       any_spills ? -1
                       : every    ? SPILL_MOST_ANY
                                  : SPILL_MOST);
    }
    sim_program_release(&p);
}

/* The kernels that finish states (templates/finish). */
static void compile_fixed(struct rt_nvrtc *n)
{
    int found = 0;
    for (int i = 0; i < hdd_ntemplates; i++) {
        const struct hdd_template *t = &hdd_templates[i];
        if (t->size < 3 || strcmp(t->name + strlen(t->name) - 3, ".cu") != 0)
            continue;
        compile_source(n, "templates/finish", t->name, t->text, SPILL_MOST);
        found++;
    }
    CHECK(found >= 6, "%d files of fixed kernels", found);
}

int main(int argc, char **argv)
{
    struct rt_nvrtc *n;
    struct hd_err err;
    hd_err_init(&err);
    bool plans_only = argc > 1 && strcmp(argv[1], "--plans-only") == 0;
    argc -= plans_only;
    argv += plans_only;
    CHECK(argc > 2, "usage: test_nvrtc [--plans-only] DB PLAN...");
    if (rt_nvrtc_open(NULL, &n, &err) != 0) {
        printf("skipped: %s\n", err.message);
        return CHECK_SKIPPED;
    }
    printf("NVRTC %s\n", rt_nvrtc_version(n));
    for (int i = 2; i < argc; i++)
        compile_plan(n, argv[1], argv[i], false, RT_BALANCE_AUTO, plans_only);
    if (!plans_only) {
        compile_fixed(n);
        compile_plan(n, argv[1], argv[2], true, RT_BALANCE_AUTO, false);
        for (int i = 2; i < argc; i++) /* the kernels that have every strategy */
            compile_plan(n, argv[1], argv[i], false, RT_BALANCE_AWS, false);
    }
    rt_nvrtc_close(n);
    return 0;
}
