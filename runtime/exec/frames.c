/* Framed fields: each row's becomes the sum, the minimum, the maximum or the bits of the rows of its frame (rt_frame), or
 * what its other fields tell of them: products of deviations, the number of a row. A tree beside the rows, whose nodes each fold FAN_OUT neighbours of the level below, answers a row with fewer than 2 * FAN_OUT
 * nodes of each level, whatever its frame (segment tree; Leis et al., Efficient Processing of Window Functions in
 * Analytical SQL Queries, 2015, section 4.4). No value outside a frame takes part in its sum. */
#include <math.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/frames.h"
#include "runtime/exec/keys.h"
#include "templates/moment.cuh"

enum {
    FAN_OUT = 16,
    LEVELS = 9,
    NODE_MAX = sizeof(hdd_moment),
    TASK_MIN = 1 << 12 /* rows or nodes that are worth a task */
};

struct tree;
/* Folds n values into *to; whether there is one, in it or among them. */
typedef uint8_t (*fold_fn)(const struct tree *t, void *to, uint8_t any, const void *values, const uint8_t *valid,
                           uint64_t n);

struct level {
    unsigned char *values; /* of none: what changes no value */
    uint8_t *valid;
    uint64_t n;
};

struct tree {
    const struct rt_live *v;
    const struct rt_field *f;
    fold_fn fold;
    uint8_t (*leaf)(const struct tree *t, uint64_t row,
                    void *to); /* a row's value is made where it is asked for; or NULL */
    size_t size; /* of a value */
    unsigned char none[NODE_MAX];
    struct level level[LEVELS]; /* with leaves made of rows level 0 has no memory */
    int nlevels, built;
    bool last; /* ARG_MAX */
    struct rt_cut cut;
};

/* ---- values --------------------------------------------------------------------------------------------- */

static bool less_f64(double a, double b) /* NaN is the largest */
{
    return a < b || (isnan(b) && !isnan(a));
}

#define FOLD(name, T, step) \
    static uint8_t name(const struct tree *t HD_UNUSED, void *to, uint8_t any, const void *values, \
                        const uint8_t *valid, uint64_t n) \
    { \
        const T *v = values; \
        T a; \
        memcpy(&a, to, sizeof a); \
        for (uint64_t i = 0; i < n; i++) { \
            T b = v[i]; \
            a = (step); \
            any |= valid[i]; \
        } \
        memcpy(to, &a, sizeof a); \
        return any; \
    }
FOLD(min_32, int32_t, b < a ? b : a)
FOLD(max_32, int32_t, b > a ? b : a)
FOLD(min_64, int64_t, b < a ? b : a)
FOLD(max_64, int64_t, b > a ? b : a)
FOLD(sum_64, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))
FOLD(or_64, int64_t, a | b)
FOLD(min_128, hd_i128, b < a ? b : a)
FOLD(max_128, hd_i128, b > a ? b : a)
FOLD(sum_128, hd_i128, (hd_i128)((unsigned __int128)a + (unsigned __int128)b))
FOLD(min_f64, double, less_f64(b, a) ? b : a)
FOLD(max_f64, double, less_f64(a, b) ? b : a)
FOLD(sum_f64, double, a + b)
#undef FOLD

static uint8_t fold_texts(void *to, uint8_t any, const void *values, const uint8_t *valid, uint64_t n, int sign)
{
    const struct rt_row_str *v = values;
    for (uint64_t i = 0; i < n; i++) {
        if (!valid[i] || (any && rt_value_compare(RT_STR, &v[i], to) * sign >= 0))
            continue;
        memcpy(to, &v[i], sizeof *v);
        any = 1;
    }
    return any;
}

static uint8_t min_text(const struct tree *t HD_UNUSED, void *to, uint8_t any, const void *values, const uint8_t *valid,
                        uint64_t n)
{
    return fold_texts(to, any, values, valid, n, 1);
}

static uint8_t max_text(const struct tree *t HD_UNUSED, void *to, uint8_t any, const void *values, const uint8_t *valid,
                        uint64_t n)
{
    return fold_texts(to, any, values, valid, n, -1);
}

/* ---- of other fields ------------------------------------------------------------------------------------- */

static unsigned char *row_at(const struct tree *t, uint64_t i)
{
    return t->v->rows + i * (size_t)t->v->s->stride;
}

static bool is_there(const struct rt_field *f, const unsigned char *row)
{
    return f->valid_offset < 0 || row[f->valid_offset];
}

static uint8_t leaf_moment(const struct tree *t, uint64_t i, void *to)
{
    const struct rt_field *fx = &t->v->s->fields[t->f->frame->x], *fy = &t->v->s->fields[t->f->frame->y];
    const unsigned char *row = row_at(t, i);
    double x, y;
    if (!is_there(fx, row) || !is_there(fy, row))
        return 0;
    memcpy(&x, row + fx->offset, sizeof x);
    memcpy(&y, row + fy->offset, sizeof y);
    *(hdd_moment *)to = hdd_moment_of(x, y);
    return 1;
}

static uint8_t merge_moments(const struct tree *t HD_UNUSED, void *to, uint8_t any, const void *values,
                             const uint8_t *valid, uint64_t n)
{
    const hdd_moment *v = values;
    hdd_moment *all = to;
    for (uint64_t i = 0; i < n; i++) {
        if (!valid[i])
            continue;
        if (any)
            hdd_moment_merge(all, &v[i]);
        else
            *all = v[i];
        any = 1;
    }
    return any;
}

static uint8_t leaf_row(const struct tree *t, uint64_t i, void *to)
{
    memcpy(to, &i, sizeof i);
    return is_there(&t->v->s->fields[t->f->frame->x], row_at(t, i));
}

/* NULLs last. */
static int order_of(const struct rt_field *f, const unsigned char *a, const unsigned char *b)
{
    bool va = is_there(f, a), vb = is_there(f, b);
    if (!va || !vb)
        return va != vb ? vb - va : 0;
    return rt_value_compare(f->phys, a + f->offset, b + f->offset);
}

static uint8_t first_row(const struct tree *t, void *to, uint8_t any, const void *values, const uint8_t *valid,
                         uint64_t n)
{
    const struct rt_field *x = &t->v->s->fields[t->f->frame->x], *y = &t->v->s->fields[t->f->frame->y];
    const uint64_t *v = values;
    uint64_t *at = to;
    for (uint64_t i = 0; i < n; i++) {
        if (!valid[i])
            continue;
        const unsigned char *a = row_at(t, v[i]), *b = any ? row_at(t, *at) : a;
        int c = any ? order_of(x, a, b) : -1;
        c = c && any && t->last ? -c : c;
        if (c < 0 || (c == 0 && order_of(y, a, b) < 0))
            *at = v[i];
        any = 1;
    }
    return any;
}

static void choose(struct tree *t, enum rt_merge merge, fold_fn sum, fold_fn min, fold_fn max)
{
    t->fold = merge == RT_MERGE_SUM ? sum : merge == RT_MERGE_MIN ? min : max;
    if (!t->fold)
        HD_BUG("sum of %s", rt_phys_name(t->f->phys));
}

static void choose_fold_of_fields(struct tree *t, enum rt_merge merge)
{
    bool products = merge == RT_MERGE_PRODUCTS;
    t->leaf = products ? leaf_moment : leaf_row;
    t->fold = products ? merge_moments : first_row;
    t->size = products ? sizeof(hdd_moment) : sizeof(uint64_t);
    t->last = merge == RT_MERGE_ARG_MAX;
}

static void choose_fold(struct tree *t, enum rt_merge merge)
{
    bool min = merge == RT_MERGE_MIN, sum = merge == RT_MERGE_SUM || merge == RT_MERGE_OR;
    hd_i128 most = (hd_i128)(((unsigned __int128)1 << 127) - 1), wide = sum ? 0 : min ? most : -most - 1;
    int32_t small = min ? INT32_MAX : INT32_MIN;
    int64_t whole = sum ? 0 : min ? INT64_MAX : INT64_MIN;
    double real = sum ? 0 : min ? (double)NAN : -(double)INFINITY;
    switch (t->f->phys) {
    case RT_I32:
        memcpy(t->none, &small, sizeof small);
        choose(t, merge, NULL, min_32, max_32);
        return;
    case RT_I64:
        memcpy(t->none, &whole, sizeof whole);
        choose(t, merge, sum_64, min_64, max_64);
        if (merge == RT_MERGE_OR)
            t->fold = or_64;
        return;
    case RT_I128:
        memcpy(t->none, &wide, sizeof wide);
        choose(t, merge, sum_128, min_128, max_128);
        return;
    case RT_F64:
        memcpy(t->none, &real, sizeof real);
        choose(t, merge, sum_f64, min_f64, max_f64);
        return;
    case RT_STR: choose(t, merge, NULL, min_text, max_text); return;
    case RT_BOOL:
    case RT_F32: break;
    }
    HD_BUG("frames of %s", rt_phys_name(t->f->phys));
}

/* ---- the tree --------------------------------------------------------------------------------------------- */

static void copy_leaves(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct tree *t = context;
    const struct level *l = &t->level[0];
    for (uint64_t i = task * t->cut.size, end = rt_cut_end(&t->cut, task); i < end; i++) {
        const unsigned char *row = row_at(t, i);
        l->valid[i] = row[t->f->valid_offset];
        memcpy(l->values + i * t->size, l->valid[i] ? row + t->f->offset : t->none, t->size);
    }
}

/* Nodes from .. from + n - 1 of a level. */
static uint8_t fold_nodes(const struct tree *t, int level, uint64_t from, uint64_t n, void *to, uint8_t any)
{
    const struct level *l = &t->level[level];
    _Alignas(16) unsigned char value[NODE_MAX];
    if (level || !t->leaf)
        return t->fold(t, to, any, l->values + from * t->size, l->valid + from, n);
    for (uint64_t i = from; i < from + n; i++) {
        uint8_t valid = t->leaf(t, i, value);
        any = t->fold(t, to, any, value, &valid, 1);
    }
    return any;
}

static void build_level(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct tree *t = context;
    const struct level *l = &t->level[t->built];
    for (uint64_t i = task * t->cut.size, end = rt_cut_end(&t->cut, task); i < end; i++) {
        uint64_t from = i * FAN_OUT, n = HD_MIN((uint64_t)FAN_OUT, l[-1].n - from);
        unsigned char *to = l->values + i * t->size;
        memcpy(to, t->none, t->size);
        l->valid[i] = fold_nodes(t, t->built - 1, from, n, to, 0);
    }
}

static int build(struct rt_exec *x, struct tree *t, struct rt_block *memory)
{
    uint64_t nodes = 0, n = t->v->nrows;
    int first = t->leaf ? 1 : 0; /* level in memory */
    for (t->nlevels = 0; t->nlevels == 0 || t->level[t->nlevels - 1].n > FAN_OUT; t->nlevels++) {
        t->level[t->nlevels].n = n;
        nodes += t->nlevels >= first ? n : 0;
        n = (n + FAN_OUT - 1) / FAN_OUT;
    }
    HD_TRY(nodes ? rt_exec_block(x, t->v->s, nodes * (t->size + 1), false, memory) : 0);
    unsigned char *values = memory->p;
    uint8_t *valid = values + nodes * t->size;
    for (int k = first; k < t->nlevels; k++) {
        t->level[k].values = values;
        t->level[k].valid = valid;
        values += t->level[k].n * t->size;
        valid += t->level[k].n;
    }
    for (t->built = first; t->built < t->nlevels; t->built++) {
        t->cut = rt_cut(x, t->level[t->built].n, TASK_MIN);
        HD_TRY(rt_exec_parallel(x, t->cut.ntasks, t->built ? build_level : copy_leaves, t));
    }
    return 0;
}

/* ---- frames ----------------------------------------------------------------------------------------------- */

static uint8_t fold_span(const struct tree *t, uint64_t from, uint64_t to, unsigned char *value, uint8_t any)
{
    for (int l = 0;; l++) {
        uint64_t up = hd_align_up(from, FAN_OUT), down = to / FAN_OUT * FAN_OUT;
        if (up >= down || l + 1 == t->nlevels)
            return fold_nodes(t, l, from, to - from, value, any);
        any = fold_nodes(t, l, from, up - from, value, any);
        any = fold_nodes(t, l, down, to - down, value, any);
        from = up / FAN_OUT;
        to = down / FAN_OUT;
    }
}

static void store(const struct tree *t, unsigned char *row, const unsigned char *value)
{
    if (!t->leaf) {
        memcpy(row + t->f->offset, value, t->size);
    } else if (t->leaf == leaf_moment) {
        memcpy(row + t->f->offset, &((const hdd_moment *)(const void *)value)->products, sizeof(double));
    } else {
        int64_t at;
        memcpy(&at, value, sizeof at);
        at += 1 - rt_frame_number(t->v, row, t->f->frame->begin);
        memcpy(row + t->f->offset, &at, sizeof at);
    }
}

static void fold_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct tree *t = context;
    _Alignas(16) unsigned char value[NODE_MAX];
    for (uint64_t i = task * t->cut.size, end = rt_cut_end(&t->cut, task); i < end; i++) {
        unsigned char *row = row_at(t, i);
        uint64_t from, to;
        uint8_t any = 0;
        memcpy(value, t->none, t->size);
        for (int k = 0; k < t->f->frame->nspans; k++)
            if (rt_frame_rows(t->v, t->f->frame, k, i, &from, &to))
                any = fold_span(t, from, to, value, any);
        row[t->f->valid_offset] = any;
        if (any)
            store(t, row, value);
    }
}

static int finish_field(struct rt_exec *x, struct rt_live *v, int field)
{
    struct rt_block memory = {0};
    struct tree t = {.v = v, .f = &v->s->fields[field], .size = (size_t)rt_phys_size(v->s->fields[field].phys)};
    if (rt_merge_is_of_fields(v->s->merge[field]))
        choose_fold_of_fields(&t, v->s->merge[field]);
    else
        choose_fold(&t, v->s->merge[field]);
    int rc = build(x, &t, &memory);
    t.cut = rt_cut(x, v->nrows, TASK_MIN);
    if (rc == 0)
        rc = rt_exec_parallel(x, t.cut.ntasks, fold_rows, &t);
    rt_block_free(&x->memory, &memory);
    return rc;
}

int rt_finish_frames(struct rt_exec *x, struct rt_live *v)
{
    for (int f = 0; f < v->s->nfields && v->nrows; f++)
        if (v->s->fields[f].frame && rt_merge_is_fold(v->s->merge[f]))
            HD_TRY(finish_field(x, v, f));
    return 0;
}
