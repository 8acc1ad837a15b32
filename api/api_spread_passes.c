/* Passes over a GPU whose memory a plan's states do not fit: as many workers as passes, each of which has its part of the rows,
 * one after the other. How many, by estimate before the first execution, and by what failed ones told. */
#include <stdio.h>
#include <stdlib.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "planner/residence.h"

/* So many times as many passes, where too few have failed. */
enum { MORE = 4 };
/* States that a fragment has at one time, of about the size of its largest one. */
static const double AT_ONCE = 2;
/* A state that is this much smaller is worth twice the passes. */
static const double gain = 0.8;

/* For tests: so many passes whatever there is, 1: one whatever there is not; 0: as many as are needed. */
static int wanted(void)
{
    const char *text = secure_getenv("HEDDLE_PASSES");
    return text ? HD_MIN(HD_MAX(atoi(text), 0), (int)API_WORKERS_MAX) : 0;
}

/* Bytes for the states of the planned program; 0: nobody knows. */
static double room_of(const struct heddle_statement *s, const struct api_program *p, int slot)
{
    double memory = (double)p->backend->room(s->db->context, s->engine, slot);
    double room = memory > 0 ? pl_states_room(p->pl, memory) : 0;
    if (s->memory_limit)
        room = room > 0 ? HD_MIN(room, (double)s->memory_limit) : (double)s->memory_limit;
    return room;
}

bool api_spread_streams(const struct api_spread *p)
{
    const struct heddle_statement *s = p->of;
    const struct api_program *g = s->programs[PL_GPU];
    uint64_t memory = g ? g->backend->room(s->db->context, s->engine, p->slot[0]) : 0;
    return memory && g->backend->late->bytes(g) > memory / 2;
}

static int compare(const struct heddle_statement *s, const struct api_program *p, bool *fits)
{
    double room = room_of(s, p, s->slot), peak = p->state_bytes;
    *fits = wanted() ? wanted() == 1 : room <= 0 || peak <= room;
    return 0;
}

int api_spread_fits_of(struct heddle_statement *s, const struct api_program *program, bool *fits, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, &s->cancel.flag, err, compare(s, program, fits));
    return rc;
}

int api_spread_fits(struct heddle_statement *s, bool *fits, struct hd_err *err)
{
    HD_TRY(api_statement_plan_here(s, err));
    return api_spread_fits_of(s, s->program, fits, err);
}

static void use_passes(struct api_spread *p, int passes)
{
    p->passes = passes;
    p->workers = p->lanes * passes;
}

static bool is_divided(const struct api_spread *p)
{
    for (int i = 0; i < p->nfragments; i++)
        if (p->fragments[i].every)
            return true;
    return false;
}

/* Of what every worker runs: more of them make it smaller. There are other states beside the largest one. */
static double states_of_worker(const struct api_spread *p)
{
    double bytes = 0;
    for (int i = 0; i < p->nfragments; i++)
        if (p->fragments[i].every)
            bytes = HD_MAX(bytes, p->fragments[i].state_bytes);
    return bytes * AT_ONCE;
}

bool api_spread_use_cpu(struct api_spread *p, struct api_spread_fragment *f)
{
    if (f->on_cpu || f->every || p->reads_device || !api_backend_of(PL_CPU))
        return false;
    for (int w = 0; w < p->workers; w++) {
        heddle_statement_free(f->part[w].statement);
        f->part[w].statement = NULL;
    }
    return f->on_cpu = true;
}

static void leave_to_cpu(struct api_spread *p, double memory)
{
    for (int i = 0; i < p->nfragments; i++)
        if (p->fragments[i].state_bytes > memory)
            api_spread_use_cpu(p, &p->fragments[i]);
}

/* From so many passes on: twice as many as long as the largest state is too large and becomes smaller. */
static int cut_from(struct api_spread *p, int passes, double memory, struct hd_err *err)
{
    use_passes(p, passes);
    HD_TRY(api_spread_cut(p, memory, err));
    while (states_of_worker(p) > memory && 2 * p->workers <= API_WORKERS_MAX) {
        double before = states_of_worker(p);
        use_passes(p, 2 * p->passes);
        HD_TRY(api_spread_cut(p, memory, err));
        if (states_of_worker(p) <= before * gain)
            continue;
        use_passes(p, p->passes / 2);
        return api_spread_cut(p, memory, err);
    }
    return 0;
}

static void stay(struct api_spread *p, const char *why)
{
    use_passes(p, 1);
    p->workers = 1;
    snprintf(p->why, sizeof p->why, "%s", why);
}

int api_spread_fit(struct api_spread *p, struct hd_err *err)
{
    struct heddle_statement *s = p->of;
    double room = room_of(s, s->program, p->slot[0]), peak = s->program->state_bytes;
    p->lanes = 1;
    p->room = room;
    if (wanted()) {
        snprintf(p->why, sizeof p->why, "HEDDLE_PASSES=%d", wanted());
        use_passes(p, wanted());
        HD_TRY(api_spread_cut(p, room > 0 ? room : 1, err));
        room = 0;
    } else {
        snprintf(p->why, sizeof p->why, "states are expected to take %.3g MB, and %.3g MB are there", peak / 1e6,
                 room / 1e6);
        HD_TRY(cut_from(p, 2, room, err));
    }
    if (!is_divided(p))
        stay(p, "nothing in the plan can be done in parts");
    else if (room > 0)
        leave_to_cpu(p, room);
    return 0;
}

int api_spread_add_passes(struct api_spread *p, int passes, struct hd_err *err)
{
    int most = API_WORKERS_MAX / p->lanes;
    HD_TRY(api_statement_plan_here(p->of, err)); /* of one that was spread without asking, for its columns */
    double room = p->room = room_of(p->of, p->of->program, p->slot[0]);
    if (passes >= most || wanted() == 1)
        return HD_FAIL(err, RESOURCE, NULL, "no more passes");
    use_passes(p, HD_MIN(passes == 1 ? 2 : MORE * passes, most));
    snprintf(p->why, sizeof p->why, "states did not fit the GPU's memory in %d pass%s", passes, passes > 1 ? "es" : "");
    HD_TRY(api_spread_cut(p, room > 0 ? room : 1, err));
    if (!is_divided(p))
        return HD_FAIL(err, RESOURCE, NULL, "nothing in the plan can be done in parts");
    if (room > 0)
        leave_to_cpu(p, room);
    return 0;
}
