/* States on the device (runtime/gpu/gpu_state.c and others, templates/finish) against the
 * plainest code that does the same.
 *
 *   test_states [SEED | cuda]    on the emulator with its interleavings, or on a GPU */
#include <math.h>
#include <string.h>

#include "runtime/exec/keys.h"
#include "runtime/gpu/gpu_state.h"
#include "templates/slot.cuh"
#include "tests/simt/check.h"
#include "tests/simt/state_rows.h"

/* ---- HASH -------------------------------------------------------------------------------- */

#define AT_ENDS UINT64_MAX /* buckets: one hash of 16 leads to the last slots of a run of 4096 */
#define TWINS   (UINT64_MAX - 1) /* several rows of each hash, anywhere */

static uint64_t hash_row(const struct rt_state *s, const unsigned char *row, uint64_t buckets)
{
    uint64_t h = 1469598103934665603ULL;
    for (int i = 0; i < s->nkeys; i++) {
        const struct rt_field *f = &s->fields[i];
        uint64_t text[2];
        double d;
        if (f->valid_offset >= 0 && !row[f->valid_offset]) {
            h = hdd_mix(h ^ HDD_HASH_NULL);
            continue;
        }
        const unsigned char *p = row + f->offset;
        size_t n = (size_t)rt_phys_size(f->phys);
        if (f->phys == RT_F64) {
            memcpy(&d, p, 8);
            d = d == 0 ? 0.0 : d != d ? (double)NAN : d;
            p = (const unsigned char *)&d;
        }
        if (f->phys == RT_STR) {
            memcpy(text, p, 16);
            p = (const unsigned char *)(uintptr_t)text[0];
            n = (size_t)text[1];
        }
        for (size_t k = 0; k < n; k++)
            h = hdd_mix(h ^ p[k]);
    }
    if (buckets == AT_ENDS)
        return h >> 40 & 15 ? h : h | 0xffc;
    if (buckets == TWINS)
        return h % 1500 * 2654435761u << 32 | (uint32_t)(h % 1500 * 2654435761u);
    return buckets ? h % buckets << 40 | h % buckets : h; /* few: collisions everywhere */
}

/* What holds of any finished HASH: a slot per key, all rows in slots, those of a key side by side. */
static void check_hash(struct table *t, const char *what)
{
    bool *seen;
    const unsigned char *rows = finished(t, &seen, what);
    const uint64_t *slots = slots_of(t);
    uint64_t stride = (uint64_t)t->s.stride, in_slots = 0;
    for (uint64_t i = 0; i <= t->live.mask; i++) {
        in_slots += slot_rows(t, rows, slots[i]);
        if (slots[i] != 0) /* no other slot has this key */
            CHECK(probe_slots(t, slots, rows, appended(t, rows + hdd_slot_row(slots[i]) * stride)) == slots[i],
                  "%s: a key is in two slots", what);
    }
    CHECK(in_slots == t->live.nrows, "%s: %llu rows, %llu in slots", what, (unsigned long long)t->live.nrows,
          (unsigned long long)in_slots);
    for (uint64_t r = 0; r < t->n; r++) {
        uint64_t slot = probe_slots(t, slots, rows, t->rows + r * stride), n = slot_rows(t, rows, slot);
        CHECK(slot != 0, "%s: row %llu is not found", what, (unsigned long long)r);
        CHECK(seen[r] || t->s.dedupe, "%s: row %llu is lost", what, (unsigned long long)r);
        CHECK(!t->s.dedupe || n == 1, "%s: %llu rows of a key", what, (unsigned long long)n);
        CHECK(n <= t->live.nrows - hdd_slot_row(slot), "%s: %llu rows of a key", what, (unsigned long long)n);
        for (uint64_t k = 0; k < n; k++)
            CHECK(rt_keys_equal_any(&t->s, rows + (hdd_slot_row(slot) + k) * stride, t->rows + r * stride),
                  "%s: rows of a key differ", what);
    }
}

static uint64_t large = 0; /* not 0: more rows than so many are treated as large tables are */
static bool proven;        /* that distinct keys are so */

static void hash_case(const char *shape, uint64_t n, uint64_t kinds, bool dedupe, uint64_t buckets)
{
    struct table t;
    char what[128];
    bool unique = kinds == 0;
    snprintf(what, sizeof what, "hash of %llu \"%s\", %llu kinds%s, large from %llu%s", (unsigned long long)n, shape,
             (unsigned long long)kinds, dedupe ? ", deduplicated" : "", (unsigned long long)large,
             proven ? ", proven" : "");
    table_init(&t, RT_STATE_HASH, shape);
    t.b.x.first_rows = large;
    t.s.nkeys = (int)strlen(shape);
    t.s.dedupe = dedupe;
    t.s.unique = unique && proven;
    t.s.track_matches = true;
    if (unique)
        t.s.nkeys++; /* the number of the row makes it so */
    draw_rows(&t, n, unique ? 1000 : kinds);
    for (uint64_t r = 0; r < n; r++) {
        unsigned char *row = t.rows + r * (uint64_t)t.s.stride;
        uint64_t h = hash_row(&t.s, row, buckets);
        memcpy(row, &h, sizeof h);
    }
    append(&t, 0, n);
    finish(&t);
    check_hash(&t, what);
    CHECK(!unique || t.live.nrows == n, "%s: %llu rows", what, (unsigned long long)t.live.nrows);
    CHECK(!unique || n <= large || large == 0 || t.live.moved.address == 0, "%s: rows moved", what);
    CHECK(t.live.matches_at.n >= (t.live.nrows + 63) / 64 * 8, "%s: no match bits", what);
    table_release(&t);
}

/* Distinct keys, of which some rows say that they are others' again: too few for a sample to show it. */
static void repeated_case(uint64_t n, uint64_t repeated, bool dedupe, uint64_t buckets)
{
    struct table t;
    char what[128];
    snprintf(what, sizeof what, "hash of %llu, %llu repeated%s", (unsigned long long)n, (unsigned long long)repeated,
             dedupe ? ", deduplicated" : "");
    table_init(&t, RT_STATE_HASH, "l");
    t.b.x.first_rows = 20;
    t.s.nkeys = 1;
    t.s.dedupe = dedupe;
    draw_rows(&t, n, 1);
    for (uint64_t r = 0; r < n; r++) {
        unsigned char *row = t.rows + r * (uint64_t)t.s.stride;
        uint64_t key = r < n - repeated ? r : r - (n - repeated);
        memcpy(row + t.s.fields[0].offset, &key, sizeof key);
        uint64_t h = hash_row(&t.s, row, buckets);
        memcpy(row, &h, sizeof h);
    }
    append(&t, 0, n);
    finish(&t);
    check_hash(&t, what);
    CHECK((t.live.moved.address != 0) == (repeated > 0), "%s: rows moved, or did not", what);
    CHECK(t.live.nrows == (dedupe ? n - repeated : n), "%s: %llu rows", what, (unsigned long long)t.live.nrows);
    table_release(&t);
}

/* Large enough for several windows (runtime/gpu/gpu_window.c). */
static void test_windows(void)
{
    large = 20;
    for (int k = 0; k < 2; k++) {
        proven = k == 0;
        hash_case("i", 2731, 0, false, 0);
        hash_case("i", 6000, 0, false, 0);
        hash_case("Sb", 6000, 0, false, AT_ENDS);
        hash_case("i", 6000, 0, false, 3); /* one window for all */
        hash_case("lS", 6000, 0, false, TWINS);
        hash_case("i", 9000, 40, k, 0);
    }
    for (int dedupe = 0; dedupe < 2; dedupe++) {
        repeated_case(6000, 0, dedupe, 0);
        repeated_case(6000, 1, dedupe, 0);
        repeated_case(6000, 1, dedupe, AT_ENDS);
        repeated_case(6000, 1, dedupe, TWINS);
        repeated_case(6000, 2500, dedupe, AT_ENDS);
        repeated_case(6000, 0, dedupe, AT_ENDS);
    }
    proven = true;
    large = 0;
}

static void test_hash(uint64_t large_from, bool are_proven)
{
    large = large_from;
    proven = are_proven;
    static const char *const shapes[] = {"i", "L", "hD", "Sb"};
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 1000};
    text_bytes = 9;
    for (size_t k = 0; k < HD_COUNT(shapes); k++)
        for (size_t i = 0; i < HD_COUNT(sizes); i++) {
            hash_case(shapes[k], sizes[i], 100000, false, 0);
            hash_case(shapes[k], sizes[i], 20, false, 0);
            hash_case(shapes[k], sizes[i], 20, true, 0);
            hash_case(shapes[k], sizes[i], 0, false, 0);
            hash_case(shapes[k], sizes[i], 0, true, 0);
        }
    hash_case("i", 500, 40, false, 2); /* equal hashes of different keys */
    hash_case("i", 500, 40, true, 2);
    hash_case("i", 10000, 1, false, 0); /* one hot key */
    hash_case("i", 10000, 3000, true, 0);
    hash_case("bidhlsBIDHLSbidhls", 100, 2, false, 0);
}

/* ---- CSR --------------------------------------------------------------------------------- */

static void csr_case(uint64_t n, uint64_t range, bool hot, uint64_t first_rows)
{
    struct table t;
    table_init(&t, RT_STATE_CSR, "li");
    t.s.range = range;
    t.b.x.first_rows = first_rows;
    draw_rows(&t, n, 1000);
    uint64_t stride = (uint64_t)t.s.stride, at = 0;
    uint64_t *count = HD_NEWN(&t.arena, uint64_t, range + 1);
    for (uint64_t r = 0; r < n; r++) {
        int64_t index = (int64_t)(hot && draw() % 8 ? range / 2 : draw() % range);
        memcpy(t.rows + r * stride + (uint64_t)t.s.fields[0].offset, &index, 8);
        count[index]++;
    }
    append(&t, 0, n);
    finish(&t);
    bool *seen;
    const unsigned char *rows = finished(&t, &seen, "CSR");
    uint64_t *offsets = HD_NEWN(&t.arena, uint64_t, range + 1);
    download(&t, offsets, t.live.offsets_at.address, (size_t)(range + 1) * 8);
    CHECK(t.live.nrows == n, "%llu rows", (unsigned long long)t.live.nrows);
    for (uint64_t i = 0; i < range; at += count[i++]) { /* nrows rows, none twice: all are there */
        CHECK(offsets[i] == at, "offset %llu is %llu, expected %llu", (unsigned long long)i,
              (unsigned long long)offsets[i], (unsigned long long)at);
        for (uint64_t r = at; r < at + count[i]; r++) {
            int64_t index;
            memcpy(&index, rows + r * stride + (uint64_t)t.s.fields[0].offset, 8);
            CHECK(index == (int64_t)i, "row of index %lld at %llu", (long long)index, (unsigned long long)i);
        }
    }
    CHECK(offsets[range] == n, "the last offset is %llu", (unsigned long long)offsets[range]);
    table_release(&t);
}

static void test_csr(void)
{
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 3000};
    for (size_t i = 0; i < HD_COUNT(sizes); i++) {
        csr_case(sizes[i], 1, false, 0);
        csr_case(sizes[i], 50, true, 0);
        csr_case(sizes[i], 5000, false, 0);
    }
    csr_case(9000, 200000, false, 8); /* rows of near indexes first: counters beyond the cache */
    csr_case(9000, 200000, true, 8);
}

/* ---- overflow ---------------------------------------------------------------------------- */

/* Two pipelines after one another, neither of which has room at first. */
static void append_case(enum rt_state_kind kind)
{
    struct table t;
    table_init(&t, kind, "l");
    t.b.x.first_rows = 5;
    t.s.range = 1000;
    draw_rows(&t, 300, 1);
    for (uint64_t r = 0; r < t.n; r++) /* index 0, hash 0 */
        memset(t.rows + r * (uint64_t)t.s.stride, 0, (size_t)t.s.fields[0].offset + 8);
    CHECK(append(&t, 0, 100) == 1, "one retry is enough");
    CHECK(append(&t, 100, 101) == 1, "one retry is enough");
    CHECK(append(&t, 101, 300) == 1, "one retry is enough");
    CHECK(append(&t, 300, 300) == 0, "nothing to append, nothing to retry");
    t.s.nkeys = kind == RT_STATE_HASH;
    finish(&t);
    bool *seen; /* no row is there twice: so many are all */
    finished(&t, &seen, "appended");
    CHECK(t.live.nrows == 300, "%llu rows", (unsigned long long)t.live.nrows);
    table_release(&t);
}

/* A limit without an order takes any rows; that there are more is no reason to run again. */
static void test_limit(void)
{
    struct table t;
    table_init(&t, RT_STATE_ROWS, "l");
    t.s.limit = 40;
    t.s.offset = 3;
    draw_rows(&t, 1000, 9);
    CHECK(append(&t, 0, 500) == 0, "enough rows are enough");
    CHECK(append(&t, 500, 1000) == 0, "enough rows are enough");
    finish(&t);
    CHECK(t.live.nrows == 40, "%llu rows", (unsigned long long)t.live.nrows);
    bool *seen;
    finished(&t, &seen, "limited");
    table_release(&t);
}

static void test_single(void)
{
    struct table t;
    table_init(&t, RT_STATE_ROWS, "l");
    t.s.single = true;
    draw_rows(&t, 10, 9);
    append(&t, 0, 10);
    rt_state_list_finish(&t.s);
    CHECK(rt_gpu_state_finish(&t.b.x, 0, &t.b.err) != 0, "ten rows where one is allowed");
    CHECK(t.b.err.class == HD_ERR_EXEC && strcmp(t.b.err.path, "$.state") == 0, "%s: %s", t.b.err.path,
          t.b.err.message);
    table_release(&t);
}

/* ---- aggregates -------------------------------------------------------------------------- */

/* Rows of groups before anything is added, from a number on. */
static void check_clear(struct table *t, uint64_t from)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    uint64_t stride = (uint64_t)t->s.stride, n = t->live.capacity;
    unsigned char *want = hd_zalloc(&t->arena, (size_t)stride);
    unsigned char *rows = hd_alloc(&t->arena, (size_t)(n * stride));
    memcpy(want + t->s.fields[1].offset, &min, 8);
    memcpy(want + t->s.fields[2].offset, &max, 8);
    download(t, rows, t->live.rows_at.address, (size_t)(n * stride));
    for (uint64_t r = from; r < n; r++)
        CHECK(memcmp(rows + r * stride, want, (size_t)stride) == 0, "row %llu is not clear", (unsigned long long)r);
}

static void aggregate_init(struct table *t, enum rt_state_kind kind)
{
    table_init(t, kind, "lLLsh");
    t->s.nkeys = 1;
    t->s.range = 77;
    for (int i = 0; i < t->s.nfields; i++)
        t->s.merge[i] = RT_MERGE_SUM;
    t->s.merge[0] = RT_MERGE_KEY;
    t->s.merge[1] = RT_MERGE_MIN;
    t->s.merge[2] = RT_MERGE_MAX;
}

static void test_dense(void)
{
    static const enum rt_state_kind kinds[] = {RT_STATE_AGG_DENSE, RT_STATE_AGG_SCALAR};
    for (size_t k = 0; k < HD_COUNT(kinds); k++) {
        struct table t;
        aggregate_init(&t, kinds[k]);
        states_ok(rt_gpu_state_start(&t.b.x, 0, false, &t.b.err), &t.b);
        CHECK(t.live.rows == t.live.rows_at.address, "sinks need the address of the rows");
        check_clear(&t, 0);
        finish(&t);
        CHECK(t.live.nrows == (k ? 1 : 77), "%llu rows", (unsigned long long)t.live.nrows);
        table_release(&t);
    }
}

/* Each group is found from its hash; rows do not lie in two slots. */
static void check_groups(struct table *t, uint64_t n)
{
    size_t bytes = (size_t)(t->live.mask + 1) * 8;
    uint64_t *slots = hd_alloc(&t->arena, bytes), used = 0;
    download(t, slots, t->live.slots_at.address, bytes);
    CHECK(t->live.mask + 1 > t->live.capacity, "fewer slots than groups");
    for (uint64_t i = 0; i <= t->live.mask; i++)
        used += slots[i] != 0;
    CHECK(used == n, "%llu slots are used, expected %llu", (unsigned long long)used, (unsigned long long)n);
    for (uint64_t r = 0; r < n; r++) {
        uint64_t h = rt_row_hash(t->rows + r * (uint64_t)t->s.stride), at = h & t->live.mask;
        while (slots[at] != (h >> 32 << 32 | (r + 1))) {
            CHECK(slots[at] != 0, "group %llu is not found", (unsigned long long)r);
            at = (at + 1) & t->live.mask;
        }
    }
}

/* Groups of an earlier pipeline come back as they were when a later one overflows. */
static void test_groups(void)
{
    struct table t;
    struct rt_gpu_exec *x = &t.b.x;
    aggregate_init(&t, RT_STATE_AGG_HASH);
    x->first_rows = 50;
    draw_rows(&t, 40, 1000);
    for (uint64_t r = 0; r < t.n; r++) {
        uint64_t h = r % 3 << 32 | r % 5;
        memcpy(t.rows + r * (uint64_t)t.s.stride, &h, 8);
    }
    states_ok(rt_gpu_state_start(x, 0, false, &t.b.err), &t.b);
    check_clear(&t, 0);
    check_groups(&t, 0);
    size_t bytes = (size_t)t.n * (size_t)t.s.stride;
    uint64_t needed;
    x->d->ops->upload(x->d, t.live.rows_at.address, t.rows, bytes, &t.b.err);
    states_ok(rt_gpu_state_full(x, 0, t.n, &needed, &t.b.err), &t.b);
    CHECK(needed == 0, "there is room");
    states_ok(rt_gpu_state_start(x, 0, false, &t.b.err), &t.b); /* the second pipeline */
    x->d->ops->set(x->d, t.live.rows_at.address, 0x11, bytes, &t.b.err);
    states_ok(rt_gpu_state_full(x, 0, 300, &needed, &t.b.err), &t.b);
    CHECK(needed >= 300, "300 groups need %llu rows", (unsigned long long)needed);
    states_ok(rt_gpu_state_retry(x, 0, needed, &t.b.err), &t.b);
    unsigned char *rows = hd_alloc(&t.arena, bytes);
    download(&t, rows, t.live.rows_at.address, bytes);
    CHECK(memcmp(rows, t.rows, bytes) == 0, "the first pipeline's groups have changed");
    check_clear(&t, t.n);
    check_groups(&t, t.n);
    CHECK(rt_gpu_state_cursor(x, 0) == t.n, "the cursor is %llu", (unsigned long long)rt_gpu_state_cursor(x, 0));
    states_ok(rt_gpu_state_full(x, 0, t.n, &needed, &t.b.err), &t.b);
    finish(&t);
    CHECK(t.live.nrows == t.n, "%llu groups", (unsigned long long)t.live.nrows);
    table_release(&t);
}

/* Room at first is what is expected, however large the memory, and what an execution before this one had to make. */
static void room_case(enum rt_state_kind kind, double expected, uint64_t known, uint64_t min, uint64_t max)
{
    struct table t;
    uint64_t room[1] = {known};
    const struct rt_gpu_run_options o = {.room = room};
    aggregate_init(&t, kind);
    t.s.est_rows = expected;
    t.b.x.o = &o;
    uint64_t bytes = rt_state_first_capacity(&t.b.x, &t.s) * (uint64_t)t.s.stride;
    CHECK(bytes >= min && bytes <= max, "%llu bytes for %g rows, of %llu to %llu", (unsigned long long)bytes, expected,
          (unsigned long long)min, (unsigned long long)max);
    table_release(&t);
}

/* What overflowed leaves what it needed. */
static void remember_case(void)
{
    struct table t;
    uint64_t needed, room[1] = {0};
    const struct rt_gpu_run_options o = {.room = room};
    struct rt_gpu_exec *x = &t.b.x;
    table_init(&t, RT_STATE_ROWS, "l");
    x->o = &o;
    x->first_rows = 10;
    states_ok(rt_gpu_state_start(x, 0, false, &t.b.err), &t.b);
    states_ok(rt_gpu_state_full(x, 0, 1000, &needed, &t.b.err), &t.b);
    states_ok(rt_gpu_state_retry(x, 0, needed + 500, &t.b.err), &t.b); /* as if it had been projected */
    CHECK(room[0] == 1500, "%llu rows are remembered", (unsigned long long)room[0]);
    states_ok(rt_gpu_state_full(x, 0, 1000, &needed, &t.b.err), &t.b);
    CHECK(needed == 0, "there is room");
    finish(&t);
    CHECK(room[0] == 1000, "%llu rows are remembered", (unsigned long long)room[0]);
    table_release(&t);
}

static void test_room(void)
{
    const uint64_t mb = 1 << 20;
    room_case(RT_STATE_ROWS, 1, 0, 1, 16 * mb);
    room_case(RT_STATE_ROWS, 1e6, 0, 100 * mb, 130 * mb);
    room_case(RT_STATE_ROWS, 1, 1 << 20, 80 * mb, 110 * mb);
    room_case(RT_STATE_ROWS, 1e12, 0, 3000 * mb, 4500 * mb);
    room_case(RT_STATE_AGG_HASH, 1, 0, 1, 64 * mb);
    room_case(RT_STATE_AGG_HASH, 1e12, 0, 250 * mb, 257 * mb);
    room_case(RT_STATE_AGG_HASH, 1e12, 1 << 25, 768 * mb, 4096 * mb);
    remember_case();
}

/* ---- by index ---------------------------------------------------------------------------- */

/* A pipeline that must run again finds the state as it was: empty, or what an earlier one left. */
static void undo_case(enum rt_state_kind kind)
{
    struct table t;
    struct rt_gpu_exec *x = &t.b.x;
    aggregate_init(&t, kind);
    states_ok(rt_gpu_state_start(x, 0, true, &t.b.err), &t.b);
    struct rt_piece *p = kind == RT_STATE_BITMAP   ? &t.live.bits_at
                         : kind == RT_STATE_DIRECT ? &t.live.fields_at
                                                   : &t.live.rows_at;
    unsigned char *empty = hd_alloc(&t.arena, p->n), *got = hd_alloc(&t.arena, p->n);
    for (int filled = 0; filled < 2; filled++) {
        download(&t, empty, p->address, p->n);
        x->d->ops->set(x->d, p->address, 0x77, p->n, &t.b.err);
        states_ok(rt_gpu_state_retry(x, 0, 0, &t.b.err), &t.b);
        download(&t, got, p->address, p->n);
        CHECK(memcmp(empty, got, p->n) == 0, "kind %d, filled %d: not undone", (int)kind, filled);
        x->d->ops->set(x->d, p->address, 0x33, p->n, &t.b.err);
        states_ok(rt_gpu_state_start(x, 0, true, &t.b.err), &t.b);
    }
    finish(&t);
    table_release(&t);
}

static void test_undo(void)
{
    static const enum rt_state_kind kinds[] = {RT_STATE_BITMAP, RT_STATE_DIRECT, RT_STATE_ARRAY, RT_STATE_AGG_SCALAR,
                                               RT_STATE_AGG_DENSE};
    for (size_t i = 0; i < HD_COUNT(kinds); i++)
        undo_case(kinds[i]);
}

static void test_marks(void)
{
    struct table t;
    struct rt_gpu_exec *x = &t.b.x;
    unsigned char got[16];
    table_init(&t, RT_STATE_BITMAP, "");
    t.s.range = 100;
    t.s.track_matches = true;
    finish(&t);
    x->d->ops->set(x->d, t.live.matches_at.address, 0x5a, 16, &t.b.err);
    states_ok(rt_gpu_marks_keep(x, 0, &t.b.err), &t.b);
    x->d->ops->set(x->d, t.live.matches_at.address, 0xff, 16, &t.b.err);
    states_ok(rt_gpu_marks_undo(x, 0, &t.b.err), &t.b);
    download(&t, got, t.live.matches_at.address, sizeof got);
    for (size_t i = 0; i < sizeof got; i++)
        CHECK(got[i] == 0x5a, "match bits %02x", got[i]);
    table_release(&t);
}

static void check_zero(struct table *t, uint64_t address, size_t n)
{
    unsigned char *p = hd_alloc(&t->arena, n);
    CHECK(address % 8 == 0 && address, "an array at %llx", (unsigned long long)address);
    download(t, p, address, n);
    for (size_t i = 0; i < n; i++)
        CHECK(p[i] == 0, "byte %zu is not 0", i);
}

static void test_direct(void)
{
    struct table t;
    table_init(&t, RT_STATE_DIRECT, "BiHs");
    t.s.range = 1001;
    t.s.track_matches = true;
    states_ok(rt_gpu_state_start(&t.b.x, 0, false, &t.b.err), &t.b);
    for (int f = 0; f < t.s.nfields; f++) {
        check_zero(&t, t.live.field[f], 1001u * (size_t)rt_phys_size(t.s.fields[f].phys));
        CHECK((t.live.valid[f] != 0) == (t.s.fields[f].valid_offset >= 0), "validity %d", f);
        if (t.live.valid[f])
            check_zero(&t, t.live.valid[f], 1001);
    }
    check_zero(&t, t.live.bits_at.address, 128);
    check_zero(&t, t.live.matches_at.address, 128);
    finish(&t);
    table_release(&t);
    table_init(&t, RT_STATE_BITMAP, "");
    t.s.range = 1;
    finish(&t);
    check_zero(&t, t.live.bits_at.address, 8);
    table_release(&t);
    table_init(&t, RT_STATE_ARRAY, "lb");
    t.s.range = 9;
    states_ok(rt_gpu_state_start(&t.b.x, 0, false, &t.b.err), &t.b);
    check_zero(&t, t.live.rows, 9 * (size_t)t.s.stride);
    table_release(&t);
}

/* ---- texts of the result ----------------------------------------------------------------- */

/* Row r of those that came is the same as row r of the table. */
static int check_taken(void *taker, const unsigned char *rows, uint64_t n, struct hd_err *err HD_UNUSED)
{
    const struct table *t = taker;
    for (uint64_t r = 0; r < n; r++)
        for (int f = 0; f < t->s.nfields; f++) {
            const struct rt_field *d = &t->s.fields[f];
            const unsigned char *got = rows + r * (uint64_t)t->s.stride, *want = t->rows + r * (uint64_t)t->s.stride;
            bool valid = d->valid_offset < 0 || want[d->valid_offset];
            CHECK(!valid || rt_value_compare(d->phys, got + d->offset, want + d->offset) == 0, "row %llu field %d",
                  (unsigned long long)r, f);
        }
    return 0;
}

static void take_result(struct table *t, int (*take)(void *, const unsigned char *, uint64_t, struct hd_err *),
                        uint64_t n)
{
    const struct rt_gpu_run_options *before = t->b.x.o, o = {.take = take, .taker = t};
    uint64_t nrows;
    t->b.x.o = &o;
    states_ok(rt_gpu_rows_to_taker(&t->b.x, 0, &nrows, &t->b.err), &t->b);
    t->b.x.o = before;
    CHECK(nrows == n, "%llu rows", (unsigned long long)nrows);
}

static void result_case(const char *shape, uint64_t n, uint64_t bytes)
{
    struct table t;
    text_bytes = bytes;
    table_init(&t, RT_STATE_ROWS, shape);
    draw_rows(&t, n, 1000);
    append(&t, 0, n);
    finish(&t);
    take_result(&t, check_taken, n);
    table_release(&t);
}

static void test_result(void)
{
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 1024, 1025, RT_STRINGS_AT_ONCE, RT_STRINGS_AT_ONCE + 1};
    for (size_t i = 0; i < HD_COUNT(sizes); i++) {
        result_case("ih", sizes[i], 0);
        result_case("SiSs", sizes[i], 20);
    }
    result_case("s", 1000, 100); /* more than the first guess */
    result_case("S", 100, 0);
}

static const char words[] = "warp and weft";

static int check_words(void *taker, const unsigned char *rows, uint64_t n, struct hd_err *err HD_UNUSED)
{
    const struct table *t = taker;
    for (uint64_t r = 0; r < n; r += 2) {
        uint64_t text[2];
        memcpy(text, rows + r * (uint64_t)t->s.stride + (uint64_t)t->s.fields[0].offset, 16);
        CHECK(text[1] == 4 && memcmp((void *)(uintptr_t)text[0], words + r * 5, 4) == 0 &&
                  text[0] != (uintptr_t)words + r * 5,
              "text %llu", (unsigned long long)r);
    }
    return 0;
}

/* Rows of constants, their texts on the device. */
static void test_constants(void)
{
    struct table t;
    uint64_t text[2];
    table_init(&t, RT_STATE_ROWS, "Sl");
    draw_rows(&t, 3, 10);
    for (uint64_t r = 0; r < 3; r++) {
        unsigned char *row = t.rows + r * (uint64_t)t.s.stride;
        text[0] = (uintptr_t)words + r * 5;
        text[1] = 4;
        memcpy(row + t.s.fields[0].offset, text, 16);
        row[t.s.fields[0].valid_offset] = r != 1;
    }
    t.s.nvalues = 3;
    t.s.values = t.rows;
    finish(&t);
    take_result(&t, check_words, 3);
    table_release(&t);
}

int main(int argc, char **argv)
{
    bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (!(cuda ? states_open_cuda() : states_open_emulator(argc > 1 ? (uint64_t)atoll(argv[1]) : 0)))
        return CHECK_SKIPPED;
    test_hash(0, true);
    test_hash(20, false);
    test_windows();
    test_csr();
    append_case(RT_STATE_ROWS);
    append_case(RT_STATE_CSR);
    append_case(RT_STATE_HASH);
    test_limit();
    test_single();
    test_dense();
    test_groups();
    test_room();
    test_direct();
    test_undo();
    test_marks();
    test_result();
    test_constants();
    states_close();
    return 0;
}
