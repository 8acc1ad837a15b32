/* Checks the schedule against the rules of runtime/spec.h: it is a graph whose edges point backwards, all of every
 * pipeline's source is run over once, and whoever reads a state waits for whoever made it. */
#include "planner/pipeline.h"
#include "runtime/base/guard.h"

#define CHECK(x, ...) \
    do { \
        if (!(x)) \
            HD_BUG(__VA_ARGS__); \
    } while (0)

/* Of one pipeline, so far. */
struct runs {
    int n, parts, last;
};

struct check {
    const struct rt_spec *s;
    const struct rt_action *a;
    size_t words;     /* of a set of actions */
    uint64_t *before; /* per action, the set of those that it waits for, directly or not */
    int *finish;      /* per state; -1 none */
    struct runs *runs; /* per pipeline */
};

static bool waits_for(const struct check *k, int action, int other)
{
    return k->before[(size_t)action * k->words + (size_t)other / 64] >> (other % 64) & 1;
}

static void collect_before(const struct check *k, int i)
{
    uint64_t *mine = k->before + (size_t)i * k->words;
    hd_poll();
    for (int e = 0; e < k->a[i].nafter; e++) {
        int other = k->a[i].after[e];
        CHECK(other >= 0 && other < i, "action %d waits for action %d", i, other);
        CHECK(e == 0 || other > k->a[i].after[e - 1], "action %d: edges are not in order", i);
        for (size_t w = 0; w < k->words; w++)
            mine[w] |= k->before[(size_t)other * k->words + w];
        mine[other / 64] |= (uint64_t)1 << (other % 64);
    }
}

static void check_action(const struct check *k, int i)
{
    const struct rt_action *a = &k->a[i];
    int n = a->kind == RT_RUN ? k->s->npipelines : k->s->nstates;
    CHECK(a->device >= 0 && a->device < k->s->ndevices, "action %d: device %d", i, a->device);
    CHECK(a->kind == RT_UPLOAD ? a->index == -1 : a->index >= 0 && a->index < n, "action %d: index %d", i, a->index);
    if (a->kind == RT_RUN)
        CHECK(a->fragment.part >= 0 && a->fragment.part < a->fragment.parts, "action %d: fragment %d of %d", i,
              a->fragment.part, a->fragment.parts);
    if (a->kind == RT_FINISH)
        CHECK(a->device == 0, "action %d: a state is finished on device %d", i, a->device);
    if (a->kind == RT_EXCHANGE)
        CHECK(a->from >= 0 && a->from < k->s->ndevices && a->from != a->device, "action %d: from device %d to %d", i,
              a->from, a->device);
}

/* ---- who makes what -------------------------------------------------------------------------- */

static bool is_exchange(const struct rt_action *a, enum rt_exchange e, int state)
{
    return a->kind == RT_EXCHANGE && a->exchange == e && a->index == state;
}

static bool marks(const struct check *k, const struct rt_action *a, int state)
{
    if (a->kind != RT_RUN)
        return false;
    const struct rt_pipeline *p = &k->s->pipelines[a->index];
    for (int i = 1; i < p->nwrites; i++)
        if (p->writes[i] == state)
            return true;
    return false;
}

/* An action between `from` and `to` that waits for the one and that the other waits for; -1: there is none. */
static int find_between(const struct check *k, int from, int to, enum rt_exchange e, int state, int giver, int receiver)
{
    for (int i = from + 1; i < to; i++)
        if (is_exchange(&k->a[i], e, state) && k->a[i].from == giver && k->a[i].device == receiver &&
            waits_for(k, i, from) && waits_for(k, to, i))
            return i;
    return -1;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Rows are neither left out nor run over twice; ordered ones follow each other on device 0. */
static void check_fragment(const struct check *k, int run)
{
    const struct rt_action *a = &k->a[run];
    const struct rt_pipeline *p = &k->s->pipelines[a->index];
    struct runs *r = &k->runs[a->index];
    CHECK(a->fragment.part == r->n && (r->n == 0 || a->fragment.parts == r->parts), "%s: fragment %d of %d after %d",
          p->name, a->fragment.part, a->fragment.parts, r->n);
    CHECK(!p->ordered || (a->device == 0 && (r->n == 0 || waits_for(k, run, r->last))), "%s: out of order", p->name);
    *r = (struct runs){r->n + 1, a->fragment.parts, run};
}

/* What fills a state comes first, and has come to device 0. */
static void check_sink(const struct check *k, int run)
{
    int state = k->s->pipelines[k->a[run].index].writes[0], device = k->a[run].device, f = k->finish[state];
    CHECK(f > run && waits_for(k, f, run), "action %d fills s%d, which is not finished after it", run, state);
    CHECK(device == 0 || find_between(k, run, f, RT_EXCHANGE_GATHER, state, device, 0) >= 0,
          "s%d: what action %d made is not gathered", state, run);
}

static void check_read(const struct check *k, int run, int state)
{
    const struct rt_action *r = &k->a[run];
    int f = k->finish[state];
    CHECK(f >= 0 && f < run && waits_for(k, run, f), "action %d reads s%d before it is finished", run, state);
    CHECK(r->device == 0 || (k->s->states[state].distribution == RT_REPLICATED &&
                             find_between(k, f, run, RT_EXCHANGE_BROADCAST, state, 0, r->device) >= 0),
          "action %d reads s%d, which is not on device %d", run, state, r->device);
}

/* Match bits that other pipelines set, on whatever device, are there. */
static void check_marks(const struct check *k, int run, int state)
{
    const struct rt_action *r = &k->a[run];
    for (int i = 0; i < run; i++) {
        const struct rt_action *a = &k->a[i];
        if (!marks(k, a, state) || a->index == r->index)
            continue;
        int at = i;
        if (a->device != r->device && a->device != 0)
            at = find_between(k, at, run, RT_EXCHANGE_GATHER_MATCHES, state, a->device, 0);
        if (a->device != r->device && r->device != 0 && at >= 0)
            at = find_between(k, at, run, RT_EXCHANGE_BROADCAST_MATCHES, state, 0, r->device);
        CHECK(at >= 0 && waits_for(k, run, at), "action %d does not see the bits that action %d sets in s%d", run, i,
              state);
    }
}

static void check_run(const struct check *k, int run)
{
    const struct rt_pipeline *p = &k->s->pipelines[k->a[run].index];
    bool uploaded = false;
    for (int i = 0; i < run && !uploaded; i++)
        uploaded = k->a[i].kind == RT_UPLOAD && k->a[i].device == k->a[run].device && waits_for(k, run, i);
    CHECK(uploaded, "action %d runs before the columns are on device %d", run, k->a[run].device);
    for (int i = 0; i < p->nreads; i++) {
        check_read(k, run, p->reads[i]);
        if (k->s->states[p->reads[i]].track_matches)
            check_marks(k, run, p->reads[i]);
    }
    check_fragment(k, run);
    check_sink(k, run);
}

/* Nothing looks at a state that was given back, until it is made again. */
static void check_free(const struct check *k, int at)
{
    const struct rt_action *a = &k->a[at];
    for (int i = 0; i < at; i++)
        if (k->a[i].kind == RT_EXCHANGE && k->a[i].index == a->index && k->a[i].from == a->device)
            CHECK(waits_for(k, at, i), "action %d frees s%d while action %d reads it", at, a->index, i);
}

/* Each state is finished once. */
static void find_finishes(const struct check *k)
{
    for (int i = 0; i < k->s->nstates; i++)
        k->finish[i] = -1;
    for (int i = 0; i < k->s->nactions; i++) {
        if (k->a[i].kind != RT_FINISH)
            continue;
        CHECK(k->finish[k->a[i].index] < 0, "s%d is finished twice", k->a[i].index);
        k->finish[k->a[i].index] = i;
    }
}

void pl_verify_schedule(const struct pl_program *g)
{
    const struct rt_spec *s = g->spec;
    struct check k = {.s = s, .a = s->actions, .words = ((size_t)s->nactions + 63) / 64};
    k.before = HD_NEWN(g->arena, uint64_t, k.words *(size_t)s->nactions + 1);
    k.finish = HD_NEWN(g->arena, int, s->nstates + 1);
    k.runs = HD_NEWN(g->arena, struct runs, s->npipelines + 1);
    CHECK(s->ndevices >= 1 && s->ndevices <= RT_MAX_DEVICES, "%d devices", s->ndevices);
    for (int i = 0; i < s->nactions; i++) {
        check_action(&k, i);
        collect_before(&k, i);
    }
    find_finishes(&k);
    for (int i = 0; i < s->nactions; i++) {
        if (s->actions[i].kind == RT_RUN)
            check_run(&k, i);
        else if (s->actions[i].kind == RT_FREE)
            check_free(&k, i);
    }
    for (int i = 0; i < s->npipelines; i++)
        CHECK(k.runs[i].n > 0 && k.runs[i].n == k.runs[i].parts, "%s: %d of %d fragments", s->pipelines[i].name,
              k.runs[i].n, k.runs[i].parts);
    CHECK(s->result_state >= 0 && k.finish[s->result_state] >= 0, "the result is not finished");
}
