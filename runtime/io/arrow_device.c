/* Arrays of a device that the host looks at: dictionaries of strings, and rows that errors are about. */
#include "runtime/io/arrow_device.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

/* ---- an array of the host ------------------------------------------------------------------------ */

enum { FEW = 4 };

struct fetched {
    struct ArrowArray dictionary;
    int nbuffers;
    void **memory;        /* each is freed */
    const void **buffers; /* the same, as the array has them */
};

static void release_fetched(struct ArrowArray *a)
{
    struct fetched *f = a->private_data;
    if (f->dictionary.release)
        f->dictionary.release(&f->dictionary);
    for (int i = 0; i < f->nbuffers; i++)
        free(f->memory[i]);
    free(f->memory);
    free(f);
    a->release = NULL;
}

struct copy {
    const struct rt_device_memory *m;
    const struct ArrowSchema *s;
    const struct ArrowArray *from;
    enum rt_arrow_format format;
    int64_t begin, end,
        offset; /* of the buffers: elements, from whole bytes of bits on; of begin: where the rows are */
    struct fetched *f;
};

static int no_memory(struct hd_err *err)
{
    return HD_FAIL(err, RESOURCE, NULL, "out of memory for an Arrow column");
}

/* Buffer `to` of what is made. */
static int copy_bytes(const struct copy *c, int to, const void *from, size_t n, struct hd_err *err)
{
    void *p = hd_try_calloc(1, n + 16);
    if (!p)
        return no_memory(err);
    c->f->memory[to] = p;
    c->f->buffers[to] = p;
    return n ? c->m->read(c->m->self, p, from, n, err) : 0;
}

static int copy_elements(const struct copy *c, int64_t width, int64_t more, struct hd_err *err)
{
    return copy_bytes(c, 1, (const char *)c->from->buffers[1] + c->begin * width,
                      (size_t)((c->end - c->begin + more) * width), err);
}

static int64_t offset_at(const struct copy *c, int64_t i)
{
    return rt_arrow_offset(c->format, c->f->memory[1], i);
}

static void move_offsets(const struct copy *c, int64_t by)
{
    for (int64_t i = 0; i <= c->end - c->begin; i++) {
        char *p = c->f->memory[1];
        int64_t v = offset_at(c, i) - by;
        int32_t narrow = (int32_t)v;
        if (c->format == RT_ARROW_UTF8)
            memcpy(p + i * 4, &narrow, sizeof narrow);
        else
            memcpy(p + i * 8, &v, sizeof v);
    }
}

/* Offsets that are not such stay, without the bytes, for the host to say so. */
static int copy_strings(const struct copy *c, struct hd_err *err)
{
    HD_TRY(copy_elements(c, c->format == RT_ARROW_UTF8 ? 4 : 8, 1, err));
    int64_t first = offset_at(c, c->offset), last = offset_at(c, c->end - c->begin);
    if (first < 0 || last < first || last - first > UINT32_MAX || !c->from->buffers[2])
        return 0;
    HD_TRY(copy_bytes(c, 2, (const char *)c->from->buffers[2] + first, (size_t)(last - first), err));
    move_offsets(c, first);
    return 0;
}

static bool is_named(const struct copy *c, int32_t buffer)
{
    for (int64_t i = c->offset; i < c->end - c->begin; i++)
        if (rt_arrow_i32(c->f->memory[1], 4 * i) > 12 && rt_arrow_i32(c->f->memory[1], 4 * i + 2) == buffer)
            return true;
    return false;
}

/* Of the buffers those that views name; all have their sizes. */
static int copy_views(const struct copy *c, struct hd_err *err)
{
    int n = (int)c->from->n_buffers - 3;
    HD_TRY(copy_elements(c, 16, 0, err));
    HD_TRY(copy_bytes(c, n + 2, c->from->buffers[n + 2], (size_t)n * 8, err));
    for (int32_t k = 0; k < n; k++) {
        int64_t size = rt_arrow_i64(c->f->memory[n + 2], k);
        if (is_named(c, k))
            HD_TRY(copy_bytes(c, k + 2, c->from->buffers[k + 2], (size_t)HD_MAX(size, 0), err));
    }
    return 0;
}

static int copy_values(const struct copy *c, struct hd_err *err)
{
    switch (rt_arrow_layout(c->format)) {
    case RT_ARROW_LAYOUT_INT:
        if (c->format == RT_ARROW_BOOL)
            return copy_bytes(c, 1, (const char *)c->from->buffers[1] + c->begin / 8,
                              (size_t)(c->end - c->begin + 7) / 8, err);
        return copy_elements(c, rt_arrow_width(c->format), 0, err);
    case RT_ARROW_LAYOUT_FLOAT:
    case RT_ARROW_LAYOUT_DECIMAL:
    case RT_ARROW_LAYOUT_UNIT:
    case RT_ARROW_LAYOUT_INTERVAL: return copy_elements(c, rt_arrow_width(c->format), 0, err);
    case RT_ARROW_LAYOUT_STRING: return copy_strings(c, err);
    case RT_ARROW_LAYOUT_VIEW: return copy_views(c, err);
    case RT_ARROW_LAYOUT_FIXED: return copy_elements(c, rt_arrow_fixed_bytes(c->s->format), 0, err);
    case RT_ARROW_LAYOUT_NOTHING: return 0;
    }
    HD_BUG("layout %d", (int)rt_arrow_layout(c->format));
}

static int copy_array(const struct copy *c, struct hd_err *err)
{
    if (c->from->n_buffers && c->from->buffers[0])
        HD_TRY(copy_bytes(c, 0, (const char *)c->from->buffers[0] + c->begin / 8, (size_t)(c->end - c->begin + 7) / 8,
                          err));
    if (c->end > c->begin)
        HD_TRY(copy_values(c, err));
    if (!c->s->dictionary)
        return 0;
    const struct ArrowArray *d = c->from->dictionary;
    return rt_device_fetch(c->m, c->s->dictionary, d, 0, d->length, &c->f->dictionary, err);
}

/* For n buffers; NULL: no memory. */
static struct fetched *new_fetched(int n)
{
    struct fetched *f = hd_try_calloc(1, sizeof *f);
    void **memory = hd_try_calloc(2 * (size_t)n + FEW, sizeof *memory);
    if (!f || !memory) {
        free(f);
        free(memory);
        return NULL;
    }
    f->nbuffers = n;
    f->memory = memory;
    f->buffers = (const void **)(memory + n);
    return f;
}

int rt_device_fetch(const struct rt_device_memory *m, const struct ArrowSchema *s, const struct ArrowArray *a,
                    int64_t first, int64_t n, struct ArrowArray *out, struct hd_err *err)
{
    struct hd_type type;
    struct copy c = {.m = m, .s = s, .from = a, .f = new_fetched((int)a->n_buffers)};
    if (!c.f)
        return no_memory(err);
    rt_arrow_format_parse(s->format, &c.format, &type);
    c.begin = (a->offset + first) & ~INT64_C(7);
    c.offset = a->offset + first - c.begin;
    c.end = n ? a->offset + first + n : c.begin;
    *out = (struct ArrowArray){.length = n,
                               .null_count = -1,
                               .offset = c.offset,
                               .n_buffers = a->n_buffers,
                               .buffers = c.f->buffers,
                               .dictionary = s->dictionary ? &c.f->dictionary : NULL,
                               .release = release_fetched,
                               .private_data = c.f};
    int rc = copy_array(&c, err);
    if (rc != 0)
        release_fetched(out);
    return rc;
}

/* ---- entries of dictionaries ----------------------------------------------------------------- */

/* A stream of batches of one column, whose rows are the indices 0, 1, ... of the entries of one dictionary. */
struct entries {
    const struct rt_device_memory *m;
    const struct ArrowArray *batches;
    int c, nbatches, next;
    struct ArrowSchema all, index, entry, *column;
    struct hd_err *err; /* why a batch is none */
};

struct entry_batch {
    struct ArrowArray indices, entries, *child;
    const void *none[1], *buffers[2];
    int32_t numbers[];
};

static void keep_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void keep_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static void release_batch(struct ArrowArray *a)
{
    struct entry_batch *b = a->private_data;
    if (b->entries.release)
        b->entries.release(&b->entries);
    free(b);
    a->release = NULL;
}

static int entries_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct entries *e = s->private_data;
    *out = e->all;
    return 0;
}

static int make_batch(struct entries *e, const struct ArrowArray *dictionary, struct ArrowArray *out)
{
    int64_t n = dictionary->length;
    struct entry_batch *b = hd_try_calloc(1, sizeof *b + (size_t)n * sizeof *b->numbers);
    if (!b)
        return no_memory(e->err);
    if (rt_device_fetch(e->m, &e->entry, dictionary, 0, n, &b->entries, e->err) != 0) {
        free(b);
        return -1;
    }
    for (int64_t i = 0; i < n; i++)
        b->numbers[i] = (int32_t)i;
    b->buffers[1] = b->numbers;
    b->indices = (struct ArrowArray){
        .length = n, .n_buffers = 2, .buffers = b->buffers, .dictionary = &b->entries, .release = keep_array};
    b->child = &b->indices;
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .n_children = 1,
                               .buffers = b->none,
                               .children = &b->child,
                               .release = release_batch,
                               .private_data = b};
    return 0;
}

static int entries_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct entries *e = s->private_data;
    *out = (struct ArrowArray){0};
    if (e->next == e->nbatches)
        return 0;
    return make_batch(e, e->batches[e->next++].children[e->c]->dictionary, out);
}

static const char *entries_error(struct ArrowArrayStream *s)
{
    const struct entries *e = s->private_data;
    return e->err->message;
}

static void entries_release(struct ArrowArrayStream *s)
{
    s->release = NULL;
}

int rt_device_entries(const struct rt_device_memory *m, const char *table, const struct ArrowSchema *schema, int c,
                      const struct ArrowArray *batches, int nbatches, struct rt_memtable **out, struct hd_err *err)
{
    struct hd_err why, failed;
    hd_err_init(&why);
    hd_err_init(&failed);
    struct entries e = {.m = m, .batches = batches, .c = c, .nbatches = nbatches, .err = &why};
    const struct ArrowSchema *column = schema->children[c];
    e.entry = (struct ArrowSchema){
        .format = column->dictionary->format, .name = "", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
    e.index = (struct ArrowSchema){.format = "i",
                                   .name = column->name,
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .dictionary = &e.entry,
                                   .release = keep_schema};
    e.column = &e.index;
    e.all = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = &e.column, .release = keep_schema};
    struct ArrowArrayStream stream = {entries_schema, entries_next, entries_error, entries_release, &e};
    int rc = rt_memtable_new(table, &stream, false, 1, out, &failed);
    const struct hd_err *cause = why.class != HD_ERR_NONE ? &why : &failed; /* why the stream failed, if it did */
    if (rc != 0)
        hd_err_set(err, cause->class, cause->file, cause->line, table, "%s", cause->message);
    hd_err_release(&failed);
    hd_err_release(&why);
    return rc;
}
