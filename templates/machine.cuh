// The machine: every intrinsic, atomic, fence and line of PTX that device code uses, and
// nothing else. All other headers are plain C++14 over these names, so the whole of what must
// be trusted about the hardware is here (docs/testing.md, "Without a GPU"). tests/simt/twin.cuh gives
// the same names on the host: the emulator compiles emitted source against it instead of this file.
//
// Warp operations are for whole warps: every lane of the warp must reach the same call. The
// code above keeps to that by never letting a lane return early and by doing per-row work
// inside `if (live) { ... }` blocks that contain no warp operation.
#ifndef HDD_MACHINE_CUH
#define HDD_MACHINE_CUH

#include "hd/device.cuh"
#include "hd/types.cuh"

#define HDD_DEVICE static __device__ __forceinline__
#define HDD_MEMBER __device__ __forceinline__
// Long and the same for every kernel: compiled once, in a library (library_*.cu), which kernels
// are linked with. Headers declare such functions for all and define them for their library.
#if defined HDD_LIBRARY_SHARE || defined HDD_LIBRARY_WIDE || defined HDD_LIBRARY_FLOAT
#define HDD_CALLED __device__ __noinline__
#else
#define HDD_CALLED extern __device__
#endif
// Of a framed pipeline, so that no function grows without bound; numbers that functions of one text
// differ in.
#define HDD_PART  __device__ __noinline__
#define HDD_TABLE static __device__ const
// Long and rare, but a kernel's own: called, one copy in it.
#define HDD_APART        static __device__ __noinline__
#define HDD_KERNEL(name) extern "C" __global__ void __launch_bounds__(HDD_BLOCK) name
// As many blocks are to fit a multiprocessor: a limit to registers.
#define HDD_KERNEL_FOR(blocks, name) extern "C" __global__ void __launch_bounds__(HDD_BLOCK, blocks) name
// One structure per kernel holds all it keeps in shared memory.
#define HDD_SHARED(type, name) __shared__ type name
// More of it than a kernel may declare: given at the launch.
#define HDD_SHARED_AT_LAUNCH(type, name) \
    extern __shared__ __align__(16) u8 name##_bytes[]; \
    type &name = *reinterpret_cast<type *>(name##_bytes)
// Parameters stay in the constant bank: their words are operands, not registers.
#define HDD_PARAMETER(type, name) const __grid_constant__ type name
#define HDD_UNROLL                _Pragma("unroll")
#define HDD_UNROLL_4              _Pragma("unroll 4")
#define HDD_NO_UNROLL             _Pragma("unroll 1")
// NVRTC has no offsetof; this is what the one of its front end comes down to.
#define HDD_OFFSET(type, member) __INTADDR__(&(((type *)0)->member))
// What the emulator checks and a GPU does not.
#define HDD_ASSERT(condition)

constexpr u32 HDD_LANES = HDD_WARP_LANES;
#ifdef HDD_CHOSEN_WARPS
constexpr u32 HDD_WARPS = HDD_CHOSEN_WARPS;
#else
constexpr u32 HDD_WARPS = HDD_BLOCK_WARPS;
#endif
constexpr u32 HDD_BLOCK = HDD_WARPS * HDD_LANES;
// Eighths of what a plan takes for copies of bitmaps (block_bits.cuh): an H100 has 227 KB of shared memory in a block.
#if defined __CUDA_ARCH__ && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr u32 HDD_BITS_EIGHTHS = 4; // 99 KB
#elif defined __CUDA_ARCH__ && __CUDA_ARCH__ < 900
constexpr u32 HDD_BITS_EIGHTHS = 7; // 163 KB
#else
constexpr u32 HDD_BITS_EIGHTHS = 8;
#endif
constexpr u32 HDD_POLLS = 16;       // looks into a mailbox between two at the abort word
constexpr u32 HDD_LOOK_RARELY = 33; // warp iterations between two looks while nobody waits
// ---- where a thread is ---------------------------------------------------------------------

HDD_DEVICE u32 hdd_lane()
{
    return threadIdx.x & (HDD_LANES - 1);
}

HDD_DEVICE u32 hdd_warp()
{
    return threadIdx.x / HDD_LANES;
}

HDD_DEVICE u32 hdd_block()
{
    return blockIdx.x;
}

// Warps of a block: one library serves kernels with any.
HDD_DEVICE u32 hdd_block_warps()
{
#ifdef HDD_LIBRARY_SHARE
    return blockDim.x / HDD_LANES;
#else
    return HDD_WARPS;
#endif
}

// ---- whole warps ---------------------------------------------------------------------------

// Orders the memory accesses of the lanes before it against those after it.
HDD_DEVICE void hdd_warp_sync()
{
    __syncwarp();
}

HDD_DEVICE u32 hdd_ballot(bool b)
{
    return __ballot_sync(0xffffffffu, b);
}

// Whether b holds for a lane that runs with this one: at least it itself, at most those of its warp that came by the same
// branches. Others of these may be on their way, so no answer may depend on it; lanes that loop by it go on together.
HDD_DEVICE bool hdd_any_beside(bool b)
{
    return __any_sync(__activemask(), b);
}

HDD_DEVICE u32 hdd_shuffle(u32 v, u32 lane)
{
    return __shfl_sync(0xffffffffu, v, (int)lane);
}

HDD_DEVICE u64 hdd_shuffle(u64 v, u32 lane)
{
    return __shfl_sync(0xffffffffu, v, (int)lane);
}

// The value of the lane `by` below; a lane without one gets its own.
HDD_DEVICE u32 hdd_shuffle_up(u32 v, u32 by)
{
    return __shfl_up_sync(0xffffffffu, v, by);
}

// Lanes that hold the same value as this one.
HDD_DEVICE u32 hdd_match(u64 v)
{
    return __match_any_sync(0xffffffffu, v);
}

// Lanes in which this one bit of v is as it is here. Two instructions beside the vote: the compiler would make six of
// it, or where it tests seven bits of a number at once fail for want of predicates.
HDD_DEVICE u32 hdd_match_bit(u32 v, u32 bit)
{
    u32 same;
#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ >= 2
    asm volatile("{ .reg .pred p; .reg .u32 r; lop3.or.b32 r|p, %1, %2, 0, 0xc0, 0;"
                 " vote.sync.ballot.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }"
                 : "=r"(same)
                 : "r"(v), "r"(bit));
#else
    const u32 with = __ballot_sync(0xffffffffu, v & bit);
    same = v & bit ? with : ~with;
#endif
    return same;
}

// a & b & c in one instruction.
HDD_DEVICE u32 hdd_and(u32 a, u32 b, u32 c)
{
    u32 v;
    asm("lop3.b32 %0, %1, %2, %3, 0x80;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
    return v;
}

HDD_DEVICE u32 hdd_warp_or(u32 v)
{
    return __reduce_or_sync(0xffffffffu, v);
}

// The sum of all lanes, modulo 2^32.
HDD_DEVICE u32 hdd_warp_add(u32 v)
{
    return __reduce_add_sync(0xffffffffu, v);
}

// ---- whole blocks --------------------------------------------------------------------------

HDD_DEVICE void hdd_block_sync()
{
    __syncthreads();
}

// ---- bits ----------------------------------------------------------------------------------

HDD_DEVICE u32 hdd_popc(u32 v)
{
    return (u32)__popc((int)v);
}

// Number of the lowest and of the highest set bit; v is not 0.
HDD_DEVICE u32 hdd_lowest(u32 v)
{
    return (u32)__ffs((int)v) - 1;
}

HDD_DEVICE u32 hdd_highest(u32 v)
{
    return 31 - (u32)__clz((int)v);
}

HDD_DEVICE u32 hdd_lowest64(u64 v)
{
    return (u32)__ffsll((i64)v) - 1;
}

// A 64-bit number shifted in a circle, by < 64.
HDD_DEVICE u64 hdd_rotate(u64 v, u32 by)
{
    const u32 lo = by & 32 ? (u32)(v >> 32) : (u32)v, hi = by & 32 ? (u32)v : (u32)(v >> 32);
    return (u64)__funnelshift_l(lo, hi, by) << 32 | __funnelshift_l(hi, lo, by);
}

// Bits by .. by + 31 of two words, by < 32.
HDD_DEVICE u32 hdd_shift_pair(u32 lo, u32 hi, u32 by)
{
    return __funnelshift_r(lo, hi, by);
}

// v, which the compiler cannot tell. NVVM (NVRTC 12.9 and 13.0) loses calls of functions that it sees return
// an argument, when a loop of such calls follows: what they wrote is missing then.
HDD_DEVICE bool hdd_unknown(bool v)
{
    u32 x = v;
    asm volatile("" : "+r"(x));
    return x != 0;
}

HDD_DEVICE i64 hdd_f64_bits(f64 v)
{
    return __double_as_longlong(v);
}

HDD_DEVICE f64 hdd_f64_from_bits(i64 v)
{
    return __longlong_as_double(v);
}

HDD_DEVICE i32 hdd_f32_bits(f32 v)
{
    return __float_as_int(v);
}

HDD_DEVICE f32 hdd_f32_from_bits(i32 v)
{
    return __int_as_float(v);
}

HDD_DEVICE f64 hdd_floor_f64(f64 v)
{
    return floor(v);
}

HDD_DEVICE f64 hdd_ceil_f64(f64 v)
{
    return ceil(v);
}

HDD_DEVICE f64 hdd_trunc_f64(f64 v)
{
    return trunc(v);
}

// Rounded to the nearest float64, as IEEE 754 has it.
HDD_DEVICE f64 hdd_sqrt(f64 v)
{
    return __dsqrt_rn(v);
}

HDD_DEVICE f32 hdd_floor_f32(f32 v)
{
    return floorf(v);
}

HDD_DEVICE f32 hdd_ceil_f32(f32 v)
{
    return ceilf(v);
}

HDD_DEVICE f32 hdd_trunc_f32(f32 v)
{
    return truncf(v);
}

// The nearest float32.
HDD_DEVICE f32 hdd_sqrt_f32(f32 v)
{
    return __fsqrt_rn(v);
}

HDD_DEVICE u64 hdd_mul_high(u64 a, u64 b)
{
    return __umul64hi(a, b);
}

// ---- atomics: relaxed, at the scope of the device ------------------------------------------

HDD_DEVICE u32 hdd_atomic_add(u32 *p, u32 v)
{
    return atomicAdd(p, v);
}

HDD_DEVICE u64 hdd_atomic_add(u64 *p, u64 v)
{
    return atomicAdd(p, v);
}

HDD_DEVICE void hdd_atomic_add(f64 *p, f64 v)
{
    atomicAdd(p, v);
}

HDD_DEVICE u32 hdd_atomic_or(u32 *p, u32 v)
{
    return atomicOr(p, v);
}

HDD_DEVICE u64 hdd_atomic_or(u64 *p, u64 v)
{
    return atomicOr(p, v);
}

HDD_DEVICE u64 hdd_atomic_xor(u64 *p, u64 v)
{
    return atomicXor(p, v);
}

HDD_DEVICE void hdd_atomic_min(i32 *p, i32 v)
{
    atomicMin(p, v);
}

HDD_DEVICE void hdd_atomic_min(i64 *p, i64 v)
{
    atomicMin(p, v);
}

HDD_DEVICE void hdd_atomic_max(i32 *p, i32 v)
{
    atomicMax(p, v);
}

HDD_DEVICE void hdd_atomic_max(i64 *p, i64 v)
{
    atomicMax(p, v);
}

HDD_DEVICE u32 hdd_atomic_exchange(u32 *p, u32 v)
{
    return atomicExch(p, v);
}

// Bits that counts of a block in shared memory have.
constexpr u32 HDD_COUNT_BITS = 32;

// The value that was there: `expected` if the swap took place.
HDD_DEVICE u32 hdd_atomic_cas(u32 *p, u32 expected, u32 v)
{
    return atomicCAS(p, expected, v);
}

HDD_DEVICE u64 hdd_atomic_cas(u64 *p, u64 expected, u64 v)
{
    return atomicCAS(p, expected, v);
}

// ---- memory written in the same kernel -----------------------------------------------------

HDD_DEVICE u32 hdd_load_relaxed(const u32 *p)
{
    u32 v;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

HDD_DEVICE u64 hdd_load_relaxed(const u64 *p)
{
    u64 v;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

HDD_DEVICE u32 hdd_load_acquire(const u32 *p)
{
    u32 v;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

HDD_DEVICE u64 hdd_load_acquire(const u64 *p)
{
    u64 v;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

HDD_DEVICE void hdd_store_relaxed(u32 *p, u32 v)
{
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

HDD_DEVICE void hdd_store_relaxed(u64 *p, u64 v)
{
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}

HDD_DEVICE void hdd_store_release(u32 *p, u32 v)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

// A bit as a flag between threads: who clears it with an acquire sees all that came before the
// release that set it, of the whole warp if a warp barrier stands between.
HDD_DEVICE u64 hdd_atomic_or_release(u64 *p, u64 v)
{
    u64 old;
    asm volatile("atom.or.release.gpu.b64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
    return old;
}

HDD_DEVICE u32 hdd_atomic_add_acq_rel(u32 *p, u32 v)
{
    u32 old;
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}

HDD_DEVICE u64 hdd_atomic_and_acquire(u64 *p, u64 v)
{
    u64 old;
    asm volatile("atom.and.acquire.gpu.b64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
    return old;
}

// A value that the compiler knows nothing about: no second copy of code for what it could be.
HDD_DEVICE u32 hdd_opaque(u32 v)
{
    asm volatile("" : "+r"(v));
    return v;
}

// Likewise an address in shared memory: it stays in a register, where the compiler would compute it anew for each use.
template <class T> HDD_DEVICE T *hdd_opaque_shared(T *p)
{
    u32 at = (u32)__cvta_generic_to_shared(p);
    asm volatile("" : "+r"(at));
    return static_cast<T *>(__cvta_shared_to_generic(at));
}

// to += v, and flag = 1, in a branch that stays one: an instruction under a predicate. The compiler would make a
// selection and an addition of it.
HDD_DEVICE void hdd_plus(u32 &to, u32 v)
{
    asm volatile("add.u32 %0, %0, %1;" : "+r"(to) : "r"(v));
}

// 1 in a register of each thread, for hdd_plus: multipliers, which idle while others compare, add such only. ptxas
// takes it for a number that lanes have each their own of.
HDD_DEVICE u32 hdd_one()
{
    u32 v;
    asm volatile("{ .reg .u32 r; mov.u32 r, %%laneid; shr.u32 r, r, 5; add.u32 %0, r, 1; }" : "=r"(v));
    return v;
}

HDD_DEVICE void hdd_plus(i64 &to, i64 v)
{
    asm volatile("add.s64 %0, %0, %1;" : "+l"(to) : "l"(v));
}

HDD_DEVICE void hdd_plus(f64 &to, f64 v)
{
    asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(to) : "d"(v));
}

HDD_DEVICE void hdd_plus(i128 &to, i128 v)
{
    to += v;
}

HDD_DEVICE void hdd_flag(u32 &flag)
{
    asm volatile("mov.u32 %0, 1;" : "+r"(flag));
}

// Four bytes of anything that is aligned to as many.
HDD_DEVICE void hdd_copy_word(void *to, const void *from)
{
    *static_cast<u32 *>(to) = *static_cast<const u32 *>(from);
}

// Everything this thread did before is seen by others before anything it does afterwards, and
// the other way round: for protocols that span several words.
HDD_DEVICE void hdd_fence()
{
    __threadfence();
}

// Lets others run while this thread waits for one of them.
HDD_DEVICE void hdd_back_off(u32 ns = 100)
{
    __nanosleep(ns);
}

// Sixteen bytes at once, for nobody else in this kernel; the address is aligned to as many.
HDD_DEVICE void hdd_store16(void *p, u64 lo, u64 hi)
{
    *static_cast<ulonglong2 *>(p) = make_ulonglong2(lo, hi);
}

// ---- time ----------------------------------------------------------------------------------

// Ticks of the multiprocessor that this warp is on.
HDD_DEVICE u64 hdd_clock()
{
    return (u64)clock64();
}

// Nanoseconds, the same for the whole device.
HDD_DEVICE u64 hdd_time()
{
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

// ---- loads of more than a word --------------------------------------------------------------

// Sixteen bytes at once; the address is aligned to as many.
HDD_DEVICE void hdd_load16(const void *p, u32 &a, u32 &b, u32 &c, u32 &d)
{
    const uint4 v = *static_cast<const uint4 *>(p);
    a = v.x, b = v.y, c = v.z, d = v.w;
}

// ---- loads of memory that no thread writes in this kernel ----------------------------------

template <class T> HDD_DEVICE T hdd_load_const(const T *p)
{
    return __ldg(p);
}

// Sixteen and eight bytes at once; the address is aligned to as many.
HDD_DEVICE void hdd_load_const16(const void *p, u32 &a, u32 &b, u32 &c, u32 &d)
{
    const uint4 v = __ldg(static_cast<const uint4 *>(p));
    a = v.x, b = v.y, c = v.z, d = v.w;
}

HDD_DEVICE void hdd_load_const8(const void *p, u32 &a, u32 &b)
{
    const uint2 v = __ldg(static_cast<const uint2 *>(p));
    a = v.x, b = v.y;
}

HDD_DEVICE void hdd_load_const16(const void *p, u64 &lo, u64 &hi)
{
    const ulonglong2 v = __ldg(static_cast<const ulonglong2 *>(p));
    lo = v.x;
    hi = v.y;
}

HDD_DEVICE i128 hdd_load_const(const i128 *p)
{
    u64 lo, hi;
    hdd_load_const16(p, lo, hi);
    return (i128)((u128)hi << 64 | lo);
}

#endif
