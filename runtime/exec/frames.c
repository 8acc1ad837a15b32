/* Framed fields: each row's becomes the sum, the minimum, the maximum or the bits of the rows of its frame (rt_frame). A tree
 * beside the rows, whose nodes each fold FAN_OUT neighbours of the level below, answers a row with fewer than 2 * FAN_OUT
 * nodes of each level, whatever its frame (segment tree; Leis et al., Efficient Processing of Window Functions in
 * Analytical SQL Queries, 2015, section 4.4). No value outside a frame takes part in its sum. */
#include <math.h>
#include <string.h>

#include "runtime/exec/exec_internal.h"
#include "runtime/exec/keys.h"

enum { FAN_OUT = 16, LEVELS = 9, TASK_MIN = 1 << 12 /* rows or nodes that are worth a task */ };

/* Folds n values into *to; whether there is one, in it or among them. */
typedef uint8_t (*fold_fn)(void *to, uint8_t any, const void *values, const uint8_t *valid, uint64_t n);

struct level {
    unsigned char *values; /* of none: what changes no value */
    uint8_t *valid;
    uint64_t n;
};

struct tree {
    const struct rt_live *v;
    const struct rt_field *f;
    fold_fn fold;
    size_t size; /* of a value */
    unsigned char none[16];
    struct level level[LEVELS];
    int nlevels, built;
    struct rt_cut cut;
};

/* ---- values --------------------------------------------------------------------------------------------- */

static bool less_f64(double a, double b) /* NaN is the largest */
{
    return a < b || (isnan(b) && !isnan(a));
}

#define FOLD(name, T, step) \
    static uint8_t name(void *to, uint8_t any, const void *values, const uint8_t *valid, uint64_t n) \
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

static uint8_t min_text(void *to, uint8_t any, const void *values, const uint8_t *valid, uint64_t n)
{
    return fold_texts(to, any, values, valid, n, 1);
}

static uint8_t max_text(void *to, uint8_t any, const void *values, const uint8_t *valid, uint64_t n)
{
    return fold_texts(to, any, values, valid, n, -1);
}

static void choose(struct tree *t, enum rt_merge merge, fold_fn sum, fold_fn min, fold_fn max)
{
    t->fold = merge == RT_MERGE_SUM ? sum : merge == RT_MERGE_MIN ? min : max;
    if (!t->fold)
        HD_BUG("sum of %s", rt_phys_name(t->f->phys));
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

static unsigned char *row_at(const struct tree *t, uint64_t i)
{
    return t->v->rows + i * (size_t)t->v->s->stride;
}

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

static void build_level(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct tree *t = context;
    const struct level *below = &t->level[t->built - 1], *l = &t->level[t->built];
    for (uint64_t i = task * t->cut.size, end = rt_cut_end(&t->cut, task); i < end; i++) {
        uint64_t from = i * FAN_OUT, n = HD_MIN((uint64_t)FAN_OUT, below->n - from);
        unsigned char *to = l->values + i * t->size;
        memcpy(to, t->none, t->size);
        l->valid[i] = t->fold(to, 0, below->values + from * t->size, below->valid + from, n);
    }
}

static int build(struct rt_exec *x, struct tree *t, struct rt_block *memory)
{
    uint64_t nodes = 0, n = t->v->nrows;
    for (t->nlevels = 0; t->nlevels == 0 || t->level[t->nlevels - 1].n > FAN_OUT; t->nlevels++) {
        t->level[t->nlevels].n = n;
        nodes += n;
        n = (n + FAN_OUT - 1) / FAN_OUT;
    }
    HD_TRY(rt_exec_block(x, t->v->s, nodes * (t->size + 1), false, memory));
    unsigned char *values = memory->p;
    uint8_t *valid = values + nodes * t->size;
    for (int k = 0; k < t->nlevels; k++) {
        t->level[k].values = values;
        t->level[k].valid = valid;
        values += t->level[k].n * t->size;
        valid += t->level[k].n;
    }
    for (t->built = 0; t->built < t->nlevels; t->built++) {
        t->cut = rt_cut(x, t->level[t->built].n, TASK_MIN);
        HD_TRY(rt_exec_parallel(x, t->cut.ntasks, t->built ? build_level : copy_leaves, t));
    }
    return 0;
}

/* ---- frames ----------------------------------------------------------------------------------------------- */

static int64_t number(const struct tree *t, const unsigned char *row, int field)
{
    int32_t v;
    memcpy(&v, row + t->v->s->fields[field].offset, sizeof v);
    return v;
}

/* Rows from .. to - 1; false: none. */
static bool frame_of(const struct tree *t, uint64_t i, uint64_t *from, uint64_t *to)
{
    const struct rt_frame *f = t->f->frame;
    const unsigned char *row = row_at(t, i);
    int64_t a = number(t, row, f->begin), b = number(t, row, f->end);
    for (int k = 0; k < 2; k++) {
        a = HD_MAX(a, (f->from[k] < 0 ? (int64_t)i : number(t, row, f->from[k])) + f->from_by[k]);
        b = HD_MIN(b, (f->to[k] < 0 ? (int64_t)i : number(t, row, f->to[k])) + f->to_by[k]);
    }
    *from = (uint64_t)a;
    *to = (uint64_t)b;
    return a < b;
}

static uint8_t fold_frame(const struct tree *t, uint64_t from, uint64_t to, unsigned char *value)
{
    uint8_t any = 0;
    memcpy(value, t->none, sizeof t->none);
    for (const struct level *l = t->level;; l++) {
        uint64_t up = hd_align_up(from, FAN_OUT), down = to / FAN_OUT * FAN_OUT;
        if (up >= down || l + 1 == t->level + t->nlevels)
            return t->fold(value, any, l->values + from * t->size, l->valid + from, to - from);
        any = t->fold(value, any, l->values + from * t->size, l->valid + from, up - from);
        any = t->fold(value, any, l->values + down * t->size, l->valid + down, to - down);
        from = up / FAN_OUT;
        to = down / FAN_OUT;
    }
}

static void fold_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct tree *t = context;
    unsigned char value[16];
    for (uint64_t i = task * t->cut.size, end = rt_cut_end(&t->cut, task); i < end; i++) {
        unsigned char *row = row_at(t, i);
        uint64_t from, to;
        uint8_t any = frame_of(t, i, &from, &to) ? fold_frame(t, from, to, value) : 0;
        row[t->f->valid_offset] = any;
        if (any)
            memcpy(row + t->f->offset, value, t->size);
    }
}

static int finish_field(struct rt_exec *x, struct rt_live *v, int field)
{
    struct rt_block memory = {0};
    struct tree t = {.v = v, .f = &v->s->fields[field], .size = (size_t)rt_phys_size(v->s->fields[field].phys)};
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
        if (v->s->fields[f].frame)
            HD_TRY(finish_field(x, v, f));
    return 0;
}
