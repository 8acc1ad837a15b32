// Functions of the device headers that work on one value, against independent computations.
// They run as one thread of the emulator, because some raise failures.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "hd/aggregate.cuh"
#include "hd/convert.cuh"
#include "hd/date.cuh"
#include "hd/decimal.cuh"
#include "hd/hash.cuh"
#include "hd/like.cuh"
#include "hd/probe.cuh"
#include "hd/string.cuh"

extern "C" {
// test_device.c
const void *device_like_pattern(const char *pattern, unsigned long n, char escape);
void device_civil(int days, int *y, int *m, int *d);
void device_tests(void *);
}

#define EXPECT(condition, ...)                                                                \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            std::fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);              \
            std::fprintf(stderr, __VA_ARGS__);                                                \
            std::fputc('\n', stderr);                                                         \
            std::exit(1);                                                                     \
        }                                                                                     \
    } while (0)

static u64 random_state = 1;

static u64 draw()
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return random_state ^ (random_state >> 29);
}

// Numbers of all sizes, the ends of the class among them.
template <class T> static T draw_int()
{
    const u32 bits = (u32)(draw() % (sizeof(T) * 8 + 1));
    u128 v = (u128)draw() << 64 | draw();
    v = bits == 0 ? 0 : v >> (128 - bits);
    const u128 top = (u128)1 << (sizeof(T) * 8 - 1);
    const u32 kind = (u32)(draw() % 8);
    return kind == 0 ? (T)top : kind == 1 ? (T)(top - 1) : draw() % 2 ? (T)-v : (T)v;
}

// ---- arithmetic ----------------------------------------------------------------------------

template <class T> static void test_wraps()
{
    for (int i = 0; i < 20000; i++) {
        const T a = draw_int<T>(), b = draw_int<T>();
        T want, got;
        bool over = __builtin_add_overflow(a, b, &want);
        EXPECT(hdd_add_wraps(a, b, got) == over && got == want, "addition %d", i);
        over = __builtin_sub_overflow(a, b, &want);
        EXPECT(hdd_sub_wraps(a, b, got) == over && got == want, "subtraction %d", i);
        over = __builtin_mul_overflow(a, b, &want);
        EXPECT(hdd_mul_wraps(a, b, got) == over, "multiplication %d", i);
        EXPECT(over || got == want, "product %d", i);
    }
}

// By subtracting the divisor: only small cases, but nothing to get wrong.
static void test_quotient()
{
    for (int i = 0; i < 3000; i++) {
        const i32 scale = (i32)(draw() % 6);
        const u128 a = draw() % 100000, b = 1 + draw() % 3000;
        const u128 scaled = a * (u128)hdd_pow10(scale), twice = 2 * (scaled % b);
        const u128 want = scaled / b + (twice >= b);
        u128 got;
        EXPECT(hdd_scaled_quotient(a, (u128)hdd_pow10(scale), b, &got) && got == want,
               "case %d", i);
    }
    u128 q;
    const u128 max = (u128)hdd_pow10(38) - 1;
    EXPECT(hdd_scaled_quotient(max, max + 1, max, &q) && q == max + 1, "1 with 38 digits");
    EXPECT(hdd_scaled_quotient(max - 1, 1, max, &q) && q == 1, "rounds up");
    EXPECT(!hdd_scaled_quotient(max, 10, 1, &q), "does not fit");
}

static void test_failures()
{
    hdd_progress progress = hdd_progress();
    hdd_launch launch = hdd_launch();
    launch.progress = reinterpret_cast<u64>(&progress);
    const hdd_run run(launch);
    EXPECT(hdd_checked_add(run, 0, 1, (i64)1, (i64)2) == 3 && !progress.failure, "no failure");
    EXPECT(!hdd_checked_div(run, 1, hdd_null<i64>(), (i64)0).ok && !progress.failure,
           "NULL does not raise");
    hdd_checked_mul(run, 5, 7, (i64)1000, (i64)100);
    EXPECT(progress.failure == HDD_FAIL_OVERFLOW && progress.failure_path == 7, "digits");
    hdd_checked_div(run, 8, (i64)1, (i64)0);
    EXPECT(progress.failure_path == 7 && run.aborted(), "the first failure stays");
}

static void test_dates()
{
    for (i32 days = -800000; days < 800000; days += 37) {
        int y, m, d;
        device_civil(days, &y, &m, &d);
        EXPECT(hdd_civil_part(days, 0) == y && hdd_civil_part(days, 1) == m &&
                   hdd_civil_part(days, 2) == d,
               "day %d", days);
    }
}

// ---- casts ---------------------------------------------------------------------------------

// What no plan of today's planner reaches, and what one sees only by its absence.
static void test_casts()
{
    hdd_progress progress = hdd_progress();
    hdd_launch launch = hdd_launch();
    u8 heap[16];
    u64 cursor = 0;
    launch.progress = reinterpret_cast<u64>(&progress);
    launch.string_heap = reinterpret_cast<u64>(heap);
    launch.string_capacity = sizeof heap;
    launch.string_cursor = reinterpret_cast<u64>(&cursor);
    const hdd_run run(launch);
    const hdd_string fits = hdd_decimal_string(run, 2, (i128)-1234567);
    EXPECT(fits.n == 9 && std::memcmp(fits.s, "-12345.67", 9) == 0 && cursor == 9, "a text");
    EXPECT(hdd_timestamp_string(run, 0, (i64)0).n == 0 && cursor == 28, "room asked for");
    EXPECT(hdd_rescale_saturated(38, (i64)-5) == -hdd_pow10(38) &&
               hdd_rescale_saturated(3, (i64)-5) == -5000,
           "saturation");
}

// ---- strings -------------------------------------------------------------------------------

// ends[k]: the text so far matches what the pattern is up to k.
static bool like(const std::string &p, const std::string &s, char escape)
{
    struct part {
        char byte;
        bool any, many;
    };
    std::vector<part> parts;
    for (size_t i = 0; i < p.size(); i++) {
        const bool escaped = escape && p[i] == escape && i + 1 < p.size();
        i += escaped;
        parts.push_back({p[i], !escaped && p[i] == '_', !escaped && p[i] == '%'});
    }
    std::vector<char> ends(parts.size() + 1);
    ends[0] = 1;
    for (size_t k = 0; k < parts.size() && parts[k].many; k++)
        ends[k + 1] = 1;
    for (const char c : s) {
        char before = ends[0];
        ends[0] = 0;
        for (size_t k = 0; k < parts.size(); k++) {
            const char here = ends[k + 1];
            const part &q = parts[k];
            ends[k + 1] = q.many ? here || ends[k] : before && (q.any || q.byte == c);
            before = here;
        }
    }
    return ends[parts.size()];
}

struct like_case {
    hdd_progress progress;
    hdd_launch launch;

    like_case() : progress(), launch()
    {
        launch.progress = reinterpret_cast<u64>(&progress);
    }
    // As the planner chooses.
    bool matches(const std::string &pattern, const std::string &s, char escape) const
    {
        const hdd_run run(launch);
        // Between others' bytes, in whole words of 16, as strings lie on a device.
        const size_t before = draw() % 16;
        std::vector<u64> words((before + s.size() + 15) / 16 * 2, draw() % 2 ? 0x6162616261626162 : 0);
        u8 *const at = reinterpret_cast<u8 *>(words.data()) + before;
        std::copy(s.begin(), s.end(), at);
        const hdd_string t = {at, (i32)s.size()};
        const hdd_like_pattern *p = static_cast<const hdd_like_pattern *>(
            device_like_pattern(pattern.data(), pattern.size(), escape));
        return pattern.find('_') == std::string::npos ? hdd_like<false>(run, t, p)
                                                      : hdd_like<true>(run, t, p);
    }
    void check(const std::string &pattern, const std::string &s, char escape) const
    {
        EXPECT(matches(pattern, s, escape) == like(pattern, s, escape),
               "\"%s\" like \"%s\", escape %d", s.c_str(), pattern.c_str(), escape);
    }
};

static std::string draw_text(u64 n, const char *letters)
{
    std::string s;
    while (s.size() < n)
        s += letters[draw() % std::strlen(letters)];
    return s;
}

static void test_like()
{
    const like_case c;
    for (int i = 0; i < 30000; i++)
        c.check(draw_text(draw() % 9, "ab%_%!"), draw_text(draw() % 9, "aab%!"),
                draw() % 4 ? 0 : '!');
}

// Pieces cut from the text, some bytes of them any, and now and then one changed.
static std::string draw_pattern(const std::string &s, u64 gap, u64 most)
{
    std::string pattern = draw() % 4 ? "%" : "";
    u64 at = pattern.empty() ? 0 : draw() % (2 * gap);
    for (u64 k = 1 + draw() % 3; k > 0 && at < s.size(); k--) {
        std::string piece = s.substr(at, 1 + draw() % most);
        at += piece.size() + draw() % gap;
        for (u64 w = draw() % 2 * (draw() % 20 * piece.size() / most); w > 0; w--)
            piece[draw() % piece.size()] = '_';
        if (draw() % 6 == 0)
            piece[draw() % piece.size()] = 'b';
        pattern += piece + (k > 1 || draw() % 4 ? "%" : "");
    }
    return pattern;
}

static const char *const texts_letters[] = {"a", "ab", "aaaaaaaaaaaaab", "abcdefgh\377\200 "};

// Texts of several words, pieces with a tail of their own and with more between head and tail.
static void test_like_words()
{
    const like_case c;
    u32 found = 0, n = 0;
    for (int i = 0; i < 30000; i++) {
        const std::string s = draw_text(draw() % 120, texts_letters[draw() % 4]);
        const std::string pattern = draw_pattern(s, 1 + draw() % 40, 1 + draw() % 20);
        c.check(pattern, s, 0);
        found += c.matches(pattern, s, 0);
        n++;
    }
    EXPECT(found > n / 4 && found < n * 5 / 6, "%u of %u match", found, n);
}

// Pieces with a table and without, of one word and several.
static void test_like_long()
{
    const like_case c;
    u32 found = 0, n = 0;
    for (int i = 0; i < 1500; i++) {
        const std::string s = draw_text(300 + draw() % 2700, texts_letters[draw() % 4]);
        const std::string pattern = draw_pattern(s, 100, draw() % 2 ? 40 : 300);
        c.check(pattern, s, 0);
        found += c.matches(pattern, s, 0);
        n += (u64)s.size() * pattern.size() > HDD_LIKE_SHORT;
    }
    EXPECT(n > 1400 && found > n / 4 && found < n * 3 / 4, "%u of %u match", found, n);
}

// Not even half as long as comparing at every place takes; a quarter of them are tried.
static void expect_soon(const like_case &c, const std::string &piece, const std::string &s)
{
    std::string both = piece;
    for (const char byte : piece)
        both += byte == '_';
    const u32 n = (u32)s.size(), m = (u32)piece.size();
    const clock_t start = std::clock();
    const u8 *const text = reinterpret_cast<const u8 *>(s.data()), *const p = reinterpret_cast<const u8 *>(both.data());
    for (u32 i = 0; i < (n - m) / 4; i++)
        EXPECT(!hdd_like_bytes<true>(p, m, text + i, 0, m), "a part of the hostile text");
    const clock_t middle = std::clock();
    EXPECT(!c.matches("%" + piece + "%", s, 0), "a hostile text");
    EXPECT(std::clock() - middle < 2 * (middle - start), "%u bytes in %u", m, n);
    EXPECT(c.matches("%" + piece + "%", s + piece, 0), "at its end");
}

static void test_like_hostile()
{
    const like_case c;
    const std::string s(100000, 'a');
    std::string piece = std::string(20000, 'a') + "b";
    expect_soon(c, piece, s);
    expect_soon(c, piece + std::string(5000, 'a'), s);
    piece[100] = '_';
    expect_soon(c, piece, s);
}

static void test_like_aborted()
{
    like_case c;
    const std::string s = std::string(100000, 'a');
    c.progress.abort = 1;
    for (const u32 m : {5u, 50u, 5000u}) {
        std::string piece = std::string(m, 'a') + "b";
        EXPECT(!c.matches("%" + piece + "%", s + piece, 0), "%u bytes", m);
        piece[3] = '_';
        EXPECT(!c.matches("%" + piece + "%", s + piece, 0), "%u bytes, one any", m);
    }
}

// A string that matches has one of the aligned words that are sought, between the first and the last place of one.
static bool has_sought(const hdd_like_pattern *p, const std::string &s, u32 skip)
{
    const i64 n = (i64)s.size();
    for (i64 at = -(i64)skip; at < n; at += 4) {
        u32 word = 0;
        for (i64 i = 0; i < 4; i++)
            word |= at + i >= 0 && at + i < n ? (u32)(u8)s[(size_t)(at + i)] << 8 * i : 0xeeu << 8 * i;
        for (u32 k = 0; k < 4 && at >= p->front && at <= n - (i64)p->back; k++)
            if ((word & p->compared[k]) == p->word[k])
                return true;
    }
    return false;
}

static void test_like_sought()
{
    u32 found = 0, whole = 0, without = 0, n = 0;
    for (int i = 0; i < 30000; i++) {
        const std::string s = draw_text(draw() % 60, texts_letters[draw() % 4]);
        const std::string pattern = draw_pattern(s, 1 + draw() % 20, 1 + draw() % 20);
        const hdd_like_pattern *p = static_cast<const hdd_like_pattern *>(
            device_like_pattern(pattern.data(), pattern.size(), 0));
        for (u32 skip = 0; p->sought && skip < 4; skip++) {
            const bool has = has_sought(p, s, skip);
            EXPECT(has || !like(pattern, s, 0), "\"%s\" like \"%s\", %u", s.c_str(), pattern.c_str(), skip);
            without += !has;
            n++;
        }
        found += p->sought > 0;
        whole += p->sought == 4;
    }
    EXPECT(whole > 5000 && found > whole + 5000 && without > n / 40, "%u, %u, %u of %u", whole, found, without, n);
    const hdd_like_pattern *p = static_cast<const hdd_like_pattern *>(device_like_pattern("%abc%defghijk%ab", 16, 0));
    EXPECT(p->sought == 4 && p->front == 3 && p->back == 7 && p->word[1] == 0x6a696867, "%d, %u", p->front, p->back);
    EXPECT(static_cast<const hdd_like_pattern *>(device_like_pattern("%a_c%", 5, 0))->sought == 0, "few bytes");
    EXPECT(static_cast<const hdd_like_pattern *>(device_like_pattern("%green%", 7, 0))->sought == 3, "some");
}

static void test_cut()
{
    const hdd_string t = {reinterpret_cast<const u8 *>("heddle"), 6};
    const i64 big = (i64)1 << 62;
    EXPECT(hdd_cut(t, 2, 3).s == t.s + 1 && hdd_cut(t, 2, 3).n == 3, "middle");
    EXPECT(hdd_cut(t, -1, 3).n == 1 && hdd_cut(t, -1, 3).s == t.s, "before the start");
    EXPECT(hdd_cut(t, 5, big).n == 2 && hdd_cut(t, 9, 2).n == 0, "beyond the end");
    EXPECT(hdd_cut(t, -big, big).n == 0 && hdd_cut(t, big, big).n == 0, "far away");
}

// ---- values --------------------------------------------------------------------------------

static void test_logic()
{
    typedef hdd_opt<bool> B;
    const B values[] = {B(true), B(false), hdd_null<bool>()};
    for (const B a : values)
        for (const B b : values) {
            const B both = hdd_and(a, b), either = hdd_or(a, b);
            EXPECT(hdd_true(both) == (hdd_true(a) && hdd_true(b)), "and is true");
            EXPECT(hdd_false(both) == (hdd_false(a) || hdd_false(b)), "and is false");
            EXPECT(hdd_true(either) == (hdd_true(a) || hdd_true(b)), "or is true");
            EXPECT(hdd_false(either) == (hdd_false(a) && hdd_false(b)), "or is false");
            EXPECT(hdd_true(hdd_and_then(a, [&] { return b; })) == hdd_true(both), "and then");
            EXPECT(hdd_true(hdd_or_else(a, [&] { return b; })) == hdd_true(either), "or else");
        }
    EXPECT(!hdd_in(hdd_opt<i32>(3), 1, hdd_null<i32>()).ok, "3 in (1, NULL)");
    EXPECT(hdd_true(hdd_in(3, hdd_null<i32>(), 3)), "3 in (NULL, 3)");
}

static void test_order()
{
    const f64 zero = 0, nan = zero / zero;
    EXPECT(hdd_eq(nan, nan) && hdd_gt(nan, 1e300) && !hdd_lt(nan, 1.0) && hdd_le(nan, nan),
           "NaN");
    EXPECT(hdd_eq(0.0, -0.0) && !hdd_lt(-0.0, 0.0), "zeros");
    EXPECT(hdd_hash(0.0) == hdd_hash(-0.0) && hdd_hash(nan) == hdd_hash(-nan), "equal bits");
    EXPECT(hdd_hash(hdd_null<i32>()) != hdd_hash(0), "NULL has a hash of its own");
}

void device_tests(void *)
{
    if (hdd_lane() != 0)
        return;
    test_wraps<i32>();
    test_wraps<i64>();
    test_wraps<i128>();
    test_quotient();
    test_failures();
    test_casts();
    test_dates();
    test_like();
    test_like_words();
    test_like_long();
    test_like_sought();
    test_like_hostile();
    test_like_aborted();
    test_cut();
    test_logic();
    test_order();
}
