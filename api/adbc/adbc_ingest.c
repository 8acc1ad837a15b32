/* Rows that are bound go into a table of the process. */
#include <string.h>

#include "api/adbc/adbc_internal.h"
#include "api/adbc/adbc_stream.h"

/* A table's rows, in the layout of results. */
static AdbcStatusCode scan(heddle_database *db, const char *table, struct ArrowArrayStream *rows,
                           struct ArrowSchema *schema, struct AdbcError *e)
{
    heddle_statement *s = NULL;
    heddle_error *error = NULL;
    ADBC_TRY(adbc_prepare_scan(db, table, &s, e));
    int rc = heddle_statement_schema(s, schema, &error);
    if (rc == 0 && (rc = heddle_execute(s, rows, &error)) != 0)
        schema->release(schema);
    heddle_statement_free(s);
    return rc == 0 ? ADBC_STATUS_OK : adbc_fail_heddle(e, error);
}

/* ALREADY_EXISTS, as the specification has it, unless columns agree in name, order and type. What may be NULL in
 * either may be NULL in both together. */
static AdbcStatusCode agree(const char *table, struct ArrowSchema *there, const struct ArrowSchema *more,
                            struct AdbcError *e)
{
    if (there->n_children != more->n_children)
        return adbc_fail(e, ADBC_STATUS_ALREADY_EXISTS, "42S01", "table \"%s\" has %lld columns, the rows have %lld",
                         table, (long long)there->n_children, (long long)more->n_children);
    for (int64_t i = 0; i < there->n_children; i++) {
        struct ArrowSchema *a = there->children[i], *b = more->children[i];
        if (strcmp(a->name, b->name) != 0 || strcmp(a->format, b->format) != 0)
            return adbc_fail(e, ADBC_STATUS_ALREADY_EXISTS, "42S01",
                             "table \"%s\" has \"%s\" of format %s where the rows have \"%s\" of format %s", table,
                             a->name, a->format, b->name, b->format);
        a->flags |= b->flags;
    }
    return ADBC_STATUS_OK;
}

/* Rows of two scans as one stream. */
static AdbcStatusCode both(struct adbc_statement *s, const char *table, heddle_database *fresh,
                           struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct ArrowArrayStream rows[2];
    struct ArrowSchema schemas[2];
    ADBC_TRY(scan(s->core->db, table, &rows[0], &schemas[0], e));
    AdbcStatusCode status = scan(fresh, table, &rows[1], &schemas[1], e);
    if (status != ADBC_STATUS_OK) {
        rows[0].release(&rows[0]);
        schemas[0].release(&schemas[0]);
        return status;
    }
    status = agree(table, &schemas[0], &schemas[1], e);
    schemas[1].release(&schemas[1]);
    if (status == ADBC_STATUS_OK)
        return adbc_stream_concat(NULL, &schemas[0], rows, 2, out, e);
    schemas[0].release(&schemas[0]);
    rows[0].release(&rows[0]);
    rows[1].release(&rows[1]);
    return status;
}

static int facts_of(const struct adbc_statement *s)
{
    return adbc_option_bool(&s->options, ADBC_OPT_FACTS) ? HEDDLE_FACTS_NOW : HEDDLE_FACTS_LAZY;
}

/* The table is replaced by one with its rows and the new ones, which a database of their own gives the layout of
 * results. So appending costs what the table is large. */
static AdbcStatusCode append(struct adbc_statement *s, const char *table, struct ArrowArrayStream *rows,
                             struct AdbcError *e)
{
    heddle_database *fresh;
    heddle_error *error = NULL;
    struct ArrowArrayStream all;
    if (heddle_database_open(s->core->context, NULL, 0, &fresh, &error) != 0) {
        rows->release(rows);
        return adbc_fail_heddle(e, error);
    }
    AdbcStatusCode status = ADBC_STATUS_OK;
    if (heddle_database_register(fresh, table, rows, HEDDLE_FACTS_NEVER, &error) != 0)
        status = adbc_fail_heddle(e, error);
    if (status == ADBC_STATUS_OK)
        status = both(s, table, fresh, &all, e);
    heddle_database_free(fresh);
    int facts = facts_of(s);
    if (status == ADBC_STATUS_OK && heddle_database_replace(s->core->db, table, &all, facts, &error) != 0)
        status = adbc_fail_heddle(e, error);
    return status;
}

static AdbcStatusCode find(struct adbc_core *c, const char *table, const char **type, struct AdbcError *e)
{
    cJSON *catalog;
    ADBC_TRY(adbc_catalog(c, &catalog, e));
    const cJSON *t = adbc_catalog_find(catalog, table);
    *type = t ? adbc_catalog_table_type(t) : NULL;
    cJSON_Delete(catalog);
    return ADBC_STATUS_OK;
}

enum action { CREATE, APPEND, REPLACE };

/* What the mode asks for, the table being what it is. */
static AdbcStatusCode choose(struct adbc_statement *s, const char *table, enum action *out, struct AdbcError *e)
{
    static const char prefix[] = "adbc.ingest.mode.";
    const char *mode = adbc_option_text(&s->options, ADBC_OPT_MODE), *type;
    mode += strncmp(mode, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    bool create_append = strcmp(mode, "create_append") == 0, replaces = strcmp(mode, "replace") == 0;
    bool appends = create_append || strcmp(mode, "append") == 0;
    if (!appends && !replaces && strcmp(mode, "create") != 0)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY024",
                         "the mode of ingesting is create, append, replace or create_append, not \"%s\"", mode);
    ADBC_TRY(find(s->core, table, &type, e));
    if (!type && appends && !create_append)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "42S02", "there is no table \"%s\"", table);
    if (type && !appends && !replaces)
        return adbc_fail(e, ADBC_STATUS_ALREADY_EXISTS, "42S01", "there is a table \"%s\" already", table);
    if (type && strcmp(type, ADBC_TYPE_STORED) == 0)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "0A000", "table \"%s\" is stored, and stored once", table);
    *out = !type ? CREATE : appends ? APPEND : REPLACE;
    return ADBC_STATUS_OK;
}

/* rows is taken over. */
static AdbcStatusCode load(struct adbc_statement *s, const char *table, struct ArrowArrayStream *rows,
                           struct AdbcError *e)
{
    enum action action = CREATE; /* as some compilers see it, choose might leave it */
    heddle_error *error = NULL;
    AdbcStatusCode status = choose(s, table, &action, e);
    if (status != ADBC_STATUS_OK) {
        rows->release(rows);
        return status;
    }
    if (action == APPEND)
        return append(s, table, rows, e);
    int facts = facts_of(s);
    int rc = action == CREATE ? heddle_database_register(s->core->db, table, rows, facts, &error)
                              : heddle_database_replace(s->core->db, table, rows, facts, &error);
    return rc == 0 ? ADBC_STATUS_OK : adbc_fail_heddle(e, error);
}

AdbcStatusCode adbc_ingest(struct adbc_statement *s, int64_t *rows_affected, struct AdbcError *e)
{
    struct ArrowArrayStream rows;
    int64_t n = 0;
    if (s->read_only)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "25006", "the connection is read-only");
    if (!s->bound.release)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "no rows are bound");
    ADBC_TRY(adbc_stream_watch(s, &n, &s->bound, &rows, e));
    pthread_mutex_lock(&s->core->ingest);
    AdbcStatusCode status = load(s, adbc_option_text(&s->options, ADBC_OPT_TARGET_TABLE), &rows, e);
    pthread_mutex_unlock(&s->core->ingest);
    if (status == ADBC_STATUS_OK)
        *rows_affected = n;
    else if (adbc_statement_cancelled(s))
        return adbc_fail(e, ADBC_STATUS_CANCELLED, "57014", "cancelled");
    return status;
}
