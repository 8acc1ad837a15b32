#include "api/api_auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_background.h"
#include "api/api_backend.h"
#include "api/api_history.h"
#include "api/api_spread.h"

/* ---- what is known --------------------------------------------------------------------- */

/* For tests: a CPU that is so many times slower than planner/work.c takes it for. */
static double slower_cpu(void)
{
    const char *text = secure_getenv("HEDDLE_AUTO_SLOWER_CPU");
    return text ? HD_MAX(atof(text), 1.0) : 1;
}

/* For tests: HEDDLE_AUTO_MEASURE=0 goes by estimates alone, since on a busy machine what is measured is anything. */
static bool goes_by_measured(void)
{
    const char *text = secure_getenv("HEDDLE_AUTO_MEASURE");
    return !text || strcmp(text, "0") != 0;
}

static bool reads_device(const struct api_program *p)
{
    const struct rt_spec *spec = p->pl->spec;
    for (int i = 0; i < spec->nargs; i++)
        if (spec->args[i].table && spec->args[i].table->device)
            return true;
    return false;
}

static const struct api_late *late_of_gpu(void)
{
    return api_backend_of(PL_GPU)->late;
}

/* A plan that cannot be planned or emitted for the GPU stays on the CPU. */
static int trouble(struct heddle_statement *s, int rc, struct hd_err *e, struct hd_err *err)
{
    if (rc != 0 && e->class == HD_ERR_CANCELLED)
        HD_FAIL(err, CANCELLED, NULL, "cancelled");
    else if (rc != 0)
        snprintf(s->automatic.trouble, sizeof s->automatic.trouble, "%.199s", e->message);
    rc = e->class == HD_ERR_CANCELLED ? -1 : 0;
    hd_err_release(e);
    return rc;
}

static int plan_for_gpu(struct heddle_statement *s, struct hd_err *err)
{
    struct hd_err e;
    hd_err_init(&e);
    int rc = api_statement_plan(s, PL_GPU, &e);
    return trouble(s, rc, &e, err);
}

static int emit_for_gpu(struct heddle_statement *s, struct hd_err *err)
{
    struct hd_err e;
    hd_err_init(&e);
    int rc = api_statement_emit(s, s->programs[PL_GPU], &e);
    return trouble(s, rc, &e, err);
}

/* Whether the GPU is worth a look: else neither its code nor its memory is asked about. */
static bool may_gain(const struct pl_choice_in *in, bool open)
{
    struct pl_choice_in ready = *in;
    ready.code[PL_GPU] = open ? PL_CODE_LOADED : PL_CODE_STORED;
    if (open)
        ready.upload = 0;
    return pl_choose_side(&ready).side == PL_GPU;
}

/* What there is to know of a GPU that others use for long. */
static void guess(struct heddle_statement *s, const struct api_past *past)
{
    struct pl_choice_in *in = &s->automatic.in;
    in->gpu_busy = true;
    if (past->prepared || s->programs[PL_GPU]->plain.gpu_code)
        in->code[PL_GPU] = PL_CODE_LOADED;
}

/* Of a GPU that is not open: code that the cache has. */
static int look_closed(struct heddle_statement *s, struct hd_err *err)
{
    struct api_auto *a = &s->automatic;
    if (s->no_cache || !may_gain(&a->in, false))
        return 0;
    HD_TRY(emit_for_gpu(s, err));
    if (!*a->trouble && late_of_gpu()->stored(s->db->context, s->programs[PL_GPU]))
        a->in.code[PL_GPU] = PL_CODE_STORED;
    return 0;
}

/* Code and columns of a GPU. */
static int look(struct heddle_statement *s, const struct api_past *past, struct hd_err *err)
{
    struct api_auto *a = &s->automatic;
    bool fits = true;
    if (!a->in.gpu_open)
        return look_closed(s, err);
    if (!may_gain(&a->in, true))
        return 0;
    HD_TRY(emit_for_gpu(s, err));
    if (*a->trouble)
        return 0;
    if (!late_of_gpu()->look(s->engine, s->programs[PL_GPU], &a->in, &fits))
        guess(s, past);
    if (!fits)
        snprintf(a->trouble, sizeof a->trouble, "what the plan reads does not fit the GPU's memory");
    if (s->no_cache && !s->programs[PL_GPU]->plain.gpu_code)
        a->in.code[PL_GPU] = PL_CODE_ABSENT;
    return 0;
}

static void fill(struct heddle_statement *s, const struct api_past *past, bool open)
{
    struct api_auto *a = &s->automatic;
    a->in = (struct pl_choice_in){.threads = s->threads, .gpu_open = open, .last = past->last};
    for (int i = 0; i < PL_SIDES; i++) {
        a->in.work[i] = pl_work_of(s->programs[i]->pl);
        a->in.measured[i] = goes_by_measured() ? past->measured[i] : 0;
    }
    a->in.work[PL_CPU].cpu_ms *= slower_cpu();
    bool loaded = s->programs[PL_CPU]->plain.code || (past->compiled && !s->no_cache);
    a->in.code[PL_CPU] = loaded ? PL_CODE_LOADED : PL_CODE_ABSENT;
    if (!open)
        a->in.upload = (double)api_backend_of(PL_GPU)->late->bytes(s->programs[PL_GPU]);
}

/* States that the GPU's memory has no room for are made in passes, by fragments whose code is their own. */
static int expect_passes(struct heddle_statement *s, struct hd_err *err)
{
    struct hd_err e;
    hd_err_init(&e);
    int rc = api_spread_expect(s, &s->automatic.in.passes, &e);
    s->automatic.in.tables = (double)late_of_gpu()->bytes(s->programs[PL_GPU]);
    return trouble(s, rc, &e, err);
}

static void look_at_fragments(struct heddle_statement *s, const struct api_past *past)
{
    struct pl_choice_in *in = &s->automatic.in;
    if (in->passes.n > 1)
        in->code[PL_GPU] = past->measured[PL_GPU] > 0 && !s->no_cache ? PL_CODE_LOADED : PL_CODE_ABSENT;
}

/* ---- the choice ------------------------------------------------------------------------ */

static void use(struct heddle_statement *s, enum pl_side side)
{
    struct api_program *other = s->programs[side == PL_CPU ? PL_GPU : PL_CPU];
    api_statement_use(s, side);
    if (other) { /* it was planned for this execution, too */
        s->program->plan_ms += other->plan_ms;
        other->plan_ms = 0;
    }
}

static int use_cpu(struct heddle_statement *s)
{
    use(s, PL_CPU);
    snprintf(s->why, sizeof s->why, "not the GPU: %s", s->automatic.trouble);
    return 0;
}

static int use_forced(struct heddle_statement *s, struct hd_err *err)
{
    HD_TRY(api_statement_plan(s, PL_GPU, err));
    use(s, PL_GPU);
    snprintf(s->why, sizeof s->why, "a table is in the GPU's memory");
    return 0;
}

/* Whether there is a choice: fills a->in, or a->trouble. */
static int compare(struct heddle_statement *s, const struct api_past *past, struct hd_err *err)
{
    struct api_auto *a = &s->automatic;
    enum api_gpu_state state = late_of_gpu()->state(s->db->context, s->engine, a->trouble, sizeof a->trouble);
    if (state == API_GPU_NONE)
        return 0;
    if (*past->trouble)
        snprintf(a->trouble, sizeof a->trouble, "%s", past->trouble);
    else
        HD_TRY(plan_for_gpu(s, err));
    if (*a->trouble)
        return 0;
    fill(s, past, state == API_GPU_OPEN);
    HD_TRY(expect_passes(s, err));
    if (*a->trouble)
        return 0;
    HD_TRY(look(s, past, err));
    look_at_fragments(s, past);
    a->compared = !*a->trouble;
    return 0;
}

static int get_ready_behind(struct heddle_statement *s, const struct api_past *past, struct hd_err *err)
{
    struct api_auto *a = &s->automatic;
    bool done = past->prepared && a->in.code[PL_GPU] == PL_CODE_LOADED; /* what else is missing has no room */
    if (!a->choice.prepare || done || a->deterministic || s->no_cache)
        return 0;
    HD_TRY(emit_for_gpu(s, err));
    if (!*a->trouble && !a->in.gpu_open)
        s->engine->compiles = !late_of_gpu()->stored(s->db->context, s->programs[PL_GPU]);
    if (!*a->trouble)
        api_background_add(s->engine->background, s->programs[PL_GPU], s->db, a->key, s->threads);
    return 0;
}

static int choose_first(struct heddle_statement *s, bool executes, struct hd_err *err)
{
    struct api_auto *a = &s->automatic;
    struct api_past past;
    a->compared = false;
    *a->trouble = 0;
    HD_TRY(api_statement_plan(s, PL_CPU, err));
    if (reads_device(s->programs[PL_CPU]))
        return use_forced(s, err);
    api_history_get(s->engine->history, a->key, &past);
    HD_TRY(compare(s, &past, err));
    if (!a->compared)
        return use_cpu(s);
    a->choice = pl_choose_side(&a->in);
    use(s, a->choice.side);
    pl_choice_why(&a->choice, s->why, sizeof s->why);
    return executes ? get_ready_behind(s, &past, err) : 0;
}

/* A deterministic statement stays where its first execution ran, also with other values. */
static int choose_again(struct heddle_statement *s, struct hd_err *err)
{
    HD_TRY(api_statement_plan(s, s->backend->side, err));
    use(s, s->backend->side);
    s->automatic.compared = false;
    snprintf(s->why, sizeof s->why, "deterministic: the first execution ran there");
    return 0;
}

int api_auto_choose(struct heddle_statement *s, bool executes, struct hd_err *err)
{
    return s->automatic.kept ? choose_again(s, err) : choose_first(s, executes, err);
}

/* ---- executions ------------------------------------------------------------------------ */

/* What the CPU has more of, or does not need. */
static bool falls_back(const struct heddle_statement *s, const struct hd_err *err)
{
    bool about_gpu = err->class == HD_ERR_RESOURCE || err->class == HD_ERR_TOOL;
    return about_gpu && s->automatic.compared && !s->automatic.kept && s->backend->side == PL_GPU;
}

static int fall_back(struct heddle_statement *s, struct hd_err *err)
{
    struct api_auto *a = &s->automatic;
    snprintf(a->trouble, sizeof a->trouble, "%.199s", err->message);
    api_history_failed(s->engine->history, a->key, a->trouble);
    a->compared = false;
    hd_err_release(err);
    hd_err_init(err);
    return use_cpu(s);
}

static void note(struct heddle_statement *s)
{
    struct api_auto *a = &s->automatic;
    const struct api_times *t = &s->timed.times;
    enum pl_side side = s->backend->side;
    double ms = (t->execute + t->result) * (side == PL_CPU ? slower_cpu() : 1);
    if (a->compared)
        api_history_ran(s->engine->history, a->key, side, pl_choice_measure(&a->in, side, ms));
    a->kept = a->deterministic;
}

int api_auto_execute(struct heddle_statement *s, int (*run)(struct heddle_statement *s, void *out, struct hd_err *err),
                     void *out, struct hd_err *err)
{
    if (!s->automatic.on)
        return run(s, out, err);
    HD_TRY(api_statement_ready(s, err));
    HD_TRY(api_auto_choose(s, true, err));
    int rc = run(s, out, err);
    if (rc != 0 && falls_back(s, err) && fall_back(s, err) == 0)
        rc = run(s, out, err);
    if (rc == 0)
        note(s);
    return rc;
}

/* ---- report, explain ------------------------------------------------------------------- */

static void add_cost(struct hd_strbuf *b, enum pl_side side, const struct pl_choice_cost *c)
{
    hd_strbuf_addf(b, "\"%s\":{", api_backend_of(side)->name);
    if (side == PL_GPU)
        hd_strbuf_addf(b, "\"open_ms\":%.3f,\"wait_ms\":%.3f,\"transfer_ms\":%.3f,", c->open, c->wait, c->transfer);
    hd_strbuf_addf(b, "\"compile_ms\":%.3f,\"run_ms\":%.3f,\"all_ms\":%.3f,\"measured\":%s}", c->compile, c->run,
                   c->all, c->measured ? "true" : "false");
}

void api_auto_report(struct hd_strbuf *b, const struct heddle_statement *s)
{
    const struct api_auto *a = &s->automatic;
    hd_strbuf_adds(b, ",\"why\":");
    hd_strbuf_add_json(b, s->why, strlen(s->why));
    if (!a->on || !a->compared)
        return;
    hd_strbuf_adds(b, ",\"estimate\":{");
    add_cost(b, PL_CPU, &a->choice.cost[PL_CPU]);
    hd_strbuf_adds(b, ",");
    add_cost(b, PL_GPU, &a->choice.cost[PL_GPU]);
    hd_strbuf_adds(b, "}");
}

static void show_cost(struct hd_strbuf *out, enum pl_side side, const struct pl_choice_cost *c)
{
    hd_strbuf_addf(out, "%s: %.3g ms", api_backend_of(side)->name, c->all);
    if (c->open > 0)
        hd_strbuf_addf(out, ", open %.3g", c->open);
    if (c->wait > 0)
        hd_strbuf_addf(out, ", wait %.3g", c->wait);
    if (c->compile > 0)
        hd_strbuf_addf(out, ", compile %.3g", c->compile);
    if (c->transfer > 0)
        hd_strbuf_addf(out, ", transfer %.3g", c->transfer);
    hd_strbuf_addf(out, ", run %.3g%s\n", c->run, c->measured ? " (measured)" : "");
}

/* Where there was no choice: what a GPU that is not open would take. */
static int estimate(struct heddle_statement *s, struct hd_err *err)
{
    struct api_past past;
    *s->automatic.trouble = 0;
    HD_TRY(api_statement_plan(s, PL_CPU, err));
    HD_TRY(plan_for_gpu(s, err));
    if (*s->automatic.trouble)
        return 0;
    api_history_get(s->engine->history, s->automatic.key, &past);
    fill(s, &past, false);
    s->automatic.choice = pl_choose_side(&s->automatic.in);
    return 0;
}

int api_auto_show(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    const struct api_auto *a = &s->automatic;
    HD_TRY(api_program_emit(s, err));
    hd_strbuf_addf(out, "%s: %s\n", s->backend->name, s->why);
    if (a->on && !a->compared)
        HD_TRY(estimate(s, err));
    if (!a->on || (!a->compared && *a->trouble))
        return 0;
    show_cost(out, PL_CPU, &a->choice.cost[PL_CPU]);
    show_cost(out, PL_GPU, &a->choice.cost[PL_GPU]);
    return 0;
}
