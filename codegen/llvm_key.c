/* Keys of hash tables: the hash of templates/abi.h, and comparison with the key fields of a row. */
#include "codegen/llvm_build.h"

#include "templates/abi.h"
#include "templates/device.cuh"

#define CANONICAL_NAN   0x7ff8000000000000ULL
#define CANONICAL_NAN32 0x7fc00000

/* h = mix(h ^ v) */
static LLVMValueRef round_of(struct cg_fn *f, LLVMValueRef h, LLVMValueRef v)
{
    h = l_mul(f, l_xor(f, h, v), l_u64(f, HDD_HASH_MUL));
    return l_xor(f, h, l_lshr(f, h, l_i64(f, 32)));
}

/* Equal numbers get equal bits. */
static LLVMValueRef f64_bits(struct cg_fn *f, LLVMValueRef v)
{
    LLVMValueRef zero = l_fcmp(f, LLVMRealOEQ, v, cg_const(f, RT_F64, 0));
    LLVMValueRef nan = l_fcmp(f, LLVMRealUNO, v, v);
    LLVMValueRef bits = l_bitcast(f, v, f->m->i64);
    bits = l_select(f, zero, l_i64(f, 0), bits);
    return l_select(f, nan, l_u64(f, CANONICAL_NAN), bits);
}

static LLVMValueRef f32_bits(struct cg_fn *f, LLVMValueRef v)
{
    LLVMValueRef zero = l_fcmp(f, LLVMRealOEQ, v, cg_const(f, RT_F32, 0));
    LLVMValueRef nan = l_fcmp(f, LLVMRealUNO, v, v);
    LLVMValueRef bits = l_bitcast(f, v, f->m->i32);
    bits = l_select(f, zero, l_i32(f, 0), bits);
    return l_sext(f, l_select(f, nan, l_i32(f, CANONICAL_NAN32), bits), f->m->i64);
}

static LLVMValueRef str_hash(struct cg_fn *f, struct cg_val v)
{
    LLVMValueRef args[] = {v.v, v.len};
    return cg_call(f, CG_CALL_hdr_hash_bytes, args, 2);
}

static LLVMValueRef hash_one(struct cg_fn *f, LLVMValueRef h, struct cg_val v, enum rt_phys p)
{
    LLVMValueRef word[2] = {0};
    switch (p) {
    case RT_BOOL:
    case RT_I32:
    case RT_I64: word[0] = cg_int_cast(f, v.v, p, RT_I64); break;
    case RT_I128: cg_words(f, v.v, p, word); break;
    case RT_F64: word[0] = f64_bits(f, v.v); break;
    case RT_F32: word[0] = f32_bits(f, v.v); break;
    case RT_STR: word[0] = str_hash(f, v); break;
    }
    LLVMValueRef r = round_of(f, h, word[0]);
    if (word[1])
        r = round_of(f, r, word[1]);
    if (v.valid)
        r = l_select(f, v.valid, r, round_of(f, h, l_u64(f, HDD_HASH_NULL)));
    return r;
}

LLVMValueRef cg_hash_more(struct cg_fn *f, LLVMValueRef h, int n, const struct cg_val *keys, const enum rt_phys *phys)
{
    for (int i = 0; i < n; i++)
        h = hash_one(f, h, keys[i], phys[i]);
    return h;
}

LLVMValueRef cg_hash(struct cg_fn *f, int n, const struct cg_val *keys, const enum rt_phys *phys)
{
    return cg_hash_more(f, l_u64(f, HDD_HASH_SEED), n, keys, phys);
}

/* ---- the hash that plans see (templates/digest.cuh) ---- */

static LLVMValueRef digest_const(struct cg_fn *f, uint64_t v)
{
    return cg_const(f, RT_I64, (int64_t)v);
}

static LLVMValueRef digest_word(struct cg_fn *f, LLVMValueRef h, LLVMValueRef word)
{
    LLVMValueRef by = cg_const(f, RT_I64, 33);
    h = l_xor(f, h, word);
    h = l_mul(f, l_xor(f, h, l_lshr(f, h, by)), digest_const(f, HDD_DIGEST_MUL1));
    h = l_mul(f, l_xor(f, h, l_lshr(f, h, by)), digest_const(f, HDD_DIGEST_MUL2));
    return l_xor(f, h, l_lshr(f, h, by));
}

static LLVMValueRef digest_i128(struct cg_fn *f, LLVMValueRef h, LLVMValueRef v)
{
    LLVMValueRef word[2];
    cg_words(f, v, RT_I128, word);
    LLVMValueRef low = digest_word(f, h, word[0]), sign = LLVMBuildAShr(f->b, word[0], l_i64(f, 63), "");
    return l_select(f, l_eq(f, sign, word[1]), low, digest_word(f, low, word[1]));
}

static LLVMValueRef digest_f64(struct cg_fn *f, LLVMValueRef h, LLVMValueRef v)
{
    LLVMValueRef zero = l_fcmp(f, LLVMRealOEQ, v, cg_const(f, RT_F64, 0)), nan = l_fcmp(f, LLVMRealUNO, v, v);
    LLVMValueRef bits = l_select(f, zero, digest_const(f, 0), l_bitcast(f, v, cg_type(f, RT_I64)));
    return digest_word(f, h, l_select(f, nan, digest_const(f, CANONICAL_NAN), bits));
}

static LLVMValueRef digest_text(struct cg_fn *f, LLVMValueRef h, struct cg_val v)
{
    struct cg_when w = cg_when_begin(f, v.valid);
    LLVMValueRef args[] = {h, v.v, v.len};
    struct cg_val r = {.v = cg_call(f, CG_CALL_hdr_digest_text, args, 3)};
    return cg_when_end(f, &w, RT_I64, r).v;
}

struct cg_val cgl_digest(struct cg_fn *f, const struct pl_expr *e)
{
    LLVMValueRef h = digest_const(f, HDD_DIGEST_SEED), more;
    for (int i = 0; i < e->nargs; i++) {
        struct cg_val v = cg_expr(f, e->args[i]);
        enum rt_phys p = cg_arg_phys(f->m, e, i);
        more = p == RT_STR    ? digest_text(f, h, v)
               : p == RT_I128 ? digest_i128(f, h, v.v)
               : p == RT_F64  ? digest_f64(f, h, v.v)
                              : digest_word(f, h, v.v);
        h = v.valid ? l_select(f, v.valid, more, digest_word(f, h, digest_const(f, HDD_DIGEST_NULL))) : more;
    }
    return (struct cg_val){.v = h};
}

/* eq, adjusted for NULLs on either side. */
static LLVMValueRef with_nulls(struct cg_fn *f, LLVMValueRef eq, LLVMValueRef a, LLVMValueRef b, bool null_equal)
{
    if (!a && !b)
        return eq;
    LLVMValueRef both = cg_both(f, a, b);
    eq = l_and(f, eq, both);
    if (null_equal && a && b)
        eq = l_or(f, eq, l_not(f, l_or(f, a, b)));
    return eq;
}

void cg_keys_equal(struct cg_fn *f, int n, const struct rt_field *fields, LLVMValueRef row, const struct cg_val *keys,
                   const struct pl_step *s, int first, LLVMBasicBlockRef differ)
{
    /* Numbers first, in one test; then strings, one by one. */
    LLVMValueRef all = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++) {
            const struct rt_field *fd = &fields[i];
            if ((fd->phys == RT_STR) != (pass == 1))
                continue;
            struct cg_val have = cg_load_field(f, fd, row, false);
            LLVMValueRef eq = cg_compare(f, FE_EQ, fd->phys, have, keys[i]);
            eq = with_nulls(f, eq, have.valid, keys[i].valid, pl_null_equal(s, first + i));
            if (pass == 0)
                all = cg_both(f, all, eq);
            else
                l_need(f, eq, differ, "key");
        }
        if (pass == 0 && all)
            l_need(f, all, differ, "key");
    }
}
