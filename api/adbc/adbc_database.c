/* Databases and connections: what is opened, options, and the translator of SQL. */
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_internal.h"

/* ---- the database behind them -------------------------------------------------------------- */

struct adbc_core *adbc_core_keep(struct adbc_core *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void adbc_core_release(struct adbc_core *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    heddle_database_free(c->db);
    heddle_context_free(c->context);
    pthread_mutex_destroy(&c->ingest);
    free(c);
}

/* `path`, or `uri`: a path, which may follow heddle: or file:. NULL, and what names no folder: in memory. */
static const char *folder(const struct adbc_options *o)
{
    static const char *const schemes[] = {"heddle:", "file:"};
    const char *path = adbc_option_text(o, ADBC_OPT_PATH);
    if (!path)
        path = adbc_option_text(o, ADBC_OPT_URI);
    for (size_t i = 0; path && i < sizeof schemes / sizeof *schemes; i++) {
        size_t n = strlen(schemes[i]);
        if (strncmp(path, schemes[i], n) != 0)
            continue;
        path += n;
        if (strncmp(path, "//", 2) == 0)
            path += 2;
        break;
    }
    return path && *path && strcmp(path, ":memory:") != 0 ? path : NULL;
}

static int open_core(struct adbc_core *c, const struct adbc_options *o, heddle_error **error)
{
    heddle_options h;
    adbc_context_options(o, &h);
    if (heddle_context_new(&h, &c->context, error) != 0)
        return -1;
    return heddle_database_open(c->context, folder(o), adbc_option_bool(o, ADBC_OPT_TRUST), &c->db, error);
}

AdbcStatusCode adbc_database_new(struct AdbcDatabase *h, struct AdbcError *e)
{
    ADBC_NEED(h, e);
    struct adbc_database *d = calloc(1, sizeof *d);
    if (!d)
        return ADBC_NO_MEMORY(e);
    adbc_options_init(&d->options, ADBC_OBJECT_DATABASE);
    h->private_data = d;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode get_database(struct AdbcDatabase *h, struct adbc_database **out, struct AdbcError *e)
{
    ADBC_NEED(h, e);
    *out = h->private_data;
    return *out ? ADBC_STATUS_OK : adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "the database is not there");
}

AdbcStatusCode adbc_database_options(struct AdbcDatabase *h, const char *key, struct adbc_options **out,
                                     struct AdbcError *e)
{
    (void)key;
    struct adbc_database *d;
    ADBC_TRY(get_database(h, &d, e));
    *out = &d->options;
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_database_set_option(struct AdbcDatabase *h, const char *key, const char *value, struct AdbcError *e)
{
    struct adbc_database *d;
    enum adbc_option id;
    ADBC_TRY(get_database(h, &d, e));
    if (d->core)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "options are set before the database is initialised");
    return adbc_options_set(&d->options, key, value, &id, e);
}

AdbcStatusCode adbc_database_init(struct AdbcDatabase *h, struct AdbcError *e)
{
    struct adbc_database *d;
    heddle_error *error = NULL;
    ADBC_TRY(get_database(h, &d, e));
    if (d->core)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "the database is initialised already");
    struct adbc_core *c = calloc(1, sizeof *c);
    if (!c)
        return ADBC_NO_MEMORY(e);
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->ingest, NULL);
    c->translate = (heddle_adbc_translate_fn)(uintptr_t)adbc_option_number(&d->options, ADBC_OPT_TRANSLATOR);
    c->translate_user = (void *)(uintptr_t)adbc_option_number(&d->options, ADBC_OPT_TRANSLATOR_USER);
    if (open_core(c, &d->options, &error) != 0) {
        adbc_core_release(c);
        return adbc_fail_heddle(e, error);
    }
    d->core = c;
    return ADBC_STATUS_OK;
}

/* Connections that are still there keep what they need. */
AdbcStatusCode adbc_database_release(struct AdbcDatabase *h, struct AdbcError *e)
{
    struct adbc_database *d;
    ADBC_TRY(get_database(h, &d, e));
    adbc_core_release(d->core);
    adbc_options_release(&d->options);
    free(d);
    h->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* ---- connections --------------------------------------------------------------------------- */

AdbcStatusCode adbc_connection_new(struct AdbcConnection *h, struct AdbcError *e)
{
    ADBC_NEED(h, e);
    struct adbc_connection *c = calloc(1, sizeof *c);
    if (!c)
        return ADBC_NO_MEMORY(e);
    adbc_options_init(&c->options, ADBC_OBJECT_CONNECTION);
    h->private_data = c;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode any_connection(struct AdbcConnection *h, struct adbc_connection **out, struct AdbcError *e)
{
    ADBC_NEED(h, e);
    *out = h->private_data;
    return *out ? ADBC_STATUS_OK : adbc_fail(e, ADBC_STATUS_INVALID_STATE, "08003", "the connection is not there");
}

AdbcStatusCode adbc_get_connection(struct AdbcConnection *h, struct adbc_connection **out, struct AdbcError *e)
{
    ADBC_TRY(any_connection(h, out, e));
    if ((*out)->core)
        return ADBC_STATUS_OK;
    return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "08003", "the connection is not initialised");
}

AdbcStatusCode adbc_connection_options(struct AdbcConnection *h, const char *key, struct adbc_options **out,
                                       struct AdbcError *e)
{
    (void)key;
    struct adbc_connection *c;
    ADBC_TRY(any_connection(h, &c, e));
    *out = &c->options;
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_connection_set_option(struct AdbcConnection *h, const char *key, const char *value,
                                          struct AdbcError *e)
{
    struct adbc_connection *c;
    enum adbc_option id;
    ADBC_TRY(any_connection(h, &c, e));
    return adbc_options_set(&c->options, key, value, &id, e);
}

AdbcStatusCode adbc_connection_init(struct AdbcConnection *h, struct AdbcDatabase *database, struct AdbcError *e)
{
    struct adbc_connection *c;
    struct adbc_database *d;
    ADBC_TRY(any_connection(h, &c, e));
    ADBC_TRY(get_database(database, &d, e));
    if (c->core)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "08002", "the connection is initialised already");
    if (!d->core)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "the database is not initialised");
    c->core = adbc_core_keep(d->core);
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_connection_release(struct AdbcConnection *h, struct AdbcError *e)
{
    struct adbc_connection *c;
    ADBC_TRY(any_connection(h, &c, e));
    adbc_core_release(c->core);
    adbc_options_release(&c->options);
    free(c);
    h->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* Commit and rollback: every call is a transaction of its own. */
AdbcStatusCode adbc_connection_commit(struct AdbcConnection *h, struct AdbcError *e)
{
    struct adbc_connection *c;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "25000", "no transaction: Heddle has autocommit only");
}

/* Calls on connections take no time worth a cancel. */
AdbcStatusCode adbc_connection_cancel(struct AdbcConnection *h, struct AdbcError *e)
{
    struct adbc_connection *c;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "nothing to cancel: cancel the statement");
}

AdbcStatusCode adbc_connection_read_partition(struct AdbcConnection *h, const uint8_t *bytes, size_t n,
                                              struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct adbc_connection *c;
    (void)bytes;
    (void)n;
    (void)out;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "0A000", "results have no partitions");
}

/* The columns of a scan of the table. */
AdbcStatusCode adbc_connection_table_schema(struct AdbcConnection *h, const char *catalog, const char *db_schema,
                                            const char *table, struct ArrowSchema *out, struct AdbcError *e)
{
    struct adbc_connection *c;
    heddle_statement *s = NULL;
    heddle_error *error = NULL;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    ADBC_NEED(table, e);
    ADBC_NEED(out, e);
    cJSON *list;
    ADBC_TRY(adbc_catalog(c->core, &list, e));
    bool found = adbc_catalog_find(list, table) && (!catalog || !*catalog) && (!db_schema || !*db_schema);
    cJSON_Delete(list);
    if (!found)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "42S02", "there is no table \"%s\"", table);
    ADBC_TRY(adbc_prepare_scan(c->core->db, table, &s, e));
    int rc = heddle_statement_schema(s, out, &error);
    heddle_statement_free(s);
    return rc == 0 ? ADBC_STATUS_OK : adbc_fail_heddle(e, error);
}

/* ---- SQL ----------------------------------------------------------------------------------- */

static pthread_mutex_t translator_mutex = PTHREAD_MUTEX_INITIALIZER;
static heddle_adbc_translate_fn translator;
static void *translator_user;

void AdbcHeddleSetTranslator(heddle_adbc_translate_fn translate, void *user)
{
    pthread_mutex_lock(&translator_mutex);
    translator = translate;
    translator_user = user;
    pthread_mutex_unlock(&translator_mutex);
}

/* A database's own comes first. */
static heddle_adbc_translate_fn get_translator(const struct adbc_core *c, void **user)
{
    pthread_mutex_lock(&translator_mutex);
    heddle_adbc_translate_fn translate = c->translate ? c->translate : translator;
    *user = c->translate ? c->translate_user : translator_user;
    pthread_mutex_unlock(&translator_mutex);
    return translate;
}

bool adbc_has_translator(const struct adbc_core *c)
{
    void *user;
    return get_translator(c, &user) != NULL;
}

static void emit(void *to, const void *bytes, size_t n)
{
    adbc_bytes_add(to, bytes, n);
}

void adbc_bytes_add(struct adbc_bytes *b, const void *p, size_t n)
{
    if (b->n + n + 1 > b->room) {
        size_t room = (b->n + n + 1) * 2;
        char *more = realloc(b->p, room);
        if (!more) {
            b->failed = true;
            return;
        }
        b->p = more;
        b->room = room;
    }
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

AdbcStatusCode adbc_translate(struct adbc_core *c, const char *sql, struct adbc_bytes *plan, struct AdbcError *e)
{
    char *catalog;
    heddle_error *error = NULL;
    void *user;
    heddle_adbc_translate_fn translate = get_translator(c, &user);
    if (!translate)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "0A000",
                         "the query is no JSON plan, and nobody translates SQL: give a plan, or install a translator "
                         "(AdbcHeddleSetTranslator, or the database's options translator and translator_user)");
    if (heddle_database_catalog(c->db, &catalog, &error) != 0)
        return adbc_fail_heddle(e, error);
    int rc = translate(user, sql, catalog, emit, plan);
    heddle_free(catalog);
    adbc_bytes_add(plan, "", 0);
    if (plan->failed)
        return ADBC_NO_MEMORY(e);
    if (rc != 0)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "42000", "%s", plan->n ? plan->p : "the translator refused");
    return ADBC_STATUS_OK;
}
