/* An execution on several GPUs, or over several segments: threads of the host go through the fragments in their order, each
 * with its workers in turn, and wait for what others put into those that they read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "runtime/base/fault.h"
#include "runtime/base/look.h"

/* ---- stopping ---------------------------------------------------------------------------------- */

static void cancel_parts(struct api_spread *p)
{
    p->stopped = true;
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < p->workers; w++)
            if (p->fragments[i].part[w].statement)
                rt_cancel_fire(&p->fragments[i].part[w].statement->cancel);
    pthread_cond_broadcast(&p->changed);
}

/* The statement is cancelled, by whatever thread. */
static void stop(void *running)
{
    struct api_spread *p = running;
    pthread_mutex_lock(&p->lock);
    cancel_parts(p);
    pthread_mutex_unlock(&p->lock);
}

/* The first error is that of the execution, and all others stop. Takes e over. */
static void fail(struct api_spread *p, struct hd_err *e)
{
    pthread_mutex_lock(&p->lock);
    if (!p->failed && e->class != HD_ERR_CANCELLED) {
        p->failed = true;
        p->error = *e;
        hd_err_init(e);
    }
    cancel_parts(p);
    pthread_mutex_unlock(&p->lock);
    hd_err_release(e);
}

/* What is about the GPU says which one: another error is the plan's, and the same on all. */
static int blame(const struct api_spread *p, bool every, int w, struct hd_err *err)
{
    int slot = api_spread_slot(p, w);
    bool about_gpu =
        err->class == HD_ERR_RESOURCE || err->class == HD_ERR_TOOL || api_backends_lost(p->of->engine, slot);
    if (err->class == HD_ERR_CANCELLED || !about_gpu || p->of->backend->side != PL_GPU)
        return -1;
    char message[sizeof err->message];
    memcpy(message, err->message, sizeof message);
    int gpu = p->of->db->context->devices[slot];
    if (every && p->passes > 1)
        snprintf(err->message, sizeof err->message, "GPU %d, pass %d of %d: %.720s", gpu, w / p->lanes + 1, p->passes,
                 message);
    else
        snprintf(err->message, sizeof err->message, "GPU %d: %.740s", gpu, message);
    return -1;
}

/* ---- a part ------------------------------------------------------------------------------------ */

/* What a worker waits for. */
struct awaited {
    struct api_spread *p;
    const struct api_spread_fragment *f;
    int w;
};

/* Or the execution stops. Any thread: both are told by atomic variables, behind all else. */
static bool is_over(void *awaited)
{
    const struct awaited *a = awaited;
    const struct api_spread_fragment *f = a->f;
    if (a->p->stopped)
        return true;
    return f->exchange == API_EXCHANGE_KEEP ? f->part[a->w].done : f->ended == api_spread_runs(f, a->p->workers);
}

/* Milliseconds for which it pays to look: a core that is busy with that for longer than a thread takes to wake has to be worth
 * it. Parts of most fragments take less than a few, and then about what they took in the execution before. */
static double look_ms(const struct awaited *a)
{
    static const double few = 0.5, most = 5;
    double before = 0;
    if (a->p->of->backend->side != PL_GPU)
        return 0;
    for (int w = 0; w < api_spread_runs(a->f, a->p->workers); w++) {
        double ms = a->f->part[w].took_ms;
        before = HD_MAX(before, ms);
    }
    return before < most ? before + few : few;
}

/* False: the execution stops. */
static bool wait_for(struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    struct awaited a = {p, f, w};
    if (!hd_look(is_over, &a, look_ms(&a))) {
        pthread_mutex_lock(&p->lock);
        while (!is_over(&a))
            pthread_cond_wait(&p->changed, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
    return !p->stopped;
}

/* Of a shuffle each worker makes its own table, and of rows that go from GPU to GPU; others are made where the last part
 * ends. */
static bool is_own(const struct api_spread_fragment *from)
{
    return from->direct || from->exchange == API_EXCHANGE_SHUFFLE;
}

static int wait_for_inputs(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    for (int i = 0; i < f->ninputs; i++) {
        struct api_spread_fragment *from = &p->fragments[f->inputs[i].fragment];
        if (!wait_for(p, from, w))
            return HD_FAIL(err, CANCELLED, NULL, "cancelled");
        int number = api_spread_table_number(p, from, w);
        const struct api_spread_table *t = &from->table[number];
        if (is_own(from) && !t->rows && !t->columns)
            HD_TRY(api_spread_table_fill(p, from, number, err));
    }
    return 0;
}

static unsigned version_of(const struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    unsigned version = 0;
    for (int i = 0; i < f->ninputs; i++)
        version += api_spread_table_of(p, &p->fragments[f->inputs[i].fragment], w)->version;
    return version;
}

static struct api_snapshot *tables_of(const struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    struct api_table **more = hd_try_calloc((size_t)f->ninputs + 1, sizeof(struct api_table *));
    struct api_snapshot *from = p->of->tables, *s = NULL;
    for (int i = 0; i < f->ninputs && more; i++)
        more[i] = api_spread_table_of(p, &p->fragments[f->inputs[i].fragment], w)->owner;
    if (p->segments)
        from = api_snapshot_segment(from, w);
    if (more && from)
        s = api_snapshot_with(from, more, f->ninputs);
    if (p->segments)
        api_snapshot_release(from);
    free(more);
    return s;
}

static void use_statement(struct api_spread *p, struct api_spread_part *part, struct heddle_statement *s)
{
    pthread_mutex_lock(&p->lock);
    struct heddle_statement *old = part->statement;
    part->statement = s;
    if (s && p->stopped)
        rt_cancel_fire(&s->cancel);
    pthread_mutex_unlock(&p->lock);
    heddle_statement_free(old);
}

static int new_statement(struct api_spread *p, struct api_spread_fragment *f, int w, bool on_cpu, int threads,
                         struct heddle_statement **out, struct hd_err *err)
{
    struct api_snapshot *tables = tables_of(p, f, w);
    if (!tables)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    const struct api_statement_of_part of = {.backend = on_cpu ? api_backend_of(PL_CPU) : p->of->backend,
                                             .slot = api_spread_slot(p, w),
                                             .slices = p->passes == 1,
                                             .state_bytes = p->room,
                                             .threads = threads};
    return api_statement_part(p->of, &of, tables, f->plan, f->values[w], out, err);
}

/* NULL: it is not for the CPU. */
static int new_of_few(struct api_spread *p, struct api_spread_fragment *f, int w, struct heddle_statement **out,
                      struct hd_err *err)
{
    HD_TRY(new_statement(p, f, w, true, 1, out, err));
    if (api_spread_is_few(f, *out))
        return 0;
    heddle_statement_free(*out);
    *out = NULL;
    return 0;
}

/* The statement stays for further executions as long as it reads tables of one shape. */
static int prepare(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    struct api_spread_part *part = &f->part[w];
    struct heddle_statement *s = NULL;
    unsigned version = version_of(p, f, w);
    int threads = f->on_cpu ? p->of->threads : HD_MAX(p->of->threads / p->lanes, 1);
    bool few = !f->on_cpu && api_spread_has_few(p, f);
    bool fits = few || f->on_cpu || p->of->backend->side == PL_CPU || !api_spread_on_cpu(f, w);
    if (part->statement && part->version == version && fits)
        return 0;
    use_statement(p, part, NULL);
    if (few)
        HD_TRY(new_of_few(p, f, w, &s, err));
    if (!s)
        HD_TRY(new_statement(p, f, w, f->on_cpu, threads, &s, err));
    part->version = version;
    use_statement(p, part, s);
    return 0;
}

static int execute_to_host(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    struct api_spread_part *part = &f->part[w];
    struct rt_fragment_options how = api_spread_how(p, f, part->statement);
    struct api_output out = {.rows = &part->rows, .how = &how};
    if (f->exchange == API_EXCHANGE_RESULT && p->gives)
        out = (struct api_output){.columns = &part->columns};
    else if (f->exchange == API_EXCHANGE_RESULT)
        out = (struct api_output){.stream = &part->out};
    return api_statement_execute(part->statement, &out, err);
}

static int execute_part(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    struct api_spread_part *part = &f->part[w];
    f->direct = api_spread_is_direct(p, f, part->statement); /* on all workers alike */
    part->start_ms = api_now_ms() - p->began_ms;
    HD_TRY(f->direct ? api_spread_send(p, f, w, err) : execute_to_host(p, f, w, err));
    part->end_ms = api_now_ms() - p->began_ms;
    part->took_ms = part->end_ms - part->start_ms;
    return 0;
}

/* Rows that nobody reads any more: of this worker alone, or of all, once the last one has read them. */
static void empty_inputs(struct api_spread *p, const struct api_spread_fragment *f, int w, bool last)
{
    for (int i = 0; i < f->ninputs; i++) {
        struct api_spread_fragment *from = &p->fragments[f->inputs[i].fragment];
        bool own = from->exchange == API_EXCHANGE_KEEP || from->exchange == API_EXCHANGE_SHUFFLE;
        if (!from->direct && (own || last) && from->last_reader == (int)(f - p->fragments))
            api_spread_table_empty(p, &from->table[own ? w : 0]);
    }
}

/* The rows are there for others. Who is last makes the table of all. */
static int hand_over(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    bool kept = f->exchange == API_EXCHANGE_KEEP, here = !is_own(f);
    pthread_mutex_lock(&p->lock);
    bool last = f->ended + 1 == api_spread_runs(f, p->workers);
    bool fills = here && (kept || (last && f->exchange != API_EXCHANGE_RESULT));
    f->ended += !last;
    pthread_mutex_unlock(&p->lock);
    empty_inputs(p, f, w, last);
    if (fills)
        if (api_spread_table_fill(p, f, kept ? w : 0, err) != 0)
            return blame(p, f->every, w, err);
    pthread_mutex_lock(&p->lock);
    f->part[w].done = true;
    f->ended += last;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return 0;
}

static int run_part(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    if (wait_for_inputs(p, f, w, err) != 0)
        return blame(p, f->every, w, err);
    api_spread_give_back(p, w % p->lanes);
    HD_TRY(prepare(p, f, w, err));
    if (execute_part(p, f, w, err) != 0)
        return api_spread_on_cpu(f, w) ? -1 : blame(p, f->every, w, err);
    return hand_over(p, f, w, err);
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* Of the workers those whose numbers have the remainder `number`. */
struct lane {
    struct api_spread *p;
    int number;
    struct rt_lane_work work;
};

static void note_lack(struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    const struct heddle_statement *s = f->part[w].statement;
    pthread_mutex_lock(&p->lock);
    if (!p->lacked && s && s->timed.stats.lacked) {
        p->lacked = true;
        p->lacking = (int)(f - p->fragments);
    }
    pthread_mutex_unlock(&p->lock);
}

static int run_fragment(const struct lane *lane, struct api_spread_fragment *f, struct hd_err *err)
{
    struct api_spread *p = lane->p;
    for (int w = lane->number; w < api_spread_runs(f, p->workers) && !p->stopped; w += p->lanes)
        if (run_part(p, f, w, err) != 0) {
            note_lack(p, f, w);
            return -1;
        }
    return 0;
}

static void work(void *argument)
{
    const struct lane *lane = argument;
    struct api_spread *p = lane->p;
    struct hd_err e;
    hd_err_init(&e);
    for (int i = 0; i < p->nfragments && !p->stopped; i++)
        if (run_fragment(lane, &p->fragments[i], &e) != 0) {
            fail(p, &e);
            break;
        }
}

/* Others than the first, which is the calling thread. Returns how many lanes there are then. */
static int start_lanes(struct api_spread *p, struct lane lanes[RT_MAX_DEVICES])
{
    struct hd_err e;
    for (int n = 0; n < p->lanes; n++) {
        lanes[n] = (struct lane){.p = p, .number = n};
        lanes[n].work.run = work;
        lanes[n].work.context = &lanes[n];
        if (n == 0 || rt_lane_start(p->of->engine->lanes, api_spread_slot(p, n), &lanes[n].work))
            continue;
        hd_err_init(&e);
        HD_FAIL(&e, RESOURCE, NULL, "the system refuses a thread for each GPU");
        fail(p, &e);
        return n;
    }
    return p->lanes;
}

static void run_lanes(struct api_spread *p)
{
    struct lane lanes[RT_MAX_DEVICES];
    int n = start_lanes(p, lanes);
    work(&lanes[0]);
    for (int i = 1; i < n; i++)
        rt_lane_wait(p->of->engine->lanes, &lanes[i].work);
}

/* ---- executions -------------------------------------------------------------------------------- */

static int begin(struct api_spread *p, struct hd_err *err)
{
    rt_memory_init(&p->memory, p->of->memory_limit, &p->of->engine->memory);
    if (api_state_bytes())
        p->memory.filed_beyond = api_state_bytes();
    if (api_may_spill(p->of) && !rt_memory_spill(&p->memory, NULL))
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    p->began_ms = api_now_ms();
    p->stopped = p->failed = p->executed = false;
    p->lacked = false;
    p->host_bytes = p->file_bytes = 0;
    for (int i = 0; i < p->nfragments; i++) {
        p->fragments[i].ended = 0;
        for (int w = 0; w < p->workers; w++) {
            struct api_spread_part *part = &p->fragments[i].part[w];
            part->done = false;
            if (part->statement)
                rt_cancel_reset(&part->statement->cancel);
        }
    }
    return 0;
}

/* What was handed over and what was not taken goes. */
static void end(struct api_spread *p)
{
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < p->workers; w++) {
            struct api_spread_fragment *f = &p->fragments[i];
            api_spread_table_empty(p, &f->table[w]);
            if (f->part[w].sent)
                p->of->backend->exchange->free(f->part[w].sent);
            f->part[w].sent = NULL;
            if (f->part[w].columns)
                p->of->backend->free_columns(f->part[w].columns);
            f->part[w].columns = NULL;
            rt_fragment_rows_free(f->part[w].rows);
            f->part[w].rows = NULL;
            if (f->part[w].out.release)
                f->part[w].out.release(&f->part[w].out);
            f->part[w].out = (struct ArrowArrayStream){0};
        }
    p->file_bytes = rt_spill_bytes(p->memory.spill);
    rt_memory_release(&p->memory);
}

static int take_result(struct api_spread *p, void *out, struct hd_err *err)
{
    struct api_spread_fragment *f = &p->fragments[p->nfragments - 1];
    return p->gives ? api_spread_give(p, out, err) : api_spread_concat(p, f, out, err);
}

static int take_error(struct api_spread *p, struct hd_err *err)
{
    if (!p->failed)
        return HD_FAIL(err, CANCELLED, NULL, "cancelled");
    *err = p->error;
    hd_err_init(&p->error);
    return -1;
}

/* Adds what the workers of a thread took to t; the largest peak among them. */
static uint64_t add_up(const struct api_spread *p, int lane, struct api_times *t)
{
    uint64_t peak = 0;
    for (int i = 0; i < p->nfragments; i++)
        for (int w = lane; w < api_spread_runs(&p->fragments[i], p->workers); w += p->lanes) {
            const struct heddle_statement *part = p->fragments[i].part[w].statement;
            const struct api_times *x = &part->timed.times;
            t->plan += x->plan;
            t->codegen += x->codegen;
            t->open += x->open;
            t->compile += x->compile;
            t->wait += x->wait;
            t->transfer += x->transfer;
            t->execute += x->execute;
            t->how = x->how == RT_COMPILED ? RT_COMPILED : t->how;
            peak = part->backend != p->of->backend ? peak : HD_MAX(peak, part->timed.stats.peak_bytes);
        }
    return peak;
}

/* Of the thread that was longest at it. */
static void add_times(const struct api_spread *p, struct heddle_statement *s, double wall)
{
    struct api_times *t = &s->timed.times, most = {.how = RT_CACHED_MEMORY};
    double longest = -1;
    s->timed.stats.peak_bytes = 0;
    for (int lane = 0; lane < p->lanes; lane++) {
        struct api_times sum = {.how = RT_CACHED_MEMORY};
        s->timed.stats.peak_bytes += add_up(p, lane, &sum);
        double all = sum.plan + sum.codegen + sum.open + sum.compile + sum.wait + sum.transfer + sum.execute;
        most = all > longest ? sum : most;
        longest = HD_MAX(longest, all);
    }
    *t = most;
    t->result = HD_MAX(wall - longest, 0.0);
}

static void note_rows(struct api_spread *p)
{
    for (int i = 0; i < p->nfragments; i++) {
        p->fragments[i].came = 0;
        for (int w = 0; w < api_spread_runs(&p->fragments[i], p->workers); w++)
            p->fragments[i].came += (double)p->fragments[i].part[w].statement->timed.rows;
    }
}

/* What executions on the CPU put into files. */
static uint64_t spilled_by_parts(const struct api_spread *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < p->nfragments; i++)
        for (int w = 0; w < api_spread_runs(&p->fragments[i], p->workers); w++) {
            const struct heddle_statement *part = p->fragments[i].part[w].statement;
            bytes += part->backend->side == PL_CPU ? part->timed.stats.spilled_bytes : 0;
        }
    return bytes;
}

static int run_spread(struct heddle_statement *s, void *out, struct hd_err *err)
{
    struct api_spread *p = s->spread;
    HD_TRY(begin(p, err));
    rt_cancel_set(&s->cancel, stop, p);
    run_lanes(p);
    rt_cancel_set(&s->cancel, NULL, NULL);
    int rc = p->stopped ? take_error(p, err) : take_result(p, out, err);
    end(p);
    if (rc != 0)
        return -1;
    add_times(p, s, api_now_ms() - p->began_ms);
    note_rows(p);
    s->timed.stats.spilled_bytes = spilled_by_parts(p) + (p->passes > 1 ? p->host_bytes : p->file_bytes);
    s->stats_spec = NULL;
    s->has_counts = false;
    s->executed = p->executed = true;
    return 0;
}

/* Of the host's memory, where somebody has set its limit: what fragments send through it, and what one that the CPU runs
 * needs for its states. They do not wait again, each by itself. */
static uint64_t share_of(const struct api_spread *p)
{
    const struct heddle_statement *s = p->of;
    double bytes = 0, states = 0, limit = (double)s->db->context->memory_limit;
    if (s->memory_limit)
        limit = HD_MIN(limit, (double)s->memory_limit);
    for (int i = 0; i < p->nfragments; i++) {
        const struct api_spread_fragment *f = &p->fragments[i];
        bytes += f->exchange == API_EXCHANGE_RESULT ? 0 : f->bytes;
        if (f->on_cpu || s->backend->side == PL_CPU)
            states = HD_MAX(states, f->state_bytes);
    }
    return (uint64_t)HD_MIN(bytes + states, limit);
}

static int execute_spread(struct heddle_statement *s, bool gives, void *out, struct hd_err *err)
{
    struct rt_admission *a = &s->engine->admission;
    uint64_t share = share_of(s->spread);
    double waited;
    s->spread->gives = gives;
    if (gives && s->spread->fragments[s->spread->nfragments - 1].on_cpu)
        return HD_FAIL(err, RESOURCE, NULL,
                       "the last step of the plan needs more than the GPU's memory, and its rows are wanted there");
    if (!s->db->context->memory_wanted)
        return run_spread(s, out, err);
    HD_TRY(rt_admission_enter(a, share, &s->cancel, &waited, err));
    int rc = run_spread(s, out, err);
    rt_admission_leave(a, share);
    s->timed.times.wait += rc == 0 ? waited : 0;
    return rc;
}

static int execute_here(struct heddle_statement *s, bool gives, void *out, struct hd_err *err)
{
    struct rt_gpu_columns *columns = NULL;
    if (!gives)
        return api_statement_execute(s, &(struct api_output){.stream = out}, err);
    HD_TRY(api_statement_execute(s, &(struct api_output){.columns = &columns}, err));
    int rc = s->backend->give(s, columns, out, err);
    if (rc != 0)
        s->backend->free_columns(columns);
    return rc;
}

static int execute_once(struct heddle_statement *s, bool gives, void *out, struct hd_err *err)
{
    bool spread = false;
    if (!gives || s->db->context->ndevices == 1)
        HD_TRY(api_spread_choose(s, &spread, err));
    HD_TRY(spread ? execute_spread(s, gives, out, err) : execute_here(s, gives, out, err));
    if (!gives)
        api_spread_note(s, spread);
    return 0;
}

static int execute(struct heddle_statement *s, bool gives, void *out, struct hd_err *err)
{
    int rc;
    do
        rc = execute_once(s, gives, out, err);
    while (rc != 0 && (!gives || s->db->context->ndevices == 1) && api_spread_retry(s, err));
    return rc;
}

int api_spread_or_execute(struct heddle_statement *s, void *out, struct hd_err *err)
{
    return execute(s, false, out, err);
}

int api_spread_or_give(struct heddle_statement *s, void *out, struct hd_err *err)
{
    return execute(s, true, out, err);
}
