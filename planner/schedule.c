/* The schedule: a graph of actions on devices, from the order in which operators ended their pipelines.
 *
 * Each pipeline runs over fragments of its source, which go to the devices in turns. So a state fills on several
 * devices; before it is finished, device 0 gathers what the others have, and the others get copies of the finished
 * state where a pipeline reads it there. With one fragment on one device there is nothing to exchange.
 *
 * Edges come from what actions read and change: an action waits for the last one that changed what it reads,
 * and one that changes something also for those that read it since. */
#include <stdlib.h>

#include "planner/schedule.h"

void pb_finish(struct ctx *c, int state)
{
    hd_vec_push(c->a, &c->turns, (struct pl_turn){.pipeline = -1, .state = state});
}

void pb_end(struct ctx *c, struct open_pipeline *p, bool finish)
{
    int index = -1;
    for (int i = 0; i < c->pipelines.n; i++)
        if (c->pipelines.v[i] == p)
            index = i;
    hd_vec_push(c->a, &c->turns, (struct pl_turn){.pipeline = index, .state = -1});
    if (finish)
        pb_finish(c, p->sink.state);
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* Something on one device that actions read and change. */
struct thing {
    int changed; /* the last action that did, -1 none */
    HD_VEC(int) readers; /* since */
};

/* What there is on a device. */
struct place {
    struct thing columns;
    struct thing *contents, *matches; /* per state */
    bool *filled;                     /* per state: a pipeline put something into it here */
};

struct schedule {
    struct ctx *c;
    struct rt_spec *s;
    int parts;
    struct place *places; /* per device */
    HD_VEC(struct rt_action) actions;
    HD_VEC(int) after; /* of the action that is being made */
};

static void wait_for(struct schedule *w, int action)
{
    if (action >= 0 && action != w->actions.n)
        hd_vec_push(w->c->a, &w->after, action);
}

/* The action that is added next reads it. */
static void reads(struct schedule *w, struct thing *t)
{
    wait_for(w, t->changed);
    hd_vec_push(w->c->a, &t->readers, w->actions.n);
}

static void changes(struct schedule *w, struct thing *t)
{
    wait_for(w, t->changed);
    for (int i = 0; i < t->readers.n; i++)
        wait_for(w, t->readers.v[i]);
    t->readers.n = 0;
    t->changed = w->actions.n;
}

static int compare(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Ascending, each once. */
static void take_edges(struct schedule *w, struct rt_action *a)
{
    int *all = w->after.v, *to = HD_NEWN(w->c->a, int, w->after.n + 1), n = 0;
    if (all)
        qsort(all, (size_t)w->after.n, sizeof *all, compare);
    for (int i = 0; i < w->after.n; i++)
        if (n == 0 || to[n - 1] != all[i])
            to[n++] = all[i];
    a->nafter = n;
    a->after = to;
    w->after.n = 0;
}

/* After what it reads and changes was told. */
static void add(struct schedule *w, struct rt_action a)
{
    take_edges(w, &a);
    hd_vec_push(w->c->a, &w->actions, a);
}

/* ---- actions -------------------------------------------------------------------------------- */

static void add_upload(struct schedule *w, int device)
{
    changes(w, &w->places[device].columns);
    add(w, (struct rt_action){.kind = RT_UPLOAD, .index = -1, .device = device});
}

static void add_run(struct schedule *w, int pipeline, int device, struct rt_fragment f)
{
    const struct rt_pipeline *p = &w->s->pipelines[pipeline];
    struct place *here = &w->places[device];
    reads(w, &here->columns);
    for (int i = 0; i < p->nreads; i++) {
        reads(w, &here->contents[p->reads[i]]);
        reads(w, &here->matches[p->reads[i]]);
    }
    changes(w, &here->contents[p->writes[0]]);
    for (int i = 1; i < p->nwrites; i++)
        changes(w, &here->matches[p->writes[i]]);
    here->filled[p->writes[0]] = true;
    add(w, (struct rt_action){.kind = RT_RUN, .index = pipeline, .device = device, .fragment = f});
}

static void add_exchange(struct schedule *w, enum rt_exchange e, int state, int from, int to)
{
    struct place *source = &w->places[from], *target = &w->places[to];
    if (e == RT_EXCHANGE_GATHER || e == RT_EXCHANGE_BROADCAST) {
        reads(w, &source->contents[state]);
        changes(w, &target->contents[state]);
    }
    if (e != RT_EXCHANGE_GATHER) {
        reads(w, &source->matches[state]);
        changes(w, &target->matches[state]);
    }
    add(w, (struct rt_action){.kind = RT_EXCHANGE, .index = state, .device = to, .from = from, .exchange = e});
}

static void add_finish(struct schedule *w, int state)
{
    changes(w, &w->places[0].contents[state]);
    changes(w, &w->places[0].matches[state]);
    add(w, (struct rt_action){.kind = RT_FINISH, .index = state});
}

static void add_free(struct schedule *w, int state, int device)
{
    changes(w, &w->places[device].contents[state]);
    changes(w, &w->places[device].matches[state]);
    add(w, (struct rt_action){.kind = RT_FREE, .index = state, .device = device});
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* Rows that must keep their order stay on one device; its fragments follow each other there. */
static int device_of(const struct schedule *w, const struct rt_pipeline *p, int part)
{
    return p->ordered ? 0 : part % w->s->ndevices;
}

static bool is_spread(const struct schedule *w, const struct rt_pipeline *p)
{
    return w->s->ndevices > 1 && w->parts > 1 && !p->ordered;
}

static void schedule_pipeline(struct schedule *w, int pipeline)
{
    const struct rt_pipeline *p = &w->s->pipelines[pipeline];
    for (int i = 0; i < w->parts; i++)
        add_run(w, pipeline, device_of(w, p, i), (struct rt_fragment){i, w->parts});
    for (int i = 1; i < p->nwrites && is_spread(w, p); i++) {
        for (int d = 1; d < w->s->ndevices; d++)
            add_exchange(w, RT_EXCHANGE_GATHER_MATCHES, p->writes[i], d, 0);
        for (int d = 1; d < w->s->ndevices; d++)
            add_exchange(w, RT_EXCHANGE_BROADCAST_MATCHES, p->writes[i], 0, d);
    }
}

static void schedule_finish(struct schedule *w, int state)
{
    rt_state_list_finish(&w->s->states[state]);
    for (int d = 1; d < w->s->ndevices; d++) {
        if (!w->places[d].filled[state])
            continue;
        add_exchange(w, RT_EXCHANGE_GATHER, state, d, 0);
        add_free(w, state, d);
    }
    add_finish(w, state);
    if (w->s->states[state].distribution == RT_REPLICATED)
        for (int d = 1; d < w->s->ndevices; d++)
            add_exchange(w, RT_EXCHANGE_BROADCAST, state, 0, d);
}

/* What a pipeline reads that runs on all devices must be on all of them. */
static void distribute(const struct schedule *w)
{
    for (int i = 0; i < w->s->npipelines; i++) {
        const struct rt_pipeline *p = &w->s->pipelines[i];
        for (int k = 0; k < p->nreads && is_spread(w, p); k++)
            w->s->states[p->reads[k]].distribution = RT_REPLICATED;
    }
}

static void init(struct schedule *w, struct ctx *c, struct rt_spec *s)
{
    *w = (struct schedule){.c = c, .s = s, .parts = HD_MAX(c->opt.fragments, 1)};
    s->ndevices = w->parts > 1 ? HD_MAX(c->opt.devices, 1) : 1;
    HD_ASSERT(s->ndevices <= RT_MAX_DEVICES);
    w->places = HD_NEWN(c->a, struct place, s->ndevices);
    for (int d = 0; d < s->ndevices; d++) {
        struct place *p = &w->places[d];
        p->contents = HD_NEWN(c->a, struct thing, s->nstates + 1);
        p->matches = HD_NEWN(c->a, struct thing, s->nstates + 1);
        p->filled = HD_NEWN(c->a, bool, s->nstates + 1);
        p->columns.changed = -1;
        for (int i = 0; i < s->nstates; i++)
            p->contents[i].changed = p->matches[i].changed = -1;
    }
}

void pl_schedule(struct ctx *c, struct rt_spec *s)
{
    struct schedule w;
    init(&w, c, s);
    distribute(&w);
    for (int d = 0; d < s->ndevices; d++)
        add_upload(&w, d);
    for (int i = 0; i < c->turns.n; i++) {
        const struct pl_turn *t = &c->turns.v[i];
        if (t->state < 0)
            schedule_pipeline(&w, t->pipeline);
        else
            schedule_finish(&w, t->state);
    }
    s->nactions = w.actions.n;
    s->actions = w.actions.v;
}
