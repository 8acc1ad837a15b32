#include "api/api_spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_history.h"
#include "frontend/json_make.h"
#include "planner/choice.h"
#include "runtime/base/fault.h"
#include "runtime/base/guard.h"

/* ---- which GPUs -------------------------------------------------------------------------------- */

/* Those that are not lost; if all are, they are tried again. */
static int choose_slots(const struct heddle_statement *s, int slot[RT_MAX_DEVICES])
{
    int n = 0, all = s->backend->side == PL_GPU ? s->db->context->ndevices : 1;
    for (int i = 0; i < all; i++)
        if (!api_backends_lost(s->engine, i))
            slot[n++] = i;
    for (int i = 0; i < all && !n; i++)
        slot[i] = i;
    return n ? n : all;
}

static bool slots_are_good(const struct api_spread *p)
{
    int slot[RT_MAX_DEVICES], n = choose_slots(p->of, slot);
    n = HD_MIN(n, p->segments ? p->nslots : n);
    return n == p->nslots && memcmp(slot, p->slot, (size_t)n * sizeof *slot) == 0;
}

/* ---- the decision ------------------------------------------------------------------------------ */

/* For tests: with "always" whatever can be spread is, with "divide" also what of tables that every GPU has whole can be divided, with
 * "never" nothing. */
static const char *wanted(void)
{
    const char *text = secure_getenv("HEDDLE_SPREAD");
    return text ? text : "auto";
}

/* Tables in the memory of the context's first GPU stay there. */
static bool reads_device(const struct fe_node *n)
{
    if (n->op == FE_SCAN_OP && n->u.scan.table->device)
        return true;
    for (int i = 0; i < n->ninputs; i++)
        if (reads_device(n->inputs[i]))
            return true;
    return false;
}

static bool plan_reads_device(const struct fe_plan *plan)
{
    bool found = reads_device(plan->root);
    for (int i = 0; i < plan->nshared; i++)
        found |= reads_device(plan->shared[i]);
    return found;
}

static int stay(struct api_spread *p, const char *why)
{
    p->lanes = p->workers = 1;
    if (why != p->why)
        snprintf(p->why, sizeof p->why, "%s", why);
    return 0;
}

static double sent_bytes(const struct api_spread *p)
{
    double bytes = 0;
    for (int i = 0; i < p->nfragments; i++)
        if (p->fragments[i].exchange != API_EXCHANGE_RESULT)
            bytes += p->fragments[i].bytes;
    return bytes;
}

/* ---- segments ---------------------------------------------------------------------------------- */

static int segments_below(const struct fe_node *n)
{
    int most = n->op == FE_SCAN_OP ? n->u.scan.table->nsegments : 0;
    for (int i = 0; i < n->ninputs; i++) {
        int below = segments_below(n->inputs[i]); /* HD_MAX names its arguments twice */
        most = HD_MAX(most, below);
    }
    return most;
}

/* All tables that have segments have as many. What runs is not chosen execution by execution: what is asked for, or the
 * CPU. */
void api_spread_prepare(struct heddle_statement *s)
{
    s->segments = segments_below(s->plan->root);
    for (int i = 0; i < s->plan->nshared; i++) {
        int below = segments_below(s->plan->shared[i]);
        s->segments = HD_MAX(s->segments, below);
    }
    if (!s->segments || !s->automatic.on)
        return;
    s->automatic.on = false;
    snprintf(s->why, sizeof s->why, "tables have %d segments, and no GPU was asked for", s->segments);
}

int api_spread_refuse(const struct heddle_statement *s, struct hd_err *err)
{
    return HD_FAIL(
        err, UNSUPPORTED, NULL,
        "the plan reads tables of %d segments, by fragments: there is no program of the whole (see the stages "
        "plan and devices)",
        s->segments);
}

static int decide_segments(struct api_spread *p, struct hd_err *err)
{
    p->workers = p->of->segments;
    if (p->reads_device)
        p->nslots = 1; /* where such tables are */
    p->lanes = HD_MIN(p->workers, p->nslots);
    snprintf(p->why, sizeof p->why, "tables of %d segments", p->workers);
    return api_spread_cut(p, 0, err);
}

/* For tests: what executions are said to have taken on one GPU and on several, as "10,8". */
static double said_ms(enum pl_spread where, double ms)
{
    const char *text = secure_getenv("HEDDLE_DEVICES_MS");
    double said[PL_SPREADS];
    return text && sscanf(text, "%lf,%lf", &said[PL_ONE], &said[PL_SEVERAL]) == PL_SPREADS ? said[where] : ms;
}

static unsigned set_of(const struct api_spread *p)
{
    unsigned set = 0;
    for (int i = 0; i < p->nslots; i++)
        set |= 1u << p->slot[i];
    return set;
}

/* By what is known now. The plan is cut once that may be worth it. Where a statement is to be deterministic, no clock
 * decides. */
static int choose_number(struct api_spread *p, struct hd_err *err)
{
    struct heddle_statement *s = p->of;
    struct pl_devices_in *in = &p->numbers;
    if (!s->automatic.deterministic)
        api_history_get_devices(s->engine->history, s->automatic.key, set_of(p), in);
    if (!p->nfragments && pl_devices_may_gain(in)) {
        p->lanes = p->workers = in->devices;
        HD_TRY(api_spread_cut(p, 0, err));
        in->fragments = p->nfragments;
        in->bytes = sent_bytes(p);
    }
    if (p->nfragments == 1 && !p->fragments[0].every) {
        p->compared = false;
        return stay(p, "the plan cannot be divided");
    }
    p->lanes = p->workers = pl_choose_devices(in, p->why, sizeof p->why);
    return 0;
}

/* Whether several need less time than one, whose program is planned for that. */
static int compare(struct api_spread *p, struct hd_err *err)
{
    struct heddle_statement *s = p->of;
    HD_TRY(api_statement_plan_here(s, err));
    uint64_t room = s->backend->room(s->db->context, s->engine, p->slot[0]);
    p->compared = true;
    p->numbers = (struct pl_devices_in){.work = pl_work_of(s->program->pl),
                                        .devices = p->workers,
                                        .link = s->db->context->link,
                                        .fits = !room || s->backend->late->bytes(s->program) < room,
                                        .last = PL_NO_SPREAD};
    return choose_number(p, err);
}

static int decide(struct api_spread *p, struct hd_err *err)
{
    if (p->segments)
        return decide_segments(p, err);
    if (p->of->db->context->ndevices == 1)
        return api_spread_fit(p, err);
    if (p->reads_device)
        return stay(p, "a table is in a GPU's memory");
    if (p->workers == 1)
        return stay(p, "the context's other GPUs were lost");
    if (strcmp(wanted(), "never") == 0)
        return stay(p, "HEDDLE_SPREAD=never");
    p->divide = strcmp(wanted(), "divide") == 0;
    if (!p->divide && strcmp(wanted(), "always") != 0)
        return compare(p, err);
    snprintf(p->why, sizeof p->why, "HEDDLE_SPREAD=%s", wanted());
    return api_spread_cut(p, 0, err);
}

static void init(struct api_spread *p, struct heddle_statement *s)
{
    p->of = s;
    hd_arena_init(&p->arena);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    hd_err_init(&p->error);
    p->workers = p->lanes = p->nslots = choose_slots(s, p->slot);
    p->passes = 1;
    p->reads_device = plan_reads_device(s->plan);
    p->segments = s->segments > 0;
}

void api_spread_free(struct api_spread *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < p->cut_for; w++)
            heddle_statement_free(p->fragments[i].part[w].statement);
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < p->cut_for; w++)
            api_spread_table_release(p, &p->fragments[i].table[w]);
    hd_err_release(&p->error);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    hd_arena_release(&p->arena);
    free(p);
}

/* before: what the statement is spread over now, and more passes shall be; NULL: all is open. */
static int choose_anew(struct heddle_statement *s, const struct api_spread *before, struct hd_err *err)
{
    int rc;
    struct api_spread *p = hd_try_calloc(1, sizeof *p);
    if (!p)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    init(p, s);
    if (before)
        p->lanes = before->lanes;
    HD_GUARDED(rc, &s->cancel.flag, err, before ? api_spread_add_passes(p, before->passes, err) : decide(p, err));
    if (rc != 0) {
        api_spread_free(p);
        return -1;
    }
    api_spread_free(s->spread);
    s->spread = p;
    s->slot = p->slot[0];
    return 0;
}

/* For the next execution. */
static int choose_again(struct heddle_statement *s, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, &s->cancel.flag, err, choose_number(s->spread, err));
    if (rc != 0) {
        api_spread_free(s->spread);
        s->spread = NULL;
    }
    return rc;
}

/* One that was planned for a GPU that is lost now is planned for another. */
static void forget(struct heddle_statement *s)
{
    if (s->spread && !slots_are_good(s->spread))
        api_statement_release_programs(s);
}

int api_spread_choose(struct heddle_statement *s, bool *spread, struct hd_err *err)
{
    const heddle_context *c = s->db->context;
    *spread = false;
    bool gpu = s->backend->side == PL_GPU && (!s->automatic.on || c->ndevices == 1);
    if (s->is_part || (!gpu && !s->segments))
        return 0;
    HD_TRY(api_statement_ready(s, err));
    forget(s);
    if (!s->spread && !s->segments && c->ndevices == 1) {
        bool fits;
        HD_TRY(api_spread_fits(s, &fits, err));
        if (fits)
            return 0;
    }
    HD_TRY(s->spread && s->spread->compared ? choose_again(s, err) : s->spread ? 0 : choose_anew(s, NULL, err));
    *spread = s->spread->workers > 1;
    return 0;
}

/* Of code that executions go on with: no kernel of a first tier. */
static bool is_ripe(const struct heddle_statement *s, bool spread)
{
    const struct api_spread *p = s->spread;
    if (!spread)
        return !s->timed.first_tier;
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < api_spread_runs(&p->fragments[i], p->workers); w++)
            if (p->fragments[i].part[w].statement->timed.first_tier)
                return false;
    return true;
}

void api_spread_note(struct heddle_statement *s, bool spread)
{
    const struct api_spread *p = s->spread;
    if (!p || !p->compared || s->automatic.deterministic)
        return;
    const struct api_times *t = &s->timed.times;
    enum pl_spread where = spread ? PL_SEVERAL : PL_ONE;
    double ms = said_ms(where, t->execute + t->result);
    api_history_ran_on(s->engine->history, s->automatic.key, set_of(p), where, is_ripe(s, spread),
                       pl_devices_measure(&p->numbers, where, ms));
}

/* Of a GPU's memory, for states of what more passes would make smaller. */
static bool lacked_memory(const struct heddle_statement *s)
{
    const struct api_spread *p = s->spread;
    return p && p->workers > 1 ? p->lacked : s->timed.stats.lacked > 0 || s->counted.stats.lacked > 0;
}

/* What failed is run by every worker, and more of them have less each; or the plan was cut without regard to memory. */
static bool may_divide(const struct heddle_statement *s)
{
    const struct api_spread *p = s->spread;
    return !p || p->passes == 1 || p->fragments[p->lacking].every;
}

/* Where one GPU was chosen by its time. */
static bool go_to_several(struct heddle_statement *s, struct hd_err *e)
{
    struct api_spread *p = s->spread;
    if (!p || !p->compared || p->workers > 1)
        return false;
    p->numbers.fits = false;
    return choose_again(s, e) == 0 && s->spread->workers > 1;
}

bool api_spread_retry(struct heddle_statement *s, struct hd_err *err)
{
    static const struct api_spread one = {.lanes = 1, .passes = 1};
    struct hd_err e;
    bool may = err->class == HD_ERR_RESOURCE && !s->is_part && s->backend->side == PL_GPU, device;
    if (!may || s->segments || !lacked_memory(s))
        return false;
    device = plan_reads_device(s->plan);
    if (device ? s->db->context->ndevices > 1 : s->automatic.on) /* that has the CPU */
        return false;
    hd_err_init(&e);
    bool moved = go_to_several(s, &e);
    hd_err_release(&e);
    hd_err_init(&e);
    if (!moved && s->spread && s->spread->passes > 1)
        moved = api_spread_use_cpu(s->spread, &s->spread->fragments[s->spread->lacking]);
    if (!moved && !may_divide(s))
        return false;
    if (!moved && (choose_anew(s, s->spread ? s->spread : &one, &e) != 0 || s->spread->workers == 1)) {
        hd_err_release(&e);
        return false;
    }
    hd_err_release(err);
    hd_err_init(err);
    return true;
}

int api_spread_expect(struct heddle_statement *s, struct pl_choice_passes *out, struct hd_err *err)
{
    bool fits = s->db->context->ndevices > 1 || s->segments;
    *out = (struct pl_choice_passes){.n = 1};
    if (!fits)
        HD_TRY(api_spread_fits_of(s, s->programs[PL_GPU], &fits, err));
    if (fits)
        return 0;
    api_statement_use(s, PL_GPU);
    if (!s->spread)
        HD_TRY(choose_anew(s, NULL, err));
    if (s->spread->workers == 1)
        return HD_FAIL(err, RESOURCE, NULL, "states do not fit the GPU's memory: %.120s", s->spread->why);
    out->n = s->spread->passes;
    out->fragments = s->spread->nfragments;
    out->exchanged = sent_bytes(s->spread);
    return 0;
}
