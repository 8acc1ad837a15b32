/* Sums of the distinct values of frames, and how many there are. Of the rows of a frame that begins with row b, those
 * count whose value was last there in front of b: of rows from .. to - 1 those with a key below a limit (Wesley, Xu,
 * Incremental Computation of Common Windowed Holistic Aggregates, 2016; Vogelsgesang and others, 2022, section 4.2). A walk
 * down a wavelet matrix of the keys tells how many: at each level with a bit of the limit, rows of the frame without it
 * are below the limit, and neighbours, whose sum a tree beside the level has. O(log n) for a count, O(log^2 n) for a sum.
 *
 * A frame that leaves rows out is two stretches, with a gap: S, from b on, and T, behind the gap. A row of T counts as
 * well if its value was last in the gap, and before that in front of b; then the value's last row in the gap has its next
 * one in T. Frames of the rows of a gap move in one direction, so from some row on these rows have such a frame: with the
 * number of that row as a key, of the gap's rows those with a key up to the own row's number count. */
#include <stdatomic.h>

#include "runtime/exec/frames.h"

enum { FAN_OUT = 16, LEVELS = 9, NODE_MAX = sizeof(hd_i128) };

/* Two stretches of rows, as places of the level, and the limit. */
struct walk {
    uint32_t lo[2], hi[2], limit;
};

struct distinct {
    struct rt_ranked *r;
    const struct rt_frame *f;
    struct walk *walk;
    uint32_t *key, *gap_key; /* of rows; `never`: there is none */
    _Atomic uint32_t never; /* the number of rows of the largest partition, which no limit is above */
    bool running; /* frames begin where their partition does */
    bool in_gaps; /* which keys the matrix has */
    unsigned char *sums; /* of the level, for one field: */
    int field, nlevels, level;
    uint64_t at[LEVELS + 1]; /* nodes of a level of the tree */
    hd_i128 *total; /* of each task */
    struct rt_cut cut;
};

/* ---- values --------------------------------------------------------------------------------------------------- */

static const struct rt_field *field_of(const struct distinct *d)
{
    return &d->r->v->s->fields[d->field];
}

static bool is_count(const struct distinct *d)
{
    return field_of(d)->frame->y < 0;
}

static size_t size_of(const struct distinct *d)
{
    return (size_t)rt_phys_size(field_of(d)->phys);
}

static bool is_xor(const struct distinct *d)
{
    return d->r->v->s->merge[d->field] == RT_MERGE_DISTINCT_XOR;
}

static void add(const struct distinct *d, void *to, const void *from)
{
    hd_i128 wide, more;
    int64_t a, b;
    double x, y;
    switch (field_of(d)->phys) {
    case RT_I64:
        memcpy(&a, to, sizeof a);
        memcpy(&b, from, sizeof b);
        a = is_xor(d) ? a ^ b : (int64_t)((uint64_t)a + (uint64_t)b);
        memcpy(to, &a, sizeof a);
        return;
    case RT_I128:
        memcpy(&wide, to, sizeof wide);
        memcpy(&more, from, sizeof more);
        wide = (hd_i128)((unsigned __int128)wide + (unsigned __int128)more);
        memcpy(to, &wide, sizeof wide);
        return;
    case RT_F64:
        memcpy(&x, to, sizeof x);
        memcpy(&y, from, sizeof y);
        x += y;
        memcpy(to, &x, sizeof x);
        return;
    case RT_BOOL:
    case RT_I32:
    case RT_F32:
    case RT_STR: break;
    }
    HD_BUG("distinct %s", rt_phys_name(field_of(d)->phys));
}

/* The value of a row that counts. */
static const unsigned char *value_of(const struct distinct *d, uint64_t row)
{
    return rt_ranked_row(d->r, row) + d->r->v->s->fields[field_of(d)->frame->y].offset;
}

/* ---- the tree of a level ---------------------------------------------------------------------------------------- */

static unsigned char *node(const struct distinct *d, int level, uint64_t i)
{
    return d->sums + (d->at[level] + i) * size_of(d);
}

static void add_up(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct distinct *d = context;
    int l = d->level;
    for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++) {
        unsigned char *to = node(d, l, i);
        if (l == 0) {
            memcpy(to, value_of(d, d->r->m.at->row[i]), size_of(d));
            continue;
        }
        uint64_t n = d->at[l] - d->at[l - 1], end = HD_MIN(n, (i + 1) * FAN_OUT);
        memset(to, 0, size_of(d));
        for (uint64_t k = i * FAN_OUT; k < end; k++)
            add(d, to, node(d, l - 1, k));
    }
}

/* Sums of what is in front, of which a difference is exact: of integers, that is, and of bits. */
static bool has_differences(const struct distinct *d)
{
    return !rt_phys_is_float(field_of(d)->phys);
}

/* Of unsigned numbers of one width: sums of a task's values, what is in front of the task, and a difference. */
#define DIFFERENCES(T, bits) \
    static void sum_up_##bits(void *context, struct rt_worker *w HD_UNUSED, uint64_t task) \
    { \
        const struct distinct *d = context; \
        T sum = 0, v, *to = (T *)(void *)d->sums; \
        bool xor = is_xor(d); \
        for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++) { \
            to[i] = sum; \
            memcpy(&v, value_of(d, d->r->m.at->row[i]), sizeof v); \
            sum = xor ? sum ^ v : sum + v; \
        } \
        d->total[task] = (hd_i128)sum; \
    } \
    static void add_total_##bits(void *context, struct rt_worker *w HD_UNUSED, uint64_t task) \
    { \
        const struct distinct *d = context; \
        T before = (T)d->total[task], *to = (T *)(void *)d->sums; \
        bool xor = is_xor(d); \
        for (uint64_t i = task * d->cut.size; i < rt_cut_end(&d->cut, task); i++) \
            to[i] = xor ? to[i] ^ before : to[i] + before; \
    } \
    static void add_difference_##bits(const struct distinct *d, uint64_t from, uint64_t to, void *sum) \
    { \
        const T *at = (const T *)(const void *)d->sums; \
        T v; \
        memcpy(&v, sum, sizeof v); \
        v = is_xor(d) ? v ^ at[to] ^ at[from] : v + (at[to] - at[from]); \
        memcpy(sum, &v, sizeof v); \
    }
DIFFERENCES(uint64_t, 64)
DIFFERENCES(unsigned __int128, 128)
#undef DIFFERENCES

/* A place more than there are codes has the sum of all. */
static int make_prefixes(struct distinct *d)
{
    hd_i128 sum = 0;
    bool wide = size_of(d) == sizeof sum;
    d->cut = rt_cut(d->r->x, d->r->m.zeros, 1 << 12);
    d->total = HD_NEWN(&d->r->x->arena, hd_i128, d->cut.ntasks + 1);
    HD_TRY(rt_exec_parallel(d->r->x, d->cut.ntasks, wide ? sum_up_128 : sum_up_64, d));
    for (uint64_t task = 0; task < d->cut.ntasks; task++) {
        hd_i128 own = d->total[task];
        d->total[task] = sum;
        add(d, &sum, &own);
    }
    memcpy(node(d, 0, d->r->m.zeros), &sum, size_of(d));
    return rt_exec_parallel(d->r->x, d->cut.ntasks, wide ? add_total_128 : add_total_64, d);
}

/* Of the codes without the level's bit, which are those of rows that have a value. */
static int make_tree(struct distinct *d)
{
    uint64_t n = d->r->m.zeros;
    if (has_differences(d))
        return make_prefixes(d);
    for (d->nlevels = 0; d->nlevels == 0 || n > 0; n = n > 1 ? (n + FAN_OUT - 1) / FAN_OUT : 0) {
        d->at[d->nlevels + 1] = d->at[d->nlevels] + n;
        d->nlevels++;
    }
    for (d->level = 0; d->level < d->nlevels; d->level++) {
        d->cut = rt_cut(d->r->x, d->at[d->level + 1] - d->at[d->level], 1 << 12);
        HD_TRY(rt_exec_parallel(d->r->x, d->cut.ntasks, add_up, d));
    }
    return 0;
}

static void add_nodes(const struct distinct *d, int level, uint64_t from, uint64_t to, unsigned char *sum)
{
    for (uint64_t i = from; i < to; i++)
        add(d, sum, node(d, level, i));
}

static void add_places(const struct distinct *d, uint64_t from, uint64_t to, unsigned char *sum)
{
    if (has_differences(d)) {
        if (size_of(d) == sizeof(hd_i128))
            add_difference_128(d, from, to, sum);
        else
            add_difference_64(d, from, to, sum);
        return;
    }
    for (int l = 0;; l++) {
        uint64_t up = hd_align_up(from, FAN_OUT), down = to / FAN_OUT * FAN_OUT;
        if (up >= down || l + 1 == d->nlevels) {
            add_nodes(d, l, from, to, sum);
            return;
        }
        add_nodes(d, l, from, up, sum);
        add_nodes(d, l, down, to, sum);
        from = up / FAN_OUT;
        to = down / FAN_OUT;
    }
}

/* ---- walks ------------------------------------------------------------------------------------------------------ */

static void walk_from(struct walk *w, int k, uint64_t from, uint64_t to)
{
    w->lo[k] = (uint32_t)from;
    w->hi[k] = (uint32_t)HD_MAX(from, to);
}

static int64_t begin_of(const struct distinct *d, uint64_t i)
{
    return rt_frame_bound(d->r->v, i, d->f->begin, 0);
}

/* Rows that are left out, *from .. *to - 1. */
static void gap_of(const struct distinct *d, uint64_t i, int64_t *from, int64_t *to)
{
    const struct rt_frame_span *s = d->f->span, *t = &s[d->f->nspans - 1];
    *from = rt_frame_bound(d->r->v, i, s->to[1], s->to_by[1]);
    *to = rt_frame_bound(d->r->v, i, t->from[1], t->from_by[1]);
}

static void start(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct distinct *d = context;
    const struct rt_ranked *r = d->r;
    int last = d->f->nspans - 1;
    for (uint64_t i = task * r->cut.size; i < rt_cut_end(&r->cut, task); i++) {
        struct walk *to = &d->walk[i];
        uint64_t from[2] = {0}, end[2] = {0}, begin = (uint64_t)begin_of(d, i);
        bool s = rt_frame_rows(r->v, d->f, 0, i, &from[0], &end[0]);
        bool t = last && rt_frame_rows(r->v, d->f, last, i, &from[1], &end[1]);
        *to = (struct walk){.limit = d->running ? 1 : (uint32_t)((s ? from[0] : from[1]) - begin + 1)};
        if (d->in_gaps && s && t) {
            int64_t a, b;
            gap_of(d, i, &a, &b);
            walk_from(to, 0, (uint64_t)a, (uint64_t)b);
            to->limit = (uint32_t)(i - begin + 1);
        }
        if (d->in_gaps)
            continue;
        if (s)
            walk_from(to, 0, from[0], end[0]);
        if (t)
            walk_from(to, 1, from[1], end[1]);
    }
}

/* Rows below the limit that a level tells of: they have no bit where the limit has one. */
RT_INLINE void add_below(const struct distinct *d, const struct walk *at, unsigned char *row)
{
    const struct rt_matrix *m = &d->r->m;
    const struct rt_field *f = field_of(d);
    int64_t n;
    for (int k = 0; k < 2; k++) {
        uint32_t lo = rt_matrix_zeros(m, at->lo[k]), hi = rt_matrix_zeros(m, at->hi[k]);
        if (lo == hi)
            continue;
        row[f->valid_offset] = 1;
        if (!is_count(d)) {
            add_places(d, lo, hi, row + f->offset);
            continue;
        }
        memcpy(&n, row + f->offset, sizeof n);
        n += hi - lo;
        memcpy(row + f->offset, &n, sizeof n);
    }
}

RT_INLINE void gather_any(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct distinct *d = context;
    for (uint64_t i = task * d->r->cut.size; i < rt_cut_end(&d->r->cut, task); i++)
        if (d->walk[i].limit >> d->r->m.bit & 1)
            add_below(d, &d->walk[i], rt_ranked_row(d->r, i));
}

RT_COUNTS_BITS(gather)

RT_INLINE void descend_any(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct distinct *d = context;
    const struct rt_matrix *m = &d->r->m;
    for (uint64_t i = task * d->r->cut.size; i < rt_cut_end(&d->r->cut, task); i++) {
        struct walk *at = &d->walk[i];
        bool ones = at->limit >> m->bit & 1;
        for (int k = 0; k < 2 && (k == 0 || d->f->nspans > 1); k++) {
            uint32_t lo = rt_matrix_zeros(m, at->lo[k]), hi = rt_matrix_zeros(m, at->hi[k]);
            at->lo[k] = ones ? (uint32_t)m->zeros + at->lo[k] - lo : lo;
            at->hi[k] = ones ? (uint32_t)m->zeros + at->hi[k] - hi : hi;
        }
    }
}

RT_COUNTS_BITS(descend)

static void fill(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct distinct *d = context;
    for (uint64_t i = task * d->r->cut.size; i < rt_cut_end(&d->r->cut, task); i++) {
        uint32_t key = d->in_gaps ? d->gap_key[i] : d->key[i];
        d->r->m.at->code[i] = d->running ? key > 0 : key;
        d->r->m.at->row[i] = (uint32_t)i;
    }
}

static int walk_down(struct distinct *d)
{
    struct rt_ranked *r = d->r;
    HD_TRY(rt_exec_parallel(r->x, r->cut.ntasks, fill, d));
    HD_TRY(rt_exec_parallel(r->x, r->cut.ntasks, start, d));
    for (int bit = d->running ? 0 : rt_bits_of(d->never) - 1; bit >= 0; bit--) {
        HD_TRY(rt_matrix_level(&r->m, bit));
        for (int k = 0; k < r->n; k++) {
            d->field = r->field[k];
            HD_TRY(is_count(d) ? 0 : make_tree(d));
            HD_TRY(rt_exec_parallel(r->x, r->cut.ntasks, gather, d));
        }
        HD_TRY(rt_exec_parallel(r->x, r->cut.ntasks, descend, d));
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* Rows are in the order of their ranks, those of a rank in their own. The first place at or behind `row` of the rank. */
static uint64_t place_of(const struct rt_matrix *m, uint32_t code, uint64_t row)
{
    uint64_t lo = 0, hi = m->n;
    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;
        uint32_t c = m->at->code[middle];
        if (c < code || (c == code && m->at->row[middle] < row))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* The row at a place; -1: the value is not there from row `begin` up to `end`. */
static int64_t occurrence(const struct rt_matrix *m, uint64_t place, uint32_t code, int64_t begin, int64_t end)
{
    if (place >= m->n || m->at->code[place] != code)
        return -1;
    int64_t row = m->at->row[place];
    return row >= begin && row < end ? row : -1;
}

/* Where the frame of row i begins and ends, whatever it leaves out, and maybe in front of its partition or behind it. */
static void frame_of(const struct distinct *d, int64_t i, int64_t *from, int64_t *to)
{
    const struct rt_frame_span *s = d->f->span;
    *from = rt_frame_bound(d->r->v, (uint64_t)i, s->from[0], s->from_by[0]);
    *to = rt_frame_bound(d->r->v, (uint64_t)i, s->to[0], s->to_by[0]);
}

/* The last row of the value in a gap that its partition's rows `before` and `next` are around: the first row of the gap
 * whose frame begins behind `before` and reaches `next`. */
static uint32_t first_reaching(const struct distinct *d, int64_t from, int64_t to, int64_t before, int64_t next)
{
    int64_t lo = from, hi = to, a, b;
    while (lo < hi) {
        int64_t i = lo + (hi - lo) / 2;
        frame_of(d, i, &a, &b);
        if ((before < 0 || before < a) && next < b)
            hi = i;
        else
            lo = i + 1;
    }
    return lo < to ? (uint32_t)(lo - begin_of(d, (uint64_t)from)) : d->never;
}

/* The own row is there although its peers are not. */
static bool is_alone(const struct distinct *d, int64_t i, int64_t before, int64_t behind)
{
    uint64_t from, to;
    int64_t a, b;
    if (d->f->nspans < RT_FRAME_SPANS || !rt_frame_rows(d->r->v, d->f, 1, (uint64_t)i, &from, &to))
        return false;
    frame_of(d, i, &a, &b);
    return (before < 0 || before < a) && (behind < 0 || behind >= b);
}

static void clear(struct distinct *d, uint64_t row, bool counts)
{
    for (int k = 0; k < d->r->n; k++) {
        const struct rt_field *f = &d->r->v->s->fields[d->r->field[k]];
        unsigned char *at = rt_ranked_row(d->r, row);
        int64_t one = counts;
        memset(at + f->offset, 0, (size_t)rt_phys_size(f->phys));
        at[f->valid_offset] = counts;
        if (f->frame->y < 0)
            memcpy(at + f->offset, &one, sizeof one);
        else if (counts)
            memcpy(at + f->offset, at + d->r->v->s->fields[f->frame->y].offset, (size_t)rt_phys_size(f->phys));
    }
}

static void set_keys(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distinct *d = context;
    const struct rt_matrix *m = &d->r->m;
    for (uint64_t p = task * d->r->cut.size; p < rt_cut_end(&d->r->cut, task); p++) {
        uint32_t code = m->at->code[p], i = m->at->row[p];
        int64_t begin = begin_of(d, i), end = rt_frame_bound(d->r->v, i, d->f->end, 0), from, to;
        int64_t last = p ? occurrence(m, p - 1, code, begin, end) : -1, next = occurrence(m, p + 1, code, begin, end);
        bool there = code != d->r->none, alone = false;
        d->key[i] = !there ? d->never : last < 0 ? 0 : (uint32_t)(last - begin + 1);
        if (d->f->nspans > 1) {
            gap_of(d, i, &from, &to);
            uint64_t at = place_of(m, code, (uint64_t)from);
            int64_t before = at ? occurrence(m, at - 1, code, begin, end) : -1;
            int64_t behind = occurrence(m, place_of(m, code, (uint64_t)to), code, begin, end);
            d->gap_key[i] = there && next >= to ? first_reaching(d, from, to, before, next) : d->never;
            alone = there && is_alone(d, i, before, behind);
        }
        clear(d, i, alone);
    }
}

static void find_never(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distinct *d = context;
    uint32_t most = 0, seen;
    for (uint64_t i = task * d->r->cut.size; i < rt_cut_end(&d->r->cut, task); i++)
        most = HD_MAX(most, (uint32_t)(rt_frame_bound(d->r->v, i, d->f->end, 0) - begin_of(d, i)));
    seen = atomic_load(&d->never);
    while (seen < most && !atomic_compare_exchange_weak(&d->never, &seen, most))
        ;
}

static int make_keys(struct distinct *d)
{
    struct rt_ranked *r = d->r;
    HD_TRY(rt_exec_parallel(r->x, r->cut.ntasks, find_never, d));
    HD_TRY(rt_ranked_codes(r));
    HD_TRY(rt_matrix_sort(&r->m, rt_bits_of(r->none)));
    return rt_exec_parallel(r->x, r->cut.ntasks, set_keys, d);
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static size_t sum_bytes(const struct rt_ranked *r, uint64_t n)
{
    size_t size = 0;
    for (int k = 0; k < r->n; k++)
        size = HD_MAX(size, (size_t)rt_phys_size(r->v->s->fields[r->field[k]].phys));
    return (n + n / (FAN_OUT - 1) + LEVELS) * size;
}

int rt_finish_distinct(struct rt_ranked *r)
{
    uint64_t n = r->v->nrows;
    struct distinct d = {.r = r, .f = r->v->s->fields[r->field[0]].frame};
    struct rt_block memory = {0};
    d.running = rt_frame_is_running(d.f);
    size_t matrix = rt_matrix_bytes(r->x, n), keys = 2 * hd_align_up(n, 4) * sizeof(uint32_t),
           sums = hd_align_up(sum_bytes(r, n), sizeof(hd_i128));
    HD_TRY(rt_exec_block(r->x, r->v->s, hd_align_up(matrix, sizeof(hd_i128)) + keys + sums + n * sizeof(struct walk),
                         false, &memory));
    unsigned char *at = memory.p;
    rt_matrix_place(&r->m, at);
    at += hd_align_up(matrix, sizeof(hd_i128));
    d.key = (void *)at;
    d.gap_key = d.key + hd_align_up(n, 4);
    d.sums = at + keys;
    d.walk = (void *)(d.sums + sums);
    int rc = make_keys(&d);
    rc = rc ? rc : walk_down(&d);
    d.in_gaps = true;
    if (rc == 0 && d.f->nspans > 1)
        rc = walk_down(&d);
    rt_block_free(&r->x->memory, &memory);
    return rc;
}
