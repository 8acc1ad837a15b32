/* The CPU: LLVM bitcode, compiled in the process, on the statement's threads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_backend.h"
#include "runtime/exec/bandwidth.h"
#include "runtime/exec/fragment_rows.h"

static int emit(struct api_program *p, struct api_code *c, const struct cg_options *o, struct hd_err *err)
{
    return cg_llvm_emit(&p->arena, p->pl, o, &c->artifact, err);
}

static bool compiled(struct heddle_statement *s HD_UNUSED, struct api_code *c)
{
    return c->code != NULL;
}

static void release(struct api_program *p, struct api_code *c)
{
    rt_cached_code_release(p->engine->cache, c->code);
    c->code = NULL;
}

struct api_waiting {
    const struct heddle_statement *s;
    const struct api_code *c;
};

static int wait_for_code(void *waiting, int pipeline, struct hd_err *err)
{
    struct api_waiting *w = waiting;
    enum rt_tiering wanted = w->s->program->pl->spec->pipelines[pipeline].tiering;
    return rt_tiers_wait(rt_cached_code_tiers(w->c->code), pipeline, wanted, &w->s->cancel.flag, err);
}

/* Code that could not be compiled is nobody's; of what a cancel leaves others may have more use. */
static int drop(struct heddle_statement *s, struct api_code *c)
{
    if (!hd_stopped(&s->cancel.flag))
        rt_code_cache_drop(s->engine->cache, c->code);
    else
        rt_cached_code_release(s->engine->cache, c->code);
    c->code = NULL;
    return -1;
}

/* Threads cannot read what lies on a GPU. */
static int check_tables(const struct rt_spec *spec, struct hd_err *err)
{
    for (int i = 0; i < spec->nargs; i++) {
        const struct fe_table *t = spec->args[i].table;
        if (t && t->device)
            return HD_FAIL(err, UNSUPPORTED, t->name, "the table is in a GPU's memory, which backend cuda alone reads");
    }
    return 0;
}

/* Its first pipeline can begin; the executor waits for the others. */
static int compile(struct heddle_statement *s, struct api_code *c, struct api_times *t, struct hd_err *err)
{
    const struct rt_spec *spec = s->program->pl->spec;
    const struct cg_artifact *a = &c->artifact;
    struct rt_code_source source = {spec, a->bytes, a->size, a->nfunctions, a->functions};
    HD_TRY(check_tables(spec, err));
    HD_TRY(rt_code_cache_get(s->engine->cache, s->engine->thread_pool, s->threads, &source, s->no_cache, &c->code,
                             &t->how, err));
    struct api_waiting w = {s, c};
    for (int i = 0; i < spec->nactions; i++)
        if (spec->actions[i].kind == RT_RUN)
            return wait_for_code(&w, spec->actions[i].index, err) == 0 ? 0 : drop(s, c);
    return 0;
}

static int hand_over(const struct heddle_statement *s, const struct rt_result *r, const struct api_output *out,
                     struct hd_err *err)
{
    uint64_t n;
    const unsigned char *rows = rt_result_rows(r, &n);
    HD_TRY(rt_result_verify(r, err));
    HD_TRY(rt_fragment_rows_new(s->program->pl->spec, out->how, out->rows, err));
    if (rt_fragment_rows_add(*out->rows, s->program->pl->spec, rows, n, err) == 0)
        return 0;
    rt_fragment_rows_free(*out->rows);
    *out->rows = NULL;
    return -1;
}

static int run_program(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
                       const struct api_output *out, struct hd_err *err)
{
    struct rt_result *r = NULL;
    struct api_waiting w = {s, c};
    struct rt_exec_options o = {.threads = s->threads,
                                .profile = c->counts,
                                .thread_pool = s->engine->thread_pool,
                                .memory = &s->engine->memory,
                                .memory_limit = s->memory_limit,
                                .spill = api_may_spill(s),
                                .filed_beyond = api_state_bytes(),
                                .cancel = &s->cancel,
                                .wait_for_code = wait_for_code,
                                .code = &w};
    const struct rt_tier_entries *entries = rt_tiers_entries(rt_cached_code_tiers(c->code));
    int rc = rt_exec_run(s->program->pl->spec, entries, &o, &r, &e->stats, err);
    e->times.compile += e->stats.code_ms;
    if (rc != 0)
        return -1;
    double start = api_now_ms();
    rt_result_rows(r, &e->rows);
    e->bytes = e->rows * (uint64_t)s->program->pl->spec->states[s->program->pl->spec->result_state].stride;
    if (out && out->rows)
        rc = hand_over(s, r, out, err);
    else if (out)
        rc = rt_result_stream(r, out->stream, err);
    rt_result_free(r);
    e->times.result = api_now_ms() - start;
    return rc;
}

/* What it is expected to take of a limit that somebody has set; what does not fit spills, or is an error. */
static uint64_t share_of(const struct heddle_statement *s)
{
    uint64_t limit = s->db->context->memory_limit, most = s->memory_limit ? HD_MIN(limit, s->memory_limit) : limit;
    double bytes = s->program->state_bytes;
    return bytes < (double)most ? (uint64_t)bytes : most;
}

static int run_in_turn(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
                       const struct api_output *out, struct hd_err *err)
{
    struct rt_admission *a = &s->engine->admission;
    uint64_t share = share_of(s);
    if (!s->db->context->memory_wanted || s->is_part)
        return run_program(s, c, e, out, err);
    HD_TRY(rt_admission_enter(a, share, &s->cancel, &e->times.wait, err));
    int rc = run_program(s, c, e, out, err);
    rt_admission_leave(a, share);
    return rc;
}

/* What comes next finds optimised code, whatever this execution ended in, unless nobody wants it. */
static int run(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
               const struct api_output *out, struct hd_err *err)
{
    struct rt_tiers *t = rt_cached_code_tiers(c->code);
    int rc = run_in_turn(s, c, e, out, err);
    if (!hd_stopped(&s->cancel.flag))
        rt_tiers_settle(t, s->program->pl->spec, s->engine->thread_pool, s->threads);
    return rc;
}

static struct rt_memory_model memory(struct heddle_statement *s)
{
    enum { LINE = 64 };
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return (struct rt_memory_model){.sector = LINE,
                                    .cache = cache > 0 ? (double)cache : 0,
                                    .bandwidth = rt_stream_bandwidth(s->engine->thread_pool, s->threads)};
}

/* Of the program that ran: none once other values are bound. */
static const struct api_code *code_of(const struct heddle_statement *s)
{
    return s->program && s->program->plain.code ? &s->program->plain : NULL;
}

static void report(struct hd_strbuf *b, const struct heddle_statement *s)
{
    struct rt_tiers_about about;
    hd_strbuf_addf(b, ",\"threads\":%d", s->timed.stats.threads);
    if (!code_of(s))
        return;
    rt_tiers_tell(rt_cached_code_tiers(code_of(s)->code), &about);
    hd_strbuf_addf(b, ",\"optimised\":\"%s\"", rt_optimised_name(about.optimised));
    if (!*about.problem)
        return;
    hd_strbuf_adds(b, ",\"optimise_error\":");
    hd_strbuf_add_json(b, about.problem, strlen(about.problem));
}

static void add_ms(struct hd_strbuf *b, const char *name, double ms)
{
    if (ms >= 0)
        hd_strbuf_addf(b, ",\"%s\":%.3f", name, ms);
}

static void report_pipeline(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    const struct rt_pipeline_stats *st = &s->timed.stats.pipelines[i];
    hd_strbuf_addf(b, ",\"tiers\":{\"first_morsels\":%llu,\"optimised_morsels\":%llu",
                   (unsigned long long)st->morsels[RT_TIER_FIRST], (unsigned long long)st->morsels[RT_TIER_OPTIMISED]);
    add_ms(b, "swap_ms", st->swap_ms);
    if (code_of(s)) {
        struct rt_tiers *t = rt_cached_code_tiers(code_of(s)->code);
        add_ms(b, "first_compile_ms", rt_tiers_ms(t, i, RT_TIER_FIRST));
        add_ms(b, "optimised_compile_ms", rt_tiers_ms(t, i, RT_TIER_OPTIMISED));
    }
    hd_strbuf_adds(b, "}");
}

/* ---- explain --------------------------------------------------------------------------- */

static int show_llvm(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(false);
    HD_TRY(api_program_emit(s, err));
    return cg_llvm_print(out, s->program->pl, &o, err);
}

/* Bitcode of the program, also where it runs on something else. */
static int bitcode(struct heddle_statement *s, struct cg_artifact *out, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(false);
    HD_TRY(api_program_emit(s, err));
    *out = s->program->plain.artifact;
    return out->bytes ? 0 : cg_llvm_emit(&s->program->arena, s->program->pl, &o, out, err);
}

static int show_compiled(struct heddle_statement *s, enum rt_llvm_text what, struct hd_strbuf *out, struct hd_err *err)
{
    char *text;
    struct cg_artifact art;
    HD_TRY(bitcode(s, &art, err));
    HD_TRY(rt_code_print(s->engine->thread_pool, &s->cancel.flag, art.bytes, art.size, what, &text, err));
    hd_strbuf_adds(out, text);
    free(text);
    return 0;
}

static int show_llvm_opt(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    return show_compiled(s, RT_LLVM_IR_OPTIMISED, out, err);
}

static int show_asm(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    return show_compiled(s, RT_LLVM_ASM, out, err);
}

static const struct api_stage stages[] = {{"llvm", show_llvm}, {"llvm-opt", show_llvm_opt}, {"asm", show_asm}, {0}};

/* ---- of a context ---------------------------------------------------------------------- */

static int open_engine(const heddle_context *c, struct api_engine *e, struct hd_err *err)
{
    HD_TRY(rt_code_cache_new(heddle_version(), c->cache_dir, c->cache_limit, &e->cache, err));
    rt_code_warm(e->thread_pool); /* while the first statement is read and planned */
    return 0;
}

static void quit_engine(struct api_engine *e)
{
    rt_code_cache_quit(e->cache);
}

static void close_engine(struct api_engine *e)
{
    rt_code_cache_free(e->cache);
}

static void info(struct hd_strbuf *b)
{
    hd_strbuf_addf(b, ", \"llvm\": \"%s\", \"llvm_target\": \"%s\"", rt_llvm_version(), rt_llvm_cpu());
}

const struct api_backend api_backend_cpu = {
    .name = "cpu",
    .side = PL_CPU,
    .emit = emit,
    .compiled = compiled,
    .compile = compile,
    .run = run,
    .release = release,
    .report = report,
    .report_pipeline = report_pipeline,
    .memory = memory,
    .stages = stages,
    .open_engine = open_engine,
    .quit_engine = quit_engine,
    .close_engine = close_engine,
    .info = info,
};
