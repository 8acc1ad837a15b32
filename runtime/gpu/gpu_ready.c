/* What of a program is on the device before it runs, and bringing it there. */
#include "runtime/gpu/gpu_modules.h"
#include "runtime/gpu/gpu_sources.h"
#include "runtime/gpu/gpu_stream.h"
#include "runtime/spec.h"

/* Who looks does not wait for the execution of another query. */
enum { LOOK_NS = 1000000 };

static enum rt_cached where(const struct rt_gpu *g, const struct rt_spec *spec, const struct rt_gpu_sources *sources)
{
    const char *names[RT_FIXED_MAX];
    enum rt_cached least = RT_CACHED_MEMORY;
    int n = rt_gpu_fixed_modules(spec, &g->d->info, false, names);
    for (int i = 0; i < n && least > RT_COMPILED; i++)
        least = HD_MIN(least, rt_gpu_module_where(g, rt_gpu_source_key(g, rt_gpu_fixed_text(names[i]))));
    for (int i = 0; i < sources->n && least > RT_COMPILED; i++)
        least = HD_MIN(least, rt_gpu_module_where(g, rt_gpu_source_key(g, sources->v[i].text)));
    return least;
}

static bool is_of_table(const struct rt_arg *a)
{
    return rt_arg_group(a->kind) == RT_ARGS_MEMORY;
}

uint64_t rt_gpu_table_bytes(const struct rt_spec *spec)
{
    uint64_t all = 0;
    for (int i = 0; i < spec->nargs; i++)
        all += is_of_table(&spec->args[i]) ? rt_gpu_resident_bytes(&spec->args[i]) : 0;
    return all;
}

/* What is not resident crosses the link in any case. */
static uint64_t missing_bytes(struct rt_gpu *g, const struct rt_spec *spec)
{
    uint64_t all = 0;
    for (int i = 0; i < spec->nargs; i++)
        if (is_of_table(&spec->args[i]) && spec->args[i].way != RT_WAY_RESIDENT)
            all += spec->args[i].link_bytes;
        else if (is_of_table(&spec->args[i]) && !rt_gpu_is_resident(g, &spec->args[i]))
            all += rt_gpu_resident_bytes(&spec->args[i]);
    return all;
}

/* At random, more than the part has: too far from what the model of the choice was made for. */
static bool reads_over_link(const struct rt_spec *spec)
{
    for (int i = 0; i < spec->nargs; i++)
        if (spec->args[i].way == RT_WAY_MAPPED && spec->args[i].link_bytes > rt_arg_bytes(&spec->args[i]))
            return true;
    return false;
}

/* Of the device's memory, whatever the states take. */
static uint64_t kept_bytes(const struct rt_spec *spec)
{
    uint64_t all = rt_gpu_stream_bytes(spec);
    for (int i = 0; i < spec->nargs; i++)
        if (is_of_table(&spec->args[i]) && spec->args[i].way == RT_WAY_RESIDENT)
            all += rt_gpu_resident_bytes(&spec->args[i]);
    return all;
}

bool rt_gpu_look(struct rt_gpu *g, const struct rt_spec *spec, const struct rt_unit *units, struct rt_gpu_ready *out)
{
    struct rt_gpu_sources sources;
    *out = (struct rt_gpu_ready){.code = RT_COMPILED};
    bool ok = rt_gpu_sources_init(&sources, units, spec->npipelines, NULL) == 0 && rt_gpu_lock_within(g, LOOK_NS);
    if (ok) {
        out->code = where(g, spec, &sources);
        out->upload = missing_bytes(g, spec);
        out->fits = !reads_over_link(spec) && kept_bytes(spec) < rt_gpu_pool_budget(g->pool);
        pthread_mutex_unlock(&g->lock);
    }
    rt_gpu_sources_release(&sources);
    return ok;
}

int rt_gpu_fetch(struct rt_gpu *g, const struct rt_spec *spec, const struct hd_stop *stop, struct hd_err *err)
{
    bool room = true;
    for (int i = 0; i < spec->nargs && room; i++) {
        if (!is_of_table(&spec->args[i]))
            continue;
        HD_TRY(rt_gpu_begin(g, stop, err));
        int rc = rt_gpu_resident_fetch(g, &spec->args[i], &room, err);
        rt_gpu_leave(g);
        HD_TRY(rc);
    }
    return 0;
}
