/* Running fields and borders of groups on the device (templates/finish/finish_running.cu) against the plainest code that
 * does the same.
 *
 *   test_running [SEED | cuda]    on the emulator with its interleavings, or on a GPU */
#include <math.h>
#include <string.h>

#include "runtime/exec/keys.h"
#include "tests/simt/check.h"
#include "tests/simt/state_rows.h"

/* What a running field of the rows before, and of one more, amounts to; `has`: of any. */
static void run_on(const struct rt_field *f, enum rt_merge merge, unsigned char *all, bool *has,
                   const unsigned char *value)
{
    hd_i128 a, b;
    if (!*has || merge != RT_MERGE_SUM) {
        int c = *has ? rt_value_compare(f->phys, value, all) : 0;
        if (!*has || (merge == RT_MERGE_MIN ? c < 0 : c > 0))
            memcpy(all, value, (size_t)rt_phys_size(f->phys));
        *has = true;
        return;
    }
    if (f->phys == RT_F64) {
        double x, y;
        memcpy(&x, all, 8);
        memcpy(&y, value, 8);
        x += y;
        memcpy(all, &x, 8);
        return;
    }
    int64_t a64, b64;
    memcpy(&a64, all, 8);
    memcpy(&b64, value, 8);
    a64 = (int64_t)((uint64_t)a64 + (uint64_t)b64);
    if (f->phys == RT_I64) {
        memcpy(all, &a64, 8);
        return;
    }
    memcpy(&a, all, 16);
    memcpy(&b, value, 16);
    a = (hd_i128)((unsigned __int128)a + (unsigned __int128)b);
    memcpy(all, &a, 16);
}

/* Sums of float64 are added up in another order. */
static bool is_about(const unsigned char *a, const unsigned char *b)
{
    double x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return rt_value_compare(RT_F64, a, b) == 0 || fabs(x - y) <= 1e-9 * (1 + fabs(y));
}

static void check_running(struct table *t, int field, const char *what)
{
    const struct rt_field *f = &t->s.fields[field];
    size_t stride = (size_t)t->s.stride, bytes = (size_t)t->n * stride;
    unsigned char *got = hd_alloc(&t->arena, bytes + 1), all[16] = {0};
    bool has = false;
    download(t, got, t->live.rows, bytes);
    for (uint64_t r = 0; r < t->n; r++) {
        int32_t id;
        memcpy(&id, got + r * stride + t->id, sizeof id);
        const unsigned char *value = t->rows + (size_t)id * stride, *row = got + r * stride;
        if (f->valid_offset < 0 || value[f->valid_offset])
            run_on(f, t->s.merge[field], all, &has, value + f->offset);
        CHECK(f->valid_offset < 0 || row[f->valid_offset] == has, "%s: row %llu has a value", what,
              (unsigned long long)r);
        CHECK(!has || memcmp(row + f->offset, all, (size_t)rt_phys_size(f->phys)) == 0 ||
                  (f->phys == RT_F64 && is_about(row + f->offset, all)),
              "%s: field %d of row %llu", what, field, (unsigned long long)r);
    }
}

/* Each column behind the first, by which rows are sorted: its letter of `ways` says s(um), min (n) or max (x). */
static void running_case(const char *shape, const char *ways, uint64_t n, uint64_t kinds)
{
    struct table t;
    char what[128];
    struct rt_sort_key key = {0, false, false};
    snprintf(what, sizeof what, "running \"%s\" \"%s\" of %llu", shape, ways, (unsigned long long)n);
    table_init(&t, RT_STATE_ROWS, shape);
    for (int i = 1; ways[i]; i++)
        t.s.merge[i] = ways[i] == 's' ? RT_MERGE_SUM : ways[i] == 'n' ? RT_MERGE_MIN : RT_MERGE_MAX;
    t.s.nsort = 1;
    t.s.sort = &key;
    draw_rows(&t, n, kinds);
    append(&t, 0, n);
    finish(&t);
    CHECK(t.live.nrows == n, "%s: %llu rows", what, (unsigned long long)t.live.nrows);
    for (int i = 1; ways[i]; i++)
        check_running(&t, i, what);
    table_release(&t);
}

static void test_running(void)
{
    static const uint64_t sizes[] = {0, 1, 2, 8, 9, 255, 257, 2047, 2048, 2049, 5000};
    for (size_t i = 0; i < HD_COUNT(sizes); i++)
        running_case("llhLHid", "-ssssxx", sizes[i], 1000);
    running_case("liIlLhHdD", "-nnnnnnnn", 3000, 1000000);
    running_case("liIlLhHdD", "-xxxxxxxx", 3000, 7);
    running_case("lLHILH", "-ssnxn", 5000, 3); /* many ties: in whatever order the rows came */
    running_case("ld", "-s", 8, 1000); /* before one that is no number comes */
    for (uint64_t n = 20; n < 60; n++)
        running_case("dD", "-s", n, 1000);
    running_case("lllllllllllllllllllllllllllllllllll", "-ssssssssssssssssssssssssssssssssss", 3000, 9);
}

/* ---- borders ----------------------------------------------------------------------------------------------- */

enum { KEYS = 2, VALUE = 2, FIRST = 3, BORDERS = 5 }; /* fields: keys, what runs, borders */

static bool same_keys(const struct rt_state *s, const unsigned char *a, const unsigned char *b, int nkeys)
{
    for (int k = 0; k < nkeys; k++) {
        const struct rt_field *f = &s->fields[k];
        bool va = f->valid_offset < 0 || a[f->valid_offset], vb = f->valid_offset < 0 || b[f->valid_offset];
        if (va != vb || (va && rt_value_compare(f->phys, a + f->offset, b + f->offset) != 0))
            return false;
    }
    return true;
}

/* What border field b of row i has to be. */
static int32_t border_of(const struct table *t, const unsigned char *rows, uint64_t i, const struct rt_field *f)
{
    size_t stride = (size_t)t->s.stride;
    uint64_t begin = i, end = i + 1;
    int32_t count = 0;
    if (f->border == RT_BORDER_COUNT) {
        for (uint64_t r = 0; r <= i; r++)
            count += r == 0 || !same_keys(&t->s, rows + (r - 1) * stride, rows + r * stride, f->border_keys);
        return count;
    }
    while (begin && same_keys(&t->s, rows + (begin - 1) * stride, rows + begin * stride, f->border_keys))
        begin--;
    while (end < t->n && same_keys(&t->s, rows + (end - 1) * stride, rows + end * stride, f->border_keys))
        end++;
    return (int32_t)(f->border == RT_BORDER_BEGIN ? begin : end);
}

static void check_borders(struct table *t, const char *what)
{
    size_t stride = (size_t)t->s.stride, bytes = (size_t)t->n * stride;
    unsigned char *got = hd_alloc(&t->arena, bytes + 1);
    download(t, got, t->live.rows, bytes);
    for (uint64_t i = 0; i < t->n; i += t->n > 3000 ? 1 + draw() % 9 : 1)
        for (int b = 0; b < BORDERS; b++) {
            const struct rt_field *f = &t->s.fields[FIRST + b];
            int32_t is, wanted = border_of(t, got, i, f);
            memcpy(&is, got + i * stride + f->offset, sizeof is);
            CHECK(is == wanted, "%s: border %d of row %llu is %d, not %d", what, b, (unsigned long long)i, is, wanted);
        }
    const struct rt_field *v = &t->s.fields[VALUE];
    int64_t sum = 0, is;
    for (uint64_t i = 0; i < t->n; i++) {
        int32_t id;
        memcpy(&id, got + i * stride + t->id, sizeof id);
        if (border_of(t, got, i, &t->s.fields[FIRST]) == (int32_t)i)
            sum = 0;
        memcpy(&is, t->rows + (size_t)id * stride + v->offset, sizeof is);
        sum = (int64_t)((uint64_t)sum + (uint64_t)is);
        memcpy(&is, got + i * stride + v->offset, sizeof is);
        CHECK(is == sum, "%s: sum of row %llu", what, (unsigned long long)i);
    }
}

/* Groups by `first` keys, which are segments of a sum, and by both; keys of about so many kinds. */
static void borders_case(const char *shape, uint64_t n, uint64_t kinds, int first)
{
    static const enum rt_border borders[BORDERS] = {RT_BORDER_BEGIN, RT_BORDER_END, RT_BORDER_BEGIN, RT_BORDER_END,
                                                    RT_BORDER_COUNT};
    struct rt_sort_key keys[KEYS] = {{0, false, false}, {1, true, true}};
    struct table t;
    char what[128];
    snprintf(what, sizeof what, "borders \"%s\" of %llu of %llu kinds", shape, (unsigned long long)n,
             (unsigned long long)kinds);
    table_init(&t, RT_STATE_ROWS, shape);
    t.s.merge[VALUE] = RT_MERGE_SUM;
    for (int b = 0; b < BORDERS; b++) {
        t.s.fields[FIRST + b].border = borders[b];
        t.s.fields[FIRST + b].border_keys = b < 2 ? first : KEYS;
    }
    t.s.segment = FIRST + 1;
    t.s.nsort = KEYS;
    t.s.sort = keys;
    draw_rows(&t, n, kinds);
    append(&t, 0, n);
    finish(&t);
    check_borders(&t, what);
    table_release(&t);
}

static void test_borders(void)
{
    static const uint64_t sizes[] = {0, 1, 31, 32, 33, 1023, 1024, 1025, 3000};
    for (size_t i = 0; i < HD_COUNT(sizes); i++)
        borders_case("iIliiiii", sizes[i], 20, 1);
    borders_case("ldliiiii", 12000, 3, 1); /* groups of many chunks */
    borders_case("Illiiiii", 2500, 1, 0); /* one segment */
    borders_case("iIliiiii", 2500, 100000, 1); /* groups of a row */
}

int main(int argc, char **argv)
{
    bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (!(cuda ? states_open_cuda() : states_open_emulator(argc > 1 ? (uint64_t)atoll(argv[1]) : 0)))
        return CHECK_SKIPPED;
    test_running();
    test_borders();
    states_close();
    return 0;
}
