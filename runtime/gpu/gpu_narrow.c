/* Orders of narrow rows that hold nothing but their sort keys: packed keys are sorted alone, and rows are made of them
 * again (templates/finish/finish_rows.cuh). Of rows of one word neither takes a reading or a writing of its own. */
#include <stddef.h>
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

int rt_narrow_masks(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t n, uint64_t each, uint64_t *masks,
                    int nwords, uint64_t first[HDD_ROW_WORDS], struct hd_err *err)
{
    struct {
        uint64_t masks[HDD_ROW_WORDS], first[HDD_ROW_WORDS];
    } rows = {{0}, {0}};
    struct rt_piece at;
    HD_TRY(rt_state_alloc_zeroed(x, v->s, sizeof rows, &at, err));
    struct hdd_row_survey_args p = {.rows = v->rows_at.address,
                                    .n = n,
                                    .masks = at.address,
                                    .first = at.address + sizeof rows.masks,
                                    .blocks = rt_radix_blocks(x, n / each, HDD_RADIX_THREADS),
                                    .words = (hdd_u32)v->s->stride / 8,
                                    .each = (hdd_u32)each};
    int rc = rt_radix_launch(x, rt_rows_module(v->s, false), "hdd_rows_masks", p.blocks, &p, err);
    if (rc == 0)
        rc = x->d->ops->download(x->d, &rows, at.address, sizeof rows, err);
    rt_gpu_release(x, &at);
    key_masks(v->s, rows.masks, masks, nwords);
    memcpy(first, rows.first, sizeof rows.first);
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

/* Bits of rows that belong to a field. Between fields there may be bytes that nobody writes, where any two rows may
 * differ. */
static void field_bits(const struct rt_state *s, uint64_t bits[HDD_ROW_WORDS])
{
    memset(bits, 0, HDD_ROW_WORDS * sizeof *bits);
    for (int at = 0;; at++) {
        struct row_bit b = row_bit(s, at);
        if (b.at < 0)
            return;
        bits[b.at / WORD_BITS] |= UINT64_C(1) << b.at % WORD_BITS;
    }
}

/* Bits that differ come from the key, inverted ones with a one in base; the others are those of the first row. */
static void pieces_of(const struct rt_state *s, const struct hdd_extract_args *e, const uint64_t *first,
                      struct hdd_row_bits_args *p)
{
    uint64_t from_key[HDD_ROW_WORDS] = {0}, inverted[HDD_ROW_WORDS] = {0}, fields[HDD_ROW_WORDS];
    field_bits(s, fields);
    for (unsigned r = 0; r < e->nruns; r++)
        for (int k = 0; k < e->run[r].length; k++) {
            struct row_bit b = row_bit(s, (int)e->run[r].word * WORD_BITS + WORD_BITS - 1 - (e->run[r].shift + k));
            uint64_t bit = UINT64_C(1) << b.at % WORD_BITS;
            HD_ASSERT(b.at >= 0);
            add_bit(p, b.at, e->run[r].to + k);
            from_key[b.at / WORD_BITS] |= bit;
            inverted[b.at / WORD_BITS] |= b.inverted ? bit : 0;
        }
    for (int w = 0; w < HDD_ROW_WORDS; w++) {
        p->base[w] = (first[w] & ~from_key[w]) | inverted[w];
        p->outside[w] = fields[w] & ~from_key[w];
    }
}

int rt_narrow_first(struct rt_gpu_exec *x, const struct rt_gpu_state *v, uint64_t first[HDD_ROW_WORDS],
                    struct hd_err *err)
{
    return x->d->ops->download(x->d, first, v->rows_at.address, (size_t)v->s->stride, err);
}

/* ---- sorting -------------------------------------------------------------------------------- */

struct narrow {
    struct rt_gpu_exec *x;
    const struct rt_gpu_state *v;
    struct hdd_row_bits_args p;
    struct rt_radix r;
    struct rt_radix_rows rows;
    struct rt_piece state; /* a struct narrow_state */
    int bits; /* of a packed key */
    bool packed; /* keys are there, digits are not counted */
};

struct narrow_state {
    uint64_t missed[HDD_ROW_WORDS];
    uint32_t failed;
};

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

/* Keys are counted, and written unless rows are moved as they are. Rows that differ in bits that are in no piece have
 * other keys than these. */
static int pack(struct rt_gpu_exec *x, const struct hdd_digits *digits, void *args, struct hd_err *err)
{
    struct narrow *o = args;
    struct narrow_state found;
    o->p.digits = *digits;
    o->p.keys = o->r.made ? 0 : o->r.keys[o->r.now].address;
    HD_TRY(x->d->ops->set(x->d, o->state.address, 0, sizeof found, err));
    HD_TRY(rt_radix_launch(x, rt_rows_module(o->v->s, false), "hdd_rows_pack", o->p.blocks, &o->p, err));
    HD_TRY(x->d->ops->download(x->d, &found, o->state.address, sizeof found, err));
    for (int w = 0; w < HDD_ROW_WORDS; w++)
        o->r.stop |= found.missed[w] != 0;
    return 0;
}

/* Ties are put in order; rows are made of keys where no pass did. */
static int settle(struct narrow *o, int low, bool *failed, struct hd_err *err)
{
    struct rt_gpu_exec *x = o->x;
    uint32_t word = 0;
    *failed = false;
    if (o->r.made && low == 0)
        return 0;
    o->p.rows = o->v->moved.address;
    o->p.keys = o->r.keys[o->r.now].address;
    o->p.sorted = (hdd_u32)low;
    if (low)
        HD_TRY(x->d->ops->set(x->d, o->p.failed, 0, sizeof word, err));
    HD_TRY(rt_radix_launch(x, rt_rows_module(o->v->s, true), o->r.made ? "hdd_rows_settle" : "hdd_rows_unpack",
                           o->p.blocks, &o->p, err));
    if (low)
        HD_TRY(x->d->ops->download(x->d, &word, o->p.failed, sizeof word, err));
    *failed = word != 0;
    return 0;
}

static int sort_from(struct narrow *o, int low, bool *failed, struct hd_err *err)
{
    uint64_t mask = bits_from(low, o->bits);
    HD_TRY(o->packed ? rt_radix_sort(o->x, o->v->s, &o->r, mask, err)
                     : rt_radix_sort_made(o->x, o->v->s, &o->r, mask, pack, o, err));
    return o->r.stop ? 0 : settle(o, low, failed, err);
}

/* By the upper bits; where too many agree in them by all. */
static int sort(struct narrow *o, struct hd_err *err)
{
    int low = lowest_bit(o->r.n, o->bits);
    bool failed = false;
    HD_TRY(sort_from(o, low, &failed, err));
    if (!failed)
        return 0;
    o->packed = !o->r.made;
    o->rows.from = o->v->moved.address; /* in order by the upper bits already; the first pass reads all of them */
    return sort_from(o, 0, &failed, err);
}

/* Rows of one word are moved as they are: to another place, back to where they were, which nobody reads any longer, and
 * at last to where they are wanted. */
static int alloc_keys(struct narrow *o, bool nullable, uint64_t offset, uint64_t count, struct hd_err *err)
{
    const struct rt_gpu_state *v = o->v;
    uint64_t n = o->p.n;
    if (nullable || o->p.words != 1 || o->p.npieces > HDD_MOVE_PIECES || offset != 0 || count != n)
        return rt_radix_alloc(o->x, v->s, n, false, &o->r, err);
    o->rows = (struct rt_radix_rows){
        .form = {.base = o->p.base[0], .npieces = o->p.npieces}, .from = v->rows_at.address, .to = v->moved.address};
    memcpy(o->rows.form.piece, o->p.piece, sizeof o->rows.form.piece);
    o->r = (struct rt_radix){.n = n, .made = &o->rows};
    o->r.keys[0] = v->rows_at;
    return rt_state_alloc(o->x, v->s, (size_t)n * 8, &o->r.keys[1], err);
}

int rt_narrow_sort(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t n, uint64_t offset, uint64_t count,
                   const uint64_t first[HDD_ROW_WORDS], struct hdd_extract_args *e, bool nullable, bool *missed,
                   struct hd_err *err)
{
    struct narrow o = {.x = x, .v = v, .bits = e->run[0].to + e->run[0].length, .packed = nullable};
    o.p = (struct hdd_row_bits_args){.rows = v->rows_at.address,
                                     .n = n,
                                     .skip = offset,
                                     .count = count,
                                     .blocks = rt_radix_blocks(x, n, HDD_RADIX_THREADS),
                                     .words = (hdd_u32)v->s->stride / 8};
    HD_TRY(rt_state_alloc(x, v->s, sizeof(struct narrow_state), &o.state, err));
    o.p.missed = o.state.address + offsetof(struct narrow_state, missed);
    o.p.failed = o.state.address + offsetof(struct narrow_state, failed);
    pieces_of(v->s, e, first, &o.p);
    int rc = alloc_keys(&o, nullable, offset, count, err);
    e->to = o.r.keys[0].address;
    if (rc == 0 && nullable)
        rc = rt_finish_launch(x, "finish_pack_number", "hdd_sort_extract", e->blocks, e, err);
    if (rc == 0)
        rc = sort(&o, err);
    *missed = o.r.stop;
    if (o.r.made)
        o.r.keys[0] = (struct rt_piece){0};
    rt_radix_release(x, &o.r);
    rt_gpu_release(x, &o.state);
    return rc;
}
