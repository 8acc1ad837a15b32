#include "tests/simt/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/strbuf.h"
#include "templates/embed.h"

typedef struct nvrtc_program *program;

/* F(result, name, arguments): the functions used, as the NVRTC documentation declares them. */
#define NVRTC_FUNCTIONS(F)                                                                    \
    F(int, nvrtcVersion, (int *major, int *minor))                                            \
    F(const char *, nvrtcGetErrorString, (int result))                                        \
    F(int, nvrtcCreateProgram,                                                                \
      (program * p, const char *source, const char *name, int n, const char *const *headers,  \
       const char *const *include_names))                                                     \
    F(int, nvrtcDestroyProgram, (program * p))                                                \
    F(int, nvrtcCompileProgram, (program p, int n, const char *const *options))               \
    F(int, nvrtcGetProgramLogSize, (program p, size_t * n))                                   \
    F(int, nvrtcGetProgramLog, (program p, char *log))                                        \
    F(int, nvrtcGetCUBINSize, (program p, size_t * n))                                        \
    F(int, nvrtcGetCUBIN, (program p, char *cubin))

struct nvrtc {
    void *library;
    char version[32];
#define F(result, name, arguments) result(*name) arguments;
    NVRTC_FUNCTIONS(F)
#undef F
};

static void *open_any(struct hd_strbuf *tried)
{
    const char *named = getenv("HEDDLE_NVRTC");
    const char *const usual[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                 "/usr/local/cuda/lib64/libnvrtc.so"};
    size_t n = named && *named ? 1 : HD_COUNT(usual);
    for (size_t i = 0; i < n; i++) {
        void *library = dlopen(n == 1 ? named : usual[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        hd_strbuf_addf(tried, "%s%s", i ? "; " : "", dlerror());
    }
    return NULL;
}

/* A function pointer from dlsym, which C keeps apart from data pointers. */
static bool find(void *library, const char *name, void *function)
{
    void *p = dlsym(library, name);
    memcpy(function, &p, sizeof p);
    return p != NULL;
}

static bool find_all(struct nvrtc *n)
{
    bool all = true;
#define F(result, name, arguments) all = find(n->library, #name, &n->name) && all;
    NVRTC_FUNCTIONS(F)
#undef F
    return all;
}

int nvrtc_open(struct nvrtc **out, struct hd_err *err)
{
    struct hd_strbuf tried;
    hd_strbuf_init(&tried);
    void *library = open_any(&tried);
    struct nvrtc *n = library ? calloc(1, sizeof *n) : NULL;
    if (!n) {
        HD_FAIL(err, RESOURCE, "", "no NVRTC found: %s", tried.s);
        hd_strbuf_release(&tried);
        return -1;
    }
    hd_strbuf_release(&tried);
    n->library = library;
    if (!find_all(n)) {
        nvrtc_close(n);
        return HD_FAIL(err, RESOURCE, "", "the NVRTC library lacks a function");
    }
    int major = 0, minor = 0;
    n->nvrtcVersion(&major, &minor);
    snprintf(n->version, sizeof n->version, "%d.%d", major, minor);
    *out = n;
    return 0;
}

/* The library stays: it keeps memory of its own that unloading it would leak. */
void nvrtc_close(struct nvrtc *n)
{
    free(n);
}

const char *nvrtc_version(struct nvrtc *n)
{
    return n->version;
}

static int create(struct nvrtc *n, const char *name, const char *source, program *p)
{
    const char **texts = calloc((size_t)hdd_ntemplates, sizeof *texts);
    char(*names)[64] = calloc((size_t)hdd_ntemplates, sizeof *names);
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

static char *take_log(struct nvrtc *n, program p)
{
    size_t size = 0;
    n->nvrtcGetProgramLogSize(p, &size);
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

static void read_report(const char *log, struct nvrtc_report *r)
{
    r->registers = number_before(log, "registers");
    r->spill_bytes = number_before(log, "bytes spill stores");
    r->shared_bytes = number_before(log, "bytes smem");
}

static int take_cubin(struct nvrtc *n, program p, void **cubin, size_t *size)
{
    int status = n->nvrtcGetCUBINSize(p, size);
    *cubin = status == 0 ? malloc(*size + 1) : NULL;
    return *cubin ? n->nvrtcGetCUBIN(p, *cubin) : -1;
}

int nvrtc_compile(struct nvrtc *n, const char *name, const char *source, const char *arch,
                  void **cubin, size_t *size, struct nvrtc_report *report, struct hd_err *err)
{
    char target[64];
    program p = NULL;
    *cubin = NULL;
    snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
    const char *options[] = {target, "--std=c++14", "--device-int128", "--fmad=false",
                             "--ptxas-options=-v"};
    int status = create(n, name, source, &p);
    if (status == 0)
        status = n->nvrtcCompileProgram(p, (int)HD_COUNT(options), options);
    char *log = p ? take_log(n, p) : NULL;
    if (status == 0 && !(log && strstr(log, "warning")))
        status = take_cubin(n, p, cubin, size);
    else if (status == 0)
        status = -1;
    if (status != 0) {
        HD_FAIL(err, TOOL, name, "NVRTC refused it for %s", arch);
        hd_err_set_detail(err, log ? log : "");
    } else {
        read_report(log ? log : "", report);
    }
    free(log);
    if (p)
        n->nvrtcDestroyProgram(&p);
    return status == 0 ? 0 : -1;
}
