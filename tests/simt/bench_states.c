/* How long states of many rows take to finish on a GPU: the time of FINISH, and the bandwidth
 * that one reading and one writing of the rows in that time would be. Every finished state is checked: it holds each
 * row that was appended once, in its place.
 *
 *   bench_states [MILLIONS]      rows of the largest case, 600 if not said
 *   bench_states emulator        few rows, to see that it works */
#include <string.h>

#include "templates/slot.cuh"
#include "tests/simt/check.h"
#include "tests/simt/states.h"

enum { CHUNK = 1 << 22, STRIDE = 16, FEW = 60000 };

/* {u64 key or hash, u32 key, u32 number} */
struct row {
    uint64_t key;
    uint32_t group, id;
};

enum spread { EVEN, HOT, DISTINCT };

struct bench {
    struct states_bench b;
    struct rt_state s;
    struct rt_spec spec;
    struct rt_gpu_state live;
    struct hd_arena arena;
    uint64_t n, range; /* rows that are appended, and how many keys they have at most */
    enum spread spread;
    uint64_t sum;      /* of them, see row_sum */
};

static uint64_t mix(uint64_t x)
{
    return hdd_mix(hdd_mix(x + 0x9E3779B97F4A7C15ULL));
}

/* Rows from..from+n of all that are appended: functions of their number. */
static void make_rows(const struct bench *b, struct row *rows, uint64_t from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t r = mix(from + i), index = b->spread == HOT && r >> 63 ? 7 : r % b->range;
        if (b->spread == DISTINCT)
            index = from + i;
        rows[i].group = (uint32_t)index;
        rows[i].key = b->s.kind == RT_STATE_HASH ? mix(index) : index;
        rows[i].id = (uint32_t)(from + i);
    }
}

/* Equal sums over two sets of rows mean equal sets, but for one chance in 2^64. */
static uint64_t row_sum(const struct row *rows, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += mix(rows[i].key ^ mix((uint64_t)rows[i].group << 32 | rows[i].id));
    return sum;
}

static void bench_init(struct bench *b, enum rt_state_kind kind, uint64_t n, uint64_t range, enum spread spread)
{
    *b = (struct bench){.n = n, .range = range, .spread = spread};
    hd_arena_init(&b->arena);
    struct rt_field *f = HD_NEWN(&b->arena, struct rt_field, 3);
    f[0] = (struct rt_field){.name = "group", .phys = RT_I32, .offset = 8, .valid_offset = -1};
    f[1] = (struct rt_field){.name = "key", .phys = RT_I64, .offset = 0, .valid_offset = -1};
    if (kind == RT_STATE_CSR)
        f[0] = f[1];
    b->s = (struct rt_state){.kind = kind,
                             .name = "s",
                             .path = "$",
                             .nfields = 2,
                             .nkeys = kind == RT_STATE_HASH,
                             .fields = f,
                             .stride = STRIDE,
                             .limit = -1};
    b->spec = (struct rt_spec){.nstates = 1, .states = &b->s};
    states_bench_init(&b->b, &b->spec, &b->live, &b->arena);
    b->b.x.first_rows = n;
}

static void append_rows(struct bench *b)
{
    struct rt_gpu_exec *x = &b->b.x;
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * CHUNK);
    struct hdd_sink_state sink;
    uint64_t needed;
    states_ok(rt_gpu_state_start(x, 0, false, &b->b.err), &b->b);
    rt_gpu_state_sink(x, 0, 0, &sink);
    for (uint64_t at = 0; at < b->n; at += CHUNK) {
        uint64_t m = HD_MIN(b->n - at, (uint64_t)CHUNK);
        make_rows(b, rows, at, m);
        b->sum += row_sum(rows, m);
        states_ok(x->d->ops->upload(x->d, sink.rows + at * STRIDE, rows, m * STRIDE, &b->b.err), &b->b);
    }
    states_ok(rt_gpu_state_full(x, 0, b->n, &needed, &b->b.err), &b->b);
    CHECK(needed == 0, "the rows have no room");
}

static double finish_ms(struct bench *b)
{
    struct rt_gpu_exec *x = &b->b.x;
    rt_event *from, *to;
    double ms;
    states_ok(x->d->ops->event(x->d, &from, &b->b.err), &b->b);
    rt_state_list_finish(&b->s);
    states_ok(rt_gpu_state_finish(x, 0, &b->b.err), &b->b);
    states_ok(x->d->ops->event(x->d, &to, &b->b.err), &b->b);
    states_ok(x->d->ops->elapsed(x->d, from, to, &ms, &b->b.err), &b->b);
    x->d->ops->event_free(x->d, from);
    x->d->ops->event_free(x->d, to);
    return ms;
}

static void download(struct bench *b, void *to, uint64_t from, uint64_t bytes)
{
    states_ok(b->b.x.d->ops->download(b->b.x.d, to, from, (size_t)bytes, &b->b.err), &b->b);
}

static void *copy_of(struct bench *b, uint64_t from, uint64_t bytes)
{
    void *p = hd_alloc(&b->arena, (size_t)bytes);
    download(b, p, from, bytes);
    return p;
}

/* What says where a row has to lie: the row before it, offsets of a CSR, slots of a HASH. */
struct places {
    uint64_t before;
    const uint64_t *offsets;
    const uint64_t *slots;
    const uint64_t *heads; /* HASH: how many rows a key has, at its first one */
};

/* How many rows a slot stands for. */
static uint64_t slot_rows(const struct places *p, uint64_t slot)
{
    return hdd_slot_has_many(slot) ? p->heads[hdd_slot_row(slot)] : slot != 0;
}

static void check_place(const struct bench *b, struct places *p, const struct row *row, uint64_t at)
{
    if (b->s.kind == RT_STATE_ROWS) {
        CHECK(p->before <= row->key, "row %llu is out of order", (unsigned long long)at);
        p->before = row->key;
    } else if (b->s.kind == RT_STATE_CSR) {
        CHECK(row->key < b->range && p->offsets[row->key] <= at && at < p->offsets[row->key + 1],
              "row %llu is not at its index", (unsigned long long)at);
    } else {
        for (uint64_t i = row->key & b->live.mask;; i = (i + 1) & b->live.mask) {
            uint64_t slot = p->slots[i], first = hdd_slot_row(slot);
            CHECK(slot != 0, "row %llu is not found by its key", (unsigned long long)at);
            if (hdd_slot_has_tag(slot, row->key) && first <= at && at - first < slot_rows(p, slot))
                return;
        }
    }
}

/* As many slots as keys, and rows in them. */
static void check_slots(struct bench *b, const struct places *p)
{
    bool *met = hd_zalloc(&b->arena, b->range);
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * CHUNK);
    uint64_t keys = 0, used = 0, in_slots = 0;
    for (uint64_t at = 0; at < b->n; at += CHUNK) {
        uint64_t m = HD_MIN(b->n - at, (uint64_t)CHUNK);
        make_rows(b, rows, at, m);
        for (uint64_t i = 0; i < m; i++) {
            keys += !met[rows[i].group];
            met[rows[i].group] = true;
        }
    }
    for (uint64_t i = 0; i <= b->live.mask; i++) {
        used += p->slots[i] != 0;
        in_slots += slot_rows(p, p->slots[i]);
    }
    CHECK(used == keys && in_slots == b->n, "%llu slots of %llu rows for %llu keys of %llu rows",
          (unsigned long long)used, (unsigned long long)in_slots, (unsigned long long)keys, (unsigned long long)b->n);
}

/* A sort with a limit: no row that is left out has a lower key than the last one that is there. */
static void check_first(struct bench *b, uint64_t last, uint64_t lower)
{
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * CHUNK);
    uint64_t all = 0;
    for (uint64_t at = 0; at < b->n; at += CHUNK) {
        uint64_t m = HD_MIN(b->n - at, (uint64_t)CHUNK);
        make_rows(b, rows, at, m);
        for (uint64_t i = 0; i < m; i++)
            all += rows[i].key < last;
    }
    CHECK(all == lower, "%llu rows have lower keys than the last one, %llu are there", (unsigned long long)all,
          (unsigned long long)lower);
}

static uint64_t *heads_of(struct bench *b)
{
    uint64_t *heads = hd_alloc(&b->arena, b->n * sizeof *heads);
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * CHUNK);
    for (uint64_t at = 0; at < b->n; at += CHUNK) {
        uint64_t m = HD_MIN(b->n - at, (uint64_t)CHUNK);
        download(b, rows, b->live.rows + at * STRIDE, m * STRIDE);
        for (uint64_t i = 0; i < m; i++)
            heads[at + i] = rows[i].key;
    }
    return heads;
}

static void check_finished(struct bench *b)
{
    bool all = b->s.limit < 0;
    uint64_t want = all ? b->n : HD_MIN(b->n, (uint64_t)b->s.limit), sum = 0, lower = 0;
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * CHUNK);
    struct places p = {0};
    CHECK(b->live.nrows == want, "%llu rows of %llu", (unsigned long long)b->live.nrows, (unsigned long long)want);
    if (b->s.kind == RT_STATE_CSR)
        p.offsets = copy_of(b, b->live.offsets_at.address, (b->range + 1) * sizeof *p.offsets);
    if (b->s.kind == RT_STATE_HASH) {
        p.slots = copy_of(b, b->live.slots_at.address, (b->live.mask + 1) * sizeof *p.slots);
        p.heads = heads_of(b);
    }
    for (uint64_t at = 0; at < want; at += CHUNK) {
        uint64_t m = HD_MIN(want - at, (uint64_t)CHUNK);
        download(b, rows, b->live.rows + at * STRIDE, m * STRIDE);
        for (uint64_t i = 0; i < m; i++) {
            if (p.heads)
                rows[i].key = mix(rows[i].group);
            lower = rows[i].key != p.before ? at + i : lower;
            check_place(b, &p, &rows[i], at + i);
        }
        sum += row_sum(rows, m);
    }
    if (all)
        CHECK(sum == b->sum, "the rows are not those that were appended");
    else
        check_first(b, p.before, lower);
    if (p.slots)
        check_slots(b, &p);
}

static void bench_case(const char *name, enum rt_state_kind kind, uint64_t n, uint64_t range, enum spread spread,
                       int64_t limit)
{
    static struct rt_sort_key by_key = {1, false, false};
    double best = 1e300;
    uint64_t bytes = 2 * n * STRIDE;
    for (int round = 0; round < 2; round++) { /* the first one compiles */
        struct bench b;
        bench_init(&b, kind, n, range, spread);
        b.s.range = range;
        b.s.limit = limit;
        if (kind == RT_STATE_ROWS) {
            b.s.nsort = 1;
            b.s.sort = &by_key;
        }
        append_rows(&b);
        b.b.x.first_rows = 0;
        double ms = finish_ms(&b);
        best = HD_MIN(best, ms);
        check_finished(&b);
        rt_gpu_state_free(&b.b.x, 0);
        states_bench_check(&b.b);
        hd_arena_release(&b.arena);
    }
    printf("%-28s %6.0f M rows %10.3f ms %8.0f GB/s\n", name, (double)n / 1e6, best, (double)bytes / best / 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool emulator = argc > 1 && strcmp(argv[1], "emulator") == 0;
    uint64_t millions = argc > 1 ? (uint64_t)atoll(argv[1]) : 600;
    uint64_t n = emulator ? FEW : millions * 1000000;
    if (!(emulator ? states_open_emulator(1) : states_open_cuda()))
        return CHECK_SKIPPED;
    bench_case("sort, keys as many as rows", RT_STATE_ROWS, n / 6, n / 6, EVEN, -1);
    bench_case("sort, 64 bits", RT_STATE_ROWS, n / 6, UINT64_C(1) << 62, EVEN, -1);
    bench_case("first 100", RT_STATE_ROWS, n / 6, UINT64_C(1) << 62, EVEN, 100);
    bench_case("sort of 1000", RT_STATE_ROWS, 1000, UINT64_C(1) << 62, EVEN, -1);
    bench_case("sort of 4", RT_STATE_ROWS, 4, UINT64_C(1) << 62, EVEN, -1);
    bench_case("CSR, 4 rows an index", RT_STATE_CSR, n, n / 4, EVEN, -1);
    bench_case("CSR, half of one index", RT_STATE_CSR, n, n / 4, HOT, -1);
    bench_case("CSR, 600 rows an index", RT_STATE_CSR, n, n / 600, EVEN, -1);
    bench_case("HASH, 10 rows a key", RT_STATE_HASH, n / 6, n / 60, EVEN, -1);
    bench_case("HASH, half of one key", RT_STATE_HASH, n / 6, n / 60, HOT, -1);
    bench_case("HASH, distinct keys", RT_STATE_HASH, n / 6, n / 6, DISTINCT, -1);
    bench_case("HASH, distinct, 2 M", RT_STATE_HASH, HD_MIN(n, (uint64_t)2000000), n, DISTINCT, -1);
    bench_case("HASH of 1000", RT_STATE_HASH, 1000, 100, EVEN, -1);
    states_close();
    return 0;
}
