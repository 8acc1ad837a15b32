/* The first rows of each group: of rows that are sorted, and of those that a worker has in its buffer so far, where most
 * are known not to be among them. */
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/sort.h"

/* Sorted rows, one behind the other or by entries. */
struct sorted {
    const struct rt_sorter *o;
    const struct rt_top *top;
    const unsigned char *rows;
    size_t stride;
    const struct rt_sort_entry *e;
    uint64_t offset, wanted; /* ranks in a group: from where on rows stay, and up to where */
};

static const unsigned char *row_at(const struct sorted *s, uint64_t i)
{
    return s->e ? s->e[i].row : s->rows + i * s->stride;
}

static bool same_bytes(enum rt_phys phys, const unsigned char *a, const unsigned char *b)
{
    switch (phys) {
    case RT_BOOL: return *a == *b;
    case RT_I32:
    case RT_F32: return memcmp(a, b, 4) == 0;
    case RT_I64:
    case RT_F64: return memcmp(a, b, 8) == 0;
    case RT_I128: return memcmp(a, b, 16) == 0;
    case RT_STR: return false;
    }
    HD_BUG("physical type %d", (int)phys);
}

/* Whether the first keys are equal. The same bytes are the same value; other ones may be, of floats and strings. */
static bool same_keys(const struct rt_sorter *o, int nkeys, const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < nkeys; i++) {
        const struct rt_field *f = &o->s->fields[o->s->sort[i].field];
        bool bytes = same_bytes(f->phys, a + f->offset, b + f->offset);
        bool valid = f->valid_offset < 0 || (a[f->valid_offset] && b[f->valid_offset]);
        if (bytes && valid)
            continue;
        if (valid && f->phys != RT_STR && !rt_phys_is_float(f->phys))
            return false;
        if (rt_sort_compare_keys(o, i, i + 1, a, b) != 0)
            return false;
    }
    return true;
}

static bool same(const struct sorted *s, int nkeys, uint64_t i, uint64_t j)
{
    return i == j || same_keys(s->o, nkeys, row_at(s, i), row_at(s, j));
}

/* At least so many rows of its group come before row i. */
static bool is_behind(const struct sorted *s, uint64_t i, uint64_t rank)
{
    return i >= rank && same(s, s->top->ngroup, i, i - rank);
}

/* The first of the rows that have row i's stated keys: by steps that double, then by halves. */
static uint64_t first_tied(const struct sorted *s, uint64_t i)
{
    int n = s->top->nstated;
    uint64_t at = i, step = 1;
    for (; at >= step && same(s, n, i, at - step); step *= 2)
        at -= step;
    uint64_t from = at >= step ? at - step + 1 : 0;
    while (from < at) {
        uint64_t mid = from + (at - from) / 2;
        if (same(s, n, i, mid))
            at = mid;
        else
            from = mid + 1;
    }
    return at;
}

static bool stays(const struct sorted *s, uint64_t i)
{
    if (s->wanted == s->offset || !is_behind(s, i, s->offset))
        return false;
    if (!is_behind(s, i, s->wanted))
        return true;
    return s->top->keep && !is_behind(s, first_tied(s, i), s->wanted);
}

static uint64_t wanted_rows(const struct rt_top *t)
{
    return (uint64_t)t->limit + (uint64_t)t->offset;
}

/* ---- while rows come ------------------------------------------------------------------------------- */

enum {
    FIRST_ROWS = 4096, /* of a buffer, at least */
    BUFFER_MAX = 32 << 20, /* bytes; what is left of a larger one is put aside */
    LISTED = 128 /* most rows of a group that are kept in a list */
};

static unsigned char *buffer_rows(const struct rt_live *v, const struct rt_local *l)
{
    return (unsigned char *)l->u.rows.end - l->chunk * (size_t)v->s->stride;
}

static uint64_t buffered(const struct rt_live *v, const struct rt_local *l)
{
    return (uint64_t)((unsigned char *)l->u.rows.cur - buffer_rows(v, l)) / (uint64_t)v->s->stride;
}

/* Rows that stay move together, in their order. */
static void compact(const struct rt_live *v, struct rt_local *l, uint64_t from, uint64_t n, const unsigned char *drop)
{
    size_t stride = (size_t)v->s->stride;
    unsigned char *rows = buffer_rows(v, l), *to = rows + from * stride;
    for (uint64_t i = from; i < n; i++) {
        if (drop[i])
            continue;
        if (to != rows + i * stride)
            memcpy(to, rows + i * stride, stride);
        to += stride;
    }
    l->u.rows.cur = to;
}

static double real_of(enum rt_phys phys, const unsigned char *at)
{
    double d;
    float f;
    if (phys == RT_F32) {
        memcpy(&f, at, sizeof f);
        return (double)f;
    }
    memcpy(&d, at, sizeof d);
    return d;
}

/* The first key of the order as a number: of two rows the one with the smaller number comes first; NULLs may equal the
 * smallest or the largest value. Other types than these are one number. */
static uint64_t rank_of(const struct rt_sorter *o, int key, const unsigned char *row)
{
    const uint64_t sign = (uint64_t)1 << 63;
    const struct rt_sort_key *k = &o->s->sort[key];
    const struct rt_field *f = &o->s->fields[k->field];
    uint64_t v = 0;
    int32_t i32;
    double d;
    if (f->valid_offset >= 0 && !row[f->valid_offset])
        return k->nulls_first ? 0 : UINT64_MAX;
    if (f->phys == RT_I32) {
        memcpy(&i32, row + f->offset, sizeof i32);
        v = (uint64_t)(int64_t)i32 ^ sign;
    } else if (f->phys == RT_I64) {
        memcpy(&v, row + f->offset, sizeof v);
        v ^= sign;
    } else if (f->phys == RT_F64 || f->phys == RT_F32) {
        d = real_of(f->phys, row + f->offset) + 0.0; /* no -0 */
        memcpy(&v, &d, sizeof v);
        v = d != d ? UINT64_MAX : v & sign ? ~v : v | sign;
    } else {
        return 0;
    }
    return k->desc ? ~v : v;
}

/* The best rows of the group that rows are of, in order. */
struct best {
    const unsigned char *row[LISTED];
    uint64_t n, wanted;
    uint64_t rank; /* of the last one of as many as are wanted; else the largest */
};

/* Whether the row can be among the first ones; *out: the row that cannot any more since it came. */
static bool enters(const struct rt_sorter *o, const struct rt_top *t, struct best *b, const unsigned char *row,
                   const unsigned char **out)
{
    int all = o->s->nsort;
    *out = NULL;
    if (b->n == b->wanted) {
        int c = rt_sort_compare_keys(o, t->ngroup, t->keep ? t->nstated : all, row, b->row[b->n - 1]);
        if (c > 0 || (c == 0 && !t->keep))
            return false;
        *out = t->keep ? NULL : b->row[b->n - 1];
        b->n--;
    }
    uint64_t i = b->n++;
    for (; i > 0 && rt_sort_compare_keys(o, t->ngroup, all, row, b->row[i - 1]) < 0; i--)
        b->row[i] = b->row[i - 1];
    b->row[i] = row;
    if (b->n == b->wanted)
        b->rank = rank_of(o, t->ngroup, b->row[b->n - 1]);
    return true;
}

/* Where rows of a group come one after the other: a short list of its best rows says of nearly all that they are not
 * among them, by a comparison or two. */
static void drop_in_runs(const struct rt_live *v, struct rt_local *l, unsigned char *drop)
{
    const struct rt_top *t = v->s->top;
    size_t stride = (size_t)v->s->stride;
    const unsigned char *rows = buffer_rows(v, l), *out;
    uint64_t n = buffered(v, l);
    struct best b = {.wanted = wanted_rows(t)};
    memset(drop, 0, n);
    for (uint64_t i = l->kept; i < n; i++) {
        const unsigned char *row = rows + i * stride;
        if (i == l->kept || !same_keys(v->sorter, t->ngroup, row, row - stride)) {
            b.n = 0;
            b.rank = UINT64_MAX;
        }
        out = NULL;
        drop[i] = rank_of(v->sorter, t->ngroup, row) > b.rank || !enters(v->sorter, t, &b, row, &out);
        if (out)
            drop[(size_t)(out - rows) / stride] = 1;
    }
    compact(v, l, l->kept, n, drop);
}

/* ---- marks ------------------------------------------------------------------------------------------ */

/* Where rows of groups come one among the other, the last one that stays of each group is marked once rows have been
 * sorted, at a place that its group's hash names, one behind its number in the buffer. Nothing that comes later and sorts
 * behind the mark of its group stays. A mark that another one has replaced only lets rows through. */
static uint32_t *marks_of(const struct rt_local *l)
{
    return (uint32_t *)((struct rt_sort_entry *)l->scratch.p + l->chunk);
}

static unsigned char *drops_of(const struct rt_local *l)
{
    return (unsigned char *)(marks_of(l) + l->chunk);
}

static uint64_t mark_place(const struct rt_live *v, const struct rt_local *l, const unsigned char *row)
{
    uint64_t h = HDD_HASH_SEED;
    for (int i = 0; i < v->s->top->ngroup; i++) {
        const struct rt_field *f = &v->s->fields[v->s->sort[i].field];
        bool valid = f->valid_offset < 0 || row[f->valid_offset];
        h = valid ? rt_hash_value(h, f->phys, row + f->offset) : hdd_mix(h ^ HDD_HASH_NULL);
    }
    return (uint64_t)(((hd_u128)h * l->chunk) >> 64);
}

/* Of the rows that have come since, those behind the mark of their group. */
static void drop_behind_marks(const struct rt_live *v, struct rt_local *l, unsigned char *drop)
{
    const struct rt_top *t = v->s->top;
    size_t stride = (size_t)v->s->stride;
    const unsigned char *rows = buffer_rows(v, l);
    const uint32_t *marks = marks_of(l);
    uint64_t n = buffered(v, l);
    int nkeys = t->keep ? t->nstated : v->s->nsort;
    for (uint64_t i = l->kept; i < n; i++) {
        const unsigned char *row = rows + i * stride;
        uint32_t m = marks[mark_place(v, l, row)];
        const unsigned char *mark = m ? rows + (m - 1) * stride : NULL;
        drop[i] = mark && same_keys(v->sorter, t->ngroup, row, mark) &&
                  rt_sort_compare_keys(v->sorter, t->ngroup, nkeys, row, mark) > 0;
    }
    compact(v, l, l->kept, n, drop);
}

/* Marks of n sorted rows, before they move together. */
static void set_marks(const struct rt_live *v, struct rt_local *l, const struct sorted *s, uint64_t n,
                      struct rt_sort_entry *e, const unsigned char *drop)
{
    size_t stride = (size_t)v->s->stride;
    const unsigned char *rows = buffer_rows(v, l);
    uint32_t *marks = marks_of(l), *place = (uint32_t *)e; /* entries are read no more by then */
    memset(marks, 0, l->chunk * sizeof *marks);
    for (uint64_t i = 0; i < n; i++)
        if (is_behind(s, i, s->wanted - 1) && !is_behind(s, i, s->wanted))
            marks[mark_place(v, l, row_at(s, i))] = (uint32_t)((size_t)(row_at(s, i) - rows) / stride) + 1;
    for (uint64_t i = 0, stay = 0; i < n; i++)
        place[i] = (uint32_t)(stay += !drop[i]);
    for (uint64_t k = 0; k < l->chunk; k++)
        if (marks[k])
            marks[k] = place[marks[k] - 1];
}

static void drop_sorted(const struct rt_live *v, struct rt_local *l, struct rt_sort_entry *e, unsigned char *drop)
{
    size_t stride = (size_t)v->s->stride;
    const unsigned char *rows = buffer_rows(v, l);
    uint64_t n = buffered(v, l);
    struct sorted s = {.o = v->sorter, .top = v->s->top, .e = e, .wanted = wanted_rows(v->s->top)};
    for (uint64_t i = 0; i < n; i++)
        rt_sort_entry(v->sorter, rows + i * stride, &e[i]);
    rt_sort_entries(v->sorter, e, n);
    for (uint64_t i = 0; i < n; i++)
        drop[(size_t)(e[i].row - rows) / stride] = !stays(&s, i);
    set_marks(v, l, &s, n, e, drop);
    compact(v, l, 0, n, drop);
    l->marked = buffered(v, l);
}

/* Where the rows of the last row's group begin. */
static uint64_t last_run(const struct rt_live *v, const struct rt_local *l)
{
    size_t stride = (size_t)v->s->stride;
    const unsigned char *rows = buffer_rows(v, l), *row = l->u.rows.cur;
    if (row == rows)
        return 0;
    for (row -= stride; row > rows; row -= stride)
        if (rt_sort_compare_keys(v->sorter, 0, v->s->top->ngroup, row, row - stride) != 0)
            break;
    return (uint64_t)(row - rows) / (uint64_t)stride;
}

void rt_top_prune(struct rt_live *v, struct rt_local *l)
{
    unsigned char *drop = drops_of(l);
    uint64_t wanted = wanted_rows(v->s->top);
    if (wanted == 0)
        l->u.rows.cur = buffer_rows(v, l);
    if (l->marked)
        drop_behind_marks(v, l, drop);
    if (wanted && wanted <= LISTED)
        drop_in_runs(v, l, drop);
    if (buffered(v, l) > l->chunk / 2)
        drop_sorted(v, l, l->scratch.p, drop);
    l->kept = HD_MAX(last_run(v, l), l->marked);
}

static bool make_buffer(struct rt_worker *w, struct rt_local *l, uint64_t rows, size_t stride)
{
    struct rt_block old = l->buffer;
    size_t bytes = old.p ? (size_t)((unsigned char *)l->u.rows.cur - (unsigned char *)old.p) : 0;
    l->buffer = (struct rt_block){.p = NULL};
    rt_block_free(&w->x->memory, &l->scratch);
    bool ok =
        rt_block_new(&w->x->memory, rows * (sizeof(struct rt_sort_entry) + sizeof(uint32_t) + 1), false, &l->scratch) &&
        rt_block_new(&w->x->memory, rows * stride, false, &l->buffer);
    if (ok && bytes)
        memcpy(l->buffer.p, old.p, bytes);
    rt_block_free(&w->x->memory, &old);
    if (!ok)
        return false;
    l->chunk = rows;
    l->marked = 0;
    l->u.rows.cur = (unsigned char *)l->buffer.p + bytes;
    l->u.rows.end = (unsigned char *)l->buffer.p + rows * stride;
    return true;
}

/* What can be dropped only when all rows are there. */
static bool put_aside(struct rt_worker *w, struct rt_live *v, struct rt_local *l)
{
    unsigned char *rows = buffer_rows(v, l);
    size_t bytes = (size_t)((unsigned char *)l->u.rows.cur - rows);
    void *to = rt_region_alloc(&w->x->memory, &v->region, bytes);
    if (!to)
        return false;
    memcpy(to, rows, bytes);
    l->u.rows.cur = rows;
    l->kept = l->marked = 0;
    return true;
}

int32_t rt_top_grow(struct rt_worker *w, struct rt_live *v, struct rt_local *l, int state)
{
    size_t stride = (size_t)v->s->stride;
    bool ok = true;
    if (!l->buffer.p) {
        ok = make_buffer(w, l, HD_MAX((uint64_t)FIRST_ROWS, 4 * wanted_rows(v->s->top)), stride);
    } else {
        rt_top_prune(v, l);
        if (buffered(v, l) > l->chunk / 2)
            ok = l->chunk * stride <= BUFFER_MAX / 2 ? make_buffer(w, l, 2 * l->chunk, stride) : put_aside(w, v, l);
    }
    return ok ? 0 : rt_worker_fail(w, RT_FAIL_MEMORY, state);
}

/* ---- once they are sorted --------------------------------------------------------------------------- */

struct choosing {
    struct sorted s;
    struct rt_cut cut;
    unsigned char *keep; /* [row] */
    uint64_t *counts; /* [task]: rows that stay, then where they go */
    unsigned char *out;
};

static void choose_task(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct choosing *c = context;
    uint64_t n = 0;
    for (uint64_t i = task * c->cut.size; i < rt_cut_end(&c->cut, task); i++)
        n += c->keep[i] = stays(&c->s, i);
    c->counts[task] = n;
}

static void copy_task(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct choosing *c = context;
    unsigned char *to = c->out + c->counts[task] * c->s.stride;
    for (uint64_t i = task * c->cut.size; i < rt_cut_end(&c->cut, task); i++)
        if (c->keep[i]) {
            memcpy(to, row_at(&c->s, i), c->s.stride);
            to += c->s.stride;
        }
}

static int choose_rows(struct rt_exec *x, struct rt_live *v, struct choosing *c, struct rt_block *out)
{
    uint64_t total = 0;
    HD_TRY(rt_exec_parallel(x, c->cut.ntasks, choose_task, c));
    for (uint64_t task = 0; task < c->cut.ntasks; task++) {
        uint64_t n = c->counts[task];
        c->counts[task] = total;
        total += n;
    }
    HD_TRY(rt_exec_block(x, v->s, total * c->s.stride, false, out));
    c->out = out->p;
    HD_TRY(rt_exec_parallel(x, c->cut.ntasks, copy_task, c));
    rt_block_free(&x->memory, &v->moved);
    v->moved = *out;
    *out = (struct rt_block){.p = NULL};
    v->rows = v->moved.p;
    v->nrows = total;
    return 0;
}

int rt_finish_top(struct rt_exec *x, struct rt_live *v)
{
    struct rt_block keep = {.p = NULL}, counts = {.p = NULL}, out = {.p = NULL};
    struct choosing c = {.s = {.o = v->sorter,
                               .top = v->s->top,
                               .rows = v->rows,
                               .stride = (size_t)v->s->stride,
                               .offset = (uint64_t)v->s->top->offset,
                               .wanted = wanted_rows(v->s->top)},
                         .cut = rt_cut(x, v->nrows, 4096)};
    if (v->nrows == 0)
        return 0;
    int rc = rt_exec_block(x, v->s, v->nrows, false, &keep);
    if (rc == 0)
        rc = rt_exec_block(x, v->s, c.cut.ntasks * sizeof *c.counts, false, &counts);
    c.keep = keep.p;
    c.counts = counts.p;
    if (rc == 0)
        rc = choose_rows(x, v, &c, &out);
    rt_block_free(&x->memory, &keep);
    rt_block_free(&x->memory, &counts);
    rt_block_free(&x->memory, &out);
    return rc;
}
