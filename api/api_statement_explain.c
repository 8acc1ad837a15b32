/* What a statement shows of itself: the text of each stage, and the report of an execution. */
#include <stdlib.h>
#include <string.h>

#include "api/api_auto.h"
#include "api/api_backend.h"
#include "api/api_facts.h"
#include "api/api_spread.h"
#include "planner/physical.h"
#include "runtime/base/show.h"
#include "runtime/exec/spec_print.h"

/* ---- Explain --------------------------------------------------------------------------- */

static int show_plan(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err HD_UNUSED)
{
    fe_plan_print(out, s->plan);
    return 0;
}

static int show_pipelines(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    HD_TRY(api_program_emit(s, err));
    const struct pl_program *pl = s->program->pl;
    if (!s->has_counts || !s->executed || s->stats_spec != pl->spec) {
        pl_print(out, pl, NULL);
        return 0;
    }
    const uint64_t **steps = HD_NEWN(pl->arena, const uint64_t *, pl->npipelines);
    for (int i = 0; i < pl->npipelines; i++)
        steps[i] = s->counted.stats.pipelines[i].counters;
    pl_print(out, pl, &(struct pl_counted){steps, s->counted.stats.state_rows});
    return 0;
}

static int show_physical(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    HD_TRY(api_program_emit(s, err));
    pl_physical_print(out, s->program->pl);
    if (s->learned) {
        hd_strbuf_adds(out, "facts:\n");
        api_facts_show_learned(s, out);
    }
    return 0;
}

static int show_spec(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    HD_TRY(api_program_emit(s, err));
    rt_spec_print(out, s->program->pl->spec);
    return 0;
}

static const struct api_stage stages[] = {
    {"plan", show_plan}, {"facts", api_facts_show},  {"physical", show_physical},  {"pipelines", show_pipelines},
    {"spec", show_spec}, {"backend", api_auto_show}, {"devices", api_spread_show}, {0},
};

static int show(const struct api_stage *stage, struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, &s->cancel.flag, err, stage->show(s, out, err));
    return rc;
}

/* One stage is printed bare; of several each has a headline. */
static int explain(struct heddle_statement *s, const char *list, struct hd_strbuf *out, struct hd_err *err)
{
    bool several = strchr(list, ',') != NULL;
    HD_TRY(api_statement_ready(s, err));
    for (const char *p = list;;) {
        size_t n = strcspn(p, ",");
        const struct api_stage *stage = api_stage_find(stages, p, n);
        if (!stage)
            HD_TRY(api_backend_stage(stages, p, n, &stage, err));
        if (several)
            hd_strbuf_addf(out, "%s== %s ==\n", p == list ? "" : "\n", stage->name);
        HD_TRY(show(stage, s, out, err));
        if (!p[n])
            return 0;
        p += n + 1;
    }
}

int heddle_explain(heddle_statement *s, const char *list, char **text, heddle_error **err)
{
    struct hd_err e;
    struct hd_strbuf b;
    API_NEED(s, err);
    API_NEED(text, err);
    hd_err_init(&e);
    hd_strbuf_init(&b);
    int rc = explain(s, list ? list : "plan", &b, &e);
    hd_show_controls(&b, 0, "\n\t");
    if (rc == 0)
        *text = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
    return api_statement_finish(s, rc, &e, err);
}

/* ---- Report ---------------------------------------------------------------------------- */

enum { REPORT_VERSION = 2 }; /* up by one where a field is renamed or removed (docs/cli.md) */

static void add_text(struct hd_strbuf *b, const char *s)
{
    hd_strbuf_add_json(b, s ? s : "", s ? strlen(s) : 0);
}

static void add_counters(struct hd_strbuf *b, const struct rt_pipeline *p, const struct rt_pipeline_stats *st)
{
    hd_strbuf_adds(b, ",\"steps\":[");
    for (int k = 0; k < p->ncounters; k++) {
        hd_strbuf_adds(b, k ? ",{\"name\":" : "{\"name\":");
        add_text(b, p->counter_names ? p->counter_names[k] : NULL);
        if (p->counter_est && p->counter_est[k] >= 0)
            hd_strbuf_addf(b, ",\"estimate\":%.0f", p->counter_est[k]);
        hd_strbuf_addf(b, ",\"rows\":%llu}", (unsigned long long)st->counters[k]);
    }
    hd_strbuf_adds(b, "]");
}

/* Bytes at least, how long memory takes for them, and at least what lookups and atomics take in random order. */
static void add_traffic(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    struct rt_traffic t;
    rt_traffic_of(s->stats_spec, i, &s->counted.stats, &s->memory, &t);
    hd_strbuf_addf(b,
                   ",\"bytes\":{\"scan\":%.0f,\"lookup\":%.0f,\"text\":%.0f,\"write\":%.0f,\"all\":%.0f,"
                   "\"random\":%.0f},\"lookups\":%.0f,\"atomics\":%.0f",
                   t.scan, t.lookup, t.text, t.write, t.bytes, t.random, t.lookups, t.atomics);
    if (s->memory.bandwidth > 0)
        hd_strbuf_addf(b, ",\"floor_ms\":%.4f,\"random_floor_ms\":%.4f,\"bound\":\"%s\"",
                       rt_traffic_ms(&s->memory, t.bytes), rt_traffic_random_ms(&s->memory, &t),
                       rt_traffic_bound(&s->memory, &t));
}

static void add_pipeline(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    const struct rt_pipeline *p = &s->stats_spec->pipelines[i];
    const struct rt_pipeline_stats *st = &s->timed.stats.pipelines[i];
    hd_strbuf_adds(b, i ? ",{\"name\":" : "{\"name\":");
    add_text(b, p->name);
    hd_strbuf_adds(b, ",\"path\":");
    add_text(b, p->path);
    hd_strbuf_adds(b, ",\"state\":");
    add_text(b, s->stats_spec->states[p->writes[0]].name);
    hd_strbuf_addf(b, ",\"start_ms\":%.3f,\"ms\":%.3f,\"source_rows\":%llu,\"split_ranges\":%llu", st->start_ms, st->ms,
                   (unsigned long long)st->source_rows, (unsigned long long)st->spawned);
    if (p->zones.nconditions)
        hd_strbuf_addf(b, ",\"zones\":%lld,\"zones_skipped\":%lld", (long long)p->zones.n,
                       (long long)(p->zones.n - p->zones.visited));
    hd_strbuf_adds(b, ",\"busy_ms\":[");
    for (int w = 0; w < s->timed.stats.threads; w++)
        hd_strbuf_addf(b, "%s%.3f", w ? "," : "", st->busy_ms[w]);
    hd_strbuf_adds(b, "]");
    if (s->backend->report_pipeline)
        s->backend->report_pipeline(b, s, i);
    if (s->has_counts) {
        add_traffic(b, s, i);
        add_counters(b, p, &s->counted.stats.pipelines[i]);
    }
    hd_strbuf_adds(b, "}");
}

static void add_state(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    const struct rt_state *t = &s->stats_spec->states[i];
    hd_strbuf_adds(b, i ? ",{\"name\":" : "{\"name\":");
    add_text(b, t->name);
    hd_strbuf_adds(b, ",\"path\":");
    add_text(b, t->path);
    hd_strbuf_addf(b, ",\"kind\":\"%s\",\"finish_ms\":%.3f,\"rows\":%llu", rt_state_kind_name(t->kind),
                   s->timed.stats.finish_ms[i], (unsigned long long)s->timed.stats.state_rows[i]);
    if (t->est_rows >= 0)
        hd_strbuf_addf(b, ",\"estimate\":%.0f", t->est_rows);
    if (s->timed.stats.state_spilled[i])
        hd_strbuf_addf(b, ",\"spilled_bytes\":%llu", (unsigned long long)s->timed.stats.state_spilled[i]);
    hd_strbuf_adds(b, "}");
}

/* ---- With profile: when what ran, and from which execution figures are ----------------- */

static void add_span(struct hd_strbuf *b, const struct rt_spec *spec, const struct rt_span *x, double gap)
{
    bool run = x->kind == RT_SPAN_RUN;
    hd_strbuf_addf(b, "{\"what\":\"%s\",\"%s\":", rt_span_name(x->kind), run ? "pipeline" : "state");
    add_text(b, run ? spec->pipelines[x->index].name : spec->states[x->index].name);
    hd_strbuf_addf(b, ",\"device\":%d,\"start_ms\":%.4f,\"ms\":%.4f,\"gap_ms\":%.4f}", x->device, x->start_ms, x->ms,
                   gap);
}

/* gap_ms of a span: since the end of the one before it on its device nothing was done. */
static void add_timeline(struct hd_strbuf *b, const struct heddle_statement *s)
{
    const struct rt_exec_stats *st = &s->timed.stats;
    double end[RT_MAX_DEVICES] = {0}, gaps = 0;
    hd_strbuf_adds(b, ",\"timeline\":[");
    for (int i = 0; i < st->nspans; i++) {
        const struct rt_span *x = &st->spans[i];
        double gap = HD_MAX(x->start_ms - end[x->device], 0.0);
        hd_strbuf_adds(b, i ? "," : "");
        add_span(b, s->stats_spec, x, gap);
        end[x->device] = HD_MAX(end[x->device], x->start_ms + x->ms);
        gaps += gap;
    }
    hd_strbuf_addf(b, "],\"gaps_ms\":%.4f", gaps);
}

static void add_profile(struct hd_strbuf *b, const struct heddle_statement *s)
{
    const struct api_times *t = &s->counted.times;
    add_timeline(b, s);
    hd_strbuf_addf(b, ",\"counted\":{\"codegen_ms\":%.3f,\"compile_ms\":%.3f,\"execute_ms\":%.3f}", t->codegen,
                   t->compile, t->execute);
    hd_strbuf_addf(b, ",\"memory\":{\"sector\":%.0f,\"cache\":%.0f,\"bandwidth\":%.0f}", s->memory.sector,
                   s->memory.cache, s->memory.bandwidth);
}

static void add_details(struct hd_strbuf *b, const struct heddle_statement *s)
{
    hd_strbuf_adds(b, ",\"pipelines\":[");
    for (int i = 0; s->stats_spec && i < s->timed.stats.npipelines; i++)
        add_pipeline(b, s, i);
    hd_strbuf_adds(b, "],\"states\":[");
    for (int i = 0; s->stats_spec && i < s->timed.stats.nstates; i++)
        add_state(b, s, i);
    hd_strbuf_adds(b, "]");
    api_facts_report(b, s);
    if (s->stats_spec && s->has_counts)
        add_profile(b, s);
    hd_strbuf_adds(b, "}");
}

static int write_report(const struct heddle_statement *s, char **json)
{
    struct hd_strbuf b;
    const struct api_times *t = &s->timed.times;
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "{\"version\":%d,\"backend\":\"%s\"", REPORT_VERSION, s->backend->name);
    api_auto_report(&b, s);
    s->backend->report(&b, s);
    api_spread_report(&b, s);
    hd_strbuf_addf(&b, ",\"facts_ms\":%.3f,\"plan_ms\":%.3f,\"codegen_ms\":%.3f,\"open_ms\":%.3f", t->facts, t->plan,
                   t->codegen, t->open);
    hd_strbuf_addf(&b, ",\"compile_ms\":%.3f,\"compile_cached\":%s,\"wait_ms\":%.3f,\"transfer_ms\":%.3f", t->compile,
                   t->how == RT_COMPILED ? "false" : "true", t->wait, t->transfer);
    hd_strbuf_addf(&b, ",\"execute_ms\":%.3f,\"result_ms\":%.3f,\"total_ms\":%.3f", t->execute, t->result,
                   t->facts + t->plan + t->codegen + t->open + t->compile + t->wait + t->transfer + t->execute +
                       t->result);
    hd_strbuf_addf(&b, ",\"peak_bytes\":%llu", (unsigned long long)s->timed.stats.peak_bytes);
    if (s->backend->side == PL_CPU || s->timed.stats.spilled_bytes)
        hd_strbuf_addf(&b, ",\"spilled_bytes\":%llu", (unsigned long long)s->timed.stats.spilled_bytes);
    add_details(&b, s);
    *json = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
    return 0;
}

int heddle_statement_report(heddle_statement *s, char **json, heddle_error **err)
{
    struct hd_err e;
    int rc;
    API_NEED(s, err);
    API_NEED(json, err);
    hd_err_init(&e);
    if (!s->executed)
        return api_finish(HD_FAIL(&e, USER, NULL, "the statement was not executed"), &e, err);
    HD_GUARDED(rc, NULL, &e, write_report(s, json));
    return api_finish(rc, &e, err);
}
