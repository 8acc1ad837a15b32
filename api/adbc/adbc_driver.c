/* The entry points: a driver's table of functions. */
#include <string.h>

#include "api/adbc/adbc_internal.h"

static AdbcStatusCode release_driver(struct AdbcDriver *d, struct AdbcError *e)
{
    ADBC_NEED(d, e);
    d->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* Streams of results hold all their rows: no error comes from them but lack of memory. */
static const struct AdbcError *error_of_stream(struct ArrowArrayStream *stream, AdbcStatusCode *status)
{
    (void)stream;
    (void)status;
    return NULL;
}

#define OPTIONS(Object, prefix) \
    .Object##GetOption = prefix##_get_option, .Object##GetOptionBytes = prefix##_get_option_bytes, \
    .Object##GetOptionDouble = prefix##_get_option_double, .Object##GetOptionInt = prefix##_get_option_int, \
    .Object##SetOption = prefix##_set_option, .Object##SetOptionBytes = prefix##_set_option_bytes, \
    .Object##SetOptionDouble = prefix##_set_option_double, .Object##SetOptionInt = prefix##_set_option_int

static const struct AdbcDriver table = {
    .release = release_driver,
    .DatabaseNew = adbc_database_new,
    .DatabaseInit = adbc_database_init,
    .DatabaseRelease = adbc_database_release,
    .ConnectionNew = adbc_connection_new,
    .ConnectionInit = adbc_connection_init,
    .ConnectionRelease = adbc_connection_release,
    .ConnectionCommit = adbc_connection_commit,
    .ConnectionRollback = adbc_connection_commit,
    .ConnectionCancel = adbc_connection_cancel,
    .ConnectionGetInfo = adbc_connection_info,
    .ConnectionGetObjects = adbc_connection_objects,
    .ConnectionGetTableSchema = adbc_connection_table_schema,
    .ConnectionGetTableTypes = adbc_connection_table_types,
    .ConnectionGetStatistics = adbc_connection_statistics,
    .ConnectionGetStatisticNames = adbc_connection_statistic_names,
    .ConnectionReadPartition = adbc_connection_read_partition,
    .StatementNew = adbc_statement_new,
    .StatementRelease = adbc_statement_release,
    .StatementSetSqlQuery = adbc_statement_sql,
    .StatementSetSubstraitPlan = adbc_statement_substrait,
    .StatementPrepare = adbc_statement_prepare,
    .StatementBind = adbc_statement_bind,
    .StatementBindStream = adbc_statement_bind_stream,
    .StatementExecuteQuery = adbc_statement_execute,
    .StatementExecuteSchema = adbc_statement_execute_schema,
    .StatementExecutePartitions = adbc_statement_partitions,
    .StatementGetParameterSchema = adbc_statement_parameter_schema,
    .StatementCancel = adbc_statement_cancel,
    .ErrorGetDetailCount = adbc_error_detail_count,
    .ErrorGetDetail = adbc_error_detail,
    .ErrorFromArrayStream = error_of_stream,
    OPTIONS(Database, adbc_database),
    OPTIONS(Connection, adbc_connection),
    OPTIONS(Statement, adbc_statement),
};

/* What managers look for: the second name follows from the library's. */
__attribute__((visibility("default"))) AdbcStatusCode AdbcDriverInit(int version, void *driver,
                                                                     struct AdbcError *error);
__attribute__((visibility("default"))) AdbcStatusCode AdbcDriverHeddleInit(int version, void *driver,
                                                                           struct AdbcError *error);

AdbcStatusCode AdbcDriverInit(int version, void *driver, struct AdbcError *e)
{
    ADBC_NEED(driver, e);
    if (version != ADBC_VERSION_1_0_0 && version != ADBC_VERSION_1_1_0)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "0A000", "this driver has ADBC 1.0.0 and 1.1.0, not %d",
                         version);
    struct AdbcDriver *d = driver;
    void *manager = d->private_manager;
    memcpy(d, &table, version == ADBC_VERSION_1_0_0 ? ADBC_DRIVER_1_0_0_SIZE : sizeof table);
    d->private_manager = manager;
    d->private_data = (void *)(uintptr_t)&table;
    return ADBC_STATUS_OK;
}

AdbcStatusCode AdbcDriverHeddleInit(int version, void *driver, struct AdbcError *e)
{
    return AdbcDriverInit(version, driver, e);
}
