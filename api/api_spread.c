#include "api/api_spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "frontend/json_make.h"
#include "planner/choice.h"
#include "runtime/base/fault.h"
#include "runtime/base/guard.h"

/* ---- fragments --------------------------------------------------------------------------------- */

static enum api_exchange exchange_named(const char *name)
{
    static const char *const names[] = {
#define X(id, name) name,
        API_EXCHANGES(X)
#undef X
    };
    for (size_t i = 0; i < HD_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum api_exchange)i;
    HD_BUG("exchange %s", name);
}

static int text_of(struct hd_arena *a, const struct cJSON *v, const char **out, struct hd_err *err)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    int rc = fe_print_json(v, &b, err);
    *out = rc == 0 ? hd_strndup(a, b.s, b.n) : NULL;
    hd_strbuf_release(&b);
    return rc;
}

static int count(const struct cJSON *list)
{
    int n = 0;
    for (const struct cJSON *v = fe_first_json(list); v; v = fe_next_json(v))
        n++;
    return n;
}

static int read_inputs(struct api_spread *p, struct api_spread_fragment *f, const struct cJSON *list)
{
    f->inputs = HD_NEWN(&p->arena, struct api_spread_input, count(list) + 1);
    for (const struct cJSON *v = fe_first_json(list); v; v = fe_next_json(v)) {
        int from = (int)fe_number_of(fe_member(v, "fragment"));
        const char *table = hd_strdup(&p->arena, fe_member_text(v, "table"));
        f->inputs[f->ninputs++] = (struct api_spread_input){table, from};
        p->fragments[from].name = table;
    }
    return 0;
}

static int read_values(struct api_spread *p, struct api_spread_fragment *f, const struct cJSON *list,
                       struct hd_err *err)
{
    int w = 0;
    for (const struct cJSON *v = list ? fe_first_json(list) : NULL; v; v = fe_next_json(v), w++)
        if (fe_first_json(v))
            HD_TRY(text_of(&p->arena, v, &f->values[w], err));
    return 0;
}

static int read_fragment(struct api_spread *p, struct api_spread_fragment *f, const struct cJSON *v, struct hd_err *err)
{
    const char *column = fe_member_text(v, "column");
    f->every = strcmp(fe_member_text(v, "workers"), "every") == 0;
    f->exchange = exchange_named(fe_member_text(v, "exchange"));
    f->column = column ? hd_strdup(&p->arena, column) : NULL;
    f->rows = fe_number_of(fe_member(v, "rows"));
    f->bytes = fe_number_of(fe_member(v, "bytes"));
    HD_TRY(read_inputs(p, f, fe_member(v, "inputs")));
    HD_TRY(text_of(&p->arena, fe_member(v, "plan"), &f->plan, err));
    return read_values(p, f, fe_member(v, "bind"), err);
}

static void make_room(struct api_spread *p, struct api_spread_fragment *f)
{
    f->values = HD_NEWN(&p->arena, const char *, p->room);
    f->part = HD_NEWN(&p->arena, struct api_spread_part, p->room);
    f->table = HD_NEWN(&p->arena, struct api_spread_table, p->room);
    for (int w = 0; w < p->room; w++) {
        f->part[w].out = HD_NEWN(&p->arena, struct ArrowArrayStream, p->room);
        api_spread_table_init(&f->table[w]);
    }
}

static int read_document(struct api_spread *p, const struct cJSON *document, struct hd_err *err)
{
    const struct cJSON *list = fe_member(document, "fragments");
    int n = count(list);
    p->fragments = HD_NEWN(&p->arena, struct api_spread_fragment, n);
    p->room = p->workers;
    for (int i = 0; i < n; i++)
        make_room(p, &p->fragments[i]);
    p->nfragments = n;
    struct api_spread_fragment *f = p->fragments;
    for (const struct cJSON *v = fe_first_json(list); v; v = fe_next_json(v), f++)
        HD_TRY(read_fragment(p, f, v, err));
    return 0;
}

static int cut(struct api_spread *p, struct hd_err *err)
{
    struct cJSON *document;
    HD_TRY(api_statement_cut(&p->arena, p->of, p->workers, p->segments, !p->segments, &document, err));
    return read_document(p, document, err);
}

int api_spread_runs(const struct api_spread_fragment *f, int workers)
{
    return f->every ? workers : 1;
}

int api_spread_slot(const struct api_spread *p, int w)
{
    return p->slot[w % p->nslots];
}

int api_spread_lanes(const struct api_spread *p)
{
    return HD_MIN(p->workers, p->nslots);
}

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

/* For tests: with "always" whatever can be spread is, with "never" nothing. */
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
    p->workers = 1;
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
    for (int i = 0; i < n->ninputs; i++)
        most = HD_MAX(most, segments_below(n->inputs[i]));
    return most;
}

/* All tables that have segments have as many. What runs is not chosen execution by execution: what is asked for, or the
 * CPU. */
void api_spread_prepare(struct heddle_statement *s)
{
    s->segments = segments_below(s->plan->root);
    for (int i = 0; i < s->plan->nshared; i++)
        s->segments = HD_MAX(s->segments, segments_below(s->plan->shared[i]));
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
    if (plan_reads_device(p->of->plan))
        p->nslots = 1; /* where such tables are */
    snprintf(p->why, sizeof p->why, "tables of %d segments", p->workers);
    return cut(p, err);
}

/* Whether several need less time than one, whose program is planned for that. */
static int compare(struct api_spread *p, struct hd_err *err)
{
    struct heddle_statement *s = p->of;
    HD_TRY(api_statement_plan_here(s, err));
    uint64_t room = s->backend->room(s->db->context, s->engine, p->slot[0]);
    struct pl_devices_in in = {.work = pl_work_of(s->program->pl),
                               .devices = p->workers,
                               .fits = !room || s->backend->late->bytes(s->program) < room};
    if (pl_choose_devices(&in, p->why, sizeof p->why) == 1)
        return stay(p, p->why);
    HD_TRY(cut(p, err));
    in.fragments = p->nfragments;
    in.bytes = sent_bytes(p);
    return pl_choose_devices(&in, p->why, sizeof p->why) > 1 ? 0 : stay(p, p->why);
}

static int decide(struct api_spread *p, struct hd_err *err)
{
    if (p->segments)
        return decide_segments(p, err);
    if (plan_reads_device(p->of->plan))
        return stay(p, "a table is in a GPU's memory");
    if (p->workers == 1)
        return stay(p, "the context's other GPUs were lost");
    if (strcmp(wanted(), "never") == 0)
        return stay(p, "HEDDLE_SPREAD=never");
    if (strcmp(wanted(), "always") != 0)
        return compare(p, err);
    snprintf(p->why, sizeof p->why, "HEDDLE_SPREAD=always");
    return cut(p, err);
}

static void init(struct api_spread *p, struct heddle_statement *s)
{
    p->of = s;
    hd_arena_init(&p->arena);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    hd_err_init(&p->error);
    p->workers = p->nslots = choose_slots(s, p->slot);
    p->segments = s->segments > 0;
}

void api_spread_free(struct api_spread *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < p->room; w++)
            heddle_statement_free(p->fragments[i].part[w].statement);
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < p->room; w++)
            api_spread_table_release(p, &p->fragments[i].table[w]);
    hd_err_release(&p->error);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    hd_arena_release(&p->arena);
    free(p);
}

static int choose_anew(struct heddle_statement *s, struct hd_err *err)
{
    int rc;
    struct api_spread *p = hd_try_calloc(1, sizeof *p);
    if (!p)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    init(p, s);
    HD_GUARDED(rc, &s->cancel.flag, err, decide(p, err));
    if (rc != 0) {
        api_spread_free(p);
        return -1;
    }
    s->spread = p;
    s->slot = p->slot[0];
    return 0;
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
    bool several = c->ndevices > 1 && !s->automatic.on && s->backend->side == PL_GPU;
    if (s->is_part || (!several && !s->segments))
        return 0;
    HD_TRY(api_statement_ready(s, err));
    forget(s);
    if (!s->spread)
        HD_TRY(choose_anew(s, err));
    *spread = s->spread->workers > 1;
    return 0;
}

int api_spread_run(struct heddle_statement *s, struct ArrowArrayStream *out, struct hd_err *err)
{
    bool spread;
    HD_TRY(api_spread_choose(s, &spread, err));
    if (spread)
        return api_spread_execute(s, out, err);
    return api_statement_execute(s, &(struct api_output){.stream = out}, err);
}
