/* Physical types in LLVM, and values in registers and memory. In memory a BOOL is a byte and a
 * string {address, u64 length}; an I128 is only taken to be aligned to 8. */
#include "codegen/llvm_build.h"

LLVMTypeRef cg_scalar_type(const struct cg_mod *m, enum rt_phys p)
{
    switch (p) {
    case RT_BOOL: return m->i1;
    case RT_I32: return m->i32;
    case RT_I64: return m->i64;
    case RT_I128: return m->i128;
    case RT_F64: return m->f64;
    case RT_F32: return m->f32;
    case RT_STR: return m->ptr;
    }
    HD_BUG("physical type %d", (int)p);
}

LLVMTypeRef cg_type(const struct cg_fn *f, enum rt_phys p)
{
    LLVMTypeRef t = cg_scalar_type(f->m, p);
    return f->lanes ? LLVMVectorType(t, f->lanes) : t;
}

int cg_phys_bits(enum rt_phys p)
{
    switch (p) {
    case RT_BOOL: return 1;
    case RT_I32: return 32;
    case RT_I64: return 64;
    case RT_I128: return 128;
    case RT_F64:
    case RT_F32:
    case RT_STR: break;
    }
    HD_BUG("physical type %d is no integer", (int)p);
}

int cg_phys_size(enum rt_phys p)
{
    switch (p) {
    case RT_BOOL: return 1;
    case RT_I32:
    case RT_F32: return 4;
    case RT_I64:
    case RT_F64: return 8;
    case RT_I128:
    case RT_STR: return 16;
    }
    HD_BUG("physical type %d", (int)p);
}

static LLVMValueRef const_splat(LLVMValueRef v, unsigned lanes)
{
    LLVMValueRef all[PL_CPU_VECTOR_ROWS];
    for (unsigned i = 0; i < lanes; i++)
        all[i] = v;
    return LLVMConstVector(all, lanes);
}

LLVMValueRef cg_const(const struct cg_fn *f, enum rt_phys p, hd_i128 v)
{
    LLVMTypeRef t = cg_scalar_type(f->m, p);
    uint64_t words[2] = {(uint64_t)v, (uint64_t)((hd_u128)v >> 64)};
    LLVMValueRef c;
    if (rt_phys_is_float(p))
        c = LLVMConstReal(t, (double)v);
    else if (p == RT_STR)
        c = LLVMConstNull(t);
    else
        c = LLVMConstIntOfArbitraryPrecision(t, p == RT_I128 ? 2 : 1, words);
    return f->lanes ? const_splat(c, f->lanes) : c;
}

struct cg_val cg_zero(const struct cg_fn *f, enum rt_phys p)
{
    struct cg_val v = {.v = cg_const(f, p, 0)};
    if (p == RT_STR)
        v.len = l_i32(f, 0);
    return v;
}

LLVMValueRef cg_splat(struct cg_fn *f, LLVMBuilderRef b, LLVMValueRef v, LLVMTypeRef type)
{
    LLVMValueRef any = LLVMGetPoison(type);
    LLVMValueRef one = LLVMBuildInsertElement(b, any, v, l_i32(f, 0), "");
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(f->m->i32, LLVMGetVectorSize(type)));
    return LLVMBuildShuffleVector(b, one, any, zeros, "");
}

LLVMValueRef cg_int_cast(struct cg_fn *f, LLVMValueRef v, enum rt_phys from, enum rt_phys to)
{
    int a = cg_phys_bits(from), b = cg_phys_bits(to);
    if (a == b)
        return v;
    if (a > b)
        return l_trunc(f, v, cg_type(f, to));
    return from == RT_BOOL ? l_zext(f, v, cg_type(f, to)) : l_sext(f, v, cg_type(f, to));
}

/* A validity as a value: NULL means always. */
static LLVMValueRef solid(const struct cg_fn *f, LLVMValueRef valid)
{
    return valid ? valid : cg_const(f, RT_BOOL, 1);
}

struct cg_val cg_select(struct cg_fn *f, LLVMValueRef c, struct cg_val a, struct cg_val b)
{
    struct cg_val r = {.v = l_select(f, c, a.v, b.v)};
    if (a.len)
        r.len = l_select(f, c, a.len, b.len);
    if (a.valid || b.valid)
        r.valid = l_select(f, c, solid(f, a.valid), solid(f, b.valid));
    return r;
}

struct cg_val cg_phi(struct cg_fn *f, int n, const struct cg_val *vals, LLVMBasicBlockRef *blocks)
{
    bool nullable = false;
    struct cg_val r = {.v = l_phi(f, LLVMTypeOf(vals[0].v))};
    for (int i = 0; i < n; i++)
        nullable = nullable || vals[i].valid;
    if (vals[0].len)
        r.len = l_phi(f, f->m->i32);
    if (nullable)
        r.valid = l_phi(f, f->m->i1);
    for (int i = 0; i < n; i++) {
        l_incoming(r.v, vals[i].v, blocks[i]);
        if (r.len)
            l_incoming(r.len, vals[i].len, blocks[i]);
        if (nullable)
            l_incoming(r.valid, solid(f, vals[i].valid), blocks[i]);
    }
    return r;
}

static LLVMValueRef load(struct cg_fn *f, LLVMTypeRef t, LLVMValueRef p, unsigned align, bool constant)
{
    return constant ? l_load_const(f, t, p, align) : l_load(f, t, p, align);
}

struct cg_val cg_load(struct cg_fn *f, enum rt_phys p, LLVMValueRef ptr, bool constant)
{
    struct cg_mod *m = f->m;
    struct cg_val r = {0};
    switch (p) {
    case RT_BOOL: r.v = l_trunc(f, load(f, m->i8, ptr, 1, constant), m->i1); break;
    case RT_I32: r.v = load(f, m->i32, ptr, 4, constant); break;
    case RT_I64: r.v = load(f, m->i64, ptr, 8, constant); break;
    case RT_I128: r.v = load(f, m->i128, ptr, 8, constant); break;
    case RT_F64: r.v = load(f, m->f64, ptr, 8, constant); break;
    case RT_F32: r.v = load(f, m->f32, ptr, 4, constant); break;
    case RT_STR:
        r.v = load(f, m->ptr, ptr, 8, constant);
        r.len = l_trunc(f, load(f, m->i64, l_at(f, ptr, 8), 8, constant), m->i32);
        break;
    }
    return r;
}

void cg_store(struct cg_fn *f, enum rt_phys p, struct cg_val v, LLVMValueRef ptr)
{
    switch (p) {
    case RT_BOOL: l_store(f, l_zext(f, v.v, f->m->i8), ptr, 1); break;
    case RT_I32:
    case RT_F32: l_store(f, v.v, ptr, 4); break;
    case RT_I64:
    case RT_I128:
    case RT_F64: l_store(f, v.v, ptr, 8); break;
    case RT_STR:
        l_store(f, v.v, ptr, 8);
        l_store(f, l_zext(f, v.len, f->m->i64), l_at(f, ptr, 8), 8);
        break;
    }
}

LLVMTypeRef cg_narrow_type(struct cg_fn *f, const struct rt_field *fd)
{
    return fd->bytes == 1 ? f->m->i8 : LLVMInt16TypeInContext(f->m->ctx);
}

struct cg_val cg_load_field(struct cg_fn *f, const struct rt_field *fd, LLVMValueRef row, bool constant)
{
    LLVMValueRef at = l_at(f, row, fd->offset);
    struct cg_val v = {0};
    if (fd->bytes)
        v.v = l_zext(f, load(f, cg_narrow_type(f, fd), at, (unsigned)fd->bytes, constant), f->m->i32);
    else
        v = cg_load(f, fd->phys, at, constant);
    if (fd->valid_offset >= 0)
        v.valid = cg_load(f, RT_BOOL, l_at(f, row, fd->valid_offset), constant).v;
    return v;
}

void cg_store_field(struct cg_fn *f, const struct rt_field *fd, struct cg_val v, LLVMValueRef row)
{
    LLVMValueRef at = l_at(f, row, fd->offset);
    if (fd->bytes)
        l_store(f, l_trunc(f, v.v, cg_narrow_type(f, fd)), at, (unsigned)fd->bytes);
    else
        cg_store(f, fd->phys, v, at);
    if (fd->valid_offset >= 0)
        cg_store(f, RT_BOOL, (struct cg_val){.v = solid(f, v.valid)}, l_at(f, row, fd->valid_offset));
}

LLVMValueRef cg_alloca(struct cg_fn *f, int bytes)
{
    LLVMTypeRef t = LLVMArrayType(f->m->i8, (unsigned)bytes);
    LLVMValueRef p = LLVMBuildAlloca(f->eb, t, "");
    LLVMSetAlignment(p, 16);
    return p;
}

LLVMValueRef cg_test_bit(struct cg_fn *f, LLVMValueRef words, LLVMValueRef index, bool constant)
{
    LLVMValueRef at = l_index(f, f->m->i64, words, l_lshr(f, index, l_i64(f, 6)));
    LLVMValueRef w = constant ? l_load_const(f, f->m->i64, at, 8) : l_load(f, f->m->i64, at, 8);
    w = l_lshr(f, w, l_and(f, index, l_i64(f, 63)));
    return l_trunc(f, w, f->m->i1);
}
