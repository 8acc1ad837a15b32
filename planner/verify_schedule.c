/* Checks the schedule against the rules of runtime/spec.h: it is a graph whose edges point backwards, all of every
 * pipeline's source is run over once, and whoever reads a state waits for whoever made it. */
#include <string.h>

#include "planner/verify.h"
#include "runtime/base/guard.h"

/* Of one pipeline, so far. */
struct runs {
    int n, parts, last;
};

struct check {
    struct vf *v;
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

static bool collect_before(const struct check *k, int i)
{
    uint64_t *mine = k->before + (size_t)i * k->words;
    hd_poll();
    for (int e = 0; e < k->a[i].nafter; e++) {
        int other = k->a[i].after[e];
        VF_CHECK(k->v, ACTION_EDGES, other >= 0 && other < i && (e == 0 || other > k->a[i].after[e - 1]));
        for (size_t w = 0; w < k->words; w++)
            mine[w] |= k->before[(size_t)other * k->words + w];
        mine[other / 64] |= (uint64_t)1 << (other % 64);
    }
    return true;
}

static bool check_action(const struct check *k, int i)
{
    const struct rt_action *a = &k->a[i];
    int n = a->kind == RT_RUN ? k->s->npipelines : k->s->nstates;
    VF_CHECK(k->v, ACTION_DEVICE, a->device >= 0 && a->device < k->s->ndevices);
    VF_CHECK(k->v, ACTION_DEVICE, a->kind != RT_FINISH || a->device == 0);
    VF_CHECK(k->v, ACTION_DEVICE,
             a->kind != RT_EXCHANGE || (a->from >= 0 && a->from < k->s->ndevices && a->from != a->device));
    VF_CHECK(k->v, ACTION_INDEX, a->kind == RT_UPLOAD ? a->index == -1 : a->index >= 0 && a->index < n);
    VF_CHECK(k->v, FRAGMENTS, a->kind != RT_RUN || (a->fragment.part >= 0 && a->fragment.part < a->fragment.parts));
    return true;
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
static bool check_fragment(const struct check *k, int run)
{
    const struct rt_action *a = &k->a[run];
    const struct rt_pipeline *p = &k->s->pipelines[a->index];
    struct runs *r = &k->runs[a->index];
    VF_CHECK(k->v, FRAGMENTS, a->fragment.part == r->n && (r->n == 0 || a->fragment.parts == r->parts));
    VF_CHECK(k->v, RUN_ORDERED, !p->ordered || (a->device == 0 && (r->n == 0 || waits_for(k, run, r->last))));
    *r = (struct runs){r->n + 1, a->fragment.parts, run};
    return true;
}

/* What fills a state comes first, and has come to device 0. */
static bool check_sink(const struct check *k, int run)
{
    int state = k->s->pipelines[k->a[run].index].writes[0], device = k->a[run].device, f = k->finish[state];
    VF_CHECK(k->v, FINISH_LAST, f > run && waits_for(k, f, run));
    VF_CHECK(k->v, GATHERED, device == 0 || find_between(k, run, f, RT_EXCHANGE_GATHER, state, device, 0) >= 0);
    return true;
}

static bool check_read(const struct check *k, int run, int state)
{
    const struct rt_action *r = &k->a[run];
    int f = k->finish[state];
    VF_CHECK(k->v, READ_FINISHED, f >= 0 && f < run && waits_for(k, run, f));
    VF_CHECK(k->v, BROADCAST,
             r->device == 0 || (k->s->states[state].distribution == RT_REPLICATED &&
                                find_between(k, f, run, RT_EXCHANGE_BROADCAST, state, 0, r->device) >= 0));
    return true;
}

/* Match bits that other pipelines set, on whatever device, are there. */
static bool check_marks(const struct check *k, int run, int state)
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
        VF_CHECK(k->v, MARKS_SEEN, at >= 0 && waits_for(k, run, at));
    }
    return true;
}

static bool check_run(const struct check *k, int run)
{
    const struct rt_pipeline *p = &k->s->pipelines[k->a[run].index];
    bool uploaded = false;
    for (int i = 0; i < run && !uploaded; i++)
        uploaded = k->a[i].kind == RT_UPLOAD && k->a[i].device == k->a[run].device && waits_for(k, run, i);
    VF_CHECK(k->v, UPLOADED, uploaded);
    for (int i = 0; i < p->nreads; i++) {
        VF_TRY(check_read(k, run, p->reads[i]));
        if (k->s->states[p->reads[i]].track_matches)
            VF_TRY(check_marks(k, run, p->reads[i]));
    }
    VF_TRY(check_fragment(k, run));
    return check_sink(k, run);
}

/* Nothing looks at a state that was given back, until it is made again. */
static bool check_free(const struct check *k, int at)
{
    const struct rt_action *a = &k->a[at];
    for (int i = 0; i < at; i++)
        if (k->a[i].kind == RT_EXCHANGE && k->a[i].index == a->index && k->a[i].from == a->device)
            VF_CHECK(k->v, FREE_WAITS, waits_for(k, at, i));
    return true;
}

static bool check_operations(struct vf *v, const struct rt_state *s)
{
    struct rt_state wanted = *s;
    rt_state_list_finish(&wanted);
    VF_CHECK(v, FINISH_LIST, s->nfinish == wanted.nfinish);
    VF_CHECK(v, FINISH_LIST, memcmp(s->finish, wanted.finish, sizeof *s->finish * (size_t)s->nfinish) == 0);
    return true;
}

/* Each state is finished once. */
static bool find_finishes(const struct check *k)
{
    for (int i = 0; i < k->s->nstates; i++)
        k->finish[i] = -1;
    for (int i = 0; i < k->s->nactions; i++) {
        if (k->a[i].kind != RT_FINISH)
            continue;
        k->v->action = i;
        VF_CHECK(k->v, FINISH_ONCE, k->finish[k->a[i].index] < 0);
        VF_TRY(check_operations(k->v, &k->s->states[k->a[i].index]));
        k->finish[k->a[i].index] = i;
    }
    k->v->action = -1;
    return true;
}

/* Device 0 has all of a state: what others have goes there, and comes from there. */
static bool check_exchange(const struct check *k, int at)
{
    const struct rt_action *a = &k->a[at];
    int f = k->finish[a->index];
    bool before = f > at && waits_for(k, f, at), behind = f >= 0 && f < at && waits_for(k, at, f);
    bool matches = k->s->states[a->index].track_matches;
    switch (a->exchange) {
    case RT_EXCHANGE_GATHER:
        VF_CHECK(k->v, EXCHANGE_WAY, a->device == 0);
        VF_CHECK(k->v, EXCHANGE_TIME, before);
        return true;
    case RT_EXCHANGE_BROADCAST:
        VF_CHECK(k->v, EXCHANGE_WAY, a->from == 0);
        VF_CHECK(k->v, EXCHANGE_TIME, behind);
        return true;
    case RT_EXCHANGE_GATHER_MATCHES:
    case RT_EXCHANGE_BROADCAST_MATCHES:
        VF_CHECK(k->v, EXCHANGE_WAY, matches && (a->exchange == RT_EXCHANGE_GATHER_MATCHES ? a->device : a->from) == 0);
        VF_CHECK(k->v, EXCHANGE_TIME, behind);
        return true;
    }
    return vf_broken(k->v, VF_EXCHANGE_WAY);
}

/* A copy on every device is made there. */
static bool check_distribution(const struct check *k, int state)
{
    const struct rt_state *s = &k->s->states[state];
    int copies = 0;
    VF_CHECK(k->v, STATE_DISTRIBUTION, s->distribution == RT_SINGLE || s->distribution == RT_REPLICATED);
    for (int i = 0; i < k->s->nactions; i++)
        copies += is_exchange(&k->a[i], RT_EXCHANGE_BROADCAST, state);
    VF_CHECK(k->v, STATE_DISTRIBUTION, copies == (s->distribution == RT_REPLICATED ? k->s->ndevices - 1 : 0));
    VF_CHECK(k->v, STATE_DISTRIBUTION, s->distribution == RT_SINGLE || k->s->ndevices > 1);
    return true;
}

static bool check_devices(const struct check *k)
{
    struct vf *v = k->v;
    for (v->action = 0; v->action < k->s->nactions; v->action++)
        if (k->a[v->action].kind == RT_EXCHANGE)
            VF_TRY(check_exchange(k, v->action));
    v->action = -1;
    for (v->state = 0; v->state < k->s->nstates; v->state++)
        VF_TRY(check_distribution(k, v->state));
    v->state = -1;
    return true;
}

static bool check_rules(struct check *k)
{
    struct vf *v = k->v;
    for (v->action = 0; v->action < k->s->nactions; v->action++) {
        if (k->a[v->action].kind == RT_RUN)
            VF_TRY(check_run(k, v->action));
        else if (k->a[v->action].kind == RT_FREE)
            VF_TRY(check_free(k, v->action));
    }
    v->action = -1;
    for (int i = 0; i < k->s->npipelines; i++)
        VF_CHECK(v, FRAGMENTS, k->runs[i].n > 0 && k->runs[i].n == k->runs[i].parts);
    VF_CHECK(v, RESULT_STATE, k->finish[k->s->result_state] >= 0);
    return true;
}

bool vf_actions(struct vf *v)
{
    const struct rt_spec *s = v->spec;
    struct check k = {.v = v, .s = s, .a = s->actions, .words = ((size_t)s->nactions + 63) / 64};
    k.before = HD_NEWN(v->arena, uint64_t, k.words *(size_t)s->nactions + 1);
    VF_CHECK(v, ACTION_DEVICE, s->ndevices >= 1 && s->ndevices <= RT_MAX_DEVICES);
    for (v->action = 0; v->action < s->nactions; v->action++) {
        VF_TRY(check_action(&k, v->action));
        VF_TRY(collect_before(&k, v->action));
    }
    v->action = -1;
    v->before = k.before;
    return true;
}

bool vf_schedule(struct vf *v)
{
    const struct rt_spec *s = v->spec;
    struct check k = {.v = v, .s = s, .a = s->actions, .words = ((size_t)s->nactions + 63) / 64, .before = v->before};
    k.finish = HD_NEWN(v->arena, int, s->nstates + 1);
    k.runs = HD_NEWN(v->arena, struct runs, s->npipelines + 1);
    VF_TRY(find_finishes(&k));
    VF_TRY(check_rules(&k));
    return check_devices(&k);
}
