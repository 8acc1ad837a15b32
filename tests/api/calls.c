#include "tests/api/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/api/fixture.h"

/* Pointer argument number i, NULL if it is this call's turn. */
#define ARG(i, p) (k == (i) ? NULL : (p))
/* The function of a row; k: which pointer argument is NULL, -1 none. */
#define CALL(name) static int call_##name(int k, heddle_error **err)
#define UNUSED     ((void)k, (void)err)

#define ERROR_CALL(name, nothing) \
    CALL(name) \
    { \
        heddle_error *e = new_error(); \
        bool empty = (nothing); \
        heddle_error_free(e); \
        (void)err; \
        return empty == (k == 0) ? 0 : -1; \
    }
ERROR_CALL(heddle_error_get_class, heddle_error_get_class(ARG(0, e)) == 0)
ERROR_CALL(heddle_error_path, !*heddle_error_path(ARG(0, e)))
ERROR_CALL(heddle_error_message, !*heddle_error_message(ARG(0, e)))
ERROR_CALL(heddle_error_exit_status, heddle_error_exit_status(ARG(0, e)) == 0)
ERROR_CALL(heddle_error_detail, (heddle_error_detail(ARG(0, e)), k == 0))

#define FREE_CALL(name, make) \
    CALL(name) \
    { \
        (void)err; \
        name(k == 0 ? NULL : make); \
        return 0; \
    }
FREE_CALL(heddle_error_free, new_error())
FREE_CALL(heddle_free, malloc(8))
FREE_CALL(heddle_context_free, new_context())
FREE_CALL(heddle_database_free, new_database())
FREE_CALL(heddle_writer_free, new_writer())
FREE_CALL(heddle_statement_free, new_statement())

CALL(heddle_error_class_name)
{
    UNUSED;
    return *heddle_error_class_name((heddle_error_class)99) ? 0 : -1;
}
CALL(heddle_version)
{
    UNUSED;
    return *heddle_version() ? 0 : -1;
}
CALL(heddle_options_init_sized)
{
    heddle_options o;
    (void)err;
    heddle_options_init_sized(ARG(0, &o), sizeof o);
    return 0;
}
CALL(heddle_statement_options_init_sized)
{
    heddle_statement_options o;
    (void)err;
    heddle_statement_options_init_sized(ARG(0, &o), sizeof o);
    return 0;
}
CALL(heddle_context_new)
{
    heddle_options o;
    heddle_context *c = NULL;
    heddle_options_init(&o);
    int rc = heddle_context_new(ARG(0, &o), ARG(1, &c), err);
    heddle_context_free(c);
    return rc;
}
CALL(heddle_context_info)
{
    char *json = NULL;
    int rc = heddle_context_info(ARG(0, context), ARG(1, &json), err);
    heddle_free(json);
    return rc;
}
/* Without a GPU, NVRTC or this backend it fails, which is no misuse. */
CALL(heddle_context_warm)
{
    char *json = NULL;
    bool misused = k == 0 || k == 2;
    int rc = heddle_context_warm(ARG(0, context), ARG(1, "sm_0"), ARG(2, &json), misused ? err : NULL);
    heddle_free(json);
    return misused ? rc : 0;
}
CALL(heddle_database_open)
{
    heddle_database *db = NULL;
    int rc = heddle_database_open(ARG(0, context), ARG(1, in_dir("db")), 0, ARG(2, &db), err);
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_catalog)
{
    char *json = NULL;
    int rc = heddle_database_catalog(ARG(0, database), ARG(1, &json), err);
    heddle_free(json);
    return rc;
}
CALL(heddle_database_register)
{
    struct ArrowArrayStream s = make_stream();
    heddle_database *db = new_database();
    int rc = heddle_database_register(ARG(0, db), ARG(1, "m"), ARG(2, &s), 1, err);
    assert_true((s.release == NULL) == (k != 2)); /* consumed wherever it was given */
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_register_with_keys)
{
    struct ArrowArrayStream s = make_stream();
    heddle_database *db = new_database();
    int rc = heddle_database_register_with_keys(ARG(0, db), ARG(1, "m"), ARG(2, &s), 1, ARG(3, "{}"), 0, err);
    assert_true((s.release == NULL) == (k != 2));
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_replace)
{
    struct ArrowArrayStream s = make_stream();
    heddle_database *db = new_database_of_one();
    int rc = heddle_database_replace(ARG(0, db), ARG(1, "m"), ARG(2, &s), 1, err);
    assert_true((s.release == NULL) == (k != 2)); /* consumed wherever it was given */
    assert_int_equal(heddle_database_table_count(db), 1);
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_register_device)
{
    struct ArrowSchema s;
    struct ArrowDeviceArray a = {.device_type = ARROW_DEVICE_CPU, .device_id = -1};
    make_schema(&s);
    make_batch(&a.array);
    heddle_database *db = new_database();
    int rc = heddle_database_register_device(ARG(0, db), ARG(1, "m"), ARG(2, &s), ARG(3, &a), err);
    assert_true((s.release == NULL) == (k != 2));
    assert_true((a.array.release == NULL) == (k != 3));
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_replace_device)
{
    struct ArrowSchema s;
    struct ArrowDeviceArray a = {.device_type = ARROW_DEVICE_CPU, .device_id = -1};
    make_schema(&s);
    make_batch(&a.array);
    heddle_database *db = new_database();
    int rc = heddle_database_replace_device(ARG(0, db), ARG(1, "m"), ARG(2, &s), ARG(3, &a), err);
    assert_true((s.release == NULL) == (k != 2));
    assert_true((a.array.release == NULL) == (k != 3));
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_compute_facts)
{
    heddle_database *db = new_database_of_one();
    int rc = heddle_database_compute_facts(ARG(0, db), ARG(1, "m"), err);
    heddle_database_free(db);
    return rc;
}

/* An empty device stream over the same on the host. */
static int device_schema(struct ArrowDeviceArrayStream *s, struct ArrowSchema *out)
{
    (void)s;
    make_schema(out);
    return 0;
}
static int device_next(struct ArrowDeviceArrayStream *s, struct ArrowDeviceArray *out)
{
    (void)s;
    *out = (struct ArrowDeviceArray){.device_type = ARROW_DEVICE_CPU, .device_id = -1};
    return 0;
}
static const char *device_error(struct ArrowDeviceArrayStream *s)
{
    (void)s;
    return NULL;
}
static void device_release(struct ArrowDeviceArrayStream *s)
{
    s->release = NULL;
}
#define DEVICE_STREAM_CALL(name) \
    CALL(name) \
    { \
        struct ArrowDeviceArrayStream s = {ARROW_DEVICE_CPU, device_schema,  device_next, \
                                           device_error,     device_release, NULL}; \
        heddle_database *db = new_database(); \
        int rc = name(ARG(0, db), ARG(1, "m"), ARG(2, &s), err); \
        assert_true((s.release == NULL) == (k != 2)); \
        heddle_database_free(db); \
        return rc; \
    }
DEVICE_STREAM_CALL(heddle_database_register_device_stream)
DEVICE_STREAM_CALL(heddle_database_replace_device_stream)
CALL(heddle_database_drop)
{
    heddle_database *db = new_database_of_one();
    int rc = heddle_database_drop(ARG(0, db), ARG(1, "m"), err);
    heddle_database_free(db);
    return rc;
}
CALL(heddle_context_busy)
{
    heddle_context *c = new_context();
    int busy = heddle_context_busy(ARG(0, c));
    (void)err;
    heddle_context_free(c);
    return busy;
}
CALL(heddle_database_table_count)
{
    heddle_database *db = new_database_of_one();
    int n = heddle_database_table_count(ARG(0, db));
    (void)err;
    heddle_database_free(db);
    return n == (k == 0 ? 0 : 1) ? 0 : -1;
}
CALL(heddle_database_table_name)
{
    heddle_database *db = new_database_of_one();
    const char *name = heddle_database_table_name(ARG(0, db), 0);
    bool found = name && strcmp(name, "m") == 0;
    (void)err;
    assert_null(heddle_database_table_name(db, -1));
    assert_null(heddle_database_table_name(db, 1));
    heddle_database_free(db);
    return found == (k != 0) ? 0 : -1;
}
CALL(heddle_database_table_schema)
{
    struct ArrowSchema s = {0};
    heddle_database *db = new_database_of_one();
    int rc = heddle_database_table_schema(ARG(0, db), ARG(1, "m"), ARG(2, &s), err);
    heddle_database_free(db);
    assert_true((s.release != NULL) == (rc == 0));
    if (rc != 0)
        return rc;
    assert_string_equal(s.format, "+s");
    assert_int_equal(s.n_children, 1);
    assert_string_equal(s.children[0]->format, "i");
    assert_string_equal(s.children[0]->name, "x");
    assert_true(s.children[0]->flags & ARROW_FLAG_NULLABLE);
    s.release(&s);
    return 0;
}
CALL(heddle_database_table_rows)
{
    int64_t rows = -1;
    heddle_database *db = new_database_of_one();
    int rc = heddle_database_table_rows(ARG(0, db), ARG(1, "m"), ARG(2, &rows), err);
    assert_int_equal(rows, rc);
    assert_int_equal(heddle_database_table_rows(db, "u", &rows, NULL), -1);
    heddle_database_free(db);
    return rc;
}
CALL(heddle_database_check)
{
    char *report = NULL;
    int user = 0;
    int rc = heddle_database_check(ARG(0, context), ARG(1, in_dir("db")), ARG(2, go_on), ARG(3, &user), ARG(4, &report),
                                   err);
    heddle_free(report);
    return rc;
}
CALL(heddle_writer_open)
{
    heddle_writer *w = NULL;
    int rc = heddle_writer_open(ARG(0, context), ARG(1, in_dir("new")), ARG(2, schema), ARG(3, &w), err);
    heddle_writer_free(w);
    return rc;
}
CALL(heddle_writer_append)
{
    struct ArrowSchema s;
    struct ArrowArray a;
    make_schema(&s);
    make_batch(&a);
    heddle_writer *w = new_writer();
    int rc = heddle_writer_append(ARG(0, w), ARG(1, "t"), 0, ARG(2, &s), ARG(3, &a), err);
    heddle_writer_free(w);
    return rc;
}
CALL(heddle_writer_load_text)
{
    int user = 0;
    heddle_writer *w = new_writer();
    int rc = heddle_writer_load_text(ARG(0, w), ARG(1, dir), ARG(2, go_on), ARG(3, &user), err);
    heddle_writer_free(w);
    return rc;
}

CALL(heddle_writer_commit)
{
    struct ArrowSchema s;
    struct ArrowArray a;
    int user = 0;
    make_schema(&s);
    make_batch(&a);
    heddle_writer *w = new_writer();
    assert_int_equal(heddle_writer_append(w, "t", 0, &s, &a, NULL), 0);
    int rc = heddle_writer_commit(ARG(0, w), ARG(1, go_on), ARG(2, &user), err);
    heddle_writer_free(w);
    if (rc == 0)
        remove_database(in_dir("new"));
    return rc;
}
CALL(heddle_prepare)
{
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_statement_options_init(&o);
    int rc = heddle_prepare(ARG(0, database), ARG(1, plan), ARG(2, &o), ARG(3, &s), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_prepare_plan)
{
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_statement_options_init(&o);
    int rc = heddle_prepare_plan(ARG(0, database), ARG(1, plan), strlen(plan), ARG(2, &o), ARG(3, &s), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_prepare_plan)
{
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    ok(heddle_statement_new(database, NULL, &s, &e), e);
    int rc = heddle_statement_prepare_plan(ARG(0, s), ARG(1, plan), strlen(plan), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_convert)
{
    char *text = NULL;
    size_t n = 0;
    int rc = heddle_convert(ARG(0, plan), strlen(plan), ARG(1, "json"), ARG(2, &text), ARG(3, &n), err);
    assert_true(rc != 0 || (text && n == strlen(text)));
    heddle_free(text);
    return rc;
}
CALL(heddle_database_convert)
{
    char *text = NULL;
    size_t n = 0;
    int rc = heddle_database_convert(ARG(0, database), ARG(1, plan), strlen(plan), ARG(2, "substrait-json"),
                                     ARG(3, &text), ARG(4, &n), err);
    assert_true(rc != 0 || (text && n == strlen(text)));
    heddle_free(text);
    return rc;
}
CALL(heddle_statement_new)
{
    heddle_statement_options o;
    heddle_statement *s = NULL;
    heddle_statement_options_init(&o);
    int rc = heddle_statement_new(ARG(0, database), ARG(1, &o), ARG(2, &s), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_prepare)
{
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    ok(heddle_statement_new(database, NULL, &s, &e), e);
    int rc = heddle_statement_prepare(ARG(0, s), ARG(1, plan), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_schema)
{
    struct ArrowSchema schema_out = {0};
    heddle_statement *s = new_statement();
    int rc = heddle_statement_schema(ARG(0, s), ARG(1, &schema_out), err);
    if (schema_out.release)
        schema_out.release(&schema_out);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_parameters)
{
    struct ArrowSchema schema_out = {0};
    heddle_statement *s = new_statement();
    int rc = heddle_statement_parameters(ARG(0, s), ARG(1, &schema_out), err);
    if (schema_out.release)
        schema_out.release(&schema_out);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_bind)
{
    heddle_statement *s = new_statement();
    int rc = heddle_bind(ARG(0, s), ARG(1, "p"), ARG(2, "5"), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_bind_json)
{
    heddle_statement *s = new_statement();
    int rc = heddle_bind_json(ARG(0, s), ARG(1, "{\"p\": 5}"), err);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_execute)
{
    heddle_statement *s = new_statement();
    struct ArrowArrayStream rows = {0};
    int rc = heddle_execute(ARG(0, s), ARG(1, &rows), err);
    if (rows.release)
        rows.release(&rows);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_execute_device)
{
    heddle_statement *s = new_statement();
    struct ArrowDeviceArrayStream rows = {0};
    int rc = heddle_statement_execute_device(ARG(0, s), ARG(1, &rows), err);
    if (rows.release)
        rows.release(&rows);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_cancel)
{
    heddle_statement *s = new_statement();
    (void)err;
    heddle_statement_cancel(ARG(0, s));
    heddle_statement_free(s);
    return 0;
}
CALL(heddle_explain)
{
    char *text = NULL;
    heddle_statement *s = new_statement();
    int rc = heddle_explain(ARG(0, s), ARG(1, "pipelines"), ARG(2, &text), err);
    heddle_free(text);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_plan_fragments)
{
    char *json = NULL;
    heddle_statement *s = new_statement();
    int rc = heddle_plan_fragments(ARG(0, s), 2, ARG(1, &json), err);
    heddle_free(json);
    heddle_statement_free(s);
    return rc;
}
CALL(heddle_statement_report)
{
    char *json = NULL;
    heddle_statement *s = new_statement();
    execute(s);
    int rc = heddle_statement_report(ARG(0, s), ARG(1, &json), err);
    heddle_free(json);
    heddle_statement_free(s);
    return rc;
}

#define FUNCTIONS(X) \
    X(heddle_error_get_class, "o") \
    X(heddle_error_class_name, "") \
    X(heddle_error_path, "o") \
    X(heddle_error_message, "o") \
    X(heddle_error_detail, "o") \
    X(heddle_error_exit_status, "o") \
    X(heddle_error_free, "o") \
    X(heddle_version, "") \
    X(heddle_free, "o") \
    X(heddle_options_init_sized, "o") \
    X(heddle_context_new, "o!") \
    X(heddle_context_free, "o") \
    X(heddle_context_busy, "o") \
    X(heddle_context_info, "!!") \
    X(heddle_context_warm, "!o!") \
    X(heddle_database_open, "!o!") \
    X(heddle_database_free, "o") \
    X(heddle_database_catalog, "!!") \
    X(heddle_database_register, "!!!") \
    X(heddle_database_register_with_keys, "!!!o") \
    X(heddle_database_replace, "!!!") \
    X(heddle_database_register_device, "!!!!") \
    X(heddle_database_replace_device, "!!!!") \
    X(heddle_database_compute_facts, "!!") \
    X(heddle_database_register_device_stream, "!!!") \
    X(heddle_database_replace_device_stream, "!!!") \
    X(heddle_database_drop, "!!") \
    X(heddle_database_table_count, "o") \
    X(heddle_database_table_name, "o") \
    X(heddle_database_table_schema, "!!!") \
    X(heddle_database_table_rows, "!!!") \
    X(heddle_database_check, "!!oo!") \
    X(heddle_writer_open, "!!!!") \
    X(heddle_writer_append, "!!!!") \
    X(heddle_writer_load_text, "!!oo") \
    X(heddle_writer_commit, "!oo") \
    X(heddle_writer_free, "o") \
    X(heddle_statement_options_init_sized, "o") \
    X(heddle_prepare, "!!o!") \
    X(heddle_statement_new, "!o!") \
    X(heddle_statement_prepare, "!!") \
    X(heddle_statement_prepare_plan, "!!") \
    X(heddle_prepare_plan, "!!o!") \
    X(heddle_convert, "!!!!") \
    X(heddle_database_convert, "!!!!!") \
    X(heddle_statement_free, "o") \
    X(heddle_statement_schema, "!!") \
    X(heddle_statement_parameters, "!!") \
    X(heddle_bind, "!!o") \
    X(heddle_bind_json, "!!") \
    X(heddle_execute, "!!") \
    X(heddle_statement_execute_device, "!!") \
    X(heddle_statement_cancel, "o") \
    X(heddle_explain, "!o!") \
    X(heddle_plan_fragments, "!!") \
    X(heddle_statement_report, "!!")

const struct call calls[] = {
#define X(name, pointers) {#name, pointers, call_##name},
    FUNCTIONS(X)
#undef X
};

const size_t ncalls = sizeof calls / sizeof *calls;
