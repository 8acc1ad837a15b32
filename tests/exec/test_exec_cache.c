/* Compiled code: the LLVM adapter, objects on disk, damage to them, and the cache over both. */
#include "tests/exec/exec_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/cache/code_cache.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/cpu/link.h"
#include "tests/exec/module_fixture.h"

static char root[] = "/tmp/heddle-cache-XXXXXX";

/* ---- LLVM ------------------------------------------------------------------------------ */

static void module_compiles_and_links(enum rt_tier tier)
{
    struct rt_bytes bc = make_bitcode(3, 1), object;
    struct rt_code *code;
    struct hd_err err;
    hd_err_init(&err);
    assert_int_equal(rt_llvm_compile(bc.p, bc.n, NULL, 0, tier, NULL, &object, &err), 0);
    assert_int_equal(rt_code_load(&object, 1, &code, &err), 0);
    for (int k = 0; k < 3; k++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", k);
        check_function(rt_code_find(code, name, &err), k, 1);
    }
    assert_null(rt_code_find(code, "f9", &err));
    assert_int_equal(err.class, HD_ERR_TOOL);
    rt_code_free(code);
    rt_bytes_release(&object);
    rt_bytes_release(&bc);
    hd_err_release(&err);
}

static void modules_compile_and_link(void **state)
{
    (void)state;
    module_compiles_and_links(RT_TIER_FIRST);
    module_compiles_and_links(RT_TIER_OPTIMISED);
}

static void bad_bitcode_is_an_error(void **state)
{
    struct rt_bytes bc = make_bitcode(1, 1), object = {NULL, 0};
    struct hd_err err;
    (void)state;
    hd_err_init(&err);
    assert_int_equal(rt_llvm_compile(bc.p, bc.n / 2, NULL, 0, RT_TIER_FIRST, NULL, &object, &err), -1);
    assert_int_equal(err.class, HD_ERR_TOOL);
    hd_err_release(&err);
    rt_bytes_release(&bc);
}

static void bad_objects_are_an_error(void **state)
{
    struct rt_bytes bad = {(unsigned char *)"not an object file", 18};
    struct rt_code *code = NULL;
    struct hd_err err;
    (void)state;
    hd_err_init(&err);
    assert_true(rt_code_load(&bad, 1, &code, &err) != 0 || !rt_code_find(code, "f0", &err));
    assert_int_equal(err.class, HD_ERR_TOOL);
    rt_code_free(code);
    hd_err_release(&err);
}

static struct rt_code *link_text(const char *text, enum rt_tier tier, struct hd_err *err)
{
    struct rt_bytes bc = assemble_bitcode(text), object;
    struct rt_code *code = NULL;
    assert_int_equal(rt_llvm_compile(bc.p, bc.n, NULL, 0, tier, NULL, &object, err), 0);
    rt_code_load(&object, 1, &code, err);
    rt_bytes_release(&object);
    rt_bytes_release(&bc);
    return code;
}

/* What a linker has to do: distances to constants and data, absolute addresses, entries in a table of offsets, calls within
 * the object and to what is far. */
static void every_kind_of_reference_is_linked(enum rt_tier tier)
{
    static const char text[] = "@table = private constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]\n"
                               "@count = internal global i32 100\n"
                               "@zeroes = internal global [9 x i32] zeroinitializer\n"
                               "@room = common global i64 0\n"
                               "@where = internal global [1 x ptr] [ptr @next]\n"
                               "declare i32 @memcmp(ptr, ptr, i64)\n"
                               "declare i64 @hdr_extract_date(i32, i32)\n"
                               "define i32 @next(i32 %i) noinline {\n"
                               " %p = getelementptr [4 x i32], ptr @table, i32 0, i32 %i\n %v = load i32, ptr %p\n"
                               " %c = load i32, ptr @count\n %n = add i32 %c, %v\n store i32 %n, ptr @count\n"
                               " %z = load i32, ptr @zeroes\n %r = add i32 %n, %z\n"
                               " %y = load i32, ptr @room\n %s = add i32 %r, %y\n ret i32 %s\n}\n"
                               "define i32 @twice(i32 %i) {\n %a = call i32 @next(i32 %i)\n"
                               " %b = call i32 @next(i32 %i)\n ret i32 %b\n}\n"
                               "define i64 @year(i32 %d) {\n"
                               " %y = call i64 @hdr_extract_date(i32 %d, i32 0)\n ret i64 %y\n}\n"
                               "define ptr @outside() {\n ret ptr @memcmp\n}\n"
                               "define ptr @inside() {\n %p = load ptr, ptr @where\n ret ptr %p\n}\n";
    struct hd_err err;
    hd_err_init(&err);
    struct rt_code *code = link_text(text, tier, &err);
    assert_non_null(code);
    int32_t (*twice)(int32_t) = (int32_t (*)(int32_t))(uintptr_t)rt_code_find(code, "twice", &err);
    int64_t (*year)(int32_t) = (int64_t (*)(int32_t))(uintptr_t)rt_code_find(code, "year", &err);
    void *(*outside)(void) = (void *(*)(void))(uintptr_t)rt_code_find(code, "outside", &err);
    void *(*inside)(void) = (void *(*)(void))(uintptr_t)rt_code_find(code, "inside", &err);
    assert_int_equal(twice(1), 110);
    assert_int_equal(twice(3), 132);
    assert_int_equal(year(0), 1970);
    assert_int_equal(((int (*)(const void *, const void *, size_t))(uintptr_t)outside())("abc", "abc", 3), 0);
    assert_ptr_equal(inside(), rt_code_find(code, "next", &err));
    rt_code_free(code);
    hd_err_release(&err);
}

static void references_are_linked(void **state)
{
    (void)state;
    every_kind_of_reference_is_linked(RT_TIER_FIRST);
    every_kind_of_reference_is_linked(RT_TIER_OPTIMISED);
}

static void a_missing_function_is_named(void **state)
{
    struct hd_err err;
    (void)state;
    hd_err_init(&err);
    assert_null(link_text("declare void @nobody()\ndefine void @f() {\n call void @nobody()\n ret void\n}\n",
                          RT_TIER_FIRST, &err));
    assert_int_equal(err.class, HD_ERR_TOOL);
    assert_non_null(strstr(err.message, "nobody"));
    hd_err_release(&err);
}

/* Of a size of its own, so that reading beyond its end is noticed. It may link all the same, and is not run then. */
static void link_damaged(const struct rt_bytes *object, size_t n, size_t at, unsigned char value)
{
    struct rt_bytes copy = {malloc(n + !n), n};
    struct rt_code *code = NULL;
    struct hd_err err;
    hd_err_init(&err);
    memcpy(copy.p, object->p, n);
    if (at < n)
        copy.p[at] = value;
    int rc = rt_code_load(&copy, 1, &code, &err);
    assert_true(rc == 0 ? code != NULL : code == NULL && err.class != HD_ERR_NONE);
    assert_true(rc != 0 || n == object->n || at < n);
    rt_code_free(code);
    hd_err_release(&err);
    rt_bytes_release(&copy);
}

static void damaged_objects_do_no_harm(void **state)
{
    struct rt_bytes bc = make_bitcode(2, 1), object;
    struct hd_err err;
    (void)state;
    hd_err_init(&err);
    assert_int_equal(rt_llvm_compile(bc.p, bc.n, NULL, 0, RT_TIER_FIRST, NULL, &object, &err), 0);
    for (size_t n = 0; n < object.n; n++)
        link_damaged(&object, n, n, 0);
    for (size_t at = 0; at < object.n; at++) {
        link_damaged(&object, object.n, at, 0xff);
        link_damaged(&object, object.n, at, 0);
        link_damaged(&object, object.n, at, (unsigned char)(object.p[at] ^ 1));
    }
    rt_bytes_release(&object);
    rt_bytes_release(&bc);
}

static void stages_print(void **state)
{
    static const char *const signs[] = {"define", "define", ".globl"};
    struct rt_bytes bc = make_bitcode(2, 1);
    (void)state;
    for (int what = RT_LLVM_IR; what <= RT_LLVM_ASM; what++) {
        char *text;
        struct hd_err err;
        hd_err_init(&err);
        assert_int_equal(rt_llvm_print(bc.p, bc.n, (enum rt_llvm_text)what, &text, &err), 0);
        assert_non_null(strstr(text, signs[what]));
        free(text);
    }
    rt_bytes_release(&bc);
}

/* ---- Disk ------------------------------------------------------------------------------ */

static char *fresh_dir(const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", root, name) > 0);
    return path;
}

/* The one entry in a directory. */
static char *entry_of(const char *dir)
{
    DIR *d = opendir(dir);
    char *path = NULL;
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".hdo")) {
            assert_null(path);
            assert_true(asprintf(&path, "%s/%s", dir, e->d_name) > 0);
        }
    closedir(d);
    return path;
}

static const struct rt_bytes two_parts[] = {{(unsigned char *)"first part", 10}, {(unsigned char *)"second", 6}};
static const struct rt_cache_key key = {0x0123456789abcdef, 42};

static bool loads(struct rt_disk_cache *c, struct rt_cache_key k)
{
    struct rt_bytes *parts;
    int n;
    if (!rt_disk_cache_load(c, k, &parts, &n))
        return false;
    assert_int_equal(n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parts[i].n, two_parts[i].n);
        assert_memory_equal(parts[i].p, two_parts[i].p, parts[i].n);
        rt_bytes_release(&parts[i]);
    }
    free(parts);
    return true;
}

static void entries_come_back(void **state)
{
    struct rt_disk_cache c;
    struct stat st;
    char *dir = fresh_dir("a/b/back");
    (void)state;
    assert_true(rt_disk_cache_init(&c, dir, 1 << 20));
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_false(loads(&c, key));
    rt_disk_cache_store(&c, key, two_parts, 2);
    assert_true(loads(&c, key));
    assert_false(loads(&c, (struct rt_cache_key){key.hi, 43}));
    rt_disk_cache_release(&c);
    free(dir);
}

/* Every byte flipped, every length cut: never wrong data, and a new store repairs. */
static void damaged_entries_are_ignored(void **state)
{
    struct rt_disk_cache c;
    char *dir = fresh_dir("damage");
    (void)state;
    assert_true(rt_disk_cache_init(&c, dir, 1 << 20));
    rt_disk_cache_store(&c, key, two_parts, 2);
    char *path = entry_of(dir);
    FILE *f = fopen(path, "rb");
    char bytes[2048];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t i = 0; i < 2 * n; i++) {
        bool cut = i >= n;
        f = fopen(path, "wb");
        bytes[i % n] ^= cut ? 0 : 0x10;
        fwrite(bytes, 1, cut ? i - n : n, f);
        fclose(f);
        assert_false(loads(&c, key));
        bytes[i % n] ^= cut ? 0 : 0x10;
    }
    rt_disk_cache_store(&c, key, two_parts, 2);
    assert_true(loads(&c, key));
    rt_disk_cache_release(&c);
    free(path);
    free(dir);
}

static void the_oldest_entries_go_first(void **state)
{
    struct rt_disk_cache c;
    char *dir = fresh_dir("evict");
    unsigned char *big = calloc(1, 10000);
    struct rt_bytes part = {big, 10000}, *parts;
    int n, left = 0;
    (void)state;
    assert_true(rt_disk_cache_init(&c, dir, 50000));
    for (uint64_t i = 0; i < 20; i++) {
        rt_disk_cache_store(&c, (struct rt_cache_key){i, i}, &part, 1);
        usleep(5000); /* ages must differ */
    }
    for (uint64_t i = 0; i < 20; i++)
        if (rt_disk_cache_load(&c, (struct rt_cache_key){i, i}, &parts, &n)) {
            assert_true(i >= 15);
            left++;
            rt_bytes_release(&parts[0]);
            free(parts);
        }
    assert_true(left == 4);
    rt_disk_cache_release(&c);
    free(big);
    free(dir);
}

static void a_directory_that_others_may_write_is_not_used(void **state)
{
    struct rt_disk_cache c;
    char *dir = fresh_dir("open");
    (void)state;
    mkdir(dir, 0700);
    chmod(dir, 0777);
    assert_false(rt_disk_cache_init(&c, dir, 1 << 20));
    rt_disk_cache_release(&c);
    assert_false(rt_disk_cache_init(&c, "/proc/no/such/place", 1 << 20));
    rt_disk_cache_release(&c);
    free(dir);
}

static void the_root_and_links_are_no_cache(void **state)
{
    struct rt_disk_cache c;
    char *dir = fresh_dir("linked"), *link = fresh_dir("link");
    (void)state;
    mkdir(dir, 0700);
    assert_int_equal(symlink(dir, link), 0);
    assert_false(rt_disk_cache_init(&c, link, 1 << 20));
    assert_false(rt_disk_cache_init(&c, "/", 1 << 20));
    assert_false(rt_disk_cache_init(&c, "//..", 1 << 20));
    assert_true(rt_disk_cache_init(&c, dir, 1 << 20));
    rt_disk_cache_release(&c);
    free(dir);
    free(link);
}

/* What others may write, what lies elsewhere, what is no file: none of it is run, and the FIFO
 * keeps nobody waiting. */
static void entries_of_others_are_not_used(void **state)
{
    struct rt_disk_cache c;
    char *dir = fresh_dir("entries"), *away = fresh_dir("away");
    (void)state;
    assert_true(rt_disk_cache_init(&c, dir, 1 << 20));
    rt_disk_cache_store(&c, key, two_parts, 2);
    char *path = entry_of(dir);
    for (mode_t bit = S_IWOTH; bit <= S_IWGRP; bit *= S_IWGRP / S_IWOTH) {
        assert_true(loads(&c, key));
        assert_int_equal(chmod(path, 0600 | bit), 0);
        assert_false(loads(&c, key));
        assert_int_equal(chmod(path, 0600), 0);
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 1, 1), 0);
        assert_false(loads(&c, key));
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_true(loads(&c, key));
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(symlink(away, path), 0);
    assert_false(loads(&c, key));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(loads(&c, key));
    rt_disk_cache_store(&c, key, two_parts, 2); /* takes the place of all of these */
    assert_true(loads(&c, key));
    rt_disk_cache_release(&c);
    free(path);
    free(dir);
    free(away);
}

static void failed_writes_leave_nothing(void **state)
{
    static const char *const faults[] = {"write:1", "write:2+", "open:1", "rename:1"};
    struct rt_disk_cache c;
    char *dir = fresh_dir("faults");
    (void)state;
    assert_true(rt_disk_cache_init(&c, dir, 1 << 20));
    for (size_t i = 0; i < HD_COUNT(faults); i++) {
        hd_fault_arm(faults[i]);
        rt_disk_cache_store(&c, key, two_parts, 2);
        hd_fault_arm(NULL);
        assert_false(loads(&c, key));
        assert_null(entry_of(dir));
    }
    rt_disk_cache_store(&c, key, two_parts, 2);
    hd_fault_arm("read:1");
    assert_false(loads(&c, key));
    hd_fault_arm(NULL);
    assert_true(loads(&c, key));
    rt_disk_cache_release(&c);
    free(dir);
}

/* The limit on the size of files ends an entry, not the process, and the host's signals stay as they
 * are. */
static void files_that_may_not_grow_are_done_without(void **state)
{
    struct rt_disk_cache c;
    struct rlimit before, tight;
    sigset_t mask, later;
    char *dir = fresh_dir("limit");
    (void)state;
    assert_true(rt_disk_cache_init(&c, dir, 1 << 20));
    getrlimit(RLIMIT_FSIZE, &before);
    tight = (struct rlimit){16, before.rlim_max};
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    setrlimit(RLIMIT_FSIZE, &tight);
    rt_disk_cache_store(&c, key, two_parts, 2);
    setrlimit(RLIMIT_FSIZE, &before);
    pthread_sigmask(SIG_BLOCK, NULL, &later);
    assert_int_equal(sigismember(&mask, SIGXFSZ), sigismember(&later, SIGXFSZ));
    sigpending(&later);
    assert_int_equal(sigismember(&later, SIGXFSZ), 0);
    assert_null(entry_of(dir));
    rt_disk_cache_store(&c, key, two_parts, 2);
    assert_true(loads(&c, key));
    rt_disk_cache_release(&c);
    free(dir);
}

/* ---- Both ------------------------------------------------------------------------------ */

struct both {
    struct rt_code_cache *cache;
    struct rt_thread_pool *thread_pool;
};

/* All of it optimised: what a cache that was closed has on disk is that. */
static enum rt_cached get(struct both *b, struct rt_bytes bc, bool fresh, int nfunctions, int salt)
{
    struct rt_cached_code *code;
    struct mod_source source;
    enum rt_cached how;
    struct hd_err err;
    hd_err_init(&err);
    mod_source_init(&source, bc, nfunctions, RT_TIERING_BEFORE);
    if (rt_code_cache_get(b->cache, b->thread_pool, 3, &source.source, fresh, &code, &how, &err) != 0)
        fail_msg("%s %s", err.message, err.detail ? err.detail : "");
    struct rt_tiers *t = rt_cached_code_tiers(code);
    for (int k = 0; k < nfunctions; k++) {
        if (rt_tiers_wait(t, k, RT_TIERING_BEFORE, NULL, &err) != 0)
            fail_msg("%s %s", err.message, err.detail ? err.detail : "");
        check_function(mod_function(t, k, RT_TIER_OPTIMISED), k, salt);
    }
    rt_tiers_settle(t, source.source.spec, b->thread_pool, 3);
    rt_cached_code_release(b->cache, code);
    return how;
}

static struct both open_cache(const char *version, const char *dir)
{
    struct both b = {NULL, rt_thread_pool_new()};
    struct hd_err err;
    hd_err_init(&err);
    assert_int_equal(rt_code_cache_new(version, dir, 1 << 24, &b.cache, &err), 0);
    return b;
}

static void close_cache(struct both *b)
{
    rt_thread_pool_free(b->thread_pool);
    rt_code_cache_free(b->cache);
}

static void code_is_compiled_once(void **state)
{
    char *dir = fresh_dir("code");
    struct rt_bytes one = make_bitcode(5, 1), other = make_bitcode(5, 2);
    struct both b = open_cache("1.0", dir);
    (void)state;
    assert_int_equal(get(&b, one, false, 5, 1), RT_COMPILED);
    assert_int_equal(get(&b, one, false, 5, 1), RT_CACHED_MEMORY);
    assert_int_equal(get(&b, other, false, 5, 2), RT_COMPILED);
    assert_int_equal(get(&b, one, true, 5, 1), RT_COMPILED);
    close_cache(&b);
    b = open_cache("1.0", dir);
    assert_int_equal(get(&b, one, false, 5, 1), RT_CACHED_DISK);
    assert_int_equal(get(&b, one, false, 5, 1), RT_CACHED_MEMORY);
    close_cache(&b);
    b = open_cache("1.1", dir); /* another version must not see it */
    assert_int_equal(get(&b, one, false, 5, 1), RT_COMPILED);
    close_cache(&b);
    b = open_cache("1.0", NULL);
    assert_int_equal(get(&b, one, false, 5, 1), RT_COMPILED);
    assert_null(rt_code_cache_dir(b.cache));
    close_cache(&b);
    rt_bytes_release(&one);
    rt_bytes_release(&other);
    free(dir);
}

static void damaged_code_is_compiled_again(void **state)
{
    char *dir = fresh_dir("broken");
    struct rt_bytes bc = make_bitcode(2, 3);
    struct both b = open_cache("1.0", dir);
    (void)state;
    get(&b, bc, false, 2, 3);
    close_cache(&b);
    char *path = entry_of(dir);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "damage", 6, 1000), 6);
    close(fd);
    b = open_cache("1.0", dir);
    assert_int_equal(get(&b, bc, false, 2, 3), RT_COMPILED);
    close_cache(&b);
    b = open_cache("1.0", dir);
    assert_int_equal(get(&b, bc, false, 2, 3), RT_CACHED_DISK);
    close_cache(&b);
    rt_bytes_release(&bc);
    free(path);
    free(dir);
}

static void many_modules_are_kept_within_bounds(void **state)
{
    struct rt_bytes bc[8];
    struct both b = open_cache("1.0", NULL);
    (void)state;
    for (int i = 0; i < 8; i++)
        bc[i] = make_bitcode(1, 100 + i);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 8; i++)
            assert_int_equal(get(&b, bc[i], false, 1, 100 + i), round ? RT_CACHED_MEMORY : RT_COMPILED);
    for (int i = 0; i < 8; i++)
        rt_bytes_release(&bc[i]);
    close_cache(&b);
}

struct compiling {
    struct both *b;
    struct rt_bytes bc;
    int salt;
};

static void *compile_in_thread(void *arg)
{
    struct compiling *c = arg;
    for (int i = 0; i < 3; i++)
        get(c->b, c->bc, i == 1, 3, c->salt);
    return NULL;
}

static void threads_compile_at_once(void **state)
{
    struct both b = open_cache("1.0", NULL);
    struct compiling c[4];
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        c[i] = (struct compiling){&b, make_bitcode(3, i / 2), i / 2};
        pthread_create(&threads[i], NULL, compile_in_thread, &c[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        rt_bytes_release(&c[i].bc);
    }
    close_cache(&b);
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_compile_and_link),
        cmocka_unit_test(bad_bitcode_is_an_error),
        cmocka_unit_test(bad_objects_are_an_error),
        cmocka_unit_test(damaged_objects_do_no_harm),
        cmocka_unit_test(references_are_linked),
        cmocka_unit_test(a_missing_function_is_named),
        cmocka_unit_test(stages_print),
        cmocka_unit_test(entries_come_back),
        cmocka_unit_test(damaged_entries_are_ignored),
        cmocka_unit_test(the_oldest_entries_go_first),
        cmocka_unit_test(a_directory_that_others_may_write_is_not_used),
        cmocka_unit_test(the_root_and_links_are_no_cache),
        cmocka_unit_test(entries_of_others_are_not_used),
        cmocka_unit_test(failed_writes_leave_nothing),
        cmocka_unit_test(files_that_may_not_grow_are_done_without),
        cmocka_unit_test(code_is_compiled_once),
        cmocka_unit_test(damaged_code_is_compiled_again),
        cmocka_unit_test(many_modules_are_kept_within_bounds),
        cmocka_unit_test(threads_compile_at_once),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
