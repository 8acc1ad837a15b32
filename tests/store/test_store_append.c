/* Rules of writing: ranges, threads, types, refusals, and that nothing is left of a failure. */
#include "tests/store/store_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char one_int[] = "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\",\"type\":\"int64\"}]}]}";

static struct fx_batch *range(int64_t from, int64_t rows)
{
    struct fx_batch *b = fx_batch_new(rows, 0);
    int64_t *v = malloc((size_t)(rows + 1) * sizeof *v);
    for (int64_t i = 0; i < rows; i++)
        v[i] = from + i;
    fx_add(b, "x", "l", v, 8, NULL);
    free(v);
    return b;
}

static int append(heddle_writer *w, int64_t from, int64_t rows, heddle_error **e)
{
    struct fx_batch *b = range(from, rows);
    int rc = heddle_writer_append(w, "t", from, fx_schema(b), fx_array(b), e);
    fx_batch_free(b);
    return rc;
}

static void overlaps_are_refused(void **state)
{
    heddle_writer *w = fx_writer(*state, one_int);
    heddle_error *e = NULL;
    fx_ok(append(w, 10, 10, &e), &e);
    fx_expect(append(w, 19, 1, &e), &e, HEDDLE_ERROR_DATA, "t", "overlap rows appended before");
    fx_expect(append(w, 5, 6, &e), &e, HEDDLE_ERROR_DATA, "t", "(11 to 20)");
    fx_expect(append(w, 0, 100, &e), &e, HEDDLE_ERROR_DATA, "t", "rows 1 to 100 overlap");
    fx_expect(append(w, -1, 5, &e), &e, HEDDLE_ERROR_USER, "t", "bad row range");
    fx_ok(append(w, 20, 5, &e), &e);
    fx_ok(append(w, 0, 10, &e), &e);
    fx_ok(append(w, 25, 0, &e), &e);
    fx_commit(w);
}

static void gaps_are_refused(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(d, one_int);
    fx_ok(append(w, 0, 5, &e), &e);
    fx_ok(append(w, 10, 5, &e), &e);
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_DATA, "t", "rows 6 to 10 are missing");
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_USER, "db", "nothing to commit");
    fx_expect(append(w, 5, 5, &e), &e, HEDDLE_ERROR_USER, "t", "no more rows");
    heddle_writer_free(w);
    w = fx_writer(d, one_int);
    fx_ok(append(w, 3, 5, &e), &e);
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_DATA, "t", "rows 1 to 3 are missing");
    heddle_writer_free(w);
    assert_int_equal(fx_count_entries(d->path), 0);
}

static void declared_rows_bind(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"rows\":10,\"columns\":[{"
                                    "\"name\":\"x\",\"type\":\"int64\"}]}]}");
    fx_expect(append(w, 5, 6, &e), &e, HEDDLE_ERROR_DATA, "t", "declared are 10");
    fx_ok(append(w, 0, 9, &e), &e);
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_DATA, "t", "10 rows declared, 9 appended");
    heddle_writer_free(w);
}

static void wrong_columns_are_refused(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(d, "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\",\"type\":\"int32\"},{"
                                    "\"name\":\"m\",\"type\":\"decimal(4,2)\"}]}]}");
    const int64_t x[] = {1, 2};
    const hd_i128 m[] = {9999, 10000};
    const uint8_t valid[] = {1, 0};
#define REFUSE(class, part) \
    fx_expect(heddle_writer_append(w, "t", 0, fx_schema(b), fx_array(b), &e), &e, HEDDLE_ERROR_##class, "t", part); \
    fx_batch_free(b); \
    b = fx_batch_new(2, 0)
    struct fx_batch *b = fx_batch_new(2, 0);
    fx_add(b, "x", "l", x, 8, NULL);
    REFUSE(USER, "\"x\" is int32, which Arrow format \"l\" does not fit");
    fx_add(b, "x", "i", x, 4, NULL);
    REFUSE(USER, "\"m\": missing");
    fx_add(b, "x", "i", x, 4, NULL);
    fx_add(b, "x", "i", x, 4, NULL);
    REFUSE(USER, "\"x\": twice");
    fx_add(b, "y", "i", x, 4, NULL);
    REFUSE(USER, "\"y\": not in the table");
    fx_add(b, "x", "i", x, 4, NULL);
    fx_add(b, "m", "d:4,1", m, 16, NULL);
    REFUSE(USER, "\"d:4,1\" does not fit");
    fx_add(b, "x", "i", x, 4, valid);
    fx_add(b, "m", "d:4,2", m, 16, NULL);
    REFUSE(DATA, "row 2: column \"x\" is not nullable");
    fx_add(b, "x", "i", x, 4, NULL);
    fx_add(b, "m", "d:6,2", m, 16, NULL);
    REFUSE(DATA, "row 2: column \"m\": value does not fit decimal(4,2)");
    fx_array(b)->length = 3;
    fx_add(b, "x", "i", x, 4, NULL);
    fx_add(b, "m", "d:6,2", m, 16, NULL);
    REFUSE(USER, "shorter than its batch");
    fx_batch_free(b);
    b = range(0, 1);
    fx_expect(heddle_writer_append(w, "u", 0, fx_schema(b), fx_array(b), &e), &e, HEDDLE_ERROR_USER, "u",
              "no such table");
    fx_schema(b)->format = "i";
    fx_expect(heddle_writer_append(w, "t", 0, fx_schema(b), fx_array(b), &e), &e, HEDDLE_ERROR_USER, "t",
              "expected a struct");
    fx_batch_free(b);
    heddle_writer_free(w);
    assert_int_equal(fx_count_entries(d->path), 0);
}

/* A refused append leaves its range free and the writer usable. */
static void a_refused_append_is_undone(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(d, one_int);
    uint8_t *valid = malloc(100000);
    memset(valid, 1, 100000);
    valid[99999] = 0; /* in the second slice */
    struct fx_batch *b = fx_batch_new(100000, 0);
    int64_t *v = calloc(100000, 8);
    fx_add(b, "x", "l", v, 8, valid);
    fx_expect(heddle_writer_append(w, "t", 0, fx_schema(b), fx_array(b), &e), &e, HEDDLE_ERROR_DATA, "t", "row 100000");
    fx_batch_free(b);
    fx_ok(append(w, 0, 5, &e), &e);
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    assert_int_equal(fx_table(&db, "t")->rows, 5);
    for (int i = 0; i < 5; i++)
        assert_true(rt_col_int(&fx_table(&db, "t")->cols[0], i) == i);
    fx_close(&db);
    free(v);
    free(valid);
}

enum { THREADS = 4, PIECES = 200, PIECE = 1013 };

struct job {
    heddle_writer *w;
    int thread;
};

static void *append_pieces(void *arg)
{
    const struct job *j = arg;
    for (int k = PIECES - 1; k >= 0; k--) {
        heddle_error *e = NULL;
        int piece = k * 37 % PIECES; /* any order */
        if (piece % THREADS == j->thread)
            assert_int_equal(append(j->w, (int64_t)piece * PIECE, PIECE, &e), 0);
    }
    return NULL;
}

static void threads_append_in_any_order(void **state)
{
    struct fx_dir *d = *state;
    heddle_writer *w = fx_writer(d, one_int);
    pthread_t ids[THREADS];
    struct job jobs[THREADS];
    for (int t = 0; t < THREADS; t++) {
        jobs[t] = (struct job){w, t};
        assert_int_equal(pthread_create(&ids[t], NULL, append_pieces, &jobs[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(ids[t], NULL);
    fx_commit(w);
    struct fx_db db;
    fx_open(&db, d->db);
    const struct fe_table *t = fx_table(&db, "t");
    assert_int_equal(t->rows, PIECES * PIECE);
    for (int64_t i = 0; i < t->rows; i++)
        assert_true(rt_col_int(&t->cols[0], i) == i);
    fx_close(&db);
}

static void the_path_must_be_free(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = NULL;
    assert_int_equal(mkdir(d->db, 0777), 0);
    fx_commit(fx_writer(d, one_int)); /* an empty directory is */
    fx_expect(heddle_writer_open(d->context, d->db, one_int, &w, &e), &e, HEDDLE_ERROR_USER, "db", "exists already");
    fx_expect(heddle_writer_open(d->context, fx_path(d, "no/such/place"), one_int, &w, &e), &e, HEDDLE_ERROR_IO, "",
              "cannot create directory");
    fx_expect(heddle_writer_open(d->context, "", one_int, &w, &e), &e, HEDDLE_ERROR_USER, "", "empty path");
    fx_expect(heddle_writer_open(d->context, d->db, "{", &w, &e), &e, HEDDLE_ERROR_USER, "", "");
    assert_null(w);
}

static void two_writers_race_for_a_path(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *a = fx_writer(d, one_int), *b = fx_writer(d, one_int);
    fx_commit(a);
    fx_expect(heddle_writer_commit(b, NULL, NULL, &e), &e, HEDDLE_ERROR_IO, "db", "something appeared there");
    heddle_writer_free(b);
    assert_int_equal(fx_count_entries(d->path), 1);
}

static int cancel_at(void *user, double fraction, const char *what)
{
    assert_true(fraction >= 0 && fraction <= 1);
    assert_non_null(what);
    return --*(int *)user < 0;
}

static void progress_cancels(void **state)
{
    struct fx_dir *d = *state;
    for (int n = 0; n < 200; n += 1 + n / 8) {
        heddle_error *e = NULL;
        heddle_writer *w = fx_writer(d, one_int);
        int left = n;
        fx_ok(append(w, 0, 200000, &e), &e);
        int rc = heddle_writer_commit(w, cancel_at, &left, &e);
        heddle_writer_free(w);
        if (rc == 0)
            return;
        fx_expect(rc, &e, HEDDLE_ERROR_CANCELLED, "", "cancelled while");
        assert_int_equal(fx_count_entries(d->path), 0);
    }
    fail_msg("progress was called too often");
}

static void freeing_leaves_nothing(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(d, one_int);
    fx_ok(append(w, 0, 1000, &e), &e);
    heddle_writer_free(w);
    assert_int_equal(fx_count_entries(d->path), 0);
}

/* One past what plans can count. */
static void too_many_rows_are_refused(void **state)
{
    heddle_error *e = NULL;
    heddle_writer *w = fx_writer(*state, one_int);
    fx_expect(append(w, ((int64_t)1 << 44) - 1, 2, &e), &e, HEDDLE_ERROR_UNSUPPORTED, "t",
              "more than 17592186044416 rows");
    fx_ok(append(w, (int64_t)INT32_MAX - 1, 2, &e), &e); /* they would be in a second segment */
    fx_expect(heddle_writer_commit(w, NULL, NULL, &e), &e, HEDDLE_ERROR_DATA, "t", "rows 1 to 2147483646 are missing");
    heddle_writer_free(w);
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void leave_lock(struct fx_dir *d, const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s.lock", name);
    fx_write_file(fx_path(d, path), text, strlen(text));
}

/* A folder with a file, and a lock that says so beside it (NULL: none). */
static void leave(struct fx_dir *d, const char *name, const char *text)
{
    char path[96];
    mkdir(fx_path(d, name), 0777);
    snprintf(path, sizeof path, "%s/t.x", name);
    fx_write_file(fx_path(d, path), "x", 1);
    if (text)
        leave_lock(d, name, text);
}

/* Every moment at which a writer may die leaves one of these. */
static void leave_all_of_the_dead(struct fx_dir *d)
{
    leave_lock(d, "db.tmp-1-10", "");
    leave_lock(d, "db.tmp-1-11", "");
    mkdir(fx_path(d, "db.tmp-1-11"), 0777);
    leave_lock(d, "db.tmp-1-12", "heddle is writing db.tmp-1-12\n");
    mkdir(fx_path(d, "db.tmp-1-12"), 0777);
    leave(d, "db.tmp-1-13", "heddle is writing db.tmp-1-13\n");
    leave_lock(d, "db.tmp-1-14", "heddle is writing db.tmp-1-14\n"); /* published, or removed */
}

static void expect_none_of_the_dead(struct fx_dir *d)
{
    for (int i = 10; i <= 14; i++) {
        char name[64];
        snprintf(name, sizeof name, "db.tmp-1-%d", i);
        assert_false(is_there(fx_path(d, name)));
        snprintf(name, sizeof name, "db.tmp-1-%d.lock", i);
        assert_false(is_there(fx_path(d, name)));
    }
}

static void leave_what_stays(struct fx_dir *d)
{
    leave(d, "db.tmp-1", "heddle is writing db.tmp-1\n"); /* other names */
    leave(d, "db.tmp-1-2x", "heddle is writing db.tmp-1-2x\n");
    leave(d, "xdb.tmp-1-2", "heddle is writing xdb.tmp-1-2\n");
    leave(d, "db2.tmp-1-2", "heddle is writing db2.tmp-1-2\n");
    leave(d, "db.tmp-1-3", "mine\n"); /* other content */
    leave(d, "db.tmp-1-4", "heddle is writing db.tmp-1-2\n");
    leave(d, "db.tmp-1-5", NULL);
    leave(d, "db.tmp-1-6", ""); /* filled by somebody else: there is a name before there are files */
    mkdir(fx_path(d, "db.tmp-1-7"), 0777);
    leave_lock(d, "db.tmp-1-8", "mine\n");
    leave(d, "kept", NULL); /* the lock names what is not a folder of ours, or is not the folder's own */
    leave_lock(d, "db.tmp-1-9", "heddle is writing db.tmp-1-9\n");
    assert_int_equal(symlink("kept", fx_path(d, "db.tmp-1-9")), 0);
    leave(d, "db.tmp-1-15", "heddle is writing db.tmp-1-15\n");
    char from[512];
    snprintf(from, sizeof from, "%s", fx_path(d, "db.tmp-1-15.lock"));
    assert_int_equal(link(from, fx_path(d, "another")), 0);
}

static void expect_what_stays(struct fx_dir *d)
{
    static const char *const names[] = {
        "db.tmp-1/t.x",     "db.tmp-1.lock",    "db.tmp-1-2x/t.x",  "db.tmp-1-2x.lock", "xdb.tmp-1-2/t.x",
        "xdb.tmp-1-2.lock", "db2.tmp-1-2/t.x",  "db2.tmp-1-2.lock", "db.tmp-1-3/t.x",   "db.tmp-1-3.lock",
        "db.tmp-1-4/t.x",   "db.tmp-1-4.lock",  "db.tmp-1-5/t.x",   "db.tmp-1-6/t.x",   "db.tmp-1-6.lock",
        "db.tmp-1-7",       "db.tmp-1-8.lock",  "kept/t.x",         "db.tmp-1-9.lock",  "db.tmp-1-9",
        "db.tmp-1-15/t.x",  "db.tmp-1-15.lock",
    };
    for (size_t i = 0; i < HD_COUNT(names); i++)
        if (!is_there(fx_path(d, names[i])))
            fail_msg("%s is gone", names[i]);
}

static int files_in(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Nobody holds the lock of what a dead process left behind; what has no such lock is not ours. */
static void leftovers_are_removed(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    char mine[64], lock[80];
    leave_what_stays(d);
    const int kept = files_in(fx_path(d, "."));
    leave_all_of_the_dead(d);
    heddle_writer *first = fx_writer(d, one_int);
    snprintf(mine, sizeof mine, "db.tmp-%d-0", (int)getpid());
    snprintf(lock, sizeof lock, "%s.lock", mine);
    expect_none_of_the_dead(d);
    expect_what_stays(d);
    heddle_writer *second = fx_writer(d, one_int); /* the first one's is in use */
    assert_true(is_there(fx_path(d, mine)));
    assert_true(is_there(fx_path(d, lock)));
    fx_ok(append(first, 0, 5, &e), &e);
    fx_commit(first);
    heddle_writer_free(second);
    expect_what_stays(d);
    assert_true(is_there(fx_path(d, "db/catalog.json")));
    assert_int_equal(files_in(fx_path(d, ".")), kept + 1);
}

/* Names that are taken, by a folder or by a lock, are passed over and stay. */
static void taken_names_are_passed_over(void **state)
{
    struct fx_dir *d = *state;
    char folder[64], lock[64], mine[64];
    snprintf(folder, sizeof folder, "db.tmp-%d-0", (int)getpid());
    snprintf(lock, sizeof lock, "db.tmp-%d-1", (int)getpid());
    snprintf(mine, sizeof mine, "db.tmp-%d-2", (int)getpid());
    leave(d, folder, NULL);
    leave_lock(d, lock, "mine\n");
    heddle_writer *w = fx_writer(d, one_int);
    assert_true(is_there(fx_path(d, mine)));
    heddle_writer_free(w);
    assert_int_equal(files_in(fx_path(d, ".")), 2);
}

/* A published folder holds the data alone at any moment: its lock never lies in it. */
static void a_rename_publishes_the_data_alone(void **state)
{
    struct fx_dir *d = *state;
    heddle_error *e = NULL;
    char mine[64];
    heddle_writer *w = fx_writer(d, one_int);
    snprintf(mine, sizeof mine, "db.tmp-%d-0", (int)getpid());
    assert_int_equal(files_in(fx_path(d, mine)), 0);
    fx_ok(append(w, 0, 5, &e), &e);
    fx_commit(w);
    assert_int_equal(files_in(fx_path(d, ".")), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fx_setup, fx_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(overlaps_are_refused),
        TEST(gaps_are_refused),
        TEST(declared_rows_bind),
        TEST(wrong_columns_are_refused),
        TEST(a_refused_append_is_undone),
        TEST(threads_append_in_any_order),
        TEST(the_path_must_be_free),
        TEST(two_writers_race_for_a_path),
        TEST(progress_cancels),
        TEST(freeing_leaves_nothing),
        TEST(too_many_rows_are_refused),
        TEST(leftovers_are_removed),
        TEST(taken_names_are_passed_over),
        TEST(a_rename_publishes_the_data_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
