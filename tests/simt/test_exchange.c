/* States between two emulated devices: what each of them has is gathered, finished and broadcast, and compared
 * with what the CPU executor makes of the same rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/gpu/gpu_internal.h"
#include "tests/simt/check.h"
#include "tests/simt/sim_compiler.h"
#include "tests/simt/sim_device.h"

enum { KEYS = 18, SUMS = 40, FIELDS = KEYS + SUMS }; /* more than the kernels' arguments hold */

static struct rt_gpu *gpus[2];
static struct hd_err err;

static void ok(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n%s\n", err.path, err.message, err.detail ? err.detail : "");
    exit(1);
}

static void open_devices(uint64_t seed)
{
    const struct rt_gpu_options o = {.version = "test", .direct_memory = true};
    struct sim_device_options so;
    struct rt_device *d;
    struct rt_compiler *c;
    sim_device_options_init(&so);
    so.seed = seed;
    for (int i = 0; i < 2; i++) {
        ok(sim_device_open(&so, &d, &err));
        ok(sim_compiler_open(&c, &err));
        ok(rt_gpu_open(d, c, &o, &gpus[i], &err));
        rt_gpu_enter(gpus[i]);
    }
}

static void close_devices(void)
{
    for (int i = 0; i < 2; i++) {
        rt_gpu_leave(gpus[i]);
        rt_gpu_close(gpus[i]);
    }
}

/* ---- one state on both devices ---------------------------------------------------------- */

struct bench {
    struct hd_arena arena;
    struct rt_state s;
    struct rt_spec spec;
    struct rt_gpu_state live[2];
    struct rt_gpu_exec x[2];
};

static void bench_init(struct bench *b, enum rt_state_kind kind)
{
    memset(b, 0, sizeof *b);
    hd_arena_init(&b->arena);
    b->s = (struct rt_state){.kind = kind, .name = "s", .path = "$", .limit = -1};
    b->s.fields = HD_NEWN(&b->arena, struct rt_field, FIELDS);
    b->s.merge = HD_NEWN(&b->arena, enum rt_merge, FIELDS);
    b->spec = (struct rt_spec){.nstates = 1, .states = &b->s, .ndevices = 2};
    for (int i = 0; i < 2; i++) {
        b->live[i].s = &b->s;
        b->x[i] = (struct rt_gpu_exec){
            .number = i, .g = gpus[i], .d = gpus[i]->d, .spec = &b->spec, .state = &b->live[i], .arena = &b->arena};
    }
}

static void bench_release(struct bench *b)
{
    for (int i = 0; i < 2; i++) {
        ok(gpus[i]->d->ops->sync(gpus[i]->d, &err));
        rt_gpu_state_free(&b->x[i], 0);
        CHECK(b->x[i].used == 0, "device %d: %llu bytes are not given back", i, (unsigned long long)b->x[i].used);
    }
    hd_arena_release(&b->arena);
}

/* A field behind the others. */
static void add_field(struct bench *b, enum rt_phys phys, bool nullable, enum rt_merge merge, int *at)
{
    struct rt_state *s = &b->s;
    int size = rt_phys_size(phys), align = phys == RT_STR ? 8 : size;
    *at = (*at + align - 1) / align * align;
    s->fields[s->nfields] = (struct rt_field){.name = "f", .phys = phys, .offset = *at, .valid_offset = -1};
    *at += size;
    if (nullable)
        s->fields[s->nfields].valid_offset = (*at)++;
    s->merge[s->nfields++] = merge;
    s->stride = (*at + 15) / 16 * 16;
}

/* Keys (0: one that is a word), and every accumulator that there is, again and again. */
static void add_fields(struct bench *b, int nkeys, int nsums)
{
    static const struct {
        enum rt_phys phys;
        bool nullable;
        enum rt_merge merge;
    } sums[] = {{RT_I64, false, RT_MERGE_SUM}, {RT_I128, true, RT_MERGE_SUM}, {RT_F64, false, RT_MERGE_SUM},
                {RT_I32, true, RT_MERGE_MIN},  {RT_I64, true, RT_MERGE_MAX},  {RT_I128, true, RT_MERGE_MIN},
                {RT_F64, true, RT_MERGE_MAX},  {RT_STR, true, RT_MERGE_MIN},  {RT_STR, true, RT_MERGE_MAX},
                {RT_BOOL, true, RT_MERGE_MAX}, {RT_STR, true, RT_MERGE_ANY},  {RT_I64, true, RT_MERGE_OR},
                {RT_I64, false, RT_MERGE_XOR}};
    int at = rt_state_head(&b->s);
    if (b->s.word)
        add_field(b, RT_I64, false, RT_MERGE_KEY, &at);
    for (int i = 0; i < nkeys; i++)
        add_field(b, RT_I32, false, RT_MERGE_KEY, &at);
    for (int i = 0; i < nsums; i++) {
        size_t k = (size_t)i % HD_COUNT(sums);
        add_field(b, sums[k].phys, sums[k].nullable, sums[k].merge, &at);
    }
    b->s.nkeys = b->s.word ? 1 : nkeys;
}

/* ---- rows ------------------------------------------------------------------------------- */

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

/* Texts begin at `text`. */
static void put_value(const struct rt_field *f, enum rt_merge merge, int64_t key, uint64_t text, unsigned char *row)
{
    int64_t v = merge == RT_MERGE_KEY ? key : merge == RT_MERGE_ANY ? key % 5 : (int64_t)draw(1000) - 500;
    double d = (double)v / 4;
    hd_i128 wide = v * ((hd_i128)1 << 70);
    uint64_t str[2] = {text + (uint64_t)(v + 500) % 16, (uint64_t)(v + 500) % 7};
    unsigned char bit = v > 0;
    int32_t narrow = (int32_t)v;
    const void *from[] = {
        [RT_BOOL] = &bit, [RT_I32] = &narrow, [RT_I64] = &v, [RT_I128] = &wide, [RT_F64] = &d, [RT_STR] = str};
    memcpy(row + f->offset, from[f->phys], (size_t)rt_phys_size(f->phys));
    if (f->valid_offset >= 0)
        row[f->valid_offset] = draw(4) > 0;
}

static void put_row(const struct rt_state *s, int64_t key, uint64_t text, unsigned char *row)
{
    uint64_t hash = (uint64_t)(key % 50) << 32 | (uint64_t)(key % 50); /* many keys have one */
    memset(row, 0, (size_t)s->stride);
    for (int i = 0; i < s->nfields; i++)
        put_value(&s->fields[i], s->merge[i], s->word && s->merge[i] == RT_MERGE_KEY ? key + 1 : key, text, row);
    if (rt_state_head(s) == 8)
        memcpy(row, &hash, sizeof hash);
    if (rt_state_head(s) == 1)
        row[0] = 1;
}

/* Rows as if pipelines had put them there: where these are slots, some are free. */
static void upload(struct rt_gpu_exec *x, const struct rt_state *s, const struct hdd_sink_state *sink,
                   const unsigned char *rows, uint64_t n)
{
    uint64_t stride = (uint64_t)s->stride;
    CHECK(!s->word || sink->mask + 1 >= n + n / 2, "no room");
    for (uint64_t i = 0; i < n && s->word; i++)
        ok(x->d->ops->upload(x->d, sink->rows + (i + i / 2) * stride, rows + i * stride, (size_t)stride, &err));
    if (n && !s->word)
        ok(x->d->ops->upload(x->d, sink->rows, rows, (size_t)(n * stride), &err));
}

/* A pipeline that adds nothing: groups find other slots. */
static void fill_again(struct rt_gpu_exec *x, uint64_t n)
{
    uint64_t needed;
    ok(rt_gpu_state_start(x, 0, false, &err));
    CHECK(rt_gpu_state_cursor(x, 0) == n, "%llu groups", (unsigned long long)rt_gpu_state_cursor(x, 0));
    ok(rt_gpu_state_retry(x, 0, 3 * n, &err)); /* and others in a larger table */
    ok(rt_gpu_state_full(x, 0, n, &needed, &err));
    CHECK(needed == 0, "%llu rows have no room", (unsigned long long)n);
    ok(rt_gpu_state_filled(x, 0, &err));
}

static void fill(struct bench *b, int device, const unsigned char *rows, uint64_t n)
{
    struct rt_gpu_exec *x = &b->x[device];
    struct hdd_sink_state sink;
    uint64_t needed;
    x->first_rows = HD_MAX(n, (uint64_t)1); /* no room for more */
    ok(rt_gpu_state_start(x, 0, false, &err));
    rt_gpu_state_sink(x, 0, 0, &sink);
    upload(x, &b->s, &sink, rows, n);
    ok(rt_gpu_state_full(x, 0, n, &needed, &err));
    CHECK(needed == 0, "%llu rows have no room", (unsigned long long)n);
    ok(rt_gpu_state_filled(x, 0, &err));
    if (b->s.word)
        fill_again(x, n);
}

/* In place of the events that order devices in a schedule. */
static void exchange(struct bench *b, int from, int to, enum rt_exchange how)
{
    ok(gpus[from]->d->ops->sync(gpus[from]->d, &err));
    ok(rt_gpu_exchange(&b->x[to], &b->x[from], 0, how, &err));
    ok(gpus[to]->d->ops->sync(gpus[to]->d, &err));
}

/* What the schedule would do. */
static void gather_and_finish(struct bench *b)
{
    rt_state_list_finish(&b->s);
    exchange(b, 1, 0, RT_EXCHANGE_GATHER);
    rt_gpu_state_free(&b->x[1], 0);
    ok(rt_gpu_state_finish(&b->x[0], 0, &err));
    exchange(b, 0, 1, RT_EXCHANGE_BROADCAST);
}

static unsigned char *download(struct bench *b, int device, uint64_t *n)
{
    const struct rt_gpu_state *v = &b->live[device];
    size_t bytes = (size_t)(v->nrows * (uint64_t)b->s.stride);
    unsigned char *rows = hd_zalloc(&b->arena, bytes + 1);
    if (bytes)
        ok(gpus[device]->d->ops->download(gpus[device]->d, rows, v->rows, bytes, &err));
    *n = v->nrows;
    return rows;
}

/* On device 1; rows of both name them. */
static uint64_t make_texts(struct bench *b, struct rt_piece *p)
{
    static const char bytes[] = "the quick brown fox jumps over it";
    ok(rt_gpu_alloc(&b->x[1], NULL, sizeof bytes, p, &err));
    ok(gpus[1]->d->ops->upload(gpus[1]->d, p->address, bytes, sizeof bytes, &err));
    ok(gpus[1]->d->ops->sync(gpus[1]->d, &err)); /* the host compares them, too */
    return p->address;
}

/* ---- aggregates ------------------------------------------------------------------------- */

static int32_t key_of(const struct rt_state *s, const unsigned char *row)
{
    int32_t key;
    memcpy(&key, row + s->fields[0].offset, sizeof key);
    return key - s->word;
}

static void check_field(const struct rt_state *s, int f, const unsigned char *got, const unsigned char *want)
{
    const struct rt_field *d = &s->fields[f];
    CHECK(memcmp(got + d->offset, want + d->offset, (size_t)rt_phys_size(d->phys)) == 0, "field %d of key %d: %s", f,
          key_of(s, want), rt_phys_name(d->phys));
}

/* Device 0 has the keys 0 .. n0 - 1, device 1 those from `from` on. Without keys there is one that is a word. */
static void groups_are_merged(int nkeys, int nsums, int n0, int from, int n1)
{
    struct bench b;
    struct rt_piece texts;
    uint64_t n, seen = 0;
    bench_init(&b, RT_STATE_AGG_HASH);
    b.s.word = nkeys == 0;
    add_fields(&b, nkeys, nsums);
    size_t stride = (size_t)b.s.stride;
    int total = HD_MAX(n0, from + n1);
    unsigned char *rows[2] = {hd_zalloc(&b.arena, stride * (size_t)n0 + 1),
                              hd_zalloc(&b.arena, stride * (size_t)n1 + 1)};
    unsigned char *want = hd_zalloc(&b.arena, stride * (size_t)total + 1);
    uint64_t text = make_texts(&b, &texts);
    for (int i = 0; i < n0; i++)
        put_row(&b.s, i, text, rows[0] + (size_t)i * stride);
    for (int i = 0; i < n1; i++)
        put_row(&b.s, from + i, text, rows[1] + (size_t)i * stride);
    memcpy(want, rows[0], stride * (size_t)n0);
    for (int i = 0; i < n1; i++) {
        unsigned char *to = want + (size_t)(from + i) * stride, *row = rows[1] + (size_t)i * stride;
        if (from + i < n0)
            rt_merge_row(&b.s, to, row);
        else
            memcpy(to, row, stride);
    }
    fill(&b, 0, rows[0], (uint64_t)n0);
    fill(&b, 1, rows[1], (uint64_t)n1);
    gather_and_finish(&b);
    for (int d = 0; d < 2; d++) {
        const unsigned char *got = download(&b, d, &n);
        uint64_t groups = (uint64_t)n0 + (uint64_t)n1 - (uint64_t)HD_MAX(HD_MIN(n0 - from, n1), 0);
        CHECK(n == groups, "device %d: %llu groups of %llu", d, (unsigned long long)n, (unsigned long long)groups);
        for (uint64_t i = 0; i < n; i++, seen++) {
            int32_t key = key_of(&b.s, got + i * stride);
            for (int f = 0; f < b.s.nfields; f++)
                check_field(&b.s, f, got + i * stride, want + (size_t)key * stride);
            CHECK(memcmp(got + i * stride, want + (size_t)key * stride, stride) == 0, "device %d: group %d", d, key);
        }
    }
    CHECK(n1 == 0 || seen > 0, "nothing was compared");
    rt_gpu_release(&b.x[1], &texts);
    bench_release(&b);
}

/* Groups by index, of which each side has some; presence: a sum says which, else a flag. */
static void places_are_merged(int range, bool presence)
{
    struct bench b;
    struct rt_piece texts;
    uint64_t n;
    bench_init(&b, range ? RT_STATE_AGG_DENSE : RT_STATE_AGG_SCALAR);
    b.s.presence = presence;
    add_fields(&b, 0, SUMS);
    b.s.range = (uint64_t)range;
    size_t stride = (size_t)b.s.stride;
    int rows = HD_MAX(range, 1);
    unsigned char *half[2], *want = hd_zalloc(&b.arena, stride * (size_t)rows);
    uint64_t text = make_texts(&b, &texts);
    for (int d = 0; d < 2; d++) {
        half[d] = hd_zalloc(&b.arena, stride * (size_t)rows);
        for (int i = 0; i < rows; i++)
            if (!range || draw(3))
                put_row(&b.s, i, text, half[d] + (size_t)i * stride);
        fill(&b, d, half[d], (uint64_t)rows);
    }
    memcpy(want, half[0], stride * (size_t)rows);
    for (int i = 0; i < rows; i++) {
        unsigned char *to = want + (size_t)i * stride, *from = half[1] + (size_t)i * stride;
        bool flag = range && !presence;
        if (flag && !to[0])
            memcpy(to, from, stride);
        else if (!flag || from[0])
            rt_merge_row(&b.s, to, from);
    }
    gather_and_finish(&b);
    for (int d = 0; d < 2; d++)
        CHECK(memcmp(download(&b, d, &n), want, stride * (size_t)rows) == 0, "device %d: groups by index", d);
    rt_gpu_release(&b.x[1], &texts);
    bench_release(&b);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* limit -1: all. Constants are on device 0 alone. */
static void rows_are_appended(uint64_t n0, uint64_t n1, int64_t limit, int64_t constants)
{
    struct bench b;
    int at = 0;
    uint64_t n;
    bench_init(&b, RT_STATE_ROWS);
    add_field(&b, RT_I64, false, RT_MERGE_KEY, &at);
    b.s.limit = limit;
    b.s.nvalues = constants;
    b.s.values = hd_zalloc(&b.arena, (size_t)(constants * b.s.stride) + 1);
    unsigned char *rows = hd_zalloc(&b.arena, (size_t)(n0 + n1) * (size_t)b.s.stride + 1);
    for (uint64_t i = 0; i < n0 + n1; i++)
        memcpy(rows + i * (uint64_t)b.s.stride, &(uint64_t){i + 1}, 8);
    if (constants)
        ok(rt_gpu_state_start(&b.x[0], 0, false, &err));
    else
        fill(&b, 0, rows, n0);
    fill(&b, 1, rows + n0 * (uint64_t)b.s.stride, n1);
    gather_and_finish(&b);
    uint64_t all = (constants ? (uint64_t)constants : n0) + n1, sum = 0, want = 0;
    for (uint64_t i = constants ? n0 : 0; i < n0 + n1; i++)
        want += i + 1;
    for (int d = 0; d < 2; d++) {
        const unsigned char *got = download(&b, d, &n);
        CHECK(n == (limit < 0 ? all : HD_MIN(all, (uint64_t)limit)), "device %d: %llu rows", d, (unsigned long long)n);
        sum = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v;
            memcpy(&v, got + i * (uint64_t)b.s.stride, sizeof v);
            sum += v;
        }
        CHECK(limit >= 0 || sum == want, "device %d: other rows", d);
    }
    bench_release(&b);
}

/* ---- bits ------------------------------------------------------------------------------- */

static uint64_t word_at(int device, uint64_t address)
{
    uint64_t w;
    ok(gpus[device]->d->ops->download(gpus[device]->d, &w, address, sizeof w, &err));
    return w;
}

static void put_word(int device, uint64_t address, uint64_t w)
{
    ok(gpus[device]->d->ops->upload(gpus[device]->d, address, &w, sizeof w, &err));
    ok(gpus[device]->d->ops->sync(gpus[device]->d, &err));
}

/* A DIRECT state with a field and match bits: index 3 from one device, index 70 from the other. */
static void bits_are_united(void)
{
    struct bench b;
    int at = 0;
    bench_init(&b, RT_STATE_DIRECT);
    add_field(&b, RT_I64, true, RT_MERGE_ANY, &at);
    b.s.range = 100;
    b.s.track_matches = true;
    for (int d = 0; d < 2; d++) {
        ok(rt_gpu_state_start(&b.x[d], 0, false, &err));
        put_word(d, b.live[d].bits_at.address + (d ? 8 : 0), d ? 1 << 6 : 1 << 3);
        put_word(d, b.live[d].field[0] + (d ? 70 * 8 : 3 * 8), d ? 700 : 300);
    }
    gather_and_finish(&b);
    for (int d = 0; d < 2; d++) {
        const struct rt_gpu_state *v = &b.live[d];
        CHECK(word_at(d, v->bits_at.address) == 1 << 3 && word_at(d, v->bits_at.address + 8) == 1 << 6, "bits");
        CHECK(word_at(d, v->field[0] + 3 * 8) == 300 && word_at(d, v->field[0] + 70 * 8) == 700, "values");
        CHECK(v->valid[0] - v->field[0] == b.live[0].valid[0] - b.live[0].field[0], "validity bytes");
        put_word(d, v->matches_at.address, d ? 2 : 8);
    }
    exchange(&b, 1, 0, RT_EXCHANGE_GATHER_MATCHES);
    exchange(&b, 0, 1, RT_EXCHANGE_BROADCAST_MATCHES);
    for (int d = 0; d < 2; d++)
        CHECK(word_at(d, b.live[d].matches_at.address) == 10, "match bits of device %d", d);
    bench_release(&b);
}

int main(void)
{
    hd_err_init(&err);
    for (uint64_t seed = 0; seed < 2; seed++) {
        open_devices(seed);
        groups_are_merged(1, 3, 100, 50, 100);
        groups_are_merged(KEYS, SUMS, 300, 290, 700);
        groups_are_merged(2, 5, 0, 0, 40);
        groups_are_merged(0, 3, 100, 50, 100);
        groups_are_merged(0, SUMS, 300, 290, 700);
        groups_are_merged(0, 5, 0, 0, 40);
        groups_are_merged(0, 1, 1, 0, 1);
        groups_are_merged(2, 5, 40, 0, 0);
        places_are_merged(0, false);
        places_are_merged(500, false);
        places_are_merged(500, true);
        rows_are_appended(10, 1000, -1, 0);
        rows_are_appended(0, 3, -1, 0);
        rows_are_appended(5, 8, 8, 0); /* neither side keeps more than the limit */
        rows_are_appended(0, 4, -1, 3);
        bits_are_united();
        close_devices();
    }
    hd_err_release(&err);
    return 0;
}
