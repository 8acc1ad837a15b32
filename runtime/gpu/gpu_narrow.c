/* Orders of narrow rows that hold nothing but their sort keys: packed keys are sorted alone, and rows are made of them
 * again (templates/finish/finish_rows.cu). */
#include <string.h>

#include "runtime/gpu/gpu_order.h"

enum { WORD_BITS = 64, SPARE_BITS = 4 };

/* ---- bits of rows and of normalised keys ----------------------------------------------------- */

/* Where bit `at` of the normalised key, the first one 0, lies in the row, and whether it is inverted there. */
struct row_bit {
    int at; /* -1: nowhere, the key ends before it */
    bool inverted;
};

static int value_bits(enum rt_phys p)
{
    return p == RT_BOOL ? 1 : p == RT_I32 ? 32 : 64;
}

static struct row_bit row_bit(const struct rt_state *s, int at)
{
    for (int i = 0; i < s->nsort; i++) {
        const struct rt_sort_key *k = &s->sort[i];
        const struct rt_field *f = &s->fields[k->field];
        int bits = value_bits(f->phys);
        if (f->valid_offset >= 0 && at-- == 0)
            return (struct row_bit){f->valid_offset * 8, !k->nulls_first};
        if (at < bits)
            return (struct row_bit){f->offset * 8 + bits - 1 - at, (at == 0 && f->phys != RT_BOOL) != k->desc};
        at -= bits;
    }
    return (struct row_bit){-1, false};
}

/* Masks of the normalised key from bits in which rows differ. */
static void key_masks(const struct rt_state *s, const uint64_t *rows, uint64_t *masks, int nwords)
{
    for (int at = 0; at < nwords * WORD_BITS; at++) {
        struct row_bit b = row_bit(s, at);
        if (b.at >= 0 && rows[b.at / WORD_BITS] >> b.at % WORD_BITS & 1)
            masks[at / WORD_BITS] |= UINT64_C(1) << (WORD_BITS - 1 - at % WORD_BITS);
    }
}

int rt_narrow_masks(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t n, uint64_t *masks, int nwords,
                    struct hd_err *err)
{
    uint64_t rows[HDD_ROW_WORDS] = {0};
    struct rt_piece at;
    HD_TRY(rt_state_alloc_zeroed(x, v->s, sizeof rows, &at, err));
    struct hdd_row_bits_args p = {.rows = v->rows_at.address,
                                  .n = n,
                                  .masks = at.address,
                                  .blocks = rt_finish_blocks(x, n, RT_FINISH_THREADS),
                                  .words = (hdd_u32)v->s->stride / 8};
    int rc = rt_finish_launch(x, "finish_rows", "hdd_rows_masks", p.blocks, &p, err);
    if (rc == 0)
        rc = x->d->ops->download(x->d, rows, at.address, sizeof rows, err);
    rt_gpu_release(x, &at);
    key_masks(v->s, rows, masks, nwords);
    return rc;
}

/* ---- packing ------------------------------------------------------------------------------- */

static void add_bit(struct hdd_row_bits_args *p, int row, int packed)
{
    hdd_u32 word = (hdd_u32)(row / WORD_BITS), left = (hdd_u32)(packed - row % WORD_BITS) % WORD_BITS, k = 0;
    while (k < p->npieces && (p->piece[k].word != word || p->piece[k].left != left))
        k++;
    if (k == p->npieces) {
        HD_ASSERT(k < HD_COUNT(p->piece));
        p->piece[p->npieces++] = (struct hdd_row_piece){.word = word, .left = left};
    }
    p->piece[k].mask |= UINT64_C(1) << packed;
}

/* Bits that differ come from the key, inverted ones with a one in base; the others are those of the first row. */
static void pieces_of(const struct rt_state *s, const struct hdd_extract_args *e, const uint64_t *first,
                      struct hdd_row_bits_args *p)
{
    uint64_t from_key[HDD_ROW_WORDS] = {0}, inverted[HDD_ROW_WORDS] = {0};
    for (unsigned r = 0; r < e->nruns; r++)
        for (int k = 0; k < e->run[r].length; k++) {
            struct row_bit b = row_bit(s, (int)e->run[r].word * WORD_BITS + WORD_BITS - 1 - (e->run[r].shift + k));
            uint64_t bit = UINT64_C(1) << b.at % WORD_BITS;
            HD_ASSERT(b.at >= 0);
            add_bit(p, b.at, e->run[r].to + k);
            from_key[b.at / WORD_BITS] |= bit;
            inverted[b.at / WORD_BITS] |= b.inverted ? bit : 0;
        }
    for (int w = 0; w < HDD_ROW_WORDS; w++)
        p->base[w] = (first[w] & ~from_key[w]) | inverted[w];
}

static int first_row(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t first[HDD_ROW_WORDS],
                     struct hd_err *err)
{
    memset(first, 0, sizeof *first * HDD_ROW_WORDS);
    return x->d->ops->download(x->d, first, v->rows_at.address, (size_t)v->s->stride, err);
}

/* ---- sorting -------------------------------------------------------------------------------- */

/* Keys that are even in their upper bits agree in few more than it takes to tell them apart: those are put right where
 * rows are made. 0: all bits are sorted by. */
static int lowest_bit(uint64_t n, int bits)
{
    int enough = WORD_BITS - __builtin_clzll(n) + SPARE_BITS;
    int passes = (enough + 7) / 8;
    return (bits + 7) / 8 > passes + 1 ? bits - passes * 8 : 0;
}

static uint64_t bits_from(int low, int bits)
{
    return (bits == WORD_BITS ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1) & ~UINT64_C(0) << low;
}

static int unpack(struct rt_gpu_exec *x, struct rt_radix *r, struct hdd_row_bits_args *p, int low, bool *failed,
                  struct hd_err *err)
{
    uint32_t word = 0;
    p->keys = r->keys[r->now].address;
    p->sorted = (hdd_u32)low;
    if (low)
        HD_TRY(x->d->ops->set(x->d, p->failed, 0, sizeof word, err));
    HD_TRY(rt_finish_launch(x, "finish_rows", "hdd_rows_unpack", p->blocks, p, err));
    if (low)
        HD_TRY(x->d->ops->download(x->d, &word, p->failed, sizeof word, err));
    *failed = word != 0;
    return 0;
}

static int pack(struct rt_gpu_exec *x, const struct hdd_digits *digits, void *args, struct hd_err *err)
{
    struct hdd_row_bits_args *p = args;
    p->digits = *digits;
    return rt_finish_launch(x, "finish_rows", "hdd_rows_pack", p->blocks, p, err);
}

/* By the upper bits; where too many agree in them by all: the upper ones are in order already. */
static int sort(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct rt_radix *r, struct hdd_row_bits_args *p,
                int bits, bool packed, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    int low = lowest_bit(r->n, bits);
    bool failed;
    HD_TRY(packed ? rt_radix_sort(x, s, r, bits_from(low, bits), err)
                  : rt_radix_sort_made(x, s, r, bits_from(low, bits), pack, p, err));
    p->rows = v->moved.address;
    HD_TRY(unpack(x, r, p, low, &failed, err));
    if (!failed)
        return 0;
    HD_TRY(rt_radix_sort(x, s, r, bits_from(0, bits), err));
    return unpack(x, r, p, 0, &failed, err);
}

int rt_narrow_sort(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t n, uint64_t offset, uint64_t count,
                   struct hdd_extract_args *e, bool nullable, struct hd_err *err)
{
    uint64_t first[HDD_ROW_WORDS];
    struct rt_radix r;
    struct rt_piece failed;
    struct hdd_row_bits_args p = {.n = n, .words = (hdd_u32)v->s->stride / 8, .rows = v->rows_at.address};
    HD_TRY(rt_state_alloc(x, v->s, sizeof(uint32_t), &failed, err));
    HD_TRY(first_row(x, v, first, err));
    pieces_of(v->s, e, first, &p);
    HD_TRY(rt_radix_alloc(x, v->s, n, false, &r, err));
    p.keys = e->to = r.keys[0].address;
    p.blocks = rt_finish_blocks(x, n, RT_FINISH_THREADS);
    p.failed = failed.address;
    p.skip = offset;
    p.count = count;
    int rc = nullable ? rt_finish_launch(x, "finish_pack", "hdd_sort_extract", e->blocks, e, err) : 0;
    if (rc == 0)
        rc = sort(x, v, &r, &p, e->run[0].to + e->run[0].length, nullable, err);
    rt_radix_release(x, &r);
    rt_gpu_release(x, &failed);
    return rc;
}
