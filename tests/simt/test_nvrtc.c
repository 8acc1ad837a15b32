/* Every kernel that the given plans emit compiles with NVRTC to cubins for each of the
 * architectures below that it knows, without warnings. No GPU is needed; without NVRTC the
 * test reports itself as skipped.
 *
 * Kernels that call libraries (templates/library_*.cu) name those that have what they call: the
 * driver links them, which needs a GPU, so the tables of symbols are compared.
 *
 *   test_nvrtc DB PLAN...                the fixed kernels, too, and few may spill
 *   test_nvrtc --plans-only DB PLAN...   any plans: spills are only told
 *   test_nvrtc --framed DB PLAN...       likewise, as if all pipelines were too large for one function */
#include <elf.h>
#include <string.h>

#include "runtime/gpu/nvrtc.h"
#include "templates/embed.h"
#include "tests/simt/check.h"
#include "tests/simt/sim.h"

/* A few bytes are ptxas trading registers for occupancy; more is a kernel that has grown too
 * big. For sm_80 many sums of one group take more registers than for later ones, with NVRTC 13
 * more than with 12. ANY: kernels that hold every strategy. */
enum { SPILL_MAX = 80, SPILL_MAX_80 = 240, SPILL_MAX_80_NVRTC_13 = 400, SPILL_MAX_ANY = 512 };

static int spill_limit(const struct rt_nvrtc *n, int arch, int max)
{
    if (arch != 80 || max != SPILL_MAX)
        return max;
    return atoi(rt_nvrtc_version(n)) >= 13 ? SPILL_MAX_80_NVRTC_13 : SPILL_MAX_80;
}

static const int architectures[] = {80, 90, 100, 120};

static void stop(struct hd_err *err)
{
    fprintf(stderr, "%s: %s\n%s\n", err->path, err->message, err->detail ? err->detail : "");
    exit(1);
}

/* ---- symbols of a cubin ---------------------------------------------------------------- */

struct symbols {
    const Elf64_Sym *v;
    size_t n;
    const char *names;
};

static struct symbols symbols_of(const struct rt_bytes *image)
{
    const Elf64_Ehdr *head = (const void *)image->p;
    const Elf64_Shdr *sections = (const void *)(image->p + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type == SHT_SYMTAB)
            return (struct symbols){(const void *)(image->p + s->sh_offset), s->sh_size / sizeof(Elf64_Sym),
                                    (const char *)image->p + sections[s->sh_link].sh_offset};
    }
    CHECK(false, "a cubin without symbols");
    return (struct symbols){0};
}

static bool defines(const struct rt_bytes *image, const char *name)
{
    struct symbols s = symbols_of(image);
    for (size_t i = 0; i < s.n; i++)
        if (s.v[i].st_shndx != SHN_UNDEF && strcmp(s.names + s.v[i].st_name, name) == 0)
            return true;
    return false;
}

static struct rt_bytes libraries[HD_COUNT(architectures)][RT_NLIBRARIES];

/* What a kernel does not define itself is in one of its libraries; other names than C++'s are the
 * tool chain's own. */
static void check_links(const char *plan, const char *name, size_t arch, unsigned with, const struct rt_bytes *cubin)
{
    struct symbols s = symbols_of(cubin);
    for (size_t i = 1; i < s.n; i++) {
        const char *symbol = s.names + s.v[i].st_name;
        bool found = s.v[i].st_shndx != SHN_UNDEF || strncmp(symbol, "_Z", 2) != 0;
        for (int k = 0; k < RT_NLIBRARIES && !found; k++)
            found = (with >> k & 1) && defines(&libraries[arch][k], symbol);
        CHECK(found, "%s %s: %s is in no library that it names (%u)", plan, name, symbol, with);
    }
}

/* ---- sources --------------------------------------------------------------------------- */

static void compile_source(struct rt_nvrtc *n, const char *plan, const char *name, const char *text, unsigned with,
                           int spill_max)
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
        int max = spill_limit(n, arch, spill_max);
        CHECK(max < 0 || r.spill_bytes <= max, "%s %s spills %d bytes on sm_%d", plan, name, r.spill_bytes, arch);
        printf("%s %s sm_%d: %zu bytes, %d registers, %d bytes spilled, %d of shared memory\n", plan, name, arch,
               cubin.n, r.registers, r.spill_bytes, r.shared_bytes);
        check_links(plan, name, i, with, &cubin);
        free(r.log);
        rt_bytes_release(&cubin);
    }
}

static void compile_plan(struct rt_nvrtc *n, const char *db, const char *plan, struct pl_options po, bool any_spills)
{
    struct sim_program p;
    struct hd_err err;
    hd_err_init(&err);
    po.threads = 1;
    po.gpu_blocks = 2;
    if (sim_program_init(&p, plan, db, NULL, &po, &err) != 0)
        stop(&err);
    const char *slash = strrchr(plan, '/');
    for (int i = 0; i < p.art.nunits; i++) {
        bool every = p.pl->pipelines[i].spec->shape == RT_SHAPE_ANY;
        compile_source(n, slash ? slash + 1 : plan, p.art.units[i].entry, p.art.units[i].text, p.art.units[i].libraries,
                       any_spills ? -1
                       : every    ? SPILL_MAX_ANY
                                  : SPILL_MAX);
    }
    sim_program_release(&p);
}

static const char *template_text(const char *name)
{
    for (int i = 0; i < hdd_ntemplates; i++)
        if (strcmp(hdd_templates[i].name, name) == 0)
            return hdd_templates[i].text;
    CHECK(false, "no %s", name);
    return NULL;
}

static void compile_libraries(struct rt_nvrtc *n)
{
    static const char *const names[RT_NLIBRARIES] = {
#define X(id, name, ms) name ".cu",
        RT_LIBRARIES(X)
#undef X
    };
    struct hd_err err;
    hd_err_init(&err);
    for (size_t a = 0; a < HD_COUNT(architectures); a++)
        for (int k = 0; k < RT_NLIBRARIES; k++) {
            bool is_cubin;
            struct rt_nvrtc_report r;
            if (rt_nvrtc_arch(n, architectures[a], &is_cubin) != architectures[a])
                continue;
            if (rt_nvrtc_compile(n, names[k], template_text(names[k]), architectures[a], RT_NVRTC_CUBIN,
                                 &libraries[a][k], &r, &err))
                stop(&err);
            CHECK(!r.log || !strstr(r.log, "warning"), "%s: %s", names[k], r.log);
            free(r.log);
        }
}

/* Every header that a pipeline may include, without what libraries define. */
static void compile_headers(struct rt_nvrtc *n)
{
    static const char text[] = "//! --relocatable-device-code=true\n"
                               "#include \"hd/pipeline.cuh\"\n"
                               "#include \"hd/any.cuh\"\n"
                               "#include \"hd/runs.cuh\"\n"
                               "#include \"hd/date.cuh\"\n"
                               "#include \"hd/convert.cuh\"\n"
                               "HDD_KERNEL(headers)() {}\n";
    compile_source(n, "templates", "headers", text, ~0u, 0);
}

static void release_libraries(void)
{
    for (size_t a = 0; a < HD_COUNT(architectures); a++)
        for (int k = 0; k < RT_NLIBRARIES; k++)
            rt_bytes_release(&libraries[a][k]);
}

/* The kernels that finish states (templates/finish). */
static void compile_fixed(struct rt_nvrtc *n)
{
    int found = 0;
    for (int i = 0; i < hdd_ntemplates; i++) {
        const struct hdd_template *t = &hdd_templates[i];
        if (t->size < 3 || strcmp(t->name + strlen(t->name) - 3, ".cu") != 0 || strncmp(t->name, "library", 7) == 0)
            continue;
        compile_source(n, "templates/finish", t->name, t->text, 0, SPILL_MAX);
        found++;
    }
    CHECK(found >= 6, "%d files of fixed kernels", found);
}

int main(int argc, char **argv)
{
    struct rt_nvrtc *n;
    struct hd_err err;
    hd_err_init(&err);
    bool framed = argc > 1 && strcmp(argv[1], "--framed") == 0;
    bool plans_only = framed || (argc > 1 && strcmp(argv[1], "--plans-only") == 0);
    argc -= plans_only;
    argv += plans_only;
    CHECK(argc > 2, "usage: test_nvrtc [--plans-only|--framed] DB PLAN...");
    if (rt_nvrtc_open(NULL, &n, &err) != 0) {
        printf("skipped: %s\n", err.message);
        return CHECK_SKIPPED;
    }
    printf("NVRTC %s\n", rt_nvrtc_version(n));
    compile_libraries(n);
    compile_headers(n);
    for (int i = 2; i < argc; i++)
        compile_plan(n, argv[1], argv[i], (struct pl_options){.frame_weight = framed}, plans_only);
    if (!plans_only) {
        compile_fixed(n);
        compile_plan(n, argv[1], argv[2], (struct pl_options){.profile = true}, false);
        for (int i = 2; i < argc; i++)
            compile_plan(n, argv[1], argv[i], (struct pl_options){.on_gpu = true, .tier = PL_TIER_FIRST}, true);
        for (int i = 2; i < argc; i++) /* the kernels that have every strategy */
            compile_plan(n, argv[1], argv[i], (struct pl_options){.balance = RT_BALANCE_AWS}, false);
    }
    release_libraries();
    rt_nvrtc_close(n);
    return 0;
}
