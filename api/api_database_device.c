/* Tables in the memory of a GPU: the Arrow C Device Interface. */
#include <stdio.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_internal.h"
#include "runtime/base/fault.h"
#include "runtime/base/strbuf.h"
#include "runtime/io/arrow_device.h"

/* ---- arrays of the host --------------------------------------------------------------------- */

struct one {
    struct ArrowSchema schema;
    struct ArrowArray batch;
};

static int one_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct one *o = s->private_data;
    *out = o->schema;
    o->schema.release = NULL;
    return 0;
}

static int one_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct one *o = s->private_data;
    *out = o->batch;
    o->batch.release = NULL;
    return 0;
}

static const char *one_error(struct ArrowArrayStream *s HD_UNUSED)
{
    return NULL;
}

static void release_given(struct ArrowSchema *schema, struct ArrowArray *batch)
{
    if (schema->release)
        schema->release(schema);
    if (batch->release)
        batch->release(batch);
}

static void one_release(struct ArrowArrayStream *s)
{
    struct one *o = s->private_data;
    release_given(&o->schema, &o->batch);
    s->release = NULL;
}

static int register_host(heddle_database *db, const char *name, struct ArrowSchema *schema, struct ArrowArray *batch,
                         bool replace, struct hd_err *err)
{
    struct one o = {*schema, *batch};
    struct ArrowArrayStream s = {one_schema, one_next, one_error, one_release, &o};
    schema->release = NULL;
    batch->release = NULL;
    return api_database_register(db, name, &s, HEDDLE_FACTS_LAZY, replace, err);
}

/* ---- values on a device ---------------------------------------------------------------------- */

/* Where not every value of the stored width is one of the type: `integer` holds them all. */
static bool is_bounded(struct hd_type t, hd_i128 *lo, hd_i128 *hi, struct hd_type *integer)
{
    if (t.kind == HD_DATE)
        *integer = hd_type_of(HD_INT32);
    else if (t.kind == HD_TIMESTAMP || t.kind == HD_TIME)
        *integer = hd_type_of(HD_INT64);
    else if (t.kind == HD_DECIMAL || t.kind == HD_INTERVAL)
        *integer = hd_decimal(HD_DEC_MAX, 0);
    else
        return false;
    return hd_type_domain(t, lo, hi);
}

/* The same memory under another name, as integers; lives as long as the caller's table. */
static int as_integers(struct hd_arena *a, const struct fe_table *from, struct api_table *out)
{
    hd_i128 lo, hi;
    struct fe_table *t = hd_alloc(a, sizeof *t);
    *t = *from;
    t->cols = HD_NEWN(a, struct fe_table_column, t->ncols + 1);
    for (int c = 0; c < t->ncols; c++) {
        t->cols[c] = from->cols[c];
        is_bounded(from->cols[c].type, &lo, &hi, &t->cols[c].type);
    }
    out->table = t;
    return 0;
}

/* The smallest and the largest value of each such column; "" if there is none. */
static void make_plan(struct hd_strbuf *b, const struct fe_table *t)
{
    hd_i128 lo, hi;
    struct hd_type integer;
    const char *comma = "";
    hd_strbuf_adds(b, "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"keys\":[],\"input\":{\"op\":\"scan\",\"table\":");
    hd_strbuf_add_json(b, t->name, strlen(t->name));
    hd_strbuf_adds(b, "},\"aggs\":[");
    for (int c = 0; c < t->ncols; c++) {
        if (!is_bounded(t->cols[c].type, &lo, &hi, &integer))
            continue;
        for (int end = 0; end < 2; end++) {
            hd_strbuf_addf(b, "%s{\"fn\":\"%s\",\"as\":\"%s%d\",\"arg\":{\"col\":", comma, end ? "max" : "min",
                           end ? "b" : "a", c);
            hd_strbuf_add_json(b, t->cols[c].name, strlen(t->cols[c].name));
            hd_strbuf_adds(b, "}}");
            comma = ",";
        }
    }
    hd_strbuf_adds(b, "]}}");
}

static hd_i128 read_value(const struct ArrowArray *a, enum hd_type_kind kind)
{
    int32_t i32;
    int64_t i64;
    hd_i128 i128;
    if (kind == HD_INT32) {
        memcpy(&i32, a->buffers[1], sizeof i32);
        return i32;
    }
    if (kind == HD_INT64) {
        memcpy(&i64, a->buffers[1], sizeof i64);
        return i64;
    }
    memcpy(&i128, a->buffers[1], sizeof i128);
    return i128;
}

/* ends: a row of two values for each column with bounds, in their order. Of no value there is no end. */
static int check_ends(const struct fe_table *t, const struct ArrowArray *ends, struct hd_err *err)
{
    int at = 0;
    hd_i128 lo, hi;
    struct hd_type integer;
    char text[HD_TEXT_MAX];
    for (int c = 0; c < t->ncols; c++) {
        if (!is_bounded(t->cols[c].type, &lo, &hi, &integer))
            continue;
        const struct ArrowArray *least = ends->children[at++], *most = ends->children[at++];
        if (least->buffers[0] && !(*(const uint8_t *)least->buffers[0] & 1))
            continue;
        enum hd_type_kind kind = (enum hd_type_kind)integer.kind;
        if (read_value(least, kind) < lo || read_value(most, kind) > hi)
            return HD_FAIL(err, DATA, t->name, "column \"%s\" has values that no %s has", t->cols[c].name,
                           hd_type_text(t->cols[c].type, text));
    }
    return 0;
}

/* An error of the public functions. */
static int pass_on(heddle_error *from, const char *table, struct hd_err *err)
{
    if (!from)
        return HD_FAIL(err, RESOURCE, table, "out of memory");
    int rc = hd_err_set(err, from->e.class, from->e.file, from->e.line, table, "%s", from->e.message);
    heddle_error_free(from);
    return rc;
}

static int read_ends(const struct fe_table *t, struct ArrowArrayStream *rows, struct hd_err *err)
{
    struct ArrowArray batch;
    if (rows->get_next(rows, &batch) != 0 || !batch.release)
        return HD_FAIL(err, RESOURCE, t->name, "out of memory");
    int rc = check_ends(t, &batch, err);
    batch.release(&batch);
    return rc;
}

static int run_check(heddle_database *db, const struct fe_table *t, const char *plan, struct hd_err *err)
{
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    struct ArrowArrayStream rows;
    heddle_statement_options_init(&o);
    o.backend = "cuda";
    int rc = heddle_prepare(db, plan, &o, &s, &e);
    if (rc == 0)
        rc = heddle_execute(s, &rows, &e);
    heddle_statement_free(s);
    if (rc != 0)
        return pass_on(e, t->name, err);
    rc = read_ends(t, &rows, err);
    rows.release(&rows);
    return rc;
}

static int publish_integers(heddle_database *db, const struct fe_table *t, struct hd_err *err)
{
    int rc;
    struct api_table *own = api_table_new(NULL, NULL);
    if (!own)
        return HD_FAIL(err, RESOURCE, t->name, "out of memory");
    HD_GUARDED(rc, NULL, err, as_integers(&db->arena, t, own));
    if (rc == 0)
        rc = api_database_publish(db, own, false, err);
    if (rc != 0)
        api_table_release(own);
    return rc;
}

static int check_as_integers(heddle_database *db, const struct fe_table *t, struct hd_err *err)
{
    struct hd_strbuf plan;
    HD_TRY(publish_integers(db, t, err));
    hd_strbuf_init(&plan);
    make_plan(&plan, t);
    int rc = run_check(db, t, plan.s, err);
    hd_strbuf_release(&plan);
    return rc;
}

static int check_values(heddle_context *c, const struct fe_table *t, struct hd_err *err)
{
    hd_i128 lo, hi;
    struct hd_type integer;
    heddle_database *db;
    bool bounded = false;
    for (int i = 0; i < t->ncols; i++)
        bounded |= is_bounded(t->cols[i].type, &lo, &hi, &integer);
    if (!bounded || t->rows == 0)
        return 0;
    HD_TRY(api_database_open(c, NULL, false, &db, err));
    int rc = check_as_integers(db, t, err);
    heddle_database_free(db);
    return rc;
}

/* ---- registering ---------------------------------------------------------------------------- */

static int use_table(heddle_database *db, struct rt_memtable *mem, bool replace, struct hd_err *err)
{
    HD_TRY(check_values(db->context, rt_memtable_table(mem), err));
    struct api_table *t = api_table_new(rt_memtable_table(mem), mem);
    if (!t)
        return HD_FAIL(err, RESOURCE, rt_memtable_table(mem)->name, "out of memory");
    if (api_database_publish(db, t, replace, err) == 0)
        return 0;
    t->mem = NULL; /* it stays the caller's */
    api_table_release(t);
    return -1;
}

static int register_device(heddle_database *db, const char *name, struct ArrowSchema *schema,
                           struct ArrowDeviceArray *array, bool replace, struct hd_err *err)
{
    struct rt_memtable *mem;
    struct rt_device_memory memory;
    if (!schema->release || !array->array.release)
        return HD_FAIL(err, USER, name, "the schema or the array was released before");
    if (array->device_type == ARROW_DEVICE_CPU)
        return register_host(db, name, schema, &array->array, replace, err);
    if (array->device_type != ARROW_DEVICE_CUDA || array->device_id != db->context->devices[0])
        return HD_FAIL(err, UNSUPPORTED, name,
                       "an array of device type %d, number %lld: expected the host's (1), or CUDA's (2), number %d",
                       (int)array->device_type, (long long)array->device_id, db->context->devices[0]);
    HD_TRY(api_table_name_check(name, err));
    if (array->sync_event)
        HD_TRY(api_backends_wait(db->context, array->sync_event, err));
    HD_TRY(api_backends_memory(db->context, &memory, err));
    HD_TRY(rt_memtable_of_device(name, schema, &array->array, db->context->devices[0], &memory, &mem, err));
    int rc = use_table(db, mem, replace, err);
    if (rc != 0)
        rt_memtable_free(mem);
    return rc;
}

/* Takes schema and array over; with an argument missing, those that are there. */
static int add_device(heddle_database *db, const char *table, struct ArrowSchema *schema,
                      struct ArrowDeviceArray *array, bool replace, struct hd_err *err)
{
    struct ArrowSchema no_schema = {0};
    struct ArrowDeviceArray no_array = {0};
    int rc = -1;
    hd_err_init(err);
    if (db && table && schema && array)
        rc = register_device(db, table, schema, array, replace, err);
    release_given(schema ? schema : &no_schema, array ? &array->array : &no_array.array);
    return rc;
}

int heddle_database_register_device(heddle_database *db, const char *table, struct ArrowSchema *schema,
                                    struct ArrowDeviceArray *array, heddle_error **err)
{
    struct hd_err e;
    int rc = add_device(db, table, schema, array, false, &e);
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
    int rc = add_device(db, table, schema, array, true, &e);
    API_NEED(db, err);
    API_NEED(table, err);
    API_NEED(schema, err);
    API_NEED(array, err);
    return api_finish(rc, &e, err);
}
