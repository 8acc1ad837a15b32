/* The ABI of Arrow Database Connectivity, revision 1.1.0: the structures, constants and table of functions that a driver
 * and its manager have in common, in the order of the specification (https://arrow.apache.org/adbc/, "C/C++ API";
 * format/adbc.h of Apache Arrow ADBC). Declarations only; what a function has to do the specification says. */
#ifndef HEDDLE_ADBC_ADBC_H
#define HEDDLE_ADBC_ADBC_H

#include <stddef.h>
#include <stdint.h>

#include "include/heddle.h" /* the Arrow C Data Interface */

typedef uint8_t AdbcStatusCode;
enum {
    ADBC_STATUS_OK,
    ADBC_STATUS_UNKNOWN,
    ADBC_STATUS_NOT_IMPLEMENTED,
    ADBC_STATUS_NOT_FOUND,
    ADBC_STATUS_ALREADY_EXISTS,
    ADBC_STATUS_INVALID_ARGUMENT,
    ADBC_STATUS_INVALID_STATE,
    ADBC_STATUS_INVALID_DATA,
    ADBC_STATUS_INTEGRITY,
    ADBC_STATUS_INTERNAL,
    ADBC_STATUS_IO,
    ADBC_STATUS_CANCELLED
};

#define ADBC_VERSION_1_0_0 1000000
#define ADBC_VERSION_1_1_0 1001000
/* In AdbcError.vendor_code: the caller's structure has the members of 1.1.0. */
#define ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA INT32_MIN

struct AdbcDriver;
struct AdbcPartitions; /* the driver makes none */

struct AdbcError {
    char *message;
    int32_t vendor_code;
    char sqlstate[5];
    void (*release)(struct AdbcError *error);
    void *private_data; /* 1.1.0 */
    struct AdbcDriver *private_driver; /* 1.1.0 */
};
struct AdbcErrorDetail {
    const char *key;
    const uint8_t *value;
    size_t value_length;
};
struct AdbcDatabase {
    void *private_data;
    struct AdbcDriver *private_driver;
};
struct AdbcConnection {
    void *private_data;
    struct AdbcDriver *private_driver;
};
struct AdbcStatement {
    void *private_data;
    struct AdbcDriver *private_driver;
};
/* Codes of GetInfo. */
enum {
    ADBC_INFO_VENDOR_NAME,
    ADBC_INFO_VENDOR_VERSION,
    ADBC_INFO_VENDOR_ARROW_VERSION,
    ADBC_INFO_VENDOR_SQL,
    ADBC_INFO_VENDOR_SUBSTRAIT,
    ADBC_INFO_VENDOR_SUBSTRAIT_MIN_VERSION,
    ADBC_INFO_VENDOR_SUBSTRAIT_MAX_VERSION,
    ADBC_INFO_DRIVER_NAME = 100,
    ADBC_INFO_DRIVER_VERSION,
    ADBC_INFO_DRIVER_ARROW_VERSION,
    ADBC_INFO_DRIVER_ADBC_VERSION
};
/* Depths of GetObjects. */
enum { ADBC_OBJECT_DEPTH_ALL, ADBC_OBJECT_DEPTH_CATALOGS, ADBC_OBJECT_DEPTH_DB_SCHEMAS, ADBC_OBJECT_DEPTH_TABLES };

#define ADBC_FN(name, object, ...) AdbcStatusCode (*name)(struct object *, __VA_ARGS__)
/* Four getters and, of the setters, the three that 1.0.0 has not. */
#define ADBC_GETTERS(object) \
    ADBC_FN(object##GetOption, Adbc##object, const char *, char *, size_t *, struct AdbcError *); \
    ADBC_FN(object##GetOptionBytes, Adbc##object, const char *, uint8_t *, size_t *, struct AdbcError *); \
    ADBC_FN(object##GetOptionDouble, Adbc##object, const char *, double *, struct AdbcError *); \
    ADBC_FN(object##GetOptionInt, Adbc##object, const char *, int64_t *, struct AdbcError *)
#define ADBC_SETTERS(object) \
    ADBC_FN(object##SetOptionBytes, Adbc##object, const char *, const uint8_t *, size_t, struct AdbcError *); \
    ADBC_FN(object##SetOptionDouble, Adbc##object, const char *, double, struct AdbcError *); \
    ADBC_FN(object##SetOptionInt, Adbc##object, const char *, int64_t, struct AdbcError *)

struct AdbcDriver {
    void *private_data;
    void *private_manager;
    ADBC_FN(release, AdbcDriver, struct AdbcError *);

    ADBC_FN(DatabaseInit, AdbcDatabase, struct AdbcError *);
    ADBC_FN(DatabaseNew, AdbcDatabase, struct AdbcError *);
    ADBC_FN(DatabaseSetOption, AdbcDatabase, const char *, const char *, struct AdbcError *);
    ADBC_FN(DatabaseRelease, AdbcDatabase, struct AdbcError *);

    ADBC_FN(ConnectionCommit, AdbcConnection, struct AdbcError *);
    ADBC_FN(ConnectionGetInfo, AdbcConnection, const uint32_t *, size_t, struct ArrowArrayStream *, struct AdbcError *);
    ADBC_FN(ConnectionGetObjects, AdbcConnection, int, const char *, const char *, const char *, const char **,
            const char *, struct ArrowArrayStream *, struct AdbcError *);
    ADBC_FN(ConnectionGetTableSchema, AdbcConnection, const char *, const char *, const char *, struct ArrowSchema *,
            struct AdbcError *);
    ADBC_FN(ConnectionGetTableTypes, AdbcConnection, struct ArrowArrayStream *, struct AdbcError *);
    ADBC_FN(ConnectionInit, AdbcConnection, struct AdbcDatabase *, struct AdbcError *);
    ADBC_FN(ConnectionNew, AdbcConnection, struct AdbcError *);
    ADBC_FN(ConnectionSetOption, AdbcConnection, const char *, const char *, struct AdbcError *);
    ADBC_FN(ConnectionReadPartition, AdbcConnection, const uint8_t *, size_t, struct ArrowArrayStream *,
            struct AdbcError *);
    ADBC_FN(ConnectionRelease, AdbcConnection, struct AdbcError *);
    ADBC_FN(ConnectionRollback, AdbcConnection, struct AdbcError *);

    ADBC_FN(StatementBind, AdbcStatement, struct ArrowArray *, struct ArrowSchema *, struct AdbcError *);
    ADBC_FN(StatementBindStream, AdbcStatement, struct ArrowArrayStream *, struct AdbcError *);
    ADBC_FN(StatementExecuteQuery, AdbcStatement, struct ArrowArrayStream *, int64_t *, struct AdbcError *);
    ADBC_FN(StatementExecutePartitions, AdbcStatement, struct ArrowSchema *, struct AdbcPartitions *, int64_t *,
            struct AdbcError *);
    ADBC_FN(StatementGetParameterSchema, AdbcStatement, struct ArrowSchema *, struct AdbcError *);
    AdbcStatusCode (*StatementNew)(struct AdbcConnection *, struct AdbcStatement *, struct AdbcError *);
    ADBC_FN(StatementPrepare, AdbcStatement, struct AdbcError *);
    ADBC_FN(StatementRelease, AdbcStatement, struct AdbcError *);
    ADBC_FN(StatementSetOption, AdbcStatement, const char *, const char *, struct AdbcError *);
    ADBC_FN(StatementSetSqlQuery, AdbcStatement, const char *, struct AdbcError *);
    ADBC_FN(StatementSetSubstraitPlan, AdbcStatement, const uint8_t *, size_t, struct AdbcError *);

    /* From here on 1.1.0: not there where the caller asked for 1.0.0. */
    int (*ErrorGetDetailCount)(const struct AdbcError *error);
    struct AdbcErrorDetail (*ErrorGetDetail)(const struct AdbcError *error, int index);
    const struct AdbcError *(*ErrorFromArrayStream)(struct ArrowArrayStream *stream, AdbcStatusCode *status);

    ADBC_GETTERS(Database);
    ADBC_SETTERS(Database);

    ADBC_FN(ConnectionCancel, AdbcConnection, struct AdbcError *);
    ADBC_GETTERS(Connection);
    ADBC_FN(ConnectionGetStatistics, AdbcConnection, const char *, const char *, const char *, char,
            struct ArrowArrayStream *, struct AdbcError *);
    ADBC_FN(ConnectionGetStatisticNames, AdbcConnection, struct ArrowArrayStream *, struct AdbcError *);
    ADBC_SETTERS(Connection);

    ADBC_FN(StatementCancel, AdbcStatement, struct AdbcError *);
    ADBC_FN(StatementExecuteSchema, AdbcStatement, struct ArrowSchema *, struct AdbcError *);
    ADBC_GETTERS(Statement);
    ADBC_SETTERS(Statement);
};
#define ADBC_DRIVER_1_0_0_SIZE (offsetof(struct AdbcDriver, ErrorGetDetailCount))

#endif
