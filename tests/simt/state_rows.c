#include "tests/simt/state_rows.h"

#include <math.h>
#include <string.h>

#include "runtime/exec/keys.h"
#include "templates/slot.cuh"
#include "tests/simt/check.h"

static uint64_t random_state = 88172645463325252ULL;
uint64_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static enum rt_phys phys_of(char c)
{
    static const char letters[] = "bilhds";
    const char *at = strchr(letters, c | 32);
    CHECK(at != NULL, "column %c", c);
    return (enum rt_phys)(at - letters);
}

static int place(int *at, int size)
{
    *at = (*at + size - 1) / size * size;
    *at += size;
    return *at - size;
}

static void make_fields(struct table *t, const char *shape, int at)
{
    int n = (int)strlen(shape);
    t->s.fields = HD_NEWN(&t->arena, struct rt_field, n + 1);
    t->s.merge = HD_NEWN(&t->arena, enum rt_merge, n + 1);
    t->s.nfields = n + 1;
    for (int i = 0; i < n; i++) {
        enum rt_phys p = phys_of(shape[i]);
        t->s.fields[i] = (struct rt_field){.name = "f", .phys = p};
        t->s.fields[i].offset = place(&at, p == RT_STR ? 8 : rt_phys_size(p));
        at += p == RT_STR ? 8 : 0;
        t->s.fields[i].valid_offset = shape[i] & 32 ? -1 : place(&at, 1);
    }
    t->id = place(&at, 4);
    t->s.fields[n] = (struct rt_field){.name = "id", .phys = RT_I32, .offset = t->id, .valid_offset = -1};
    t->s.stride = (at + 15) / 16 * 16;
}

void table_init(struct table *t, enum rt_state_kind kind, const char *shape)
{
    memset(t, 0, sizeof *t);
    hd_arena_init(&t->arena);
    bool hashed = kind == RT_STATE_HASH || kind == RT_STATE_AGG_HASH;
    t->s = (struct rt_state){.kind = kind, .name = "s", .path = "$.state", .limit = -1};
    make_fields(t, shape, hashed ? 8 : kind == RT_STATE_AGG_DENSE ? 1 : 0);
    t->spec = (struct rt_spec){.nstates = 1, .states = &t->s};
    states_bench_init(&t->b, &t->spec, &t->live, &t->arena);
}

void table_release(struct table *t)
{
    rt_gpu_state_free(&t->b.x, 0);
    states_bench_check(&t->b);
    hd_arena_release(&t->arena);
}

uint64_t text_bytes;

static void put_text(struct table *t, unsigned char *at, uint64_t v)
{
    uint64_t n = v % 7 == 0 ? v % (text_bytes + 1) : text_bytes;
    unsigned char *s = hd_alloc(&t->arena, n + 1);
    for (uint64_t i = 0; i < n; i++) /* equal numbers, equal texts; they begin alike */
        s[i] = (unsigned char)(i + 4 < n ? 'a' : v >> (8 * (i % 4)));
    uint64_t words[2] = {(uintptr_t)s, n};
    memcpy(at, words, sizeof words);
}

/* Values of few or many kinds, the ends of each type among them. */
static void put_value(struct table *t, enum rt_phys p, unsigned char *at, uint64_t kinds)
{
    static const double special[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-300};
    uint64_t v = draw() % kinds;
    bool end = draw() % 8 == 0;
    int64_t wide = end ? (v & 1 ? INT64_MAX : INT64_MIN) : (int64_t)v - (int64_t)(kinds / 2);
    int32_t word = end ? (v & 1 ? INT32_MAX : INT32_MIN) : (int32_t)wide;
    hd_i128 widest = end ? (hd_i128)wide * INT64_MAX : (hd_i128)wide * ((int64_t)1 << (v % 3 * 30));
    double d = end ? special[v % HD_COUNT(special)] : (double)wide * 0.37;
    float single = (float)d;
    switch (p) {
    case RT_BOOL: *at = v & 1; return;
    case RT_I32: memcpy(at, &word, 4); return;
    case RT_I64: memcpy(at, &wide, 8); return;
    case RT_I128: memcpy(at, &widest, 16); return;
    case RT_F64: memcpy(at, &d, 8); return;
    case RT_F32: memcpy(at, &single, 4); return;
    case RT_STR: put_text(t, at, v * 2654435761u); return;
    }
}

/* Bytes between fields are whatever was there; values of fields that are NULL are zeros. */
static void draw_bytes(const struct table *t, unsigned char *row)
{
    for (int i = 0; i < t->s.stride; i++)
        row[i] = (unsigned char)(draw() >> 32);
    for (int f = 0; f < t->s.nfields; f++) {
        enum rt_phys p = t->s.fields[f].phys;
        memset(row + t->s.fields[f].offset, 0, (size_t)(p == RT_STR ? 16 : rt_phys_size(p)));
    }
}

void draw_rows(struct table *t, uint64_t n, uint64_t kinds)
{
    t->n = n;
    t->rows = hd_zalloc(&t->arena, (size_t)n * (size_t)t->s.stride + 1);
    for (uint64_t r = 0; r < n; r++) {
        unsigned char *row = t->rows + r * (uint64_t)t->s.stride;
        int32_t id = (int32_t)r;
        draw_bytes(t, row);
        for (int f = 0; f + 1 < t->s.nfields; f++) {
            const struct rt_field *d = &t->s.fields[f];
            bool valid = d->valid_offset < 0 || draw() % 5 != 0;
            if (valid)
                put_value(t, d->phys, row + d->offset, kinds);
            if (d->valid_offset >= 0)
                row[d->valid_offset] = valid;
        }
        memcpy(row + t->id, &id, sizeof id);
    }
}

/* The rows as a kernel would have written them. */
static void place_rows(struct table *t)
{
    uint64_t stride = (uint64_t)t->s.stride;
    t->device_rows = hd_dup(&t->arena, t->rows, (size_t)(t->n * stride) + 1);
    for (uint64_t r = 0; r < t->n; r++)
        for (int f = 0; f < t->s.nfields; f++) {
            unsigned char *at = t->device_rows + r * stride + (uint64_t)t->s.fields[f].offset;
            uint64_t text[2];
            if (t->s.fields[f].phys != RT_STR)
                continue;
            memcpy(text, at, sizeof text);
            text[0] = states_to_device(&t->b, (const void *)(uintptr_t)text[0], text[1]);
            memcpy(at, text, sizeof text);
        }
}

static int32_t id_of(const struct table *t, const unsigned char *row)
{
    int32_t id;
    memcpy(&id, row + t->id, sizeof id);
    return id;
}

int append(struct table *t, uint64_t from, uint64_t to)
{
    struct rt_gpu_exec *x = &t->b.x;
    uint64_t stride = (uint64_t)t->s.stride, needed;
    int retries = 0;
    if (!t->device_rows)
        place_rows(t);
    states_ok(rt_gpu_state_start(x, 0, false, &t->b.err), &t->b);
    for (;; retries++) {
        struct hdd_sink_state sink;
        uint64_t cursor = rt_gpu_state_cursor(x, 0);
        rt_gpu_state_sink(x, 0, 0, &sink);
        uint64_t n = HD_MIN(to - from, sink.capacity - HD_MIN(cursor, sink.capacity));
        if (n)
            states_ok(x->d->ops->upload(x->d, sink.rows + cursor * stride, t->device_rows + from * stride,
                                        (size_t)(n * stride), &t->b.err),
                      &t->b);
        cursor += to - from;
        states_ok(rt_gpu_state_full(x, 0, cursor, &needed, &t->b.err), &t->b);
        if (needed == 0)
            return retries;
        states_ok(rt_gpu_state_retry(x, 0, needed, &t->b.err), &t->b);
    }
}

void finish(struct table *t)
{
    rt_state_list_finish(&t->s);
    states_ok(rt_gpu_state_finish(&t->b.x, 0, &t->b.err), &t->b);
}

void download(struct table *t, void *to, uint64_t from, size_t n)
{
    states_ok(t->b.x.d->ops->download(t->b.x.d, to, from, n, &t->b.err), &t->b);
}

unsigned char *finished(struct table *t, bool **seen, const char *what)
{
    uint64_t stride = (uint64_t)t->s.stride;
    size_t head = t->s.kind == RT_STATE_HASH && t->s.nkeys ? sizeof(uint64_t) : 0;
    size_t bytes = (size_t)(t->live.nrows * stride);
    unsigned char *rows = hd_zalloc(&t->arena, bytes + 1);
    *seen = HD_NEWN(&t->arena, bool, t->n + 1);
    if (bytes)
        download(t, rows, t->live.rows, bytes);
    for (uint64_t r = 0; r < t->live.nrows; r++) {
        int32_t id = id_of(t, rows + r * stride);
        CHECK(id >= 0 && (uint64_t)id < t->n && !(*seen)[id], "%s: row %d twice", what, id);
        CHECK(memcmp(rows + r * stride + head, t->device_rows + (uint64_t)id * stride + head, (size_t)stride - head) ==
                  0,
              "%s: row %d is not what it was", what, id);
        (*seen)[id] = true;
        memcpy(rows + r * stride + head, t->rows + (uint64_t)id * stride + head, (size_t)stride - head);
    }
    return rows;
}

/* ---- slots ---- */

const unsigned char *appended(const struct table *t, const unsigned char *row)
{
    return t->rows + (uint64_t)id_of(t, row) * (uint64_t)t->s.stride;
}

uint64_t *slots_of(struct table *t)
{
    size_t bytes = (size_t)(t->live.mask + 1) * sizeof(uint64_t);
    uint64_t *slots = hd_alloc(&t->arena, bytes);
    download(t, slots, t->live.slots_at.address, bytes);
    return slots;
}

uint64_t probe_slots(const struct table *t, const uint64_t *slots, const unsigned char *rows, const unsigned char *row)
{
    uint64_t h = rt_row_hash(row), stride = (uint64_t)t->s.stride;
    for (uint64_t at = h & t->live.mask;; at = (at + 1) & t->live.mask)
        if (slots[at] == 0 ||
            (hdd_slot_has_tag(slots[at], h) && rt_keys_equal_any(&t->s, rows + hdd_slot_row(slots[at]) * stride, row)))
            return slots[at];
}

uint64_t slot_rows(const struct table *t, const unsigned char *rows, uint64_t slot)
{
    uint64_t n = slot != 0;
    if (hdd_slot_has_many(slot))
        memcpy(&n, rows + hdd_slot_row(slot) * (uint64_t)t->s.stride, sizeof n);
    return n;
}
