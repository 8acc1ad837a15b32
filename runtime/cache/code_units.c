#include "runtime/cache/code_units.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_GROUPS = 4,
    FIRST_WEIGHT = 200, /* instructions worth a thread of their own in the first tier: about 0.5 ms, what reading the
                           module once more takes */
    UNIT_WEIGHT = 80    /* and optimised: about 5 ms, of which the fixed cost of a module takes 1 */
};

static uint64_t pipeline_weight(const struct rt_code_source *s, int pipeline)
{
    uint64_t n = 0;
    for (int i = 0; i < s->nfunctions; i++)
        if (s->functions[i].pipeline == pipeline)
            n += s->functions[i].weight;
    return n;
}

static uint64_t group_weight(const struct rt_tiers *t, const struct rt_code_source *s, int g, int *nfunctions)
{
    uint64_t n = 0;
    *nfunctions = 0;
    for (int i = 0; i < s->nfunctions; i++)
        if (t->pipelines[s->functions[i].pipeline].group[t->groups[g].tier] == g) {
            n += s->functions[i].weight;
            ++*nfunctions;
        }
    return n;
}

/* Runs of pipelines, in their order: the first of them is wanted first. */
static void group_first_tier(struct rt_tiers *t, const struct rt_code_source *s, int threads)
{
    uint64_t total = 0, before = 0;
    for (int i = 0; i < s->nfunctions; i++)
        total += s->functions[i].weight;
    uint64_t n = HD_MIN(total / FIRST_WEIGHT, (uint64_t)HD_MIN(threads, FIRST_GROUPS));
    n = HD_MAX(HD_MIN(n, (uint64_t)t->npipelines), (uint64_t)1);
    for (int i = 0; i < t->npipelines; i++) {
        int part = total ? (int)(before * n / total) : 0;
        before += pipeline_weight(s, i);
        t->pipelines[i].group[RT_TIER_FIRST] = part;
        t->ngroups = HD_MAX(t->ngroups, part + 1);
    }
    for (int g = 0; g < t->ngroups; g++)
        t->groups[g].tier = RT_TIER_FIRST;
}

/* Each pipeline that is optimised meanwhile by itself, so that it need not wait for others; the rest by what it wants. */
static void group_optimised(struct rt_tiers *t, const struct rt_code_source *s)
{
    int shared[RT_TIERING_COUNT], alone = 0;
    for (int k = 0; k < RT_TIERING_COUNT; k++)
        shared[k] = -1;
    for (int i = 0; i < t->npipelines; i++) {
        enum rt_tiering k = s->spec->pipelines[i].tiering;
        bool joins = shared[k] >= 0 && (k != RT_TIERING_MEANWHILE || alone >= RT_MEANWHILE_GROUPS);
        int g = joins ? shared[k] : t->ngroups++;
        alone += k == RT_TIERING_MEANWHILE;
        shared[k] = g;
        t->pipelines[i].group[RT_TIER_OPTIMISED] = g;
        t->groups[g].tier = RT_TIER_OPTIMISED;
    }
}

/* All optimised ones become parts of one entry of the cache on disk. */
static int units_at_most(int threads, int ngroups)
{
    return HD_MIN(HD_MIN(threads, (int)RT_GROUP_UNITS), RT_DISK_CACHE_PARTS / ngroups);
}

static int count_units(const struct rt_code_group *g, uint64_t weight, int nfunctions, int most)
{
    if (g->tier == RT_TIER_FIRST)
        return 1;
    uint64_t n = HD_MIN(weight / UNIT_WEIGHT, (uint64_t)most);
    return (int)HD_MAX(HD_MIN(n, (uint64_t)nfunctions), (uint64_t)1);
}

static int by_weight(const void *a, const void *b)
{
    const struct rt_function *x = *(const struct rt_function *const *)a, *y = *(const struct rt_function *const *)b;
    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight) : (x > y) - (x < y);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Largest function first, always to the lightest unit. */
static void divide(struct rt_tiers *t, const struct rt_code_source *s, int group, int nfunctions)
{
    struct rt_code_group *g = &t->groups[group];
    const struct rt_function **list = HD_NEWN(&t->arena, const struct rt_function *, nfunctions + 1);
    int n = 0;
    for (int i = 0; i < s->nfunctions; i++)
        if (t->pipelines[s->functions[i].pipeline].group[g->tier] == group)
            list[n++] = &s->functions[i];
    qsort(list, (size_t)n, sizeof(struct rt_function *), by_weight);
    for (int k = 0; k < g->nunits; k++)
        t->units[g->first + k].roots = HD_NEWN(&t->arena, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        struct rt_code_unit *light = &t->units[g->first];
        for (int k = 1; k < g->nunits; k++)
            if (t->units[g->first + k].weight < light->weight)
                light = &t->units[g->first + k];
        light->roots[light->nroots++] = hd_strdup(&t->arena, list[i]->name);
        light->weight += list[i]->weight;
    }
    for (int k = 0; k < g->nunits; k++)
        qsort(t->units[g->first + k].roots, (size_t)t->units[g->first + k].nroots, sizeof(const char *), by_name);
}

static void make_units(struct rt_tiers *t, const struct rt_code_source *s, int threads)
{
    int most = units_at_most(threads, t->ngroups);
    t->units = HD_NEWN(&t->arena, struct rt_code_unit, t->ngroups * most);
    for (int g = 0; g < t->ngroups; g++) {
        int nfunctions;
        uint64_t weight = group_weight(t, s, g, &nfunctions);
        struct rt_code_group *at = &t->groups[g];
        at->first = t->nunits;
        at->left = at->nunits = count_units(at, weight, nfunctions, most);
        at->ms = -1;
        for (int k = 0; k < at->nunits; k++)
            t->units[t->nunits++].group = g;
        divide(t, s, g, nfunctions);
    }
}

int rt_tiers_divide(struct rt_tiers *t, const struct rt_code_source *s, int threads)
{
    const struct rt_spec *spec = s->spec;
    t->bitcode = hd_dup(&t->arena, s->bitcode, s->size);
    t->size = s->size;
    t->npipelines = spec->npipelines;
    t->pipelines = HD_NEWN(&t->arena, struct rt_code_pipeline, spec->npipelines);
    t->entries = HD_NEWN(&t->arena, struct rt_tier_entries, spec->npipelines);
    t->groups = HD_NEWN(&t->arena, struct rt_code_group, FIRST_GROUPS + RT_OPTIMISED_GROUPS);
    for (int i = 0; i < spec->npipelines; i++) {
        const struct rt_pipeline *r = &spec->pipelines[i];
        t->pipelines[i].entry = hd_strdup(&t->arena, r->entry);
        for (int l = 0; l < RT_MAX_LEVELS; l++)
            t->pipelines[i].level[l] = r->level_entry[l] ? hd_strdup(&t->arena, r->level_entry[l]) : NULL;
    }
    group_first_tier(t, s, threads);
    group_optimised(t, s);
    make_units(t, s, threads);
    return 0;
}
