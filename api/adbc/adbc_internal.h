/* The objects behind ADBC's handles, and what the files of this folder have of each other. Everything
 * stands on include/heddle.h alone. */
#ifndef HEDDLE_ADBC_INTERNAL_H
#define HEDDLE_ADBC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/adbc/adbc.h"
#include "api/adbc/adbc_catalog.h"
#include "api/adbc/heddle_adbc.h"

/* ---- errors -------------------------------------------------------------------------------- */

/* Fills e, which may be NULL, and returns the status. */
__attribute__((format(printf, 4, 5))) AdbcStatusCode adbc_fail(struct AdbcError *e, AdbcStatusCode status,
                                                               const char *sqlstate, const char *format, ...);
AdbcStatusCode adbc_fail_heddle(struct AdbcError *e, heddle_error *from); /* from is freed */
int adbc_error_detail_count(const struct AdbcError *e);
struct AdbcErrorDetail adbc_error_detail(const struct AdbcError *e, int index);

#define ADBC_TRY(call) \
    do { \
        AdbcStatusCode status_ = (call); \
        if (status_ != ADBC_STATUS_OK) \
            return status_; \
    } while (0)
/* At the head of a function: an argument that may not be NULL. */
#define ADBC_NEED(argument, e) \
    do { \
        if (!(argument)) \
            return adbc_fail((e), ADBC_STATUS_INVALID_ARGUMENT, "HY009", "%s: %s is NULL", __func__, #argument); \
    } while (0)
#define ADBC_NO_MEMORY(e) adbc_fail((e), ADBC_STATUS_INTERNAL, "HY001", "out of memory")

/* ---- options ------------------------------------------------------------------------------- */

enum adbc_option {
#define O(object, id, name, kind, standard) ADBC_OPT_##id,
#include "api/adbc/adbc_options.def"
    ADBC_OPT_COUNT
};
/* CONTEXT: of options that the database has because they are the context's. */
enum adbc_object {
    ADBC_OBJECT_DATABASE,
    ADBC_OBJECT_CONTEXT = ADBC_OBJECT_DATABASE,
    ADBC_OBJECT_CONNECTION,
    ADBC_OBJECT_STATEMENT
};

/* Values that were set, as text; under a lock, because getters may be called by any thread. */
struct adbc_options {
    enum adbc_object object;
    pthread_mutex_t mutex;
    char *set[ADBC_OPT_COUNT];
};
void adbc_options_init(struct adbc_options *o, enum adbc_object object);
void adbc_options_release(struct adbc_options *o);
/* *id: which one it was. value NULL: back to the default. */
AdbcStatusCode adbc_options_set(struct adbc_options *o, const char *key, const char *value, enum adbc_option *id,
                                struct AdbcError *e);
AdbcStatusCode adbc_options_find(const struct adbc_options *o, const char *key, enum adbc_option *id,
                                 struct AdbcError *e);
/* The value or the default. Not while another thread sets options: for the object's own calls. */
const char *adbc_option_text(const struct adbc_options *o, enum adbc_option id);
uint64_t adbc_option_number(const struct adbc_options *o, enum adbc_option id);
bool adbc_option_bool(const struct adbc_options *o, enum adbc_option id);
/* As they were set; texts stay the options'. */
void adbc_context_options(const struct adbc_options *o, heddle_options *out);
void adbc_statement_options_of(const struct adbc_options *o, heddle_statement_options *out);

/* ---- objects ------------------------------------------------------------------------------- */

/* The database behind connections, statements and streams; lives as long as one of them. */
struct adbc_core {
    atomic_int refs;
    heddle_context *context;
    heddle_database *db;
    heddle_adbc_translate_fn translate; /* NULL: the process's */
    void *translate_user;
    pthread_mutex_t ingest; /* one at a time, because appending replaces a table by a longer one */
};
struct adbc_core *adbc_core_keep(struct adbc_core *c);
void adbc_core_release(struct adbc_core *c); /* NULL is fine */

struct adbc_database {
    struct adbc_options options;
    struct adbc_core *core; /* NULL until Init */
};
struct adbc_connection {
    struct adbc_options options;
    struct adbc_core *core; /* NULL until Init */
};

struct adbc_bytes {
    char *p; /* NUL behind the n bytes */
    size_t n, room;
    bool failed; /* no memory */
};
void adbc_bytes_add(struct adbc_bytes *b, const void *p, size_t n);

struct adbc_statement {
    struct adbc_options options;
    struct adbc_core *core;
    bool read_only;
    enum adbc_query { ADBC_QUERY_NONE, ADBC_QUERY_TEXT, ADBC_QUERY_PLAN } kind;
    struct adbc_bytes query;       /* text: SQL, or a plan in JSON; plan: Substrait */
    bool prepared;                 /* by Prepare: it is kept between executions */
    heddle_statement *s;           /* NULL: none */
    struct ArrowArrayStream bound; /* release NULL: nothing */
    pthread_mutex_t mutex;         /* of what follows, with s while busy */
    bool busy, cancelled;
};

/* The handles. A handle whose object was never made, or is gone, is an error. */
AdbcStatusCode adbc_get_connection(struct AdbcConnection *h, struct adbc_connection **out, struct AdbcError *e);
AdbcStatusCode adbc_get_statement(struct AdbcStatement *h, struct adbc_statement **out, struct AdbcError *e);

/* A translator's plan for SQL; NOT_IMPLEMENTED if there is no translator. */
AdbcStatusCode adbc_translate(struct adbc_core *c, const char *sql, struct adbc_bytes *plan, struct AdbcError *e);

bool adbc_has_translator(const struct adbc_core *c);

/* Puts the rows of the statement's bound stream into a table. */
AdbcStatusCode adbc_ingest(struct adbc_statement *s, int64_t *rows_affected, struct AdbcError *e);
bool adbc_statement_cancelled(struct adbc_statement *s);
/* Executes the prepared plan once for each bound row. *out: the rows of all, one after the other. */
AdbcStatusCode adbc_execute_bound(struct adbc_statement *s, struct ArrowArrayStream *out, struct AdbcError *e);

/* ---- the table of functions: driver.c ------------------------------------------------------- */

/* X_options: the options of an object, with what `key` shows made anew. */
#define ADBC_FUNCTIONS(prefix, Object) \
    AdbcStatusCode prefix##_options(struct Object *, const char *key, struct adbc_options **out, struct AdbcError *); \
    AdbcStatusCode prefix##_get_option(struct Object *, const char *, char *, size_t *, struct AdbcError *); \
    AdbcStatusCode prefix##_get_option_bytes(struct Object *, const char *, uint8_t *, size_t *, struct AdbcError *); \
    AdbcStatusCode prefix##_get_option_double(struct Object *, const char *, double *, struct AdbcError *); \
    AdbcStatusCode prefix##_get_option_int(struct Object *, const char *, int64_t *, struct AdbcError *); \
    AdbcStatusCode prefix##_set_option(struct Object *, const char *, const char *, struct AdbcError *); \
    AdbcStatusCode prefix##_set_option_bytes(struct Object *, const char *, const uint8_t *, size_t, \
                                             struct AdbcError *); \
    AdbcStatusCode prefix##_set_option_double(struct Object *, const char *, double, struct AdbcError *); \
    AdbcStatusCode prefix##_set_option_int(struct Object *, const char *, int64_t, struct AdbcError *);
ADBC_FUNCTIONS(adbc_database, AdbcDatabase)
ADBC_FUNCTIONS(adbc_connection, AdbcConnection)
ADBC_FUNCTIONS(adbc_statement, AdbcStatement)

AdbcStatusCode adbc_database_new(struct AdbcDatabase *h, struct AdbcError *e);
AdbcStatusCode adbc_database_init(struct AdbcDatabase *h, struct AdbcError *e);
AdbcStatusCode adbc_database_release(struct AdbcDatabase *h, struct AdbcError *e);

AdbcStatusCode adbc_connection_new(struct AdbcConnection *h, struct AdbcError *e);
AdbcStatusCode adbc_connection_init(struct AdbcConnection *h, struct AdbcDatabase *d, struct AdbcError *e);
AdbcStatusCode adbc_connection_release(struct AdbcConnection *h, struct AdbcError *e);
AdbcStatusCode adbc_connection_commit(struct AdbcConnection *h, struct AdbcError *e);
AdbcStatusCode adbc_connection_cancel(struct AdbcConnection *h, struct AdbcError *e);
AdbcStatusCode adbc_connection_read_partition(struct AdbcConnection *h, const uint8_t *bytes, size_t n,
                                              struct ArrowArrayStream *out, struct AdbcError *e);
AdbcStatusCode adbc_connection_info(struct AdbcConnection *h, const uint32_t *codes, size_t n,
                                    struct ArrowArrayStream *out, struct AdbcError *e);
AdbcStatusCode adbc_connection_table_types(struct AdbcConnection *h, struct ArrowArrayStream *out, struct AdbcError *e);
AdbcStatusCode adbc_connection_table_schema(struct AdbcConnection *h, const char *catalog, const char *db_schema,
                                            const char *table, struct ArrowSchema *out, struct AdbcError *e);
AdbcStatusCode adbc_connection_objects(struct AdbcConnection *h, int depth, const char *catalog, const char *db_schema,
                                       const char *table, const char **types, const char *column,
                                       struct ArrowArrayStream *out, struct AdbcError *e);
AdbcStatusCode adbc_connection_statistics(struct AdbcConnection *h, const char *catalog, const char *db_schema,
                                          const char *table, char approximate, struct ArrowArrayStream *out,
                                          struct AdbcError *e);
AdbcStatusCode adbc_connection_statistic_names(struct AdbcConnection *h, struct ArrowArrayStream *out,
                                               struct AdbcError *e);

AdbcStatusCode adbc_statement_new(struct AdbcConnection *c, struct AdbcStatement *h, struct AdbcError *e);
AdbcStatusCode adbc_statement_release(struct AdbcStatement *h, struct AdbcError *e);
AdbcStatusCode adbc_statement_sql(struct AdbcStatement *h, const char *text, struct AdbcError *e);
AdbcStatusCode adbc_statement_substrait(struct AdbcStatement *h, const uint8_t *plan, size_t n, struct AdbcError *e);
AdbcStatusCode adbc_statement_prepare(struct AdbcStatement *h, struct AdbcError *e);
AdbcStatusCode adbc_statement_bind(struct AdbcStatement *h, struct ArrowArray *values, struct ArrowSchema *schema,
                                   struct AdbcError *e);
AdbcStatusCode adbc_statement_bind_stream(struct AdbcStatement *h, struct ArrowArrayStream *values,
                                          struct AdbcError *e);
AdbcStatusCode adbc_statement_execute(struct AdbcStatement *h, struct ArrowArrayStream *out, int64_t *rows_affected,
                                      struct AdbcError *e);
AdbcStatusCode adbc_statement_execute_schema(struct AdbcStatement *h, struct ArrowSchema *out, struct AdbcError *e);
AdbcStatusCode adbc_statement_parameter_schema(struct AdbcStatement *h, struct ArrowSchema *out, struct AdbcError *e);
AdbcStatusCode adbc_statement_partitions(struct AdbcStatement *h, struct ArrowSchema *schema,
                                         struct AdbcPartitions *partitions, int64_t *rows_affected,
                                         struct AdbcError *e);
AdbcStatusCode adbc_statement_cancel(struct AdbcStatement *h, struct AdbcError *e);

#endif
