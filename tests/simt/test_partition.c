/* Rows in parts (gpu_partition.c), alone and below a hash table, and sweeps of several launches, against plain code.
 *
 *   test_partition [SEED | cuda]    on the emulator with its interleavings, or on a GPU */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/keys.h"
#include "runtime/gpu/gpu_order.h"
#include "tests/simt/check.h"
#include "tests/simt/state_rows.h"

/* ---- parts ------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t h, const unsigned char *at)
{
    uint64_t text[2], word = 0, all;
    memcpy(text, at, sizeof text);
    all = text[1];
    for (uint64_t i = 0; i < text[1]; i++) {
        word = word << 8 | ((const unsigned char *)(uintptr_t)text[0])[i];
        if (i % 8 == 7 || i + 1 == text[1])
            all = hdd_mix(all ^ word);
    }
    return hdd_mix(h ^ all);
}

/* What templates/hash.cuh says. */
static uint64_t hash_field(uint64_t h, const struct rt_field *f, const unsigned char *row)
{
    const unsigned char *at = row + f->offset;
    uint64_t v[2] = {0};
    int32_t i32;
    double d;
    float real;
    if (f->valid_offset >= 0 && !row[f->valid_offset])
        return hdd_mix(h ^ HDD_HASH_NULL);
    switch (f->phys) {
    case RT_BOOL: return hdd_mix(h ^ *at);
    case RT_I32: memcpy(&i32, at, 4); return hdd_mix(h ^ (uint64_t)(int64_t)i32);
    case RT_I64: memcpy(v, at, 8); return hdd_mix(h ^ v[0]);
    case RT_I128: memcpy(v, at, 16); return hdd_mix(hdd_mix(h ^ v[0]) ^ v[1]);
    case RT_F64:
        memcpy(&d, at, 8);
        memcpy(v, at, 8);
        return hdd_mix(h ^ (d == 0 ? 0 : isnan(d) ? UINT64_C(0x7ff8000000000000) : v[0]));
    case RT_F32:
        memcpy(&real, at, 4);
        memcpy(&i32, at, 4);
        return hdd_mix(h ^ (uint64_t)(int64_t)(real == 0 ? 0 : isnan(real) ? 0x7fc00000 : i32));
    case RT_STR: return hash_text(h, at);
    }
    return 0;
}

static uint64_t hash_row(const struct rt_state *s, const unsigned char *row, int n)
{
    uint64_t h = HDD_HASH_SEED;
    for (int i = 0; i < n; i++)
        h = hash_field(h, &s->fields[i], row);
    return h;
}

static int first_fields[32];

static void init(struct table *t, enum rt_state_kind kind, const char *shape, uint64_t n, uint64_t kinds, int bits)
{
    table_init(t, kind, shape);
    for (int i = 0; i < 32; i++)
        first_fields[i] = i;
    t->s.partition = (struct rt_partition){.top = bits + 3, .gpu_bits = bits};
    draw_rows(t, n, kinds);
}

/* Rows lie in the order of their parts, and all are there. */
static void part_case(const char *shape, uint64_t n, uint64_t kinds, int bits, uint64_t first_rows)
{
    struct table t;
    char what[128];
    bool *seen;
    uint64_t before = 0;
    snprintf(what, sizeof what, "%llu \"%s\", %llu kinds, %d bits", (unsigned long long)n, shape,
             (unsigned long long)kinds, bits);
    init(&t, RT_STATE_ROWS, shape, n, kinds, bits);
    t.b.x.first_rows = first_rows;
    t.s.partition.nfields = (int)strlen(shape);
    t.s.partition.fields = first_fields;
    append(&t, 0, n);
    finish(&t);
    const unsigned char *rows = finished(&t, &seen, what);
    CHECK(t.live.nrows == n, "%s: %llu rows", what, (unsigned long long)t.live.nrows);
    for (uint64_t r = 0; r < n; r++) {
        uint64_t h = hash_row(&t.s, rows + r * (uint64_t)t.s.stride, t.s.partition.nfields);
        uint64_t part = h >> 3 & ((UINT64_C(1) << bits) - 1);
        CHECK(seen[r], "%s: row %llu is lost", what, (unsigned long long)r);
        CHECK(before <= part, "%s: row %llu is in part %llu behind %llu", what, (unsigned long long)r,
              (unsigned long long)part, (unsigned long long)before);
        before = part;
    }
    table_release(&t);
}

static void test_parts(void)
{
    static const char *const shapes[] = {"i", "I", "l", "bL", "hD", "Sb", "hhhhhhhhhhhhhhhh", "bidhlsBIDHLSbidhls"};
    static const uint64_t sizes[] = {0, 1, 2, 33, 700};
    text_bytes = 19;
    for (size_t k = 0; k < HD_COUNT(shapes); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            part_case(shapes[k], sizes[i], 300, (int)(1 + (k + i * 5) % 11), 0);
    part_case("i", 9000, 1 << 20, 8, 0);
    part_case("i", 9000, 1, 8, 0); /* one part */
    part_case("i", 9000, 1 << 20, 16, 0);
    part_case("i", 9000, 50, 9, 0);
    part_case("i", 20000, 1 << 20, 11, 4000); /* several launches of each pass, which keep the order of the first */
    part_case("lh", 20000, 3, 16, 1);
}

/* ---- below a hash table ------------------------------------------------------------------ */

/* As test_states has it: all rows are found by their keys, keys once. */
static void check_found(struct table *t, const char *what)
{
    bool *seen;
    const unsigned char *rows = finished(t, &seen, what);
    const uint64_t *slots = slots_of(t);
    uint64_t stride = (uint64_t)t->s.stride, in_slots = 0;
    for (uint64_t i = 0; i <= t->live.mask; i++)
        in_slots += slot_rows(t, rows, slots[i]);
    CHECK(in_slots == t->live.nrows && (t->s.dedupe || in_slots == t->n), "%s: %llu rows in slots", what,
          (unsigned long long)in_slots);
    for (uint64_t r = 0; r < t->n; r++) {
        CHECK(probe_slots(t, slots, rows, t->rows + r * stride) != 0, "%s: row %llu is not found", what,
              (unsigned long long)r);
        CHECK(seen[r] || t->s.dedupe, "%s: row %llu is lost", what, (unsigned long long)r);
    }
}

static void table_case(const char *shape, uint64_t n, uint64_t kinds, bool dedupe, int bits)
{
    struct table t;
    char what[128];
    snprintf(what, sizeof what, "table of %llu \"%s\", %llu kinds, %d bits", (unsigned long long)n, shape,
             (unsigned long long)kinds, bits);
    init(&t, RT_STATE_HASH, shape, n, kinds ? kinds : 1000, bits);
    t.s.unique = kinds == 0; /* by the number of the row */
    t.s.nkeys = (int)strlen(shape) + t.s.unique;
    t.s.dedupe = dedupe;
    t.s.track_matches = true;
    for (uint64_t r = 0; r < n; r++) {
        unsigned char *row = t.rows + r * (uint64_t)t.s.stride;
        uint64_t h = hash_row(&t.s, row, t.s.nkeys);
        memcpy(row, &h, sizeof h);
    }
    append(&t, 0, n);
    finish(&t);
    check_found(&t, what);
    table_release(&t);
}

static void test_tables(void)
{
    text_bytes = 9;
    for (int bits = 1; bits < 12; bits += 5) {
        table_case("i", 3000, 0, false, bits);
        table_case("lS", 3000, 500, false, bits);
        table_case("i", 3000, 1, false, bits);
        table_case("I", 3000, 700, true, bits);
        table_case("i", 0, 0, false, bits);
        table_case("i", 1, 5, false, bits);
    }
}

/* ---- sweeps ------------------------------------------------------------------------------ */

/* A sort of rows whose keys have ties: equal keys keep no order, but the next digit must. */
static void sweep_case(const char *shape, uint64_t n, uint64_t kinds, uint64_t first_rows)
{
    struct table t;
    struct rt_sort_key key[2] = {{0, false, false}, {1, true, false}};
    bool *seen;
    table_init(&t, RT_STATE_ROWS, shape);
    t.b.x.first_rows = first_rows;
    t.s.sort = key;
    t.s.nsort = (int)HD_MIN(strlen(shape), (size_t)2);
    draw_rows(&t, n, kinds);
    append(&t, 0, n);
    finish(&t);
    const unsigned char *rows = finished(&t, &seen, shape);
    for (uint64_t r = 0; r < n; r++) {
        const unsigned char *row = rows + r * (uint64_t)t.s.stride;
        CHECK(seen[r], "sort of %llu \"%s\": row %llu is lost", (unsigned long long)n, shape, (unsigned long long)r);
        int c = 0;
        for (int k = 0; k < t.s.nsort && r && !c; k++)
            c = (key[k].desc ? -1 : 1) * rt_value_compare(t.s.fields[k].phys, row - t.s.stride + t.s.fields[k].offset,
                                                          row + t.s.fields[k].offset);
        CHECK(c <= 0, "sort of %llu \"%s\": row %llu is out of order", (unsigned long long)n, shape,
              (unsigned long long)r);
    }
    table_release(&t);
}

static void test_sweeps(void)
{
    sweep_case("i", 30000, 1 << 30, 0);
    sweep_case("i", 30000, 1 << 30, 1); /* a launch for each tile */
    sweep_case("i", 30000, 1 << 30, 9000);
    sweep_case("i", 30000, 3, 9000);
    sweep_case("il", 30000, 200, 9000);
    sweep_case("li", 9000, 2, 1);
    sweep_case("hd", 9000, 1 << 20, 5000);
}

/* ---- rows that are nothing but their keys ------------------------------------------------ */

static struct rt_state *narrow;

static int compare_narrow(const void *a, const void *b)
{
    for (int i = 0; i < narrow->nsort; i++) {
        const struct rt_sort_key *k = &narrow->sort[i];
        const struct rt_field *f = &narrow->fields[k->field];
        const unsigned char *x = a, *y = b;
        bool vx = f->valid_offset < 0 || x[f->valid_offset], vy = f->valid_offset < 0 || y[f->valid_offset];
        if (vx != vy)
            return vx == k->nulls_first ? 1 : -1;
        int c = vx ? rt_value_compare(f->phys, x + f->offset, y + f->offset) : 0;
        if (c)
            return k->desc ? -c : c;
    }
    return 0;
}

/* All fields are keys, in any order and direction. same: so many rows agree in their upper bits that no block puts them
 * right. sample: of so many rows is guessed in which bits all differ, 0: of as many as ever. */
static void narrow_case(const char *shape, uint64_t n, uint64_t kinds, bool same, uint64_t sample, uint64_t offset,
                        int64_t limit)
{
    struct table t;
    table_init(&t, RT_STATE_ROWS, shape);
    t.s.stride = (int)hd_align_up((size_t)t.id + 4, 8);
    t.b.x.first_rows = sample;
    int fields = t.s.nfields;
    bool nullable;
    t.s.sort = HD_NEWN(&t.arena, struct rt_sort_key, fields);
    for (int i = 0, at = (int)(draw() % (uint64_t)fields); i < fields; i++, at = (at + 1) % fields)
        t.s.sort[i] = (struct rt_sort_key){at, draw() & 1, draw() & 1};
    t.s.nsort = fields;
    t.s.offset = (int64_t)offset;
    t.s.limit = limit;
    CHECK(rt_rows_are_keys(&t.s, &nullable), "\"%s\" is no narrow row", shape);
    draw_rows(&t, n, kinds);
    uint64_t stride = (uint64_t)t.s.stride;
    const struct rt_field *low = &t.s.fields[t.s.sort[fields - 1].field];
    for (uint64_t r = 0; r < n && same; r++) { /* they differ in few bits of the last key, and three in others */
        uint64_t v = draw() >> (r < 3 ? 24 : 56);
        memcpy(t.rows + r * stride, t.rows, (size_t)stride);
        memcpy(t.rows + r * stride + low->offset, &v, (size_t)rt_phys_size(low->phys));
        if (r < 3)
            memset(t.rows + r * stride + t.s.fields[t.s.sort[0].field].offset, (int)(r * 85), 1);
    }
    append(&t, 0, n);
    finish(&t);
    narrow = &t.s;
    qsort(t.rows, (size_t)n, (size_t)stride, compare_narrow);
    uint64_t count = HD_MIN(n - offset, (uint64_t)limit);
    unsigned char *rows = hd_alloc(&t.arena, (size_t)(count * stride));
    CHECK(t.live.nrows == count, "\"%s\": %llu rows", shape, (unsigned long long)t.live.nrows);
    download(&t, rows, t.live.rows, (size_t)(count * stride));
    for (uint64_t r = 0; r < count; r++)
        CHECK(compare_narrow(rows + r * stride, t.rows + (offset + r) * stride) == 0,
              "order of %llu \"%s\", %llu kinds: row %llu", (unsigned long long)n, shape, (unsigned long long)kinds,
              (unsigned long long)r);
    table_release(&t);
}

static void test_narrow(void)
{
    static const char *const shapes[] = {"i", "l", "I", "bi", "bbl", "Bib", "iii", "Li"};
    for (size_t k = 0; k < HD_COUNT(shapes); k++) {
        narrow_case(shapes[k], 9000, 1 << 30, false, 0, 0, -1);
        narrow_case(shapes[k], 9000, 3, false, 500, 0, -1);
        narrow_case(shapes[k], 9000, 1 << 20, false, 0, 17, 8800);
    }
    for (int k = 0; k < 4; k++) {
        for (uint64_t sample = 0; sample <= 4000; sample += 2000) {
            narrow_case("i", 9000, 5, true, sample, 0, -1);
            narrow_case("i", 9000, 1 << 20, false, sample, 0, -1); /* ties of two to ten rows */
        }
        narrow_case("", 9000, 1, false, 1000, 0, -1);
        narrow_case("b", 9000, 2, false, 1000, 0, -1);
        narrow_case("l", 9000, 5, true, 0, 0, -1);
        narrow_case("l", 30000, 1 << 30, false, 0, 0, -1);
    }
}

/* ---- cancelling -------------------------------------------------------------------------- */

/* Of a state of many rows no kernel starts behind one during which somebody asked to stop. */
static void test_cancel(void)
{
    struct hd_stop stop = {0};
    const struct rt_gpu_run_options o = {.stop = &stop};
    for (int asked = 0; asked < 2; asked++) {
        struct table t;
        init(&t, RT_STATE_HASH, "l", 5000, 50, 8);
        t.b.x.o = &o;
        t.b.x.first_rows = 1000;
        append(&t, 0, t.n);
        if (asked)
            hd_stop_ask(&stop);
        rt_state_list_finish(&t.s);
        int rc = rt_gpu_state_finish(&t.b.x, 0, &t.b.err);
        CHECK(rc == (asked ? -1 : 0) && (rc == 0 || t.b.err.class == HD_ERR_CANCELLED), "cancelled %d: %d", asked, rc);
        table_release(&t);
    }
}

/* Rows of a launch that was left alone may be missing where somebody asked to stop: of however few no kernel of the finish
 * starts. */
static void test_cancel_left_alone(void)
{
    struct hd_stop stop = {0};
    const struct rt_gpu_run_options o = {.stop = &stop};
    for (int asked = 0; asked < 2; asked++) {
        struct table t;
        struct rt_kernel_stats stats = {0};
        uint64_t slot, cursors;
        init(&t, RT_STATE_HASH, "l", 500, 50, 8);
        t.b.x.o = &o;
        append(&t, 0, t.n);
        states_ok(rt_gpu_outcome_take(&t.b.x, &(struct rt_launched){.stats = &stats}, &slot, &cursors, &t.b.err), &t.b);
        states_ok(rt_gpu_state_uncounted(&t.b.x, 0, t.n, 0, &t.b.err), &t.b);
        if (asked)
            hd_stop_ask(&stop);
        rt_state_list_finish(&t.s);
        int rc = rt_gpu_state_finish(&t.b.x, 0, &t.b.err);
        CHECK(rc == (asked ? -1 : 0) && (rc == 0 || t.b.err.class == HD_ERR_CANCELLED), "cancelled %d: %d", asked, rc);
        rt_gpu_outcomes_release(&t.b.x);
        table_release(&t);
    }
}

int main(int argc, char **argv)
{
    bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (!(cuda ? states_open_cuda() : states_open_emulator(argc > 1 ? (uint64_t)atoll(argv[1]) : 0)))
        return CHECK_SKIPPED;
    test_parts();
    test_tables();
    test_sweeps();
    test_narrow();
    test_cancel();
    test_cancel_left_alone();
    states_close();
    return 0;
}
