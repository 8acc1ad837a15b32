/* The stand-in for the runtime: what generated code calls, as plain as it can be. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/LLJIT.h>

#include "runtime/base/interval.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/type.h"
#include "tests/unit/codegen/codegen_fixture.h"

static struct fx *fx_of(struct hdd_thread *t)
{
    return t->exec;
}

int32_t hdr_fail(struct hdd_thread *t, int32_t why, int32_t path)
{
    t->failure = why;
    t->failure_path = path;
    return 1;
}

/* Three rows more each time, so that every test crosses the boundary. */
static int32_t hdr_fail_value(struct hdd_thread *t, int32_t why, int32_t path, int64_t alo, int64_t ahi, int64_t blo,
                              int64_t bhi)
{
    t->has_values = 1;
    t->a_lo = (uint64_t)alo;
    t->a_hi = (uint64_t)ahi;
    t->b_lo = (uint64_t)blo;
    t->b_hi = (uint64_t)bhi;
    return hdr_fail(t, why, path);
}

static int32_t hdr_rows_grow(struct hdd_thread *t, int32_t state)
{
    struct fx *x = fx_of(t);
    struct fx_store *s = &x->stores[state];
    size_t stride = (size_t)x->states[state].stride;
    HD_ASSERT(s->cursor.cur == s->cursor.end);
    s->room += 3;
    HD_ASSERT(s->room * stride <= 1 << 20);
    s->cursor.end = s->rows + s->room * stride;
    s->grown++;
    return 0;
}

void fx_agg_alloc(struct fx *x, int state, size_t cap)
{
    struct hdd_agg_local *a = &x->stores[state].agg;
    a->cap = cap;
    a->mask = hd_pow2_ceil(cap * 2) - 1;
    a->slots = HD_NEWN(&x->arena, uint64_t, a->mask + 1);
    a->rows = hd_zalloc(&x->arena, cap * (size_t)x->states[state].stride);
}

static int32_t hdr_agg_grow(struct hdd_thread *t, int32_t state)
{
    struct fx *x = fx_of(t);
    struct hdd_agg_local *a = &x->stores[state].agg;
    size_t stride = (size_t)x->states[state].stride;
    char *old = a->rows;
    HD_ASSERT(a->nrows == a->cap);
    fx_agg_alloc(x, state, a->cap * 2);
    memcpy(a->rows, old, a->nrows * stride);
    memset(old, 0xee, a->nrows * stride);
    for (uint64_t r = 0; r < a->nrows; r++) {
        uint64_t h, *slots = a->slots;
        memcpy(&h, (char *)a->rows + r * stride, 8);
        uint64_t i = h & a->mask;
        while (slots[i])
            i = (i + 1) & a->mask;
        slots[i] = (h >> 32) << 32 | (r + 1);
    }
    x->stores[state].grown++;
    return 0;
}

/* Two halves, each with a copy of the tuple, as if other threads ran them. */
static int32_t hdr_spawn(struct hdd_thread *t, int32_t level, void *carried, int64_t bytes, int64_t begin, int64_t end)
{
    struct fx *x = fx_of(t);
    const char *name = x->spipes[x->pipeline_now].level_entry[level];
    LLVMOrcExecutorAddress at = 0;
    HD_ASSERT(name && !LLVMOrcLLJITLookup(x->jit, &at, name));
    fx_level *fn = (fx_level *)(uintptr_t)at;
    int64_t mid = begin + (end - begin) / 2;
    x->spawned++;
    int32_t rc = 0;
    for (int k = 0; k < 2 && !rc; k++) {
        void *copy = hd_dup(&x->arena, carried, (size_t)bytes);
        rc = fn(x->words, t, copy, k ? mid : begin, k ? end : mid);
    }
    return rc;
}

static int64_t hdr_hash_bytes(const void *p, int32_t n)
{
    uint64_t h = 5381;
    for (int32_t i = 0; i < n; i++)
        h = h * 33 + ((const unsigned char *)p)[i];
    return (int64_t)hdd_mix(h);
}

static int64_t hdr_digest_text(int64_t h, const void *p, int32_t n)
{
    return h ^ hdr_hash_bytes(p, n);
}

static int32_t hdr_str_cmp(const void *a, int32_t n, const void *b, int32_t m)
{
    int c = memcmp(a ? a : "", b ? b : "", (size_t)HD_MIN(n, m));
    return c ? (c > 0) - (c < 0) : (n > m) - (n < m);
}

/* Patterns of these tests are plain prefixes. */
static int32_t hdr_like(const char *pattern, const char *s, int32_t n)
{
    size_t m = strlen(pattern);
    return (size_t)n >= m && memcmp(s, pattern, m) == 0;
}

#define IN_SET(suffix, type) \
    static int32_t hdr_in_##suffix(const type *set, int64_t n, type v) \
    { \
        for (int64_t i = 0; i < n; i++) \
            if (set[i] == v) \
                return 1; \
        return 0; \
    }
IN_SET(i32, int32_t)
IN_SET(i64, int64_t)
IN_SET(f64, double)
IN_SET(f32, float)

static hd_i128 join(int64_t lo, int64_t hi)
{
    return (hd_i128)((hd_u128)(uint64_t)hi << 64 | (uint64_t)lo);
}

static int32_t hdr_in_i128(const hd_i128 *set, int64_t n, int64_t lo, int64_t hi)
{
    for (int64_t i = 0; i < n; i++)
        if (set[i] == join(lo, hi))
            return 1;
    return 0;
}

struct text {
    const char *s;
    int64_t n;
};

static int32_t hdr_in_str(const struct text *set, int64_t n, const char *s, int32_t len)
{
    for (int64_t i = 0; i < n; i++)
        if (hdr_str_cmp(set[i].s, (int32_t)set[i].n, s, len) == 0)
            return 1;
    return 0;
}

static int64_t hdr_extract_date(int32_t days, int32_t field)
{
    int f[3];
    hd_date_to_civil(days, &f[0], &f[1], &f[2]);
    return f[field];
}

static int64_t hdr_extract_ts(int64_t micros, int32_t field)
{
    return hdr_extract_date((int32_t)(micros / 86400000000LL), field);
}

/* Of fields down to the day, and what has no tests here. */
static int32_t hdr_trunc_date(int32_t days, int32_t field)
{
    int f[3];
    hd_date_to_civil(days, &f[0], &f[1], &f[2]);
    return field == 2 ? days : field == 1 ? days - f[2] + 1 : hd_date_from_civil(f[0], 1, 1);
}

static int64_t hdr_trunc_ts(int64_t micros, int32_t field)
{
    return hdr_trunc_date((int32_t)(micros / 86400000000LL), field) * 86400000000LL;
}

static int32_t hdr_last_day(int32_t days)
{
    return hd_date_add_months(hdr_trunc_date(days, 1), 1) - 1;
}

static int32_t hdr_add_days(struct hdd_thread *t, int32_t d, int64_t n, int32_t path, int32_t *out)
{
    if (n > 100000)
        return hdr_fail(t, RT_FAIL_DATE_RANGE, path);
    *out = (int32_t)((uint32_t)d + (uint32_t)n);
    return 0;
}

static int32_t hdr_add_months(struct hdd_thread *t, int32_t d, int64_t n, int32_t path, int32_t *out)
{
    (void)t, (void)path;
    *out = hd_date_add_months(d, n);
    return 0;
}

static int32_t hdr_ts_add_days(struct hdd_thread *t, int64_t us, int64_t n, int32_t path, int64_t *out)
{
    (void)t, (void)path;
    *out = us + n * 86400000000LL;
    return 0;
}

static int32_t hdr_ts_add_months(struct hdd_thread *t, int64_t us, int64_t n, int32_t path, int64_t *out)
{
    (void)t, (void)path;
    *out = us + n;
    return 0;
}

static int32_t hdr_add_micros(struct hdd_thread *t, int64_t us, int64_t n, int32_t path, int64_t *out)
{
    (void)t, (void)path;
    *out = us + n;
    return 0;
}

static int32_t hdr_strptime(struct hdd_thread *t, const char *s, int32_t n, const char *f, int32_t m, int32_t path,
                            int64_t *out)
{
    (void)s, (void)f, (void)m;
    *out = n;
    return n > 100 ? hdr_fail(t, RT_FAIL_CAST_STRING, path) : 0;
}

/* Of years, and what has no tests here. */
static int64_t hdr_days_between(int32_t a, int32_t b, int32_t unit)
{
    return hdr_extract_date(b, unit) - hdr_extract_date(a, unit);
}

static int64_t hdr_times_between(int64_t a, int64_t b, int32_t unit)
{
    return unit == 2 ? b / 86400000000LL - a / 86400000000LL : b - a;
}

static int32_t hdr_make_date(struct hdd_thread *t, int64_t y, int64_t m, int64_t d, int32_t path, int32_t *out)
{
    if (m < 1 || m > 12)
        return hdr_fail(t, RT_FAIL_DOMAIN, path);
    *out = hd_date_from_civil((int)y, (int)m, (int)d);
    return 0;
}

static int32_t fits(struct hdd_thread *t, bool ok, int32_t path)
{
    return ok ? 0 : hdr_fail(t, RT_FAIL_OVERFLOW, path);
}

static int32_t hdr_make_interval(struct hdd_thread *t, int64_t months, int64_t days, int64_t micros, int32_t path,
                                 hd_i128 *out)
{
    return fits(t, hd_interval_pack((struct hd_interval){months, days, micros}, out), path);
}

static int32_t hdr_interval_plus(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t path,
                                 hd_i128 *out)
{
    return fits(t, hd_interval_plus(join(al, ah), join(bl, bh), out), path);
}

static int32_t hdr_interval_minus(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t path,
                                  hd_i128 *out)
{
    return fits(t, hd_interval_minus(join(al, ah), join(bl, bh), out), path);
}

static int32_t hdr_interval_times(struct hdd_thread *t, int64_t al, int64_t ah, int64_t n, int32_t path, hd_i128 *out)
{
    return fits(t, hd_interval_times(join(al, ah), n, out), path);
}

static int32_t hdr_substring(struct hdd_thread *t, const char *s, int32_t n, int64_t start, int64_t len, int32_t path,
                             struct text *out)
{
    if (len < 0)
        return hdr_fail(t, RT_FAIL_SUBSTRING, path);
    int64_t b = HD_MIN(start - 1, n);
    *out = (struct text){s + b, HD_MIN(len, n - b)};
    return 0;
}

static int32_t ranged(struct hdd_thread *t, hd_i128 v, bool over, int32_t digits, int32_t path, hd_i128 *out)
{
    hd_i128 limit = hd_pow10(digits ? digits : 38) - 1;
    if (over || v > limit || v < -limit)
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    *out = v;
    return 0;
}

static int32_t hdr_mul_i128(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t digits,
                            int32_t path, hd_i128 *out)
{
    hd_i128 r;
    bool over = __builtin_mul_overflow(join(al, ah), join(bl, bh), &r);
    return ranged(t, r, over, digits, path, out);
}

static int32_t hdr_div_dec(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t scale,
                           int32_t digits, int32_t path, hd_i128 *out)
{
    hd_i128 a = join(al, ah) * hd_pow10(scale), b = join(bl, bh);
    if (b == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    return ranged(t, a / b, false, digits, path, out);
}

static int32_t hdr_of_parts(struct hdd_thread *t, int64_t hl, int64_t hh, int64_t ll, int64_t lh, int64_t n,
                            int32_t scale, int32_t digits, int32_t path, hd_i128 *out)
{
    hd_i128 v = (join(hl, hh) * ((hd_i128)1 << 64) + join(ll, lh)) * hd_pow10(scale) / n;
    return ranged(t, v, digits == 0 && v != (int64_t)v, digits, path, out);
}

static int32_t hdr_rescale_i128(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t scale, int32_t digits,
                                int32_t path, hd_i128 *out)
{
    hd_i128 v = join(lo, hi), r;
    bool over = __builtin_mul_overflow(v, hd_pow10(scale), &r);
    if (path == HDD_PATH_SATURATE) {
        over = over || r >= hd_pow10(38) || r <= -hd_pow10(38);
        *out = !over ? r : v < 0 ? -hd_pow10(38) : hd_pow10(38);
        return 0;
    }
    return ranged(t, r, over, digits, path, out);
}

static void hdr_div_round_i128(int64_t lo, int64_t hi, int32_t scale, hd_i128 *out)
{
    hd_i128 d = hd_pow10(scale), v = join(lo, hi);
    *out = (v < 0 ? v - d / 2 : v + d / 2) / d;
}

static int32_t hdr_mod_i128(struct hdd_thread *t, int64_t al, int64_t ah, int64_t bl, int64_t bh, int32_t path,
                            hd_i128 *out)
{
    if (join(bl, bh) == 0)
        return hdr_fail(t, RT_FAIL_DIV_ZERO, path);
    *out = join(al, ah) % join(bl, bh);
    return 0;
}

static double hdr_to_f64(int64_t lo, int64_t hi, int32_t scale)
{
    return (double)join(lo, hi) / (double)hd_pow10(scale);
}

static float hdr_to_f32(int64_t lo, int64_t hi, int32_t scale)
{
    return (float)((double)join(lo, hi) / (double)hd_pow10(scale));
}

static int32_t hdr_from_f64(struct hdd_thread *t, double v, int32_t scale, int32_t digits, int32_t bits, int32_t path,
                            hd_i128 *out)
{
    double r = round(v * (double)hd_pow10(scale));
    double limit = digits ? (double)hd_pow10(digits) : ldexp(1, bits - 1);
    if (!(r > -limit && r < limit))
        return hdr_fail(t, RT_FAIL_CAST_RANGE, path);
    *out = (hd_i128)r;
    return 0;
}

static int32_t hdr_to_string(struct hdd_thread *t, int64_t lo, int64_t hi, int32_t code, struct text *out)
{
    char *s = hd_asprintf(&fx_of(t)->arena, "%d:%lld:%lld", code & 255, (long long)hi, (long long)lo);
    *out = (struct text){s, (int64_t)strlen(s)};
    return 0;
}

static int32_t hdr_from_string(struct hdd_thread *t, const char *s, int32_t n, int32_t code, int32_t path, hd_i128 *out)
{
    int64_t v;
    (void)code;
    if (!hd_int_parse(s, (size_t)n, &v))
        return hdr_fail(t, RT_FAIL_CAST_STRING, path);
    *out = v;
    return 0;
}

static int32_t hdr_try_from_string(const char *s, int32_t n, int32_t code, hd_i128 *out)
{
    int64_t v = 0;
    (void)code;
    bool ok = hd_int_parse(s, (size_t)n, &v);
    *out = ok ? v : 0;
    return ok;
}

/* Strings that tests of emitters make are few: their room lives as long as the process. */
char *hdr_string_alloc(struct hdd_thread *t, size_t n);
char *hdr_string_alloc(struct hdd_thread *t, size_t n)
{
    static char room[1 << 16];
    static size_t taken;
    (void)t;
    HD_ASSERT(taken + n <= sizeof room);
    taken += n;
    return room + taken - n;
}

/* Functions of float64, of strings, and rounding are those of the runtime. */
void hdr_div_toward_i128(int64_t lo, int64_t hi, int32_t scale, int32_t direction, void *out);
double hdr_round_f64(double v, int32_t digits);
int32_t hdr_bucket_i128(int64_t lo, int64_t hi, int64_t bound_lo, int64_t bound_hi, int64_t width_lo, int64_t width_hi,
                        int32_t n);
float hdr_round_f32(float v, int32_t digits);
#define R_CALL(...)
#define R_FLOAT64_1(name)                          double hdr_##name(double x);
#define R_FLOAT64_2(name)                          double hdr_##name(double x, double y);
#define R_TEXT(name, kinds, parameters, arguments) int64_t hdr_##name parameters;
#define R_MADE(name, kinds, parameters, arguments) int32_t hdr_##name parameters;
#include "templates/rtcalls.def"

const struct fx_helper fx_helpers[] = {
#define R_CALL(ret, name, args) {#name, (void *)name},
#include "templates/rtcalls.def"
};
const size_t fx_nhelpers = HD_COUNT(fx_helpers);
