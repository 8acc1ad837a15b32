/* Every function of include/heddle.h with every pointer argument NULL in turn, and options that
 * no header has. The table of functions is held against the header.
 *
 *   test_api_misuse HEADER
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/heddle.h"
#include "tests/api/fixture.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *header; /* path */

/* ---- one call of each function ------------------------------------------------------------- */

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

static void remove_database(const char *path)
{
    char command[160];
    snprintf(command, sizeof command, "rm -r '%s'", path);
    assert_int_equal(system(command), 0);
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

/* A letter for each pointer argument but err: ! must be given, o may be NULL. */
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

static const struct row {
    const char *name, *pointers;
    int (*call)(int k, heddle_error **err);
} rows[] = {
#define X(name, pointers) {#name, pointers, call_##name},
    FUNCTIONS(X)
#undef X
};

static void every_pointer_may_be_null(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int k = -1; k < (int)strlen(rows[i].pointers); k++) {
            heddle_error *e = NULL;
            int want = k >= 0 && rows[i].pointers[k] == '!' ? -1 : 0;
            int rc = rows[i].call(k, &e);
            if (rc != want || (want && !strstr(heddle_error_message(e), rows[i].name)))
                print_error("%s, argument %d: %d, %s\n", rows[i].name, k, rc, heddle_error_message(e));
            assert_int_equal(rc, want);
            assert_int_equal(heddle_error_get_class(e), want ? HEDDLE_ERROR_USER : 0);
            if (want) {
                assert_non_null(strstr(heddle_error_message(e), rows[i].name));
                assert_non_null(strstr(heddle_error_message(e), " is NULL"));
            }
            heddle_error_free(e);
            assert_int_equal(rows[i].call(k, NULL), want); /* nobody wants the error */
        }
}

/* ---- the table and the header --------------------------------------------------------------- */

static char *read_header(void)
{
    FILE *f = fopen(header, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static const struct row *find_row(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0)
            return &rows[i];
    return NULL;
}

/* Pointers among the parameters that p opens, but for `heddle_error **err`. */
static size_t count_pointers(const char *p)
{
    size_t n = 0;
    const char *end = strchr(p, ')'), *err = strstr(p, "heddle_error **err");
    end = err && err < end ? err : end;
    while (p < end) {
        const char *stop = p + strcspn(p, ",)");
        bool function = strstr(p, "_fn ") && strstr(p, "_fn ") < stop;
        n += function || memchr(p, '*', (size_t)((stop < end ? stop : end) - p));
        p = stop + 1;
    }
    return n;
}

static void no_function_is_forgotten(void **state)
{
    char *text = read_header();
    size_t found = 0;
    (void)state;
    for (const char *p = text; (p = strstr(p, "\nHEDDLE_API "));) {
        const char *open = strchr(p, '('), *name = open;
        while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
            name--;
        const struct row *r = find_row(name, (size_t)(open - name));
        if (!r || strlen(r->pointers) != count_pointers(open + 1))
            print_error("not in the table, or with other pointers: %.*s\n", (int)(open - name), name);
        assert_non_null(r);
        assert_int_equal(strlen(r->pointers), count_pointers(open + 1));
        found++;
        p = open;
    }
    assert_int_equal(found, COUNT(rows));
    free(text);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Options with room behind them, as a newer header's would have. */
union wide_options {
    heddle_options context;
    heddle_statement_options statement;
    size_t struct_size;
    char bytes[256];
};

static int use(union wide_options *o, bool of_statement, heddle_error **e)
{
    heddle_context *c = NULL;
    heddle_statement *s = NULL;
    int rc =
        of_statement ? heddle_prepare(database, plan, &o->statement, &s, e) : heddle_context_new(&o->context, &c, e);
    heddle_statement_free(s);
    heddle_context_free(c);
    return rc;
}

static void struct_sizes_are_checked(void **state)
{
    (void)state;
    for (int of_statement = 0; of_statement < 2; of_statement++) {
        size_t known = of_statement ? sizeof(heddle_statement_options) : sizeof(heddle_options);
        const struct {
            size_t size;
            int byte;            /* set behind what is known, -1 none */
            const char *message; /* NULL: fine */
        } cases[] = {
            {known, -1, NULL},
            {sizeof(size_t), -1, NULL},
            {known + 16, -1, NULL},
            {0, -1, "struct_size is 0, expected sizeof(heddle_"},
            {sizeof(size_t) - 1, -1, "struct_size is 7"},
            {known - 1, -1, "struct_size is"},
            {SIZE_MAX & ~(size_t)7, -1, "struct_size is 18446744073709551608"},
            {(size_t)1 << 20, -1, "struct_size is 1048576"},
            {known + 16, 9, "an option is set that this version does not have"},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
            union wide_options o;
            heddle_error *e = NULL;
            memset(&o, 0, sizeof o);
            o.struct_size = cases[i].size;
            if (cases[i].byte >= 0)
                o.bytes[known + (size_t)cases[i].byte] = 1;
            int rc = use(&o, of_statement, &e);
            if (rc != (cases[i].message ? -1 : 0))
                print_error("struct_size %zu: %s\n", cases[i].size, heddle_error_message(e));
            assert_int_equal(rc, cases[i].message ? -1 : 0);
            if (cases[i].message) {
                assert_int_equal(heddle_error_get_class(e), HEDDLE_ERROR_USER);
                assert_non_null(strstr(heddle_error_message(e), cases[i].message));
            }
            heddle_error_free(e);
        }
    }
}

/* Of an older header, of this one, of a newer one: all of it is set, nothing behind it, and it can be used. */
static void options_are_set_to_their_end(void **state)
{
    (void)state;
    for (int of_statement = 0; of_statement < 2; of_statement++) {
        size_t known = of_statement ? sizeof(heddle_statement_options) : sizeof(heddle_options);
        const size_t sizes[] = {0, 7, 8, 24, known - 8, known, known + 16, (size_t)1 << 20};
        for (size_t i = 0; i < COUNT(sizes); i++) {
            size_t written = sizes[i] >= sizeof(size_t) && sizes[i] <= known + 16 ? sizes[i] : 0;
            union wide_options o;
            memset(&o, 0xa5, sizeof o);
            if (of_statement)
                heddle_statement_options_init_sized(&o.statement, sizes[i]);
            else
                heddle_options_init_sized(&o.context, sizes[i]);
            for (size_t k = written ? sizeof(size_t) : 0; k < sizeof o; k++)
                assert_int_equal((unsigned char)o.bytes[k], k < written ? 0 : 0xa5);
            if (!written)
                continue;
            assert_int_equal(o.struct_size, written);
            assert_int_equal(use(&o, of_statement, NULL), 0);
        }
    }
    heddle_options o;
    heddle_statement_options of_statement;
    heddle_options_init(&o);
    heddle_statement_options_init(&of_statement);
    assert_int_equal(o.struct_size, sizeof o);
    assert_int_equal(of_statement.struct_size, sizeof of_statement);
}

static void tables_need_a_name(void **state)
{
    static const char *const names[] = {"", "\xff"};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct ArrowArrayStream s = make_stream();
        heddle_error *e = NULL;
        assert_int_equal(heddle_database_register(database, names[i], &s, 0, &e), -1);
        assert_int_equal(heddle_error_get_class(e), HEDDLE_ERROR_USER);
        assert_non_null(strstr(heddle_error_message(e), "name of a table"));
        assert_null(s.release);
        heddle_error_free(e);
    }
}

/* ---- a stored database, and a text file to load ----------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "api-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    FILE *f = fopen(in_dir("t.csv"), "w");
    assert_non_null(f);
    fputs("1|\n2|\n", f);
    fclose(f);
    context = new_context();
    database = new_database();
    heddle_writer *w = NULL;
    heddle_error *e = NULL;
    ok(heddle_writer_open(context, in_dir("db"), schema, &w, &e), e);
    ok(heddle_writer_commit(w, NULL, NULL, &e), e);
    heddle_writer_free(w);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    heddle_database_free(database);
    heddle_context_free(context);
    remove_database(dir);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pointer_may_be_null), cmocka_unit_test(no_function_is_forgotten),
        cmocka_unit_test(struct_sizes_are_checked),  cmocka_unit_test(options_are_set_to_their_end),
        cmocka_unit_test(tables_need_a_name),
    };
    if (argc != 2)
        return 2;
    header = argv[1];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
