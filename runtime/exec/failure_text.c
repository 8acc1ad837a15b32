#include "runtime/exec/failure_text.h"

#include "templates/forms.cuh"

static const char *const plain_texts[] = {"nothing",
#define X(id, text) text,
                                          RT_FAILURES(X)
#undef X
};

static const char *const forms[] = {
#define X(id, text) text,
    RT_SITES(X)
#undef X
};

/* Bytes of the character that n bytes at s begin with; 0: it is no UTF-8, or a control character. */
static size_t character(const unsigned char *s, size_t n)
{
    size_t max = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (s[0] < 0x20 || s[0] == 0x7f || max > n || (s[0] == 0xc2 && s[1] < 0xa0))
        return 0;
    for (size_t i = 1; i < max; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return max;
}

/* The first bytes, in quotes; what is no printable character by number, so that a message is one line. */
static void put_text(struct hd_strbuf *out, const unsigned char *s, size_t n)
{
    enum { MAX = 40 };
    size_t shown = n < MAX ? n : MAX;
    hd_strbuf_addc(out, '\'');
    for (size_t i = 0, k; i < shown; i += k ? k : 1) {
        k = character(s + i, shown - i);
        if (k)
            hd_strbuf_add(out, (const char *)s + i, k);
        else
            hd_strbuf_addf(out, "\\x%02x", s[i]);
    }
    hd_strbuf_adds(out, n > MAX ? "...'" : "'");
}

static void put_value(struct hd_strbuf *out, struct hd_type t, const uint64_t v[2])
{
    char text[HD_TEXT_MAX];
    hd_i128 i = (hd_i128)((hd_u128)v[1] << 64 | v[0]);
    if (hd_type_is_text(t))
        put_text(out, (const unsigned char *)(uintptr_t)v[0], v[1]);
    else if (t.kind == HD_FLOAT32)
        hd_strbuf_add(out, text, (size_t)hdd_put_f32((u8 *)text, (f32)hdd_f64_from_bits((i64)v[0])));
    else if (t.kind == HD_FLOAT64)
        hd_strbuf_add(out, text, (size_t)hdd_put_f64((u8 *)text, hdd_f64_from_bits((i64)v[0])));
    else
        hd_strbuf_adds(out, hd_dec_text(i, t.kind == HD_DECIMAL ? t.scale : 0, text));
}

static bool has_values(const struct rt_site *s)
{
    return strchr(forms[s->form], '%') != NULL;
}

static void put_form(struct hd_strbuf *out, const struct rt_site *s, const struct rt_failed *v)
{
    for (const char *p = forms[s->form]; *p; p++)
        if (*p != '%')
            hd_strbuf_addc(out, *p);
        else if (*++p == 'f')
            hd_strbuf_adds(out, s->function);
        else if (*p == 'a')
            put_value(out, s->from[0], v->a);
        else
            put_value(out, s->from[1], v->b);
}

static void put_undefined(struct hd_strbuf *out, const struct rt_site *s, const struct rt_failed *v)
{
    if (v->known)
        put_form(out, s, v);
    else
        hd_strbuf_adds(out, s->function);
    const char *unknown =
        s->form == RT_SITE_PLAIN ? " is not defined for its arguments" : " is not defined for its argument";
    hd_strbuf_adds(out, v->known ? " is not defined" : unknown);
}

/* A device does not tell the values of arithmetic. */
void rt_failure_text(struct hd_strbuf *out, enum rt_failure f, const struct rt_site *site, const struct rt_failed *v)
{
    char type[HD_TEXT_MAX];
    if (site && site->function && f == RT_FAIL_DOMAIN) {
        put_undefined(out, site, v);
        return;
    }
    bool typed = f == RT_FAIL_OVERFLOW || f == RT_FAIL_CAST_RANGE || f == RT_FAIL_CAST_STRING;
    if (!site || site->form == RT_SITE_PLAIN || !typed) {
        hd_strbuf_adds(out, plain_texts[f]);
        return;
    }
    bool known = v->known || !has_values(site), text = f == RT_FAIL_CAST_STRING;
    if (f == RT_FAIL_OVERFLOW)
        hd_strbuf_adds(out, known ? "numeric overflow: " : "numeric overflow: the result");
    else if (!text)
        hd_strbuf_adds(out, known ? "value " : "value");
    else if (!known)
        hd_strbuf_adds(out, "text");
    if (known)
        put_form(out, site, v);
    hd_strbuf_addf(out, text ? " is not a value of type %s" : " does not fit %s", hd_type_text(site->to, type));
}
