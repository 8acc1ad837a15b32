/* The result as text: RFC 4180 with LF; NULL is empty, the empty string is "". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/strbuf.h"
#include "runtime/base/interval.h"
#include "templates/forms.cuh"
#include "tests/simt/sim.h"

/* The text, for free(); the buffer is gone. */
static char *detach(struct hd_strbuf *b)
{
    char *s = hd_strbuf_detach(b);
    hd_strbuf_release(b);
    return s;
}

static void add_text(struct hd_strbuf *b, const char *s, size_t n)
{
    bool plain = n > 0;
    for (size_t i = 0; plain && i < n; i++)
        plain = s[i] != ',' && s[i] != '"' && s[i] != '\n' && s[i] != '\r';
    if (plain) {
        hd_strbuf_add(b, s, n);
        return;
    }
    hd_strbuf_addc(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            hd_strbuf_addc(b, '"');
        hd_strbuf_addc(b, s[i]);
    }
    hd_strbuf_addc(b, '"');
}

static hd_i128 integer_of(enum rt_phys p, const unsigned char *at)
{
    int32_t i;
    int64_t l;
    hd_i128 h;
    if (p == RT_BOOL)
        return *at;
    if (p == RT_I32) {
        memcpy(&i, at, sizeof i);
        return i;
    }
    if (p == RT_I64) {
        memcpy(&l, at, sizeof l);
        return l;
    }
    memcpy(&h, at, sizeof h);
    return h;
}

static void add_string(struct hd_strbuf *b, const struct rt_field *f, const unsigned char *at)
{
    if (f->dict_table) {
        const struct fe_dict *d = &f->dict_table->cols[f->dict_column].dict;
        size_t code = (size_t)integer_of(f->phys, at);
        add_text(b, d->bytes + d->offsets[code], d->offsets[code + 1] - d->offsets[code]);
        return;
    }
    uint64_t w[2];
    memcpy(w, at, sizeof w);
    add_text(b, (const char *)(uintptr_t)w[0], (size_t)w[1]);
}

/* \x and two digits for each byte; the string's quotes are left out. */
static void add_binary(struct hd_strbuf *b, const struct rt_field *f, const unsigned char *at)
{
    uint64_t w[2];
    const unsigned char *s;
    if (f->dict_table) {
        const struct fe_dict *d = &f->dict_table->cols[f->dict_column].dict;
        int64_t code = (int64_t)integer_of(f->phys, at);
        s = (const unsigned char *)d->bytes + d->offsets[code];
        w[1] = d->offsets[code + 1] - d->offsets[code];
    } else {
        memcpy(w, at, sizeof w);
        s = (const unsigned char *)(uintptr_t)w[0];
    }
    hd_strbuf_adds(b, "\\x");
    for (uint64_t i = 0; i < w[1]; i++)
        hd_strbuf_addf(b, "%02x", s[i]);
}

static void add_value(struct hd_strbuf *b, const struct rt_field *f, struct hd_type t, const unsigned char *at)
{
    char text[HD_TEXT_MAX], interval[HD_INTERVAL_TEXT_MAX];
    double d;
    float single;
    switch ((enum hd_type_kind)t.kind) {
    case HD_BOOL: hd_strbuf_adds(b, *at ? "true" : "false"); return;
    case HD_INT32:
    case HD_INT64: hd_strbuf_adds(b, hd_dec_text(integer_of(f->phys, at), 0, text)); return;
    case HD_DECIMAL: hd_strbuf_adds(b, hd_dec_text(integer_of(f->phys, at), t.scale, text)); return;
    case HD_DATE: hd_strbuf_adds(b, hd_date_text((int32_t)integer_of(f->phys, at), text)); return;
    case HD_INTERVAL: hd_strbuf_adds(b, hd_interval_text(integer_of(f->phys, at), interval)); return;
    case HD_TIME: hd_strbuf_adds(b, hd_time_text((int64_t)integer_of(f->phys, at), text)); return;
    case HD_TIMESTAMP: hd_strbuf_adds(b, hd_timestamp_text((int64_t)integer_of(f->phys, at), text)); return;
    case HD_FLOAT32:
        memcpy(&single, at, sizeof single);
        hd_strbuf_add(b, text, (size_t)hdd_put_f32((u8 *)text, single));
        return;
    case HD_FLOAT64:
        memcpy(&d, at, sizeof d);
        hd_strbuf_add(b, text, (size_t)hdd_put_f64((u8 *)text, d));
        return;
    case HD_STRING: add_string(b, f, at); return;
    case HD_BINARY: add_binary(b, f, at); return;
    case HD_TYPE_COUNT: break;
    }
    HD_BUG("type %d", t.kind);
}

static char *row_text(const struct rt_spec *s, const unsigned char *row)
{
    const struct rt_state *state = &s->states[s->result_state];
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 0; i < s->nresult; i++) {
        const struct rt_field *f = &state->fields[s->result[i].field];
        if (i)
            hd_strbuf_addc(&b, ',');
        if (f->valid_offset < 0 || row[f->valid_offset])
            add_value(&b, f, s->result[i].type, row + f->offset);
    }
    return detach(&b);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *sim_result_csv(const struct rt_spec *s, const unsigned char *rows, uint64_t nrows, bool in_order)
{
    uint64_t stride = (uint64_t)s->states[s->result_state].stride;
    char **lines = malloc(sizeof *lines * (size_t)(nrows + 1));
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 0; i < s->nresult; i++) {
        if (i)
            hd_strbuf_addc(&b, ',');
        add_text(&b, s->result[i].name, strlen(s->result[i].name));
    }
    hd_strbuf_addc(&b, '\n');
    for (uint64_t i = 0; i < nrows; i++)
        lines[i] = row_text(s, rows + i * stride);
    if (!in_order)
        qsort(lines, (size_t)nrows, sizeof *lines, by_text);
    for (uint64_t i = 0; i < nrows; i++) {
        hd_strbuf_addf(&b, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
    return detach(&b);
}
