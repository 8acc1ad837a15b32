/* The CPU: LLVM bitcode, compiled in the process, on the statement's threads. */
#include <stdlib.h>
#include <unistd.h>

#include "api/api_backend.h"
#include "runtime/base/guard.h"
#include "runtime/exec/bandwidth.h"

static bool available(struct heddle_statement *s HD_UNUSED)
{
    return true;
}

static int emit(struct api_program *p, struct api_code *c, const struct cg_options *o, struct hd_err *err)
{
    return cg_llvm_emit(&p->arena, p->pl, o, &c->artifact, err);
}

static int find_entries(struct api_program *p, struct api_code *c, struct hd_err *err)
{
    const struct rt_spec *spec = p->pl->spec;
    c->entries = HD_NEWN(&p->arena, struct rt_entries, spec->npipelines);
    for (int i = 0; i < spec->npipelines; i++) {
        const struct rt_pipeline *r = &spec->pipelines[i];
        hd_poll();
        void *f = rt_cached_code_find(c->code, r->entry, err);
        if (!f)
            return -1;
        c->entries[i].entry = (rt_entry_fn)(uintptr_t)f;
        for (int l = 0; l < RT_MAX_LEVELS; l++) {
            if (!r->level_entry[l])
                continue;
            f = rt_cached_code_find(c->code, r->level_entry[l], err);
            if (!f)
                return -1;
            c->entries[i].level[l] = (rt_level_fn)(uintptr_t)f;
        }
    }
    return 0;
}

static bool compiled(struct heddle_statement *s HD_UNUSED, struct api_code *c)
{
    return c->code != NULL;
}

static void release(struct heddle_statement *s, struct api_code *c)
{
    rt_cached_code_release(s->engine->cache, c->code);
    c->code = NULL;
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

static int compile(struct heddle_statement *s, struct api_code *c, struct api_times *t, struct hd_err *err)
{
    HD_TRY(check_tables(s->program.pl->spec, err));
    HD_TRY(rt_code_cache_get(s->engine->cache, s->engine->thread_pool, s->threads, &s->cancel.flag, c->artifact.bytes,
                             c->artifact.size, s->no_cache, &c->code, &t->how, err));
    int rc;
    HD_GUARDED(rc, &s->cancel.flag, err, find_entries(&s->program, c, err));
    if (rc != 0)
        release(s, c);
    return rc;
}

static int run(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
               const struct api_output *out, struct hd_err *err)
{
    struct rt_result *r = NULL;
    struct rt_exec_options o = {.threads = s->threads,
                                .profile = c->counts,
                                .thread_pool = s->engine->thread_pool,
                                .memory = &s->engine->memory,
                                .memory_limit = s->memory_limit,
                                .spill = api_may_spill(s),
                                .filed_beyond = api_state_bytes(),
                                .cancel = &s->cancel};
    HD_TRY(rt_exec_run(s->program.pl->spec, c->entries, &o, &r, &e->stats, err));
    double start = api_now_ms();
    int rc = out ? rt_result_stream(r, out->stream, err) : 0;
    rt_result_free(r);
    e->times.result = api_now_ms() - start;
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

static void report(struct hd_strbuf *b, const struct heddle_statement *s)
{
    hd_strbuf_addf(b, ",\"threads\":%d", s->timed.stats.threads);
}

/* ---- explain --------------------------------------------------------------------------- */

static int show_llvm(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(false);
    HD_TRY(api_program_emit(s, err));
    return cg_llvm_print(out, s->program.pl, &o, err);
}

/* Bitcode of the program, also where it runs on something else. */
static int bitcode(struct heddle_statement *s, struct cg_artifact *out, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(false);
    HD_TRY(api_program_emit(s, err));
    *out = s->program.plain.artifact;
    return out->bytes ? 0 : cg_llvm_emit(&s->program.arena, s->program.pl, &o, out, err);
}

static int show_compiled(struct heddle_statement *s, enum rt_orc_text what, struct hd_strbuf *out, struct hd_err *err)
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
    return show_compiled(s, RT_ORC_IR_OPTIMISED, out, err);
}

static int show_asm(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    return show_compiled(s, RT_ORC_ASM, out, err);
}

static const struct api_stage stages[] = {{"llvm", show_llvm}, {"llvm-opt", show_llvm_opt}, {"asm", show_asm}, {0}};

/* ---- of a context ---------------------------------------------------------------------- */

static int open_engine(const heddle_context *c, struct api_engine *e, struct hd_err *err)
{
    return rt_code_cache_new(heddle_version(), c->cache_dir, c->cache_limit, &e->cache, err);
}

static void close_engine(struct api_engine *e)
{
    rt_code_cache_free(e->cache);
}

static void info(struct hd_strbuf *b)
{
    hd_strbuf_addf(b, ", \"llvm\": \"%s\", \"llvm_target\": \"%s\"", rt_orc_version(), rt_orc_cpu());
}

const struct api_backend api_backend_cpu = {
    .name = "cpu",
    .on_threads = true,
    .available = available,
    .emit = emit,
    .compiled = compiled,
    .compile = compile,
    .run = run,
    .release = release,
    .report = report,
    .memory = memory,
    .stages = stages,
    .open_engine = open_engine,
    .close_engine = close_engine,
    .info = info,
};
