#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_backend.h"
#include "api/api_backend.h"
#include "runtime/base/strbuf.h"

enum { MAX_THREADS = 1024 };
static const uint64_t default_cache_limit = (uint64_t)256 << 20;

void heddle_options_init_sized(heddle_options *o, size_t struct_size)
{
    api_options_init(o, struct_size);
}

static uint64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)4 << 30;
}

static int default_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

/* A directory other than the root, by its whole path: daemons are started with HOME=/, and a home
 * that is missing is not ours to make. */
static bool is_home(const char *path)
{
    struct stat st, root;
    return path && *path == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) && stat("/", &root) == 0 &&
           (st.st_dev != root.st_dev || st.st_ino != root.st_ino);
}

/* NULL: none, because it is not wanted or there is no home to put it. */
static char *cache_path(const char *wanted)
{
    const char *env = secure_getenv("HEDDLE_CACHE"), *home = secure_getenv("HOME");
    const char *dir = wanted ? wanted : env;
    char *path = NULL;
    if (dir)
        return *dir ? strdup(dir) : NULL;
    if (!is_home(home) || asprintf(&path, "%s/.cache/heddle", home) < 0)
        return NULL;
    return path;
}

/* Whoever names a folder wants to know now that it is none. */
static int check_temp(const char *dir, struct hd_err *err)
{
    struct stat st;
    if (stat(dir, &st) != 0)
        return HD_FAIL(err, IO, dir, "temporary files: %s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return HD_FAIL(err, IO, dir, "temporary files: %s", strerror(ENOTDIR));
    if (access(dir, W_OK | X_OK) != 0)
        return HD_FAIL(err, IO, dir, "temporary files: %s", strerror(errno));
    return 0;
}

/* The folder of temporary files, NULL: none. /tmp is memory on many systems. */
static const char *temp_path(const char *wanted)
{
    const char *env = secure_getenv("TMPDIR");
    if (wanted)
        return *wanted ? wanted : NULL;
    return env && *env ? env : "/var/tmp";
}

static int copy_temp(heddle_context *c, const heddle_options *o, struct hd_err *err)
{
    const char *dir = temp_path(o->temp_dir);
    if (o->temp_dir && dir)
        HD_TRY(check_temp(dir, err));
    c->temp_given = o->temp_dir && dir;
    c->temp_dir = dir ? strdup(dir) : NULL;
    if (dir && !c->temp_dir)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    c->temp_limit = o->temp_limit;
    return 0;
}

static int copy_options(const heddle_options *from, heddle_options *to, struct hd_err *err)
{
    heddle_options_init(to);
    HD_TRY(api_copy_options("heddle_options", to, sizeof *to, from, err));
    if (to->threads < 0 || to->threads > MAX_THREADS)
        return HD_FAIL(err, USER, NULL, "threads: expected 0 to %d, found %d", MAX_THREADS, to->threads);
    return 0;
}

static int choose_backend(heddle_context *c, const char *name, struct hd_err *err)
{
    const char *wanted = name ? name : "auto";
    HD_TRY(api_backend_check(wanted, err));
    snprintf(c->backend, sizeof c->backend, "%s", wanted);
    return 0;
}

static int new_context(const heddle_options *options, heddle_context **out, struct hd_err *err)
{
    heddle_options o;
    int devices[RT_MAX_DEVICES], ndevices;
    HD_TRY(copy_options(options, &o, err));
    HD_TRY(api_devices_read(&o, devices, &ndevices, err));
    heddle_context *c = calloc(1, sizeof *c);
    if (!c)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (choose_backend(c, o.backend, err) != 0 || copy_temp(c, &o, err) != 0) {
        free(c->temp_dir);
        free(c);
        return -1;
    }
    c->threads = o.threads ? o.threads : default_threads();
    c->memory_limit = o.memory_limit ? o.memory_limit : physical_memory() / 10 * 8;
    c->memory_wanted = o.memory_limit;
    c->device_memory = o.device_memory;
    c->pin = o.pin;
    c->cache_dir = cache_path(o.cache_dir);
    c->cache_limit = o.cache_limit ? o.cache_limit : default_cache_limit;
    c->ndevices = ndevices;
    memcpy(c->devices, devices, sizeof devices);
    c->link = api_devices_link(devices, ndevices);
    c->no_mmap = o.no_mmap != 0;
    pthread_mutex_init(&c->mutex, NULL);
    *out = c;
    return 0;
}

int heddle_context_new(const heddle_options *o, heddle_context **out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(out, err);
    hd_err_init(&e);
    return api_finish(new_context(o, out, &e), &e, err);
}

void heddle_context_free(heddle_context *c)
{
    if (!c)
        return;
    if (c->exec)
        c->exec_free(c->exec);
    pthread_mutex_destroy(&c->mutex);
    free(c->cache_dir);
    free(c->temp_dir);
    free(c);
}

static void add_text(struct hd_strbuf *b, const char *key, const char *value)
{
    hd_strbuf_addf(b, ", \"%s\": ", key);
    if (value)
        hd_strbuf_add_json(b, value, strlen(value));
    else
        hd_strbuf_adds(b, "null");
}

static int write_info(const heddle_context *c, char **json)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "{\"heddle\": ");
    hd_strbuf_add_json(&b, heddle_version(), strlen(heddle_version()));
    add_text(&b, "backend", c->backend);
    hd_strbuf_addf(&b, ", \"threads\": %d, \"cores\": %d", c->threads, default_threads());
    hd_strbuf_addf(&b, ", \"memory\": %" PRIu64 ", \"memory_limit\": %" PRIu64, physical_memory(), c->memory_limit);
    add_text(&b, "cache_dir", c->cache_dir);
    hd_strbuf_addf(&b, ", \"cache_limit\": %" PRIu64, c->cache_limit);
    api_backends_info(&b);
    hd_strbuf_adds(&b, "}");
    *json = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
    return 0;
}

int heddle_context_warm(heddle_context *c, const char *arch, char **json, heddle_error **err)
{
    struct hd_strbuf b;
    struct hd_err e;
    API_NEED(c, err);
    API_NEED(json, err);
    hd_err_init(&e);
    hd_strbuf_init(&b);
    int rc = api_backends_warm(c, arch, &b, &e);
    if (rc == 0)
        *json = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
    return api_finish(rc, &e, err);
}

int heddle_context_info(heddle_context *c, char **json, heddle_error **err)
{
    struct hd_err e;
    int rc;
    API_NEED(c, err);
    API_NEED(json, err);
    hd_err_init(&e);
    HD_GUARDED(rc, NULL, &e, write_info(c, json));
    return api_finish(rc, &e, err);
}
