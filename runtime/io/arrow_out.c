#include "runtime/io/arrow_out.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/io/arrow_kept.h"

enum { MAX_BUFFERS = 3, FORMAT_SIZE = 16 };

/* A column of a batch: one allocation holds this struct and, behind it, its buffers. */
struct out_array {
    struct ArrowArray a;
    size_t size; /* of the allocation */
    const void *buffers[MAX_BUFFERS];
};

struct batch {
    struct batch *next;
    int64_t rows;
    struct out_array *cols[]; /* each on the heap; NULL once handed out */
};

struct column {
    char *name;
    struct hd_type type;
    bool nullable;
    char format[FORMAT_SIZE];
};

struct rt_arrow_out {
    int ncols;
    struct column *cols;
    struct batch *first, **last;
    uint64_t bytes;
    char error[128];
};

/* ---- building ------------------------------------------------------------------------------- */

static void format_text(struct hd_type t, char out[FORMAT_SIZE])
{
    static const char *const texts[] = {
        [HD_BOOL] = "b",    [HD_INT32] = "i",  [HD_INT64] = "l",        [HD_DECIMAL] = "d",
        [HD_FLOAT64] = "g", [HD_DATE] = "tdD", [HD_TIMESTAMP] = "tsu:", [HD_STRING] = "u",
        [HD_FLOAT32] = "f", [HD_TIME] = "ttu", [HD_BINARY] = "z",       [HD_INTERVAL] = "tin",
    };
    if (t.kind == HD_DECIMAL)
        snprintf(out, FORMAT_SIZE, "d:%d,%d", t.precision, t.scale);
    else
        snprintf(out, FORMAT_SIZE, "%s", texts[t.kind]);
}

int rt_arrow_out_new(int ncols, const struct rt_out_column *cols, struct rt_arrow_out **out, struct hd_err *err)
{
    struct rt_arrow_out *o = hd_try_calloc(1, sizeof *o);
    if (o)
        o->cols = hd_try_calloc((size_t)ncols, sizeof *o->cols);
    bool ok = o && o->cols;
    if (ok)
        o->last = &o->first;
    for (int c = 0; ok && c < ncols; c++) {
        struct column *x = &o->cols[c];
        x->type = cols[c].type;
        x->nullable = cols[c].nullable;
        x->name = hd_fault(HD_FAULT_ALLOC) ? NULL : strdup(cols[c].name);
        format_text(x->type, x->format);
        o->ncols++;
        ok = x->name != NULL;
    }
    if (ok) {
        *out = o;
        return 0;
    }
    rt_arrow_out_free(o);
    return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
}

static void free_array(struct out_array *a)
{
    if (a)
        rt_kept_free(a, a->size);
}

static void free_batch(struct batch *b, int ncols)
{
    for (int c = 0; c < ncols; c++)
        free_array(b->cols[c]);
    free(b);
}

void rt_arrow_out_free(struct rt_arrow_out *o)
{
    if (!o)
        return;
    while (o->first) {
        struct batch *next = o->first->next;
        free_batch(o->first, o->ncols);
        o->first = next;
    }
    for (int c = 0; c < o->ncols; c++)
        free(o->cols[c].name);
    free(o->cols);
    free(o);
}

uint64_t rt_arrow_out_bytes(const struct rt_arrow_out *o)
{
    return o->bytes;
}

/* Bytes of the buffer of values, or of offsets. */
static size_t values_size(struct hd_type t, size_t rows)
{
    switch ((enum hd_type_kind)t.kind) {
    case HD_INT32:
    case HD_FLOAT32:
    case HD_DATE: return rows * 4;
    case HD_INT64:
    case HD_TIME:
    case HD_TIMESTAMP:
    case HD_FLOAT64: return rows * 8;
    case HD_DECIMAL:
    case HD_INTERVAL: return rows * 16;
    case HD_STRING:
    case HD_BINARY: return (rows + 1) * 4;
    case HD_BOOL: return (rows + 7) / 8;
    case HD_TYPE_COUNT: break;
    }
    return 0;
}

/* Buffers lie behind the struct, each at a multiple of 64 bytes as Arrow recommends. */
static struct out_array *new_array(struct rt_arrow_out *o, struct hd_type t, int64_t n, struct rt_out_size s,
                                   struct rt_out_buffers *to)
{
    bool text = hd_type_is_text(t);
    size_t head = hd_align_up(sizeof(struct out_array), 64), rows = (size_t)n;
    size_t bitmap = s.nulls ? hd_align_up((rows + 7) / 8, 64) : 0, data = hd_align_up(values_size(t, rows), 64);
    size_t size = head + bitmap + data + (text ? (size_t)s.text : 0) + 64;
    size_t room = size;
    struct out_array *a = rt_kept_alloc(&room);
    if (!a)
        return NULL;
    o->bytes += size;
    memset(a, 0, head + bitmap + (t.kind == HD_BOOL ? data : 0));
    a->size = room;
    char *p = (char *)a + head;
    *to = (struct rt_out_buffers){.values = p + bitmap,
                                  .valid = s.nulls ? (uint8_t *)p : NULL,
                                  .text = text ? p + bitmap + data : NULL,
                                  .null_count = &a->a.null_count};
    a->buffers[0] = to->valid;
    a->buffers[1] = to->values;
    a->buffers[2] = to->text;
    a->a = (struct ArrowArray){.length = n, .n_buffers = text ? 3 : 2, .buffers = a->buffers};
    return a;
}

int rt_arrow_out_begin(struct rt_arrow_out *o, int64_t rows, const struct rt_out_size *sizes, struct rt_out_buffers *to,
                       struct hd_err *err)
{
    struct batch *b = hd_try_calloc(1, sizeof *b + (size_t)o->ncols * sizeof *b->cols);
    if (!b)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    b->rows = rows;
    for (int c = 0; c < o->ncols; c++) {
        b->cols[c] = new_array(o, o->cols[c].type, rows, sizes[c], &to[c]);
        if (b->cols[c])
            continue;
        free_batch(b, o->ncols);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    }
    *o->last = b;
    o->last = &b->next;
    return 0;
}

/* ---- schema --------------------------------------------------------------------------------- */

/* A struct schema and its children in one block, freed when the last part is released: a consumer
 * may move children out and release them on their own. */
struct schema_block {
    atomic_int refs;
    struct ArrowSchema *pointers[];
};

static void release_schema(struct ArrowSchema *s)
{
    struct schema_block *block = s->private_data;
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release)
            s->children[i]->release(s->children[i]);
    s->release = NULL;
    if (atomic_fetch_sub(&block->refs, 1) == 1)
        free(block);
}

static size_t names_size(const struct rt_arrow_out *o)
{
    size_t n = 0;
    for (int c = 0; c < o->ncols; c++)
        n += strlen(o->cols[c].name) + 1 + FORMAT_SIZE;
    return n;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct rt_arrow_out *o = stream->private_data;
    size_t n = (size_t)o->ncols, pointers = sizeof(struct schema_block) + n * sizeof(void *);
    struct schema_block *block = hd_try_calloc(1, pointers + n * sizeof(struct ArrowSchema) + names_size(o));
    if (!block) {
        snprintf(o->error, sizeof o->error, "out of memory for a schema");
        return ENOMEM;
    }
    atomic_init(&block->refs, o->ncols + 1);
    struct ArrowSchema *child = (struct ArrowSchema *)(void *)((char *)block + pointers);
    char *text = (char *)(child + n);
    for (int c = 0; c < o->ncols; c++, child++) {
        const struct column *x = &o->cols[c];
        memcpy(text, x->format, FORMAT_SIZE);
        strcpy(text + FORMAT_SIZE, x->name);
        *child = (struct ArrowSchema){.format = text,
                                      .name = text + FORMAT_SIZE,
                                      .flags = x->nullable ? ARROW_FLAG_NULLABLE : 0,
                                      .release = release_schema,
                                      .private_data = block};
        block->pointers[c] = child;
        text += FORMAT_SIZE + strlen(x->name) + 1;
    }
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .n_children = o->ncols,
                                .children = block->pointers,
                                .release = release_schema,
                                .private_data = block};
    return 0;
}

/* ---- batches -------------------------------------------------------------------------------- */

struct batch_block {
    const void *no_validity[1];
    struct ArrowArray *pointers[];
};

/* The struct lies at the start of the allocation, but a consumer may have moved it. */
static void release_column(struct ArrowArray *a)
{
    free_array(a->private_data);
    a->release = NULL;
}

static void release_batch(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release)
            a->children[i]->release(a->children[i]);
    free(a->private_data);
    a->release = NULL;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct rt_arrow_out *o = stream->private_data;
    struct batch *b = o->first;
    memset(out, 0, sizeof *out);
    if (!b)
        return 0; /* the end: a released array */
    size_t n = (size_t)o->ncols, pointers = sizeof(struct batch_block) + n * sizeof(void *);
    struct batch_block *block = hd_try_calloc(1, pointers + n * sizeof(struct ArrowArray));
    if (!block) {
        snprintf(o->error, sizeof o->error, "out of memory for a batch");
        return ENOMEM;
    }
    struct ArrowArray *child = (struct ArrowArray *)(void *)((char *)block + pointers);
    for (int c = 0; c < o->ncols; c++, child++) {
        *child = b->cols[c]->a;
        child->release = release_column;
        child->private_data = b->cols[c];
        block->pointers[c] = child;
    }
    *out = (struct ArrowArray){.length = b->rows,
                               .n_buffers = 1,
                               .n_children = o->ncols,
                               .buffers = block->no_validity,
                               .children = block->pointers,
                               .release = release_batch,
                               .private_data = block};
    o->first = b->next;
    free(b); /* its columns went out */
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const struct rt_arrow_out *o = stream->private_data;
    return o->error[0] ? o->error : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    rt_arrow_out_free(stream->private_data);
    stream->release = NULL;
}

void rt_arrow_out_finish(struct rt_arrow_out *o, struct ArrowArrayStream *stream)
{
    *stream = (struct ArrowArrayStream){.get_schema = get_schema,
                                        .get_next = get_next,
                                        .get_last_error = get_last_error,
                                        .release = release_stream,
                                        .private_data = o};
}
