/* Phase 2 of sealing: chunks of a block into the bytes of the final files. */
#include <string.h>

#include "runtime/store/store_seal.h"

/* A block's rows under construction. */
struct block {
    const struct seal_column *x;
    const struct seal_paths *paths;
    char *out;       /* stored values */
    uint8_t *bitmap; /* validity */
    uint32_t *map;   /* scratch: final codes */
    uint32_t row;    /* of the block, where the current chunk starts */
    uint64_t base;   /* where the block's text starts */
    uint64_t text;   /* bytes of it written so far */
};

#define NARROW(S, T) \
    for (uint32_t i = 0; i < n; i++) \
    ((T *)out)[i] = (T)((factor == 1 ? ((const S *)in)[i] : ((const S *)in)[i] / factor) + add)
#define NARROW_TO(T) \
    switch (from) { \
    case 1: NARROW(uint8_t, T); break; \
    case 2: NARROW(uint16_t, T); break; \
    case 4: NARROW(uint32_t, T); break; \
    default: NARROW(uint64_t, T); \
    } \
    break

/* stored = value / factor + add, modulo 2^64: the differences cancel. */
static void narrow(void *out, int to, const void *in, int from, uint32_t n, uint64_t factor, uint64_t add)
{
    switch (to) {
    case 1: NARROW_TO(uint8_t);
    case 2: NARROW_TO(uint16_t);
    case 4: NARROW_TO(uint32_t);
    default: NARROW_TO(uint64_t);
    }
}

static void fill(char *out, int width, uint32_t n, uint64_t value)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + (size_t)i * (size_t)width, &value, (size_t)width); /* little-endian */
}

static hd_i128 wide_value(const struct rt_chunk_view *v, uint32_t i)
{
    const void *p = v->values;
    hd_i128 min = v->c->min;
    switch (v->c->width) {
    case 0: return min;
    case 1: return min + ((const uint8_t *)p)[i];
    case 2: return min + ((const uint16_t *)p)[i];
    case 4: return min + ((const uint32_t *)p)[i];
    case 8: return min + ((const uint64_t *)p)[i];
    default: return ((const hd_i128 *)p)[i];
    }
}

/* Either side has 128 bits: one by one. */
static void encode_wide(const struct fe_table_column *col, char *out, const struct rt_chunk_view *v)
{
    for (uint32_t i = 0; i < v->rows; i++) {
        if (v->valid && !rt_bit(v->valid, i))
            continue; /* zeroed below, and its value may lie outside the column's range */
        hd_i128 stored = (wide_value(v, i) - col->base) / col->factor;
        memcpy(out + (size_t)i * (size_t)col->width, &stored, (size_t)col->width);
    }
}

static void encode_int(struct block *b, const struct rt_chunk_view *v)
{
    const struct fe_table_column *col = b->x->col;
    char *out = b->out + (size_t)b->row * (size_t)col->width;
    if (col->width == 16 || v->c->form == RT_CHUNK_WIDE) {
        encode_wide(col, out, v);
        return;
    }
    uint64_t factor = (uint64_t)col->factor;
    uint64_t add = (uint64_t)((v->c->min - col->base) / col->factor);
    if (v->c->width == 0)
        fill(out, col->width, v->rows, add);
    else
        narrow(out, col->width, v->values, v->c->width, v->rows, factor, add);
}

/* The final code of a text that the set knows. */
static uint32_t code_of(const struct seal_column *x, struct rt_str s)
{
    int64_t k = rt_strset_find(&x->set, s);
    if (k < 0)
        HD_BUG("text of column \"%s\" left its dictionary", x->col->name);
    return x->rank[k];
}

static void put_code(const struct block *b, uint32_t i, uint32_t code)
{
    if (b->x->col->width == 1)
        ((uint8_t *)b->out)[b->row + i] = (uint8_t)code;
    else
        ((uint16_t *)(void *)b->out)[b->row + i] = (uint16_t)code;
}

static void encode_codes(struct block *b, const struct rt_chunk_view *v)
{
    uint32_t *map = b->map, start = 0, n = v->c->form == RT_CHUNK_DICT ? v->c->entries : v->rows;
    for (uint32_t k = 0; k < n; k++) {
        struct rt_str s = {v->bytes + start, v->ends[k] - start};
        start = v->ends[k];
        bool null = v->c->form == RT_CHUNK_TEXT && v->valid && !rt_bit(v->valid, k);
        map[k] = null ? 0 : code_of(b->x, s);
    }
    const uint16_t *codes = v->values;
    for (uint32_t i = 0; i < v->rows; i++)
        put_code(b, i, v->c->form == RT_CHUNK_TEXT ? map[i] : n ? map[codes[i]] : 0);
}

/* Text of a chunk whose slice had a local dictionary: expanded piece by piece. */
static int expand_text(struct block *b, const struct rt_chunk_view *v, uint32_t *ends, struct hd_err *err)
{
    char piece[16384];
    size_t n = 0; /* bytes in the piece: the last of b->text */
    const uint16_t *codes = v->values;
    for (uint32_t i = 0; i < v->rows; i++) {
        struct rt_str s = {"", 0};
        if (!v->valid || rt_bit(v->valid, i)) {
            uint32_t start = codes[i] ? v->ends[codes[i] - 1] : 0;
            s = (struct rt_str){v->bytes + start, v->ends[codes[i]] - start};
        }
        if (n + s.n > sizeof piece) {
            HD_TRY(rt_file_write_at(b->paths->bytes, piece, n, b->base + b->text - n, err));
            n = 0;
        }
        if (s.n > sizeof piece) {
            HD_TRY(rt_file_write_at(b->paths->bytes, s.p, s.n, b->base + b->text, err));
        } else {
            memcpy(piece + n, s.p, s.n);
            n += s.n;
        }
        b->text += s.n;
        ends[i] = (uint32_t)b->text;
    }
    return rt_file_write_at(b->paths->bytes, piece, n, b->base + b->text - n, err);
}

static int encode_text(struct block *b, const struct rt_chunk_view *v, struct hd_err *err)
{
    uint32_t *ends = (uint32_t *)(void *)b->out + b->row;
    if (v->c->form == RT_CHUNK_DICT)
        return expand_text(b, v, ends, err);
    for (uint32_t i = 0; i < v->rows; i++)
        ends[i] = (uint32_t)b->text + v->ends[i];
    HD_TRY(rt_file_write_at(b->paths->bytes, v->bytes, v->c->bytes, b->base + b->text, err));
    b->text += v->c->bytes;
    return 0;
}

/* Sets the bits of valid rows, and zeroes the stored values of the others (ends of texts are
 * right as they are: a NULL is empty) so that files depend on the rows alone. */
static void mark_valid(struct block *b, const struct rt_chunk_view *v)
{
    size_t width = (size_t)b->x->col->width;
    bool zero = b->x->col->storage != FE_STORE_TEXT;
    for (uint32_t i = 0; i < v->rows; i++) {
        uint32_t r = b->row + i;
        if (!v->valid || rt_bit(v->valid, i))
            b->bitmap[r >> 3] |= (uint8_t)(1 << (r & 7));
        else if (zero)
            memset(b->out + r * width, 0, width);
    }
}

/* The block's stored numbers, of whole bytes so far, one behind the other; how many bytes they take. */
static size_t pack_block(const struct block *b, unsigned char *out)
{
    const struct fe_table_column *c = b->x->col;
    const size_t width = (size_t)c->width;
    const uint64_t mask = ((uint64_t)1 << c->bits) - 1;
    hd_u128 rest = 0; /* of what was packed: its last bits */
    size_t n = 0;
    int have = 0;
    for (uint32_t i = 0; i < b->row; i++) {
        uint64_t v = 0;
        memcpy(&v, b->out + i * width, width); /* little-endian */
        rest |= (hd_u128)(v & mask) << have;
        for (have += c->bits; have >= 8; have -= 8, rest >>= 8)
            out[n++] = (unsigned char)rest;
    }
    if (have)
        out[n++] = (unsigned char)rest;
    return n;
}

static int write_values(const struct block *b, int64_t block, const struct seal_paths *p, struct seal_buffer *buffer,
                        struct hd_err *err)
{
    const struct fe_table_column *c = b->x->col;
    const uint64_t row = (uint64_t)block << RT_BLOCK_SHIFT;
    if (!c->bits)
        return rt_file_write_at(p->data, b->out, b->row * (size_t)c->width, row * (uint64_t)c->width, err);
    size_t n = pack_block(b, buffer->packed);
    return rt_file_write_at(p->data, buffer->packed, n, row / 8 * (uint64_t)c->bits, err);
}

static int encode_chunk(struct block *b, const struct rt_chunk_view *v, struct hd_err *err)
{
    switch (b->x->col->storage) {
    case FE_STORE_INT: encode_int(b, v); return 0;
    case FE_STORE_F64: memcpy(b->out + (size_t)b->row * 8, v->values, (size_t)v->rows * 8); return 0;
    case FE_STORE_F32: memcpy(b->out + (size_t)b->row * 4, v->values, (size_t)v->rows * 4); return 0;
    case FE_STORE_DICT: encode_codes(b, v); return 0;
    case FE_STORE_TEXT: return encode_text(b, v, err);
    }
    return 0;
}

int seal_encode_block(const struct seal_column *x, int64_t block, const struct seal_paths *p,
                      struct seal_buffer *buffer, struct hd_err *err)
{
    const struct seal_table *st = x->st;
    struct block b = {.x = x, .paths = p, .out = buffer->out, .bitmap = buffer->bitmap, .map = buffer->map};
    if (x->text_base)
        b.base = x->text_base[block];
    if (x->nulls)
        memset(b.bitmap, 0, sizeof buffer->bitmap);
    for (size_t i = st->block_slice[block]; i < st->block_slice[block + 1]; i++) {
        struct rt_chunk_view v;
        seal_view(x, i, &v);
        HD_TRY(encode_chunk(&b, &v, err));
        if (x->nulls)
            mark_valid(&b, &v);
        b.row += v.rows;
    }
    HD_TRY(write_values(&b, block, p, buffer, err));
    if (!x->nulls)
        return 0;
    return rt_file_write_at(p->validity, b.bitmap, (b.row + 7) / 8, ((uint64_t)block << RT_BLOCK_SHIFT) / 8, err);
}
