#include "runtime/store/store_stage.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_text.h"

/* A slice's strings are tried as a local dictionary until more than a grace plus a quarter of
 * the rows seen were new: comments give up early, the names of some thousand clerks do not. */
static int64_t dict_grace(int rows)
{
    return 192 + rows / 16;
}

struct rt_scratch {
    struct rt_work work;
    struct rt_strset set;
    char *image;
    size_t n, cap;
};

void rt_scratch_free(struct rt_scratch *s)
{
    if (!s)
        return;
    free(s->work.valid);
    free(s->work.i128); /* i64, f64, f32 and str share this buffer */
    free(s->work.codes);
    rt_strset_release(&s->set);
    free(s->image);
    free(s);
}

struct rt_scratch *rt_scratch_new(void)
{
    struct rt_scratch *s = hd_try_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    struct rt_work *w = &s->work;
    w->valid = hd_try_malloc(RT_BLOCK_ROWS / 8);
    w->i128 = hd_try_malloc(RT_BLOCK_ROWS * sizeof(hd_i128));
    w->codes = hd_try_malloc(RT_BLOCK_ROWS * sizeof *w->codes);
    if (!w->valid || !w->i128 || !w->codes || rt_strset_init(&s->set, NULL) != 0) {
        rt_scratch_free(s);
        return NULL;
    }
    w->i64 = (int64_t *)w->i128;
    w->f64 = (double *)w->i128;
    w->f32 = (float *)w->i128;
    w->str = (struct rt_str *)w->i128;
    return s;
}

struct rt_work *rt_scratch_work(struct rt_scratch *s)
{
    return &s->work;
}

/* Room for n more bytes, at a multiple of 16, padding zeroed. The position, or -1. */
static int64_t extend(struct rt_scratch *s, size_t n, struct hd_err *err)
{
    size_t at = hd_align_up(s->n, 16);
    if (at + n + 16 > s->cap) {
        size_t cap = HD_MAX(s->cap * 2, at + n + 16);
        char *p = hd_try_realloc(s->image, cap);
        if (!p)
            return HD_FAIL(err, RESOURCE, NULL, "out of memory for %zu bytes", cap);
        s->image = p;
        s->cap = cap;
    }
    memset(s->image + s->n, 0, at - s->n);
    s->n = at + n;
    return (int64_t)at;
}

static struct rt_chunk *header(struct rt_scratch *s, int column)
{
    return (struct rt_chunk *)(void *)s->image + column;
}

uint64_t rt_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* NULL rows take a neighbour's value so that they disturb neither range nor width. */
static void cover_nulls_i64(struct rt_work *w)
{
    int first = 0;
    while (!rt_bit(w->valid, first))
        first++;
    int64_t v = w->i64[first];
    for (int i = 0; i < w->n; i++) {
        if (rt_bit(w->valid, i))
            v = w->i64[i];
        else
            w->i64[i] = v;
    }
}

static uint64_t common_step(const int64_t *v, int n, int64_t min)
{
    uint64_t g = 0;
    for (int i = 0; i < n && g != 1; i++) {
        uint64_t d = (uint64_t)v[i] - (uint64_t)min;
        if (g == 0)
            g = d;
        else if (d % g)
            g = rt_gcd(g, d);
    }
    return g;
}

int rt_unsigned_width(uint64_t max)
{
    return max <= UINT8_MAX ? 1 : max <= UINT16_MAX ? 2 : max <= UINT32_MAX ? 4 : 8;
}

#define PACK(T) \
    for (int i = 0; i < n; i++) \
    ((T *)out)[i] = (T)((uint64_t)v[i] - (uint64_t)min)

static void pack_i64(void *out, const int64_t *v, int n, int64_t min, int width)
{
    switch (width) {
    case 0: break;
    case 1: PACK(uint8_t); break;
    case 2: PACK(uint16_t); break;
    case 4: PACK(uint32_t); break;
    default: PACK(uint64_t);
    }
}

static int pack_ints(struct rt_scratch *s, int column, struct hd_err *err)
{
    struct rt_work *w = &s->work;
    int64_t min = 0, max = 0;
    if (w->nulls < w->n) {
        if (w->nulls)
            cover_nulls_i64(w);
        min = max = w->i64[0];
        for (int i = 1; i < w->n; i++) {
            min = HD_MIN(min, w->i64[i]);
            max = HD_MAX(max, w->i64[i]);
        }
    }
    uint64_t range = (uint64_t)max - (uint64_t)min;
    int width = range ? rt_unsigned_width(range) : 0;
    int64_t at = extend(s, (size_t)w->n * (size_t)width, err);
    if (at < 0)
        return -1;
    pack_i64(s->image + at, w->i64, w->n, min, width);
    struct rt_chunk *c = header(s, column);
    c->form = RT_CHUNK_INT;
    c->width = (uint16_t)width;
    c->min = min;
    c->max = max;
    c->gcd = range ? common_step(w->i64, w->n, min) : 0;
    return 0;
}

/* Wide decimals are rare: kept as they are unless all of the slice fits the narrow form. */
static int pack_wide(struct rt_scratch *s, int column, struct hd_err *err)
{
    struct rt_work *w = &s->work;
    hd_i128 min = 0, max = 0;
    bool any = false;
    for (int i = 0; i < w->n; i++) {
        if (w->nulls && !rt_bit(w->valid, i)) {
            w->i128[i] = 0;
            continue;
        }
        min = any ? HD_MIN(min, w->i128[i]) : w->i128[i];
        max = any ? HD_MAX(max, w->i128[i]) : w->i128[i];
        any = true;
    }
    if (min >= INT64_MIN && max <= INT64_MAX) {
        for (int i = 0; i < w->n; i++) /* in place, front to back: element i is read before */
            w->i64[i] = (int64_t)w->i128[i];
        return pack_ints(s, column, err);
    }
    int64_t at = extend(s, (size_t)w->n * sizeof(hd_i128), err);
    if (at < 0)
        return -1;
    memcpy(s->image + at, w->i128, (size_t)w->n * sizeof(hd_i128));
    struct rt_chunk *c = header(s, column);
    c->form = RT_CHUNK_WIDE;
    c->width = sizeof(hd_i128);
    c->min = min;
    c->max = max;
    c->gcd = 1;
    return 0;
}

static int pack_floats(struct rt_scratch *s, int column, struct hd_err *err)
{
    struct rt_work *w = &s->work;
    bool single = w->form == RT_WORK_F32;
    size_t width = single ? sizeof(float) : sizeof(double);
    for (int i = 0; w->nulls && i < w->n; i++)
        if (!rt_bit(w->valid, i))
            memset((char *)w->f64 + (size_t)i * width, 0, width);
    int64_t at = extend(s, (size_t)w->n * width, err);
    if (at < 0)
        return -1;
    memcpy(s->image + at, w->f64, (size_t)w->n * width);
    header(s, column)->form = single ? RT_CHUNK_F32 : RT_CHUNK_F64;
    header(s, column)->width = (uint16_t)width;
    return 0;
}

/* Appends ends and bytes of n strings as two sections. */
static int pack_strings(struct rt_scratch *s, int column, const struct rt_str *v, uint32_t n, struct hd_err *err)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += v[i].n;
    if (bytes > UINT32_MAX)
        return HD_FAIL(err, UNSUPPORTED, NULL, "more than 4 GiB of text in %u rows", n);
    int64_t at = extend(s, n * sizeof(uint32_t), err);
    if (at < 0 || extend(s, (size_t)bytes, err) < 0)
        return -1;
    uint32_t *ends = (uint32_t *)(void *)(s->image + at), end = 0;
    char *out = s->image + s->n - bytes;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].n)
            memcpy(out + end, v[i].p, v[i].n);
        end += v[i].n;
        ends[i] = end;
    }
    header(s, column)->bytes = bytes;
    return 0;
}

static int pack_codes(struct rt_scratch *s, int column, struct hd_err *err)
{
    HD_TRY(pack_strings(s, column, s->set.v, s->set.n, err));
    int64_t at = extend(s, (size_t)s->work.n * sizeof(uint16_t), err);
    if (at < 0)
        return -1;
    uint16_t *out = (uint16_t *)(void *)(s->image + at);
    for (int i = 0; i < s->work.n; i++)
        out[i] = (uint16_t)s->work.codes[i];
    struct rt_chunk *c = header(s, column);
    c->form = RT_CHUNK_DICT;
    c->width = sizeof(uint16_t);
    c->entries = s->set.n;
    return 0;
}

/* Numbers the slice's strings; false where a dictionary does not pay. */
static int number_strings(struct rt_scratch *s, bool *fits, struct hd_err *err)
{
    struct rt_work *w = &s->work;
    *fits = false;
    for (int i = 0; i < w->n; i++) {
        if (w->nulls && !rt_bit(w->valid, i)) {
            w->codes[i] = 0;
            continue;
        }
        int64_t k = rt_strset_add(&s->set, w->str[i], err);
        if (k < 0)
            return -1;
        if (k > dict_grace(w->n) + i / 4)
            return 0;
        w->codes[i] = (uint32_t)k;
    }
    *fits = true;
    return 0;
}

static int pack_text(struct rt_scratch *s, int column, struct hd_err *err)
{
    struct rt_work *w = &s->work;
    bool fits;
    rt_strset_clear(&s->set);
    HD_TRY(number_strings(s, &fits, err));
    if (fits)
        return pack_codes(s, column, err);
    for (int i = 0; w->nulls && i < w->n; i++)
        if (!rt_bit(w->valid, i))
            w->str[i] = (struct rt_str){"", 0};
    header(s, column)->form = RT_CHUNK_TEXT;
    return pack_strings(s, column, w->str, (uint32_t)w->n, err);
}

/* Renumbers given codes over the entries that rows use. */
static int pack_given_codes(struct rt_scratch *s, int column, struct hd_err *err)
{
    enum { UNSEEN = -1 };
    struct rt_work *w = &s->work;
    int32_t *map = hd_try_malloc(HD_MAX(w->nentries, 1) * sizeof *map);
    if (!map)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for %u codes", w->nentries);
    for (uint32_t k = 0; k < w->nentries; k++)
        map[k] = UNSEEN;
    rt_strset_clear(&s->set);
    bool ok = true;
    for (int i = 0; ok && i < w->n; i++) {
        if (w->nulls && !rt_bit(w->valid, i)) {
            w->codes[i] = 0;
            continue;
        }
        int32_t *m = &map[w->codes[i]];
        if (*m == UNSEEN)
            *m = (int32_t)rt_strset_add(&s->set, w->entries[w->codes[i]], err);
        ok = *m >= 0;
        w->codes[i] = (uint32_t)*m;
    }
    free(map);
    return ok ? pack_codes(s, column, err) : -1;
}

static int pack_column(struct rt_scratch *s, int column, struct hd_err *err)
{
    switch (s->work.form) {
    case RT_WORK_I64: return pack_ints(s, column, err);
    case RT_WORK_I128: return pack_wide(s, column, err);
    case RT_WORK_F64:
    case RT_WORK_F32: return pack_floats(s, column, err);
    case RT_WORK_STR: return pack_text(s, column, err);
    case RT_WORK_CODES: return pack_given_codes(s, column, err);
    }
    return -1;
}

static int pack_validity(struct rt_scratch *s, int column, struct hd_err *err)
{
    struct rt_work *w = &s->work;
    size_t words = w->nulls ? ((size_t)w->n + 63) / 64 : 0;
    int64_t at = extend(s, words * 8, err);
    if (at < 0)
        return -1;
    if (words && w->n % 64)
        w->valid[words - 1] &= ~(uint64_t)0 >> (64 - w->n % 64);
    if (words)
        memcpy(s->image + at, w->valid, words * 8);
    header(s, column)->at = (uint64_t)at;
    header(s, column)->nulls = (uint32_t)w->nulls;
    return 0;
}

int rt_stage_slice(struct rt_scratch *s, const struct fe_table *t, const struct rt_row_source *source, int64_t from,
                   int n, struct hd_err *err)
{
    s->n = 0;
    size_t head = (size_t)t->ncols * sizeof(struct rt_chunk);
    if (extend(s, head, err) < 0)
        return -1;
    memset(s->image, 0, head);
    for (int c = 0; c < t->ncols; c++) {
        struct rt_work *w = &s->work;
        w->n = n;
        w->nulls = 0;
        source->fill(source, c, from, w);
        HD_TRY(pack_validity(s, c, err));
        HD_TRY(pack_column(s, c, err));
    }
    return 0;
}

size_t rt_stage_size(const struct rt_scratch *s)
{
    return s->n;
}

const void *rt_stage_image(struct rt_scratch *s, int ncols, uint64_t at)
{
    for (int c = 0; c < ncols; c++)
        header(s, c)->at += at;
    return s->image;
}

int rt_rows_check(const char *table, int64_t first_row, int64_t rows, int64_t most, struct hd_err *err)
{
    if (first_row < 0 || rows < 0)
        return HD_FAIL(err, USER, table, "bad row range: first row %lld, %lld rows", (long long)first_row,
                       (long long)rows);
    if (rows > most || first_row > most - rows)
        return HD_FAIL(err, UNSUPPORTED, table, "more than %lld rows in a table", (long long)most);
    return 0;
}

void rt_chunk_open(const char *staging, const struct rt_slice *s, int column, struct rt_chunk_view *out)
{
    const struct rt_chunk *c = (const struct rt_chunk *)(const void *)(staging + s->at) + column;
    uint64_t at = c->at;
    *out = (struct rt_chunk_view){.c = c, .rows = s->rows};
    if (c->nulls)
        out->valid = (const uint64_t *)(const void *)(staging + at);
    at = hd_align_up(at + (c->nulls ? (s->rows + 63) / 64 * 8 : 0), 16);
    if (c->form == RT_CHUNK_TEXT || c->form == RT_CHUNK_DICT) {
        uint32_t ends = c->form == RT_CHUNK_TEXT ? s->rows : c->entries;
        out->ends = (const uint32_t *)(const void *)(staging + at);
        at = hd_align_up(at + ends * sizeof(uint32_t), 16);
        out->bytes = staging + at;
        at = hd_align_up(at + c->bytes, 16);
    }
    out->values = staging + at;
}
