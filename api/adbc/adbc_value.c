#include "api/adbc/adbc_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* One value: its array, and its place counted from the buffers' begin. */
struct place {
    const struct ArrowSchema *type;
    const struct ArrowArray *values;
    int64_t at;
};

static bool is_there(const struct place *p)
{
    const uint8_t *bits = p->values->n_buffers > 0 ? p->values->buffers[0] : NULL;
    return !bits || (bits[p->at >> 3] >> (p->at & 7) & 1);
}

/* Signed or unsigned, of n bytes. */
static i128 integer(const struct place *p, int n, bool is_signed)
{
    u128 v = 0;
    memcpy(&v, (const char *)p->values->buffers[1] + p->at * n, (size_t)n);
    int unused = 128 - n * 8;
    return is_signed ? (i128)(v << unused) >> unused : (i128)v;
}

static void add_text(struct adbc_bytes *out, const char *s)
{
    adbc_bytes_add(out, s, strlen(s));
}

/* v / 10^scale; scale may be negative. */
static void add_decimal(struct adbc_bytes *out, i128 v, int scale)
{
    char digits[96], text[100];
    int n = 0;
    u128 rest = v < 0 ? -(u128)v : (u128)v;
    for (int i = scale; i < 0; i++)
        digits[n++] = '0';
    for (; rest || n <= (scale > 0 ? scale : 0); rest /= 10)
        digits[n++] = (char)('0' + (int)(rest % 10));
    int k = 0;
    if (v < 0)
        text[k++] = '-';
    while (n > 0) {
        text[k++] = digits[--n];
        if (n == scale && n > 0)
            text[k++] = '.';
    }
    text[k] = 0;
    add_text(out, text);
}

static void add_real(struct adbc_bytes *out, double v, int digits)
{
    char text[48];
    if (isnan(v))
        snprintf(text, sizeof text, "nan");
    else if (isinf(v))
        snprintf(text, sizeof text, v < 0 ? "-inf" : "inf");
    else
        snprintf(text, sizeof text, "%.*g", digits, v);
    add_text(out, text);
}

/* Seconds since 1970, floored, and the fraction in units of which a second has so many. */
static void add_moment(struct adbc_bytes *out, int64_t seconds, int64_t fraction, int64_t per_second, const char *form)
{
    char text[64];
    struct tm tm;
    time_t t = (time_t)seconds;
    if (!gmtime_r(&t, &tm) || strftime(text, sizeof text, form, &tm) == 0)
        return add_text(out, "beyond the calendar"); /* no literal, which binding says */
    /* strftime writes years below 1000 with fewer digits. */
    size_t year = *form == '%' && form[1] == 'Y' ? strcspn(text, "-") : 4;
    for (; year < 4; year++)
        add_text(out, "0");
    add_text(out, text);
    if (fraction == 0)
        return;
    int digits = per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;
    while (fraction % 10 == 0 && digits > 1) {
        fraction /= 10;
        digits--;
    }
    snprintf(text, sizeof text, ".%0*" PRId64, digits, fraction);
    add_text(out, text);
}

static int64_t units_per_second(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
}

static void add_units(struct adbc_bytes *out, int64_t v, int64_t per_second, const char *form)
{
    int64_t seconds = v / per_second - (v % per_second < 0);
    add_moment(out, seconds, v - seconds * per_second, per_second, form);
}

/* td?, ts?:zone (an instant, as UTC), tt? */
static bool add_time(struct adbc_bytes *out, const struct place *p)
{
    const char *f = p->type->format;
    char unit = f[2];
    if (!unit || !strchr(f[1] == 'd' ? "Dm" : "smun", unit))
        return false;
    if (f[1] == 'd') {
        int64_t day = unit == 'D' ? (int64_t)integer(p, 4, true) : (int64_t)integer(p, 8, true) / 86400000;
        add_moment(out, day * 86400, 0, 1, "%Y-%m-%d");
    } else if (f[1] == 's')
        add_units(out, (int64_t)integer(p, 8, true), units_per_second(unit), "%Y-%m-%d %H:%M:%S");
    else if (f[1] == 't')
        add_units(out, (int64_t)integer(p, unit == 's' || unit == 'm' ? 4 : 8, true), units_per_second(unit),
                  "%H:%M:%S");
    else
        return false;
    return true;
}

/* String views: up to 12 bytes lie in the view, others in a buffer that it names. */
static bool add_view(struct adbc_bytes *out, const struct place *p)
{
    int32_t word[4];
    memcpy(word, (const char *)p->values->buffers[1] + p->at * 16, sizeof word);
    size_t n = (size_t)word[0];
    if (word[0] < 0 || (n > 12 && (word[2] < 0 || word[2] >= p->values->n_buffers - 3 || word[3] < 0)))
        return false;
    const char *from = n <= 12 ? (const char *)(word + 1) : (const char *)p->values->buffers[2 + word[2]] + word[3];
    adbc_bytes_add(out, from, n);
    return true;
}

static bool add_string(struct adbc_bytes *out, const struct place *p, bool large)
{
    const void *offsets = p->values->buffers[1];
    int64_t begin = large ? ((const int64_t *)offsets)[p->at] : ((const int32_t *)offsets)[p->at];
    int64_t end = large ? ((const int64_t *)offsets)[p->at + 1] : ((const int32_t *)offsets)[p->at + 1];
    if (begin < 0 || end < begin)
        return false;
    if (end > begin)
        adbc_bytes_add(out, (const char *)p->values->buffers[2] + begin, (size_t)(end - begin));
    return true;
}

/* d:precision,scale or d:precision,scale,bits; those of 256 bits where the value has no more than 128. */
static bool add_decimal_column(struct adbc_bytes *out, const struct place *p)
{
    int precision, scale, bits = 128;
    if (sscanf(p->type->format, "d:%d,%d,%d", &precision, &scale, &bits) < 2 || scale > 38 || scale < -38)
        return false;
    if (bits == 256) {
        i128 v[2];
        memcpy(v, (const char *)p->values->buffers[1] + p->at * 32, sizeof v);
        if (v[1] != v[0] >> 127)
            return false;
        add_decimal(out, v[0], scale);
        return true;
    }
    if (bits != 32 && bits != 64 && bits != 128)
        return false;
    add_decimal(out, integer(p, bits / 8, true), scale);
    return true;
}

/* Formats of one letter. */
static bool add_plain(struct adbc_bytes *out, const struct place *p)
{
    const void *data = p->values->n_buffers > 1 ? p->values->buffers[1] : NULL;
    float f;
    double d;
    switch (*p->type->format) {
    case 'b': add_text(out, ((const uint8_t *)data)[p->at >> 3] >> (p->at & 7) & 1 ? "true" : "false"); return true;
    case 'c':
    case 'C': add_decimal(out, integer(p, 1, *p->type->format == 'c'), 0); return true;
    case 's':
    case 'S': add_decimal(out, integer(p, 2, *p->type->format == 's'), 0); return true;
    case 'i':
    case 'I': add_decimal(out, integer(p, 4, *p->type->format == 'i'), 0); return true;
    case 'l':
    case 'L': add_decimal(out, integer(p, 8, *p->type->format == 'l'), 0); return true;
    case 'f': memcpy(&f, (const float *)data + p->at, sizeof f); return add_real(out, f, 9), true;
    case 'g': memcpy(&d, (const double *)data + p->at, sizeof d); return add_real(out, d, 17), true;
    case 'u':
    case 'U': return add_string(out, p, *p->type->format == 'U');
    default: return false;
    }
}

static bool add_value(struct adbc_bytes *out, const struct place *p)
{
    const char *f = p->type->format;
    if (!f[0] || !f[1])
        return add_plain(out, p);
    if (*f == 'd')
        return add_decimal_column(out, p);
    if (strcmp(f, "vu") == 0)
        return add_view(out, p);
    return *f == 't' && add_time(out, p);
}

/* Of a dictionary, the place of the entry that the index names; false: no such entry, or no integer. */
static bool enter_dictionary(struct place *p)
{
    static const char letters[] = "cCsSiIlL";
    const char *f = p->type->format, *letter = f[0] && !f[1] ? strchr(letters, *f) : NULL;
    if (!letter || !p->values->dictionary)
        return false;
    i128 index = integer(p, 1 << (letter - letters) / 2, (letter - letters) % 2 == 0);
    const struct ArrowArray *entries = p->values->dictionary;
    if (index < 0 || index >= entries->length)
        return false;
    *p = (struct place){p->type->dictionary, entries, (int64_t)index + entries->offset};
    return true;
}

bool adbc_values_fit(const struct ArrowSchema *type, const struct ArrowArray *values, int64_t rows)
{
    if (!type || !type->format || !values || !values->release || values->offset < 0 || values->length < rows)
        return false;
    bool none = strcmp(type->format, "n") == 0, text = strcmp(type->format, "u") == 0 || strcmp(type->format, "U") == 0;
    if (none || *type->format == '+' || rows == 0) /* nothing is read of them */
        return true;
    if (values->n_buffers < (text ? 3 : 2) || !values->buffers || !values->buffers[1])
        return false;
    return !type->dictionary ||
           adbc_values_fit(type->dictionary, values->dictionary, values->dictionary ? values->dictionary->length : 0);
}

AdbcStatusCode adbc_value_text(const struct ArrowSchema *type, const struct ArrowArray *values, int64_t row,
                               struct adbc_bytes *out, bool *there, struct AdbcError *e)
{
    struct place p = {type, values, row + values->offset};
    out->n = 0;
    adbc_bytes_add(out, "", 0);
    *there = strcmp(type->format, "n") != 0 && is_there(&p);
    bool ok = true;
    if (*there && p.type->dictionary) {
        ok = enter_dictionary(&p);
        *there = ok && is_there(&p);
    }
    if (*there)
        ok = add_value(out, &p);
    if (!ok)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "07006", "a value of Arrow's format \"%s\" cannot be bound",
                         type->format);
    if (out->failed)
        return ADBC_NO_MEMORY(e);
    if (*there && strlen(out->p) != out->n)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "22021", "text with a NUL byte cannot be bound");
    return ADBC_STATUS_OK;
}
