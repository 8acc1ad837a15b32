/* The driver's table of functions under misuse: handles that are not there, NULL in every place, calls out of order,
 * things released twice, threads that use and cancel one statement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/adbc/adbc.h"

AdbcStatusCode AdbcDriverInit(int version, void *driver, struct AdbcError *error);
AdbcStatusCode AdbcDriverHeddleInit(int version, void *driver, struct AdbcError *error);

static struct AdbcDriver d;
static const char one_row[] =
    "{\"heddle\":1,\"root\":{\"op\":\"values\",\"columns\":[{\"name\":\"a\",\"type\":\"int32\"}],"
    "\"rows\":[[1]]}}";

struct open {
    struct AdbcDatabase db;
    struct AdbcConnection con;
    struct AdbcStatement st;
};

static struct AdbcError new_error(void)
{
    return (struct AdbcError){.vendor_code = ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA};
}

/* The call fails with the status, a message and a state, once with an error to fill and once without. */
#define FAILS(wanted, ...) \
    do { \
        struct AdbcError error_ = new_error(), *e = &error_; \
        assert_int_equal(__VA_ARGS__, wanted); \
        assert_non_null(e->message); \
        assert_true(e->sqlstate[0] != 0); \
        e->release(e); \
        assert_null(e->release); \
        e = NULL; \
        assert_int_equal(__VA_ARGS__, wanted); \
    } while (0)
#define WORKS(...) \
    do { \
        struct AdbcError error_ = new_error(), *e = &error_; \
        AdbcStatusCode status_ = __VA_ARGS__; \
        if (status_ != ADBC_STATUS_OK) \
            print_error("%s\n", e->message); \
        assert_int_equal(status_, ADBC_STATUS_OK); \
    } while (0)

static void open_database(struct AdbcDatabase *db)
{
    WORKS(d.DatabaseNew(db, e));
    WORKS(d.DatabaseSetOption(db, "cache_dir", "", e));
    WORKS(d.DatabaseSetOption(db, "backend", "cpu", e));
    WORKS(d.DatabaseSetOptionInt(db, "threads", 2, e));
    WORKS(d.DatabaseInit(db, e));
}

static void open_all(struct open *o)
{
    memset(o, 0, sizeof *o);
    open_database(&o->db);
    WORKS(d.ConnectionNew(&o->con, e));
    WORKS(d.ConnectionInit(&o->con, &o->db, e));
    WORKS(d.StatementNew(&o->con, &o->st, e));
}

static void close_all(struct open *o)
{
    WORKS(d.StatementRelease(&o->st, e));
    WORKS(d.ConnectionRelease(&o->con, e));
    WORKS(d.DatabaseRelease(&o->db, e));
}

/* ---- entry points --------------------------------------------------------------------------- */

static void versions(void **state)
{
    (void)state;
    struct {
        struct AdbcDriver driver;
        char behind[8];
    } old;
    memset(&old, 0x5a, sizeof old);
    WORKS(AdbcDriverHeddleInit(ADBC_VERSION_1_0_0, &old.driver, e));
    const unsigned char *rest = (const unsigned char *)&old + ADBC_DRIVER_1_0_0_SIZE;
    for (size_t i = 0; i < sizeof old - ADBC_DRIVER_1_0_0_SIZE; i++)
        assert_int_equal(rest[i], 0x5a);
    FAILS(ADBC_STATUS_NOT_IMPLEMENTED, AdbcDriverInit(999, &old.driver, e));
    FAILS(ADBC_STATUS_NOT_IMPLEMENTED, AdbcDriverInit(2000000, &old.driver, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, AdbcDriverInit(ADBC_VERSION_1_1_0, NULL, e));
}

/* Every function is there. */
static void table_is_full(void **state)
{
    (void)state;
    void *all[sizeof d / sizeof(void *)];
    memcpy(all, &d, sizeof all);
    for (size_t i = 2; i < sizeof all / sizeof *all; i++)
        assert_non_null(all[i]);
}

/* A caller of 1.0.0 has a shorter structure: nothing is written behind it, and the vendor's code is Heddle's class. */
static void errors_of_version_1_0(void **state)
{
    (void)state;
    struct open o;
    struct AdbcError old = {.private_data = (void *)0x1234};
    open_all(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, "{}", e));
    assert_int_equal(d.StatementExecuteQuery(&o.st, NULL, NULL, &old), ADBC_STATUS_INVALID_ARGUMENT);
    assert_int_equal(old.vendor_code, HEDDLE_ERROR_USER);
    assert_ptr_equal(old.private_data, (void *)0x1234);
    assert_int_equal(d.ErrorGetDetailCount(&old), 0);
    old.release(&old);
    close_all(&o);
}

static void details(void **state)
{
    (void)state;
    struct open o;
    struct AdbcError last = new_error();
    open_all(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, "{\"heddle\":1,\"root\":{\"op\":\"nothing\"}}", e));
    for (int i = 0; i < 2; i++) /* the second error takes the place of the first */
        assert_int_equal(d.StatementPrepare(&o.st, &last), ADBC_STATUS_INVALID_ARGUMENT);
    assert_int_equal(d.ErrorGetDetailCount(&last), 2);
    struct AdbcErrorDetail path = d.ErrorGetDetail(&last, 1);
    assert_string_equal(path.key, "heddle.path");
    assert_memory_equal(path.value, "$.root", 6);
    assert_null(d.ErrorGetDetail(&last, 2).key);
    assert_null(d.ErrorGetDetail(&last, -1).key);
    assert_null(d.ErrorGetDetail(NULL, 0).key);
    assert_int_equal(d.ErrorGetDetailCount(NULL), 0);
    last.release(&last);
    assert_int_equal(d.ErrorGetDetailCount(&last), 0);
    close_all(&o);
}

/* ---- handles -------------------------------------------------------------------------------- */

/* The functions that take a handle and nothing else. */
static void handles_that_are_not_there(void **state)
{
    (void)state;
    struct AdbcDatabase db = {0};
    struct AdbcConnection con = {0};
    struct AdbcStatement st = {0};
    FAILS(ADBC_STATUS_INVALID_STATE, d.DatabaseInit(&db, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.DatabaseRelease(&db, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionRelease(&con, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionCommit(&con, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionRollback(&con, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionCancel(&con, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementNew(&con, &st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementRelease(&st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementPrepare(&st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementCancel(&st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementSetSqlQuery(&st, one_row, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementExecuteQuery(&st, NULL, NULL, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementSetOption(&st, "threads", "1", e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.DatabaseNew(NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.DatabaseRelease(NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionNew(NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionRelease(NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementRelease(NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementCancel(NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementGetOption(NULL, "threads", NULL, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.release(NULL, e));
}

static void wrong_order(void **state)
{
    (void)state;
    struct open o = {0};
    struct ArrowSchema schema;
    WORKS(d.DatabaseNew(&o.db, e));
    WORKS(d.ConnectionNew(&o.con, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionInit(&o.con, &o.db, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementNew(&o.con, &o.st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionGetInfo(&o.con, NULL, 0, NULL, e));
    WORKS(d.DatabaseInit(&o.db, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.DatabaseInit(&o.db, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.DatabaseSetOption(&o.db, "threads", "1", e));
    WORKS(d.ConnectionInit(&o.con, &o.db, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionInit(&o.con, &o.db, e));
    WORKS(d.StatementNew(&o.con, &o.st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementExecuteQuery(&o.st, NULL, NULL, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementPrepare(&o.st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementGetParameterSchema(&o.st, &schema, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementCancel(&o.st, e));
    WORKS(d.StatementSetOption(&o.st, "adbc.ingest.target_table", "t", e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementExecuteQuery(&o.st, NULL, NULL, e));
    close_all(&o);
    FAILS(ADBC_STATUS_INVALID_STATE, d.StatementRelease(&o.st, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.ConnectionRelease(&o.con, e));
    FAILS(ADBC_STATUS_INVALID_STATE, d.DatabaseRelease(&o.db, e));
}

static void missing_arguments(void **state)
{
    (void)state;
    struct open o;
    struct ArrowArray array = {0};
    struct ArrowSchema schema = {0};
    struct ArrowArrayStream stream = {0};
    open_all(&o);
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionInit(&o.con, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionSetOption(&o.con, NULL, "x", e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetInfo(&o.con, NULL, 0, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetObjects(&o.con, 0, NULL, NULL, NULL, NULL, NULL, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetObjects(&o.con, 4, NULL, NULL, NULL, NULL, NULL, &stream, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetObjects(&o.con, -1, NULL, NULL, NULL, NULL, NULL, &stream, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetTableSchema(&o.con, NULL, NULL, NULL, &schema, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetTableSchema(&o.con, NULL, NULL, "t", NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetTableTypes(&o.con, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetStatistics(&o.con, NULL, NULL, NULL, 0, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.ConnectionGetStatisticNames(&o.con, NULL, e));
    FAILS(ADBC_STATUS_NOT_IMPLEMENTED, d.ConnectionReadPartition(&o.con, NULL, 0, &stream, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementNew(&o.con, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementSetSqlQuery(&o.st, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementSetSubstraitPlan(&o.st, NULL, 0, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementBind(&o.st, NULL, &schema, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementBind(&o.st, &array, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementBind(&o.st, &array, &schema, e)); /* released ones */
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementBindStream(&o.st, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementBindStream(&o.st, &stream, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementExecuteSchema(&o.st, NULL, e));
    FAILS(ADBC_STATUS_NOT_IMPLEMENTED, d.StatementExecutePartitions(&o.st, &schema, NULL, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementGetOptionInt(&o.st, "threads", NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementGetOption(&o.st, "threads", NULL, NULL, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementSetOptionBytes(&o.st, "threads", NULL, 3, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementSetOptionBytes(&o.st, "threads", (const uint8_t *)"1\0", 2, e));
    FAILS(ADBC_STATUS_INVALID_ARGUMENT, d.StatementSetOptionDouble(&o.st, "threads", 0.5, e));
    FAILS(ADBC_STATUS_NOT_FOUND, d.StatementGetOption(&o.st, "no such", NULL, NULL, e));
    close_all(&o);
}

/* Buffers of getters: too small says how large, and writes nothing. */
static void lengths_of_options(void **state)
{
    (void)state;
    struct open o;
    char text[8] = "keep";
    size_t n = 2;
    open_all(&o);
    WORKS(d.ConnectionGetOption(&o.con, "adbc.connection.autocommit", text, &n, e));
    assert_int_equal(n, 5);
    assert_string_equal(text, "keep");
    WORKS(d.ConnectionGetOption(&o.con, "adbc.connection.autocommit", text, &n, e));
    assert_string_equal(text, "true");
    n = 0;
    WORKS(d.ConnectionGetOption(&o.con, "adbc.connection.autocommit", NULL, &n, e));
    assert_int_equal(n, 5);
    n = 4;
    WORKS(d.ConnectionGetOptionBytes(&o.con, "adbc.connection.autocommit", (uint8_t *)text, &n, e));
    assert_int_equal(n, 4);
    close_all(&o);
}

/* ---- lifetimes ------------------------------------------------------------------------------ */

static int64_t count_rows(struct ArrowArrayStream *s)
{
    int64_t n = 0;
    for (;;) {
        struct ArrowArray batch;
        assert_int_equal(s->get_next(s, &batch), 0);
        if (!batch.release)
            return n;
        n += batch.length;
        batch.release(&batch);
    }
}

/* Handles may go in the wrong order, and rows stay. */
static void streams_outlive_handles(void **state)
{
    (void)state;
    struct open o;
    struct ArrowArrayStream rows;
    struct ArrowSchema schema;
    int64_t affected = 7;
    open_all(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, one_row, e));
    WORKS(d.StatementExecuteQuery(&o.st, &rows, &affected, e));
    assert_int_equal(affected, -1);
    WORKS(d.DatabaseRelease(&o.db, e));
    WORKS(d.ConnectionRelease(&o.con, e));
    WORKS(d.StatementExecuteQuery(&o.st, NULL, NULL, e));
    WORKS(d.StatementRelease(&o.st, e));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows.get_schema(&rows, &schema), 0);
        assert_int_equal(schema.n_children, 1);
        schema.release(&schema);
    }
    assert_int_equal(count_rows(&rows), 1);
    rows.release(&rows);
}

/* Metadata: parts may be moved out of their parents, and the parents released first. */
static void metadata_comes_apart(void **state)
{
    (void)state;
    struct open o;
    struct ArrowArrayStream rows;
    struct ArrowSchema schema, name;
    struct ArrowArray batch, names;
    open_all(&o);
    WORKS(d.ConnectionGetStatisticNames(&o.con, &rows, e));
    close_all(&o);
    assert_int_equal(rows.get_schema(&rows, &schema), 0);
    assert_int_equal(rows.get_next(&rows, &batch), 0);
    assert_int_equal(count_rows(&rows), 0);
    rows.release(&rows);
    name = *schema.children[0];
    schema.children[0]->release = NULL;
    schema.release(&schema);
    names = *batch.children[0];
    batch.children[0]->release = NULL;
    batch.release(&batch);
    assert_string_equal(name.name, "statistic_name");
    assert_memory_equal(names.buffers[2], "adbc.statistic.", 15);
    name.release(&name);
    names.release(&names);
}

/* What was bound and never used goes with the statement, or with what is bound next. */
static void bound_streams_are_released(void **state)
{
    (void)state;
    struct open o;
    struct ArrowArrayStream rows[2];
    open_all(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, one_row, e));
    for (int i = 0; i < 2; i++)
        WORKS(d.StatementExecuteQuery(&o.st, &rows[i], NULL, e));
    for (int i = 0; i < 2; i++) {
        WORKS(d.StatementBindStream(&o.st, &rows[i], e));
        assert_null(rows[i].release);
    }
    close_all(&o);
}

/* ---- threads -------------------------------------------------------------------------------- */

static const char slow[] =
    "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"sum\",\"arg\":\"(v * w) % "
    "7\",\"as\":\"s\"}],"
    "\"input\":{\"op\":\"join\",\"kind\":\"inner\",\"strategy\":\"loop\",\"on\":[],\"residual\":\"v + w <> "
    "1\",\"left\":"
    "{\"op\":\"scan\",\"table\":\"t\"},\"right\":{\"op\":\"project\",\"input\":{\"op\":\"scan\",\"table\":\"t\"},"
    "\"exprs\":[{\"expr\":\"v\",\"as\":\"w\"}]}}}}";

static void *cancel_soon(void *statement)
{
    for (int i = 0; i < 2000; i++) {
        usleep(1000);
        if (i > 50 && d.StatementCancel(statement, NULL) == ADBC_STATUS_OK)
            return NULL;
    }
    return statement;
}

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}
static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

/* Table t: 0, 1, ... 39999. The structs are lent. */
static void make_numbers(struct open *o)
{
    static int64_t values[40000];
    static const void *buffers[] = {NULL, values}, *none[] = {NULL};
    static struct ArrowSchema column, *columns[] = {&column}, schema;
    static struct ArrowArray array, *arrays[] = {&array}, batch;
    for (int i = 0; i < 40000; i++)
        values[i] = i;
    column = (struct ArrowSchema){.format = "l", .name = "v", .release = release_schema};
    schema = (struct ArrowSchema){.format = "+s", .n_children = 1, .children = columns, .release = release_schema};
    array = (struct ArrowArray){.length = 40000, .n_buffers = 2, .buffers = buffers, .release = release_array};
    batch = (struct ArrowArray){.length = 40000,
                                .n_buffers = 1,
                                .buffers = none,
                                .n_children = 1,
                                .children = arrays,
                                .release = release_array};
    WORKS(d.StatementSetOption(&o->st, "adbc.ingest.target_table", "t", e));
    WORKS(d.StatementBind(&o->st, &batch, &schema, e));
    assert_null(batch.release);
    WORKS(d.StatementExecuteQuery(&o->st, NULL, NULL, e));
}

/* Parameters whose arrays are not what their schema says: an error, and all is released. */
static void hostile_parameters(void **state)
{
    (void)state;
    static const char plan[] =
        "{\"heddle\":1,\"params\":{\"p\":{\"type\":\"string\",\"nullable\":true}},\"root\":{\"op\":\"values\","
        "\"columns\":[{\"name\":\"a\",\"type\":\"int32\"}],\"rows\":[[1]]}}";
    static const int32_t backwards[] = {3, 1}, beyond[] = {0, 1, 7, 0};
    static const struct {
        const char *format;
        int64_t length, offset, nbuffers;
        const void *data, *rest;
    } cases[] = {
        {"u", 1, 0, 3, backwards, "abc"},
        {"u", 1, 0, 2, beyond, NULL},
        {"u", 0, 0, 3, beyond, "a"},
        {"u", 1, -1, 3, beyond, "a"},
        {"l", 1, 0, 2, NULL, NULL},
        {"l", 1, 0, 0, NULL, NULL},
        {"vu", 1, 0, 2, "\x20\0\0\0abcd\1\0\0\0\0\0\0", NULL},
        {"d:99", 1, 0, 2, beyond, NULL},
        {"+l", 1, 0, 2, beyond, NULL},
        {"", 1, 0, 2, beyond, NULL},
        {"tsx:", 1, 0, 2, beyond, NULL},
    };
    struct open o;
    open_all(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, plan, e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const void *buffers[] = {NULL, cases[i].data, cases[i].rest}, *none[] = {NULL};
        struct ArrowSchema column = {.format = cases[i].format, .name = "p", .release = release_schema};
        struct ArrowSchema *columns[] = {&column};
        struct ArrowSchema schema = {.format = "+s", .n_children = 1, .children = columns, .release = release_schema};
        struct ArrowArray array = {.length = cases[i].length,
                                   .offset = cases[i].offset,
                                   .n_buffers = cases[i].nbuffers,
                                   .buffers = buffers,
                                   .release = release_array};
        struct ArrowArray *arrays[] = {&array};
        struct ArrowArray batch = {.length = 1,
                                   .n_buffers = 1,
                                   .buffers = none,
                                   .n_children = 1,
                                   .children = arrays,
                                   .release = release_array};
        struct AdbcError why = new_error();
        WORKS(d.StatementBind(&o.st, &batch, &schema, e));
        assert_int_equal(d.StatementExecuteQuery(&o.st, NULL, NULL, &why), ADBC_STATUS_INVALID_ARGUMENT);
        why.release(&why);
    }
    close_all(&o);
}

static void cancelling(void **state)
{
    (void)state;
    struct open o;
    pthread_t thread;
    void *failed;
    open_all(&o);
    make_numbers(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, slow, e));
    for (int i = 0; i < 3; i++) {
        struct AdbcError why = new_error();
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &o.st), 0);
        assert_int_equal(d.StatementExecuteQuery(&o.st, NULL, NULL, &why), ADBC_STATUS_CANCELLED);
        assert_memory_equal(why.sqlstate, "57014", 5);
        why.release(&why);
        pthread_join(thread, &failed);
        assert_null(failed);
    }
    WORKS(d.StatementSetSqlQuery(&o.st, one_row, e));
    WORKS(d.StatementExecuteQuery(&o.st, NULL, NULL, e));
    close_all(&o);
}

static atomic_int executed;

/* Whoever comes second is told so. */
static void *execute_often(void *statement)
{
    for (int i = 0; i < 50; i++) {
        AdbcStatusCode status = d.StatementExecuteQuery(statement, NULL, NULL, NULL);
        executed += status == ADBC_STATUS_OK;
        if (status != ADBC_STATUS_OK && status != ADBC_STATUS_INVALID_STATE && status != ADBC_STATUS_CANCELLED)
            return statement;
        d.StatementCancel(statement, NULL);
    }
    return NULL;
}

static void one_statement_two_threads(void **state)
{
    (void)state;
    struct open o;
    pthread_t threads[3];
    void *failed;
    open_all(&o);
    WORKS(d.StatementSetSqlQuery(&o.st, one_row, e));
    WORKS(d.StatementPrepare(&o.st, e));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, execute_often, &o.st), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    WORKS(d.StatementExecuteQuery(&o.st, NULL, NULL, e));
    assert_true(executed > 0);
    close_all(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
        cmocka_unit_test(table_is_full),
        cmocka_unit_test(errors_of_version_1_0),
        cmocka_unit_test(details),
        cmocka_unit_test(handles_that_are_not_there),
        cmocka_unit_test(wrong_order),
        cmocka_unit_test(missing_arguments),
        cmocka_unit_test(lengths_of_options),
        cmocka_unit_test(streams_outlive_handles),
        cmocka_unit_test(metadata_comes_apart),
        cmocka_unit_test(bound_streams_are_released),
        cmocka_unit_test(hostile_parameters),
        cmocka_unit_test(cancelling),
        cmocka_unit_test(one_statement_two_threads),
    };
    if (AdbcDriverInit(ADBC_VERSION_1_1_0, &d, NULL) != ADBC_STATUS_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
