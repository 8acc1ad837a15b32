#include "runtime/exec/traffic.h"

#include <math.h>

#include "runtime/base/util.h"

/* An array, and what is touched of it. */
struct touched {
    double items, stride, bytes;
    double rows; /* that touch an item each */
    double run;  /* neighbours that are touched together */
};

static double mean_text(const struct fe_table_column *c, double rows)
{
    if (c->storage == FE_STORE_DICT)
        return c->dict.n && c->dict.offsets ? (double)c->dict.offsets[c->dict.n] / c->dict.n + sizeof *c->dict.offsets
                                            : 0;
    return rows > 0 ? (double)c->at.text_size / rows : 0;
}

static struct touched resolve(const struct rt_access *a, const struct rt_pipeline_stats *st, const uint64_t *state_rows)
{
    double rows = (double)st->counters[a->counter], runs = a->runs >= 0 ? (double)st->counters[a->runs] : 0;
    struct touched t = {.items = a->items, .stride = a->stride, .bytes = a->bytes, .rows = rows, .run = 1};
    if (a->state >= 0)
        t.items *= (double)state_rows[a->state];
    if (a->table)
        t.stride = t.bytes = mean_text(&a->table->cols[a->column], t.items);
    if (runs > 0)
        t.run = HD_MAX(rows / runs, 1.0);
    return t;
}

/* Bytes of the sectors that have a touched item if `share` of the items are, chosen by chance (the blocks of A. F.
 * Cardenas, "Analysis and performance of inverted data base structures", CACM 18(5), 1975). Of items in runs fewer
 * sectors have some: one that no run reaches has none at `beside` places where a run could have begun. */
static double sectors(const struct touched *t, double share, double sector)
{
    if (t->stride >= sector)
        return share * t->items * ceil(t->bytes / sector) * sector;
    double beside = (sector / t->stride + t->run - 1) / t->run;
    return t->items * t->stride * (1 - pow(1 - share, beside));
}

/* Of a scan no item is met twice; of lookups some are. */
static double share_of(enum rt_access_kind kind, const struct touched *t)
{
    double of_items = t->items > 0 ? t->rows / t->items : 0;
    switch (kind) {
    case RT_ACCESS_SCAN: return HD_MIN(of_items, 1.0);
    case RT_ACCESS_LOOKUP:
    case RT_ACCESS_UPDATE: return -expm1(-of_items);
    case RT_ACCESS_APPEND: return 1;
    }
    return 1;
}

static double missed(const struct touched *t, const struct rt_memory_model *m)
{
    double all = t->items * t->stride;
    return all > m->cache ? 1 - m->cache / all : 0;
}

/* ms for n accesses to items that are chosen by chance. */
static double one_by_one(const struct touched *t, const struct rt_memory_model *m, const struct rt_access_rates *r,
                         double n)
{
    double miss = missed(t, m);
    if (t->items * t->stride <= m->near_cache && r->near > 0)
        return n / r->near * 1e3;
    return r->cached > 0 && r->beyond > 0 ? n * ((1 - miss) / r->cached + miss / r->beyond) * 1e3 : 0;
}

/* What comes from memory if each run of items is somewhere else, and the cache keeps any part of the array. */
static double in_random_order(const struct touched *t, const struct rt_memory_model *m, double once)
{
    double runs = t->rows / t->run;
    double of_run = ceil(((t->run - 1) * t->stride + t->bytes) / m->sector) * m->sector;
    return HD_MAX(once, runs * of_run * missed(t, m));
}

static void add(struct rt_traffic *out, const struct rt_access *a, const struct touched *t,
                const struct rt_memory_model *m)
{
    double once = a->kind == RT_ACCESS_APPEND ? t->rows * t->bytes : sectors(t, share_of(a->kind, t), m->sector);
    bool anywhere = a->kind == RT_ACCESS_LOOKUP || a->kind == RT_ACCESS_UPDATE;
    bool write = a->kind == RT_ACCESS_UPDATE || a->kind == RT_ACCESS_APPEND;
    *(write ? &out->write : a->table ? &out->text : anywhere ? &out->lookup : &out->scan) += once;
    out->bytes += once;
    out->random += anywhere ? in_random_order(t, m, once) : once;
    out->lookups += anywhere ? t->rows : 0;
    out->atomics += t->rows * a->atomics;
    out->adding += one_by_one(t, m, &m->atomics, t->rows * a->atomics);
    if (a->kind == RT_ACCESS_LOOKUP)
        out->gathering += one_by_one(t, m, &m->gathers, t->rows / t->run);
}

void rt_traffic_of(const struct rt_spec *spec, int i, const struct rt_exec_stats *counted,
                   const struct rt_memory_model *m, struct rt_traffic *out)
{
    const struct rt_pipeline *p = &spec->pipelines[i];
    *out = (struct rt_traffic){0};
    for (int k = 0; k < p->naccesses; k++) {
        struct touched t = resolve(&p->accesses[k], &counted->pipelines[i], counted->state_rows);
        if (t.rows > 0 && t.stride > 0)
            add(out, &p->accesses[k], &t, m);
    }
}

double rt_traffic_ms(const struct rt_memory_model *m, double bytes)
{
    return m->bandwidth > 0 ? bytes / m->bandwidth * 1e3 : 0;
}

double rt_traffic_random_ms(const struct rt_memory_model *m, const struct rt_traffic *t)
{
    return HD_MAX(rt_traffic_ms(m, t->random), HD_MAX(t->gathering, t->adding));
}

const char *rt_traffic_bound(const struct rt_memory_model *m, const struct rt_traffic *t)
{
    double most = rt_traffic_random_ms(m, t);
    if (t->adding > 0 && t->adding >= most)
        return "atomics";
    if (t->gathering > 0 && t->gathering >= most)
        return "lookups";
    return t->random > t->bytes ? "random bytes" : "bytes";
}
