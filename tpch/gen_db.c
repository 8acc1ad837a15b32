/* Generated data into a database; see gen_db.h.
 *
 * Workers take ranges of rows from one queue and append each as an Arrow struct whose children
 * are columns.  Texts, dates and codes go over as they lie in the batch; money widens to 128
 * bits and keys shrink to 32 where they fit. */
#include "gen_db.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_par.h"

#define BATCH_ROWS   32768
#define MONEY_TYPE   "decimal(12,2)"
#define MONEY_FORMAT "d:12,2"

/* Share of the progress bar that generating takes; the rest is the commit. */
#define GENERATE_SHARE 0.7

/* ---- partitions ------------------------------------------------------------------------- */

/* The column by which a table is divided among partitions, -1: each has all rows. Orders and their items are by far the largest
 * tables, and one key joins them; others are looked up by keys that lie anywhere. */
static int cut_by(enum tg_table t, const struct tg_db_options *o)
{
    static const int columns[] = {TG_O_ORDERKEY, TG_L_ORDERKEY, TG_SSB_LO_ORDERKEY};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && o->partitions > 0; i++)
        if (tg_columns[columns[i]].table == t)
            return columns[i];
    return -1;
}

/* The first order of a partition. A populous one of JCC-H has the items of many: there items are counted, elsewhere orders, which is
 * as good and needs no drawing of items. */
static int64_t first_order(const struct tg_gen *g, int partition, int partitions)
{
    const int64_t orders = tg_unit_count(g, TG_ORDERS);
    int64_t lo = 0, hi = orders;
    if (tg_gen_scheme(g) != TG_JCCH || partition == partitions)
        return (int64_t)((__int128)orders * partition / partitions);
    const __int128 items = tg_rows_between(g, TG_LINEITEM, 0, orders);
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (tg_rows_between(g, TG_LINEITEM, 0, mid) < items * partition / partitions)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Units of the table that are to be written. */
static void units_of(const struct tg_gen *g, enum tg_table t, const struct tg_db_options *o, int64_t *begin,
                     int64_t *end)
{
    const bool some = cut_by(t, o) >= 0;
    *begin = some ? first_order(g, o->partition, o->partitions) : 0;
    *end = some ? first_order(g, o->partition + 1, o->partitions) : tg_unit_count(g, t);
}

int64_t tg_db_rows(const struct tg_gen *g, enum tg_table t, const struct tg_db_options *o)
{
    int64_t begin, end;
    units_of(g, t, o, &begin, &end);
    return tg_rows_between(g, t, begin, end);
}

/* ---- schema ----------------------------------------------------------------------------- */

/* How a column crosses: its type in the schema and in Arrow. */
enum form {
    FORM_I32,
    FORM_I64,
    FORM_MONEY,
    FORM_COUNT_MONEY, /* a whole number stored as a decimal: l_quantity */
    FORM_DATE,
    FORM_CODE8,
    FORM_CODE16,
    FORM_TEXT
};

static const struct {
    const char *type, *arrow;
} forms[] = {
    [FORM_I32] = {"int32", "i"},
    [FORM_I64] = {"int64", "l"},
    [FORM_MONEY] = {MONEY_TYPE, MONEY_FORMAT},
    [FORM_COUNT_MONEY] = {MONEY_TYPE, MONEY_FORMAT},
    [FORM_DATE] = {"date", "tdD"},
    [FORM_CODE8] = {"string", "c"},
    [FORM_CODE16] = {"string", "s"},
    [FORM_TEXT] = {"string", "u"},
};

/* Greatest value of an integer column at this scale. */
static int64_t greatest(const struct tg_gen *g, int column)
{
    const int64_t orders = tg_unit_count(g, TG_ORDERS);
    switch (column) {
    case TG_O_ORDERKEY:
    case TG_L_ORDERKEY:
    case TG_SSB_LO_ORDERKEY: return ((orders >> 3) << 5) + 7;
    case TG_P_PARTKEY:
    case TG_PS_PARTKEY:
    case TG_L_PARTKEY: return tg_unit_count(g, TG_PART);
    case TG_O_CUSTKEY:
    case TG_C_CUSTKEY: return tg_unit_count(g, TG_CUSTOMER);
    /* JCC-H's populous parts have 4000000 times the scale in stock. */
    case TG_PS_AVAILQTY: return tg_gen_scheme(g) == TG_JCCH ? 4 * orders : 9999;
    default: return tg_unit_count(g, TG_SUPPLIER);
    }
}

static enum form form_of(const struct tg_gen *g, int column)
{
    switch (tg_columns[column].kind) {
    case TG_I32: return column == TG_L_QUANTITY ? FORM_COUNT_MONEY : FORM_I32;
    case TG_I64: return greatest(g, column) > INT32_MAX ? FORM_I64 : FORM_I32;
    case TG_MONEY: return FORM_MONEY;
    case TG_DAY: return FORM_DATE;
    case TG_CODE: return tg_column_dict(column).count > 128 ? FORM_CODE16 : FORM_CODE8;
    case TG_TEXT: break;
    }
    return FORM_TEXT;
}

/* Keys as (table, columns, referenced table and columns or NULL for a primary key). */
static const struct key {
    enum tg_table table;
    int column[2]; /* the second is -1 for a single column */
    int target[2]; /* referenced columns; -1 in a primary key */
} keys[] = {
    {TG_REGION, {TG_R_REGIONKEY, -1}, {-1, -1}},
    {TG_NATION, {TG_N_NATIONKEY, -1}, {-1, -1}},
    {TG_NATION, {TG_N_REGIONKEY, -1}, {TG_R_REGIONKEY, -1}},
    {TG_PART, {TG_P_PARTKEY, -1}, {-1, -1}},
    {TG_SUPPLIER, {TG_S_SUPPKEY, -1}, {-1, -1}},
    {TG_SUPPLIER, {TG_S_NATIONKEY, -1}, {TG_N_NATIONKEY, -1}},
    {TG_PARTSUPP, {TG_PS_PARTKEY, TG_PS_SUPPKEY}, {-1, -1}},
    {TG_PARTSUPP, {TG_PS_PARTKEY, -1}, {TG_P_PARTKEY, -1}},
    {TG_PARTSUPP, {TG_PS_SUPPKEY, -1}, {TG_S_SUPPKEY, -1}},
    {TG_CUSTOMER, {TG_C_CUSTKEY, -1}, {-1, -1}},
    {TG_CUSTOMER, {TG_C_NATIONKEY, -1}, {TG_N_NATIONKEY, -1}},
    {TG_ORDERS, {TG_O_ORDERKEY, -1}, {-1, -1}},
    {TG_ORDERS, {TG_O_CUSTKEY, -1}, {TG_C_CUSTKEY, -1}},
    {TG_LINEITEM, {TG_L_ORDERKEY, TG_L_LINENUMBER}, {-1, -1}},
    {TG_LINEITEM, {TG_L_ORDERKEY, -1}, {TG_O_ORDERKEY, -1}},
    {TG_LINEITEM, {TG_L_PARTKEY, -1}, {TG_P_PARTKEY, -1}},
    {TG_LINEITEM, {TG_L_SUPPKEY, -1}, {TG_S_SUPPKEY, -1}},
    {TG_LINEITEM, {TG_L_PARTKEY, TG_L_SUPPKEY}, {TG_PS_PARTKEY, TG_PS_SUPPKEY}},
    {TG_SSB_DATE, {TG_SSB_D_DATEKEY, -1}, {-1, -1}},
    {TG_SSB_SUPPLIER, {TG_SSB_S_SUPPKEY, -1}, {-1, -1}},
    {TG_SSB_CUSTOMER, {TG_SSB_C_CUSTKEY, -1}, {-1, -1}},
    {TG_SSB_PART, {TG_SSB_P_PARTKEY, -1}, {-1, -1}},
    {TG_SSB_LINEORDER, {TG_SSB_LO_ORDERKEY, TG_SSB_LO_LINENUMBER}, {-1, -1}},
    {TG_SSB_LINEORDER, {TG_SSB_LO_CUSTKEY, -1}, {TG_SSB_C_CUSTKEY, -1}},
    {TG_SSB_LINEORDER, {TG_SSB_LO_PARTKEY, -1}, {TG_SSB_P_PARTKEY, -1}},
    {TG_SSB_LINEORDER, {TG_SSB_LO_SUPPKEY, -1}, {TG_SSB_S_SUPPKEY, -1}},
    {TG_SSB_LINEORDER, {TG_SSB_LO_ORDERDATE, -1}, {TG_SSB_D_DATEKEY, -1}},
    {TG_SSB_LINEORDER, {TG_SSB_LO_COMMITDATE, -1}, {TG_SSB_D_DATEKEY, -1}},
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

static uint64_t mask_of(enum tg_table t, bool used_only)
{
    return used_only ? tg_used_columns(t) : tg_all_columns(t);
}

static void put_names(FILE *out, const int column[2])
{
    fprintf(out, "[\"%s\"", tg_columns[column[0]].name);
    if (column[1] >= 0)
        fprintf(out, ",\"%s\"", tg_columns[column[1]].name);
    fputc(']', out);
}

static void put_columns(FILE *out, const struct tg_gen *g, enum tg_table t, uint64_t mask)
{
    const char *separator = "";
    fputs("\"columns\":[", out);
    for (int c = tg_first_column(t); c < tg_first_column(t + 1); c++) {
        if ((mask & TG_BIT(c)) == 0)
            continue;
        fprintf(out, "%s{\"name\":\"%s\",\"type\":\"%s\"}", separator, tg_columns[c].name, forms[form_of(g, c)].type);
        separator = ",";
    }
    fputc(']', out);
}

/* A key whose column is left out is left out too. */
static bool has_key(const struct key *k, enum tg_table t, uint64_t mask, bool foreign)
{
    return k->table == t && (k->target[0] >= 0) == foreign && (mask & TG_BIT(k->column[0])) &&
           (k->column[1] < 0 || (mask & TG_BIT(k->column[1])));
}

/* At tiny scale factors (below 0.01) the four suppliers of a part repeat: supplier i lies i steps of
 * S/4 + (part - 1)/S further, modulo S. (part, supplier) is no key then. */
static bool pairs_are_unique(const struct tg_gen *g)
{
    int64_t s = tg_unit_count(g, TG_SUPPLIER), parts = tg_unit_count(g, TG_PART);
    for (int64_t d = 0; d <= (parts - 1) / s && tg_gen_scheme(g) == TG_PLAIN; d++)
        for (int64_t k = 1; k < 4; k++)
            if (k * (s / 4 + d) % s == 0)
                return false;
    return true;
}

static bool is_pair(const struct key *k)
{
    return k->column[0] == TG_PS_PARTKEY && k->column[1] >= 0;
}

static bool is_pair_reference(const struct key *k)
{
    return k->target[1] >= 0;
}

static void put_keys(FILE *out, const struct tg_gen *g, enum tg_table t, uint64_t mask)
{
    bool pairs = pairs_are_unique(g);
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (has_key(&keys[i], t, mask, false) && (pairs || !is_pair(&keys[i]))) {
            fputs(",\"primary_key\":", out);
            put_names(out, keys[i].column);
        }
    const char *separator = ",\"foreign_keys\":[", *end = "";
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (!has_key(&keys[i], t, mask, true) || (!pairs && is_pair_reference(&keys[i])))
            continue;
        fprintf(out, "%s{\"columns\":", separator);
        put_names(out, keys[i].column);
        fprintf(out, ",\"table\":\"%s\",\"references\":", tg_table_name(tg_columns[keys[i].target[0]].table));
        put_names(out, keys[i].target);
        fputc('}', out);
        separator = ",";
        end = "]";
    }
    fputs(end, out);
}

/* The schema of the data set as heddle_writer_open wants it; NULL if there is no memory.
 * Free with free().  Integers are int32, or int64 where this scale needs it. */
static char *schema_json(const struct tg_gen *g, const struct tg_db_options *o)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    fprintf(out, "{\"packed\":%s,", o->pack ? "true" : "false");
    if (o->segment_rows > 0)
        fprintf(out, "\"segment_rows\":%lld,", (long long)o->segment_rows);
    if (o->partitions > 0)
        fprintf(out, "\"partition\":{\"number\":%d,\"of\":%d},", o->partition, o->partitions);
    fputs("\"tables\":[", out);
    const int first = tg_first_table(tg_gen_scheme(g)), end = tg_end_table(tg_gen_scheme(g));
    for (int t = first; t < end; t++) {
        const uint64_t mask = mask_of((enum tg_table)t, o->used_only);
        const int cut = cut_by((enum tg_table)t, o);
        fprintf(out, "%s{\"name\":\"%s\",\"rows\":%lld,", t > first ? "," : "", tg_table_name((enum tg_table)t),
                (long long)tg_db_rows(g, (enum tg_table)t, o));
        if (cut >= 0)
            fprintf(out, "\"cut_by\":\"%s\",", tg_columns[cut].name);
        put_columns(out, g, (enum tg_table)t, mask);
        put_keys(out, g, (enum tg_table)t, mask);
        fputc('}', out);
    }
    fputs("]}", out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- Arrow views of batches ------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

/* A dictionary as an Arrow string array. */
struct words {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[3];
    int32_t offsets[257];
    char bytes[257 * 28];
};

/* What one worker needs to hand over batches of one table. */
struct view {
    struct tg_batch *batch;
    int columns;
    int column[TG_TABLE_COLUMNS];
    enum form form[TG_TABLE_COLUMNS];
    struct ArrowSchema schema, child_schema[TG_TABLE_COLUMNS], *schemas[TG_TABLE_COLUMNS];
    struct ArrowArray array, child_array[TG_TABLE_COLUMNS], *arrays[TG_TABLE_COLUMNS];
    const void *top_buffers[1];
    const void *buffers[TG_TABLE_COLUMNS][3];
    struct words *words[TG_TABLE_COLUMNS];
    void *converted[TG_TABLE_COLUMNS]; /* where the batch's own form does not do */
};

static struct words *words_new(struct tg_dict d)
{
    struct words *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    for (int i = 0; i < d.count; i++) {
        memcpy(w->bytes + w->offsets[i], d.words[i].text, d.words[i].len);
        w->offsets[i + 1] = w->offsets[i] + d.words[i].len;
    }
    w->buffers[1] = w->offsets;
    w->buffers[2] = w->bytes;
    w->schema = (struct ArrowSchema){.format = "u", .name = "", .release = release_schema};
    w->array = (struct ArrowArray){.length = d.count, .n_buffers = 3, .buffers = w->buffers, .release = release_array};
    return w;
}

static size_t converted_bytes(enum form f)
{
    switch (f) {
    case FORM_MONEY:
    case FORM_COUNT_MONEY: return 16;
    case FORM_I32: return sizeof(int32_t);
    case FORM_CODE16: return sizeof(int16_t);
    case FORM_I64:
    case FORM_DATE:
    case FORM_CODE8:
    case FORM_TEXT: break;
    }
    return 0;
}

static void view_free(struct view *v)
{
    if (v == NULL)
        return;
    for (int i = 0; i < v->columns; i++) {
        free(v->words[i]);
        free(v->converted[i]);
    }
    tg_batch_free(v->batch);
    free(v);
}

/* Adds column c as child i of the struct; false if there is no memory. */
static bool view_add(struct view *v, const struct tg_gen *g, int i, int c)
{
    const enum form f = form_of(g, c);
    const size_t bytes = converted_bytes(f);
    v->column[i] = c;
    v->form[i] = f;
    v->schemas[i] = &v->child_schema[i];
    v->arrays[i] = &v->child_array[i];
    v->child_schema[i] =
        (struct ArrowSchema){.format = forms[f].arrow, .name = tg_columns[c].name, .release = release_schema};
    v->child_array[i] =
        (struct ArrowArray){.n_buffers = f == FORM_TEXT ? 3 : 2, .buffers = v->buffers[i], .release = release_array};
    if (bytes > 0 && (v->converted[i] = malloc(bytes * (size_t)BATCH_ROWS)) == NULL)
        return false;
    if (tg_columns[c].kind != TG_CODE)
        return true;
    if ((v->words[i] = words_new(tg_column_dict(c))) == NULL)
        return false;
    v->child_schema[i].dictionary = &v->words[i]->schema;
    v->child_array[i].dictionary = &v->words[i]->array;
    return true;
}

static struct view *view_new(const struct tg_gen *g, enum tg_table t, uint64_t mask)
{
    struct view *v = calloc(1, sizeof *v);
    if (v == NULL)
        return NULL;
    bool ok = (v->batch = tg_batch_new(t, mask, BATCH_ROWS)) != NULL;
    for (int c = tg_first_column(t); ok && c < tg_first_column(t + 1); c++)
        if ((mask & TG_BIT(c)) != 0) {
            ok = view_add(v, g, v->columns, c);
            v->columns++;
        }
    if (!ok) {
        view_free(v);
        return NULL;
    }
    v->schema = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = v->columns, .children = v->schemas, .release = release_schema};
    v->array = (struct ArrowArray){.n_buffers = 1,
                                   .n_children = v->columns,
                                   .buffers = v->top_buffers,
                                   .children = v->arrays,
                                   .release = release_array};
    return v;
}

/* Little-endian 128 bits: the value and its sign. */
static void widen(const int64_t *from, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = from[i];
        out[2 * i + 1] = from[i] < 0 ? -1 : 0;
    }
}

static void widen_counts(const int32_t *from, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = 100 * (int64_t)from[i];
        out[2 * i + 1] = 0;
    }
}

static void narrow(const int64_t *from, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)from[i];
}

static void spread(const uint8_t *from, int64_t n, int16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = from[i];
}

/* Values of child i in Arrow's form. */
static const void *values_of(struct view *v, int i)
{
    const struct tg_column *c = tg_batch_column(v->batch, v->column[i]);
    const int64_t n = v->batch->rows;
    switch (v->form[i]) {
    case FORM_MONEY: widen(c->i64, n, v->converted[i]); break;
    case FORM_COUNT_MONEY: widen_counts(c->i32, n, v->converted[i]); break;
    case FORM_CODE16: spread(c->code, n, v->converted[i]); break;
    case FORM_I32:
        if (tg_columns[v->column[i]].kind == TG_I32)
            return c->i32;
        narrow(c->i64, n, v->converted[i]);
        break;
    case FORM_I64: return c->i64;
    case FORM_DATE: return c->i32;
    case FORM_CODE8: return c->code;
    case FORM_TEXT: return c->offsets;
    }
    return v->converted[i];
}

static void view_fill(struct view *v)
{
    v->array.length = v->batch->rows;
    for (int i = 0; i < v->columns; i++) {
        v->child_array[i].length = v->batch->rows;
        v->buffers[i][1] = values_of(v, i);
        if (v->form[i] == FORM_TEXT)
            v->buffers[i][2] = tg_batch_column(v->batch, v->column[i])->bytes;
    }
}

/* ---- the job ---------------------------------------------------------------------------- */

struct job {
    const struct tg_gen *g;
    const struct tg_db_options *o;
    heddle_writer *writer;
    struct tg_error *err;
    heddle_error **cause;
    pthread_mutex_t lock;
    int table; /* in work by the cursor, counted down */
    bool cursor_valid, failed;
    struct tg_cursor cursor;
    int64_t first_row[TG_TABLE_COUNT]; /* of what is written of a table, in all of it; once it is in work */
    double rows_total, rows_done;
};

/* The next range, largest tables first; call under the lock. */
static bool next_range(struct job *job, struct tg_range *range)
{
    for (; job->table >= tg_first_table(tg_gen_scheme(job->g)); job->table--, job->cursor_valid = false) {
        const enum tg_table t = (enum tg_table)job->table;
        if (!job->cursor_valid) {
            int64_t begin, end;
            units_of(job->g, t, job->o, &begin, &end);
            tg_cursor_init(&job->cursor, job->g, t, begin, end);
            job->first_row[t] = job->cursor.first_row;
        }
        job->cursor_valid = true;
        if (tg_cursor_next(&job->cursor, BATCH_ROWS, range))
            return true;
    }
    return false;
}

static void set_cancelled(struct job *job)
{
    tg_fail(job->err, "", ECANCELED, "generation");
    if (job->err != NULL)
        job->err->cancelled = true;
    job->failed = true;
}

static bool claim_range(struct job *job, struct tg_range *range)
{
    pthread_mutex_lock(&job->lock);
    if (!job->failed && job->o->cancel != NULL && atomic_load(job->o->cancel))
        set_cancelled(job);
    const bool taken = !job->failed && next_range(job, range);
    pthread_mutex_unlock(&job->lock);
    return taken;
}

/* Takes over the database's error; the first one wins. */
static void fail_with(struct job *job, const char *what, heddle_error *e)
{
    const heddle_error_class class = e != NULL ? heddle_error_get_class(e) : HEDDLE_ERROR_IO;
    pthread_mutex_lock(&job->lock);
    if (job->failed || job->cause == NULL || *job->cause != NULL) {
        if (!job->failed)
            tg_fail(job->err, "", 0, "%s", what);
        heddle_error_free(e);
    } else {
        tg_fail(job->err, e != NULL ? heddle_error_path(e) : "", 0, "%s: %s", what,
                e != NULL ? heddle_error_message(e) : "no reason given");
        *job->cause = e;
    }
    if (!job->failed && job->err != NULL) {
        job->err->user = false;
        job->err->cancelled = class == HEDDLE_ERROR_CANCELLED;
    }
    job->failed = true;
    pthread_mutex_unlock(&job->lock);
}

static void fail_memory(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    if (!job->failed)
        tg_fail(job->err, "", ENOMEM, "generation");
    job->failed = true;
    pthread_mutex_unlock(&job->lock);
}

static void report(struct job *job, const struct tg_range *r)
{
    pthread_mutex_lock(&job->lock);
    job->rows_done += (double)r->rows;
    const double fraction = GENERATE_SHARE * job->rows_done / job->rows_total;
    if (!job->failed && job->o->progress != NULL &&
        job->o->progress(job->o->user, fraction, tg_table_name(r->table)) != 0)
        set_cancelled(job);
    pthread_mutex_unlock(&job->lock);
}

static void append_range(struct job *job, const struct tg_range *r, struct view *v)
{
    heddle_error *e = NULL;
    tg_produce(job->g, r, v->batch);
    view_fill(v);
    if (heddle_writer_append(job->writer, tg_table_name(r->table), r->first_row - job->first_row[r->table], &v->schema,
                             &v->array, &e) != 0)
        fail_with(job, "cannot store rows", e);
    else
        report(job, r);
}

static void work(void *arg, int index)
{
    struct job *job = arg;
    struct view *v = NULL;
    struct tg_range range;
    (void)index;
    while (claim_range(job, &range)) {
        if (v == NULL || v->batch->table != range.table) {
            view_free(v);
            v = view_new(job->g, range.table, mask_of(range.table, job->o->used_only));
        }
        if (v == NULL) {
            fail_memory(job);
            return;
        }
        append_range(job, &range, v);
    }
    view_free(v);
}

static int commit_progress(void *user, double fraction, const char *what)
{
    struct job *job = user;
    if (job->o->cancel != NULL && atomic_load(job->o->cancel))
        return 1;
    if (job->o->progress == NULL)
        return 0;
    return job->o->progress(job->o->user, GENERATE_SHARE + (1 - GENERATE_SHARE) * fraction, what);
}

static void fill_database(struct job *job)
{
    heddle_error *e = NULL;
    const enum tg_scheme scheme = tg_gen_scheme(job->g);
    job->table = tg_end_table(scheme) - 1;
    for (int t = tg_first_table(scheme); t < tg_end_table(scheme); t++)
        job->rows_total += (double)tg_db_rows(job->g, (enum tg_table)t, job->o);
    tg_parallel(tg_thread_count(job->o->threads), work, job);
    if (!job->failed && heddle_writer_commit(job->writer, commit_progress, job, &e) != 0)
        fail_with(job, "cannot commit", e);
}

int tg_db_write(const struct tg_gen *g, heddle_context *context, const char *path, const struct tg_db_options *o,
                struct tg_error *err, heddle_error **cause)
{
    struct job job = {.g = g, .o = o, .err = err, .cause = cause};
    heddle_error *e = NULL;
    char *schema = schema_json(g, o);
    pthread_mutex_init(&job.lock, NULL);
    if (schema == NULL)
        fail_memory(&job);
    else if (heddle_writer_open(context, path, schema, &job.writer, &e) != 0)
        fail_with(&job, "cannot create the database", e);
    else
        fill_database(&job);
    heddle_writer_free(job.writer);
    pthread_mutex_destroy(&job.lock);
    free(schema);
    return job.failed ? -1 : 0;
}
