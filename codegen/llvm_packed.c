/* Loads of packed columns (frontend/catalog.h): row r begins at bit r * bits, and 16 bytes may be read from where any row
 * begins. */
#include "codegen/llvm_build.h"

enum { GROUP_BYTES = 16 };

static LLVMValueRef packed_at(struct cg_fn *f, int bits, LLVMValueRef bytes, LLVMValueRef at)
{
    struct cg_mod *m = f->m;
    LLVMValueRef p = l_index(f, m->i8, bytes, l_lshr(f, at, l_i64(f, 3)));
    LLVMValueRef shift = l_and(f, at, l_i64(f, 7));
    LLVMValueRef v = l_lshr(f, l_load_const(f, m->i64, p, 1), shift);
    if (bits > 64 - 7) { /* it may end in a ninth byte, which moves beyond 64 bits where it does not */
        LLVMValueRef last = l_zext(f, l_load_const(f, m->i8, l_index(f, m->i8, p, l_i64(f, 8)), 1), m->i128);
        LLVMValueRef up = l_sub(f, l_i64(f, 64), shift);
        v = l_or(f, v, l_trunc(f, l_shl(f, last, l_zext(f, up, m->i128)), m->i64));
    }
    return l_and(f, v, l_u64(f, ((uint64_t)1 << bits) - 1));
}

LLVMValueRef cg_load_packed(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    return packed_at(f, c->bits, cg_arg_ptr(f, s->a_data), l_mul(f, row, l_i64(f, c->bits)));
}

/* Bytes of a lane that holds a number wherever it begins in its first byte; 0: no lane does. */
static int lane_bytes(int bits)
{
    return bits <= 32 - 14 ? 4 : bits <= 64 - 14 ? 8 : 0;
}

/* Lanes first .. of a vector, as many as GROUP_BYTES hold: the bytes in which each begins, by one load and one shuffle.
 * p is where lane 0 of the vector begins. */
static LLVMValueRef packed_group(struct cg_fn *f, int bits, LLVMValueRef p, int first)
{
    struct cg_mod *m = f->m;
    int lane = lane_bytes(bits), n = GROUP_BYTES / lane, from = first * bits / 8;
    LLVMTypeRef bytes = LLVMVectorType(m->i8, GROUP_BYTES);
    LLVMValueRef v = l_load_const(f, bytes, l_index(f, m->i8, p, l_i64(f, from)), 1), places[GROUP_BYTES];
    for (int k = 0; k < GROUP_BYTES; k++)
        places[k] = l_i32(f, (first + k / lane) * bits / 8 - from + k % lane);
    v = LLVMBuildShuffleVector(f->b, v, v, LLVMConstVector(places, GROUP_BYTES), "");
    return l_bitcast(f, v, LLVMVectorType(lane == 4 ? m->i32 : m->i64, (unsigned)n));
}

static LLVMValueRef joined(struct cg_fn *f, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef places[PL_CPU_VECTOR_ROWS];
    unsigned n = 2 * LLVMGetVectorSize(LLVMTypeOf(a));
    for (unsigned k = 0; k < n; k++)
        places[k] = l_i32(f, (int32_t)k);
    return LLVMBuildShuffleVector(f->b, a, b, LLVMConstVector(places, n), "");
}

/* Numbers of neighbours from a row on: *width bytes each. Every lane begins as many bits behind its place as the first. */
static LLVMValueRef load_packed_lanes(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row, int *width)
{
    const struct fe_table_column *c = &s->table->cols[s->column];
    struct cg_mod *m = f->m;
    int lane = *width = lane_bytes(c->bits), step = GROUP_BYTES / lane;
    LLVMTypeRef t = lane == 4 ? m->i32 : m->i64;
    LLVMValueRef at = l_mul(f, row, l_i64(f, c->bits)), groups[PL_CPU_VECTOR_ROWS], places[PL_CPU_VECTOR_ROWS];
    LLVMValueRef p = l_index(f, m->i8, cg_arg_ptr(f, s->a_data), l_lshr(f, at, l_i64(f, 3)));
    int n = PL_CPU_VECTOR_ROWS / step;
    for (int g = 0; g < n; g++)
        groups[g] = packed_group(f, c->bits, p, g * step);
    for (; n > 1; n /= 2)
        for (int g = 0; g < n / 2; g++)
            groups[g] = joined(f, groups[2 * g], groups[2 * g + 1]);
    for (int k = 0; k < PL_CPU_VECTOR_ROWS; k++)
        places[k] = LLVMConstInt(t, (unsigned)(k * c->bits % 8), false);
    LLVMValueRef begin =
        cg_splat(f, f->b, l_trunc(f, l_and(f, at, l_i64(f, 7)), t), LLVMVectorType(t, PL_CPU_VECTOR_ROWS));
    LLVMValueRef shift = l_add(f, LLVMConstVector(places, PL_CPU_VECTOR_ROWS), begin);
    LLVMValueRef mask =
        cg_splat(f, f->b, LLVMConstInt(t, ((uint64_t)1 << c->bits) - 1, false), LLVMVectorType(t, PL_CPU_VECTOR_ROWS));
    return l_and(f, l_lshr(f, groups[0], shift), mask);
}

static LLVMValueRef packed_lanes_one_by_one(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row)
{
    LLVMValueRef v = LLVMGetUndef(LLVMVectorType(f->m->i64, PL_CPU_VECTOR_ROWS));
    for (int k = 0; k < PL_CPU_VECTOR_ROWS; k++)
        v = LLVMBuildInsertElement(f->b, v, cg_load_packed(f, s, l_add(f, row, l_i64(f, k))), l_i32(f, k), "");
    return v;
}

LLVMValueRef cg_load_packed_values(struct cg_fn *f, const struct pl_step *s, LLVMValueRef row, int *width)
{
    *width = 8;
    if (!f->lanes)
        return cg_load_packed(f, s, row);
    if (!lane_bytes(s->table->cols[s->column].bits))
        return packed_lanes_one_by_one(f, s, row);
    return load_packed_lanes(f, s, row, width);
}
