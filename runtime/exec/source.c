#include "runtime/exec/source.h"

#include "frontend/catalog.h"
#include "runtime/base/util.h"
#include "runtime/store/store_column.h"

/* Sets ascend. */
static hd_i128 end_value(const struct rt_end *e, const struct rt_arg *a)
{
    if (a->kind != RT_ARG_SET)
        return a->i;
    int at = e->lower ? 0 : a->nset - 1;
    return a->phys == RT_I32 ? ((const int32_t *)a->set)[at] : ((const int64_t *)a->set)[at];
}

/* Whether a value lies behind an end, on the side of larger ones. */
static bool is_behind(const struct rt_end *e, hd_i128 value, hd_i128 of_end)
{
    return e->lower == e->strict ? value > of_end : value >= of_end;
}

/* The first of [begin, end) that lies behind; its values ascend. */
static uint64_t find_end(const struct rt_pipeline *p, const struct rt_end *e, hd_i128 of_end, uint64_t begin,
                         uint64_t end)
{
    const struct fe_table_column *c = &p->table->cols[e->column];
    while (begin < end) {
        uint64_t middle = begin + (end - begin) / 2;
        if (is_behind(e, rt_col_int(c, (int64_t)middle), of_end))
            end = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

/* Of rows [begin, end) those between the pipeline's ends. */
static struct rt_source_rows between_ends(const struct rt_spec *s, const struct rt_pipeline *p, struct rt_source_rows r)
{
    for (int i = 0; i < p->nends; i++) {
        uint64_t at = find_end(p, &p->ends[i], end_value(&p->ends[i], &s->args[p->ends[i].arg]), r.begin, r.end);
        *(p->ends[i].lower ? &r.begin : &r.end) = at;
    }
    return r;
}

int64_t rt_source_first(const struct rt_spec *s, const struct rt_pipeline *p)
{
    return (int64_t)between_ends(s, p, (struct rt_source_rows){0, (uint64_t)p->table->rows}).begin;
}

struct rt_source_rows rt_source_span(const struct rt_spec *s, const struct rt_pipeline *p, struct rt_fragment f,
                                     uint64_t n)
{
    struct rt_source_rows all = {rt_fragment_begin(f, n), rt_fragment_end(f, n)}, r = between_ends(s, p, all);
    r.begin = HD_MAX(all.begin, r.begin / RT_FRAGMENT_ROWS * RT_FRAGMENT_ROWS);
    return r.begin < r.end ? r : (struct rt_source_rows){all.begin, all.begin};
}

struct rt_source_rows rt_source_piece(const struct rt_pipeline *p, uint64_t begin, uint64_t end)
{
    const struct rt_zoning *z = &p->zones;
    int lo = 0, hi = z->nranges;
    if (!z->nconditions)
        return (struct rt_source_rows){begin, end};
    while (lo < hi) { /* the first that ends behind `begin` */
        int mid = lo + (hi - lo) / 2;
        if (z->ranges[mid].end > begin)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo == z->nranges || z->ranges[lo].begin >= end)
        return (struct rt_source_rows){end, end};
    return (struct rt_source_rows){HD_MAX(begin, z->ranges[lo].begin), HD_MIN(end, z->ranges[lo].end)};
}

uint64_t rt_source_visited(const struct rt_pipeline *p, uint64_t begin, uint64_t end)
{
    uint64_t rows = 0;
    while (begin < end) {
        struct rt_source_rows piece = rt_source_piece(p, begin, end);
        rows += piece.end - piece.begin;
        begin = piece.end;
    }
    return rows;
}

static struct rt_source_rows rows_of_scan(const struct rt_spec *s, const struct rt_arg *a, const struct rt_scan *scan)
{
    const struct rt_pipeline *p = &s->pipelines[scan->pipeline];
    struct rt_source_rows r = rt_source_span(s, p, (struct rt_fragment){0, 1}, (uint64_t)p->table->rows);
    if (scan->fk < 0)
        return r;
    const struct fe_foreign_key *fk = &a->table->fks[scan->fk];
    return (struct rt_source_rows){fe_fk_offset(fk, (int64_t)r.begin), fe_fk_offset(fk, (int64_t)r.end)};
}

struct rt_source_rows rt_arg_rows(const struct rt_spec *s, const struct rt_arg *a)
{
    struct rt_source_rows all = {0, UINT64_MAX}, r = {UINT64_MAX, 0};
    for (int i = 0; i < a->nscans; i++) {
        struct rt_source_rows one = rows_of_scan(s, a, &a->scans[i]);
        if (one.begin < one.end)
            r = (struct rt_source_rows){HD_MIN(r.begin, one.begin), HD_MAX(r.end, one.end)};
    }
    if (a->nscans && r.begin >= r.end)
        return (struct rt_source_rows){0, 0};
    return a->nscans ? r : all;
}
