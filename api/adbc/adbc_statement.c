/* Statements: a query, what is bound to it, and its executions. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/adbc/adbc_internal.h"
#include "api/adbc/adbc_stream.h"

AdbcStatusCode adbc_get_statement(struct AdbcStatement *h, struct adbc_statement **out, struct AdbcError *e)
{
    ADBC_NEED(h, e);
    *out = h->private_data;
    return *out ? ADBC_STATUS_OK : adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "the statement is not there");
}

AdbcStatusCode adbc_statement_new(struct AdbcConnection *c, struct AdbcStatement *h, struct AdbcError *e)
{
    struct adbc_connection *connection;
    ADBC_TRY(adbc_get_connection(c, &connection, e));
    ADBC_NEED(h, e);
    struct adbc_statement *s = calloc(1, sizeof *s);
    if (!s)
        return ADBC_NO_MEMORY(e);
    adbc_options_init(&s->options, ADBC_OBJECT_STATEMENT);
    pthread_mutex_init(&s->mutex, NULL);
    s->core = adbc_core_keep(connection->core);
    s->read_only = adbc_option_bool(&connection->options, ADBC_OPT_READ_ONLY);
    h->private_data = s;
    return ADBC_STATUS_OK;
}

/* ---- one call at a time, and cancelling it -------------------------------------------------- */

static void drop_locked(struct adbc_statement *s)
{
    heddle_statement_free(s->s);
    s->s = NULL;
}

static void drop_plan(struct adbc_statement *s)
{
    pthread_mutex_lock(&s->mutex);
    drop_locked(s);
    pthread_mutex_unlock(&s->mutex);
}

static AdbcStatusCode begin(struct AdbcStatement *h, struct adbc_statement **out, struct AdbcError *e)
{
    ADBC_TRY(adbc_get_statement(h, out, e));
    struct adbc_statement *s = *out;
    pthread_mutex_lock(&s->mutex);
    bool busy = s->busy;
    s->busy = true;
    pthread_mutex_unlock(&s->mutex);
    if (busy)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "another thread is using the statement");
    return ADBC_STATUS_OK;
}

/* A cancel that came too late for this call would end the next one: the plan is made anew then. */
static AdbcStatusCode end(struct adbc_statement *s, AdbcStatusCode status)
{
    pthread_mutex_lock(&s->mutex);
    if (s->cancelled && status != ADBC_STATUS_CANCELLED)
        drop_locked(s);
    s->busy = s->cancelled = false;
    pthread_mutex_unlock(&s->mutex);
    return status;
}

bool adbc_statement_cancelled(struct adbc_statement *s)
{
    pthread_mutex_lock(&s->mutex);
    bool cancelled = s->cancelled;
    pthread_mutex_unlock(&s->mutex);
    return cancelled;
}

AdbcStatusCode adbc_statement_cancel(struct AdbcStatement *h, struct AdbcError *e)
{
    struct adbc_statement *s;
    ADBC_TRY(adbc_get_statement(h, &s, e));
    pthread_mutex_lock(&s->mutex);
    bool busy = s->busy;
    if (busy) {
        s->cancelled = true;
        heddle_statement_cancel(s->s);
    }
    pthread_mutex_unlock(&s->mutex);
    if (busy)
        return ADBC_STATUS_OK;
    return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "nothing to cancel: the statement is not running");
}

AdbcStatusCode adbc_statement_release(struct AdbcStatement *h, struct AdbcError *e)
{
    struct adbc_statement *s;
    ADBC_TRY(begin(h, &s, e));
    drop_plan(s);
    if (s->bound.release)
        s->bound.release(&s->bound);
    adbc_core_release(s->core);
    adbc_options_release(&s->options);
    pthread_mutex_destroy(&s->mutex);
    free(s->query.p);
    free(s);
    h->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* ---- the query ----------------------------------------------------------------------------- */

static AdbcStatusCode set_query(struct AdbcStatement *h, enum adbc_query kind, const void *bytes, size_t n,
                                struct AdbcError *e)
{
    struct adbc_statement *s;
    ADBC_TRY(begin(h, &s, e));
    enum adbc_option target;
    adbc_options_set(&s->options, "adbc.ingest.target_table", NULL, &target, NULL); /* it loads no rows now */
    drop_plan(s);
    s->query.n = 0;
    s->kind = kind;
    s->prepared = false;
    adbc_bytes_add(&s->query, bytes, n);
    bool failed = s->query.failed;
    s->query.failed = false;
    if (failed)
        s->kind = ADBC_QUERY_NONE;
    return end(s, failed ? ADBC_NO_MEMORY(e) : ADBC_STATUS_OK);
}

AdbcStatusCode adbc_statement_sql(struct AdbcStatement *h, const char *text, struct AdbcError *e)
{
    ADBC_NEED(text, e);
    return set_query(h, ADBC_QUERY_TEXT, text, strlen(text), e);
}

AdbcStatusCode adbc_statement_substrait(struct AdbcStatement *h, const uint8_t *plan, size_t n, struct AdbcError *e)
{
    ADBC_NEED(plan, e);
    return set_query(h, ADBC_QUERY_PLAN, plan, n, e);
}

/* A heddle_statement that a cancel finds from now on. */
static AdbcStatusCode new_plan(struct adbc_statement *s, struct AdbcError *e)
{
    heddle_statement_options o;
    heddle_statement *made;
    heddle_error *error = NULL;
    adbc_statement_options_of(&s->options, &o);
    if (heddle_statement_new(s->core->db, &o, &made, &error) != 0)
        return adbc_fail_heddle(e, error);
    pthread_mutex_lock(&s->mutex);
    s->s = made;
    if (s->cancelled)
        heddle_statement_cancel(made);
    pthread_mutex_unlock(&s->mutex);
    return ADBC_STATUS_OK;
}

static bool is_json(const struct adbc_bytes *b)
{
    return b->p[strspn(b->p, " \t\r\n")] == '{';
}

static AdbcStatusCode read_plan(struct adbc_statement *s, const struct adbc_bytes *plan, struct AdbcError *e)
{
    heddle_error *error = NULL;
    ADBC_TRY(new_plan(s, e));
    if (heddle_statement_prepare_plan(s->s, plan->p, plan->n, &error) == 0)
        return ADBC_STATUS_OK;
    AdbcStatusCode status = adbc_fail_heddle(e, error);
    drop_plan(s);
    return status;
}

static AdbcStatusCode make_plan(struct adbc_statement *s, struct AdbcError *e)
{
    struct adbc_bytes plan = {0};
    if (s->kind == ADBC_QUERY_NONE)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "the statement has no query");
    if (s->kind == ADBC_QUERY_PLAN || is_json(&s->query))
        return read_plan(s, &s->query, e);
    AdbcStatusCode status = adbc_translate(s->core, s->query.p, &plan, e);
    if (status == ADBC_STATUS_OK)
        status = read_plan(s, &plan, e);
    free(plan.p);
    return status;
}

/* What Prepare made, or a plan over the tables that are there now. */
static AdbcStatusCode need_plan(struct adbc_statement *s, struct AdbcError *e)
{
    if (s->s && s->prepared)
        return ADBC_STATUS_OK;
    drop_plan(s);
    return make_plan(s, e);
}

AdbcStatusCode adbc_statement_prepare(struct AdbcStatement *h, struct AdbcError *e)
{
    struct adbc_statement *s;
    ADBC_TRY(begin(h, &s, e));
    drop_plan(s);
    AdbcStatusCode status = make_plan(s, e);
    s->prepared = status == ADBC_STATUS_OK;
    return end(s, status);
}

static AdbcStatusCode give_schema(struct AdbcStatement *h, struct ArrowSchema *out,
                                  int (*schema)(heddle_statement *, struct ArrowSchema *, heddle_error **),
                                  struct AdbcError *e)
{
    struct adbc_statement *s;
    heddle_error *error = NULL;
    ADBC_NEED(out, e);
    ADBC_TRY(begin(h, &s, e));
    AdbcStatusCode status = need_plan(s, e);
    if (status == ADBC_STATUS_OK && schema(s->s, out, &error) != 0)
        status = adbc_fail_heddle(e, error);
    return end(s, status);
}

AdbcStatusCode adbc_statement_execute_schema(struct AdbcStatement *h, struct ArrowSchema *out, struct AdbcError *e)
{
    return give_schema(h, out, heddle_statement_schema, e);
}

AdbcStatusCode adbc_statement_parameter_schema(struct AdbcStatement *h, struct ArrowSchema *out, struct AdbcError *e)
{
    struct adbc_statement *s;
    ADBC_TRY(adbc_get_statement(h, &s, e));
    if (!s->prepared)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "the statement is not prepared");
    return give_schema(h, out, heddle_statement_parameters, e);
}

/* ---- binding ------------------------------------------------------------------------------- */

static void put_bound(struct adbc_statement *s, struct ArrowArrayStream *values)
{
    if (s->bound.release)
        s->bound.release(&s->bound);
    s->bound = *values;
    values->release = NULL;
}

AdbcStatusCode adbc_statement_bind(struct AdbcStatement *h, struct ArrowArray *values, struct ArrowSchema *schema,
                                   struct AdbcError *e)
{
    struct adbc_statement *s;
    struct ArrowArrayStream stream;
    ADBC_NEED(values, e);
    ADBC_NEED(schema, e);
    if (!values->release || !schema->release)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY000", "the bound values were released");
    ADBC_TRY(begin(h, &s, e));
    AdbcStatusCode status = adbc_stream_single(values, schema, &stream, e);
    if (status == ADBC_STATUS_OK)
        put_bound(s, &stream);
    return end(s, status);
}

AdbcStatusCode adbc_statement_bind_stream(struct AdbcStatement *h, struct ArrowArrayStream *values, struct AdbcError *e)
{
    struct adbc_statement *s;
    ADBC_NEED(values, e);
    if (!values->release)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "HY000", "the bound stream was released");
    ADBC_TRY(begin(h, &s, e));
    put_bound(s, values);
    return end(s, ADBC_STATUS_OK);
}

/* ---- executing ----------------------------------------------------------------------------- */

/* The one statement of SQL that needs no plan: drop table [if exists] NAME. False: it is another one. */
static bool read_drop(const char *text, bool *if_exists, char **name)
{
    static const char *const words[] = {"drop", "table", "if", "exists"};
    size_t n;
    for (int i = 0; i < 4; i++) {
        text += strspn(text, " \t\r\n");
        n = strlen(words[i]);
        bool there = strncasecmp(text, words[i], n) == 0 && strchr(" \t\r\n", text[n]) && text[n];
        *if_exists = there && i == 3;
        if (!there && i != 2)
            return false;
        if (!there)
            break;
        text += n;
    }
    text += strspn(text, " \t\r\n");
    bool quoted = *text == '"';
    text += quoted;
    n = strcspn(text, quoted ? "\"" : " \t\r\n;");
    const char *rest = text + n + (quoted && text[n]);
    if (n == 0 || rest[strspn(rest, " \t\r\n;")] != 0)
        return false;
    *name = strndup(text, n);
    return *name != NULL;
}

static AdbcStatusCode drop_table(struct adbc_core *c, const char *name, bool if_exists, struct AdbcError *e)
{
    cJSON *list;
    heddle_error *error = NULL;
    ADBC_TRY(adbc_catalog(c, &list, e));
    bool there = adbc_catalog_find(list, name) != NULL;
    cJSON_Delete(list);
    if (!there && if_exists)
        return ADBC_STATUS_OK;
    if (!there)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "42S02", "there is no table \"%s\"", name);
    return heddle_database_drop(c->db, name, &error) == 0 ? ADBC_STATUS_OK : adbc_fail_heddle(e, error);
}

/* A result of no columns and no rows. */
static AdbcStatusCode nothing(struct adbc_statement *s, struct ArrowArrayStream *out, struct AdbcError *e)
{
    static const char plan[] = "{\"heddle\":1,\"root\":{\"op\":\"values\",\"columns\":[{\"name\":\"rows\",\"type\":"
                               "\"int64\"}],\"rows\":[]}}";
    heddle_statement *h;
    heddle_error *error = NULL;
    struct ArrowSchema schema;
    if (heddle_prepare(s->core->db, plan, NULL, &h, &error) != 0)
        return adbc_fail_heddle(e, error);
    int rc = heddle_statement_schema(h, &schema, &error);
    heddle_statement_free(h);
    if (rc != 0)
        return adbc_fail_heddle(e, error);
    return adbc_stream_concat(s->core, &schema, NULL, 0, out, e);
}

static AdbcStatusCode execute(struct adbc_statement *s, struct ArrowArrayStream *out, int64_t *rows_affected,
                              struct AdbcError *e)
{
    char *name;
    bool if_exists;
    if (adbc_option_text(&s->options, ADBC_OPT_TARGET_TABLE)) {
        ADBC_TRY(adbc_ingest(s, rows_affected, e));
        return nothing(s, out, e);
    }
    if (s->kind == ADBC_QUERY_TEXT && read_drop(s->query.p, &if_exists, &name)) {
        AdbcStatusCode status = s->read_only
                                    ? adbc_fail(e, ADBC_STATUS_INVALID_STATE, "25006", "the connection is read-only")
                                    : drop_table(s->core, name, if_exists, e);
        free(name);
        return status == ADBC_STATUS_OK ? nothing(s, out, e) : status;
    }
    ADBC_TRY(need_plan(s, e));
    return adbc_execute_bound(s, out, e);
}

AdbcStatusCode adbc_statement_execute(struct AdbcStatement *h, struct ArrowArrayStream *out, int64_t *rows_affected,
                                      struct AdbcError *e)
{
    struct adbc_statement *s;
    struct ArrowArrayStream rows;
    int64_t affected = -1;
    ADBC_TRY(begin(h, &s, e));
    AdbcStatusCode status = execute(s, &rows, &affected, e);
    if (status == ADBC_STATUS_OK) {
        if (out)
            *out = rows;
        else
            rows.release(&rows);
        if (rows_affected)
            *rows_affected = affected;
    }
    return end(s, status);
}

AdbcStatusCode adbc_statement_partitions(struct AdbcStatement *h, struct ArrowSchema *schema,
                                         struct AdbcPartitions *partitions, int64_t *rows_affected, struct AdbcError *e)
{
    struct adbc_statement *s;
    (void)schema;
    (void)partitions;
    (void)rows_affected;
    ADBC_TRY(adbc_get_statement(h, &s, e));
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "0A000", "results have no partitions");
}

/* ---- options ------------------------------------------------------------------------------- */

static int show(struct adbc_statement *s, enum adbc_option id, char **text, heddle_error **error)
{
    if (id == ADBC_OPT_REPORT)
        return heddle_statement_report(s->s, text, error);
    return heddle_explain(s->s, "plan,physical,pipelines", text, error);
}

/* Report and explanation are made when somebody asks. */
static AdbcStatusCode show_option(struct adbc_statement *s, enum adbc_option id, struct AdbcError *e)
{
    char *text = NULL;
    heddle_error *error = NULL;
    if (id == ADBC_OPT_EXPLAIN)
        ADBC_TRY(need_plan(s, e));
    if (!s->s)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "HY010", "nothing was executed");
    if (show(s, id, &text, &error) != 0)
        return adbc_fail_heddle(e, error);
    char *copy = strdup(text);
    heddle_free(text);
    pthread_mutex_lock(&s->options.mutex);
    free(s->options.set[id]);
    s->options.set[id] = copy;
    pthread_mutex_unlock(&s->options.mutex);
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_statement_options(struct AdbcStatement *h, const char *key, struct adbc_options **out,
                                      struct AdbcError *e)
{
    struct adbc_statement *s;
    enum adbc_option id;
    ADBC_TRY(adbc_get_statement(h, &s, e));
    *out = &s->options;
    ADBC_TRY(adbc_options_find(&s->options, key, &id, e));
    if (id != ADBC_OPT_REPORT && id != ADBC_OPT_EXPLAIN)
        return ADBC_STATUS_OK;
    ADBC_TRY(begin(h, &s, e));
    return end(s, show_option(s, id, e));
}

AdbcStatusCode adbc_statement_set_option(struct AdbcStatement *h, const char *key, const char *value,
                                         struct AdbcError *e)
{
    struct adbc_statement *s;
    enum adbc_option id;
    ADBC_TRY(begin(h, &s, e));
    AdbcStatusCode status = adbc_options_set(&s->options, key, value, &id, e);
    if (status == ADBC_STATUS_OK && id == ADBC_OPT_TARGET_TABLE) {
        s->kind = ADBC_QUERY_NONE; /* the statement loads rows now */
        s->prepared = false;
    }
    return end(s, status);
}
