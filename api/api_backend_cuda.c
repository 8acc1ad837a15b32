/* A GPU: CUDA source, compiled by NVRTC, on the context's device. */
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_background.h"
#include "api/api_gpu.h"
#include "planner/residence.h"
#include "runtime/exec/fragment_rows.h"
#include "runtime/exec/rows_out.h"
#include "runtime/gpu/gpu_sent.h"
#include "runtime/gpu/gpu_warm.h"

/* ---- what of tables is resident ---------------------------------------------------------- */

/* For tests: as if resident columns had so many bytes. */
static double column_bytes(void)
{
    const char *text = secure_getenv("HEDDLE_COLUMN_BYTES");
    return text ? HD_MAX(atof(text), 0.0) : -1;
}

/* For tests: rows of a chunk. */
static uint64_t chunk_rows(void)
{
    const char *text = secure_getenv("HEDDLE_CHUNK_ROWS");
    return text ? (uint64_t)HD_MAX(atoll(text), 0) : 0;
}

static int place_in(struct api_program *p, uint64_t memory)
{
    struct pl_residence r = {.memory = (double)memory, .columns = column_bytes(), .chunk_rows = chunk_rows()};
    if (p->placed && p->placed_for == memory)
        return 0;
    pl_place_columns(p->pl, &r);
    p->placed = true;
    p->placed_for = memory;
    return 0;
}

/* Once for a size of memory: in an execution nothing changes any more, nor behind it, where whoever reads the program has
 * come by here. */
static int place(struct api_program *p, uint64_t memory, const struct hd_stop *stop, struct hd_err *err)
{
    static pthread_mutex_t placing = PTHREAD_MUTEX_INITIALIZER;
    int rc;
    pthread_mutex_lock(&placing);
    HD_GUARDED(rc, stop, err, place_in(p, memory));
    pthread_mutex_unlock(&placing);
    return rc;
}

/* For a limit, or for the memory of a GPU that is open. */
static int place_for(const struct heddle_statement *s, struct api_program *p, struct hd_err *err)
{
    const heddle_context *c = s->db->context;
    struct api_gpu_slot *slot = &s->engine->gpus[0];
    uint64_t limit = c->device_memory ? c->device_memory : c->memory_wanted;
    if (atomic_load(&slot->state) == API_GPU_OPEN)
        limit = rt_gpu_memory(slot->gpu);
    return limit || column_bytes() >= 0 ? place(p, limit, &s->cancel.flag, err) : 0;
}

/* ---- emit, compile, run ---------------------------------------------------------------- */

static int count(void)
{
    return api_gpu_count();
}

static double link_of(const int *devices, int n)
{
    return api_gpu_link(devices, n);
}

/* Or it could not be opened. */
static bool lost(struct api_engine *e, int slot)
{
    enum api_gpu_state state = atomic_load(&e->gpus[slot].state);
    return state == API_GPU_NONE || (state == API_GPU_OPEN && rt_gpu_is_lost(e->gpus[slot].gpu));
}

static uint64_t room(const heddle_context *c, struct api_engine *e, int slot)
{
    bool open = atomic_load(&e->gpus[slot].state) == API_GPU_OPEN;
    uint64_t limit = c->device_memory ? c->device_memory : c->memory_wanted;
    return open ? rt_gpu_room(e->gpus[slot].gpu) : limit;
}

static int receive(struct heddle_statement *s, int slot, struct rt_gpu_sent *const *from, int n, int part,
                   struct rt_gpu_received_column *column, int ncolumns, struct rt_gpu_columns **out, struct hd_err *err)
{
    struct rt_gpu *gpu;
    HD_TRY(api_gpu_get(s->db->context, s->engine, slot, &gpu, err));
    return rt_gpu_receive(gpu, from, n, part, column, ncolumns, &s->cancel.flag, out, err);
}

static const struct api_exchange_ops exchange = {
    .receive = receive, .give_back = rt_gpu_sent_give_back, .free = rt_gpu_sent_free};

static int emit(struct api_program *p, struct api_code *c, const struct cg_options *o, struct hd_err *err)
{
    return cg_cuda_emit(&p->arena, p->pl, o, &c->cuda, err);
}

/* Devices of the schedule beside the first. */
static int peers_of(const struct api_program *p, const struct api_code *c)
{
    return c->peers ? p->pl->spec->ndevices - 1 : 0;
}

static void release(struct api_program *p, struct api_code *c)
{
    for (int i = 0; i < peers_of(p, c); i++)
        if (c->peers[i].code)
            rt_gpu_code_release(c->peers[i].g, c->peers[i].code);
    rt_gpu_code_release(p->gpu, c->gpu_code);
    c->gpu_code = NULL;
    c->peers = NULL;
}

/* Kernels on a device that was lost since are compiled again, or found in the cache. */
static bool compiled(struct heddle_statement *s, struct api_code *c)
{
    bool valid = c->gpu_code && rt_gpu_code_valid(s->program->gpu, c->gpu_code);
    for (int i = 0; i < peers_of(s->program, c); i++)
        valid = valid && rt_gpu_code_valid(c->peers[i].g, c->peers[i].code);
    if (!c->gpu_code || valid)
        return valid;
    release(s->program, c);
    s->executed = false; /* a report would ask about them */
    return false;
}

static int get_kernels(struct heddle_statement *s, const struct api_code *c, struct rt_gpu *gpu,
                       struct rt_gpu_code **out, struct api_times *t, struct hd_err *err)
{
    return rt_gpu_code_get(gpu, s->program->pl->spec, c->cuda.units, s->engine->thread_pool, s->threads,
                           &s->cancel.flag, s->no_cache ? RT_CODE_FRESH : RT_CODE_RUN, out, &t->how, err);
}

static int new_peers(struct api_program *p, struct api_code *c)
{
    c->peers = HD_NEWN(&p->arena, struct rt_gpu_peer, p->pl->spec->ndevices);
    if (!p->room)
        p->room = HD_NEWN(&p->arena, uint64_t, p->pl->spec->nstates);
    if (!p->seen)
        p->seen = HD_NEWN(&p->arena, uint64_t, p->pl->spec->nstates);
    return 0;
}

static int open_devices(struct heddle_statement *s, struct api_code *c, struct hd_err *err)
{
    struct api_program *p = s->program;
    int rc;
    HD_TRY(api_gpu_get_for(s->db->context, s->engine, p->slot, p, s->threads, s->no_cache, &p->gpu, err));
    HD_GUARDED(rc, &s->cancel.flag, err, new_peers(p, c));
    for (int i = 0; i < peers_of(s->program, c) && rc == 0; i++)
        rc = api_gpu_get(s->db->context, s->engine, (p->slot + i + 1) % RT_MAX_DEVICES, &c->peers[i].g, err);
    return rc;
}

/* An execution is about to begin: optimised kernels that are there take the place of the first tier's, and others are asked
 * for: at first, and after a failure twice. Few threads make them, beside whatever is executed. */
static void optimise(struct heddle_statement *s, const struct api_code *c)
{
    enum { TRIES = 3, PART = 4 };
    struct api_program *p = s->program;
    struct api_optimise *o = &p->optimise;
    if (rt_gpu_code_optimise(p->gpu, c->cuda.units, c->gpu_code) == 0)
        return;
    if (o->state != API_OPTIMISED_UNDERWAY && o->tries < TRIES) {
        o->tries++;
        api_background_optimise(s->engine->background, p, s->db, HD_MAX(s->threads / PART, 1));
    }
}

static int compile(struct heddle_statement *s, struct api_code *c, struct api_times *t, struct hd_err *err)
{
    double start = api_now_ms();
    HD_TRY(open_devices(s, c, err));
    t->open = api_now_ms() - start; /* not 0 for the first query of a context only */
    int rc = place_for(s, s->program, err);
    if (rc == 0)
        rc = get_kernels(s, c, s->program->gpu, &c->gpu_code, t, err);
    for (int i = 0; i < peers_of(s->program, c) && rc == 0; i++)
        rc = get_kernels(s, c, c->peers[i].g, &c->peers[i].code, t, err);
    if (rc != 0)
        release(s->program, c);
    return rc;
}

/* Where rows go: to a stream, or to other fragments. */
struct taker {
    const struct rt_spec *spec;
    struct rt_fragment_rows *rows;
    struct rt_rows_out *out;
};

static int take_rows(void *taker, const unsigned char *rows, uint64_t n, struct hd_err *err)
{
    struct taker *t = taker;
    return t->rows ? rt_fragment_rows_add(t->rows, t->spec, rows, n, err) : rt_rows_out_add(t->out, rows, n, NULL, err);
}

static int new_taker(struct heddle_statement *s, const struct api_output *out, struct taker *t, struct hd_err *err)
{
    const struct rt_rows_options o = {.memory = &s->engine->memory,
                                      .stop = &s->cancel.flag,
                                      .thread_pool = s->engine->thread_pool,
                                      .threads = s->threads};
    *t = (struct taker){.spec = s->program->pl->spec};
    if (out && out->rows)
        return rt_fragment_rows_new(t->spec, out->how, &t->rows, err);
    return out && out->stream ? rt_rows_out_new(t->spec, &o, &t->out, err) : 0;
}

static void free_taker(struct taker *t)
{
    rt_fragment_rows_free(t->rows);
    rt_rows_out_free(t->out);
}

static void hand_over(struct taker *t, const struct api_output *out)
{
    if (t->rows)
        *out->rows = t->rows;
    if (t->out)
        rt_rows_out_finish(t->out, out->stream);
}

static int run(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
               const struct api_output *out, struct hd_err *err)
{
    const struct api_program *p = s->program;
    uint64_t rows;
    struct taker to;
    HD_TRY(new_taker(s, out, &to, err));
    struct rt_gpu_run_options o = {.columns = out ? out->columns : NULL,
                                   .send = out ? out->send : NULL,
                                   .peers = c->peers,
                                   .profile = c->counts,
                                   .timeline = s->profile,
                                   .kernel_times = secure_getenv("HEDDLE_KERNEL_TIMES") != NULL,
                                   .room = p->room,
                                   .seen = p->seen,
                                   .take = to.rows || to.out ? take_rows : NULL,
                                   .taker = &to,
                                   .threads = s->threads,
                                   .thread_pool = s->engine->thread_pool,
                                   .memory_limit = s->memory_limit,
                                   .stop = &s->cancel.flag,
                                   .fws_threshold = s->fws_threshold,
                                   .warps = s->gpu_warps};
    struct rt_admission *turn = &s->engine->gpus[p->slot].admission;
    if (rt_admission_enter(turn, 1, &s->cancel, &e->times.wait, err) != 0) {
        free_taker(&to);
        return -1;
    }
    optimise(s, c); /* nobody executes there now */
    e->first_tier = rt_gpu_code_firsts(c->gpu_code) > 0 && p->optimise.state != API_OPTIMISED_FAILED;
    double start = api_now_ms();
    int rc = rt_gpu_run(p->gpu, p->pl->spec, c->gpu_code, &o, &rows, &e->stats, err);
    rt_admission_leave(turn, 1);
    if (rc != 0) {
        free_taker(&to);
        return -1;
    }
    bool compiled = e->times.how == RT_COMPILED || s->automatic.on; /* behind executions */
    if (compiled && !s->no_cache && rt_gpu_can_warm(p->gpu))
        api_background_warm(s->engine->background, s->backend->late);
    e->rows = out && out->columns ? (*out->columns)->n : out && out->send ? (*out->send->out)->n : rows;
    e->bytes = e->rows * (uint64_t)p->pl->spec->states[p->pl->spec->result_state].stride;
    hand_over(&to, out);
    /* What is neither transfer nor execution: reading the rows back, and giving them a form. */
    e->times.result = api_now_ms() - start - e->stats.transfer_ms - e->stats.execute_ms;
    return 0;
}

/* Memory comes in sectors of 32 bytes, on every generation that NVRTC 12 compiles for. Gathers and atomic additions are
 * those of an H200 (docs/performance.md, "What memory of a GPU gives"), in proportion to the multiprocessors. */
static struct rt_memory_model memory(struct heddle_statement *s)
{
    enum { SECTOR = 32, NEAR_CACHE = 192 << 10 };
    const struct rt_device_info *d = &rt_gpu_device(s->program->gpu)->info;
    double part = d->multiprocessors / 132.0;
    return (struct rt_memory_model){.sector = SECTOR,
                                    .near_cache = NEAR_CACHE,
                                    .cache = (double)d->l2_bytes,
                                    .bandwidth = d->bandwidth,
                                    .gathers = {640e9 * part, 162e9 * part, 43e9 * part},
                                    .atomics = {.near = 103e9 * part, .cached = 16e9 * part, .beyond = 0}};
}

/* ---- report ---------------------------------------------------------------------------- */

static void add_text(struct hd_strbuf *b, const char *key, const char *value)
{
    hd_strbuf_addf(b, ",\"%s\":", key);
    hd_strbuf_add_json(b, value, strlen(value));
}

static const char *cached_name(enum rt_cached how)
{
    switch (how) {
    case RT_COMPILED: return "no";
    case RT_CACHED_DISK: return "disk";
    case RT_CACHED_MEMORY: return "memory";
    }
    HD_BUG("code %d", (int)how);
}

/* Of the fixed kernels and libraries those that were not loaded already. */
static void add_fixed(struct hd_strbuf *b, const struct heddle_statement *s)
{
    const struct rt_exec_stats *st = &s->timed.stats;
    int n;
    const struct rt_gpu_fixed_code *fixed = rt_gpu_code_fixed(s->program->plain.gpu_code, &n);
    hd_strbuf_adds(b, ",\"fixed\":[");
    for (int i = 0; i < n; i++)
        hd_strbuf_addf(b, "%s{\"name\":\"%s\",\"cached\":\"%s\",\"compile_ms\":%.3f}", i ? "," : "", fixed[i].name,
                       cached_name(fixed[i].how), fixed[i].ms);
    hd_strbuf_adds(b, "],\"late\":[");
    for (int i = 0; i < st->nlate; i++)
        hd_strbuf_addf(b, "%s{\"name\":\"%s\",\"ms\":%.3f}", i ? "," : "", st->late[i].name, st->late[i].ms);
    hd_strbuf_adds(b, "]");
}

/* Whether optimised code is there, as on a CPU (runtime/cache/code_tiers.h). */
static void add_optimised(struct hd_strbuf *b, const struct heddle_statement *s)
{
    static const char *const name[] = {[API_OPTIMISED_NO] = "no",
                                       [API_OPTIMISED_UNDERWAY] = "underway",
                                       [API_OPTIMISED_DONE] = "yes",
                                       [API_OPTIMISED_FAILED] = "failed"};
    const struct api_optimise *o = &s->program->optimise;
    bool all = rt_gpu_code_firsts(s->program->plain.gpu_code) == 0;
    enum api_optimised state = all ? API_OPTIMISED_DONE : o->state;
    add_text(b, "optimised", name[state]);
    if (state == API_OPTIMISED_FAILED)
        add_text(b, "optimise_error", o->problem);
}

/* Bytes of tables that each execution is expected to bring over the link, where not all have room; 0: all have. */
static uint64_t link_bytes(const struct rt_spec *spec)
{
    uint64_t all = 0;
    for (int i = 0; i < spec->nargs; i++)
        all += spec->args[i].link_bytes;
    return all;
}

static void report(struct hd_strbuf *b, const struct heddle_statement *s)
{
    const struct rt_gpu *gpu = s->engine->gpus[s->slot].gpu; /* also once other values are bound */
    hd_strbuf_addf(b, ",\"threads\":%d", s->threads);
    if (!gpu)
        return;
    add_text(b, "device", rt_gpu_device(gpu)->info.name);
    const char *trouble = rt_gpu_compiler_trouble(gpu);
    if (trouble && s->timed.times.how == RT_COMPILED)
        add_text(b, "compiler_process_missing", trouble);
    if (s->stats_spec && link_bytes(s->stats_spec))
        hd_strbuf_addf(b, ",\"link_bytes\":%llu", (unsigned long long)link_bytes(s->stats_spec));
    if (s->stats_spec && s->program->plain.gpu_code) {
        hd_strbuf_addf(b, ",\"begun_anew\":%s", s->timed.stats.begun_anew ? "true" : "false");
        add_optimised(b, s);
        add_fixed(b, s);
    }
}

static void add_warps(struct hd_strbuf *b, const struct rt_kernel_stats *k)
{
    hd_strbuf_adds(b, ",\"warps\":[");
    for (int i = 0; i < k->nwarps; i++) {
        const struct rt_warp_stats *w = &k->warps[i];
        hd_strbuf_addf(b,
                       "%s{\"start_us\":%.2f,\"end_us\":%.2f,\"busy_us\":%.2f,"
                       "\"transitions\":%llu,\"waits_us\":[",
                       i ? "," : "", w->start_us, w->end_us, w->busy_us, (unsigned long long)w->transitions);
        for (int j = 0; j < w->nwaits; j++)
            hd_strbuf_addf(b, "%s[%.2f,%.2f]", j ? "," : "", w->waits[j].from, w->waits[j].to);
        hd_strbuf_adds(b, "]}");
    }
    hd_strbuf_adds(b, "]");
}

static void add_balance(struct hd_strbuf *b, const struct rt_kernel_stats *k, int nlevels)
{
    hd_strbuf_addf(b, ",\"iir\":%.4f,\"ilif\":%.3f,\"transitions\":%llu,\"levels\":[", k->iir, k->ilif,
                   (unsigned long long)k->transitions);
    for (int l = 0; l <= nlevels; l++)
        hd_strbuf_addf(b, "%s{\"visits\":%llu,\"idle_lanes\":%llu}", l ? "," : "",
                       (unsigned long long)k->level_visits[l], (unsigned long long)k->level_idle_lanes[l]);
    hd_strbuf_adds(b, "]");
    add_warps(b, k);
}

/* Of what memory could stream while the kernel ran. */
static void add_traffic(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    struct rt_traffic t;
    double could = s->memory.bandwidth * s->timed.stats.pipelines[i].kernel.kernel_ms / 1e3;
    rt_traffic_of(s->stats_spec, i, &s->counted.stats, &s->memory, &t);
    hd_strbuf_addf(b, ",\"bytes\":%.0f", t.bytes);
    if (could > 0)
        hd_strbuf_addf(b, ",\"streaming_fraction\":%.4f", t.bytes / could);
}

static void add_compiled(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    double ms;
    enum rt_cached how = rt_gpu_code_how(s->program->plain.gpu_code, i, &ms);
    hd_strbuf_addf(b, ",\"tier\":\"%s\",\"cached\":%s,\"compile_ms\":%.3f",
                   rt_gpu_code_is_first(s->program->plain.gpu_code, i) ? "first" : "optimised",
                   how == RT_COMPILED ? "false" : "true", ms);
}

static void report_pipeline(struct hd_strbuf *b, const struct heddle_statement *s, int i)
{
    const struct rt_kernel_stats *k = &s->timed.stats.pipelines[i].kernel;
    hd_strbuf_addf(b, ",\"gpu\":{\"retries\":%d,\"balance\":\"%s\"", k->launches - k->runs,
                   rt_balance_name(k->balance));
    if (k->timed)
        hd_strbuf_addf(b, ",\"kernel_ms\":%.4f", k->kernel_ms);
    hd_strbuf_addf(b,
                   ",\"registers\":%d,\"local_bytes\":%u,\"shared_bytes\":%u,\"blocks\":%d,"
                   "\"warps_per_block\":%d,\"occupancy\":%.3f,\"donations\":%llu",
                   k->registers, k->local_bytes, k->shared_bytes, k->blocks, k->warps_per_block, k->occupancy,
                   (unsigned long long)k->donations);
    if (k->chunks)
        hd_strbuf_addf(b, ",\"chunks\":%llu,\"streamed_bytes\":%llu", (unsigned long long)k->chunks,
                       (unsigned long long)k->streamed_bytes);
    add_compiled(b, s, i);
    if (s->has_counts) {
        const struct rt_kernel_stats *counted = &s->counted.stats.pipelines[i].kernel;
        hd_strbuf_addf(b, ",\"counted_kernel_ms\":%.4f", counted->kernel_ms);
        add_traffic(b, s, i);
        add_balance(b, counted, s->stats_spec->pipelines[i].nlevels);
    }
    hd_strbuf_adds(b, "}");
}

/* ---- explain --------------------------------------------------------------------------- */

static int show_cuda(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(false);
    HD_TRY(api_program_emit(s, err));
    return cg_cuda_print(out, s->program->pl, &o, err);
}

static int show_ptx(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    struct cg_options o = api_codegen_options(false);
    struct cg_cuda_artifact art;
    HD_TRY(api_program_emit(s, err));
    HD_TRY(cg_cuda_emit(&s->program->arena, s->program->pl, &o, &art, err));
    return api_gpu_ptx(s->db->context, &art, out, err);
}

static const struct api_stage stages[] = {{"cuda", show_cuda}, {"ptx", show_ptx}, {0}};

/* ---- what is done behind executions ----------------------------------------------------- */

static int open_late(heddle_context *c, struct api_engine *e, struct hd_err *err)
{
    struct rt_gpu *gpu;
    return api_gpu_get(c, e, 0, &gpu, err);
}

static uint64_t bytes(const struct api_program *p)
{
    return rt_gpu_table_bytes(p->pl->spec);
}

static enum pl_code code_of(enum rt_cached where)
{
    switch (where) {
    case RT_COMPILED: return PL_CODE_ABSENT;
    case RT_CACHED_DISK: return PL_CODE_STORED;
    case RT_CACHED_MEMORY: return PL_CODE_LOADED;
    }
    HD_BUG("code %d", (int)where);
}

static bool look(struct api_engine *e, struct api_program *p, struct pl_choice_in *in, bool *fits)
{
    struct rt_gpu_ready r;
    struct rt_gpu *gpu = e->gpus[0].gpu;
    in->bandwidth = rt_gpu_device(gpu)->info.bandwidth;
    if (place(p, rt_gpu_memory(gpu), NULL, NULL) != 0 || !rt_gpu_look(gpu, p->pl->spec, p->plain.cuda.units, &r))
        return false;
    in->code[PL_GPU] = code_of(r.code);
    in->upload = (double)r.upload;
    *fits = r.fits;
    return true;
}

/* The kernels stay loaded although nobody uses them yet. */
static int get_ready(struct api_program *p, int threads, const struct hd_stop *stop, struct hd_err *err)
{
    struct rt_gpu *gpu = p->engine->gpus[0].gpu;
    struct rt_gpu_code *code;
    enum rt_cached how;
    HD_TRY(place(p, rt_gpu_memory(gpu), stop, err));
    HD_TRY(rt_gpu_code_get(gpu, p->pl->spec, p->plain.cuda.units, p->engine->thread_pool, threads, stop, RT_CODE_AHEAD,
                           &code, &how, err));
    rt_gpu_code_release(gpu, code);
    return rt_gpu_fetch(gpu, p->pl->spec, stop, err);
}

/* Likewise; the next execution takes them. */
static int optimise_late(struct api_program *p, int threads, const struct hd_stop *stop, struct hd_err *err)
{
    struct rt_gpu_code *code;
    enum rt_cached how;
    HD_TRY(rt_gpu_code_get(p->gpu, p->pl->spec, p->plain.cuda.units, p->engine->thread_pool, threads, stop,
                           RT_CODE_BEHIND, &code, &how, err));
    rt_gpu_code_release(p->gpu, code);
    return 0;
}

static bool warm_next(struct api_engine *e, int *at, const struct hd_stop *stop)
{
    return rt_gpu_warm_next(e->gpus[0].gpu, at, stop);
}

static const struct api_late late = {.state = api_gpu_state,
                                     .open = open_late,
                                     .bytes = bytes,
                                     .stored = api_gpu_stored,
                                     .look = look,
                                     .get_ready = get_ready,
                                     .optimise = optimise_late,
                                     .warm_next = warm_next};

/* ---- of a context: the device is opened when it is first asked for ---------------------- */

static int open_engine(const heddle_context *c HD_UNUSED, struct api_engine *e, struct hd_err *err HD_UNUSED)
{
    for (int i = 0; i < RT_MAX_DEVICES; i++) {
        pthread_mutex_init(&e->gpus[i].lock, NULL);
        rt_admission_init(&e->gpus[i].admission, 1);
        hd_err_init(&e->gpus[i].error);
    }
    return 0;
}

static void close_engine(struct api_engine *e)
{
    for (int i = RT_MAX_DEVICES; i-- > 0;) {
        rt_gpu_close(e->gpus[i].gpu);
        hd_err_release(&e->gpus[i].error);
        rt_admission_release(&e->gpus[i].admission);
        pthread_mutex_destroy(&e->gpus[i].lock);
    }
}

static void info(struct hd_strbuf *b)
{
    hd_strbuf_adds(b, ", ");
    api_gpu_info(b);
}

const struct api_backend api_backend_cuda = {
    .name = "cuda",
    .side = PL_GPU,
    .late = &late,
    .place = place_for,
    .emit = emit,
    .compiled = compiled,
    .compile = compile,
    .run = run,
    .give = api_gpu_give,
    .devices = count,
    .link = link_of,
    .lost = lost,
    .room = room,
    .exchange = &exchange,
    .free_columns = rt_gpu_columns_free,
    .wait = api_gpu_wait,
    .warm = api_gpu_warm,
    .memory_of = api_gpu_memory,
    .release = release,
    .report = report,
    .memory = memory,
    .stages = stages,
    .open_engine = open_engine,
    .close_engine = close_engine,
    .forget = api_gpu_forget,
    .info = info,
    .report_pipeline = report_pipeline,
};
