/* States beyond a memory limit: the same rows, nothing left behind, and what the system refuses is an error. */
#include "tests/exec/exec_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/exec/checksums.h"

enum { ROWS = 300000, LIMIT = 3000000 };

static char folder[64];

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/heddle-test-XXXXXX", tmp && strlen(tmp) < 32 ? tmp : "/var/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n == 2;
}

/* Nothing is ever left in it. */
static int remove_folder(void **state)
{
    (void)state;
    return is_empty(folder) ? rmdir(folder) : -1;
}

/* Fills state 0, ROWS, HASH or AGG_HASH: a key for each three rows, and the row's number or, of groups, a 1. */
struct growing {
    const struct rt_state *s;
    struct rt_cancel *cancel; /* fired by row ROWS / 2 */
    _Atomic int seen;         /* files that had a name, another mode, or were none, by that row */
};

static bool is_ours(const char *fd)
{
    char path[320], to[256];
    struct stat st;
    snprintf(path, sizeof path, "/proc/self/fd/%s", fd);
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n <= 0)
        return false;
    to[n] = 0;
    return strncmp(to, folder, strlen(folder)) == 0 && stat(path, &st) == 0 && st.st_nlink == 0 &&
           (st.st_mode & 0777) == 0600;
}

static void look_at_file(struct growing *g)
{
    DIR *d = opendir("/proc/self/fd");
    int found = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        found += is_ours(e->d_name);
    if (d)
        closedir(d);
    atomic_store(&g->seen, is_empty(folder) ? found : -1);
}

static int32_t grow(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    struct growing *g = fx_context(args);
    const struct rt_state *s = g->s;
    unsigned char row[64] = {0};
    for (uint64_t i = begin; i < end; i++) {
        uint64_t key = fx_random(i / 3), h;
        fx_put(s, row, 0, &key);
        fx_put(s, row, 1, &i);
        h = s->nkeys ? fx_hash(s, row) : 0;
        if (s->nkeys)
            memcpy(row, &h, sizeof h);
        if (i == ROWS / 2 && g->cancel)
            rt_cancel_fire(g->cancel);
        if (i == ROWS - 1)
            look_at_file(g);
        if (s->kind != RT_STATE_AGG_HASH) {
            if (fx_append(t, 0, row, (size_t)s->stride) != 0)
                return 1;
            continue;
        }
        unsigned char *group = fx_group(t, s, 0, row);
        if (!group)
            return 1;
        int64_t n = fx_i64(s, group, 1) + 1;
        fx_put(s, group, 1, &n);
    }
    return 0;
}

static void make_growing(struct fx *f, struct growing *g, enum rt_state_kind kind, int threads)
{
    static struct rt_sort_key by_first = {0, false, false};
    *g = (struct growing){.cancel = NULL};
    fx_init(f, threads, g);
    fx_spill(f, folder, LIMIT);
    int s = fx_state(f, kind);
    fx_field(f, s, RT_I64, false, RT_MERGE_KEY);
    fx_field(f, s, RT_I64, false, kind == RT_STATE_AGG_HASH ? RT_MERGE_SUM : RT_MERGE_KEY);
    f->states[s].nkeys = kind == RT_STATE_HASH || kind == RT_STATE_AGG_HASH;
    if (kind == RT_STATE_ROWS) {
        f->states[s].nsort = 1;
        f->states[s].sort = &by_first;
    }
    g->s = &f->states[s];
    fx_action(f, RT_RUN, fx_table_pipeline(f, ROWS, grow));
    fx_action(f, RT_FINISH, s);
}

static const enum rt_state_kind kinds[] = {RT_STATE_ROWS, RT_STATE_HASH, RT_STATE_AGG_HASH};

/* All rows are there: by the sum of what they hold, in the order of their keys, or equal keys side by side. */
static void check_rows(const struct rt_state *s, const unsigned char *rows, uint64_t n)
{
    bool groups = s->kind == RT_STATE_AGG_HASH;
    uint64_t keys = 0, numbers = 0, wanted = 0, changes = 0, last = 0;
    assert_int_equal(n, groups ? ROWS / 3 : ROWS);
    for (uint64_t i = 0; i < n; i++, rows += s->stride) {
        uint64_t key = (uint64_t)fx_i64(s, rows, 0);
        if (s->kind == RT_STATE_ROWS && i)
            assert_true((int64_t)last <= (int64_t)key);
        changes += i && key != last;
        last = key;
        keys += groups ? 3 * key : key;
        numbers += (uint64_t)fx_i64(s, rows, 1);
    }
    for (uint64_t i = 0; i < ROWS; i++)
        wanted += fx_random(i / 3);
    assert_int_equal(keys, wanted);
    assert_int_equal(changes, ROWS / 3 - 1);
    assert_int_equal(numbers, groups ? (uint64_t)ROWS : (uint64_t)ROWS * (ROWS - 1) / 2);
}

static void rows_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_COUNT(kinds); i++)
        for (size_t k = 0; k < HD_COUNT(fx_threads); k++) {
            struct fx f;
            struct growing g;
            uint64_t n;
            make_growing(&f, &g, kinds[i], fx_threads[k]);
            const unsigned char *rows = fx_rows(&f, 0, &n);
            check_rows(g.s, rows, n);
            assert_int_equal(g.seen, 1);
            assert_true(f.stats.spilled_bytes >= f.stats.state_spilled[0] && f.stats.state_spilled[0] > 0);
            assert_true(f.stats.peak_bytes <= LIMIT);
            fx_release(&f);
        }
}

static void no_place_is_an_error(void **state)
{
    static const struct {
        const char *dir;
        uint64_t limit;
        enum hd_err_class class;
        const char *message;
    } cases[] = {
        {NULL, 1000000, HD_ERR_RESOURCE, "the limit of 1000000 bytes for temporary files is reached"},
        {"/nowhere/at/all", UINT64_MAX, HD_ERR_IO, "no temporary file in /nowhere/at/all"},
        {"/dev/null", UINT64_MAX, HD_ERR_IO, "no temporary file in /dev/null"},
    };
    (void)state;
    for (size_t c = 0; c < HD_COUNT(cases); c++)
        for (size_t i = 0; i < HD_COUNT(kinds); i++) {
            struct fx f;
            struct growing g;
            make_growing(&f, &g, kinds[i], 3);
            f.temp.dir = cases[c].dir ? cases[c].dir : folder;
            f.temp.limit = cases[c].limit;
            assert_int_equal(fx_run(&f, 0), -1);
            assert_int_equal(f.err.class, cases[c].class);
            assert_string_equal(f.err.path, "$.state");
            assert_non_null(strstr(f.err.message, cases[c].message));
            fx_release(&f);
        }
}

static void a_file_that_may_not_grow_is_an_error(void **state)
{
    struct fx f;
    struct growing g;
    struct rlimit before, now;
    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    now = before;
    now.rlim_cur = 1000000;
    make_growing(&f, &g, RT_STATE_ROWS, 2);
    setrlimit(RLIMIT_FSIZE, &now);
    int rc = fx_run(&f, 0);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, -1);
    assert_int_equal(f.err.class, HD_ERR_IO);
    assert_non_null(strstr(f.err.message, "cannot grow"));
    fx_release(&f);
}

static void a_refused_call_is_survived(void **state)
{
    static const struct {
        enum hd_fault_kind kind;
        const char *name;
    } faults[] = {{HD_FAULT_ALLOC, "alloc"},
                  {HD_FAULT_MMAP, "mmap"},
                  {HD_FAULT_WRITE, "write"},
                  {HD_FAULT_OPEN, "open"},
                  {HD_FAULT_THREAD, "thread"}};
    (void)state;
    for (size_t i = 0; i < HD_COUNT(kinds); i++)
        for (size_t k = 0; k < HD_COUNT(faults); k++)
            for (int n = 1; n < 40; n += n < 8 ? 1 : 5) {
                char spec[32];
                struct fx f;
                struct growing g;
                make_growing(&f, &g, kinds[i], 2);
                snprintf(spec, sizeof spec, "%s:%d", faults[k].name, n);
                assert_true(hd_fault_arm(spec));
                int rc = fx_run(&f, 0);
                bool reached = hd_fault_calls(faults[k].kind) >= (uint64_t)n;
                hd_fault_arm(NULL);
                assert_true(rc == 0 || (reached && (f.err.class == HD_ERR_RESOURCE || f.err.class == HD_ERR_IO)));
                fx_release(&f);
                if (!reached)
                    break;
            }
}

static void a_cancel_ends_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_COUNT(kinds); i++) {
        struct fx f;
        struct growing g;
        struct rt_cancel cancel;
        make_growing(&f, &g, kinds[i], 2);
        rt_cancel_init(&cancel);
        f.cancel = g.cancel = &cancel;
        assert_int_equal(fx_run(&f, 0), -1);
        assert_int_equal(f.err.class, HD_ERR_CANCELLED);
        rt_cancel_release(&cancel);
        fx_release(&f);
    }
}

/* Two executions at once have one limit, and one for their files. */
struct user {
    struct fx *f;
    int rc;
};

static void *run_user(void *arg)
{
    struct user *u = arg;
    u->rc = fx_run(u->f, 0);
    return NULL;
}

static void executions_share_the_limits(void **state)
{
    struct fx f[2];
    struct growing g[2];
    struct user users[2];
    pthread_t thread;
    (void)state;
    for (int i = 0; i < 2; i++) {
        make_growing(&f[i], &g[i], RT_STATE_ROWS, 2);
        f[i].limit = 0;
        users[i] = (struct user){&f[i], -1};
    }
    struct rt_memory *shared = &f[0].memory;
    shared->limit = LIMIT;
    f[1].memory.parent = shared;
    f[1].memory.temp = shared->temp;
    pthread_create(&thread, NULL, run_user, &users[0]);
    run_user(&users[1]);
    pthread_join(thread, NULL);
    for (int i = 1; i >= 0; i--) {
        uint64_t n;
        assert_int_equal(users[i].rc, 0);
        const unsigned char *rows = rt_result_rows(f[i].result, &n);
        check_rows(g[i].s, rows, n);
        assert_true(f[i].stats.spilled_bytes > 0);
    }
    assert_true(atomic_load(&shared->peak) <= LIMIT);
    fx_release(&f[1]);
    fx_release(&f[0]);
}

/* What is touched comes back, and leaves again. */
static void pages_leave_memory(void **state)
{
    enum { ALLOWED = 8 << 20, SIZE = 96 << 20, PAGE = 4096 };
    struct rt_temp temp = {.dir = folder, .limit = UINT64_MAX};
    struct rt_memory all, m;
    struct rt_block b;
    struct timespec pause = {0, 10000000};
    (void)state;
    rt_memory_init(&all, ALLOWED, NULL);
    all.temp = &temp;
    rt_memory_init(&m, UINT64_MAX, &all);
    assert_true(rt_memory_spill(&m, NULL));
    assert_true(rt_block_new(&m, SIZE, true, &b));
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t at = 0; at < SIZE; at += PAGE) {
            uint64_t found, next = at + round;
            memcpy(&found, (char *)b.p + at, sizeof found);
            assert_int_equal(found, round ? next - 1 : 0);
            memcpy((char *)b.p + at, &next, sizeof next);
        }
        for (int i = 0; i < 300 && atomic_load(&all.resident) > ALLOWED; i++)
            nanosleep(&pause, NULL);
        assert_true(atomic_load(&all.resident) <= ALLOWED);
        assert_true(atomic_load(&temp.used) >= SIZE);
    }
    rt_block_free(&m, &b);
    rt_memory_release(&m);
    assert_int_equal(atomic_load(&all.resident), 0);
    assert_int_equal(atomic_load(&temp.used), 0);
}

/* The one file that we have open in the folder. */
static int our_file(void)
{
    DIR *d = opendir("/proc/self/fd");
    int fd = -1;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_ours(e->d_name))
            fd = atoi(e->d_name);
    closedir(d);
    return fd;
}

/* A byte of the file is changed, or its end cut off, between writing and reading, as a disk could: the piece that it is in is
 * found, with its place, and the others are as they were. */
static void what_changes_in_the_file_is_found(void **state)
{
    enum { PIECES = 40, BAD = 17, SIZE = PIECES * RT_SPILL_UNIT - 100 };
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct rt_temp temp = {.dir = folder, .limit = UINT64_MAX};
        struct rt_memory all, m;
        struct rt_block b;
        struct rt_checksums sums;
        char text[RT_REFUSAL_TEXT], place[64];
        rt_memory_init(&all, 1 << 20, NULL);
        all.temp = &temp;
        rt_memory_init(&m, UINT64_MAX, &all);
        assert_true(rt_memory_spill(&m, NULL));
        assert_true(rt_block_new(&m, SIZE, true, &b) && b.filed);
        for (size_t i = 0; i < SIZE; i++)
            ((unsigned char *)b.p)[i] = (unsigned char)(i * 7 + i / 1000);
        assert_true(rt_checksums_new(&m, b.p, SIZE, &sums));
        assert_int_equal(sums.pieces, PIECES);
        for (size_t k = 0; k < PIECES; k++)
            assert_true(rt_checksums_seal(&m, &sums, k));
        assert_true(rt_checksums_verify(&m, &sums, 0, SIZE));
        off_t at = (off_t)BAD * RT_SPILL_UNIT + 12345;
        unsigned char byte = (unsigned char)~((unsigned char *)b.p)[at];
        assert_true(cut ? ftruncate(our_file(), at) == 0 : pwrite(our_file(), &byte, 1, at) == 1);
        assert_true(rt_checksums_verify(&m, &sums, 0, BAD * RT_SPILL_UNIT));
        assert_true(cut || rt_checksums_verify(&m, &sums, (BAD + 1) * RT_SPILL_UNIT, SIZE));
        assert_int_equal(rt_memory_refusal(&m, "x", text), HD_ERR_RESOURCE); /* nothing was found yet */
        assert_false(rt_checksums_verify(&m, &sums, (size_t)at, (size_t)at + 1));
        assert_int_equal(rt_memory_refusal(&m, "x", text), HD_ERR_IO);
        snprintf(place, sizeof place,
                 cut ? "was cut: byte %lld is missing" : "the 65536 bytes at byte %lld do not match",
                 (long long)(cut ? at : at / RT_SPILL_UNIT * RT_SPILL_UNIT));
        assert_non_null(strstr(text, place));
        assert_non_null(strstr(text, folder));
        rt_checksums_free(&sums);
        rt_block_free(&m, &b);
        rt_memory_release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same),
        cmocka_unit_test(no_place_is_an_error),
        cmocka_unit_test(a_file_that_may_not_grow_is_an_error),
        cmocka_unit_test(a_refused_call_is_survived),
        cmocka_unit_test(a_cancel_ends_it),
        cmocka_unit_test(executions_share_the_limits),
        cmocka_unit_test(pages_leave_memory),
        cmocka_unit_test(what_changes_in_the_file_is_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
