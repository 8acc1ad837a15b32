#include "runtime/cpu/wide.h"

struct hdr_u256 hdr_wide_mul(hd_u128 a, hd_u128 b)
{
    const hd_u128 mask = ~(uint64_t)0;
    hd_u128 al = a & mask, ah = a >> 64, bl = b & mask, bh = b >> 64;
    hd_u128 ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
    hd_u128 mid = (ll >> 64) + (lh & mask) + (hl & mask);
    return (struct hdr_u256){hh + (lh >> 64) + (hl >> 64) + (mid >> 64),
                             (mid << 64) | (ll & mask)};
}

bool hdr_wide_div_round(struct hdr_u256 n, hd_u128 d, hd_u128 *q)
{
    hd_u128 r = 0, quotient = 0;
    if (n.hi >= d)
        return false; /* the quotient has more than 128 bits */
    if (n.hi == 0) {
        quotient = n.lo / d;
        r = n.lo % d;
    } else {
        /* Schoolbook, bit by bit; `carry` is bit 128 of the remainder. */
        r = n.hi;
        for (int i = 127; i >= 0; i--) {
            bool carry = r >> 127;
            r = (r << 1) | ((n.lo >> i) & 1);
            quotient <<= 1;
            if (carry || r >= d) {
                r -= d;
                quotient |= 1;
            }
        }
    }
    if (r >= d - r && ++quotient == 0)
        return false;
    *q = quotient;
    return true;
}

bool hdr_wide_shift_round(struct hdr_u256 n, int k, hd_u128 *q)
{
    if (k > 256) {
        *q = 0;
        return true;
    }
    bool half = false;
    for (; k > 0; k--) {
        half = n.lo & 1;
        n.lo = (n.lo >> 1) | (n.hi << 127);
        n.hi >>= 1;
    }
    if (n.hi || (half && n.lo == ~(hd_u128)0))
        return false;
    *q = n.lo + half;
    return true;
}
