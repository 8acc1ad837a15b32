/* Code that no program brings, compiled for an architecture before the first query. */
#include <string.h>

#include "api/api_gpu.h"
#include "runtime/base/strbuf.h"
#include "runtime/gpu/compile_process.h"
#include "runtime/gpu/cuda_device.h"
#include "runtime/gpu/gpu_warm.h"
#include "runtime/gpu/nvrtc.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* sm_90: 90 */
static int parse_arch(const char *text, int *arch, struct hd_err *err)
{
    const char *at = strncmp(text, "sm_", 3) == 0 ? text + 3 : "";
    size_t n = strlen(at);
    *arch = 0;
    for (size_t i = 0; i < n && n <= 3 && is_digit(at[i]); i++)
        *arch = *arch * 10 + (at[i] - '0');
    if (n < 2 || n > 3 || at[0] == '0' || !is_digit(at[n - 1]) || !is_digit(at[1]))
        return HD_FAIL(err, USER, NULL, "architecture: expected sm_ and a number, such as sm_90, found \"%.40s\"",
                       text);
    return 0;
}

/* A name that NVRTC cannot make machine code for is a mistake; a device that is newer than NVRTC gets PTX, as its queries do. */
static int check_arch(const struct rt_nvrtc *n, int arch, bool named, struct hd_err *err)
{
    bool cubin;
    int best = rt_nvrtc_arch(n, arch, &cubin);
    if (!named || cubin)
        return 0;
    return HD_FAIL(err, USER, NULL, "architecture: NVRTC %s makes no machine code for sm_%d%s", rt_nvrtc_version(n),
                   arch, best ? "" : ", which is older than all that it knows");
}

static int open_compiler(int arch, bool named, struct rt_compiler **out, struct hd_err *err)
{
    struct rt_nvrtc *n;
    HD_TRY(rt_nvrtc_open(NULL, &n, err));
    if (check_arch(n, arch, named, err) == 0 && rt_compile_process_open(n, arch, false, out, err) == 0)
        return 0;
    rt_nvrtc_close(n);
    return -1;
}

static void write_json(struct hd_strbuf *b, const heddle_context *c, int arch, const struct rt_gpu_warmed *w, double ms)
{
    hd_strbuf_addf(b,
                   "{\"architecture\": \"sm_%d\", \"compiled\": %d, \"found\": %d, \"ms\": %.1f, \"cache_dir\": ", arch,
                   w->compiled, w->found, ms);
    hd_strbuf_add_json(b, c->cache_dir, strlen(c->cache_dir));
    hd_strbuf_adds(b, "}");
}

int api_gpu_warm(heddle_context *c, const char *arch_name, struct hd_strbuf *out, struct hd_err *err)
{
    const struct rt_gpu_options o = {
        .version = heddle_version(), .cache_dir = c->cache_dir, .cache_limit = c->cache_limit};
    struct api_engine *e;
    struct rt_compiler *compiler;
    struct rt_gpu_warmed warmed;
    int arch;
    if (arch_name)
        HD_TRY(parse_arch(arch_name, &arch, err));
    if (!c->cache_dir)
        return HD_FAIL(err, USER, NULL, "there is no cache: $HEDDLE_CACHE is empty, or there is no home to put it");
    if (!arch_name)
        HD_TRY(rt_cuda_arch(c->device, &arch, err));
    HD_TRY(api_engine_get(c, &e, err));
    double start = api_now_ms();
    HD_TRY(open_compiler(arch, arch_name != NULL, &compiler, err));
    int rc = rt_gpu_warm(compiler, RT_CUDA_NAME, arch, &o, e->thread_pool, c->threads, &warmed, err);
    compiler->close(compiler);
    if (rc == 0)
        write_json(out, c, arch, &warmed, api_now_ms() - start);
    return rc;
}
