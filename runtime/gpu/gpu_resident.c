/* Parts of tables on the device. They are found by the table's number, so an address that comes back after a table is
 * gone means nothing. */
#include <stdlib.h>

#include "runtime/base/fault.h"
#include "runtime/exec/arg_values.h"
#include "runtime/gpu/gpu_internal.h"

struct resident {
    struct rt_part_key key;
    struct rt_source_rows rows; /* of the part that are there */
    struct rt_piece piece;
    uint64_t used; /* number of the execution that used it last */
};

struct rt_gpu_residents {
    struct resident *v;
    size_t n, cap;
    uint64_t now; /* number of the present execution */
    uint64_t filled; /* parts that were uploaded */
};

int rt_gpu_residents_new(struct rt_gpu *g, struct hd_err *err)
{
    g->residents = hd_try_calloc(1, sizeof *g->residents);
    return g->residents ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory");
}

static void drop(struct rt_gpu *g, size_t i)
{
    struct rt_gpu_residents *r = g->residents;
    rt_gpu_pool_release(g->pool, &r->v[i].piece);
    r->v[i] = r->v[--r->n];
}

void rt_gpu_residents_clear(struct rt_gpu *g)
{
    while (g->residents->n)
        drop(g, g->residents->n - 1);
}

void rt_gpu_residents_free(struct rt_gpu *g)
{
    if (!g->residents)
        return;
    rt_gpu_residents_clear(g);
    free(g->residents->v);
    free(g->residents);
    g->residents = NULL;
}

void rt_gpu_residents_begin(struct rt_gpu *g)
{
    g->residents->now++;
}

uint64_t rt_gpu_residents_filled(const struct rt_gpu *g)
{
    return g->residents->filled;
}

void rt_gpu_residents_forget(struct rt_gpu *g, uint64_t table_id)
{
    for (size_t i = g->residents->n; i-- > 0;)
        if (g->residents->v[i].key.table == table_id)
            drop(g, i);
}

static bool evict_oldest(struct rt_gpu *g, size_t *freed)
{
    struct rt_gpu_residents *r = g->residents;
    size_t oldest = r->n;
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].used != r->now && (oldest == r->n || r->v[i].used < r->v[oldest].used))
            oldest = i;
    if (oldest == r->n)
        return false;
    *freed += r->v[oldest].piece.n;
    drop(g, oldest);
    return true;
}

bool rt_gpu_evict(struct rt_gpu *g, size_t n)
{
    size_t freed = 0;
    while (freed < n && evict_oldest(g, &freed))
        ;
    return freed > 0;
}

/* ---- parts ----------------------------------------------------------------------------- */

/* Rows of a slice begin and end at multiples of this: no group of rows that is read at once is cut. */
enum { SLICE_ROWS = 4096, TEXT_ALIGN = 256 };
static const struct rt_source_rows ALL_ROWS = {0, UINT64_MAX};

struct part {
    const void *p;
    uint64_t before; /* bytes of the part in front of those of p */
    uint64_t n;
    uint64_t padded; /* bytes of the device's memory: n, zeros from there on */
    struct rt_source_rows rows;
};

/* Where the text of a row begins. */
static uint64_t text_begin(const struct fe_column_data *at, uint64_t row)
{
    const uint32_t *ends = at->data;
    uint64_t block = row >> FE_TEXT_BLOCK_SHIFT;
    return at->text_base[block] + (row & ((1u << FE_TEXT_BLOCK_SHIFT) - 1) ? ends[row - 1] : 0);
}

/* Where the bytes begin that are read of a row; of what has no rows there is one place. */
static uint64_t row_begin(const struct rt_arg *a, uint64_t row)
{
    const struct fe_table_column *c = &a->table->cols[a->column];
    switch (a->kind) {
    case RT_ARG_COL_DATA: return c->bits ? row / 8 * (uint64_t)c->bits : row * (uint64_t)c->width;
    case RT_ARG_COL_VALID: return row / 8;
    case RT_ARG_COL_TEXT_BYTES: return text_begin(&c->at, row) / TEXT_ALIGN * TEXT_ALIGN;
    case RT_ARG_FK_OFFSETS: return row * (uint64_t)a->table->fks[a->index].offset_width;
    case RT_ARG_COL_TEXT_BASE:
    case RT_ARG_DICT_OFFSETS:
    case RT_ARG_DICT_BYTES:
    case RT_ARG_KEYIDX_WORDS:
    case RT_ARG_KEYIDX_ROWS:
    case RT_ARG_FK_CHILD_ROWS: return 0;
#define T_ARG_MEMORY(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no memory", (int)a->kind);
}

static bool has_slices(const struct rt_arg *a)
{
    return a->kind == RT_ARG_COL_DATA || a->kind == RT_ARG_COL_VALID || a->kind == RT_ARG_COL_TEXT_BYTES ||
           a->kind == RT_ARG_FK_OFFSETS;
}

/* Rows that a slice has where those are read: also the one in front, whose text ends where the first one's begins. All,
 * where that is what it comes to. */
static struct rt_source_rows slice_rows(const struct rt_arg *a, struct rt_source_rows r)
{
    uint64_t all = (uint64_t)(a->kind == RT_ARG_FK_OFFSETS ? a->table->fks[a->index].parent->rows : a->table->rows);
    if (!has_slices(a) || r.end >= all)
        r.end = UINT64_MAX;
    else
        r.end = hd_align_up((size_t)r.end + 1, SLICE_ROWS);
    r.begin = r.begin && has_slices(a) ? (r.begin - 1) / SLICE_ROWS * SLICE_ROWS : 0;
    if (r.end >= all)
        r.end = UINT64_MAX;
    return r;
}

static struct part part_of(const struct rt_arg *a, struct rt_source_rows rows)
{
    struct part part = {.p = rt_arg_memory(a)};
    if (!part.p)
        return part;
    bool whole = !has_slices(a) || rows.end == UINT64_MAX;
    uint64_t end = whole ? rt_arg_bytes(a) : row_begin(a, rows.end), padded = end;
    if (a->kind == RT_ARG_COL_DATA && whole) /* a lane reads as many rows at once, beyond the last too */
        padded =
            fe_column_bytes(&a->table->cols[a->column], (int64_t)hd_align_up((size_t)a->table->rows, HDD_LANE_ROWS));
    if (a->kind == RT_ARG_COL_DATA && !whole && a->table->cols[a->column].bits)
        padded = end += FE_PACKED_BEYOND;
    if (a->kind == RT_ARG_COL_TEXT_BYTES && !whole)
        padded = end = HD_MIN(end + TEXT_ALIGN, rt_arg_bytes(a));
    part.before = has_slices(a) && rows.begin ? row_begin(a, rows.begin) : 0;
    part.p = (const char *)part.p + part.before;
    part.n = end - part.before;
    part.padded = padded - part.before;
    part.rows = rows;
    return part;
}

static bool of_column(enum rt_arg_kind k)
{
    return rt_arg_object(k) == RT_OBJECT_COLUMN || rt_arg_object(k) == RT_OBJECT_DICT;
}

/* ---- finding and uploading ------------------------------------------------------------- */

/* One with all of those rows. */
static struct resident *find(struct rt_gpu_residents *r, struct rt_part_key k, struct rt_source_rows rows)
{
    for (size_t i = 0; i < r->n; i++)
        if (rt_part_key_equal(r->v[i].key, k) && r->v[i].rows.begin <= rows.begin && r->v[i].rows.end >= rows.end)
            return &r->v[i];
    return NULL;
}

/* Slices that are not enough go, unless the present execution reads them; the one that comes has their rows, too. */
static struct rt_source_rows take_over(struct rt_gpu *g, struct rt_part_key k, struct rt_source_rows rows)
{
    struct rt_gpu_residents *r = g->residents;
    for (size_t i = r->n; i-- > 0;) {
        if (!rt_part_key_equal(r->v[i].key, k) || r->v[i].used == r->now)
            continue;
        rows.begin = HD_MIN(rows.begin, r->v[i].rows.begin);
        rows.end = HD_MAX(rows.end, r->v[i].rows.end);
        drop(g, i);
    }
    return rows;
}

static struct resident *add(struct rt_gpu_residents *r, struct rt_part_key k)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 64;
        struct resident *v = hd_try_realloc(r->v, cap * sizeof *v);
        if (!v)
            return NULL;
        r->v = v;
        r->cap = cap;
    }
    r->v[r->n] = (struct resident){.key = k, .used = r->now};
    return &r->v[r->n++];
}

static const char *part_name(const struct rt_arg *a)
{
    return of_column(a->kind) ? a->table->cols[a->column].name : "index";
}

static int no_room(const struct rt_gpu *g, const struct rt_arg *a, struct part part, struct hd_err *err)
{
    HD_TRY(rt_device_alive(g->d, err));
    return HD_FAIL(err, RESOURCE, NULL,
                   "the limit of %llu bytes of GPU memory is reached: %s.%s needs %llu "
                   "beside what else the plan reads",
                   (unsigned long long)rt_gpu_pool_budget(g->pool), a->table->name, part_name(a),
                   (unsigned long long)part.padded);
}

static int fill(struct rt_gpu *g, const struct rt_piece *piece, const struct part *part, struct hd_err *err)
{
    const struct rt_device_ops *ops = g->d->ops;
    size_t n = (size_t)part->n, rest = (size_t)part->padded - n;
    g->residents->filled++;
    if (rest)
        HD_TRY(ops->set(g->d, piece->address + n, 0, rest, err));
    return ops->upload(g->d, piece->address, part->p, n, err);
}

/* The piece becomes the part's, or is given back. */
static int keep(struct rt_gpu *g, struct rt_piece piece, struct part part, struct rt_part_key key,
                struct resident **out, struct hd_err *err)
{
    *out = NULL;
    if (fill(g, &piece, &part, err) == 0) {
        *out = add(g->residents, key);
        if (!*out)
            HD_FAIL(err, RESOURCE, NULL, "out of memory");
    }
    if (!*out) {
        rt_gpu_pool_release(g->pool, &piece);
        return -1;
    }
    (*out)->piece = piece;
    (*out)->rows = part.rows;
    return 0;
}

static int upload(struct rt_gpu *g, const struct rt_arg *a, struct part part, struct rt_part_key key,
                  struct resident **out, struct hd_err *err)
{
    struct rt_piece piece;
    while (!rt_gpu_pool_alloc(g->pool, (size_t)part.padded, &piece))
        if (!rt_gpu_evict(g, (size_t)part.padded))
            return no_room(g, a, part, err);
    return keep(g, piece, part, key, out, err);
}

struct rt_part_key rt_part_key_of(const struct rt_arg *a)
{
    return (struct rt_part_key){a->table->id, a->kind, of_column(a->kind) ? a->column : a->index};
}

/* Columns of a table of the device are there, and not ours; dictionaries are the host's. */
static bool is_lent(const struct rt_arg *a)
{
    return a->table->device && rt_arg_object(a->kind) != RT_OBJECT_DICT;
}

int rt_gpu_resident_rows(struct rt_gpu *g, const struct rt_arg *a, struct rt_source_rows read, uint64_t *address,
                         struct hd_err *err)
{
    struct rt_source_rows rows = slice_rows(a, read);
    struct rt_part_key key = rt_part_key_of(a);
    *address = 0;
    if (!rt_arg_memory(a))
        return 0;
    if (is_lent(a)) {
        *address = (uint64_t)(uintptr_t)rt_arg_memory(a);
        return 0;
    }
    struct resident *r = find(g->residents, key, rows);
    if (!r)
        HD_TRY(upload(g, a, part_of(a, take_over(g, key, rows)), key, &r, err));
    r->used = g->residents->now;
    *address = r->piece.address - part_of(a, r->rows).before;
    return 0;
}

int rt_gpu_resident(struct rt_gpu *g, const struct rt_arg *a, uint64_t *address, struct hd_err *err)
{
    return rt_gpu_resident_rows(g, a, ALL_ROWS, address, err);
}

/* ---- before an execution needs them ---------------------------------------------------- */

uint64_t rt_gpu_resident_bytes(const struct rt_arg *a)
{
    struct part part = part_of(a, ALL_ROWS);
    return part.p && !is_lent(a) ? part.padded : 0;
}

bool rt_gpu_is_resident(struct rt_gpu *g, const struct rt_arg *a)
{
    return rt_gpu_resident_bytes(a) == 0 || find(g->residents, rt_part_key_of(a), ALL_ROWS);
}

int rt_gpu_resident_fetch(struct rt_gpu *g, const struct rt_arg *a, bool *room, struct hd_err *err)
{
    struct resident *r;
    struct rt_piece piece;
    bool there = rt_gpu_is_resident(g, a);
    *room = there || rt_gpu_pool_alloc(g->pool, (size_t)rt_gpu_resident_bytes(a), &piece);
    return there || !*room ? 0 : keep(g, piece, part_of(a, ALL_ROWS), rt_part_key_of(a), &r, err);
}
