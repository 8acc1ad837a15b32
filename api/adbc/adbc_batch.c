#include "api/adbc/adbc_batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_internal.h"

/* ---- making and writing -------------------------------------------------------------------- */

void adbc_batch_free(struct adbc_column *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->nchildren; i++)
        adbc_batch_free(c->children[i]);
    free(c->children);
    free(c->valid.p);
    free(c->offsets.p);
    free(c->data.p);
    free(c);
}

static void *add(struct adbc_column *c, struct adbc_buffer *b, const void *p, size_t n)
{
    if (b->n + n > b->room) {
        size_t room = b->room ? b->room * 2 : 256;
        while (room < b->n + n)
            room *= 2;
        char *more = realloc(b->p, room);
        if (!more) {
            c->failed = true;
            return NULL;
        }
        b->p = more;
        b->room = room;
    }
    char *at = b->p + b->n;
    if (p)
        memcpy(at, p, n);
    else
        memset(at, 0, n);
    b->n += n;
    return at;
}

static bool is_union(const struct adbc_column *c)
{
    return strncmp(c->format, "+ud", 3) == 0;
}
static bool is_list(const struct adbc_column *c)
{
    return strcmp(c->format, "+l") == 0 || strcmp(c->format, "+m") == 0;
}
static bool has_offsets(const struct adbc_column *c)
{
    return is_list(c) || *c->format == 'u' || *c->format == 'z';
}

static struct adbc_column *read_columns(const char **at, const char *format, const char *name, size_t n);

/* `!name:format(children)`. */
static struct adbc_column *read_column(const char **at)
{
    char format[16];
    bool required = **at == '!';
    const char *name = *at + required;
    size_t n = strcspn(name, ":");
    const char *f = name + n + 1;
    size_t nf = strcspn(f, " ()");
    snprintf(format, sizeof format, "%.*s", (int)nf, f);
    *at = f + nf;
    struct adbc_column *c = read_columns(at, format, name, n);
    if (c)
        c->required = required;
    return c;
}

static bool add_child(struct adbc_column *c, struct adbc_column *child)
{
    struct adbc_column **more = realloc(c->children, (size_t)(c->nchildren + 1) * sizeof *more);
    if (!child || !more) {
        c->children = more ? more : c->children;
        adbc_batch_free(child);
        return false;
    }
    c->children = more;
    more[c->nchildren++] = child;
    return true;
}

/* The children, if there are any, and the column that has them. */
static struct adbc_column *read_columns(const char **at, const char *format, const char *name, size_t n)
{
    struct adbc_column *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    snprintf(c->name, sizeof c->name, "%.*s", (int)n, name);
    snprintf(c->format, sizeof c->format, "%s", format);
    bool ok = true;
    if (**at == '(') {
        for ((*at)++; ok && **at != ')'; *at += strspn(*at, " "))
            ok = add_child(c, read_column(at));
        *at += ok;
    }
    if (is_union(c))
        for (int i = 0; i < c->nchildren; i++)
            snprintf(c->format + strlen(c->format), sizeof c->format - strlen(c->format), "%c%d", i ? ',' : ':', i);
    if (has_offsets(c))
        ok = ok && add(c, &c->offsets, NULL, sizeof(int32_t));
    if (ok)
        return c;
    adbc_batch_free(c);
    return NULL;
}

struct adbc_column *adbc_batch_new(const char *columns)
{
    char text[2048];
    const char *at = text;
    snprintf(text, sizeof text, "(%s)", columns);
    return read_columns(&at, "+s", "", 0);
}

struct adbc_column *adbc_child(struct adbc_column *c, int i)
{
    return c->children[i];
}

static void count(struct adbc_column *c, bool there)
{
    char valid = there;
    add(c, &c->valid, &valid, 1);
    c->length++;
    c->nulls += !there;
}

static void add_offset(struct adbc_column *c, int64_t end)
{
    int32_t offset = (int32_t)end;
    if (end > INT32_MAX)
        c->failed = true;
    add(c, &c->offsets, &offset, sizeof offset);
}

void adbc_put_text(struct adbc_column *c, const char *s)
{
    if (s)
        add(c, &c->data, s, strlen(s));
    add_offset(c, (int64_t)c->data.n);
    count(c, s != NULL);
}

/* Bytes of a value; a bool is a byte until the end. */
static size_t width(const struct adbc_column *c)
{
    switch (*c->format) {
    case 'b': return 1;
    case 's': return 2;
    case 'i':
    case 'I': return 4;
    case 'l':
    case 'L':
    case 'g': return 8;
    default: return 0;
    }
}

void adbc_put_int(struct adbc_column *c, int64_t v)
{
    add(c, &c->data, &v, width(c)); /* little-endian */
    count(c, true);
}

void adbc_put_double(struct adbc_column *c, double v)
{
    add(c, &c->data, &v, sizeof v);
    count(c, true);
}

void adbc_put_null(struct adbc_column *c)
{
    if (is_list(c))
        add_offset(c, c->children[0]->length);
    else if (has_offsets(c))
        add_offset(c, (int64_t)c->data.n);
    else
        add(c, &c->data, NULL, width(c));
    count(c, false);
    if (strcmp(c->format, "+s") == 0)
        for (int i = 0; i < c->nchildren; i++)
            adbc_put_null(c->children[i]);
}

void adbc_put_nested(struct adbc_column *c)
{
    if (is_list(c))
        add_offset(c, c->children[0]->length);
    count(c, true);
}

void adbc_put_member(struct adbc_column *c, int i)
{
    char type = (char)i;
    int32_t offset = (int32_t)(c->children[i]->length - 1);
    add(c, &c->data, &type, 1);
    add(c, &c->offsets, &offset, sizeof offset);
    c->length++;
}

/* ---- schema out ---------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i] && s->children[i]->release)
            s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    free(s->children);
    free((void *)(uintptr_t)s->format);
    free((void *)(uintptr_t)s->name);
    s->release = NULL;
}

static bool make_schema(const struct adbc_column *c, struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.format = strdup(c->format),
                                .name = strdup(c->name),
                                .flags = c->required ? 0 : ARROW_FLAG_NULLABLE,
                                .release = release_schema};
    bool ok = out->format && out->name;
    out->children = calloc((size_t)c->nchildren + 1, sizeof *out->children);
    for (int i = 0; ok && out->children && i < c->nchildren; i++) {
        struct ArrowSchema *child = calloc(1, sizeof *child);
        out->children[out->n_children++] = child;
        ok = child && make_schema(c->children[i], child);
    }
    return ok && out->children;
}

/* ---- array out ----------------------------------------------------------------------------- */

struct array {
    const void *buffers[3];
};

static void release_array(struct ArrowArray *a)
{
    struct array *own = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i] && a->children[i]->release)
            a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    for (int i = 0; own && i < 3; i++)
        free((void *)(uintptr_t)own->buffers[i]);
    free(a->children);
    free(own);
    a->release = NULL;
}

/* Bytes to bits, in place. */
static void *take_bits(struct adbc_buffer *b)
{
    size_t n = b->n;
    for (size_t i = 0; i < n; i++) {
        unsigned char bit = (unsigned char)(b->p[i] != 0), at = (unsigned char)(i % 8);
        b->p[i / 8] = (char)(at ? (unsigned char)b->p[i / 8] | bit << at : bit);
    }
    return b->p;
}

static void *take(struct adbc_buffer *b)
{
    void *p = b->p;
    *b = (struct adbc_buffer){0};
    return p;
}

/* Buffers move from the column to the array. Memory of one that has no row stays NULL, which Arrow allows. */
static void take_buffers(struct adbc_column *c, struct ArrowArray *out, struct array *own)
{
    int n = 0;
    if (!is_union(c)) {
        own->buffers[n++] = c->nulls ? take_bits(&c->valid) : NULL;
        if (c->nulls)
            take(&c->valid);
    } else
        own->buffers[n++] = take(&c->data);
    if (is_union(c) || has_offsets(c))
        own->buffers[n++] = take(&c->offsets);
    if (*c->format == 'b')
        take_bits(&c->data);
    if (*c->format != '+')
        own->buffers[n++] = take(&c->data);
    out->n_buffers = n;
}

static bool make_array(struct adbc_column *c, struct ArrowArray *out)
{
    struct array *own = calloc(1, sizeof *own);
    *out =
        (struct ArrowArray){.length = c->length, .null_count = c->nulls, .release = release_array, .private_data = own};
    out->children = calloc((size_t)c->nchildren + 1, sizeof *out->children);
    bool ok = own && out->children && !c->failed;
    if (ok) {
        out->buffers = own->buffers;
        take_buffers(c, out, own);
    }
    for (int i = 0; ok && i < c->nchildren; i++) {
        struct ArrowArray *child = calloc(1, sizeof *child);
        out->children[out->n_children++] = child;
        ok = child && make_array(c->children[i], child);
    }
    return ok;
}

/* ---- stream -------------------------------------------------------------------------------- */

struct stream {
    struct adbc_column *columns; /* for their schema */
    struct ArrowArray rows;      /* release NULL: given */
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct stream *s = stream->private_data;
    if (make_schema(s->columns, out))
        return 0;
    out->release(out);
    return ENOMEM;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;
    *out = s->rows;
    s->rows.release = NULL;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    if (s->rows.release)
        s->rows.release(&s->rows);
    adbc_batch_free(s->columns);
    free(s);
    stream->release = NULL;
}

AdbcStatusCode adbc_batch_finish(struct adbc_column *c, struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct stream *s = calloc(1, sizeof *s);
    if (s && make_array(c, &s->rows)) {
        s->columns = c;
        *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, s};
        return ADBC_STATUS_OK;
    }
    if (s && s->rows.release)
        s->rows.release(&s->rows);
    free(s);
    adbc_batch_free(c);
    return ADBC_NO_MEMORY(e);
}
