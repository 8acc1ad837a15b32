/* Any text as a pattern, over any other. A byte says of what kind; then come, with a zero byte between them, the pattern,
 * the text, and what replaces a match. Regular expressions: what is refused says where; a match lies in the text, for
 * searching and for telling where alike, a group lies in its match; replacing makes as many bytes as it says that it
 * will. On ASCII like and ilike say what a plain matcher says. */
#include "fuzz_frontend.h"

#include "frontend/regexp.h"
#include "runtime/base/utf8.h"
#include "runtime/cpu/helpers.h"
#include "runtime/cpu/like.h"
#include "templates/regexp.cuh"

struct piece {
    const char *s;
    size_t n;
};

static struct piece next_piece(struct piece *rest)
{
    const char *zero = memchr(rest->s, 0, rest->n);
    struct piece p = {rest->s, zero ? (size_t)(zero - rest->s) : rest->n};
    rest->s += p.n + (zero != NULL);
    rest->n -= p.n + (zero != NULL);
    return p;
}

/* Of its own bytes alone, so that a step beyond is seen; an empty one has a place, too. */
static u8 *own_copy(struct piece p)
{
    u8 *s = malloc(p.n ? p.n : 1);
    FUZZ_CHECK(s);
    if (p.n)
        memcpy(s, p.s, p.n);
    return s;
}

/* ---- regular expressions ----------------------------------------------------------------------------------------- */

static const unsigned char *compiled(struct hd_arena *a, struct piece p, const struct fe_regexp_use *use, size_t *size)
{
    struct fe_regexp_error e = {0};
    const unsigned char *program = fe_regexp_compile(a, p.s, p.n, use, size, &e);
    FUZZ_CHECK(program || (e.message && e.message[0] && e.at <= p.n));
    return program;
}

/* A piece of the text; of UTF-8 it begins with a character. */
static void check_span(i64 span, const u8 *s, i32 n, bool valid)
{
    i32 from = hdd_span_begin(span), size = hdd_span_length(span);
    FUZZ_CHECK(from >= 0 && size >= 0 && from + size <= n);
    FUZZ_CHECK(!valid || from == n || hdd_begins_character(s[from]));
}

static void check_replace(struct hd_arena *a, struct piece p, const u8 *s, i32 n, struct piece by, bool found)
{
    size_t size;
    const struct fe_regexp_use use = fe_regexp_replacing(by.s, by.n);
    const unsigned char *program = compiled(a, p, &use, &size);
    u8 *t = own_copy(by);
    for (int all = 0; program && all < 2; all++) {
        i64 want = hdd_rx_replaced(NULL, s, n, program, (i32)size, t, (i32)by.n, all);
        FUZZ_CHECK(want >= 0 && (found || want == n));
        if (want > (1 << 24))
            continue;
        u8 *to = malloc(want ? (size_t)want : 1);
        FUZZ_CHECK(to && hdd_rx_replaced(to, s, n, program, (i32)size, t, (i32)by.n, all) == want);
        FUZZ_CHECK(found || n == 0 || memcmp(to, s, (size_t)n) == 0);
        free(to);
    }
    free(t);
}

static void check_regexp(struct hd_arena *a, struct piece p, const u8 *s, i32 n, struct piece by, bool valid)
{
    const struct fe_regexp_use like = {0}, whole = fe_regexp_extracting(0);
    size_t size;
    int groups = 0;
    struct fe_regexp_error e;
    const unsigned char *program = compiled(a, p, &like, &size);
    if (!program)
        return;
    bool found = hdd_regexp_like(s, n, program, (i32)size) != 0;
    program = compiled(a, p, &whole, &size);
    if (program) {
        FUZZ_CHECK(found == (hdd_rx_end(s, n, 0, program) >= 0));
        check_span(hdd_regexp_extract(s, n, program, (i32)size, 0), s, n, valid);
    }
    FUZZ_CHECK(fe_regexp_read(a, p.s, p.n, &groups, &e));
    for (int g = 1; g <= HD_MIN(groups, 3); g++) {
        const struct fe_regexp_use use = fe_regexp_extracting(g);
        program = compiled(a, p, &use, &size);
        if (program)
            check_span(hdd_regexp_extract(s, n, program, (i32)size, g), s, n, valid);
    }
    check_replace(a, p, s, n, by, found);
}

/* ---- like -------------------------------------------------------------------------------------------------------- */

/* What stands at a place of the pattern, and how many bytes of it say so. */
static int pattern_at(struct piece p, size_t i, char escape, char *byte, size_t *used)
{
    *used = 1;
    *byte = p.s[i];
    if (escape && p.s[i] == escape && i + 1 < p.n) {
        *used = 2;
        *byte = p.s[i + 1];
        return 'c';
    }
    return p.s[i] == '%' || p.s[i] == '_' ? p.s[i] : 'c';
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* By a table of what pattern's prefix matches what prefix of the text, a row at a time. */
static bool matches(struct piece p, struct piece s, char escape, bool fold)
{
    bool *now = calloc(s.n + 1, 1), *next = calloc(s.n + 1, 1);
    FUZZ_CHECK(now && next);
    now[0] = true;
    for (size_t i = 0, used; i < p.n; i += used) {
        char c;
        int what = pattern_at(p, i, escape, &c, &used);
        memset(next, 0, s.n + 1);
        for (size_t k = 0; k <= s.n; k++)
            if (what == '%')
                next[k] = now[k] || (k > 0 && next[k - 1]);
            else
                next[k] =
                    k > 0 && now[k - 1] && (what == '_' || (fold ? lower(s.s[k - 1]) == lower(c) : s.s[k - 1] == c));
        bool *turned = now;
        now = next;
        next = turned;
    }
    bool found = now[s.n];
    free(now);
    free(next);
    return found;
}

static void check_like(struct hd_arena *a, struct piece p, const u8 *s, i32 n, char escape)
{
    struct piece text = {(const char *)s, (size_t)n};
    struct fe_regexp_error e = {0};
    size_t size;
    bool ascii = hd_is_ascii(p.s, p.n) && hd_is_ascii(text.s, text.n);
    if (escape && p.n && p.s[p.n - 1] == escape)
        return; /* typing refuses it */
    struct hdr_like *like = hdr_like_new(a, p.s, p.n, escape, NULL);
    bool is = hdr_like(like, (void *)(uintptr_t)s, n) != 0;
    FUZZ_CHECK(!ascii || is == matches(p, text, escape, false));
    const unsigned char *program = fe_ilike_compile(a, p.s, p.n, escape, &size, &e);
    FUZZ_CHECK(program || (e.message && e.message[0]));
    if (program && ascii)
        FUZZ_CHECK((hdd_regexp_like(s, n, program, (i32)size) != 0) == matches(p, text, escape, true));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    if (size < 1 || size > 4096)
        return 0;
    struct piece rest = {(const char *)data + 1, size - 1};
    struct piece p = next_piece(&rest), text = next_piece(&rest), by = next_piece(&rest);
    if (hd_utf8_check(p.s, p.n) != p.n || hd_utf8_check(by.s, by.n) != by.n)
        return 0; /* plans are UTF-8 */
    u8 *s = own_copy(text);
    hd_arena_init(&a);
    if (data[0] & 1)
        check_like(&a, p, s, (i32)text.n, data[0] & 2 ? '\\' : 0);
    else
        check_regexp(&a, p, s, (i32)text.n, by, hd_utf8_check(text.s, text.n) == text.n);
    hd_arena_release(&a);
    free(s);
    return 0;
}
