/* How long states of many rows take to finish on a GPU: the time of FINISH, and the bandwidth
 * that one reading and one writing of the rows in that time would be.
 *
 *   bench_states [MILLIONS]      rows of the largest case, 600 if not said
 *   bench_states emulator        few rows, to see that it works */
#include <string.h>

#include "tests/simt/check.h"
#include "tests/simt/states.h"

enum { CHUNK = 1 << 22, STRIDE = 16, FEW = 12000 };

/* {u64 key or hash, u32 key, u32 number} */
struct row {
    uint64_t key;
    uint32_t group, id;
};

struct bench {
    struct states_bench b;
    struct rt_state s;
    struct rt_spec spec;
    struct rt_gpu_state live;
    struct hd_arena arena;
};

enum spread { EVEN, HOT };

static uint64_t mix(uint64_t x)
{
    return hdd_mix(hdd_mix(x + 0x9E3779B97F4A7C15ULL));
}

static void fill_chunk(struct row *rows, enum rt_state_kind kind, uint64_t range, enum spread spread, uint64_t start)
{
    for (uint64_t i = 0; i < CHUNK; i++) {
        uint64_t r = mix(start + i), index = spread == HOT && r >> 63 ? 7 : r % range;
        rows[i].group = (uint32_t)index;
        rows[i].key = kind == RT_STATE_HASH ? mix(index) : index;
        rows[i].id = (uint32_t)(start + i);
    }
}

static void bench_init(struct bench *b, enum rt_state_kind kind, uint64_t n)
{
    memset(b, 0, sizeof *b);
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

/* The chunk's rows again and again, with other keys each time it was made. */
static void append_rows(struct bench *b, uint64_t n, uint64_t range, enum spread spread)
{
    struct rt_gpu_exec *x = &b->b.x;
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * CHUNK);
    struct hdd_sink_state sink;
    uint64_t needed;
    states_ok(rt_gpu_state_start(x, 0, false, &b->b.err), &b->b);
    rt_gpu_state_sink(x, 0, 0, &sink);
    for (uint64_t at = 0; at < n; at += CHUNK) {
        uint64_t m = HD_MIN(n - at, (uint64_t)CHUNK);
        fill_chunk(rows, b->s.kind, range, spread, at);
        states_ok(x->d->ops->upload(x->d, sink.rows + at * STRIDE, rows, m * STRIDE, &b->b.err), &b->b);
    }
    states_ok(rt_gpu_state_full(x, 0, n, &needed, &b->b.err), &b->b);
    CHECK(needed == 0, "the rows have no room");
}

static double finish_ms(struct bench *b)
{
    struct rt_gpu_exec *x = &b->b.x;
    rt_event *from, *to;
    double ms;
    states_ok(x->d->ops->event(x->d, &from, &b->b.err), &b->b);
    states_ok(rt_gpu_state_finish(x, 0, &b->b.err), &b->b);
    states_ok(x->d->ops->event(x->d, &to, &b->b.err), &b->b);
    states_ok(x->d->ops->elapsed(x->d, from, to, &ms, &b->b.err), &b->b);
    x->d->ops->event_free(x->d, from);
    x->d->ops->event_free(x->d, to);
    return ms;
}

/* Keys of the first rows do not fall. */
static void check_sorted(struct bench *b)
{
    uint64_t n = HD_MIN(b->live.nrows, (uint64_t)CHUNK);
    struct row *rows = hd_alloc(&b->arena, sizeof *rows * (size_t)(n + 1));
    struct rt_device *d = b->b.x.d;
    states_ok(d->ops->download(d, rows, b->live.rows, (size_t)n * STRIDE, &b->b.err), &b->b);
    for (uint64_t i = 1; i < n; i++)
        CHECK(rows[i - 1].key <= rows[i].key, "row %llu is out of order", (unsigned long long)i);
}

static void bench_case(const char *name, enum rt_state_kind kind, uint64_t n, uint64_t range, enum spread spread,
                       int64_t limit)
{
    static struct rt_sort_key by_key = {1, false, false};
    double best = 1e300;
    uint64_t bytes = 2 * n * STRIDE;
    for (int round = 0; round < 2; round++) { /* the first one compiles */
        struct bench b;
        bench_init(&b, kind, n);
        b.s.range = range;
        b.s.limit = limit;
        if (kind == RT_STATE_ROWS) {
            b.s.nsort = 1;
            b.s.sort = &by_key;
        }
        append_rows(&b, n, range, spread);
        double ms = finish_ms(&b);
        best = HD_MIN(best, ms);
        if (kind != RT_STATE_HASH)
            check_sorted(&b);
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
    bench_case("HASH of 1000", RT_STATE_HASH, 1000, 100, EVEN, -1);
    states_close();
    return 0;
}
