/* Tables in the memory of a GPU: the Arrow C Device Interface. */
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_facts.h"
#include "api/api_internal.h"
#include "runtime/base/fault.h"
#include "runtime/io/arrow_device.h"

/* What is registered: a schema and batches of one kind of device. Each is released by whoever has it last. */
struct given {
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    int n, cap, next; /* next: of a stream of the host */
    bool far; /* in a GPU's memory */
};

static void release_given(struct given *g)
{
    if (g->schema.release)
        g->schema.release(&g->schema);
    for (int i = 0; i < g->n; i++)
        if (g->batches[i].release)
            g->batches[i].release(&g->batches[i]);
    free(g->batches);
}

/* ---- arrays of the host --------------------------------------------------------------------- */

static int given_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct given *g = s->private_data;
    *out = g->schema;
    g->schema.release = NULL;
    return 0;
}

static int given_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct given *g = s->private_data;
    memset(out, 0, sizeof *out);
    if (g->next < g->n) {
        *out = g->batches[g->next];
        g->batches[g->next++].release = NULL;
    }
    return 0;
}

static const char *given_error(struct ArrowArrayStream *s HD_UNUSED)
{
    return NULL;
}

static void given_release(struct ArrowArrayStream *s)
{
    s->release = NULL;
}

static int register_host(heddle_database *db, const char *name, struct given *g, bool replace, struct hd_err *err)
{
    struct ArrowArrayStream s = {given_schema, given_next, given_error, given_release, g};
    return api_database_register(db, name, &s, HEDDLE_FACTS_LAZY, NULL, replace, err);
}

/* ---- arrays of a device --------------------------------------------------------------------- */

/* Memory of CUDA's host allocator is the host's, managed memory the device's. */
static int check_device(const heddle_database *db, const char *name, ArrowDeviceType type, int64_t id,
                        struct hd_err *err)
{
    bool far = type == ARROW_DEVICE_CUDA || type == ARROW_DEVICE_CUDA_MANAGED;
    if (type == ARROW_DEVICE_CPU || type == ARROW_DEVICE_CUDA_HOST || (far && id == db->context->devices[0]))
        return 0;
    return HD_FAIL(err, UNSUPPORTED, name,
                   "an array of device type %d, number %lld: expected the host's (1), or CUDA's (2), number %d",
                   (int)type, (long long)id, db->context->devices[0]);
}

static int grow(struct given *g, const char *name, struct hd_err *err)
{
    if (g->n < g->cap)
        return 0;
    int cap = HD_MAX(2 * g->cap, 8);
    struct ArrowArray *b = hd_try_realloc(g->batches, (size_t)cap * sizeof *b);
    if (!b)
        return HD_FAIL(err, RESOURCE, name, "out of memory");
    g->batches = b;
    g->cap = cap;
    return 0;
}

/* Once what fills it is done. The array is taken over, but where there is no memory for that. */
static int add_batch(heddle_database *db, const char *name, struct given *g, struct ArrowDeviceArray *a,
                     struct hd_err *err)
{
    HD_TRY(grow(g, name, err));
    g->batches[g->n++] = a->array;
    a->array.release = NULL;
    HD_TRY(check_device(db, name, a->device_type, a->device_id, err));
    bool far = a->device_type == ARROW_DEVICE_CUDA || a->device_type == ARROW_DEVICE_CUDA_MANAGED;
    if (g->n > 1 && far != g->far)
        return HD_FAIL(err, UNSUPPORTED, name, "a stream with batches of the host and of a device");
    g->far = far;
    return a->sync_event ? api_backends_wait(db->context, a->sync_event, err) : 0;
}

static int use_table(heddle_database *db, struct rt_memtable *mem, bool replace, struct hd_err *err)
{
    struct api_table *t = api_table_new(rt_memtable_table(mem), mem);
    if (!t)
        return HD_FAIL(err, RESOURCE, rt_memtable_table(mem)->name, "out of memory");
    t->facts = api_facts_new(t->table->ncols);
    if (!t->facts)
        HD_FAIL(err, RESOURCE, rt_memtable_table(mem)->name, "out of memory");
    else if (api_database_publish(db, t, replace, err) == 0)
        return 0;
    t->mem = NULL; /* it stays the caller's */
    api_table_release(t);
    return -1;
}

static int register_given(heddle_database *db, const char *name, struct given *g, bool replace, struct hd_err *err)
{
    struct rt_memtable *mem;
    struct rt_device_memory memory;
    if (!g->far)
        return register_host(db, name, g, replace, err);
    HD_TRY(api_table_name_check(name, err));
    HD_TRY(api_backends_memory(db->context, &memory, err));
    HD_TRY(rt_memtable_of_device(name, &g->schema, g->batches, g->n, db->context->devices[0], &memory, &mem, err));
    int rc = use_table(db, mem, replace, err);
    if (rc != 0)
        rt_memtable_free(mem);
    return rc;
}

/* ---- one array ------------------------------------------------------------------------------ */

static int register_array(heddle_database *db, const char *name, struct ArrowSchema *schema,
                          struct ArrowDeviceArray *array, bool replace, struct hd_err *err)
{
    struct given g = {.schema = *schema};
    bool there = schema->release && array->array.release;
    schema->release = NULL;
    int rc = !there ? HD_FAIL(err, USER, name, "the schema or the array was released before")
                    : add_batch(db, name, &g, array, err);
    if (rc == 0)
        rc = register_given(db, name, &g, replace, err);
    release_given(&g);
    return rc;
}

/* Takes schema and array over; with an argument missing, those that are there. */
static int add_array(heddle_database *db, const char *table, struct ArrowSchema *schema, struct ArrowDeviceArray *array,
                     bool replace, struct hd_err *err)
{
    int rc = -1;
    hd_err_init(err);
    if (db && table && schema && array)
        rc = register_array(db, table, schema, array, replace, err);
    if (schema && schema->release)
        schema->release(schema);
    if (array && array->array.release)
        array->array.release(&array->array);
    return rc;
}

int heddle_database_register_device(heddle_database *db, const char *table, struct ArrowSchema *schema,
                                    struct ArrowDeviceArray *array, heddle_error **err)
{
    struct hd_err e;
    int rc = add_array(db, table, schema, array, false, &e);
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(schema, err);
    API_NEED(array, err);
    return api_finish(rc, &e, err);
}

int heddle_database_replace_device(heddle_database *db, const char *table, struct ArrowSchema *schema,
                                   struct ArrowDeviceArray *array, heddle_error **err)
{
    struct hd_err e;
    int rc = add_array(db, table, schema, array, true, &e);
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(schema, err);
    API_NEED(array, err);
    return api_finish(rc, &e, err);
}

/* ---- streams -------------------------------------------------------------------------------- */

static int stream_failed(const char *name, struct ArrowDeviceArrayStream *s, struct hd_err *err)
{
    const char *text = s->get_last_error(s);
    return HD_FAIL(err, DATA, name, "the Arrow stream failed: %s", text ? text : "no message");
}

/* A failed call leaves what it was to fill in undefined: that is not released. */
static int read_stream(heddle_database *db, const char *name, struct ArrowDeviceArrayStream *s, struct given *g,
                       struct hd_err *err)
{
    struct ArrowSchema schema = {0};
    if (s->get_schema(s, &schema) != 0)
        return stream_failed(name, s, err);
    g->schema = schema;
    g->far = s->device_type == ARROW_DEVICE_CUDA || s->device_type == ARROW_DEVICE_CUDA_MANAGED;
    for (;;) {
        struct ArrowDeviceArray a = {0};
        if (s->get_next(s, &a) != 0)
            return stream_failed(name, s, err);
        if (!a.array.release)
            return 0;
        int rc = add_batch(db, name, g, &a, err);
        if (a.array.release)
            a.array.release(&a.array);
        if (rc != 0)
            return rc;
    }
}

static int register_stream(heddle_database *db, const char *name, struct ArrowDeviceArrayStream *s, bool replace,
                           struct hd_err *err)
{
    struct given g = {0};
    if (!s->release)
        return HD_FAIL(err, USER, name, "the Arrow stream was released before");
    if (!s->get_schema || !s->get_next || !s->get_last_error)
        return HD_FAIL(err, USER, name, "an Arrow stream without its functions");
    HD_TRY(check_device(db, name, s->device_type, db->context->devices[0], err));
    int rc = read_stream(db, name, s, &g, err);
    if (rc == 0)
        rc = register_given(db, name, &g, replace, err);
    release_given(&g);
    return rc;
}

/* The stream is released in any case. */
static int add_stream(heddle_database *db, const char *table, struct ArrowDeviceArrayStream *s, bool replace,
                      struct hd_err *err)
{
    int rc = -1;
    hd_err_init(err);
    if (db && table && s)
        rc = register_stream(db, table, s, replace, err);
    if (s && s->release)
        s->release(s);
    return rc;
}

int heddle_database_register_device_stream(heddle_database *db, const char *table,
                                           struct ArrowDeviceArrayStream *stream, heddle_error **err)
{
    struct hd_err e;
    int rc = add_stream(db, table, stream, false, &e);
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(stream, err);
    return api_finish(rc, &e, err);
}

int heddle_database_replace_device_stream(heddle_database *db, const char *table, struct ArrowDeviceArrayStream *stream,
                                          heddle_error **err)
{
    struct hd_err e;
    int rc = add_stream(db, table, stream, true, &e);
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(stream, err);
    return api_finish(rc, &e, err);
}
