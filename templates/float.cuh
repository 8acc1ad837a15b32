// Floats and decimals, exactly: every result is the nearest one. Integers of any length do
// the work where 128 bits do not reach, so there are no tables of powers. Shared with host C
// (templates/host.h). One thread at a time.
//
// Printing: the nearest decimal of n digits, for the least n where it reads back as the same
// number, by the state of Burger and Dybvig, "Printing Floating-Point Numbers Quickly and
// Accurately" (PLDI 1996), section 3; they stop at any decimal of n digits that does. Reading: the quotient of two exact integers, cut to
// 64 bits and a flag for what was cut off, as in section 3 of Clinger, "How to Read Floating
// Point Numbers Accurately" (PLDI 1990).
#ifndef HDD_FLOAT_CUH
#define HDD_FLOAT_CUH

#ifdef __cplusplus
#include "hd/wide.cuh"
#else
#include "templates/wide.cuh"
#endif

#define HDD_F64_DIGITS 17

// Digits of a finite number above 0: 0.d1 d2 ... * 10^k.
typedef struct {
    i32 n, k;
    u8 d[HDD_F64_DIGITS + 1];
} hdd_f64_digits;

// v / 10^scale.
HDD_CALLED f64 hdd_wide_to_f64(i128 v, i32 scale);
HDD_CALLED f32 hdd_wide_to_f32(i128 v, i32 scale);
// v * 10^scale, rounded half away from zero, with at most `digits` digits (0: any number) and
// as a signed integer of `bits` bits. False: it does not fit, or v is no number.
HDD_CALLED bool hdd_f64_to_wide(f64 v, i32 scale, i32 digits, i32 bits, i128 *out);
// The least digits that read back as |v|, a finite number but 0.
HDD_CALLED void hdd_f64_shortest(f64 v, hdd_f64_digits *out);
HDD_CALLED void hdd_f32_shortest(f32 v, hdd_f64_digits *out);
// A decimal number, or nan, inf or infinity. A number that rounds to infinity is none; one that
// is too small to be told from 0 is 0.
HDD_CALLED bool hdd_read_f64(const u8 *s, i32 n, f64 *out);
HDD_CALLED bool hdd_read_f32(const u8 *s, i32 n, f32 *out);

// v to so many decimal digits behind the point, -18 to 38, half away from zero: the nearest float64 to that decimal.
HDD_CALLED f64 hdd_round_to_digits(f64 v, i32 digits);
HDD_CALLED f32 hdd_round_f32_to_digits(f32 v, i32 digits);

HDD_DEVICE bool hdd_is_digit(u8 c)
{
    return c >= '0' && c <= '9';
}

#ifdef HDD_LIBRARY_FLOAT

// ---- long integers -------------------------------------------------------------------------

// Least significant word first; no leading zero words. Whoever makes one gives it room.
typedef struct {
    u32 *w;
    i32 n;
} hdd_big;

HDD_DEVICE void hdd_big_set(hdd_big *a, u32 *room, u64 v)
{
    a->w = room;
    a->w[0] = (u32)v;
    a->w[1] = (u32)(v >> 32);
    a->n = a->w[1] ? 2 : a->w[0] != 0;
}

// a * by + plus.
HDD_APART void hdd_big_mul_add(hdd_big *a, u32 by, u32 plus)
{
    u64 carry = plus;
    for (i32 i = 0; i < a->n; i++) {
        carry += (u64)a->w[i] * by;
        a->w[i] = (u32)carry;
        carry >>= 32;
    }
    if (carry)
        a->w[a->n++] = (u32)carry;
}

// a * base^k, base 5 or 10; the ninth power still is a word.
HDD_APART void hdd_big_mul_power(hdd_big *a, u32 base, i32 k)
{
    u32 ninth = 1, rest = 1;
    for (i32 i = 0; i < 9; i++)
        ninth *= base;
    for (; k >= 9; k -= 9)
        hdd_big_mul_add(a, ninth, 0);
    for (; k > 0; k--)
        rest *= base;
    hdd_big_mul_add(a, rest, 0);
}

HDD_APART void hdd_big_shift(hdd_big *a, i32 k)
{
    const i32 words = k / 32, bits = k % 32;
    if (a->n == 0 || k == 0)
        return;
    for (i32 i = a->n - 1; i >= 0; i--)
        a->w[i + words] = a->w[i];
    for (i32 i = 0; i < words; i++)
        a->w[i] = 0;
    a->n += words;
    if (bits)
        hdd_big_mul_add(a, 1u << bits, 0);
}

HDD_DEVICE i32 hdd_big_bits(const hdd_big *a)
{
    return a->n ? 32 * (a->n - 1) + hdd_bits_in(a->w[a->n - 1]) : 0;
}

// -1, 0, 1 as a + b is below, equal to or above c.
HDD_APART i32 hdd_big_compare_sum(const hdd_big *a, const hdd_big *b, const hdd_big *c)
{
    u64 carry = 0;
    i32 order = 0;
    for (i32 i = 0; i < a->n || i < b->n || i < c->n; i++) {
        const u32 want = i < c->n ? c->w[i] : 0;
        carry += (u64)(i < a->n ? a->w[i] : 0) + (i < b->n ? b->w[i] : 0);
        if ((u32)carry != want)
            order = (u32)carry < want ? -1 : 1;
        carry >>= 32;
    }
    return carry ? 1 : order;
}

HDD_APART i32 hdd_big_compare(const hdd_big *a, const hdd_big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (i32 i = a->n - 1; i >= 0; i--)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

// a - b, a at least b.
HDD_APART void hdd_big_subtract(hdd_big *a, const hdd_big *b)
{
    u64 borrow = 0;
    for (i32 i = 0; i < a->n; i++) {
        const u64 r = (u64)a->w[i] - (i < b->n ? b->w[i] : 0) - borrow;
        a->w[i] = (u32)r;
        borrow = r >> 63;
    }
    while (a->n > 0 && a->w[a->n - 1] == 0)
        a->n--;
}

// ---- rounding to 53 and 24 bits ------------------------------------------------------------

// A positive number that is not rounded yet: (m + less than 1, more than 0 if `more`) * 2^e; the highest bit of m is
// set.
typedef struct {
    u64 m;
    bool more;
    i32 e;
} hdd_long_float;

// The `keep` highest bits of m, to nearest and even; a carry goes into the exponent, where it belongs.
HDD_APART u64 hdd_round_bits(const hdd_long_float *x, i32 keep)
{
    const i32 drop = 64 - keep;
    const u64 bits = drop == 64 ? 0 : x->m >> drop;
    const u64 half = (x->m >> (drop - 1)) & 1;
    const bool more = x->more || (x->m & (((u64)1 << (drop - 1)) - 1)) != 0;
    return bits + (half && (more || (bits & 1)));
}

HDD_APART f64 hdd_round_f64(const hdd_long_float *x)
{
    const i32 biased = x->e + 63 + 1023; // exponent field, if it is a normal number
    const i32 keep = biased < 1 ? 52 + biased : 53;
    if (biased >= 2047)
        return hdd_f64_from_bits(0x7ff0000000000000ll);
    if (keep < 0)
        return 0;
    return hdd_f64_from_bits((i64)(hdd_round_bits(x, keep) + (biased < 1 ? 0 : (u64)(biased - 1) << 52)));
}

HDD_APART f32 hdd_round_f32(const hdd_long_float *x)
{
    const i32 biased = x->e + 63 + 127;
    const i32 keep = biased < 1 ? 23 + biased : 24;
    if (biased >= 255)
        return hdd_f32_from_bits(0x7f800000);
    if (keep < 0)
        return 0;
    return hdd_f32_from_bits((i32)((u32)hdd_round_bits(x, keep) + (biased < 1 ? 0 : (u32)(biased - 1) << 23)));
}

// a / b * 2^e; both are positive, and are used up.
HDD_APART hdd_long_float hdd_big_ratio(hdd_big *a, hdd_big *b, i32 e)
{
    const i32 up = hdd_big_bits(b) - hdd_big_bits(a);
    u64 q = 0;
    hdd_big_shift(a, up > 0 ? up : 0);
    hdd_big_shift(b, up < 0 ? -up : 0);
    e -= up - 1;
    for (; !(q >> 63); e--) { // 64 bits of a quotient between 1/2 and 2
        q <<= 1;
        if (hdd_big_compare(a, b) >= 0) {
            hdd_big_subtract(a, b);
            q |= 1;
        }
        hdd_big_shift(a, 1);
    }
    const hdd_long_float x = {q, a->n != 0, e};
    return x;
}

// a / 10^scale; a is not 0.
HDD_APART hdd_long_float hdd_wide_ratio(u128 a, i32 scale)
{
    u128 b = (u128)hdd_pow10(scale);
    const i32 bits_a = hdd_bits_in(a), bits_b = hdd_bits_in(b);
    i32 e = bits_a - bits_b + 1;
    u64 q = 0;
    a = bits_a == 128 ? a >> 1 : a << (127 - bits_a); // 2^127 loses nothing
    b <<= 127 - bits_b;
    for (; !(q >> 63); e--) {
        q <<= 1;
        if (a >= b) {
            a -= b;
            q |= 1;
        }
        a <<= 1;
    }
    const hdd_long_float x = {q, a != 0, e};
    return x;
}

// Integers of 53 bits and powers of ten up to 10^22 are exact as doubles, so that their quotient has one rounding
// (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990). Of those, powers up to 10^19 have 64 bits.
HDD_CALLED f64 hdd_wide_to_f64(i128 v, i32 scale)
{
    const i64 exact = (i64)1 << 53;
    if (v == 0)
        return 0;
    if (v >= -exact && v <= exact && scale <= 19)
        return (f64)(i64)v / (f64)(u64)hdd_pow10(scale);
    const hdd_long_float x = hdd_wide_ratio(hdd_magnitude(v), scale);
    const f64 r = hdd_round_f64(&x);
    return v < 0 ? -r : r;
}

HDD_CALLED f32 hdd_wide_to_f32(i128 v, i32 scale)
{
    if (v == 0)
        return 0;
    const hdd_long_float x = hdd_wide_ratio(hdd_magnitude(v), scale);
    const f32 r = hdd_round_f32(&x);
    return v < 0 ? -r : r;
}

HDD_CALLED bool hdd_f64_to_wide(f64 v, i32 scale, i32 digits, i32 bits, i128 *out)
{
    const u64 image = (u64)hdd_f64_bits(v);
    const i32 field = (i32)(image >> 52) & 2047, e = (field ? field : 1) - 1075;
    const bool negative = (image >> 63) != 0;
    const u128 m = (image & 0xfffffffffffffull) | (field ? 0x10000000000000ull : 0);
    const u128 by = (u128)hdd_pow10(scale);
    u128 q = 0;
    if (field == 2047 || e > 74)
        return false;
    if (e > 0) {
        const hdd_u256 p = hdd_wide_mul(m << e, by);
        q = p.lo;
        if (p.hi)
            return false;
    } else if (!hdd_wide_shift_round(hdd_wide_mul(m, by), -e, &q)) {
        return false;
    }
    const u128 max = ((u128)1 << (bits - 1)) - (bits == 128 || !negative);
    if (q > max || (digits > 0 && q >= (u128)hdd_pow10(digits)))
        return false;
    *out = negative ? -(i128)q : (i128)q;
    return true;
}

// v to so many digits is *n / 10^scale. False: v itself, as it has no 128 bits before the last digit asked for, where
// rounding would change less than half of its last place.
HDD_APART bool hdd_digits_of(f64 v, i32 digits, i128 *n)
{
    if (digits >= 0)
        return hdd_f64_to_wide(v, digits, 0, 128, n);
    if (!(v > -8e37 && v < 8e37))
        return false;
    const bool whole = v > -4503599627370496.0 && v < 4503599627370496.0; // 2^52: else it has no fraction
    const i128 by = hdd_pow10(-digits);
    if (whole)
        *n = (i64)v;
    else
        hdd_f64_to_wide(v, 0, 0, 128, n);
    const i128 q = *n / by, rest = *n - q * by, half = by / 2;
    *n = (q + (rest >= half) - (rest <= -half)) * by;
    return true;
}

HDD_CALLED f64 hdd_round_to_digits(f64 v, i32 digits)
{
    i128 n = 0;
    const f64 r = hdd_digits_of(v, digits, &n) ? hdd_wide_to_f64(n, digits > 0 ? digits : 0) : v;
    return r == 0 && hdd_f64_bits(v) < 0 ? -0.0 : r;
}

HDD_CALLED f32 hdd_round_f32_to_digits(f32 v, i32 digits)
{
    i128 n = 0;
    const f32 r = hdd_digits_of(v, digits, &n) ? hdd_wide_to_f32(n, digits > 0 ? digits : 0) : v;
    return r == 0 && hdd_f32_bits(v) < 0 ? -0.0f : r;
}

// ---- printing ------------------------------------------------------------------------------

// Twice the largest number, or ten times the smallest over its power of ten: 1,080 bits.
#define HDD_PRINT_WORDS 36

// The number is r / s, and half of the way to its neighbours below / s and above / s.
typedef struct {
    hdd_big r, s, below, above;
    u32 room[4][HDD_PRINT_WORDS];
} hdd_f64_between;

HDD_DEVICE void hdd_between_scale(hdd_f64_between *b, u32 by)
{
    hdd_big_mul_add(&b->r, by, 0);
    hdd_big_mul_add(&b->below, by, 0);
    hdd_big_mul_add(&b->above, by, 0);
}

// m * 2^e; the neighbour below is nearer where m is the least of its exponent. Gives k with
// r + above at most s (below s if the end itself reads back): the value is below 10^k.
HDD_APART i32 hdd_between_init(hdd_f64_between *b, u64 m, i32 e, bool near, bool ends)
{
    // log10 of 2^(bits - 1), rounded down: at most one below that of the number itself
    const i32 log = (i32)(((i64)(e + hdd_bits_in(m) - 1) * 315653) >> 20);
    i32 k = log + 1;
    hdd_big_set(&b->r, b->room[0], m);
    hdd_big_set(&b->s, b->room[1], 1);
    hdd_big_set(&b->below, b->room[2], 1);
    hdd_big_set(&b->above, b->room[3], 1);
    hdd_big_shift(&b->r, (e > 0 ? e : 0) + 1 + near);
    hdd_big_shift(&b->s, (e < 0 ? -e : 0) + 1 + near);
    hdd_big_shift(&b->below, e > 0 ? e : 0);
    hdd_big_shift(&b->above, (e > 0 ? e : 0) + near);
    if (k > 0)
        hdd_big_mul_power(&b->s, 10, k);
    for (i32 i = k; i < 0; i++)
        hdd_between_scale(b, 10);
    while (hdd_big_compare_sum(&b->r, &b->above, &b->s) >= (ends ? 0 : 1)) {
        hdd_big_mul_add(&b->s, 10, 0);
        k++;
    }
    return k;
}

// Of m * 2^e; near: as of hdd_between_init.
HDD_APART void hdd_shortest(u64 m, i32 e, bool near, hdd_f64_digits *out)
{
    hdd_f64_between b;
    const bool ends = !(m & 1); // a tie goes to the even one, which is this
    bool done = false;
    out->k = hdd_between_init(&b, m, e, near, ends);
    for (out->n = 0; !done; out->n++) {
        u8 digit = 0;
        hdd_between_scale(&b, 10);
        for (; hdd_big_compare(&b.r, &b.s) >= 0; digit++)
            hdd_big_subtract(&b.r, &b.s);
        const i32 half = hdd_big_compare_sum(&b.r, &b.r, &b.s);
        const bool up = half > 0 || (half == 0 && (digit & 1));
        done = up ? hdd_big_compare_sum(&b.r, &b.above, &b.s) > (ends ? -1 : 0)
                  : hdd_big_compare(&b.r, &b.below) < (ends ? 1 : 0);
        out->d[out->n] = (u8)('0' + digit + (done && up));
    }
}

HDD_CALLED void hdd_f64_shortest(f64 v, hdd_f64_digits *out)
{
    const u64 image = (u64)hdd_f64_bits(v) & 0x7fffffffffffffffull;
    const i32 field = (i32)(image >> 52);
    const u64 fraction = image & 0xfffffffffffffull;
    hdd_shortest(fraction | (field ? (u64)1 << 52 : 0), (field ? field : 1) - 1075, fraction == 0 && field > 1, out);
}

HDD_CALLED void hdd_f32_shortest(f32 v, hdd_f64_digits *out)
{
    const u32 image = (u32)hdd_f32_bits(v) & 0x7fffffffu;
    const i32 field = (i32)(image >> 23);
    const u32 fraction = image & 0x7fffffu;
    hdd_shortest(fraction | (field ? 1u << 23 : 0), (field ? field : 1) - 150, fraction == 0 && field > 1, out);
}

// ---- reading -------------------------------------------------------------------------------

// A text [+-]digits[.digits][e[+-]digits]: its significant digits as far as they decide.
typedef struct {
    u64 first; // the first 19
    i32 digits; // kept: at most HDD_KEPT
    bool more; // some digit that was not kept is not 0
    i64 e; // of the last kept digit
    i32 at; // place of the first significant digit
} hdd_number_text;
#define HDD_KEPT 768
// 769 digits, or the power of five below them: 2,556 bits.
#define HDD_READ_WORDS 81

// [+-]digits up to the end of the text.
HDD_DEVICE bool hdd_read_exponent(const u8 *s, i32 n, i32 i, i64 *e)
{
    const i64 max = (i64)1 << 40; // beyond what any number of digits can make good
    const bool sign = i < n && (s[i] == '-' || s[i] == '+'), negative = sign && s[i] == '-';
    i64 v = 0;
    i += sign;
    if (i == n)
        return false;
    for (; i < n; i++) {
        if (!hdd_is_digit(s[i]))
            return false;
        v = v < max ? v * 10 + (s[i] - '0') : v;
    }
    *e += negative ? -v : v;
    return true;
}

HDD_DEVICE void hdd_read_digit(hdd_number_text *t, u8 digit, bool fraction, i32 at)
{
    if (t->digits == 0 && digit == 0) {
        t->e -= fraction;
        return;
    }
    if (t->digits == 0)
        t->at = at;
    if (t->digits < 19)
        t->first = t->first * 10 + digit;
    if (t->digits < HDD_KEPT) {
        t->digits++;
        t->e -= fraction;
    } else {
        t->more = t->more || digit != 0;
        t->e += !fraction;
    }
}

HDD_APART bool hdd_read_decimal(const u8 *s, i32 n, hdd_number_text *t)
{
    bool any = false, point = false;
    t->first = 0;
    t->digits = t->at = 0;
    t->e = 0;
    t->more = false;
    for (i32 i = 0; i < n; i++) {
        if (hdd_is_digit(s[i])) {
            any = true;
            hdd_read_digit(t, (u8)(s[i] - '0'), point, i);
        } else if (s[i] == '.' && !point) {
            point = true;
        } else {
            return any && (s[i] == 'e' || s[i] == 'E') && hdd_read_exponent(s, n, i + 1, &t->e);
        }
    }
    return any;
}

// The kept digits of the text, and one more that stands for what was not kept, over a power of
// ten: a factor of two of it is left to the exponent.
HDD_APART hdd_long_float hdd_exact_number(const u8 *s, const hdd_number_text *t)
{
    hdd_big a, b;
    u32 room_a[HDD_READ_WORDS], room_b[HDD_READ_WORDS];
    i32 e = (i32)t->e, left = t->digits;
    hdd_big_set(&a, room_a, 0);
    for (i32 i = t->at; left > 0; i++)
        if (s[i] != '.') {
            hdd_big_mul_add(&a, 10, (u32)(s[i] - '0'));
            left--;
        }
    if (t->more) {
        hdd_big_mul_add(&a, 10, 1);
        e--;
    }
    hdd_big_set(&b, room_b, 1);
    if (e > 0)
        hdd_big_mul_power(&a, 5, e);
    else
        hdd_big_mul_power(&b, 5, -e);
    return hdd_big_ratio(&a, &b, e);
}

// Both operands of one division or product are exact as doubles.
HDD_DEVICE f64 hdd_short_f64(u64 digits, i32 e)
{
    f64 by = 1;
    for (i32 i = e < 0 ? -e : e; i > 0; i--)
        by *= 10;
    return e < 0 ? (f64)digits / by : (f64)digits * by;
}

HDD_DEVICE f64 hdd_decimal_f64(const u8 *s, const hdd_number_text *t)
{
    const i64 above = t->digits + t->e; // the value is below 10^above, and not below a tenth
    if (t->digits == 0 || above < -323)
        return 0;
    if (above > 309)
        return hdd_f64_from_bits(0x7ff0000000000000ll);
    if (t->digits <= 19 && t->first <= (u64)1 << 53 && t->e >= -22 && t->e <= 22)
        return hdd_short_f64(t->first, (i32)t->e);
    const hdd_long_float x = hdd_exact_number(s, t);
    return hdd_round_f64(&x);
}

// The quotient of a short one is the nearest float64, which rounds to what the number itself rounds to unless it lies
// halfway between two float32: then the number may lie to either side.
HDD_DEVICE f32 hdd_decimal_f32(const u8 *s, const hdd_number_text *t)
{
    const i64 above = t->digits + t->e;
    if (t->digits == 0 || above < -45)
        return 0;
    if (above > 39)
        return hdd_f32_from_bits(0x7f800000);
    if (t->digits <= 19 && t->first <= (u64)1 << 53 && t->e >= -22 && t->e <= 22) {
        const f64 v = hdd_short_f64(t->first, (i32)t->e);
        if ((hdd_f64_bits(v) & 0x1fffffff) != 0x10000000)
            return (f32)v;
    }
    const hdd_long_float x = hdd_exact_number(s, t);
    return hdd_round_f32(&x);
}

// The rest of a text is a word, in any case.
HDD_DEVICE bool hdd_is_word(const u8 *s, i32 n, const char *word)
{
    i32 i = 0;
    for (; i < n && word[i]; i++)
        if ((s[i] | 32) != (u8)word[i])
            return false;
    return i == n && !word[i];
}

// nan, inf, infinity.
HDD_DEVICE bool hdd_read_special(const u8 *s, i32 n, f64 *out)
{
    const bool nan = hdd_is_word(s, n, "nan");
    *out = hdd_f64_from_bits(nan ? 0x7ff8000000000000ll : 0x7ff0000000000000ll);
    return nan || hdd_is_word(s, n, "inf") || hdd_is_word(s, n, "infinity");
}

HDD_CALLED bool hdd_read_f64(const u8 *s, i32 n, f64 *out)
{
    const bool sign = n > 0 && (s[0] == '-' || s[0] == '+'), negative = sign && s[0] == '-';
    hdd_number_text t;
    f64 v;
    s += sign;
    n -= sign;
    if (!hdd_read_special(s, n, &v)) {
        if (!hdd_read_decimal(s, n, &t))
            return false;
        v = hdd_decimal_f64(s, &t);
        if (v - v != 0)
            return false;
    }
    *out = negative ? -v : v;
    return true;
}

HDD_CALLED bool hdd_read_f32(const u8 *s, i32 n, f32 *out)
{
    const bool sign = n > 0 && (s[0] == '-' || s[0] == '+'), negative = sign && s[0] == '-';
    hdd_number_text t;
    f64 special;
    f32 v;
    s += sign;
    n -= sign;
    if (hdd_read_special(s, n, &special)) {
        v = (f32)special;
    } else {
        if (!hdd_read_decimal(s, n, &t))
            return false;
        v = hdd_decimal_f32(s, &t);
        if (v - v != 0)
            return false;
    }
    *out = negative ? -v : v;
    return true;
}

#endif

#endif
