/* Test of the database feeder against a stand-in for the database: functions of the public API
 * that keep every row as text, to be compared with the .tbl writer's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gen_check.h"
#include "gen_db.h"
#include "gen_format.h"
#include "gen_tbl.h"

/* ---- the stand-in ----------------------------------------------------------------------- */

struct heddle_error {
    const char *message;
};

struct heddle_writer {
    pthread_mutex_t lock;
    char *schema;
    char **rows[TG_TABLE_COUNT];
    int64_t count[TG_TABLE_COUNT];
    bool committed;
};

static enum tg_scheme scheme_in_work;
static struct heddle_writer *last_writer;
static int64_t fail_after = -1; /* appends until one fails; -1: never */

static void writer_destroy(struct heddle_writer *w)
{
    for (int t = 0; t < TG_TABLE_COUNT; t++) {
        for (int64_t i = 0; i < w->count[t]; i++)
            free(w->rows[t][i]);
        free(w->rows[t]);
    }
    free(w->schema);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

heddle_error_class heddle_error_get_class(const heddle_error *e)
{
    (void)e;
    return HEDDLE_ERROR_IO;
}

const char *heddle_error_message(const heddle_error *e)
{
    return e->message;
}

const char *heddle_error_path(const heddle_error *e)
{
    (void)e;
    return "database";
}

void heddle_error_free(heddle_error *e)
{
    free(e);
}

int heddle_writer_open(heddle_context *c, const char *path, const char *schema_json, heddle_writer **out,
                       heddle_error **err)
{
    (void)c, (void)path, (void)err;
    *out = calloc(1, sizeof **out);
    (*out)->schema = strdup(schema_json);
    pthread_mutex_init(&(*out)->lock, NULL);
    last_writer = *out;
    return 0;
}

/* Where rows go; grows the table. */
static char **rows_at(struct heddle_writer *w, int t, int64_t first, int64_t n)
{
    if (first + n > w->count[t]) {
        w->rows[t] = realloc(w->rows[t], (size_t)(first + n) * sizeof(char *));
        for (int64_t i = w->count[t]; i < first + n; i++)
            w->rows[t][i] = NULL;
        w->count[t] = first + n;
    }
    return w->rows[t] + first;
}

static char *put_date(char *p, int32_t day)
{
    time_t seconds = (time_t)day * 86400;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    return p + strftime(p, 16, "%Y-%m-%d", &tm);
}

static char *put_text(char *p, const struct ArrowArray *a, int64_t i)
{
    const int32_t *offsets = a->buffers[1];
    const char *bytes = a->buffers[2];
    const size_t n = (size_t)(offsets[i + 1] - offsets[i]);
    memcpy(p, bytes + offsets[i], n);
    return p + n;
}

static char *put_value(char *p, const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i)
{
    const void *v = a->buffers[1];
    if (strcmp(s->format, "i") == 0)
        return tg_put_i64(p, ((const int32_t *)v)[i]);
    if (strcmp(s->format, "l") == 0)
        return tg_put_i64(p, ((const int64_t *)v)[i]);
    if (strcmp(s->format, "tdD") == 0)
        return put_date(p, ((const int32_t *)v)[i]);
    if (strcmp(s->format, "c") == 0)
        return put_text(p, a->dictionary, ((const int8_t *)v)[i]);
    if (strcmp(s->format, "s") == 0)
        return put_text(p, a->dictionary, ((const int16_t *)v)[i]);
    if (strcmp(s->format, "u") == 0)
        return put_text(p, a, i);
    CHECK(strcmp(s->format, "d:12,2") == 0, "format %s of %s", s->format, s->name);
    const int64_t low = ((const int64_t *)v)[2 * i];
    CHECK(((const int64_t *)v)[2 * i + 1] == (low < 0 ? -1 : 0), "sign of %s", s->name);
    if (strcmp(s->name, "l_quantity") == 0)
        return tg_put_i64(p, low / 100);
    return tg_put_money(p, low);
}

static char *row_text(const struct ArrowSchema *s, const struct ArrowArray *a, int64_t i)
{
    char text[1024], *p = text;
    for (int64_t c = 0; c < s->n_children; c++) {
        p = put_value(p, s->children[c], a->children[c], i);
        *p++ = '|';
    }
    *p++ = '\n';
    *p = 0;
    return strdup(text);
}

int heddle_writer_append(heddle_writer *w, const char *table, int64_t first_row, const struct ArrowSchema *schema,
                         const struct ArrowArray *batch, heddle_error **err)
{
    const int t = tg_find_table(scheme_in_work, table, strlen(table));
    pthread_mutex_lock(&w->lock);
    const bool fail = fail_after >= 0 && fail_after-- == 0;
    char **rows = rows_at(w, t, first_row, batch->length);
    for (int64_t i = 0; i < batch->length; i++) {
        CHECK(rows[i] == NULL, "%s row %lld twice", table, (long long)(first_row + i));
        rows[i] = row_text(schema, batch, i);
    }
    pthread_mutex_unlock(&w->lock);
    if (!fail)
        return 0;
    *err = malloc(sizeof **err);
    (*err)->message = "disk full";
    return -1;
}

int heddle_writer_commit(heddle_writer *w, heddle_progress_fn progress, void *user, heddle_error **err)
{
    (void)err;
    progress(user, 1, "commit");
    w->committed = true;
    return 0;
}

/* The test looks at the rows first, and destroys it itself. */
void heddle_writer_free(heddle_writer *w)
{
    (void)w;
}

/* ---- the tests -------------------------------------------------------------------------- */

static void compare_table(const struct tg_gen *g, enum tg_table t, const struct heddle_writer *w)
{
    struct tg_batch *b = tg_batch_new(t, tg_all_columns(t), 1000);
    char *text = malloc(tg_tbl_room(t, 1000));
    struct tg_cursor c;
    struct tg_range r;
    int64_t bad = 0;
    tg_cursor_init(&c, g, t, 0, tg_unit_count(g, t));
    while (tg_cursor_next(&c, 1000, &r)) {
        tg_produce(g, &r, b);
        *tg_tbl_format(b, text) = 0;
        const char *p = text;
        for (int64_t i = r.first_row; i < r.first_row + r.rows; i++) {
            const char *row = i < w->count[t] && w->rows[t][i] != NULL ? w->rows[t][i] : "";
            const char *end = strchr(p, '\n') + 1;
            bad += strlen(row) != (size_t)(end - p) || memcmp(row, p, strlen(row)) != 0;
            p = end;
        }
    }
    CHECK(bad == 0, "%lld rows of %s differ", (long long)bad, tg_table_name(t));
    CHECK(c.first_row == w->count[t], "rows of %s", tg_table_name(t));
    free(text);
    tg_batch_free(b);
}

static int note(void *user, double fraction, const char *what)
{
    (void)what;
    *(double *)user = fraction;
    return 0;
}

static void database_holds_every_row(enum tg_scheme scheme)
{
    struct tg_options o = {.scheme = scheme, .sf = 0.01};
    struct tg_gen *g = NULL;
    struct tg_error err = {.text = ""};
    heddle_error *cause = NULL;
    double fraction = 0;
    scheme_in_work = scheme;
    struct tg_db_options d = {.threads = 3, .progress = note, .user = &fraction};
    CHECK(tg_gen_new(&o, &g, &err) == 0 && tg_gen_prepare(g, 2, &err) == 0, "%s", err.text);
    CHECK(tg_db_write(g, NULL, "db", &d, &err, &cause) == 0, "%s", err.text);
    CHECK(fraction == 1 && last_writer->committed, "progress %g", fraction);
    for (int t = tg_first_table(scheme); t < tg_end_table(scheme); t++)
        compare_table(g, (enum tg_table)t, last_writer);
    writer_destroy(last_writer);
    tg_gen_free(g);
}

static void used_columns_alone(void)
{
    struct tg_options o = {.sf = 0.01};
    struct tg_gen *g = NULL;
    struct tg_error err = {.text = ""};
    struct tg_db_options d = {.threads = 2, .used_only = true};
    CHECK(tg_gen_new(&o, &g, &err) == 0 && tg_gen_prepare(g, 2, &err) == 0, "%s", err.text);
    CHECK(tg_db_write(g, NULL, "db", &d, &err, NULL) == 0, "%s", err.text);
    CHECK(strstr(last_writer->schema, "l_comment") == NULL, "unused column");
    CHECK(strstr(last_writer->schema, "s_comment") != NULL, "used column");
    CHECK(strcmp(last_writer->rows[TG_REGION][0], "0|AFRICA|\n") == 0, "%s", last_writer->rows[TG_REGION][0]);
    writer_destroy(last_writer);
    tg_gen_free(g);
}

static void failure_carries_its_cause(void)
{
    struct tg_options o = {.sf = 0.01};
    struct tg_gen *g = NULL;
    struct tg_error err = {.text = ""};
    heddle_error *cause = NULL;
    struct tg_db_options d = {.threads = 2};
    CHECK(tg_gen_new(&o, &g, &err) == 0 && tg_gen_prepare(g, 2, &err) == 0, "%s", err.text);
    fail_after = 1;
    CHECK(tg_db_write(g, NULL, "db", &d, &err, &cause) != 0, "must fail");
    CHECK(cause != NULL && strstr(err.text, "disk full") != NULL, "%s", err.text);
    CHECK(!last_writer->committed, "committed");
    heddle_error_free(cause);
    writer_destroy(last_writer);
    tg_gen_free(g);
}

int main(void)
{
    database_holds_every_row(TG_PLAIN);
    database_holds_every_row(TG_JCCH);
    database_holds_every_row(TG_SSB);
    scheme_in_work = TG_PLAIN;
    used_columns_alone();
    failure_carries_its_cause();
    printf("%d failures\n", gen_failures);
    return gen_failures == 0 ? 0 : 1;
}
