/* Databases whose files are cut, flipped, missing or wrong; what `check` reports of them; and
 * every system call and allocation of writing and reading failing in turn. */
#include "tests/store/store_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/claim.h"
#include "runtime/base/fault.h"
#include "runtime/store/store_file.h"
#include "runtime/store/store_sum.h"

static const char schema[] =
    "{\"packed\":true,\"tables\":[{\"name\":\"p\",\"columns\":[{\"name\":\"k\",\"type\":\"int64\"},{\"name\":"
    "\"s\","
    "\"type\":\"string\"}],\"primary_key\":[\"k\"]},{\"name\":\"c\",\"columns\":[{\"name\":"
    "\"f\","
    "\"type\":\"int64\"},{\"name\":\"d\",\"type\":\"string\",\"nullable\":true}],\"foreign_"
    "keys\":"
    "[{\"columns\":[\"f\"],\"table\":\"p\",\"references\":[\"k\"]}]}]}";

enum { PARENTS = 6000, CHILDREN = 9000 };

struct data {
    int64_t k[PARENTS], f[CHILDREN];
    const char *s[PARENTS], *d[CHILDREN];
    char names[PARENTS][32];
};

static struct data *make_data(void)
{
    static const char *const few[] = {"red", "green", "blue", NULL};
    struct data *x = calloc(1, sizeof *x);
    for (int i = 0; i < PARENTS; i++) {
        x->k[i] = (int64_t)i * 7 % PARENTS * 2;
        snprintf(x->names[i], sizeof x->names[i], "name %d", i);
        x->s[i] = x->names[i];
    }
    for (int i = 0; i < CHILDREN; i++) {
        x->f[i] = x->k[i * 31 % PARENTS];
        x->d[i] = few[i % 4];
    }
    return x;
}

/* Everything up to commit; -1 at the first failure. */
static int write_database(heddle_context *c, const char *path, const struct data *x, heddle_error **e)
{
    heddle_writer *w = NULL;
    struct fx_batch *p = fx_batch_new(PARENTS, 0), *q = fx_batch_new(CHILDREN, 0);
    fx_add(p, "k", "l", x->k, 8, NULL);
    fx_add_text(p, "s", x->s, false);
    fx_add(q, "f", "l", x->f, 8, NULL);
    fx_add_text(q, "d", x->d, false);
    int rc = heddle_writer_open(c, path, schema, &w, e);
    if (rc == 0)
        rc = heddle_writer_append(w, "p", 0, fx_schema(p), fx_array(p), e);
    if (rc == 0)
        rc = heddle_writer_append(w, "c", 0, fx_schema(q), fx_array(q), e);
    if (rc == 0)
        rc = heddle_writer_commit(w, NULL, NULL, e);
    heddle_writer_free(w);
    fx_batch_free(p);
    fx_batch_free(q);
    return rc;
}

static void make_database(struct fx_dir *d)
{
    struct data *x = make_data();
    heddle_error *e = NULL;
    fx_ok(write_database(d->context, d->db, x, &e), &e);
    free(x);
}

/* Opens and touches everything; -1 at the first failure. */
static int read_database(const char *path, bool trust, struct hd_err *err)
{
    struct hd_arena a;
    struct fe_catalog_doc *doc = NULL;
    struct rt_store *s = NULL;
    char *text = NULL;
    hd_arena_init(&a);
    hd_err_init(err);
    int rc = rt_store_read_catalog(path, &text, err);
    if (rc == 0)
        rc = fe_catalog_read(&a, text, path, &doc, err);
    if (rc == 0)
        rc = rt_store_open(path, doc, (struct rt_open_mode){.trust = trust}, &s, err);
    for (int t = 0; rc == 0 && t < doc->cat.ntables; t++) {
        const struct fe_table *x = doc->cat.tables[t];
        for (int c = 0; rc == 0 && c < x->ncols; c++)
            rc = rt_store_touch((struct fe_table_part){x, FE_PART_COLUMN, c}, err);
        for (int k = 0; rc == 0 && k < x->nkeyidx; k++)
            rc = rt_store_touch((struct fe_table_part){x, FE_PART_KEYIDX, k}, err);
        for (int k = 0; rc == 0 && k < x->nfks; k++)
            rc = rt_store_touch((struct fe_table_part){x, FE_PART_FK, k}, err);
    }
    rt_store_close(s);
    free(text);
    hd_arena_release(&a);
    return rc;
}

static void expect_read(const char *path, bool trust, enum hd_err_class class, const char *path_end, const char *part)
{
    struct hd_err e;
    int rc = read_database(path, trust, &e);
    size_t n = strlen(e.path), m = strlen(path_end);
    bool good =
        rc != 0 && e.class == class && n >= m && strcmp(e.path + n - m, path_end) == 0 && strstr(e.message, part);
    if (!good)
        print_error("found %s: %s: %s\n", hd_err_class_name(e.class), e.path, e.message);
    assert_true(good);
    hd_err_release(&e);
}

/* ---- damage --------------------------------------------------------------------------------- */

static void flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    fputc(c ^ 1, f);
    fclose(f);
}

/* All bits of a byte. */
static void flip_all(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int c = fgetc(f);
    if (c != EOF) {
        assert_int_equal(fseek(f, at, SEEK_SET), 0);
        fputc(c ^ 0xff, f);
    }
    fclose(f);
}

static void slurp(const char *path, char **text)
{
    size_t n;
    assert_int_equal(rt_file_read_all(path, text, &n, NULL), 0);
}

/* The catalog with one text replaced, under a right checksum. */
static void edit_catalog(struct fx_dir *d, const char *from, const char *to)
{
    char sum[RT_SUM_TEXT];
    const char *path = fx_path(d, "db/catalog.json");
    char *text = NULL;
    slurp(path, &text);
    char *edited = calloc(1, strlen(text) + 100);
    const char *at = strstr(text, from);
    assert_non_null(at);
    memcpy(edited, text, (size_t)(at - text));
    strcat(edited, to);
    strcat(edited, at + strlen(from));
    fx_write_file(path, edited, strlen(edited));
    rt_sum(edited, strlen(edited), sum);
    char line[RT_SUM_TEXT + 1];
    snprintf(line, sizeof line, "%s\n", sum);
    fx_write_file(fx_path(d, "db/catalog.sum"), line, strlen(line));
    free(text);
    free(edited);
}

static const char *const files[] = {
    "p.k.data", "p.k.key",   "p.s.data",       "p.s.text_base",    "p.s.text",     "c.f.data",
    "c.d.data", "c.d.valid", "c.d.dict_bytes", "c.d.dict_offsets", "c.f.fk0_rows", "c.f.fk0_offsets",
};

static void flipped_bits_are_found_at_first_use(void **state)
{
    struct fx_dir *d = *state;
    struct hd_err e;
    make_database(d);
    assert_int_equal(read_database(d->db, false, &e), 0);
    for (size_t i = 0; i < HD_COUNT(files); i++) {
        char name[64];
        snprintf(name, sizeof name, "db/%s", files[i]);
        flip(fx_path(d, name), -1);
        expect_read(d->db, false, HD_ERR_CORRUPT, files[i], "the catalog says");
        assert_int_equal(read_database(d->db, true, &e), 0); /* trusted: not looked at */
        flip(fx_path(d, name), -1);
    }
    assert_int_equal(read_database(d->db, false, &e), 0);
}

static void an_unused_column_is_not_looked_at(void **state)
{
    struct fx_dir *d = *state;
    struct fx_db db;
    struct hd_err e;
    hd_err_init(&e);
    make_database(d);
    flip(fx_path(d, "db/p.s.text"), 0);
    fx_open(&db, d->db);
    const struct fe_table *p = fx_table(&db, "p");
    assert_int_equal(rt_store_touch((struct fe_table_part){p, FE_PART_COLUMN, 0}, &e), 0);
    assert_int_equal(rt_store_touch((struct fe_table_part){p, FE_PART_KEYIDX, 0}, &e), 0);
    for (int k = 0; k < 2; k++) { /* not only the first time */
        assert_int_equal(rt_store_touch((struct fe_table_part){p, FE_PART_COLUMN, 1}, &e), -1);
        assert_int_equal(e.class, HD_ERR_CORRUPT);
        hd_err_release(&e);
    }
    fx_close(&db);
}

static void *touch_all(void *arg)
{
    const struct fe_table *t = arg;
    struct hd_err e;
    hd_err_init(&e);
    assert_int_equal(rt_store_touch((struct fe_table_part){t, FE_PART_COLUMN, 0}, &e), 0);
    assert_int_equal(rt_store_touch((struct fe_table_part){t, FE_PART_KEYIDX, 0}, &e), 0);
    assert_int_equal(rt_store_touch((struct fe_table_part){t, FE_PART_COLUMN, 1}, &e), -1); /* damaged */
    hd_err_release(&e);
    return NULL;
}

static void threads_may_touch_at_once(void **state)
{
    enum { THREADS = 4 };
    struct fx_dir *d = *state;
    struct fx_db db;
    pthread_t ids[THREADS];
    make_database(d);
    flip(fx_path(d, "db/p.s.text"), 0);
    fx_open(&db, d->db);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, touch_all, (void *)(uintptr_t)fx_table(&db, "p")), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    fx_close(&db);
}

static void cut_and_missing_files_are_found_at_open(void **state)
{
    struct fx_dir *d = *state;
    make_database(d);
    for (size_t i = 0; i < HD_COUNT(files); i++) {
        char name[64], away[80];
        struct stat st;
        snprintf(name, sizeof name, "db/%s", files[i]);
        snprintf(away, sizeof away, "%s.away", name);
        assert_int_equal(rename(fx_path(d, name), fx_path(d, away)), 0);
        expect_read(d->db, true, HD_ERR_CORRUPT, files[i], "missing");
        assert_int_equal(rename(fx_path(d, away), fx_path(d, name)), 0);
        assert_int_equal(stat(fx_path(d, name), &st), 0);
        char *text = NULL;
        slurp(fx_path(d, name), &text);
        assert_int_equal(truncate(fx_path(d, name), st.st_size - 1), 0);
        expect_read(d->db, true, HD_ERR_CORRUPT, files[i], "bytes, the catalog says");
        fx_write_file(fx_path(d, name), text, (size_t)st.st_size);
        free(text);
    }
}

static void check_says_catalog(struct fx_dir *d, const char *part)
{
    heddle_error *e = NULL;
    char *report = NULL;
    fx_expect(heddle_database_check(d->context, d->db, NULL, NULL, &report, &e), &e, HEDDLE_ERROR_CORRUPT,
              "catalog.sum", part);
}

static void fifos_are_refused(void **state)
{
    static const char *const places[] = {"db/p.k.data", "db/catalog.sum", "db/catalog.json", "db"};
    struct fx_dir *d = *state;
    make_database(d);
    for (size_t i = 0; i < HD_COUNT(places); i++) {
        assert_int_equal(rename(fx_path(d, places[i]), fx_path(d, "away")), 0);
        assert_int_equal(mkfifo(fx_path(d, places[i]), 0600), 0);
        expect_read(d->db, false, HD_ERR_IO, places[i], i < 3 ? "not a regular file" : "not a directory");
        assert_int_equal(unlink(fx_path(d, places[i])), 0);
        assert_int_equal(rename(fx_path(d, "away"), fx_path(d, places[i])), 0);
    }
}

static const char by_dictionary[] =
    "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],"
    "\"input\":{\"op\":\"scan\",\"table\":\"c\",\"filter\":\"d > 'blue' and d in ('red')\"}}}";

/* What the planner reads is verified before it does. */
static void damaged_dictionaries_are_found_while_planning(void **state)
{
    static const char *const parts[] = {"c.d.dict_offsets", "c.d.dict_bytes"};
    struct fx_dir *d = *state;
    make_database(d);
    for (size_t i = 0; i < HD_COUNT(parts); i++) {
        char name[64], *text = NULL;
        heddle_error *e = NULL;
        heddle_database *db = NULL;
        heddle_statement *s = NULL;
        snprintf(name, sizeof name, "db/%s", parts[i]);
        for (long at = 4; at < 12; at++) /* high bytes too: offsets of gigabytes */
            flip_all(fx_path(d, name), at);
        fx_ok(heddle_database_open(d->context, d->db, 0, &db, &e), &e);
        fx_ok(heddle_prepare(db, by_dictionary, NULL, &s, &e), &e);
        fx_expect(heddle_explain(s, "pipelines", &text, &e), &e, HEDDLE_ERROR_CORRUPT, parts[i], "the catalog says");
        heddle_statement_free(s);
        heddle_database_free(db);
        for (long at = 4; at < 12; at++)
            flip_all(fx_path(d, name), at);
    }
}

/* Read into memory, files may be cut while they are open; before that it is an error. */
static void copied_files_may_be_cut(void **state)
{
    struct fx_dir *d = *state;
    heddle_context *copies;
    heddle_options o;
    heddle_error *e = NULL;
    heddle_database *db = NULL;
    heddle_statement *s = NULL;
    struct ArrowArrayStream rows;
    make_database(d);
    heddle_options_init(&o);
    o.no_mmap = 1;
    fx_ok(heddle_context_new(&o, &copies, &e), &e);
    fx_ok(heddle_database_open(copies, d->db, 0, &db, &e), &e);
    fx_ok(heddle_prepare(db, by_dictionary, NULL, &s, &e), &e);
    for (int k = 0; k < 2; k++) {
        fx_ok(heddle_execute(s, &rows, &e), &e);
        rows.release(&rows);
        assert_int_equal(truncate(fx_path(d, "db/c.d.data"), 0), 0);
    }
    heddle_statement_free(s);
    heddle_database_free(db);
    fx_expect(heddle_database_open(copies, d->db, 0, &db, &e), &e, HEDDLE_ERROR_CORRUPT, "c.d.data",
              "file has 0 bytes");
    heddle_context_free(copies);
}

/* Cut between opening and first use. */
static void copied_files_cut_before_use_are_told(void **state)
{
    struct fx_dir *d = *state;
    heddle_context *copies;
    heddle_options o;
    heddle_error *e = NULL;
    heddle_database *db = NULL;
    heddle_statement *s = NULL;
    struct ArrowArrayStream rows;
    make_database(d);
    heddle_options_init(&o);
    o.no_mmap = 1;
    fx_ok(heddle_context_new(&o, &copies, &e), &e);
    for (int trust = 0; trust < 2; trust++) {
        char *text = NULL;
        size_t n = 0;
        fx_ok(heddle_database_open(copies, d->db, trust, &db, &e), &e);
        fx_ok(heddle_prepare(db, by_dictionary, NULL, &s, &e), &e);
        assert_int_equal(rt_file_read_all(fx_path(d, "db/c.d.data"), &text, &n, NULL), 0);
        assert_int_equal(truncate(fx_path(d, "db/c.d.data"), (off_t)n - 1), 0);
        fx_expect(heddle_execute(s, &rows, &e), &e, HEDDLE_ERROR_IO, "c.d.data", "shrank");
        fx_write_file(fx_path(d, "db/c.d.data"), text, n);
        fx_ok(heddle_execute(s, &rows, &e), &e); /* it is read again */
        rows.release(&rows);
        free(text);
        heddle_statement_free(s);
        heddle_database_free(db);
    }
    heddle_context_free(copies);
}

static void damaged_catalogs_are_refused(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_database *db = NULL;
    make_database(d);
    flip(fx_path(d, "db/catalog.json"), 300);
    expect_read(d->db, false, HD_ERR_CORRUPT, "catalog.json", "checksum of the catalog");
    flip(fx_path(d, "db/catalog.json"), 300);
    flip(fx_path(d, "db/catalog.sum"), 3);
    expect_read(d->db, false, HD_ERR_CORRUPT, "catalog.json", "checksum of the catalog");
    flip(fx_path(d, "db/catalog.sum"), 3);
    flip(fx_path(d, "db/catalog.sum"), -1); /* the line end */
    expect_read(d->db, false, HD_ERR_CORRUPT, "catalog.sum", "without a line end");
    check_says_catalog(d, "line end");
    flip(fx_path(d, "db/catalog.sum"), -1);
    edit_catalog(d, "\"rows\": 6000", "\"rows\": 5000");
    expect_read(d->db, false, HD_ERR_CORRUPT, "", "");
    edit_catalog(d, "\"rows\": 5000", "\"rows\": 6000, \"colour\": 1");
    expect_read(d->db, false, HD_ERR_CORRUPT, "", "colour");
    assert_int_equal(unlink(fx_path(d, "db/catalog.json")), 0);
    fx_expect(heddle_database_open(d->context, d->db, 0, &db, &e), &e, HEDDLE_ERROR_CORRUPT, "catalog.json", "missing");
    fx_expect(heddle_database_open(d->context, fx_path(d, "nowhere"), 0, &db, &e), &e, HEDDLE_ERROR_IO, "nowhere",
              "No such file");
    fx_expect(heddle_database_open(d->context, fx_path(d, "db/p.k.data"), 0, &db, &e), &e, HEDDLE_ERROR_IO, "p.k.data",
              "not a directory");
}

/* ---- check ---------------------------------------------------------------------------------- */

static void check_says(struct fx_dir *d, const char *part)
{
    heddle_error *e = NULL;
    char *report = NULL;
    int rc = heddle_database_check(d->context, d->db, NULL, NULL, &report, &e);
    assert_non_null(report);
    if (part) {
        fx_expect(rc, &e, HEDDLE_ERROR_CORRUPT, "db", "problem");
        assert_non_null(strstr(report, "\"ok\": false"));
        if (!strstr(report, part))
            print_error("no %s in %s\n", part, report);
        assert_non_null(strstr(report, part));
    } else {
        if (rc)
            print_error("%s\n", report);
        fx_ok(rc, &e);
        assert_non_null(strstr(report, "\"ok\": true"));
    }
    heddle_free(report);
}

static void check_finds_damaged_files(void **state)
{
    struct fx_dir *d = *state;
    make_database(d);
    check_says(d, NULL);
    for (size_t i = 0; i < HD_COUNT(files); i++) {
        char name[64], part[64];
        snprintf(name, sizeof name, "db/%s", files[i]);
        snprintf(part, sizeof part, "{\"file\": \"%s\", \"what\": \"checksum\"", files[i]);
        for (int end = 0; end < 2; end++) {
            flip(fx_path(d, name), end ? -1 : 0);
            check_says(d, part);
            flip(fx_path(d, name), end ? -1 : 0);
        }
    }
    check_says(d, NULL);
}

static void check_finds_wrong_facts(void **state)
{
    static const struct {
        const char *from, *to, *found;
    } edits[] = {
        {"\"min\": \"0\", \"max\": \"11998\", \"distinct\": 6000",
         "\"min\": \"0\", \"max\": \"11998\", \"distinct\": 5999",
         "\"what\": \"distinct\", \"stored\": \"5999\", \"found\": \"6000\""},
        {"\"distinct_exact\": true, ", "", "\"what\": \"distinct is exact\""},
        {"\"max_multiplicity\": 1", "\"max_multiplicity\": 2", "\"what\": \"max multiplicity\""},
        {"\"nulls\": 2250", "\"nulls\": 2251", "\"what\": \"nulls\""},
        {"\"max_children\": 2", "\"max_children\": 3", "\"what\": \"max children\""},
        {"\"max_children\": 2", "\"max_children\": 70, \"long_parents\": [{\"row\": 0, \"children\": 70}]",
         "\"what\": \"long parents\""},
        {"\"clustered\": true, ", "", "\"what\": \"clustered\""},
    };
    struct fx_dir *d = *state;
    make_database(d);
    for (size_t i = 0; i < HD_COUNT(edits); i++) {
        char *before = NULL, *sum = NULL;
        slurp(fx_path(d, "db/catalog.json"), &before);
        slurp(fx_path(d, "db/catalog.sum"), &sum);
        edit_catalog(d, edits[i].from, edits[i].to);
        check_says(d, edits[i].found);
        fx_write_file(fx_path(d, "db/catalog.json"), before, strlen(before));
        fx_write_file(fx_path(d, "db/catalog.sum"), sum, strlen(sum));
        free(before);
        free(sum);
    }
    check_says(d, NULL);
}

/* ---- faults --------------------------------------------------------------------------------- */

static const char *const kinds[] = {
#define X(id, name) name,
    HD_FAULT_KINDS(X)
#undef X
};

/* Makes the n-th call of every kind fail, for all n until none is reached any more. With one
 * thread, so that the n-th call is the same every time. */
static void every_failure_of_writing_is_clean(void **state)
{
    struct fx_dir *d = *state;
    struct data *x = make_data();
    heddle_context *one;
    heddle_options o;
    heddle_options_init(&o);
    o.threads = 1;
    assert_int_equal(heddle_context_new(&o, &one, NULL), 0);
    for (int kind = 0; kind < HD_FAULT_COUNT; kind++) {
        uint64_t n = 1, calls = UINT64_MAX;
        for (; n <= calls; n++) {
            char spec[32];
            heddle_error *e = NULL;
            snprintf(spec, sizeof spec, "%s:%d", kinds[kind], (int)n);
            assert_true(hd_fault_arm(spec));
            int rc = write_database(one, d->db, x, &e);
            if (rc == 0) /* all calls were made */
                calls = hd_fault_calls((enum hd_fault_kind)kind);
            hd_fault_arm(NULL);
            if (rc == 0) { /* not reached, or a failure that can be lived with */
                hd_dir_remove(d->db);
                continue;
            }
            assert_non_null(e);
            heddle_error_class c = heddle_error_get_class(e);
            if (c != HEDDLE_ERROR_IO && c != HEDDLE_ERROR_RESOURCE)
                print_error("%s: %s\n", spec, heddle_error_message(e));
            assert_true(c == HEDDLE_ERROR_IO || c == HEDDLE_ERROR_RESOURCE);
            assert_true(heddle_error_message(e)[0]);
            heddle_error_free(e);
            assert_int_equal(fx_count_entries(d->path), 0);
        }
        if (kind != HD_FAULT_THREAD && kind != HD_FAULT_READ)
            assert_true(n > 1); /* at least one was reached */
    }
    heddle_context_free(one);
    free(x);
}

static void every_failure_of_reading_is_clean(void **state)
{
    struct fx_dir *d = *state;
    make_database(d);
    for (int kind = 0; kind < HD_FAULT_COUNT; kind++) {
        uint64_t n = 1, calls = UINT64_MAX;
        for (; n <= calls; n++) {
            char spec[32];
            heddle_error *e = NULL;
            char *report = NULL;
            snprintf(spec, sizeof spec, "%s:%d", kinds[kind], (int)n);
            assert_true(hd_fault_arm(spec));
            int rc = heddle_database_check(d->context, d->db, NULL, NULL, &report, &e);
            if (rc == 0)
                calls = hd_fault_calls((enum hd_fault_kind)kind);
            hd_fault_arm(NULL);
            assert_true(rc == 0 || e != NULL);
            heddle_error_free(e);
            heddle_free(report);
        }
    }
    check_says(d, NULL);
}

/* A disk that fills up: every write from the n-th on fails. */
static void a_full_disk_says_so(void **state)
{
    struct fx_dir *d = *state;
    struct data *x = make_data();
    for (int n = 1; n < 20; n += 3) {
        char spec[32];
        heddle_error *e = NULL;
        snprintf(spec, sizeof spec, "write:%d+", n);
        assert_true(hd_fault_arm(spec));
        int rc = write_database(d->context, d->db, x, &e);
        hd_fault_arm(NULL);
        fx_expect(rc, &e, HEDDLE_ERROR_IO, "", "No space left on device");
        assert_int_equal(fx_count_entries(d->path), 0);
    }
    free(x);
}

static void fault_specifications_are_parsed(void **state)
{
    (void)state;
    assert_true(hd_fault_arm("alloc:2,write:1+"));
    assert_false(hd_fault(HD_FAULT_ALLOC));
    assert_true(hd_fault(HD_FAULT_ALLOC));
    assert_false(hd_fault(HD_FAULT_ALLOC));
    assert_true(hd_fault(HD_FAULT_WRITE) && hd_fault(HD_FAULT_WRITE));
    assert_false(hd_fault(HD_FAULT_MMAP));
    assert_false(hd_fault_arm("alloc"));
    assert_false(hd_fault_arm("alloc:0"));
    assert_false(hd_fault_arm("no:1"));
    assert_false(hd_fault_arm("alloc:1;write:1"));
    assert_true(hd_fault_arm(NULL));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(flipped_bits_are_found_at_first_use),
        TEST(an_unused_column_is_not_looked_at),
        TEST(threads_may_touch_at_once),
        TEST(cut_and_missing_files_are_found_at_open),
        TEST(fifos_are_refused),
        TEST(damaged_dictionaries_are_found_while_planning),
        TEST(copied_files_may_be_cut),
        TEST(copied_files_cut_before_use_are_told),
        TEST(damaged_catalogs_are_refused),
        TEST(check_finds_damaged_files),
        TEST(check_finds_wrong_facts),
        TEST(every_failure_of_writing_is_clean),
        TEST(every_failure_of_reading_is_clean),
        TEST(a_full_disk_says_so),
        cmocka_unit_test(fault_specifications_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
