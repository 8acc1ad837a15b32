#include "runtime/gpu/gpu_known.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/gpu/gpu_modules.h"
#include "runtime/gpu/gpu_sources.h"

enum { TEXT_MAX = 512 };

/* "1 90 52428800 cubin 90 NVRTC 13.0 ...": form, compute capability, bytes of the last cache, the compiler's identity. */
struct known {
    struct rt_device_info info; /* arch, l2_bytes */
    char compiler[TEXT_MAX];
};

static void name_of(int number, char name[32])
{
    snprintf(name, 32, ".gpu-%d", number);
}

/* ---- remembering -------------------------------------------------------------------------- */

static bool read_text(int dir, const char *name, char text[TEXT_MAX])
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Whole or not at all; what a process that died leaves has a name that the cache clears away. */
static void write_text(int dir, const char *name, const char *text)
{
    char part[48];
    snprintf(part, sizeof part, ".tmp%s-%d", name, (int)getpid());
    part[4] = '-';
    int fd = openat(dir, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t n = strlen(text);
    bool written = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    if (!written || renameat(dir, part, dir, name) != 0)
        unlinkat(dir, part, 0);
}

void rt_gpu_remember(const struct rt_gpu *g, int number)
{
    char name[32], text[TEXT_MAX], before[TEXT_MAX];
    const struct rt_device_info *info = &g->d->info;
    if (!g->modules->has_disk)
        return;
    name_of(number, name);
    int n = snprintf(text, sizeof text, "1 %d %" PRIu64 " %s\n", info->arch, info->l2_bytes, g->compiler->identity);
    if (n >= (int)sizeof text || (read_text(g->modules->disk.fd, name, before) && strcmp(text, before) == 0))
        return;
    write_text(g->modules->disk.fd, name, text);
}

/* ---- looking ------------------------------------------------------------------------------ */

static bool recall(int dir, int number, struct known *k)
{
    char name[32], text[TEXT_MAX];
    int form = 0, at = 0;
    name_of(number, name);
    if (!read_text(dir, name, text) ||
        sscanf(text, "%d %d %" SCNu64 " %n", &form, &k->info.arch, &k->info.l2_bytes, &at) != 3 || form != 1 || !at)
        return false;
    snprintf(k->compiler, sizeof k->compiler, "%s", text + at);
    k->compiler[strcspn(k->compiler, "\n")] = 0;
    return true;
}

static bool has_all(const struct rt_disk_cache *disk, struct rt_cache_key base, const struct known *k,
                    const struct rt_spec *spec, const struct rt_gpu_sources *sources)
{
    const char *names[RT_FIXED_MAX];
    bool all = true;
    int n = rt_gpu_fixed_modules(spec, &k->info, false, names);
    for (int i = 0; i < sources->n && all; i++)
        all = rt_disk_cache_has(disk, rt_gpu_key(base, sources->v[i].text));
    for (int i = 0; i < n && all; i++)
        all = rt_disk_cache_has(disk, rt_gpu_key(base, rt_gpu_fixed_text(names[i])));
    return all;
}

bool rt_gpu_known_stored(const struct rt_gpu_options *o, int number, const char *device, const struct rt_spec *spec,
                         const struct rt_unit *units)
{
    struct rt_disk_cache disk;
    struct rt_gpu_sources sources;
    struct known k = {0};
    bool all = false;
    if (!o->cache_dir || !rt_disk_cache_init(&disk, o->cache_dir, o->cache_limit))
        return false;
    if (recall(disk.fd, number, &k)) {
        all = rt_gpu_sources_init(&sources, units, spec->npipelines, NULL) == 0 &&
              has_all(&disk, rt_gpu_base_key(o->version, device, k.compiler, k.info.arch), &k, spec, &sources);
        rt_gpu_sources_release(&sources);
    }
    rt_disk_cache_release(&disk);
    return all;
}
