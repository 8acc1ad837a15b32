/* Any text as a format of times, checked as typing does; what it accepts writes a time, as many bytes as it says, and reads
 * texts: that one and any. Then, with a zero byte behind, comes the text; in front are 8 bytes of a time. What both formats
 * have in full comes back. */
#include "fuzz_frontend.h"

#include "runtime/base/utf8.h"
#include "templates/strftime.cuh"
#include "templates/strptime.cuh"

static bool accepts(const char *fn, const char *format, size_t n)
{
    struct hd_arena a;
    struct hd_strbuf b;
    struct hd_err err;
    struct fe_plan *p = NULL;
    hd_arena_init(&a);
    hd_err_init(&err);
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "{\"heddle\":1,\"root\":{\"op\":\"project\",\"input\":{\"op\":\"scan\",\"table\":\"every\"},"
                       "\"exprs\":[{\"as\":\"x\",\"expr\":{\"op\":");
    hd_strbuf_addf(&b, "\"%s\",\"args\":[%s,{\"lit\":", fn,
                   strcmp(fn, "strftime") == 0 ? "{\"lit\":\"2000-01-01 00:00:00\",\"type\":\"timestamp\"}"
                                               : "{\"lit\":\"x\",\"type\":\"string\"}");
    hd_strbuf_add_json(&b, format, n);
    hd_strbuf_adds(&b, ",\"type\":\"string\"}]}}]}}");
    int rc = fe_plan_read(&a, b.s, fuzz_catalog(), &p, &err);
    fuzz_check_error(rc, &err, HD_ERR_USER);
    hd_err_release(&err);
    hd_strbuf_release(&b);
    hd_arena_release(&a);
    return rc == 0;
}

/* 0 where there is none to write; the caller frees it. */
static u8 *written(i64 micros, const u8 *format, i32 n, i64 *size)
{
    *size = hdd_strftime(NULL, micros, format, n);
    FUZZ_CHECK(*size >= 0 && *size <= 9 * (i64)n);
    u8 *to = malloc(*size ? (size_t)*size : 1);
    FUZZ_CHECK(to && hdd_strftime(to, micros, format, n) == *size);
    return to;
}

/* A time that was read is one of the years 1 to 9999. */
static void read_any(const u8 *s, i32 n, const u8 *format, i32 m, i64 first, i64 last)
{
    i64 v = first;
    bool is = hdd_read_time(s, n, format, m, &v);
    FUZZ_CHECK(!is || (v >= first && v <= last));
}

static void check(i64 micros, const u8 *format, i32 m, const u8 *text, i32 n)
{
    static const char whole[] = "%Y-%m-%d %H:%M:%S.%f";
    const i64 first = HDD_FIRST_DAY * HDD_MICROS_PER_DAY, last = (HDD_LAST_DAY + 1) * HDD_MICROS_PER_DAY - 1;
    i64 size, back = 0;
    u8 *s;
    micros = first + (i64)((u64)micros % (u64)(last - first + 1));
    if (accepts("strptime", (const char *)format, (size_t)m)) {
        read_any(text, n, format, m, first, last);
        s = written(micros, format, m, &size);
        read_any(s, (i32)size, format, m, first, last);
        free(s);
    }
    if (accepts("strftime", (const char *)format, (size_t)m))
        free(written(micros, format, m, &size));
    s = written(micros, (const u8 *)whole, sizeof whole - 1, &size);
    FUZZ_CHECK(hdd_read_time(s, (i32)size, (const u8 *)whole, sizeof whole - 1, &back) && back == micros);
    free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    i64 micros;
    if (size < sizeof micros || size > 1024)
        return 0;
    memcpy(&micros, data, sizeof micros);
    const char *format = (const char *)data + sizeof micros;
    size_t rest = size - sizeof micros;
    const char *zero = memchr(format, 0, rest);
    size_t m = zero ? (size_t)(zero - format) : rest, n = zero ? rest - m - 1 : 0;
    if (hd_utf8_check(format, m) != m)
        return 0;
    u8 *own = malloc(m + 1), *text = malloc(n + 1);
    FUZZ_CHECK(own && text);
    memcpy(own, format, m);
    if (n)
        memcpy(text, zero + 1, n);
    check(micros, own, (i32)m, text, (i32)n);
    free(own);
    free(text);
    return 0;
}
