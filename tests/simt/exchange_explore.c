/* Every order in which the streams of three devices may do what the exchange of rows (runtime/gpu/gpu_sent.c) queues: two
 * senders and a reader, with one slot and with two, over two exchanges, whose memory serves something else behind each.
 *
 * The real code runs on devices that do nothing but write down what is queued, which is the same whatever the order: the
 * host waits for no outcome. So a state is how far each stream has come, and all that can be reached are visited. In each one
 * of the tasks that may run next none may touch what another one writes; then all orders have the same outcome. Somebody can
 * always go on until all is done (no deadlock), and no more chunks lie in slots than there are (credits).
 *
 * The same holds wherever in receiving a call fails, and is found not to hold once a wait is left out. */
#include <string.h>

#include "runtime/gpu/gpu_sent.h"
#include "runtime/gpu/gpu_state.h"
#include "tests/simt/check.h"

enum {
    A,
    B,
    READER,
    DEVICES,
    STREAMS = DEVICES * RT_NSTREAMS,
    TASKS = 400,
    ACCESSES = 4,
    ROWS = 5,
    STRIDE = 16,
    STATES = 1 << 16,
    FREE = 8 /* pieces of memory: at least as many as an exchange leaves */
};

/* ---- what is queued --------------------------------------------------------------------------- */

struct access {
    uint64_t from, to;
    bool write;
};
struct task {
    const rt_event *wait; /* NULL: it waits for nothing */
    int naccesses, chunk; /* chunk: 1 comes into a slot, -1 leaves it */
    struct access access[ACCESSES];
    unsigned known[STREAMS]; /* that the host has seen done when it queued this */
};
struct rt_event {
    int stream;
    unsigned at; /* reached once so many tasks are done */
    bool freed;
};
struct kernel {
    char entry[64];
};

static struct task tasks[STREAMS][TASKS];
static unsigned queued[STREAMS], known[STREAMS];
static uint64_t next_address[DEVICES];
static int fail_at, left_out, waits; /* the call of the reader that fails; the wait that is left out; 0: none */
static rt_event events[4 * TASKS];
static int nevents;
static struct hd_err err;

static int number_of(const struct rt_device *d)
{
    return (int)(intptr_t)d->self;
}

static struct task *queue(const struct rt_device *d, enum rt_stream s)
{
    int stream = number_of(d) * RT_NSTREAMS + (int)s;
    CHECK(queued[stream] < TASKS, "more tasks");
    struct task *t = &tasks[stream][queued[stream]++];
    memset(t, 0, sizeof *t);
    memcpy(t->known, known, sizeof known);
    return t;
}

static void touch(struct task *t, uint64_t from, uint64_t n, bool write)
{
    CHECK(t->naccesses < ACCESSES, "more accesses");
    if (n)
        t->access[t->naccesses++] = (struct access){from, from + n, write};
}

static int fails(const struct rt_device *d, struct hd_err *e)
{
    bool now = fail_at && number_of(d) == READER && --fail_at == 0;
    return now ? HD_FAIL(e, EXEC, NULL, "a call that fails") : 0;
}

/* ---- devices that write down ------------------------------------------------------------------ */

static int dev_alloc(struct rt_device *d, size_t n, uint64_t *address, struct hd_err *e)
{
    HD_TRY(fails(d, e));
    *address = next_address[number_of(d)];
    next_address[number_of(d)] += hd_align_up(n, 256);
    return 0;
}

static void see_all(const struct rt_device *d)
{
    for (int s = 0; s < RT_NSTREAMS; s++)
        known[number_of(d) * RT_NSTREAMS + s] = queued[number_of(d) * RT_NSTREAMS + s];
}

static void dev_free(struct rt_device *d, uint64_t address HD_UNUSED)
{
    see_all(d);
}

static int dev_set(struct rt_device *d, uint64_t to, int byte HD_UNUSED, size_t n, struct hd_err *e)
{
    HD_TRY(fails(d, e));
    touch(queue(d, RT_STREAM_COMPUTE), to, n, true);
    return 0;
}

static int dev_stream_sync(struct rt_device *d, enum rt_stream s, struct hd_err *e HD_UNUSED)
{
    known[number_of(d) * RT_NSTREAMS + (int)s] = queued[number_of(d) * RT_NSTREAMS + (int)s];
    return 0;
}

static int dev_sync(struct rt_device *d, struct hd_err *e)
{
    return dev_stream_sync(d, RT_STREAM_COMPUTE, e);
}

/* Of a sender, where the parts of its rows begin: the reader gets the last rows. */
static int dev_download(struct rt_device *d, void *to, uint64_t from HD_UNUSED, size_t n, struct hd_err *e)
{
    static const uint64_t firsts[] = {0, 1, ROWS};
    CHECK(n == sizeof firsts, "%zu bytes are read", n);
    memcpy(to, firsts, n);
    return dev_sync(d, e);
}

static int dev_load(struct rt_device *d HD_UNUSED, const void *image HD_UNUSED, size_t n HD_UNUSED, rt_module **out,
                    struct hd_err *e HD_UNUSED)
{
    static char module;
    *out = (rt_module *)&module;
    return 0;
}

static void dev_unload(struct rt_device *d HD_UNUSED, rt_module *m HD_UNUSED)
{
}

static int dev_find(struct rt_device *d HD_UNUSED, rt_module *m HD_UNUSED, const char *entry, int threads HD_UNUSED,
                    uint32_t shared HD_UNUSED, rt_function **out, struct rt_function_info *info,
                    struct hd_err *e HD_UNUSED)
{
    static struct kernel kernels[64]; /* what a function is here */
    static int n;
    int i = 0;
    while (i < n && strcmp(kernels[i].entry, entry) != 0)
        i++;
    CHECK(i < 64, "more kernels");
    snprintf(kernels[i].entry, sizeof kernels[i].entry, "%s", entry);
    n = i == n ? n + 1 : n;
    *out = (rt_function *)&kernels[i];
    *info = (struct rt_function_info){.blocks = 1};
    return 0;
}

static void launch_columns(struct task *t, const struct hdd_exchange_args *p)
{
    touch(t, p->rows, p->n * p->stride, false);
    for (hdd_u32 i = 0; i < p->ncolumns; i++)
        touch(t, p->column[i].to + p->first * p->column[i].width, (p->end - p->first) * p->column[i].width, true);
    t->chunk = -1;
}

/* The words of a split: where others had their slots, or will have them. */
static void launch_split(struct task *t, const char *entry, const struct hdd_split_args *p)
{
    bool moves = strcmp(entry, "hdd_split_move") == 0;
    touch(t, p->rows, p->n * p->stride, false);
    touch(t, p->firsts, p->counts + (uint64_t)p->blocks * p->parts * 4 - p->firsts, !moves);
    if (moves)
        touch(t, p->to, p->n * p->stride, true);
}

/* Other kernels of a prefix sum touch words only between those of the split, on its stream. */
static int dev_launch(struct rt_device *d, rt_function *f, const struct rt_launch *l, struct hd_err *e)
{
    HD_TRY(fails(d, e));
    struct task *t = queue(d, RT_STREAM_COMPUTE);
    const char *entry = ((const struct kernel *)f)->entry;
    if (strcmp(entry, "hdd_exchange_columns") == 0)
        launch_columns(t, l->param[0].p);
    if (strncmp(entry, "hdd_split", 9) == 0)
        launch_split(t, entry, l->param[0].p);
    return 0;
}

static int dev_record(struct rt_device *d, enum rt_stream s, rt_event **out, struct hd_err *e)
{
    HD_TRY(fails(d, e));
    int stream = number_of(d) * RT_NSTREAMS + (int)s;
    CHECK((size_t)nevents < HD_COUNT(events), "more events");
    *out = &events[nevents++];
    **out = (rt_event){.stream = stream, .at = queued[stream]};
    return 0;
}

static int dev_stream_wait(struct rt_device *d, enum rt_stream s, rt_event *event, struct hd_err *e)
{
    HD_TRY(fails(d, e));
    CHECK(!event->freed, "an event that was freed");
    if (++waits != left_out)
        queue(d, s)->wait = event;
    return 0;
}

static void dev_event_free(struct rt_device *d HD_UNUSED, rt_event *event)
{
    CHECK(!event->freed, "an event is freed twice");
    event->freed = true;
}

static int dev_open_peer(struct rt_device *d, struct rt_device *other HD_UNUSED, bool *direct, struct hd_err *e)
{
    *direct = true;
    return fails(d, e);
}

static int dev_copy_peer(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                         struct hd_err *e)
{
    HD_TRY(fails(d, e));
    struct task *t = queue(d, s);
    touch(t, from.address, n, false);
    touch(t, to.address, n, true);
    t->chunk = 1;
    return 0;
}

static void dev_close(struct rt_device *d HD_UNUSED)
{
}

static const struct rt_device_ops ops = {.name = "recorder",
                                         .alloc = dev_alloc,
                                         .free = dev_free,
                                         .set = dev_set,
                                         .download = dev_download,
                                         .load = dev_load,
                                         .unload = dev_unload,
                                         .find = dev_find,
                                         .launch = dev_launch,
                                         .sync = dev_sync,
                                         .record = dev_record,
                                         .stream_wait = dev_stream_wait,
                                         .stream_sync = dev_stream_sync,
                                         .event_free = dev_event_free,
                                         .open_peer = dev_open_peer,
                                         .copy_peer = dev_copy_peer,
                                         .close = dev_close};

static int compile_nothing(struct rt_compiler *c HD_UNUSED, const char *name HD_UNUSED, const char *source HD_UNUSED,
                           struct rt_bytes *image, struct hd_err *e HD_UNUSED)
{
    *image = (struct rt_bytes){(unsigned char *)strdup("x"), 1};
    return 0;
}

static void close_nothing(struct rt_compiler *c HD_UNUSED)
{
}

/* ---- two exchanges ----------------------------------------------------------------------------- */

static struct rt_device device[DEVICES];
static struct rt_gpu *gpu[DEVICES];

static void ok(int rc)
{
    CHECK(rc == 0, "%s", err.message);
}

static void open_devices(void)
{
    static struct rt_compiler none = {.identity = "none", .compile = compile_nothing, .close = close_nothing};
    const struct rt_gpu_options o = {.version = "test"};
    for (int i = 0; i < DEVICES; i++) {
        device[i] = (struct rt_device){.ops = &ops, .self = (void *)(intptr_t)i};
        device[i].info = (struct rt_device_info){
            .name = "recorder", .multiprocessors = 1, .warps = 8, .memory = 1 << 30, .free_memory = 1 << 30};
        next_address[i] = (uint64_t)(i + 1) << 32;
        ok(rt_gpu_open(&device[i], &none, &o, &gpu[i], &err));
    }
}

static struct rt_field fields[] = {{.name = "a", .phys = RT_I64, .offset = 0, .valid_offset = -1},
                                   {.name = "by", .phys = RT_I64, .offset = 8, .valid_offset = -1}};
static enum rt_merge merges[2];
static struct rt_state rows_state = {.kind = RT_STATE_ROWS,
                                     .name = "s",
                                     .path = "$",
                                     .limit = -1,
                                     .nfields = 2,
                                     .fields = fields,
                                     .merge = merges,
                                     .stride = STRIDE};
static struct rt_result_column result[] = {{.name = "a", .field = 0}, {.name = "by", .field = 1}};
static struct rt_spec spec = {
    .nstates = 1, .states = &rows_state, .ndevices = 1, .nresult = 2, .result = result, .result_state = 0};

/* All free memory of the device serves something else, which writes to it. */
static void use_memory(struct rt_gpu_exec *x)
{
    struct rt_piece piece[FREE];
    rt_gpu_enter(x->g);
    for (int i = 0; i < FREE; i++) {
        ok(rt_state_alloc(x, NULL, ROWS * STRIDE, &piece[i], &err));
        touch(queue(x->d, RT_STREAM_COMPUTE), piece[i].address, ROWS * STRIDE, true);
    }
    for (int i = 0; i < FREE; i++)
        rt_gpu_release(x, &piece[i]);
    rt_gpu_leave(x->g);
}

/* The pipeline of the sender writes its rows. */
static struct rt_gpu_sent *send(struct rt_gpu_exec *x, int parts)
{
    struct rt_gpu_sent *sent = NULL;
    struct rt_gpu_state v = {.s = &rows_state, .nrows = ROWS, .started = true, .finished = true};
    const struct rt_gpu_send how = {.out = &sent, .parts = parts, .by = 1, .readers = 1};
    x->state = &v;
    rt_gpu_enter(x->g);
    ok(rt_state_alloc(x, &rows_state, ROWS * STRIDE, &v.rows_at, &err));
    v.rows = v.rows_at.address;
    touch(queue(x->d, RT_STREAM_COMPUTE), v.rows, ROWS * STRIDE, true);
    ok(rt_gpu_rows_to_sent(x, &how, &err));
    rt_gpu_state_free(x, 0);
    rt_gpu_leave(x->g);
    return sent;
}

/* What is read of the table; then it goes. */
static void read_columns(struct rt_gpu_columns *c)
{
    touch(queue(&device[READER], RT_STREAM_COMPUTE), c->column[0].values, c->n * 8, false);
    rt_gpu_columns_free(c);
}

/* fail: the call of receiving that fails, and then 0. False: nothing was received. */
static bool exchange(struct rt_gpu_exec *x, int parts, int *fail)
{
    struct rt_gpu_sent *sent[DEVICES];
    struct rt_gpu_received_column column = {.from = 0, .width = 8};
    struct rt_gpu_columns *c;
    for (int i = 0; i < DEVICES; i++) /* the reader has rows of its own */
        sent[i] = send(&x[i], parts);
    fail_at = *fail;
    bool got = rt_gpu_receive(gpu[READER], sent, DEVICES, parts ? 1 : -1, &column, 1, NULL, &c, &err) == 0;
    *fail = fail_at;
    fail_at = 0;
    hd_err_release(&err);
    hd_err_init(&err);
    for (int i = 0; i < DEVICES; i++)
        rt_gpu_sent_give_back(sent[i]);
    for (int i = 0; i < DEVICES; i++)
        use_memory(&x[i]);
    if (got)
        read_columns(c);
    for (int i = 0; i < DEVICES; i++)
        rt_gpu_sent_free(sent[i]);
    return got;
}

/* False: the call that was to fail has not come. */
static bool record_exchanges(int parts, int fail, int without)
{
    struct hd_arena arena;
    struct rt_gpu_exec x[DEVICES];
    hd_arena_init(&arena);
    memset(queued, 0, sizeof queued);
    memset(known, 0, sizeof known);
    nevents = waits = 0;
    open_devices();
    for (int i = 0; i < DEVICES; i++)
        x[i] = (struct rt_gpu_exec){.g = gpu[i], .d = &device[i], .spec = &spec, .arena = &arena};
    for (int i = 0; i < DEVICES; i++)
        use_memory(&x[i]); /* no memory is in its first use: of that no wait is needed */
    left_out = without;
    int left = fail, none = 0;
    bool first = exchange(x, parts, &left), second = exchange(x, parts, &none);
    CHECK((first || (fail && !left)) && second, "received: %d, %d", first, second); /* memory is asked for twice */
    for (int i = 0; i < DEVICES; i++)
        rt_gpu_close(gpu[i]);
    for (int i = 0; i < nevents; i++)
        CHECK(events[i].freed, "event %d is left", i);
    hd_arena_release(&arena);
    return fail && !left;
}

/* ---- all orders -------------------------------------------------------------------------------- */

struct state {
    unsigned short at[STREAMS];
};
static struct state stack[STATES];
static struct state seen[2 * STATES];
static uint64_t nseen;

static bool is_first(const struct state *s)
{
    uint64_t h = 1469598103934665603u;
    for (int i = 0; i < STREAMS; i++)
        h = (h ^ (s->at[i] + 1u)) * 1099511628211u;
    struct state none;
    memset(&none, 0xff, sizeof none);
    for (uint64_t k = h ^ h >> 29;; k++) {
        struct state *slot = &seen[k % HD_COUNT(seen)];
        if (memcmp(slot, s, sizeof *s) == 0)
            return false;
        if (memcmp(slot, &none, sizeof none) != 0)
            continue;
        CHECK(++nseen < STATES, "more states");
        *slot = *s;
        return true;
    }
}

static bool may_run(const struct state *s, int stream)
{
    if (s->at[stream] == queued[stream])
        return false;
    const struct task *t = &tasks[stream][s->at[stream]];
    for (int i = 0; i < STREAMS; i++)
        if (s->at[i] < t->known[i])
            return false;
    return !t->wait || s->at[t->wait->stream] >= t->wait->at;
}

static bool conflict(const struct task *a, const struct task *b)
{
    for (int i = 0; i < a->naccesses; i++)
        for (int k = 0; k < b->naccesses; k++) {
            const struct access *x = &a->access[i], *y = &b->access[k];
            if ((x->write || y->write) && x->from < y->to && y->from < x->to)
                return true;
        }
    return false;
}

/* Chunks that lie in slots, the one that is read among them. */
static int chunks(const struct state *s)
{
    int n = 0;
    for (unsigned i = 0; i < s->at[READER * RT_NSTREAMS + RT_STREAM_IN]; i++)
        n += tasks[READER * RT_NSTREAMS + RT_STREAM_IN][i].chunk;
    for (unsigned i = 0; i < s->at[READER * RT_NSTREAMS + RT_STREAM_COMPUTE]; i++) {
        const struct task *t = &tasks[READER * RT_NSTREAMS + RT_STREAM_COMPUTE][i];
        bool own = t->chunk && t->access[0].from < (uint64_t)(READER + 1) << 32;
        n += own ? 0 : t->chunk;
    }
    return n;
}

enum fault { NONE, RACE, DEADLOCK, CREDIT };

/* Of a state: its successors are pushed. */
static enum fault visit(const struct state *s, size_t *n)
{
    bool may[STREAMS], any = false, all = true;
    for (int i = 0; i < STREAMS; i++) {
        may[i] = may_run(s, i);
        any |= may[i];
        all &= s->at[i] == queued[i];
    }
    if (!any && !all)
        return DEADLOCK;
    for (int i = 0; i < STREAMS; i++)
        for (int k = i + 1; k < STREAMS && may[i]; k++)
            if (may[k] && conflict(&tasks[i][s->at[i]], &tasks[k][s->at[k]]))
                return RACE;
    for (int i = 0; i < STREAMS; i++) {
        struct state next = *s;
        next.at[i] += may[i];
        if (may[i] && is_first(&next))
            stack[(*n)++] = next;
    }
    return NONE;
}

static enum fault explore(int slots)
{
    size_t n = 1;
    enum fault fault = NONE;
    memset(seen, 0xff, sizeof seen);
    memset(stack, 0, sizeof *stack);
    nseen = 0;
    while (n && fault == NONE) {
        const struct state s = stack[--n];
        fault = visit(&s, &n);
        if (fault == NONE && slots && chunks(&s) > slots)
            fault = CREDIT;
    }
    return fault;
}

/* ---- main -------------------------------------------------------------------------------------- */

static void test_orders(int slots, int parts)
{
    setenv("HEDDLE_EXCHANGE_SLOTS", slots == 1 ? "1" : "2", 1);
    record_exchanges(parts, 0, 0);
    int all = waits;
    enum fault fault = explore(slots);
    printf("%d slots, %s: %llu states, %d waits\n", slots, parts ? "shuffled" : "gathered", (unsigned long long)nseen,
           all);
    CHECK(fault == NONE, "fault %d", (int)fault);
    int failures = 0, missed = 0;
    for (int fail = 1; record_exchanges(parts, fail, 0); fail++, failures++)
        CHECK((fault = explore(0)) == NONE, "fault %d where call %d fails", (int)fault, fail);
    for (int without = 1; without <= all; without++) {
        record_exchanges(parts, 0, without);
        missed += explore(0) == RACE;
    }
    printf("  %d calls that fail, %d of %d waits are missed\n", failures, missed, all);
    CHECK(failures > 20 && missed == all, "only %d failures, %d of %d waits", failures, missed, all);
}

int main(void)
{
    hd_err_init(&err);
    setenv("HEDDLE_EXCHANGE_BYTES", "32", 1); /* two rows */
    for (int slots = 1; slots <= 2; slots++)
        for (int parts = 0; parts <= 2; parts += 2)
            test_orders(slots, parts);
    return 0;
}
