#include "runtime/gpu/nvrtc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/base/strbuf.h"
#include "templates/embed.h"

typedef struct nvrtc_program *program;

/* F(result, name, arguments): the functions used, as the NVRTC documentation declares them. */
#define NVRTC_FUNCTIONS(F) \
    F(int, nvrtcVersion, (int *major, int *minor)) \
    F(const char *, nvrtcGetErrorString, (int result)) \
    F(int, nvrtcGetNumSupportedArchs, (int *n)) \
    F(int, nvrtcGetSupportedArchs, (int *archs)) \
    F(int, nvrtcCreateProgram, \
      (program * p, const char *source, const char *name, int n, const char *const *headers, \
       const char *const *include_names)) \
    F(int, nvrtcDestroyProgram, (program * p)) \
    F(int, nvrtcCompileProgram, (program p, int n, const char *const *options)) \
    F(int, nvrtcGetProgramLogSize, (program p, size_t *n)) \
    F(int, nvrtcGetProgramLog, (program p, char *log)) \
    F(int, nvrtcGetPTXSize, (program p, size_t *n)) \
    F(int, nvrtcGetPTX, (program p, char *ptx)) \
    F(int, nvrtcGetCUBINSize, (program p, size_t *n)) \
    F(int, nvrtcGetCUBIN, (program p, char *cubin))

enum { MAX_ARCHS = 128 };

struct rt_nvrtc {
    void *library;
    char *path;
    int major, minor;
    char version[32];
    int narchs, archs[MAX_ARCHS];
#define F(result, name, arguments) result(*name) arguments;
    NVRTC_FUNCTIONS(F)
#undef F
    /* What rt_nvrtc_precompile made: an option that names it, and what it is good for. */
    char precompiled[2][64]; /* of sources as they are; of RELOCATABLE ones */
    int precompiled_arch;
    enum rt_nvrtc_form precompiled_form;
};

/* ---- finding it ------------------------------------------------------------------------ */

/* The library with NVRTC's built-in headers lies beside it; where that folder is not on the
 * loader's path (as in PyPI's package), NVRTC finds it because it is loaded already. */
static void open_builtins(const char *path)
{
    const char *slash = strrchr(path, '/');
    char pattern[4096];
    glob_t found;
    if (!slash || snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - path), path) >=
                      (int)sizeof pattern)
        return;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
        globfree(&found);
    }
}

static bool try_path(struct rt_nvrtc *n, const char *path, struct hd_strbuf *tried)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) {
        n->library = library;
        n->path = strdup(path);
        open_builtins(path);
        return n->path != NULL;
    }
    hd_strbuf_addf(tried, "%s%s", tried->n ? "; " : "", dlerror());
    return false;
}

/* Versions of a toolkit side by side: the newest first. */
static bool try_pattern(struct rt_nvrtc *n, const char *pattern, struct hd_strbuf *tried)
{
    glob_t found;
    bool ok = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i > 0 && !ok; i--)
        ok = try_path(n, found.gl_pathv[i - 1], tried);
    globfree(&found);
    return ok;
}

static bool open_any(struct rt_nvrtc *n, struct hd_strbuf *tried)
{
    static const char *const usual[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    static const char *const patterns[] = {"/usr/local/cuda/lib64/libnvrtc.so.1[23]",
                                           "/usr/local/cuda-1[23]*/lib64/libnvrtc.so.1[23]",
                                           "/opt/cuda/lib64/libnvrtc.so.1[23]"};
    const char *named = secure_getenv("HEDDLE_NVRTC");
    if (named && *named)
        return try_path(n, named, tried);
    for (size_t i = 0; i < HD_COUNT(usual); i++)
        if (try_path(n, usual[i], tried))
            return true;
    for (size_t i = 0; i < HD_COUNT(patterns); i++)
        if (try_pattern(n, patterns[i], tried))
            return true;
    return false;
}

/* A function pointer from dlsym, which C keeps apart from data pointers. */
static bool find(void *library, const char *name, void *function)
{
    void *p = dlsym(library, name);
    memcpy(function, &p, sizeof p);
    return p != NULL;
}

static const char *first_missing(struct rt_nvrtc *n)
{
#define F(result, name, arguments) \
    if (!find(n->library, #name, &n->name)) \
        return #name;
    NVRTC_FUNCTIONS(F)
#undef F
    return NULL;
}

/* The file that the loader found for a name. */
static void resolve_path(struct rt_nvrtc *n)
{
    void *function;
    Dl_info info;
    memcpy(&function, &n->nvrtcVersion, sizeof function);
    char *real = dladdr(function, &info) ? realpath(info.dli_fname, NULL) : NULL;
    if (!real)
        return;
    free(n->path);
    n->path = real;
}

static int ask(struct rt_nvrtc *n, struct hd_err *err)
{
    const char *missing = first_missing(n);
    if (missing)
        return HD_FAIL(err, RESOURCE, NULL, "NVRTC is too old: %s lacks %s", n->path, missing);
    resolve_path(n);
    if (n->nvrtcVersion(&n->major, &n->minor) != 0 || n->nvrtcGetNumSupportedArchs(&n->narchs) != 0 ||
        n->narchs > MAX_ARCHS || n->nvrtcGetSupportedArchs(n->archs) != 0)
        return HD_FAIL(err, RESOURCE, NULL, "NVRTC (%s) does not tell what it can do", n->path);
    snprintf(n->version, sizeof n->version, "%d.%d", n->major, n->minor);
    return 0;
}

int rt_nvrtc_open(const char *path, struct rt_nvrtc **out, struct hd_err *err)
{
    struct hd_strbuf tried;
    struct rt_nvrtc *n = hd_try_calloc(1, sizeof *n);
    if (!n)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    hd_strbuf_init(&tried);
    int rc = (path ? try_path(n, path, &tried) : open_any(n, &tried))
                 ? ask(n, err)
                 : HD_FAIL(err, RESOURCE, NULL, "no NVRTC found: %s", tried.s);
    hd_strbuf_release(&tried);
    if (rc != 0) {
        rt_nvrtc_close(n);
        return -1;
    }
    *out = n;
    return 0;
}

/* The library stays: it keeps memory of its own that unloading it would leak. */
void rt_nvrtc_close(struct rt_nvrtc *n)
{
    if (!n)
        return;
    free(n->path);
    free(n);
}

const char *rt_nvrtc_version(const struct rt_nvrtc *n)
{
    return n->version;
}

const char *rt_nvrtc_path(const struct rt_nvrtc *n)
{
    return n->path;
}

/* Machine code runs on devices of the same major version and at least the same minor one. */
int rt_nvrtc_arch(const struct rt_nvrtc *n, int arch, bool *cubin)
{
    int best = 0;
    for (int i = 0; i < n->narchs; i++)
        if (n->archs[i] <= arch && n->archs[i] > best)
            best = n->archs[i];
    *cubin = best && best / 10 == arch / 10;
    return best;
}

/* ---- compiling ------------------------------------------------------------------------- */

static int create(const struct rt_nvrtc *n, const char *name, const char *source, program *p)
{
    const char **texts = calloc((size_t)hdd_ntemplates, sizeof *texts);
    char(*names)[80] = calloc((size_t)hdd_ntemplates, sizeof *names);
    const char **pointers = calloc((size_t)hdd_ntemplates, sizeof *pointers);
    int status = -1;
    if (texts && names && pointers) {
        for (int i = 0; i < hdd_ntemplates; i++) {
            snprintf(names[i], sizeof names[i], "hd/%s", hdd_templates[i].name);
            texts[i] = hdd_templates[i].text;
            pointers[i] = names[i];
        }
        status = n->nvrtcCreateProgram(p, source, name, hdd_ntemplates, texts, pointers);
    }
    free(texts);
    free(names);
    free(pointers);
    return status;
}

/* NULL: nothing was said. */
static char *read_log(const struct rt_nvrtc *n, program p)
{
    size_t size = 0;
    if (n->nvrtcGetProgramLogSize(p, &size) != 0 || size <= 1)
        return NULL;
    char *log = calloc(1, size + 1);
    if (log)
        n->nvrtcGetProgramLog(p, log);
    return log;
}

static int number_before(const char *log, const char *what)
{
    const char *at = strstr(log, what);
    while (at && at > log && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return at ? atoi(at) : 0;
}

static void read_report(const char *log, struct rt_nvrtc_report *r)
{
    r->registers = number_before(log, "registers");
    r->spill_bytes = number_before(log, "bytes spill stores");
    r->shared_bytes = number_before(log, "bytes smem");
}

static int read_image(const struct rt_nvrtc *n, program p, enum rt_nvrtc_form form, struct rt_bytes *out)
{
    bool ptx = form == RT_NVRTC_PTX;
    int status = ptx ? n->nvrtcGetPTXSize(p, &out->n) : n->nvrtcGetCUBINSize(p, &out->n);
    if (status != 0 || !(out->p = hd_try_calloc(1, out->n + 1)))
        return -1;
    return ptx ? n->nvrtcGetPTX(p, (char *)out->p) : n->nvrtcGetCUBIN(p, (char *)out->p);
}

/* What code depends on. */
struct options {
    int n;
    const char *list[16];
};

static bool at_least(const struct rt_nvrtc *n, int major, int minor)
{
    return n->major > major || (n->major == major && n->minor >= minor);
}

static void add_option(struct options *o, const char *text)
{
    HD_ASSERT(o->n < (int)HD_COUNT(o->list));
    o->list[o->n++] = text;
}

/* Products and sums are rounded one by one, as on the CPU. Without the declarations of textures
 * and of the run-time library, which nothing here uses, parsing takes 10 to 20 ms less; NVRTC
 * 12.3 does not know that option. */
static void common_options(const struct rt_nvrtc *n, struct options *o)
{
    o->n = 0;
    add_option(o, "--std=c++14");
    add_option(o, "--device-int128");
    add_option(o, "--fmad=false");
    if (at_least(n, 12, 4))
        add_option(o, "--minimal");
}

void rt_nvrtc_describe(const struct rt_nvrtc *n, char *text, size_t size)
{
    struct options o;
    common_options(n, &o);
    int at = snprintf(text, size, "NVRTC %s", n->version);
    for (int i = 0; i < o.n && at < (int)size; i++)
        at += snprintf(text + at, size - (size_t)at, " %s", o.list[i]);
}

/* Fewer passes: versions before 12.9 make all of them. */
static bool is_known(const struct rt_nvrtc *n, const char *option)
{
    return strncmp(option, "--Ofast-compile", strlen("--Ofast-compile")) != 0 || at_least(n, 12, 9);
}

/* A source may begin with options of its own, apart by blanks: "//! --maxrregcount=40". */
static void own_options(const struct rt_nvrtc *nvrtc, const char *source, char *text, size_t size, struct options *o)
{
    static const char mark[] = "//! ";
    size_t n = strcspn(source, "\n"), skip = sizeof mark - 1;
    if (strncmp(source, mark, skip) != 0 || n - skip >= size)
        return;
    snprintf(text, size, "%.*s", (int)(n - skip), source + skip);
    char *rest = NULL;
    for (char *one = strtok_r(text, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
        if (is_known(nvrtc, one))
            add_option(o, one);
}

/* What code does not depend on. NVRTC 12.9 and newer ask the driver's cache on disk for each source: that opens the driver
 * in every process that compiles, and keeps a second time what our cache keeps. */
static void add_manner(const struct rt_nvrtc *n, struct options *o)
{
    if (at_least(n, 12, 9))
        add_option(o, "--no-cache");
}

/* extra: one more option, or NULL. */
static int compile(const struct rt_nvrtc *n, program p, const char *source, int arch, enum rt_nvrtc_form form,
                   const char *extra)
{
    char target[64], own[128];
    struct options o;
    common_options(n, &o);
    add_manner(n, &o);
    own_options(n, source, own, sizeof own, &o);
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d", form == RT_NVRTC_PTX ? "compute" : "sm", arch);
    add_option(&o, target);
    if (form == RT_NVRTC_CUBIN)
        add_option(&o, "--ptxas-options=-v");
    if (extra) {
        add_option(&o, extra);
        add_option(&o, "--pch-messages=false");
    }
    return n->nvrtcCompileProgram(p, o.n, o.list);
}

/* ---- precompiled headers --------------------------------------------------------------- */

/* What the emitted sources include first (codegen/cuda_pipeline.c). */
#define FIRST_INCLUDE "#include \"hd/pipeline.cuh\"\n"

static bool starts_with_headers(const char *source)
{
    while (*source == '/' || *source == '\n') {
        source = strchr(source, '\n');
        if (!source)
            return false;
        source++;
    }
    return strncmp(source, FIRST_INCLUDE, strlen(FIRST_INCLUDE)) == 0;
}

/* Kernels that call the library; their headers are precompiled apart, because a macro tells. */
#define RELOCATABLE "//! --relocatable-device-code=true"

static bool is_relocatable(const char *source)
{
    return strncmp(source, RELOCATABLE, strlen(RELOCATABLE)) == 0;
}

static const char *precompiled_option(const struct rt_nvrtc *n, int arch, enum rt_nvrtc_form form, const char *source)
{
    const char *option = n->precompiled[is_relocatable(source)];
    return option[0] && n->precompiled_arch == arch && n->precompiled_form == form && starts_with_headers(source)
               ? option
               : NULL;
}

static bool make_precompiled(const struct rt_nvrtc *n, const char *source, int arch, enum rt_nvrtc_form form,
                             const char *file)
{
    char option[320];
    program p = NULL;
    snprintf(option, sizeof option, "--create-pch=%s", file);
    bool made = create(n, "headers.cu", source, &p) == 0 && compile(n, p, source, arch, form, option) == 0;
    if (p)
        n->nvrtcDestroyProgram(&p);
    return made;
}

/* NVRTC 12.8 and newer. The file has no name once it is made: nobody else may write what code is
 * compiled from, and it goes with the process. */
static void precompile(struct rt_nvrtc *n, const char *source, int arch, enum rt_nvrtc_form form)
{
    const char *dir = secure_getenv("TMPDIR");
    char folder[256], file[272], name[48];
    snprintf(folder, sizeof folder, "%s/heddle-XXXXXX", dir && *dir == '/' ? dir : "/tmp");
    if (!at_least(n, 12, 8) || !mkdtemp(folder))
        return;
    snprintf(file, sizeof file, "%s/headers", folder);
    int fd = make_precompiled(n, source, arch, form, file) ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    unlink(file);
    rmdir(folder);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (fd < 0 || access(name, R_OK) != 0)
        return;
    char *option = n->precompiled[is_relocatable(source)];
    snprintf(option, sizeof n->precompiled[0], "--use-pch=%s", name);
}

void rt_nvrtc_precompile(struct rt_nvrtc *n, int arch, enum rt_nvrtc_form form, bool relocatable)
{
    static const char *const sources[] = {FIRST_INCLUDE "HDD_KERNEL(headers)() {}\n",
                                          RELOCATABLE "\n" FIRST_INCLUDE "HDD_KERNEL(headers)() {}\n"};
    n->precompiled_arch = arch;
    n->precompiled_form = form;
    precompile(n, sources[relocatable], arch, form);
}

/* ---- a source -------------------------------------------------------------------------- */

int rt_nvrtc_compile(const struct rt_nvrtc *n, const char *name, const char *source, int arch, enum rt_nvrtc_form form,
                     struct rt_bytes *out, struct rt_nvrtc_report *report, struct hd_err *err)
{
    program p = NULL;
    *out = (struct rt_bytes){NULL, 0};
    int status = create(n, name, source, &p);
    if (status == 0)
        status = compile(n, p, source, arch, form, precompiled_option(n, arch, form, source));
    char *log = p ? read_log(n, p) : NULL;
    if (status == 0)
        status = read_image(n, p, form, out);
    if (status != 0) {
        HD_FAIL(err, TOOL, NULL, "NVRTC %s refused %s for architecture %d (%s)", n->version, name, arch,
                n->nvrtcGetErrorString(status));
        hd_err_set_detail(err, log ? log : "");
        rt_bytes_release(out);
    } else if (report) {
        read_report(log ? log : "", report);
        report->log = log;
        log = NULL;
    }
    free(log);
    if (p)
        n->nvrtcDestroyProgram(&p);
    return status == 0 ? 0 : -1;
}

/* ---- as the compiler of a device ------------------------------------------------------- */

struct target {
    struct rt_compiler c;
    struct rt_nvrtc *n;
    int arch;
    enum rt_nvrtc_form form;
    char identity[128];
};

static int target_compile(struct rt_compiler *c, const char *name, const char *source, struct rt_bytes *image,
                          struct hd_err *err)
{
    const struct target *t = c->self;
    return rt_nvrtc_compile(t->n, name, source, t->arch, t->form, image, NULL, err);
}

static void target_close(struct rt_compiler *c)
{
    struct target *t = c->self;
    rt_nvrtc_close(t->n);
    free(t);
}

int rt_nvrtc_compiler(struct rt_nvrtc *n, int arch, struct rt_compiler **out, struct hd_err *err)
{
    bool cubin;
    int best = rt_nvrtc_arch(n, arch, &cubin);
    if (!best)
        return HD_FAIL(err, RESOURCE, NULL,
                       "NVRTC %s (%s) knows no architecture that runs on a device of compute "
                       "capability %d.%d",
                       n->version, n->path, arch / 10, arch % 10);
    struct target *t = hd_try_calloc(1, sizeof *t);
    if (!t)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    t->n = n;
    t->arch = best;
    t->form = cubin ? RT_NVRTC_CUBIN : RT_NVRTC_PTX;
    int at = snprintf(t->identity, sizeof t->identity, "%s %d ", cubin ? "cubin" : "ptx", best);
    rt_nvrtc_describe(n, t->identity + at, sizeof t->identity - (size_t)at);
    t->c = (struct rt_compiler){.identity = t->identity, .compile = target_compile, .close = target_close, .self = t};
    *out = &t->c;
    return 0;
}
