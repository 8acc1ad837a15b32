/* Rows in order on the device (runtime/gpu/gpu_order.c, templates/finish) against qsort.
 *
 *   test_order [SEED | cuda]    on the emulator with its interleavings, or on a GPU */
#include <string.h>

#include "runtime/exec/keys.h"
#include "runtime/gpu/gpu_state.h"
#include "tests/simt/check.h"
#include "tests/simt/state_rows.h"

static const struct rt_state *sorting;

static int compare_fields(const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < sorting->nsort; i++) {
        const struct rt_sort_key *k = &sorting->sort[i];
        const struct rt_field *f = &sorting->fields[k->field];
        bool va = f->valid_offset < 0 || a[f->valid_offset];
        bool vb = f->valid_offset < 0 || b[f->valid_offset];
        if (va != vb)
            return va == k->nulls_first ? 1 : -1;
        int c = va ? rt_value_compare(f->phys, a + f->offset, b + f->offset) : 0;
        if (c)
            return k->desc ? -c : c;
    }
    return 0;
}

static int compare_pointers(const void *a, const void *b)
{
    const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;
    int c = compare_fields(x, y);
    return c ? c : x < y ? -1 : 1;
}

/* The keys of each row are those of the row in its place in the expected order. */
static void check_order(struct table *t, const char *what)
{
    bool *seen;
    unsigned char **want = HD_NEWN(&t->arena, unsigned char *, t->n + 1);
    const unsigned char *got = finished(t, &seen, what);
    uint64_t offset = HD_MIN((uint64_t)t->s.offset, t->n), count = t->n - offset;
    if (t->s.limit >= 0)
        count = HD_MIN(count, (uint64_t)t->s.limit);
    CHECK(t->live.nrows == count, "%s: %llu rows, expected %llu", what, (unsigned long long)t->live.nrows,
          (unsigned long long)count);
    for (uint64_t r = 0; r < t->n; r++)
        want[r] = t->rows + r * (uint64_t)t->s.stride;
    sorting = &t->s;
    if (t->n)
        qsort(want, (size_t)t->n, sizeof *want, compare_pointers);
    for (uint64_t r = 0; r < count; r++, got += t->s.stride)
        CHECK(compare_fields(got, want[offset + r]) == 0, "%s: row %llu of %llu", what, (unsigned long long)r,
              (unsigned long long)t->n);
}

static void order_case(const char *shape, uint64_t n, uint64_t kinds, int64_t limit, int64_t offset)
{
    struct table t;
    char what[128];
    snprintf(what, sizeof what, "order of %llu \"%s\", %llu kinds, limit %lld, offset %lld", (unsigned long long)n,
             shape, (unsigned long long)kinds, (long long)limit, (long long)offset);
    table_init(&t, RT_STATE_ROWS, shape);
    t.s.nsort = (int)strlen(shape);
    t.s.sort = HD_NEWN(&t.arena, struct rt_sort_key, t.s.nsort);
    for (int i = 0; i < t.s.nsort; i++)
        t.s.sort[i] = (struct rt_sort_key){i, draw() & 1, draw() & 1};
    t.s.limit = limit;
    t.s.offset = offset;
    draw_rows(&t, n, kinds);
    append(&t, 0, n);
    finish(&t);
    check_order(&t, what);
    table_release(&t);
}

static void test_order(void)
{
    static const char *const shapes[] = {"b", "B", "i", "I", "l",  "h",   "H",
                                         "d", "D", "s", "S", "Bs", "iSl", "bidhlsBIDHLS"};
    static const uint64_t sizes[] = {0, 1, 2, 31, 32, 33, 129};
    text_bytes = 11;
    for (size_t k = 0; k < HD_COUNT(shapes); k++) {
        for (size_t i = 0; i < HD_COUNT(sizes); i++)
            order_case(shapes[k], sizes[i], 1000, -1, 0);
        order_case(shapes[k], 500, 3, -1, 0);    /* ties */
        order_case(shapes[k], 500, 1000, 7, 11); /* limit and offset */
        order_case(shapes[k], 10, 5, 7, 11);
        order_case(shapes[k], 10, 5, 0, 0);
    }
}

/* Beyond HDD_RANK_MAX: passes, and selection where few are wanted. */
static void test_order_many(void)
{
    static const char *const shapes[] = {"I", "bd", "Hs", "SlI"};
    text_bytes = 11;
    for (size_t k = 0; k < HD_COUNT(shapes); k++) {
        order_case(shapes[k], 10000, 1000000, -1, 0);
        order_case(shapes[k], 10000, 1000000, 20, 5);
        order_case(shapes[k], 10000, 2, 20, 5); /* ties beyond what selection may leave */
        order_case(shapes[k], 10000, 50, 9000, 900);
    }
    static const char *const first[] = {"Ls", "d", "Bs",
                                        "iS"}; /* numbers that tell by themselves which rows can be first */
    for (size_t k = 0; k < HD_COUNT(first); k++) {
        order_case(first[k], 4500, 1000000, 20, 5);
        order_case(first[k], 10000, 300, 20, 5); /* with ties */
        order_case(first[k], 9000, 1000000, 256, 0);
        order_case(first[k], 2100, 1, 3, 2);
    }
    text_bytes = 40;
    order_case("is", 700, 3, -1, 0);
    order_case("Is", 4500, 60, 100, 0); /* strings decide among ties */
    text_bytes = 11;
    order_case("i", 8193, 1, -1, 3);
    order_case("bidhlsBIDHLSbidhls", 8193, 3, -1, 0); /* more keys than kernels take inline */
    text_bytes = 200;
    order_case("s", 8193, 1000, -1, 0);
}

static int compare_rows(const void *a, const void *b)
{
    return compare_fields(a, b);
}

/* Rows that come by their first key; by all but the one at `wrong`, if there is one, which comes last. */
static void order_there_case(const char *shape, uint64_t n, uint64_t kinds, uint64_t wrong)
{
    struct table t;
    char what[128];
    snprintf(what, sizeof what, "order of %llu \"%s\" that are there, but %llu", (unsigned long long)n, shape,
             (unsigned long long)wrong);
    table_init(&t, RT_STATE_ROWS, shape);
    t.s.nsort = (int)strlen(shape);
    t.s.sort = HD_NEWN(&t.arena, struct rt_sort_key, t.s.nsort);
    for (int i = 0; i < t.s.nsort; i++)
        t.s.sort[i] = (struct rt_sort_key){i, i & 1, i & 1};
    t.s.sorted = 1;
    draw_rows(&t, n, kinds);
    sorting = &t.s;
    size_t stride = (size_t)t.s.stride;
    qsort(t.rows, (size_t)n, stride, compare_rows);
    if (wrong < n) {
        unsigned char *row = hd_dup(&t.arena, t.rows + wrong * stride, stride);
        memmove(t.rows + wrong * stride, t.rows + (wrong + 1) * stride, (n - 1 - wrong) * stride);
        memcpy(t.rows + (n - 1) * stride, row, stride);
    }
    for (uint64_t r = 0; r < n; r++) {
        int32_t id = (int32_t)r;
        memcpy(t.rows + r * stride + t.id, &id, sizeof id);
    }
    append(&t, 0, n);
    finish(&t);
    check_order(&t, what);
    CHECK((t.live.rows == t.live.rows_at.address) == (wrong >= n), "%s: sorted or not", what);
    table_release(&t);
}

static void test_order_there(void)
{
    static const char *const shapes[] = {"il", "IL", "Ids", "hB"};
    text_bytes = 11;
    for (size_t k = 0; k < HD_COUNT(shapes); k++) {
        order_there_case(shapes[k], 700, 50, UINT64_MAX);
        order_there_case(shapes[k], 700, 50, 0);
        order_there_case(shapes[k], 9000, 100000, UINT64_MAX);
        order_there_case(shapes[k], 9000, 100000, 4500);
    }
    order_there_case("i", 1, 5, UINT64_MAX);
}

int main(int argc, char **argv)
{
    bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (!(cuda ? states_open_cuda() : states_open_emulator(argc > 1 ? (uint64_t)atoll(argv[1]) : 0)))
        return CHECK_SKIPPED;
    test_order();
    test_order_many();
    test_order_there();
    states_close();
    return 0;
}
