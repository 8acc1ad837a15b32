/* Results that stay on a GPU: one batch of the Arrow C Device Interface. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_gpu.h"
#include "runtime/base/fault.h"
#include "runtime/gpu/gpu_import.h"

enum { BUFFERS = 3 };

/* A batch and its columns in one block: each is released by itself, the device's memory with the last. */
struct batch {
    atomic_int refs;
    struct rt_gpu_columns *columns;
    struct ArrowArray **pointers;
    const void *no_validity[1];
    struct part {
        struct ArrowArray array;
        const void *buffers[BUFFERS];
    } part[];
};

struct stream {
    struct batch *batch; /* NULL: given, or there are no rows */
    int64_t device;
    struct ArrowArrayStream empty; /* has the schema */
};

static void batch_leave(struct batch *b)
{
    if (atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    rt_gpu_columns_free(b->columns);
    free(b->pointers);
    free(b);
}

static void release_array(struct ArrowArray *a)
{
    struct batch *b = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release)
            a->children[i]->release(a->children[i]);
    a->release = NULL;
    batch_leave(b);
}

static void fill_part(struct batch *b, int i, bool text)
{
    const struct rt_gpu_column *c = &b->columns->column[i];
    struct part *p = &b->part[i];
    p->buffers[0] = (const void *)(uintptr_t)c->valid;
    p->buffers[1] = (const void *)(uintptr_t)c->values;
    p->buffers[2] = (const void *)(uintptr_t)c->strings;
    p->array = (struct ArrowArray){.length = (int64_t)b->columns->n,
                                   .null_count = c->nulls,
                                   .n_buffers = text ? 3 : 2,
                                   .buffers = p->buffers,
                                   .release = release_array,
                                   .private_data = b};
    b->pointers[i] = &p->array;
}

/* Takes the columns over. */
static struct batch *new_batch(const struct heddle_statement *s, struct rt_gpu_columns *columns)
{
    size_t n = (size_t)columns->ncolumns;
    struct batch *b = hd_try_calloc(1, sizeof *b + n * sizeof *b->part);
    struct ArrowArray **pointers = hd_try_calloc(n + 1, sizeof(struct ArrowArray *));
    if (!b || !pointers) {
        free(b);
        free(pointers);
        return NULL;
    }
    atomic_init(&b->refs, columns->ncolumns + 1);
    b->columns = columns;
    b->pointers = pointers;
    for (int i = 0; i < columns->ncolumns; i++)
        fill_part(b, i, hd_type_is_text(s->program->pl->spec->result[i].type));
    return b;
}

static struct ArrowArray whole(struct batch *b)
{
    return (struct ArrowArray){.length = (int64_t)b->columns->n,
                               .n_buffers = 1,
                               .buffers = b->no_validity,
                               .n_children = b->columns->ncolumns,
                               .children = b->pointers,
                               .release = release_array,
                               .private_data = b};
}

static int device_schema(struct ArrowDeviceArrayStream *stream, struct ArrowSchema *out)
{
    struct stream *s = stream->private_data;
    return s->empty.get_schema(&s->empty, out);
}

static int device_next(struct ArrowDeviceArrayStream *stream, struct ArrowDeviceArray *out)
{
    struct stream *s = stream->private_data;
    memset(out, 0, sizeof *out);
    out->device_id = s->device;
    out->device_type = ARROW_DEVICE_CUDA;
    if (s->batch)
        out->array = whole(s->batch);
    s->batch = NULL;
    return 0;
}

static const char *device_error(struct ArrowDeviceArrayStream *stream)
{
    struct stream *s = stream->private_data;
    return s->empty.get_last_error(&s->empty);
}

static void device_release(struct ArrowDeviceArrayStream *stream)
{
    struct stream *s = stream->private_data;
    if (s->batch) {
        struct ArrowArray a = whole(s->batch);
        a.release(&a);
    }
    s->empty.release(&s->empty);
    free(s);
    stream->release = NULL;
}

int api_gpu_give(struct heddle_statement *s, struct rt_gpu_columns *columns, struct ArrowDeviceArrayStream *out,
                 struct hd_err *err)
{
    struct stream *own = hd_try_calloc(1, sizeof *own);
    if (!own)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    own->device = s->db->context->devices[s->slot];
    if (api_statement_empty_stream(s, &own->empty, err) != 0) {
        free(own);
        return -1;
    }
    own->batch = columns->n ? new_batch(s, columns) : NULL;
    if (columns->n && !own->batch) {
        own->empty.release(&own->empty);
        free(own);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    }
    if (!columns->n)
        rt_gpu_columns_free(columns);
    *out = (struct ArrowDeviceArrayStream){ARROW_DEVICE_CUDA, device_schema,  device_next,
                                           device_error,      device_release, own};
    return 0;
}

int api_gpu_wait(heddle_context *c, void *event, struct hd_err *err)
{
    struct rt_gpu *gpu;
    struct api_engine *e;
    HD_TRY(api_engine_get(c, &e, err));
    HD_TRY(api_gpu_get(c, e, 0, &gpu, err));
    return rt_gpu_wait(gpu, event, err);
}

/* ---- tables of the device ------------------------------------------------------------------- */

struct table_memory {
    heddle_context *context;
    struct rt_gpu_columns *columns; /* what was converted */
};

static int gpu_of(const struct table_memory *m, struct rt_gpu **out, struct hd_err *err)
{
    struct api_engine *e;
    HD_TRY(api_engine_get(m->context, &e, err));
    return api_gpu_get(m->context, e, 0, out, err);
}

static int read_memory(void *self, void *to, const void *from, size_t n, struct hd_err *err)
{
    struct rt_gpu *gpu;
    HD_TRY(gpu_of(self, &gpu, err));
    return rt_gpu_read(gpu, to, from, n, err);
}

static int convert(void *self, struct rt_device_column *c, int n, int64_t rows, struct hd_err *err)
{
    struct rt_gpu *gpu;
    struct table_memory *m = self;
    HD_TRY(gpu_of(m, &gpu, err));
    return rt_gpu_import(gpu, c, n, (uint64_t)rows, &m->columns, err);
}

static void release_memory(void *self)
{
    struct table_memory *m = self;
    rt_gpu_columns_free(m->columns);
    free(m);
}

int api_gpu_memory(heddle_context *c, struct rt_device_memory *out, struct hd_err *err)
{
    struct table_memory *m = hd_try_calloc(1, sizeof *m);
    if (!m)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    m->context = c;
    *out = (struct rt_device_memory){m, read_memory, convert, release_memory};
    return 0;
}
