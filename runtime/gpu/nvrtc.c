#include "runtime/gpu/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/base/strbuf.h"
#include "templates/embed.h"

typedef struct nvrtc_program *program;

/* F(result, name, arguments): the functions used, as the NVRTC documentation declares them. */
#define NVRTC_FUNCTIONS(F)                                                                    \
    F(int, nvrtcVersion, (int *major, int *minor))                                            \
    F(const char *, nvrtcGetErrorString, (int result))                                        \
    F(int, nvrtcGetNumSupportedArchs, (int *n))                                               \
    F(int, nvrtcGetSupportedArchs, (int *archs))                                              \
    F(int, nvrtcCreateProgram,                                                                \
      (program * p, const char *source, const char *name, int n, const char *const *headers,  \
       const char *const *include_names))                                                     \
    F(int, nvrtcDestroyProgram, (program * p))                                                \
    F(int, nvrtcCompileProgram, (program p, int n, const char *const *options))               \
    F(int, nvrtcGetProgramLogSize, (program p, size_t * n))                                   \
    F(int, nvrtcGetProgramLog, (program p, char *log))                                        \
    F(int, nvrtcGetPTXSize, (program p, size_t * n))                                          \
    F(int, nvrtcGetPTX, (program p, char *ptx))                                               \
    F(int, nvrtcGetCUBINSize, (program p, size_t * n))                                        \
    F(int, nvrtcGetCUBIN, (program p, char *cubin))

enum { MOST_ARCHS = 128 };

struct rt_nvrtc {
    void *library;
    char *path;
    char version[32];
    int narchs, archs[MOST_ARCHS];
#define F(result, name, arguments) result(*name) arguments;
    NVRTC_FUNCTIONS(F)
#undef F
};

/* ---- finding it ------------------------------------------------------------------------ */

/* The library with NVRTC's built-in headers lies beside it; where that folder is not on the
 * loader's path (as in PyPI's package), NVRTC finds it because it is loaded already. */
static void open_builtins(const char *path)
{
    const char *slash = strrchr(path, '/');
    char pattern[4096];
    glob_t found;
    if (!slash || snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*",
                           (int)(slash - path), path) >= (int)sizeof pattern)
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
    const char *named = getenv("HEDDLE_NVRTC");
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
#define F(result, name, arguments)                                                            \
    if (!find(n->library, #name, &n->name))                                                   \
        return #name;
    NVRTC_FUNCTIONS(F)
#undef F
    return NULL;
}

static int ask(struct rt_nvrtc *n, struct hd_err *err)
{
    int major = 0, minor = 0;
    const char *missing = first_missing(n);
    if (missing)
        return HD_FAIL(err, RESOURCE, NULL, "NVRTC is too old: %s lacks %s", n->path, missing);
    if (n->nvrtcVersion(&major, &minor) != 0 ||
        n->nvrtcGetNumSupportedArchs(&n->narchs) != 0 || n->narchs > MOST_ARCHS ||
        n->nvrtcGetSupportedArchs(n->archs) != 0)
        return HD_FAIL(err, RESOURCE, NULL, "NVRTC (%s) does not tell what it can do", n->path);
    snprintf(n->version, sizeof n->version, "%d.%d", major, minor);
    return 0;
}

int rt_nvrtc_open(struct rt_nvrtc **out, struct hd_err *err)
{
    struct hd_strbuf tried;
    struct rt_nvrtc *n = hd_try_calloc(1, sizeof *n);
    if (!n)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    hd_strbuf_init(&tried);
    int rc = open_any(n, &tried)
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
static char *take_log(const struct rt_nvrtc *n, program p)
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

static int take_image(const struct rt_nvrtc *n, program p, enum rt_nvrtc_form form,
                      struct rt_bytes *out)
{
    bool ptx = form == RT_NVRTC_PTX;
    int status = ptx ? n->nvrtcGetPTXSize(p, &out->n) : n->nvrtcGetCUBINSize(p, &out->n);
    if (status != 0 || !(out->p = hd_try_calloc(1, out->n + 1)))
        return -1;
    return ptx ? n->nvrtcGetPTX(p, (char *)out->p) : n->nvrtcGetCUBIN(p, (char *)out->p);
}

/* Products and sums are rounded one by one, as on the CPU. */
#define COMMON_OPTIONS "--std=c++14", "--device-int128", "--fmad=false"

static int compile(const struct rt_nvrtc *n, program p, int arch, enum rt_nvrtc_form form)
{
    char target[64];
    const char *options[] = {target, COMMON_OPTIONS, "--ptxas-options=-v"};
    int count = (int)HD_COUNT(options) - (form == RT_NVRTC_PTX);
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d",
             form == RT_NVRTC_PTX ? "compute" : "sm", arch);
    return n->nvrtcCompileProgram(p, count, options);
}

int rt_nvrtc_compile(const struct rt_nvrtc *n, const char *name, const char *source, int arch,
                     enum rt_nvrtc_form form, struct rt_bytes *out,
                     struct rt_nvrtc_report *report, struct hd_err *err)
{
    program p = NULL;
    *out = (struct rt_bytes){NULL, 0};
    int status = create(n, name, source, &p);
    if (status == 0)
        status = compile(n, p, arch, form);
    char *log = p ? take_log(n, p) : NULL;
    if (status == 0)
        status = take_image(n, p, form, out);
    if (status != 0) {
        HD_FAIL(err, TOOL, NULL, "NVRTC %s refused %s for architecture %d (%s)", n->version,
                name, arch, n->nvrtcGetErrorString(status));
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

static int target_compile(struct rt_compiler *c, const char *name, const char *source,
                          struct rt_bytes *image, struct hd_err *err)
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

int rt_nvrtc_compiler(struct rt_nvrtc *n, int arch, struct rt_compiler **out,
                      struct hd_err *err)
{
    static const char *const options[] = {COMMON_OPTIONS};
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
    int at = snprintf(t->identity, sizeof t->identity, "NVRTC %s %s %d", n->version,
                      cubin ? "cubin" : "ptx", best);
    for (size_t i = 0; i < HD_COUNT(options); i++)
        at += snprintf(t->identity + at, sizeof t->identity - (size_t)at, " %s", options[i]);
    t->c = (struct rt_compiler){t->identity, target_compile, target_close, t};
    *out = &t->c;
    return 0;
}
