#include "runtime/io/arrow_device.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/io/arrow_format.h"

bool rt_device_form(const struct ArrowSchema *s, struct rt_device_column *out)
{
    enum rt_arrow_format format, index;
    struct hd_type type;
    const struct ArrowSchema *values = s->dictionary ? s->dictionary : s;
    if (!rt_arrow_format_parse(values->format, &format, &type))
        return false;
    bool strings = rt_arrow_layout(format) == RT_ARROW_LAYOUT_STRING;
    out->width = format == RT_ARROW_UTF8 ? 4 : 8;
    out->utf8 = type.kind == HD_STRING;
    out->form = format == RT_ARROW_BOOL ? RT_DEVICE_BOOLS : RT_DEVICE_ENDS;
    if (!s->dictionary)
        return strings || format == RT_ARROW_BOOL;
    if (!rt_arrow_index_parse(s->format, &index))
        return false;
    out->form = RT_DEVICE_CODES;
    out->width = rt_arrow_width(index);
    out->is_signed = strchr("csil", *s->format) != NULL;
    return strings;
}

/* ---- entries of a dictionary ---------------------------------------------------------------- */

/* A batch of one column, whose rows are the indices 0, 1, ... of the entries. */
struct batch {
    struct ArrowSchema all, index, entry, *column;
    struct ArrowArray indices, entries, *child;
    const void *none[1], *index_buffers[2], *buffers[3];
    void *memory[4]; /* indices, then the entries' bitmap, offsets and bytes */
};

static void keep_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void keep_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static void free_batch(struct batch *b)
{
    for (size_t i = 0; i < HD_COUNT(b->memory); i++)
        free(b->memory[i]);
    free(b);
}

static void release_batch(struct ArrowArray *a)
{
    free_batch(a->private_data);
    a->release = NULL;
}

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct batch *b = s->private_data;
    *out = b->all;
    return 0;
}

/* The only batch, then the end. */
static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct batch *b = s->private_data;
    *out = (struct ArrowArray){0};
    if (b)
        *out = (struct ArrowArray){.length = b->indices.length,
                                   .n_buffers = 1,
                                   .n_children = 1,
                                   .buffers = b->none,
                                   .children = &b->child,
                                   .release = release_batch,
                                   .private_data = b};
    s->private_data = NULL;
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *s HD_UNUSED)
{
    return NULL;
}

static void stream_release(struct ArrowArrayStream *s)
{
    if (s->private_data)
        free_batch(s->private_data);
    s->release = NULL;
}

static int read_memory(const struct rt_device_memory *m, const void *from, size_t n, void **out, struct hd_err *err)
{
    *out = hd_try_calloc(1, n + 1);
    if (!*out)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    return n ? m->read(m->self, *out, from, n, err) : 0;
}

static int read_entries(const struct rt_device_memory *m, struct batch *b, const struct ArrowArray *a, int width,
                        struct hd_err *err)
{
    size_t n = (size_t)a->length;
    HD_TRY(read_memory(m, NULL, 0, &b->memory[1], err));
    if (a->buffers[0]) {
        free(b->memory[1]);
        HD_TRY(read_memory(m, a->buffers[0], (n + 7) / 8, &b->memory[1], err));
        b->buffers[0] = b->memory[1];
    }
    HD_TRY(read_memory(m, a->buffers[1], (n + 1) * (size_t)width, &b->memory[2], err));
    int64_t bytes = width == 4 ? rt_arrow_i32(b->memory[2], (int64_t)n) : rt_arrow_i64(b->memory[2], (int64_t)n);
    if (bytes < 0 || bytes > UINT32_MAX || (bytes && !a->buffers[2]))
        return HD_FAIL(err, DATA, NULL, "a dictionary with %lld bytes of strings", (long long)bytes);
    HD_TRY(read_memory(m, a->buffers[2], (size_t)bytes, &b->memory[3], err));
    b->buffers[1] = b->memory[2];
    b->buffers[2] = b->memory[3];
    return 0;
}

static int fill(const struct rt_device_memory *m, struct batch *b, const struct ArrowSchema *s,
                const struct ArrowArray *a, struct hd_err *err)
{
    struct rt_device_column form = {0};
    int32_t *indices = hd_try_calloc((size_t)a->length + 1, sizeof *indices);
    b->memory[0] = indices;
    if (!indices || !rt_device_form(s, &form))
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    for (int64_t i = 0; i < a->length; i++)
        indices[i] = (int32_t)i;
    HD_TRY(read_entries(m, b, a, form.width, err));
    b->index_buffers[1] = indices;
    b->entry =
        (struct ArrowSchema){.format = s->format, .name = "", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
    b->index = (struct ArrowSchema){.format = "i",
                                    .name = "entries",
                                    .flags = ARROW_FLAG_NULLABLE,
                                    .dictionary = &b->entry,
                                    .release = keep_schema};
    b->column = &b->index;
    b->all = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = &b->column, .release = keep_schema};
    b->entries = (struct ArrowArray){.length = a->length,
                                     .null_count = b->buffers[0] ? -1 : 0,
                                     .n_buffers = 3,
                                     .buffers = b->buffers,
                                     .release = keep_array};
    b->indices = (struct ArrowArray){.length = a->length,
                                     .n_buffers = 2,
                                     .buffers = b->index_buffers,
                                     .dictionary = &b->entries,
                                     .release = keep_array};
    b->child = &b->indices;
    return 0;
}

int rt_device_entries(const struct rt_device_memory *m, const char *table, const struct ArrowSchema *s,
                      const struct ArrowArray *entries, struct rt_memtable **out, struct hd_err *err)
{
    if (!entries || !entries->release || entries->length < 0 || entries->length > INT32_MAX - 1 ||
        entries->offset != 0 || entries->n_buffers != 3 || !entries->buffers || !entries->buffers[1])
        return HD_FAIL(err, DATA, table, "expected a dictionary from offset 0 in three buffers");
    struct batch *b = hd_try_calloc(1, sizeof *b);
    if (!b)
        return HD_FAIL(err, RESOURCE, table, "out of memory");
    if (fill(m, b, s, entries, err) != 0) {
        free_batch(b);
        return -1;
    }
    struct ArrowArrayStream stream = {stream_schema, stream_next, stream_error, stream_release, b};
    return rt_memtable_new(table, &stream, false, 1, out, err);
}
