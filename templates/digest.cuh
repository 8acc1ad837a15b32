// The hash that plans see (docs/functions.md, "hash"): one text for kernels and the CPU's runtime. It never changes:
// results may be kept. Words go through the finalizer of MurmurHash3 (A. Appleby), which is one to one.
#ifndef HDD_DIGEST_CUH
#define HDD_DIGEST_CUH

#ifdef __cplusplus
#include "hd/device.cuh"
#include "hd/machine.cuh"
#else
#include "templates/device.cuh"
#include "templates/host.h"
#endif

// h after one more word.
HDD_DEVICE u64 hdd_digest_word(u64 h, u64 word)
{
    h ^= word;
    h = (h ^ h >> 33) * HDD_DIGEST_MUL1;
    h = (h ^ h >> 33) * HDD_DIGEST_MUL2;
    return h ^ h >> 33;
}

HDD_DEVICE u64 hdd_digest_bytes(const u8 *s)
{
    return (u64)s[0] | (u64)s[1] << 8 | (u64)s[2] << 16 | (u64)s[3] << 24 | (u64)s[4] << 32 | (u64)s[5] << 40 |
           (u64)s[6] << 48 | (u64)s[7] << 56;
}

// Its length, then its bytes, eight to a word, the last one filled up with zeros.
HDD_DEVICE u64 hdd_digest_text(u64 h, const u8 *s, i32 n)
{
    u64 rest = 0;
    i32 i = 0;
    h = hdd_digest_word(h, (u64)n);
    for (; i + 8 <= n; i += 8)
        h = hdd_digest_word(h, hdd_digest_bytes(s + i));
    if (i == n)
        return h;
    for (i32 k = 0; i + k < n; k++)
        rest |= (u64)s[i + k] << 8 * k;
    return hdd_digest_word(h, rest);
}

#endif
