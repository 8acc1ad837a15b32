#include <math.h>
#include <string.h>

#include "runtime/cpu/helpers.h"

/* Of libgcc or compiler-rt: 128-bit division and conversions. */
hd_i128 __divti3(hd_i128, hd_i128);
hd_i128 __modti3(hd_i128, hd_i128);
hd_u128 __udivti3(hd_u128, hd_u128);
hd_u128 __umodti3(hd_u128, hd_u128);
hd_i128 __multi3(hd_i128, hd_i128);
double __floattidf(hd_i128);
double __floatuntidf(hd_u128);
hd_i128 __fixdfti(double);

/* LLVM turns wide checked multiplications into a call of compiler-rt's __muloti4, which libgcc
 * lacks. */
static hd_i128 muloti4(hd_i128 a, hd_i128 b, int *overflow)
{
    hd_i128 r;
    *overflow = __builtin_mul_overflow(a, b, &r);
    return r;
}

static int compare_bytes(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n);
}

#define SYMBOL(name, f) {name, (void *)(uintptr_t)(f)}

const struct hdr_symbol hdr_symbols[] = {
#define R_CALL(result, name, arguments) SYMBOL(#name, name),
#include "templates/rtcalls.def"
    SYMBOL("memcmp", memcmp),
    SYMBOL("bcmp", compare_bytes),
    SYMBOL("memcpy", memcpy),
    SYMBOL("memmove", memmove),
    SYMBOL("memset", memset),
    SYMBOL("memchr", memchr),
    SYMBOL("strlen", strlen),
    SYMBOL("fmod", fmod),
    SYMBOL("trunc", trunc),
    SYMBOL("round", round),
    SYMBOL("floor", floor),
    SYMBOL("ceil", ceil),
    SYMBOL("__divti3", __divti3),
    SYMBOL("__modti3", __modti3),
    SYMBOL("__udivti3", __udivti3),
    SYMBOL("__umodti3", __umodti3),
    SYMBOL("__multi3", __multi3),
    SYMBOL("__muloti4", muloti4),
    SYMBOL("__floattidf", __floattidf),
    SYMBOL("__floatuntidf", __floatuntidf),
    SYMBOL("__fixdfti", __fixdfti),
};
const int hdr_nsymbols = (int)HD_COUNT(hdr_symbols);
