/* Phase 1 of sealing: the final form of a column. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/store/store_seal.h"

/* A dictionary is made for at most this many distinct texts, in at most a quarter of the rows;
 * in small tables always. */
enum { DICT_MAX = 65536, DICT_RATIO = 4, DICT_SMALL_TABLE = 4096 };

/* The largest factor: a product with a stored number stays far from overflow. It is large
 * enough for midnights in microseconds; larger ones come from columns of two or three values. */
#define MAX_FACTOR UINT64_C(1000000000000)

/* Signed bytes that hold lo..hi; 0: more than 8. */
static int signed_width(hd_i128 lo, hd_i128 hi)
{
    if (lo >= INT8_MIN && hi <= INT8_MAX)
        return 1;
    if (lo >= INT16_MIN && hi <= INT16_MAX)
        return 2;
    if (lo >= INT32_MIN && hi <= INT32_MAX)
        return 4;
    return lo >= INT64_MIN && hi <= INT64_MAX ? 8 : 0;
}

/* A factor and a base cost instructions in every query, so each is used only where it makes
 * the column narrower: first neither, then a base, then a factor. */
void rt_choose_int_form(hd_i128 min, hd_i128 max, uint64_t step, int *width, hd_i128 *base, hd_i128 *factor)
{
    hd_u128 range = (hd_u128)max - (hd_u128)min;
    *base = 0;
    *factor = 1;
    if (range > UINT64_MAX) {
        *width = 16;
        return;
    }
    int best = rt_unsigned_width((uint64_t)range);
    if (step > 1 && step <= MAX_FACTOR && rt_unsigned_width((uint64_t)range / step) < best) {
        *factor = step;
        best = rt_unsigned_width((uint64_t)range / step);
        *base = min % *factor;
        if (*base < 0)
            *base += *factor;
    }
    *width = best;
    hd_i128 lo = (min - *base) / *factor, hi = (max - *base) / *factor;
    int plain = signed_width(lo, hi);
    if (plain && plain <= best)
        return;
    /* Stored numbers from 0 where they fit below the sign bit, else from the least. */
    hd_i128 smallest = signed_width(0, hi - lo) == best ? 0 : -((hd_i128)1 << (8 * best - 1));
    *base = min - *factor * smallest;
}

static int bits_of(uint64_t max)
{
    return max ? 64 - __builtin_clzll(max) : 1;
}

/* The packed form, where it takes less than the one of whole bytes: numbers from the least, in as few bits as the largest needs. */
static void pack_int(struct fe_table_column *col, hd_i128 min, hd_i128 max, uint64_t step)
{
    hd_u128 range = (hd_u128)max - (hd_u128)min;
    if (!col->pack || range > UINT64_MAX)
        return;
    uint64_t factor =
        step > 1 && step <= MAX_FACTOR && bits_of((uint64_t)range / step) < bits_of((uint64_t)range) ? step : 1;
    int bits = bits_of((uint64_t)range / factor);
    if (bits >= 8 * col->width || bits > FE_BITS_MAX)
        return;
    col->bits = bits;
    col->base = min;
    col->factor = factor;
    for (col->width = 1; 8 * col->width <= bits;)
        col->width *= 2;
}

static const struct rt_chunk *chunk(const struct seal_column *x, size_t slice)
{
    const struct rt_slice *s = &x->st->slices[slice];
    const char *at = (const char *)x->st->staging[s->lane].p + s->at;
    return (const struct rt_chunk *)(const void *)at + x->c;
}

void seal_view(const struct seal_column *x, size_t slice, struct rt_chunk_view *v)
{
    const struct rt_slice *s = &x->st->slices[slice];
    rt_chunk_open(x->st->staging[s->lane].p, s, x->c, v);
}

static void prepare_int(struct seal_column *x)
{
    struct fe_table_column *col = x->col;
    hd_i128 min = 0, max = 0;
    bool any = false;
    for (size_t i = 0; i < x->st->nslices; i++) {
        const struct rt_chunk *c = chunk(x, i);
        if (c->nulls == x->st->slices[i].rows)
            continue;
        min = any ? HD_MIN(min, c->min) : c->min;
        max = any ? HD_MAX(max, c->max) : c->max;
        any = true;
    }
    uint64_t step = 0;
    if ((hd_u128)max - (hd_u128)min > UINT64_MAX)
        step = 1;
    for (size_t i = 0; i < x->st->nslices && step != 1; i++) {
        const struct rt_chunk *c = chunk(x, i);
        if (c->nulls != x->st->slices[i].rows)
            step = rt_gcd(rt_gcd(step, c->gcd), (uint64_t)(c->min - min));
    }
    col->storage = FE_STORE_INT;
    rt_choose_int_form(min, max, step, &col->width, &col->base, &col->factor);
    pack_int(col, min, max, step);
}

/* Adds the texts of one chunk to the set; stops when it is over the limit. */
static int collect_chunk(struct seal_column *x, const struct rt_chunk_view *v, uint32_t limit, struct hd_err *err)
{
    uint32_t n = v->c->form == RT_CHUNK_DICT ? v->c->entries : v->rows, start = 0;
    bool nulls = v->valid && v->c->form == RT_CHUNK_TEXT;
    for (uint32_t i = 0; i < n && x->set.n <= limit; i++) {
        struct rt_str s = {v->bytes + start, v->ends[i] - start};
        start = v->ends[i];
        if (nulls && !rt_bit(v->valid, i))
            continue;
        if (rt_strset_add(&x->set, s, err) < 0)
            return -1;
    }
    return 0;
}

/* Gives the set's entries their codes: their places in sorted order. */
static int rank_entries(struct seal_column *x, struct hd_err *err)
{
    for (uint32_t k = 0; k < x->set.n; k++)
        x->dict_bytes += x->set.v[k].n;
    x->rank = rt_strset_rank(&x->set, err);
    return x->rank ? 0 : -1;
}

static int try_dictionary(struct seal_column *x, bool *fits, struct hd_err *err)
{
    int64_t rows = x->st->table->rows;
    uint32_t limit = rows <= DICT_SMALL_TABLE ? DICT_SMALL_TABLE : (uint32_t)HD_MIN(DICT_MAX, rows / DICT_RATIO);
    HD_TRY(rt_strset_init(&x->set, err));
    for (size_t i = 0; i < x->st->nslices && x->set.n <= limit; i++) {
        struct rt_chunk_view v;
        seal_view(x, i, &v);
        HD_TRY(collect_chunk(x, &v, limit, err));
    }
    *fits = x->set.n <= limit;
    return *fits ? rank_entries(x, err) : 0;
}

/* Bytes of text that a chunk comes to when it is written row by row. */
static uint64_t text_size(const struct rt_chunk_view *v)
{
    if (v->c->form == RT_CHUNK_TEXT)
        return v->c->bytes;
    const uint16_t *codes = v->values;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < v->rows; i++)
        if (!v->valid || rt_bit(v->valid, i))
            sum += v->ends[codes[i]] - (codes[i] ? v->ends[codes[i] - 1] : 0);
    return sum;
}

static int place_blocks(struct seal_column *x, struct hd_err *err)
{
    struct seal_table *st = x->st;
    x->text_base = hd_try_malloc(((size_t)st->nblocks + 1) * sizeof *x->text_base);
    if (!x->text_base)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    uint64_t at = 0;
    for (int64_t b = 0; b < st->nblocks; b++) {
        x->text_base[b] = at;
        for (size_t i = st->block_slice[b]; i < st->block_slice[b + 1]; i++) {
            struct rt_chunk_view v;
            seal_view(x, i, &v);
            at += text_size(&v);
        }
        if (at - x->text_base[b] > UINT32_MAX)
            return HD_FAIL(err, UNSUPPORTED, st->table->name, "column \"%s\": more than 4 GiB of text in %d rows",
                           x->col->name, RT_BLOCK_ROWS);
    }
    x->text_base[st->nblocks] = at;
    return 0;
}

static int prepare_text(struct seal_column *x, struct hd_err *err)
{
    bool fits;
    HD_TRY(try_dictionary(x, &fits, err));
    x->col->storage = fits ? FE_STORE_DICT : FE_STORE_TEXT;
    x->col->dict.n = fits ? x->set.n : 0;
    x->col->width = !fits ? 4 : x->set.n <= 256 ? 1 : 2;
    int bits = bits_of(x->set.n ? x->set.n - (uint64_t)1 : 0);
    if (fits && x->col->pack && bits < 8 * x->col->width)
        x->col->bits = bits;
    if (fits)
        return 0;
    rt_strset_release(&x->set);
    return place_blocks(x, err);
}

int seal_prepare_column(struct seal_column *x, struct hd_err *err)
{
    for (size_t i = 0; i < x->st->nslices; i++)
        x->nulls += chunk(x, i)->nulls;
    x->col->base = 0;
    x->col->factor = 1;
    if (hd_type_is_text(x->col->type))
        return prepare_text(x, err);
    if (hd_type_is_float(x->col->type)) {
        bool single = x->col->type.kind == HD_FLOAT32;
        x->col->storage = single ? FE_STORE_F32 : FE_STORE_F64;
        x->col->width = single ? 4 : 8;
        return 0;
    }
    prepare_int(x);
    return 0;
}

void seal_release_column(struct seal_column *x)
{
    rt_strset_release(&x->set);
    free(x->rank);
    free(x->text_base);
    x->rank = NULL;
    x->text_base = NULL;
}
