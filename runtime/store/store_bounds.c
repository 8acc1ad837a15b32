#include "runtime/store/store_bounds.h"

#include <string.h>

#include "runtime/store/store_column.h"
#include "runtime/store/store_text.h"

/* ---- numbers in a range --------------------------------------------------------------------- */

/* Every v[i] - lo, without sign, is at most span. Compilers vectorise no comparison of wide
 * unsigned numbers on older machines, so the top bit of a difference tells: below half of the
 * numbers, x > span if x or span - x has it. Above half the same is asked of the gap. */
#define DEFINE_WITHIN(T) \
    static bool within_##T(const T *v, int64_t n, T lo, T span) \
    { \
        const int top = 8 * (int)sizeof(T) - 1; \
        T gap = (T)((T) - 1 - span), seen = 0; \
        if (gap == 0) \
            return true; \
        if (!(span >> top)) { \
            for (int64_t i = 0; i < n; i++) { \
                T x = (T)(v[i] - lo); \
                seen |= (T)(x | (T)(span - x)); \
            } \
            return !(seen >> top); \
        } \
        T max = (T)(gap - 1); \
        seen = (T) - 1; \
        for (int64_t i = 0; i < n; i++) { \
            T y = (T)(v[i] - lo - span - 1); \
            seen &= (T)(y | (T)(max - y)); \
        } \
        return seen >> top; \
    }
DEFINE_WITHIN(uint8_t)
DEFINE_WITHIN(uint16_t)
DEFINE_WITHIN(uint32_t)
DEFINE_WITHIN(uint64_t)
#undef DEFINE_WITHIN

/* Stored numbers lo..hi of `width` bytes; none: no number at all. */
struct range {
    bool none;
    hd_i128 lo, hi;
};

static bool within_wide(const hd_i128 *v, int64_t n, const struct range *r)
{
    bool good = true;
    for (int64_t i = 0; i < n; i++)
        good &= v[i] >= r->lo && v[i] <= r->hi;
    return good;
}

static bool within(const void *p, int width, int64_t from, int64_t n, const struct range *r)
{
    uint64_t lo = (uint64_t)r->lo, span = (uint64_t)(r->hi - r->lo);
    if (r->none)
        return n == 0;
    switch (width) {
    case 1: return within_uint8_t((const uint8_t *)p + from, n, (uint8_t)lo, (uint8_t)span);
    case 2: return within_uint16_t((const uint16_t *)p + from, n, (uint16_t)lo, (uint16_t)span);
    case 4: return within_uint32_t((const uint32_t *)p + from, n, (uint32_t)lo, (uint32_t)span);
    case 8: return within_uint64_t((const uint64_t *)p + from, n, lo, span);
    default: return within_wide((const hd_i128 *)p + from, n, r);
    }
}

/* ---- values of a column --------------------------------------------------------------------- */

/* (value - base) / factor, rounded up or down, no further out than a stored number can be. */
static hd_i128 stored_bound(const struct fe_table_column *c, hd_i128 value, bool up)
{
    hd_i128 max = c->width == 16 ? (hd_i128)(~(hd_u128)0 >> 1) : ((hd_i128)1 << (8 * c->width - 1)) - 1;
    hd_i128 min = ~max, diff;
    if (__builtin_sub_overflow(value, c->base, &diff))
        return c->base > 0 ? min : max;
    hd_i128 q = diff / c->factor, rest = diff % c->factor;
    q += up ? rest > 0 : -(rest < 0);
    return q < min ? min : q > max ? max : q;
}

/* The values that readers of the column count on: by its facts, else by its type. */
static struct range stored_range(const struct fe_table_column *c)
{
    const struct fe_facts *f = &c->facts;
    bool stated = f->known && f->has_range;
    struct range r = {.lo = f->min, .hi = f->max};
    if (c->storage == FE_STORE_DICT) {
        if (!stated)
            r = (struct range){.lo = 0, .hi = (hd_i128)c->dict.n - 1};
    } else {
        if (!stated)
            hd_type_domain(c->type, &r.lo, &r.hi);
        r.lo = stored_bound(c, r.lo, true);
        r.hi = stored_bound(c, r.hi, false);
    }
    r.none = r.lo > r.hi;
    return r;
}

static bool is_outside(const struct fe_table_column *c, int64_t row, const struct range *r, bool *zero)
{
    hd_i128 v = c->storage == FE_STORE_DICT ? rt_col_int(c, row)
                : c->width == 16            ? ((const hd_i128 *)c->at.data)[row]
                                            : rt_col_stored(c, row);
    *zero = v == 0;
    return r->none || v < r->lo || v > r->hi;
}

/* Where a row is NULL stands 0, which need not be in the range. */
static bool null_or_within(const struct fe_table_column *c, int64_t from, int64_t n, const struct range *r)
{
    for (int64_t row = from; row < from + n; row++) {
        bool zero;
        if (is_outside(c, row, r, &zero) && (!zero || rt_col_valid(c, row)))
            return false;
    }
    return true;
}

/* 8 flags of a byte each as the bits of one byte. */
static uint8_t pack_flags(const uint8_t *flags)
{
    uint64_t x;
    memcpy(&x, flags, sizeof x);
    return (uint8_t)(x * UINT64_C(0x0102040810204080) >> 56);
}

/* The same for one of the widths that compilers vectorise, 8 rows of the bitmap at a time. */
#define DEFINE_NULL_OR_WITHIN(T) \
    static bool null_or_within_##T(const T *v, const uint8_t *valid, int64_t n, T lo, T span) \
    { \
        uint8_t zero_outside[1024 + 8], wrong = 0; \
        for (int64_t at = 0; at < n; at += 1024) { \
            int64_t m = HD_MIN(n - at, 1024); \
            for (int64_t i = 0; i < m; i++) { \
                uint8_t outside = (T)(v[at + i] - lo) > span; \
                uint8_t zero = v[at + i] == 0; \
                wrong |= (uint8_t)(outside & (zero ^ 1)); \
                zero_outside[i] = outside & zero; \
            } \
            memset(zero_outside + m, 0, 8); \
            for (int64_t i = 0; i < m; i += 8) \
                wrong |= (uint8_t)(pack_flags(zero_outside + i) & valid[(at + i) >> 3]); \
        } \
        return !wrong; \
    }
DEFINE_NULL_OR_WITHIN(uint8_t)
DEFINE_NULL_OR_WITHIN(uint16_t)
DEFINE_NULL_OR_WITHIN(uint32_t)
DEFINE_NULL_OR_WITHIN(uint64_t)
#undef DEFINE_NULL_OR_WITHIN

/* A packed column's, row by row. */
static bool packed_fit(const struct fe_table_column *c, int64_t from, int64_t n, const struct range *r)
{
    for (int64_t row = from; row < from + n; row++) {
        hd_i128 v = (hd_i128)fe_packed_at(c->at.data, c->bits, row);
        bool inside = !r->none && v >= r->lo && v <= r->hi;
        if (!inside && (v != 0 || rt_col_valid(c, row)))
            return false;
    }
    return true;
}

/* Rows from..from + n, from a multiple of 8. */
static bool values_fit(const struct fe_table_column *c, int64_t from, int64_t n)
{
    struct range r = stored_range(c);
    const void *p = c->at.data;
    uint64_t lo = (uint64_t)r.lo, span = (uint64_t)(r.hi - r.lo);
    if (c->bits)
        return packed_fit(c, from, n, &r);
    if (within(p, c->width, from, n, &r))
        return true;
    if (!c->at.validity)
        return false;
    const uint8_t *valid = c->at.validity + (from >> 3);
    if (r.none || c->width == 16)
        return null_or_within(c, from, n, &r);
    switch (c->width) {
    case 1: return null_or_within_uint8_t((const uint8_t *)p + from, valid, n, (uint8_t)lo, (uint8_t)span);
    case 2: return null_or_within_uint16_t((const uint16_t *)p + from, valid, n, (uint16_t)lo, (uint16_t)span);
    case 4: return null_or_within_uint32_t((const uint32_t *)p + from, valid, n, (uint32_t)lo, (uint32_t)span);
    default: return null_or_within_uint64_t((const uint64_t *)p + from, valid, n, lo, span);
    }
}

/* ---- bitmaps, texts, dictionaries ----------------------------------------------------------- */

/* The number of NULLs is a fact that plans rely on; bits behind the last row are 0. */
static const char *check_valid(struct rt_part *x, const uint8_t *bits, uint64_t from, uint64_t to)
{
    const struct fe_table *t = x->table;
    const struct fe_facts *f = &t->cols[x->number].facts;
    uint64_t i = from;
    for (uint64_t word; i + 8 <= to; i += 8) {
        memcpy(&word, bits + i, sizeof word);
        x->count += __builtin_popcountll(word);
    }
    for (; i < to; i++)
        x->count += __builtin_popcount(bits[i]);
    if (to < x->size)
        return NULL;
    if (t->rows % 8 && bits[to - 1] >> t->rows % 8)
        return "bits behind the last row are set";
    if (f->nulls >= 0 && x->count != t->rows - f->nulls)
        return "the number of NULLs is not that of the catalog";
    return NULL;
}

static bool ascend(const uint32_t *v, int64_t n)
{
    uint32_t wrong = 0;
    for (int64_t i = 1; i < n; i++)
        wrong |= v[i] < v[i - 1];
    return !wrong;
}

/* Within a block ends ascend from 0, and the last one is inside the text. */
static bool ends_fit(const struct fe_table_column *c, uint64_t bytes, int64_t from, int64_t to)
{
    const uint32_t *ends = c->at.data;
    while (from < to) {
        int64_t block = from >> RT_BLOCK_SHIFT;
        int64_t end = HD_MIN(to, (block + 1) << RT_BLOCK_SHIFT);
        int64_t before = from & (RT_BLOCK_ROWS - 1) ? from - 1 : from;
        uint64_t base = c->at.text_base[block];
        if (!ascend(ends + before, end - before) || base > bytes || ends[end - 1] > bytes - base)
            return false;
        from = end;
    }
    return true;
}

static bool dictionary_fits(const struct fe_dict *d, uint64_t bytes)
{
    if (d->offsets[0] != 0 || d->offsets[d->n] != bytes || !ascend(d->offsets, (int64_t)d->n + 1))
        return false;
    for (uint32_t k = 1; k < d->n; k++)
        if (rt_str_cmp(rt_dict_str(d, k - 1), rt_dict_str(d, k)) >= 0)
            return false;
    return true;
}

/* ---- indexes -------------------------------------------------------------------------------- */

/* The long parents of those whose ends are the offsets from .. to - 1 at p are those of the catalog, where it has any. */
static bool longs_fit(const struct fe_foreign_key *f, const void *p, int64_t from, int64_t to)
{
    int at = 0;
    while (at < f->nlong && f->longs[at].row < from - 1)
        at++;
    for (int64_t i = from; i < to && f->nlong; i++) {
        int64_t n = (int64_t)(fe_offset_at(p, f->offset_width, i) - fe_offset_at(p, f->offset_width, i - 1));
        bool listed = at < f->nlong && f->longs[at].row == i - 1;
        if (listed ? f->longs[at].children != n : n > FE_LONG_CHILDREN)
            return false;
        at += listed;
    }
    return true;
}

/* No parent has more children than the catalog says, which no offset that falls could hold. */
static bool offsets_fit(const struct rt_part *x, const void *p, int64_t from, int64_t to)
{
    const struct fe_foreign_key *f = &x->table->fks[x->number];
    const int width = f->offset_width;
    uint64_t max = (uint64_t)(f->max_children < 0 ? x->table->rows : f->max_children);
    uint64_t seen = 0, children = x->other_size / 4;
    for (int64_t i = HD_MAX(from, 1); i < to; i++) {
        uint64_t n = fe_offset_at(p, width, i) - fe_offset_at(p, width, i - 1);
        seen |= n | (max - n);
    }
    if (seen >> 63 || (from == 0 && fe_offset_at(p, width, 0) != 0) || !longs_fit(f, p, HD_MAX(from, 1), to))
        return false;
    if (to <= f->parent->rows)
        return true;
    const uint64_t end = fe_offset_at(p, width, to - 1);
    return f->child_rows ? end == children : end <= (uint64_t)x->table->rows;
}

static bool offsets_piece_fits(const struct rt_part *x, const void *p, int64_t from, int64_t to)
{
    const int width = x->table->fks[x->number].offset_width;
    return offsets_fit(x, p, from / width, to / width);
}

static bool rows_fit(const void *p, int64_t from, int64_t to, int64_t end)
{
    struct range r = {.none = end <= 0, .lo = 0, .hi = end - 1};
    return within(p, 4, from, to - from, &r);
}

/* Each rank is the number of bits before its word; there are as many as rows, and none behind the last value. */
static bool ranks_fit(struct rt_part *x, const uint64_t *words, int64_t from, int64_t to)
{
    const struct fe_key_index *k = &x->table->keyidx[x->number];
    uint64_t wrong = 0, rank = (uint64_t)x->count;
    for (int64_t i = from; i < to; i++) {
        wrong |= words[i] >> 32 ^ rank;
        rank += (uint64_t)__builtin_popcount((uint32_t)words[i]);
    }
    x->count = (int64_t)rank;
    if (wrong || (uint64_t)to < fe_rank_words(k->range))
        return !wrong;
    const uint64_t used = k->range % FE_RANK_VALUES;
    return x->count == x->table->rows && (!used || (uint32_t)words[to - 1] >> used == 0);
}

static const struct fe_table_column *column_of(const struct rt_part *x)
{
    return &x->table->cols[x->number];
}

static bool values_piece_fits(const struct rt_part *x, uint64_t from, uint64_t to)
{
    const struct fe_table_column *c = column_of(x);
    if (c->bits) { /* those that end in the piece; what is behind the last row is no value */
        uint64_t bits = (uint64_t)c->bits;
        int64_t first = (int64_t)(from * 8 / bits), end = (int64_t)HD_MIN(to * 8 / bits, (uint64_t)x->table->rows);
        return values_fit(c, first, end - first);
    }
    int64_t a = (int64_t)from / c->width;
    return values_fit(c, a, (int64_t)to / c->width - a);
}

const char *rt_part_check(struct rt_part *x, const void *p, uint64_t from, uint64_t to)
{
    const struct fe_table *t = x->table;
    switch (x->kind) {
    case RT_PART_FREE: return NULL;
    case RT_PART_VALID: return check_valid(x, p, from, to);
    case RT_PART_VALUES: return values_piece_fits(x, from, to) ? NULL : "values outside what the catalog says";
    case RT_PART_ENDS:
        return ends_fit(column_of(x), x->other_size, (int64_t)from / 4, (int64_t)to / 4)
                   ? NULL
                   : "ends of texts outside the text";
    case RT_PART_DICT: /* it is small, and compared with its texts as a whole */
        if (to < x->size || dictionary_fits(&column_of(x)->dict, x->other_size))
            return NULL;
        return "dictionary not ascending or outside its bytes";
    case RT_PART_KEY:
        return rows_fit(p, (int64_t)from / 4, (int64_t)to / 4, t->rows + 1) ? NULL : "row numbers outside the table";
    case RT_PART_RANKS:
        return ranks_fit(x, p, (int64_t)from / 8, (int64_t)to / 8) ? NULL : "ranks are not those of the bits";
    case RT_PART_OFFSETS:
        return offsets_piece_fits(x, p, (int64_t)from, (int64_t)to)
                   ? NULL
                   : "offsets of children that the catalog or the rows do not allow";
    case RT_PART_CHILDREN:
        return rows_fit(p, (int64_t)from / 4, (int64_t)to / 4, t->rows) ? NULL : "row numbers outside the table";
    }
    return NULL;
}
