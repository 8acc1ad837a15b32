/* Staged rows, read again. */
#include <string.h>

#include "runtime/store/store_segments.h"

int wr_staged_open(const struct rt_writer *w, const struct wr_table *x, struct wr_staged *out, struct hd_err *err)
{
    *out = (struct wr_staged){.x = x, .rows = x->ranges.n ? x->ranges.v[0].to : 0};
    for (int lane = 0; lane < WR_LANES; lane++) {
        char path[RT_PATH_MAX];
        if (x->stages[lane].fd < 0)
            continue;
        wr_stage_path(w, x, lane, path);
        HD_TRY(rt_file_map(path, &out->maps[lane], err));
    }
    return 0;
}

void wr_staged_close(struct wr_staged *s)
{
    for (int lane = 0; lane < WR_LANES; lane++)
        rt_map_release(&s->maps[lane]);
}

/* The slice that has the row. */
static size_t slice_of(const struct wr_staged *s, int64_t row)
{
    size_t lo = 0, hi = s->x->nslices;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->x->slices[mid].first_row <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void view(const struct wr_staged *s, size_t slice, int column, struct rt_chunk_view *out)
{
    const struct rt_slice *x = &s->x->slices[slice];
    rt_chunk_open(s->maps[x->lane].p, x, column, out);
}

static uint64_t unsigned_at(const struct rt_chunk_view *v, int64_t i)
{
    switch (v->c->width) {
    case 0: return 0;
    case 1: return ((const uint8_t *)v->values)[i];
    case 2: return ((const uint16_t *)v->values)[i];
    case 4: return ((const uint32_t *)v->values)[i];
    default: return ((const uint64_t *)v->values)[i];
    }
}

int64_t wr_staged_value(const struct wr_staged *s, int column, int64_t row)
{
    size_t slice = slice_of(s, row);
    struct rt_chunk_view v;
    view(s, slice, column, &v);
    HD_ASSERT(v.c->form == RT_CHUNK_INT);
    return (int64_t)((uint64_t)(int64_t)v.c->min + unsigned_at(&v, row - s->x->slices[slice].first_row));
}

bool wr_staged_ascends(const struct wr_staged *s, size_t slice, int column, int64_t last)
{
    struct rt_chunk_view v;
    view(s, slice, column, &v);
    for (uint32_t i = 0; i < v.rows; i++) {
        int64_t x = (int64_t)((uint64_t)(int64_t)v.c->min + unsigned_at(&v, i));
        if (x < last)
            return false;
        last = x;
    }
    return true;
}

int64_t wr_staged_find(const struct wr_staged *s, int column, int64_t v)
{
    int64_t lo = 0, hi = s->rows;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (wr_staged_value(s, column, mid) < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ---- as a source ------------------------------------------------------------------------------- */

/* Rows [from, from + n) of a chunk, to place `at` of the work. */
static void fill_numbers(const struct rt_chunk_view *v, int64_t from, int n, int at, struct rt_work *w)
{
    bool wide = v->c->form == RT_CHUNK_WIDE;
    for (int i = 0; i < n; i++) {
        hd_i128 x = wide ? ((const hd_i128 *)v->values)[from + i] : v->c->min + (hd_i128)unsigned_at(v, from + i);
        if (w->form == RT_WORK_I128)
            w->i128[at + i] = x;
        else
            w->i64[at + i] = (int64_t)x;
    }
}

static void fill_texts(const struct rt_chunk_view *v, int64_t from, int n, int at, struct rt_work *w)
{
    const uint16_t *codes = v->c->form == RT_CHUNK_DICT ? v->values : NULL;
    for (int i = 0; i < n; i++) {
        int64_t k = codes ? codes[from + i] : from + i;
        uint32_t start = k ? v->ends[k - 1] : 0;
        bool null = v->valid && !rt_bit(v->valid, from + i);
        w->str[at + i] = null ? (struct rt_str){"", 0} : (struct rt_str){v->bytes + start, v->ends[k] - start};
    }
}

static void fill_nulls(const struct rt_chunk_view *v, int64_t from, int n, int at, struct rt_work *w)
{
    for (int i = 0; i < n; i++) {
        uint64_t bit = (uint64_t)1 << ((at + i) & 63);
        bool valid = !v->valid || rt_bit(v->valid, from + i);
        w->valid[(at + i) >> 6] = valid ? w->valid[(at + i) >> 6] | bit : w->valid[(at + i) >> 6] & ~bit;
        w->nulls += !valid;
    }
}

static void fill_part(const struct rt_chunk_view *v, int64_t from, int n, int at, struct rt_work *w)
{
    fill_nulls(v, from, n, at, w);
    switch ((enum rt_chunk_form)v->c->form) {
    case RT_CHUNK_INT:
    case RT_CHUNK_WIDE: fill_numbers(v, from, n, at, w); return;
    case RT_CHUNK_F64: memcpy(w->f64 + at, (const double *)v->values + from, (size_t)n * sizeof(double)); return;
    case RT_CHUNK_F32: memcpy(w->f32 + at, (const float *)v->values + from, (size_t)n * sizeof(float)); return;
    case RT_CHUNK_TEXT:
    case RT_CHUNK_DICT: fill_texts(v, from, n, at, w); return;
    }
    HD_BUG("chunk of form %d", (int)v->c->form);
}

static enum rt_work_form work_form(const struct wr_staged *s, size_t slice, int column, int64_t to)
{
    enum rt_work_form form = RT_WORK_I64;
    for (; slice < s->x->nslices && s->x->slices[slice].first_row < to; slice++) {
        struct rt_chunk_view v;
        view(s, slice, column, &v);
        switch ((enum rt_chunk_form)v.c->form) {
        case RT_CHUNK_INT: break; /* others may be wide */
        case RT_CHUNK_WIDE: return RT_WORK_I128;
        case RT_CHUNK_F64: return RT_WORK_F64;
        case RT_CHUNK_F32: return RT_WORK_F32;
        case RT_CHUNK_TEXT:
        case RT_CHUNK_DICT: return RT_WORK_STR;
        }
    }
    return form;
}

static void fill(const struct rt_row_source *source, int column, int64_t from, struct rt_work *w)
{
    const struct wr_staged_source *x = (const struct wr_staged_source *)(const void *)source;
    const struct wr_staged *s = x->staged;
    int64_t row = x->first + from, end = row + w->n;
    size_t slice = slice_of(s, row);
    w->form = work_form(s, slice, column, end);
    for (int at = 0; row < end; slice++) {
        const struct rt_slice *y = &s->x->slices[slice];
        struct rt_chunk_view v;
        int n = (int)(HD_MIN(end, y->first_row + y->rows) - row);
        view(s, slice, column, &v);
        fill_part(&v, row - y->first_row, n, at, w);
        row += n;
        at += n;
    }
}

struct wr_staged_source wr_staged_source(const struct wr_staged *s, int64_t first)
{
    return (struct wr_staged_source){.base = {fill}, .staged = s, .first = first};
}
