/* What a context has: the machine, compilers, the cache of compiled code. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api_statement.h"
#include "runtime/base/strbuf.h"

static void add_text(struct hd_strbuf *b, const char *key, const char *value)
{
    hd_strbuf_addf(b, "\"%s\":", key);
    if (value)
        hd_strbuf_add_json(b, value, strlen(value));
    else
        hd_strbuf_adds(b, "null");
}

/* The name of the processor as the kernel shows it. */
static void add_processor(struct hd_strbuf *b)
{
    char line[256], *name = NULL;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !name && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
            name = strchr(line, ':') + 2;
    if (f)
        fclose(f);
    if (name)
        name[strcspn(name, "\n")] = 0;
    hd_strbuf_adds(b, "\"cpu\":{");
    add_text(b, "name", name);
    hd_strbuf_addf(b, ",\"cores\":%ld,", sysconf(_SC_NPROCESSORS_ONLN));
    add_text(b, "llvm_target", rt_orc_cpu());
    hd_strbuf_adds(b, "}");
}

static bool library_opens(const char *name)
{
    void *p = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (p)
        dlclose(p);
    return p != NULL;
}

static bool has_nvrtc(void)
{
    return library_opens("libnvrtc.so") || library_opens("libnvrtc.so.12") ||
           library_opens("libnvrtc.so.13");
}

static int info(heddle_context *c, struct hd_strbuf *b, struct hd_err *err)
{
    struct api_engine *e;
    HD_TRY(api_engine_get(c, &e, err));
    hd_strbuf_adds(b, "{");
    add_text(b, "version", heddle_version());
    hd_strbuf_adds(b, ",");
    add_text(b, "backend", c->backend);
    hd_strbuf_addf(b, ",\"threads\":%d,\"memory_limit\":%llu,", c->threads,
                   (unsigned long long)c->memory_limit);
    add_processor(b);
    hd_strbuf_addf(b, ",\"devices\":[],\"cuda_driver\":%s,\"nvrtc\":%s,",
                   library_opens("libcuda.so.1") ? "true" : "false",
                   has_nvrtc() ? "true" : "false");
    add_text(b, "llvm", rt_orc_version());
    hd_strbuf_adds(b, ",\"cache\":{");
    add_text(b, "directory", rt_code_cache_dir(e->cache));
    hd_strbuf_addf(b, ",\"limit\":%llu}}", (unsigned long long)c->cache_limit);
    return 0;
}

int heddle_context_info(heddle_context *c, char **json, heddle_error **err)
{
    struct hd_err e;
    struct hd_strbuf b;
    hd_err_init(&e);
    hd_strbuf_init(&b);
    int rc = info(c, &b, &e);
    if (rc == 0)
        *json = hd_strbuf_take(&b);
    hd_strbuf_release(&b);
    return api_finish(rc, &e, err);
}
