/* Statements from plan text to result stream. The passes, in order:
 *
 *   fe_plan_read       JSON text -> typed plan                         heddle_statement_prepare
 *   fe_plan_bind       parameter values into the plan                  heddle_bind
 *   learn              facts that the plan wants of registered tables  api_statement_plan
 *   pl_plan            typed plan -> pipelines and kernel spec         api_program_emit
 *   emit               pipelines -> bitcode, or CUDA source
 *   compile            either -> code, compiled or cached              compile_program
 *   run                kernel spec + code -> rows -> Arrow             heddle_execute
 *
 * The last three are the backend's (api_backend.h).
 */
#include "api/api_auto.h"
#include "api/api_backend.h"
#include "api/api_facts.h"
#include "api/api_history.h"
#include "api/api_spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/plan_any.h"
#include "planner/residence.h"
#include "runtime/base/fault.h"
#include "runtime/store/store.h"

/* Of HEDDLE_FRAGMENTS. */
enum { FRAGMENTS_MAX = 64 };

double api_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- Prepare --------------------------------------------------------------------------- */

void heddle_statement_options_init_sized(heddle_statement_options *o, size_t struct_size)
{
    api_options_init(o, struct_size);
}

static int choose_backend(struct heddle_statement *s, const char *name, struct hd_err *err)
{
    HD_TRY(api_backend_check(name, err));
    s->backend = api_backend_named(name);
    s->automatic.on = !s->backend;
    if (s->automatic.on)
        s->backend = api_backend_of(PL_CPU);
    snprintf(s->why, sizeof s->why, "%s",
             strcmp(name, s->backend->name) == 0 ? "asked for" : "this build has no other backend");
    return 0;
}

static int choose_balance(struct heddle_statement *s, const char *wanted, struct hd_err *err)
{
    int found = rt_balance_find(wanted ? wanted : "auto");
    if (found < 0)
        return HD_FAIL(err, USER, NULL, "balance: expected %s, found \"%s\"", rt_balance_list(), wanted);
    s->balance = (enum rt_balance)found;
    return 0;
}

/* A profile is of the code that further executions run. */
static int choose_tier(struct heddle_statement *s, const char *wanted, struct hd_err *err)
{
    static const char *const names[] = {
#define X(id, name) [PL_TIER_##id] = name,
        PL_TIERS(X)
#undef X
    };
    s->tier = s->profile ? PL_TIER_OPTIMISED : PL_TIER_AUTO;
    for (size_t i = 0; wanted && i < HD_COUNT(names); i++)
        if (strcmp(wanted, names[i]) == 0) {
            s->tier = (enum pl_tier)i;
            return 0;
        }
    return wanted ? HD_FAIL(err, USER, NULL, "tier: expected auto, first or optimised, found \"%s\"", wanted) : 0;
}

static int copy_options(struct heddle_statement *s, const heddle_statement_options *from, struct hd_err *err)
{
    const heddle_context *c = s->db->context;
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    HD_TRY(api_copy_options("heddle_statement_options", &o, sizeof o, from, err));
    HD_TRY(choose_backend(s, o.backend ? o.backend : c->backend, err));
    HD_TRY(choose_balance(s, o.balance, err));
    if (o.threads < 0 || o.threads > 1024)
        return HD_FAIL(err, USER, NULL, "threads: expected 0 to 1024, found %d", o.threads);
    s->threads = o.threads ? o.threads : c->threads;
    s->memory_limit = o.memory_limit;
    s->fws_threshold = o.fws_threshold;
    if (o.gpu_block > HDD_BLOCK_WARPS_ASKED)
        return HD_FAIL(err, USER, NULL, "gpu_block: expected 0 to %d, found %u", HDD_BLOCK_WARPS_ASKED, o.gpu_block);
    s->gpu_warps = o.gpu_warps;
    s->gpu_block = o.gpu_block;
    s->profile = o.profile != 0;
    s->no_cache = o.no_cache != 0;
    s->automatic.deterministic = o.deterministic != 0;
    if (o.segment < 0 || o.segment > FE_MAX_SEGMENTS)
        return HD_FAIL(err, USER, NULL, "segment: expected 0 to %d, found %d", FE_MAX_SEGMENTS, o.segment);
    s->segment = o.segment;
    return choose_tier(s, o.tier ? o.tier : secure_getenv("HEDDLE_TIER"), err);
}

static int new_statement(heddle_database *db, const heddle_statement_options *o, struct heddle_statement **out,
                         struct hd_err *err)
{
    double start = api_now_ms();
    struct heddle_statement *s = calloc(1, sizeof *s);
    if (!s)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    s->db = db;
    hd_arena_init(&s->arena);
    rt_cancel_init(&s->cancel);
    rt_exec_stats_init(&s->timed.stats);
    rt_exec_stats_init(&s->counted.stats);
    int rc = api_engine_get(db->context, &s->engine, err);
    if (rc == 0)
        rc = copy_options(s, o, err);
    s->read_ms = api_now_ms() - start;
    if (rc == 0)
        *out = s;
    else
        heddle_statement_free(s);
    return rc;
}

int heddle_statement_new(heddle_database *db, const heddle_statement_options *o, heddle_statement **out,
                         heddle_error **err)
{
    struct hd_err e;
    API_NEED(db, err);
    API_NEED(out, err);
    hd_err_init(&e);
    return api_finish(new_statement(db, o, out, &e), &e, err);
}

/* A plan as it came: JSON text of Heddle's own, or bytes of a form that is to be found out. */
struct plan_bytes {
    const void *bytes;
    size_t size; /* of a text: 0 */
    bool any;
};

static int read_bytes(struct heddle_statement *s, struct plan_bytes p, struct fe_plan **plan, struct hd_err *err)
{
    const struct fe_catalog *cat = &s->tables->cat;
    s->source_size = p.any ? p.size : strlen(p.bytes);
    s->source = hd_dup(&s->arena, p.bytes, s->source_size);
    return p.any ? fe_plan_read_any(&s->arena, p.bytes, p.size, cat, plan, err)
                 : fe_plan_read(&s->arena, p.bytes, cat, plan, err);
}

/* The tables are those of the database now; of some the segment that is asked for. */
static int use_tables(struct heddle_statement *s, struct hd_err *err)
{
    s->tables = api_database_snapshot(s->db);
    if (!s->segment)
        return 0;
    struct api_snapshot *whole = s->tables;
    int most = 0;
    for (int i = 0; i < whole->cat.ntables; i++)
        most = HD_MAX(most, whole->cat.tables[i]->nsegments);
    if (s->segment > most)
        return HD_FAIL(err, USER, NULL, "segment %d: tables have %d segments", s->segment, most);
    s->tables = api_snapshot_segment(whole, s->segment - 1);
    api_snapshot_release(whole);
    return s->tables ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory");
}

static int read_plan(struct heddle_statement *s, struct plan_bytes p, struct hd_err *err)
{
    int rc;
    struct fe_plan *plan = NULL;
    double start = api_now_ms();
    HD_TRY(use_tables(s, err));
    HD_GUARDED(rc, &s->cancel.flag, err, read_bytes(s, p, &plan, err));
    s->read_ms += api_now_ms() - start;
    if (rc == 0) {
        s->plan = plan;
        api_spread_prepare(s);
        s->automatic.key = api_history_key(s->db, p.bytes, p.any ? p.size : strlen(p.bytes));
        return 0;
    }
    hd_arena_release(&s->arena);
    api_snapshot_release(s->tables);
    s->tables = NULL;
    return -1;
}

static int prepare(struct heddle_statement *s, struct plan_bytes p, struct hd_err *err)
{
    if (s->plan)
        return HD_FAIL(err, USER, NULL, "the statement is prepared already");
    return read_plan(s, p, err);
}

int heddle_statement_prepare(heddle_statement *s, const char *plan_json, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(plan_json, err);
    hd_err_init(&e);
    return api_statement_finish(s, prepare(s, (struct plan_bytes){plan_json, 0, false}, &e), &e, err);
}

int heddle_statement_prepare_plan(heddle_statement *s, const void *plan, size_t size, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(plan, err);
    hd_err_init(&e);
    return api_statement_finish(s, prepare(s, (struct plan_bytes){plan, size, true}, &e), &e, err);
}

static int new_prepared(heddle_database *db, struct plan_bytes p, const heddle_statement_options *o,
                        heddle_statement **out, heddle_error **err)
{
    struct hd_err e;
    struct heddle_statement *s;
    hd_err_init(&e);
    int rc = new_statement(db, o, &s, &e);
    if (rc == 0 && (rc = prepare(s, p, &e)) != 0)
        heddle_statement_free(s);
    if (rc == 0)
        *out = s;
    return api_finish(rc, &e, err);
}

int heddle_prepare(heddle_database *db, const char *plan_json, const heddle_statement_options *o,
                   heddle_statement **out, heddle_error **err)
{
    API_NEED(db, err);
    API_NEED(plan_json, err);
    API_NEED(out, err);
    return new_prepared(db, (struct plan_bytes){plan_json, 0, false}, o, out, err);
}

int heddle_prepare_plan(heddle_database *db, const void *plan, size_t size, const heddle_statement_options *o,
                        heddle_statement **out, heddle_error **err)
{
    API_NEED(db, err);
    API_NEED(plan, err);
    API_NEED(out, err);
    return new_prepared(db, (struct plan_bytes){plan, size, true}, o, out, err);
}

static int prepare_part(struct heddle_statement *s, const char *plan, const char *values, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, &s->cancel.flag, err, read_bytes(s, (struct plan_bytes){plan, 0, false}, &s->plan, err));
    if (rc == 0 && values)
        HD_GUARDED(rc, &s->cancel.flag, err, fe_plan_bind_json(s->plan, values, err));
    return rc;
}

int api_statement_part(const struct heddle_statement *s, const struct api_statement_of_part *of,
                       struct api_snapshot *tables, const char *plan, const char *values, struct heddle_statement **out,
                       struct hd_err *err)
{
    struct heddle_statement *part = hd_try_calloc(1, sizeof *part);
    if (!part) {
        api_snapshot_release(tables);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    }
    *part = (struct heddle_statement){.db = s->db,
                                      .engine = s->engine,
                                      .tables = tables,
                                      .backend = of->backend,
                                      .balance = s->balance,
                                      .tier = s->tier,
                                      .fws_threshold = s->fws_threshold,
                                      .gpu_warps = s->gpu_warps,
                                      .gpu_block = s->gpu_block,
                                      .threads = of->threads,
                                      .slot = of->slot,
                                      .is_part = true,
                                      .slices = of->slices,
                                      .state_bytes = of->state_bytes,
                                      .memory_limit = s->memory_limit,
                                      .no_cache = s->no_cache};
    hd_arena_init(&part->arena);
    rt_cancel_init(&part->cancel);
    rt_exec_stats_init(&part->timed.stats);
    rt_exec_stats_init(&part->counted.stats);
    if (prepare_part(part, plan, values, err) != 0) {
        heddle_statement_free(part);
        return -1;
    }
    *out = part;
    return 0;
}

int api_statement_ready(const struct heddle_statement *s, struct hd_err *err)
{
    return s->plan ? 0 : HD_FAIL(err, USER, NULL, "the statement has no plan: prepare it");
}

int api_statement_finish(struct heddle_statement *s, int rc, struct hd_err *e, heddle_error **out)
{
    if (rc != 0 && e->class == HD_ERR_CANCELLED)
        rt_cancel_reset(&s->cancel);
    return api_finish(rc, e, out);
}

static struct api_program *program_new(const struct heddle_statement *s, const struct api_backend *b)
{
    struct api_program *p = hd_try_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    atomic_init(&p->refs, 1);
    p->backend = b;
    p->engine = s->engine;
    p->slot = s->slot;
    p->tables = s->tables;
    atomic_fetch_add(&p->tables->refs, 1);
    hd_arena_init(&p->arena);
    return p;
}

void api_program_leave(struct api_program *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
        return;
    p->backend->release(p, &p->plain);
    p->backend->release(p, &p->counted);
    hd_arena_release(&p->arena);
    api_snapshot_release(p->tables);
    free(p);
}

/* What the last execution tells is about a program that goes, or is not the present one any more. */
static void forget_execution(struct heddle_statement *s)
{
    s->stats_spec = NULL;
    s->has_counts = false;
}

void api_statement_release_programs(struct heddle_statement *s)
{
    forget_execution(s);
    api_spread_free(s->spread);
    s->spread = NULL;
    s->program = NULL;
    for (int i = 0; i < PL_SIDES; i++) {
        api_program_leave(s->programs[i]);
        s->programs[i] = NULL;
    }
}

void heddle_statement_free(heddle_statement *s)
{
    if (!s)
        return;
    api_statement_release_programs(s);
    rt_exec_stats_release(&s->timed.stats);
    rt_exec_stats_release(&s->counted.stats);
    rt_cancel_release(&s->cancel);
    hd_arena_release(&s->arena);
    api_snapshot_release(s->tables);
    free(s);
}

/* ---- Bind ------------------------------------------------------------------------------ */

static int bind_one(struct heddle_statement *s, const char *name, const char *value, struct hd_err *err)
{
    int rc;
    HD_TRY(api_statement_ready(s, err));
    api_statement_release_programs(s); /* it was planned for the old values */
    HD_GUARDED(rc, &s->cancel.flag, err, fe_plan_bind(s->plan, name, value, err));
    return rc;
}

int heddle_bind(heddle_statement *s, const char *name, const char *value, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(name, err);
    hd_err_init(&e);
    return api_statement_finish(s, bind_one(s, name, value, &e), &e, err);
}

static int bind_json(struct heddle_statement *s, const char *json, struct hd_err *err)
{
    int rc;
    HD_TRY(api_statement_ready(s, err));
    api_statement_release_programs(s);
    HD_GUARDED(rc, &s->cancel.flag, err, fe_plan_bind_json(s->plan, json, err));
    return rc;
}

int heddle_bind_json(heddle_statement *s, const char *json, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(json, err);
    hd_err_init(&e);
    return api_statement_finish(s, bind_json(s, json, &e), &e, err);
}

uint64_t api_state_bytes(void)
{
    const char *text = secure_getenv("HEDDLE_STATE_BYTES");
    return text ? (uint64_t)HD_MAX(atoll(text), 1) : 0;
}

bool api_may_spill(const struct heddle_statement *s)
{
    const heddle_context *c = s->db->context;
    return c->temp_dir && (c->temp_given || c->memory_wanted || s->memory_limit || api_state_bytes());
}

/* That a plan's states may take before they spill; 0: they never do. */
static double state_memory(const struct heddle_statement *s)
{
    uint64_t limit = s->db->context->memory_limit, asked = api_state_bytes();
    if (asked)
        limit = HD_MIN(limit, asked);
    if (s->memory_limit)
        limit = HD_MIN(limit, s->memory_limit);
    return api_may_spill(s) ? (double)limit : 0;
}

/* ---- Plan, emit, compile --------------------------------------------------------------- */

/* For tests: with 1 all pipelines take the way of those that are too large for one function. */
static int frame_weight(void)
{
    const char *text = secure_getenv("HEDDLE_FRAME_WEIGHT");
    return text ? atoi(text) : 0;
}

/* For tests: tables of more bytes are built and looked at in parts. */
static double cached_bytes(void)
{
    const char *text = secure_getenv("HEDDLE_CACHED_BYTES");
    return text ? HD_MAX(atof(text), 1.0) : 0;
}

/* For tests: of copies of bitmaps in shared memory. */
static int block_bits(void)
{
    const char *text = secure_getenv("HEDDLE_BLOCK_BITS");
    return text ? HD_MAX(atoi(text), 8) : 0;
}

/* For tests: log2 of the rows that sums in a shared word of a GPU's thread have room for. */
static int lane_room(void)
{
    const char *text = secure_getenv("HEDDLE_LANE_ROOM");
    return text ? HD_MIN(HD_MAX(atoi(text), PL_LANE_ROOM_LEAST), PL_LANE_ROOM_MOST) : 0;
}

/* For tests: into so many fragments each pipeline is split, which then go to two devices in turns. */
static int fragments(void)
{
    const char *text = secure_getenv("HEDDLE_FRAGMENTS");
    return text ? HD_MIN(HD_MAX(atoi(text), 1), FRAGMENTS_MAX) : 1;
}

/* For tests: code of both tiers takes turns, each time for so many morsels. */
static int turn_morsels(void)
{
    const char *text = secure_getenv("HEDDLE_TIER_TURNS");
    return text ? HD_MAX(atoi(text), 1) : 0;
}

/* For comparisons: with `off` scans visit all zones of tables. */
static bool no_zones(void)
{
    const char *text = secure_getenv("HEDDLE_ZONES");
    return text && strcmp(text, "off") == 0;
}

static int emit_code(struct api_program *p, struct api_code *c, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(c->counts);
    double start = api_now_ms();
    HD_TRY(p->backend->emit(p, c, &o, err));
    c->codegen_ms = api_now_ms() - start;
    c->emitted = true;
    return 0;
}

static int plan(struct heddle_statement *s, struct api_program *p, struct hd_err *err)
{
    bool gpu = p->backend->side == PL_GPU;
    struct pl_options po = {.profile = s->profile,
                            .frame_weight = frame_weight(),
                            .fragments = s->is_part ? 1 : fragments(),
                            .devices = 2,
                            .no_zones = no_zones(),
                            .slices = s->slices,
                            .cached_bytes = cached_bytes(),
                            .block_bits = block_bits(),
                            .lane_room = lane_room(),
                            .memory_bytes = gpu ? s->state_bytes : state_memory(s),
                            .on_gpu = gpu,
                            .threads = gpu ? 1 : s->threads,
                            .balance = s->balance,
                            .tier = s->tier,
                            .turn_morsels = turn_morsels(),
                            .gpu_block_warps = (int)s->gpu_block,
                            .touch_dict = rt_store_touch_dict,
                            .touch = rt_store_touch};
    double start = api_now_ms();
    HD_TRY(fe_plan_check_bound(s->plan, err));
    HD_TRY(pl_plan(&p->arena, s->plan, &po, &p->pl, err));
    if (p->backend->place)
        HD_TRY(p->backend->place(s, p, err));
    p->state_bytes = pl_states_peak(p->pl);
    p->plan_ms = s->read_ms + api_now_ms() - start;
    s->read_ms = 0;
    return 0;
}

int api_statement_plan(struct heddle_statement *s, enum pl_side side, struct hd_err *err)
{
    int rc;
    if (s->programs[side])
        return 0;
    if (s->segments)
        return api_spread_refuse(s, err);
    HD_TRY(api_statement_learn(s, err));
    struct api_program *p = program_new(s, api_backend_of(side));
    if (!p)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a program");
    HD_GUARDED(rc, &s->cancel.flag, err, plan(s, p, err));
    if (rc != 0)
        api_program_leave(p);
    else
        s->programs[side] = p;
    return rc;
}

int api_statement_emit(struct heddle_statement *s, struct api_program *p, struct hd_err *err)
{
    int rc = 0;
    if (!p->plain.emitted)
        HD_GUARDED(rc, &s->cancel.flag, err, emit_code(p, &p->plain, err));
    return rc;
}

void api_statement_use(struct heddle_statement *s, enum pl_side side)
{
    if (s->program == s->programs[side])
        return;
    if (s->program) { /* a report would ask the other backend about it */
        forget_execution(s);
        s->executed = false;
    }
    s->program = s->programs[side];
    s->backend = s->program->backend;
}

int api_statement_column(const struct heddle_statement *s, const char *name)
{
    const struct fe_node *root = s->plan->root;
    for (int i = 0; i < root->ncols; i++)
        if (strcmp(root->cols[i].name, name) == 0)
            return i;
    HD_BUG("no column %s", name);
}

int api_statement_plan_here(struct heddle_statement *s, struct hd_err *err)
{
    HD_TRY(api_statement_plan(s, s->backend->side, err));
    api_statement_use(s, s->backend->side);
    return 0;
}

int api_program_emit(struct heddle_statement *s, struct hd_err *err)
{
    HD_TRY(api_statement_ready(s, err));
    if (!s->program)
        HD_TRY(s->automatic.on ? api_auto_choose(s, false, err) : api_statement_plan_here(s, err));
    return api_statement_emit(s, s->program, err);
}

/* Compiles the code, or finds it compiled. */
static int compile_code(struct heddle_statement *s, struct api_code *c, struct api_times *t, struct hd_err *err)
{
    *t = (struct api_times){.how = RT_CACHED_MEMORY};
    if (!s->backend->compiled(s, c)) {
        double start = api_now_ms();
        HD_TRY(s->backend->compile(s, c, t, err));
        t->compile = api_now_ms() - start - t->open;
    }
    t->codegen = c->codegen_ms;
    c->codegen_ms = 0;
    return hd_stopped(&s->cancel.flag) ? HD_FAIL(err, CANCELLED, NULL, "cancelled") : 0;
}

/* ---- Execute --------------------------------------------------------------------------- */

static int run_code(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
                    const struct api_output *out, struct hd_err *err)
{
    int rc = s->backend->run(s, c, e, out, err);
    e->times.transfer = e->stats.transfer_ms;
    e->times.execute = e->stats.execute_ms;
    return rc;
}

/* Rows are counted once for a program, before anything is timed: the timed execution then finds columns, memory and
 * caches as any further one does. */
static int count(struct heddle_statement *s, struct hd_err *err)
{
    struct api_program *p = s->program;
    p->counted.counts = true;
    if (!p->counted.emitted) {
        int rc;
        HD_GUARDED(rc, &s->cancel.flag, err, emit_code(p, &p->counted, err));
        if (rc != 0)
            return -1;
    }
    HD_TRY(compile_code(s, &p->counted, &s->counted.times, err));
    HD_TRY(run_code(s, &p->counted, &s->counted, NULL, err));
    s->memory = s->backend->memory(s);
    s->has_counts = true;
    return 0;
}

int api_statement_execute(struct heddle_statement *s, const struct api_output *out, struct hd_err *err)
{
    struct api_times *t = &s->timed.times;
    HD_TRY(api_program_emit(s, err));
    struct api_program *p = s->program;
    bool counts = s->profile && !s->has_counts;
    if (counts)
        HD_TRY(count(s, err));
    HD_TRY(compile_code(s, &p->plain, t, err));
    t->facts = s->facts_ms;
    s->facts_ms = 0;
    t->plan = p->plan_ms;
    p->plan_ms = 0;
    int rc = run_code(s, &p->plain, &s->timed, out, err);
    if (counts) { /* it met what was to be opened and brought */
        t->open += s->counted.times.open;
        t->wait += s->counted.times.wait;
        t->transfer += s->counted.times.transfer;
    }
    s->stats_spec = p->pl->spec;
    s->executed = true;
    if (s->spread) /* this one was on one GPU */
        s->spread->executed = false;
    return rc;
}

int heddle_execute(heddle_statement *s, struct ArrowArrayStream *out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(out, err);
    hd_err_init(&e);
    return api_statement_finish(s, api_auto_execute(s, api_spread_or_execute, out, &e), &e, err);
}

void heddle_statement_cancel(heddle_statement *s)
{
    if (s)
        rt_cancel_fire(&s->cancel);
}
