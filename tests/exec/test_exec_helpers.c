/* The functions that generated code calls, against plain versions of their rules. */
#include "tests/exec/exec_fixture.h"

#include <math.h>
#include <stdio.h>

#include "runtime/cpu/like.h"
#include "templates/forms.cuh"

static struct hdd_thread thread;

static void *text(const char *s)
{
    return (void *)(uintptr_t)s;
}

/* ---- LIKE ------------------------------------------------------------------------------ */

static bool plain_like(const char *p, size_t np, const char *s, size_t ns, char escape)
{
    if (np == 0)
        return ns == 0;
    if (escape && *p == escape && np > 1)
        return ns && s[0] == p[1] && plain_like(p + 2, np - 2, s + 1, ns - 1, escape);
    if (*p == '%') {
        for (size_t i = 0; i <= ns; i++)
            if (plain_like(p + 1, np - 1, s + i, ns - i, escape))
                return true;
        return false;
    }
    return ns && (*p == '_' || *p == *s) && plain_like(p + 1, np - 1, s + 1, ns - 1, escape);
}

static bool like(const char *p, const char *s, size_t n, char escape)
{
    struct hd_arena a;
    hd_arena_init(&a);
    bool r = hdr_like(hdr_like_new(&a, p, strlen(p), escape, NULL), text(s), (int32_t)n);
    hd_arena_release(&a);
    return r;
}

static void like_cases(void **state)
{
    static const struct {
        const char *p, *s;
        char escape;
        bool match;
    } cases[] = {
        {"", "", 0, true},
        {"", "a", 0, false},
        {"%", "", 0, true},
        {"%%", "abc", 0, true},
        {"abc", "abc", 0, true},
        {"abc", "abcd", 0, false},
        {"a%", "a", 0, true},
        {"%a", "ba", 0, true},
        {"a%a", "a", 0, false},
        {"a%a", "aa", 0, true},
        {"%special%requests%", "the special, odd requests sleep", 0, true},
        {"%special%requests%", "requests special", 0, false},
        {"forest%", "forest green", 0, true},
        {"%green%", "a very long text that ends with the word green", 0, true},
        {"%BRASS", "LARGE BRUSHED BRASS", 0, true},
        {"_", "", 0, false},
        {"_%_", "ab", 0, true},
        {"a_c", "abc", 0, true},
        {"100\\%", "100%", '\\', true},
        {"100\\%", "1000", '\\', false},
        {"a\\_b", "a_b", '\\', true},
        {"a\\_b", "axb", '\\', false},
        {"x!!%", "x!abc", '!', true},
        {"ab!", "ab!", '!', true},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++)
        if (like(cases[i].p, cases[i].s, strlen(cases[i].s), cases[i].escape) != cases[i].match)
            fail_msg("'%s' like '%s'", cases[i].s, cases[i].p);
}

static void like_agrees_with_the_plain_matcher(void **state)
{
    static const char letters[] = "ab%_!";
    char p[16], *s = malloc(64);
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t r = fx_random(i);
        size_t np = r % 8, ns = r / 8 % 60;
        for (size_t k = 0; k < np; k++)
            p[k] = letters[fx_random(i * 100 + k) % 5];
        p[np] = 0;
        for (size_t k = 0; k < ns; k++)
            s[k] = letters[fx_random(i * 1000 + k) % (ns > 20 ? 2 : 5)];
        char escape = r >> 40 & 1 ? '!' : 0;
        if (like(p, s, ns, escape) != plain_like(p, np, s, ns, escape))
            fail_msg("'%.*s' like '%s'", (int)ns, s, p);
    }
    free(s);
}

/* Strings that end at the end of an allocation: no byte beyond may be read. */
static void searching_reads_nothing_beyond_the_end(void **state)
{
    struct hd_arena a;
    (void)state;
    hd_arena_init(&a);
    like("%", "", 0, 0); /* chooses the instructions to search with */
    for (size_t n = 1; n < 140; n++)
        for (size_t m = 1; m < 40 && m <= n; m++) {
            unsigned char *s = malloc(n), *needle = malloc(m);
            memset(s, 'a', n);
            memset(needle, 'a', m);
            needle[m - 1] = 'b';
            needle[m / 2] = m > 2 ? 'z' : needle[m / 2];
            struct hdr_needle p = hdr_needle(&a, needle, m);
            assert_null(hdr_find(&p, s, n));
            size_t at = (n - m) * (m % 4) / 3;
            memcpy(s + HD_MIN(at, n - m), needle, m);
            assert_ptr_equal(hdr_find(&p, s, n), s + HD_MIN(at, n - m));
            free(s);
            free(needle);
        }
    hd_arena_release(&a);
}

/* Long needles and wild pieces in texts of two letters, where candidates abound: against a search that
 * compares at every place. */
static void long_pieces_are_found_where_they_are(void **state)
{
    enum { N = 2000 };
    unsigned char s[N], piece[300];
    char pattern[2 * sizeof piece + 8];
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        size_t m = 65 + fx_random(i) % (sizeof piece - 65), np = 0, wanted = N;
        for (size_t k = 0; k < N; k++)
            s[k] = "ab"[fx_random(i * N + k) % 40 == 0];
        for (size_t k = 0; k < m; k++)
            piece[k] = "ab_"[fx_random(i * 1000 + k) % 40 == 0 ? 1 + i % 2 : 0];
        if (i % 3) /* somewhere it is */
            memcpy(s + fx_random(i + 7) % (N - m), piece, m);
        for (size_t at = N - m + 1; at-- > 0;) {
            size_t k = 0;
            while (k < m && (piece[k] == '_' || piece[k] == s[at + k]))
                k++;
            wanted = k == m ? at : wanted;
        }
        pattern[np++] = '%';
        memcpy(pattern + np, piece, m);
        memcpy(pattern + np + m, "%", 2);
        assert_int_equal(like(pattern, (char *)s, N, 0), wanted < N);
        if (wanted < N) /* the first place, not a later one: what is before it has none */
            assert_false(like(pattern, (char *)s, wanted + m - 1, 0));
    }
}

/* Of this thread's processor: other tests may run beside this one. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A pattern that nearly matches at every place of 2 MB must not cost text times pattern: compared byte
 * by byte the long ones take 4 s or more. */
static void hostile_patterns_take_linear_time(void **state)
{
    enum { N = 2 << 20 };
    static const struct {
        int n; /* of "a" before the middle, half as many after it */
        const char *middle, *end;
    } cases[] = {{400000, "e", "%"}, {3000, "_", "b%"}, {3000, "__e", "%"}, {60, "_", "b%"}, {500000, "e", ""}};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    static const size_t slower = 16; /* the instrumented code, right or wrong */
#else
    static const size_t slower = 1;
#endif
    char *s = malloc(N), *pattern = malloc(N);
    (void)state;
    memset(s, 'a', N);
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        size_t n = (size_t)cases[i].n / slower;
        memset(pattern, 'a', N);
        pattern[0] = '%';
        size_t at = n + (size_t)sprintf(pattern + n, "%s", cases[i].middle);
        pattern[at] = 'a';
        sprintf(pattern + at + n / 2, "%s", cases[i].end);
        double start = now_s();
        assert_false(like(pattern, s, N, 0));
        if (now_s() - start > 2)
            fail_msg("case %zu takes %.1f s", i, now_s() - start);
    }
    memset(pattern, 'a', N); /* a%a%a%...b */
    for (size_t i = 1; i < N - 2; i += 2)
        pattern[i] = '%';
    strcpy(pattern + N - 3, "b%");
    double start = now_s();
    assert_false(like(pattern, s, N, 0));
    assert_true(now_s() - start < 2);
    free(s);
    free(pattern);
}

/* An answer that nobody waits for is not looked for to the end. */
static void stopped_executions_search_no_further(void **state)
{
    enum { N = 1 << 28, M = 1 << 16 };
    static _Atomic int stopped = 1;
    struct hd_arena a;
    char *s = calloc(1, N), *pattern = malloc(M + 1);
    (void)state;
    memset(pattern, 0, M);
    pattern[0] = pattern[M - 1] = '%';
    memset(pattern + 2, '_', 1);
    pattern[M - 2] = 'b';
    hd_arena_init(&a);
    struct hdr_like *p = hdr_like_new(&a, pattern, M, 0, &stopped);
    double start = now_s();
    hdr_like(p, s, N);
    assert_true(now_s() - start < 1);
    hd_arena_release(&a);
    free(s);
    free(pattern);
}

/* ---- Strings and sets ------------------------------------------------------------------ */

static void strings_compare_bytewise(void **state)
{
    (void)state;
    assert_int_equal(hdr_str_cmp(text("a"), 1, text("b"), 1), -1);
    assert_int_equal(hdr_str_cmp(text("ab"), 2, text("a"), 1), 1);
    assert_int_equal(hdr_str_cmp(text("ab"), 2, text("ab"), 2), 0);
    assert_int_equal(hdr_str_cmp(text("\xc3"), 1, text("z"), 1), 1);
    assert_int_equal(hdr_str_cmp(NULL, 0, text(""), 0), 0);
}

static void sets(void **state)
{
    int32_t ints[] = {-5, 0, 3, 9, 12};
    int64_t longs[] = {INT64_MIN, -1, 7, INT64_MAX};
    hd_i128 wides[] = {-((hd_i128)1 << 100), 5, (hd_i128)1 << 90};
    double floats[] = {-1.5, 0, 2.5, NAN};
    struct {
        const char *s;
        uint64_t n;
    } str[] = {{"", 0}, {"AIR", 3}, {"AIR REG", 7}, {"SHIP", 4}};
    (void)state;
    for (int32_t v = -10; v < 20; v++)
        for (int64_t n = 0; n <= 5; n++) {
            bool in = false;
            for (int64_t k = 0; k < n; k++)
                in = in || ints[k] == v;
            assert_int_equal(hdr_in_i32(ints, n, v), in);
        }
    for (int k = 0; k < 4; k++)
        assert_int_equal(hdr_in_i64(longs, 4, longs[k]), 1);
    assert_int_equal(hdr_in_i64(longs, 4, 0), 0);
    assert_int_equal(hdr_in_i128(wides, 3, 0, (int64_t)1 << 26), 1);
    assert_int_equal(hdr_in_i128(wides, 3, 5, 0), 1);
    assert_int_equal(hdr_in_i128(wides, 3, 5, 1), 0);
    assert_int_equal(hdr_in_f64(floats, 4, -0.0), 1);
    assert_int_equal(hdr_in_f64(floats, 4, NAN), 1);
    assert_int_equal(hdr_in_f64(floats, 4, 1.0), 0);
    assert_int_equal(hdr_in_str(str, 4, text("AIR"), 3), 1);
    assert_int_equal(hdr_in_str(str, 4, text("AIR R"), 5), 0);
    assert_int_equal(hdr_in_str(str, 4, text(""), 0), 1);
}

static void substrings(void **state)
{
    static const struct {
        int64_t start, length;
        const char *wanted; /* NULL: an error */
    } cases[] = {{1, 2, "he"},
                 {2, INT64_MAX, "ello"},
                 {0, 2, "h"},
                 {-3, 5, "h"},
                 {-3, 4, ""},
                 {5, 1, "o"},
                 {6, 1, ""},
                 {100, 5, ""},
                 {2, 0, ""},
                 {2, -1, NULL},
                 {INT64_MIN, INT64_MAX, ""},
                 {INT64_MAX, INT64_MAX, ""},
                 {1, 5, "hello"}};
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct hdr_string out = {NULL, -1};
        int32_t rc = hdr_substring(&thread, text("hello"), 5, cases[i].start, cases[i].length, 1, &out);
        assert_int_equal(rc, !cases[i].wanted);
        if (!cases[i].wanted) {
            assert_int_equal(thread.failure, RT_FAIL_SUBSTRING);
            continue;
        }
        assert_int_equal(out.n, strlen(cases[i].wanted));
        assert_memory_equal(out.s, cases[i].wanted, (size_t)out.n);
    }
}

/* ---- Decimals -------------------------------------------------------------------------- */

#define LO(v) ((int64_t)(v))
#define HI(v) ((int64_t)((hd_i128)(v) >> 64))

static void check_i128(hd_i128 got, hd_i128 wanted)
{
    char a[HD_TEXT_MAX], b[HD_TEXT_MAX];
    if (got != wanted)
        fail_msg("got %s, wanted %s", hd_dec_text(got, 0, a), hd_dec_text(wanted, 0, b));
}

static void products(void **state)
{
    hd_i128 out, big = hd_pow10(19);
    (void)state;
    assert_int_equal(hdr_mul_i128(&thread, -7, -1, 6, 0, 38, 0, &out), 0);
    check_i128(out, -42);
    assert_int_equal(hdr_mul_i128(&thread, LO(big), HI(big), LO(big), HI(big), 38, 0, &out), 1);
    assert_int_equal(thread.failure, RT_FAIL_OVERFLOW);
    assert_int_equal(hdr_mul_i128(&thread, LO(big), HI(big), LO(big), HI(big), 0, 0, &out), 0);
    check_i128(out, hd_pow10(38));
    assert_int_equal(hdr_mul_i128(&thread, 10, 0, 10, 0, 2, 0, &out), 1);
    assert_int_equal(hdr_mul_i128(&thread, 11, 0, 9, 0, 2, 0, &out), 0);
    check_i128(out, 99);
}

static void quotients(void **state)
{
    static const struct {
        const char *a, *b;
        int scale;
        const char *wanted; /* NULL: overflow */
    } cases[] = {
        {"1", "3", 6, "333333"},
        {"2", "3", 6, "666667"},
        {"-2", "3", 6, "-666667"},
        {"1", "2", 0, "1"},
        {"-1", "2", 0, "-1"},
        {"1", "-2", 0, "-1"},
        {"5", "2", 0, "3"},
        {"7", "7", 0, "1"},
        {"0", "5", 10, "0"},
        {"99999999999999999999999999999999999999", "1", 0, "99999999999999999999999999999999999999"},
        {"99999999999999999999999999999999999999", "1", 1, NULL},
        {"12345678901234567890123456789012345678", "98765432109876543210987654321098765432", 30,
         "124999998860937500014238281250"},
        {"99999999999999999999999999999999999999", "99999999999999999999999999999999999998", 37,
         "10000000000000000000000000000000000000"},
        {"1", "99999999999999999999999999999999999999", 38, "1"},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        hd_i128 a, b, wanted = 0, out = 0;
        assert_true(hd_dec_parse(cases[i].a, strlen(cases[i].a), 0, &a));
        assert_true(hd_dec_parse(cases[i].b, strlen(cases[i].b), 0, &b));
        int32_t rc = hdr_div_dec(&thread, LO(a), HI(a), LO(b), HI(b), cases[i].scale, 38, 0, &out);
        assert_int_equal(rc, !cases[i].wanted);
        if (rc)
            continue;
        hd_dec_parse(cases[i].wanted, strlen(cases[i].wanted), 0, &wanted);
        check_i128(out, wanted);
    }
    hd_i128 out;
    assert_int_equal(hdr_div_dec(&thread, 1, 0, 0, 0, 6, 38, 1, &out), 1);
    assert_int_equal(thread.failure, RT_FAIL_DIV_ZERO);
    assert_int_equal(thread.failure_path, 1);
}

/* The whole is high * 2^64 + low, and either may be far beyond what it amounts to. */
static void parts_are_joined_once(void **state)
{
    const hd_i128 limit = hd_pow10(38), one = 1;
    const struct {
        hd_i128 high, low;
        int64_t n;
        int scale, digits;
        bool fits;
        hd_i128 wanted;
    } cases[] = {
        {0, 0, 1, 0, 38, true, 0},
        {0, -7, 2, 0, 38, true, -4},
        {-1, 1, 1, 0, 38, true, -(one << 64) + 1},
        {-1, 0, 1, 0, 38, true, -(one << 64)},
        {-3, (one << 66) - 5, 4, 0, 38, true, (one << 62) - 1},
        {(limit - 1) >> 64, (hd_i128)(uint64_t)(limit - 1), 1, 0, 38, true, limit - 1},
        {limit >> 64, (hd_i128)(uint64_t)limit, 1, 0, 38, false, 0},
        {-limit >> 64, (hd_i128)(uint64_t)-limit, 1, 0, 38, false, 0},
        {one << 64, 0, 1, 0, 38, false, 0}, /* 2^128, 0 in 128 bits */
        {one << 125, one << 126, INT64_MAX, 6, 38, false, 0},
        {(limit >> 64) * 1000, 0, 1000, 0, 38, true, limit >> 64 << 64},
        {(limit >> 64) * 1000, 0, 1000, 1, 38, false, 0},
        {0, 1, 3, 6, 38, true, 333333},
        {0, INT64_MAX, 1, 0, 0, true, INT64_MAX},
        {0, INT64_MIN, 1, 0, 0, true, INT64_MIN},
        {0, (hd_i128)INT64_MAX + 1, 1, 0, 0, false, 0},
        {0, (hd_i128)INT64_MIN - 1, 1, 0, 0, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        hd_i128 out = 0;
        int32_t rc = hdr_of_parts(&thread, LO(cases[i].high), HI(cases[i].high), LO(cases[i].low), HI(cases[i].low),
                                  cases[i].n, cases[i].scale, cases[i].digits, 2, &out);
        if (rc != !cases[i].fits)
            fail_msg("case %zu: status %d", i, rc);
        if (!rc)
            check_i128(out, cases[i].wanted);
    }
    assert_int_equal(thread.failure, RT_FAIL_OVERFLOW);
    assert_int_equal(thread.failure_path, 2);
}

static void rescaling_and_rounding(void **state)
{
    static const struct {
        int64_t v;
        int scale;
        int64_t wanted;
    } cases[] = {{15, 1, 2}, {14, 1, 1}, {-15, 1, -2}, {-14, 1, -1}, {5, 1, 1},    {-5, 1, -1},  {4, 1, 0},
                 {0, 5, 0},  {99, 2, 1}, {49, 2, 0},   {50, 2, 1},   {-50, 2, -1}, {123, 0, 123}};
    hd_i128 out;
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        hdr_div_round_i128(cases[i].v, cases[i].v >> 63, cases[i].scale, &out);
        check_i128(out, cases[i].wanted);
    }
    assert_int_equal(hdr_rescale_i128(&thread, -12, -1, 3, 38, 0, &out), 0);
    check_i128(out, -12000);
    assert_int_equal(hdr_rescale_i128(&thread, 12, 0, 37, 38, 0, &out), 1);
    assert_int_equal(hdr_rescale_i128(&thread, 1, 0, 38, 38, 0, &out), 1);
    assert_int_equal(hdr_rescale_i128(&thread, 9, 0, 37, 38, 0, &out), 0);
    assert_int_equal(hdr_mod_i128(&thread, -7, -1, 3, 0, 0, &out), 0);
    check_i128(out, -1);
    assert_int_equal(hdr_mod_i128(&thread, 7, 0, 0, 0, 0, &out), 1);
}

static void floats(void **state)
{
    static const struct {
        double v;
        int scale, digits, bits;
        int64_t wanted;
        bool fails;
    } cases[] = {
        {1.005, 2, 38, 128, 100, false}, /* its binary value lies below the tie */
        {0.5, 0, 0, 64, 1, false},
        {-0.5, 0, 0, 64, -1, false},
        {2.5, 0, 0, 32, 3, false},
        {0.49999999999999994, 0, 0, 64, 0, false},
        {-0.0, 3, 10, 128, 0, false},
        {1e-300, 30, 38, 128, 0, false},
        {5e-324, 38, 38, 128, 0, false},
        {123.456, 3, 6, 128, 123456, false},
        {123.456, 4, 6, 128, 0, true},
        {2147483647.4, 0, 0, 32, 2147483647, false},
        {2147483647.5, 0, 0, 32, 0, true},
        {-2147483648.5, 0, 0, 32, 0, true},
        {-2147483648.4, 0, 0, 32, -2147483648LL, false},
        {9.3e18, 0, 0, 64, 0, true},
        {1.1e38, 0, 38, 128, 0, true},
        {1e300, 0, 38, 128, 0, true},
        {NAN, 0, 0, 64, 0, true},
        {INFINITY, 2, 38, 128, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        hd_i128 out = 77;
        int32_t rc = hdr_from_f64(&thread, cases[i].v, cases[i].scale, cases[i].digits, cases[i].bits, 0, &out);
        if (rc != cases[i].fails)
            fail_msg("case %zu", i);
        if (rc == 0)
            check_i128(out, cases[i].wanted);
    }
    assert_true(hdr_to_f64(1, 0, 1) == 0.1);
    assert_true(hdr_to_f64(-12345, -1, 2) == -123.45);
    hd_i128 v = hd_pow10(38) - 1;
    assert_true(hdr_to_f64(LO(v), HI(v), 38) == 1.0);
    assert_true(hdr_to_f64(LO(v), HI(v), 10) == 1e28);
    assert_true(hdr_to_f64(9007199254740993, 0, 3) == 9007199254740.993);
}

/* ---- Dates and text -------------------------------------------------------------------- */

static void dates(void **state)
{
    int32_t day = 0, d = hd_date_from_civil(1996, 1, 31);
    int64_t micros = 0, t = (int64_t)d * 86400000000 + 1, before = -1;
    (void)state;
    assert_int_equal(hdr_extract_date(d, 0), 1996);
    assert_int_equal(hdr_extract_date(d, 1), 1);
    assert_int_equal(hdr_extract_date(d, 2), 31);
    assert_int_equal(hdr_extract_ts(before, 0), 1969);
    assert_int_equal(hdr_extract_ts(before, 2), 31);
    assert_int_equal(hdr_add_months(&thread, d, 1, 0, &day), 0);
    assert_int_equal(day, hd_date_from_civil(1996, 2, 29));
    assert_int_equal(hdr_add_months(&thread, d, -13, 0, &day), 0);
    assert_int_equal(day, hd_date_from_civil(1994, 12, 31));
    assert_int_equal(hdr_add_days(&thread, d, -31, 0, &day), 0);
    assert_int_equal(day, hd_date_from_civil(1995, 12, 31));
    assert_int_equal(hdr_ts_add_months(&thread, t, 1, 0, &micros), 0);
    assert_int_equal(micros, (int64_t)hd_date_from_civil(1996, 2, 29) * 86400000000 + 1);
    assert_int_equal(hdr_ts_add_days(&thread, before, 1, 0, &micros), 0);
    assert_int_equal(micros, before + 86400000000);
}

static void dates_beyond_the_calendar(void **state)
{
    static const int64_t far[] = {INT64_MAX, INT64_MIN, 4000000, -4000000};
    int32_t day, d = hd_date_from_civil(9999, 12, 31);
    int64_t micros;
    (void)state;
    for (size_t i = 0; i < HD_COUNT(far); i++) {
        assert_int_equal(hdr_add_days(&thread, 0, far[i], 1, &day), 1);
        assert_int_equal(thread.failure, RT_FAIL_DATE_RANGE);
        assert_int_equal(hdr_add_months(&thread, 0, far[i], 1, &day), 1);
        assert_int_equal(hdr_ts_add_days(&thread, 0, far[i], 1, &micros), 1);
        assert_int_equal(hdr_ts_add_months(&thread, 0, far[i], 1, &micros), 1);
    }
    assert_int_equal(hdr_add_days(&thread, d, 1, 1, &day), 1);
    assert_int_equal(hdr_add_months(&thread, d, 1, 1, &day), 1);
    assert_int_equal(hdr_add_days(&thread, d, -1, 1, &day), 0);
}

static int32_t code(struct hd_type t)
{
    return t.kind | t.precision << 8 | t.scale << 16;
}

static void from_string(void **state)
{
    struct hd_type dec = hd_decimal(5, 2), floats = hd_type_of(HD_FLOAT64);
    const struct {
        struct hd_type type;
        const char *s;
        bool ok;
        int64_t wanted;
    } cases[] = {
        {hd_type_of(HD_BOOL), "true", true, 1},
        {hd_type_of(HD_BOOL), "false", true, 0},
        {hd_type_of(HD_BOOL), "TRUE", false, 0},
        {hd_type_of(HD_INT32), "2147483647", true, INT32_MAX},
        {hd_type_of(HD_INT32), "2147483648", false, 0},
        {hd_type_of(HD_INT64), "-5", true, -5},
        {hd_type_of(HD_INT64), "", false, 0},
        {hd_type_of(HD_INT64), "1.0", false, 0},
        {dec, "123.45", true, 12345},
        {dec, "-1.5", true, -150},
        {dec, "1.500", true, 150},
        {dec, "1.505", false, 0},
        {dec, "1000", false, 0},
        {dec, "999.99", true, 99999},
        {hd_type_of(HD_DATE), "1970-01-02", true, 1},
        {hd_type_of(HD_DATE), "1970-02-30", false, 0},
        {hd_type_of(HD_TIMESTAMP), "1970-01-01 00:00:01", true, 1000000},
        {floats, "0x10", false, 0},
        {floats, " 1", false, 0},
        {floats, "1e", false, 0},
        {floats, "", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        hd_i128 out = 0;
        int32_t rc =
            hdr_from_string(&thread, text(cases[i].s), (int32_t)strlen(cases[i].s), code(cases[i].type), 1, &out);
        if (rc == (int32_t)cases[i].ok)
            fail_msg("'%s'", cases[i].s);
        if (rc == 0)
            check_i128(out, cases[i].wanted);
        else
            assert_int_equal(thread.failure, RT_FAIL_CAST_STRING);
    }
}

static const char *f64_text(double v, char buf[HD_TEXT_MAX])
{
    buf[hdd_put_f64((u8 *)buf, v)] = 0;
    return buf;
}

static void float_text_round_trips(void **state)
{
    static const struct {
        double v;
        const char *s;
    } cases[] = {{0.1, "0.1"},        {1, "1"},
                 {-2.5, "-2.5"},      {1e100, "1e+100"},
                 {NAN, "nan"},        {INFINITY, "inf"},
                 {-INFINITY, "-inf"}, {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "5e-324"},  {123456789, "123456789"}};
    char buf[HD_TEXT_MAX];
    double back;
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++)
        assert_string_equal(f64_text(cases[i].v, buf), cases[i].s);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = fx_random(i);
        double v;
        memcpy(&v, &bits, 8);
        if (!isfinite(v))
            continue;
        f64_text(v, buf);
        assert_true(hdd_read_f64((const u8 *)buf, (i32)strlen(buf), &back));
        assert_memory_equal(&v, &back, 8);
    }
}

/* hdr_to_string takes memory from the execution: a program that casts. */
static int32_t cast_rows(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    (void)args;
    for (uint64_t i = begin; i < end; i++) {
        hd_i128 v = (hd_i128)i * 1000 - 5;
        struct hdr_string out;
        if (hdr_to_string(t, LO(v), HI(v), code(hd_decimal(20, 2)), &out) != 0 || fx_append(t, 0, &out, 16) != 0)
            return 1;
    }
    return 0;
}

static void texts_live_as_long_as_the_result(void **state)
{
    struct fx f;
    uint64_t n;
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        fx_init(&f, 3, NULL);
        f.limit = limited ? 500000 : 0;
        int s = fx_state(&f, RT_STATE_ROWS);
        fx_field(&f, s, RT_STR, false, RT_MERGE_ANY);
        fx_action(&f, RT_RUN, fx_table_pipeline(&f, 100000, cast_rows));
        fx_action(&f, RT_FINISH, s);
        assert_int_equal(fx_run(&f, s), limited ? -1 : 0);
        if (limited) {
            assert_int_equal(f.err.class, HD_ERR_RESOURCE);
        } else {
            const unsigned char *rows = rt_result_rows(f.result, &n);
            unsigned char *seen = calloc(1, n);
            for (uint64_t i = 0; i < n; i++) {
                struct hdr_string t;
                hd_i128 v;
                memcpy(&t, rows + i * 16, 16);
                assert_true(hd_dec_parse(t.s, (size_t)t.n, 2, &v));
                seen[(v + 5) / 1000]++;
            }
            for (uint64_t i = 0; i < n; i++)
                assert_int_equal(seen[i], 1);
            free(seen);
        }
        fx_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_cases),
        cmocka_unit_test(like_agrees_with_the_plain_matcher),
        cmocka_unit_test(long_pieces_are_found_where_they_are),
        cmocka_unit_test(hostile_patterns_take_linear_time),
        cmocka_unit_test(stopped_executions_search_no_further),
        cmocka_unit_test(searching_reads_nothing_beyond_the_end),
        cmocka_unit_test(strings_compare_bytewise),
        cmocka_unit_test(sets),
        cmocka_unit_test(substrings),
        cmocka_unit_test(products),
        cmocka_unit_test(quotients),
        cmocka_unit_test(parts_are_joined_once),
        cmocka_unit_test(rescaling_and_rounding),
        cmocka_unit_test(floats),
        cmocka_unit_test(dates),
        cmocka_unit_test(dates_beyond_the_calendar),
        cmocka_unit_test(from_string),
        cmocka_unit_test(float_text_round_trips),
        cmocka_unit_test(texts_live_as_long_as_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
