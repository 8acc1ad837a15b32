/* What is kept on a device between executions: freed memory, columns, code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <unistd.h>

#include "runtime/gpu/gpu_ahead.h"
#include "runtime/gpu/gpu_known.h"
#include "runtime/gpu/gpu_modules.h"
#include "runtime/gpu/gpu_sources.h"
#include "runtime/gpu/gpu_warm.h"
#include "runtime/store/store.h"
#include "tests/gpu/fake_device.h"

enum { MB = 1 << 20 };

struct bench {
    struct fake fake;
    struct rt_gpu *gpu;
    struct rt_thread_pool *thread_pool;
    struct hd_err err;
};

static void open_bench(struct bench *b, uint64_t memory, const char *cache, const char *identity)
{
    struct rt_gpu_options o = {.version = "test", .cache_dir = cache, .cache_limit = 64 * MB, .memory = memory};
    hd_err_init(&b->err);
    fake_init(&b->fake, 64 * (uint64_t)MB, identity);
    b->thread_pool = rt_thread_pool_new();
    assert_int_equal(rt_gpu_open(&b->fake.d, &b->fake.c, &o, &b->gpu, &b->err), 0);
}

static void close_bench(struct bench *b)
{
    rt_gpu_close(b->gpu);
    rt_thread_pool_free(b->thread_pool);
    hd_err_release(&b->err);
    assert_int_equal(b->fake.held, 0);
    assert_int_equal(b->fake.modules, 0);
    assert_true(b->fake.closed);
}

/* ---- memory ---------------------------------------------------------------------------- */

static void freed_memory_is_used_again(void **state)
{
    (void)state;
    struct bench b;
    struct rt_piece p, q;
    open_bench(&b, 16 * MB, NULL, "c");
    assert_true(rt_gpu_pool_alloc(b.gpu->pool, MB, &p));
    uint64_t address = p.address;
    assert_int_equal(p.address % 256, 0);
    rt_gpu_pool_release(b.gpu->pool, &p);
    assert_int_equal(p.address, 0);
    assert_true(rt_gpu_pool_alloc(b.gpu->pool, MB - MB / 16, &q)); /* nearly as large */
    assert_int_equal(q.address, address);
    assert_int_equal(b.fake.allocs, 1);
    assert_true(rt_gpu_pool_alloc(b.gpu->pool, MB / 2, &p)); /* would waste the half */
    assert_int_equal(b.fake.allocs, 2);
    close_bench(&b);
}

static void budget_holds_and_kept_memory_makes_room(void **state)
{
    (void)state;
    struct bench b;
    struct rt_piece p, q;
    open_bench(&b, 16 * MB, NULL, "c");
    assert_int_equal(rt_gpu_pool_budget(b.gpu->pool), 16 * MB);
    assert_false(rt_gpu_pool_alloc(b.gpu->pool, 17 * MB, &p));
    assert_int_equal(p.address, 0);
    assert_true(rt_gpu_pool_alloc(b.gpu->pool, 10 * MB, &p));
    assert_false(rt_gpu_pool_alloc(b.gpu->pool, 8 * MB, &q));
    rt_gpu_pool_release(b.gpu->pool, &p);
    assert_true(rt_gpu_pool_alloc(b.gpu->pool, 14 * MB, &q)); /* the 10 go back to the device */
    assert_true(b.fake.held <= 16 * MB);
    close_bench(&b);
}

static void execution_names_the_state_that_does_not_fit(void **state)
{
    (void)state;
    struct bench b;
    struct rt_piece p;
    struct rt_state s = {.kind = RT_STATE_HASH, .path = "$.root.input"};
    open_bench(&b, 16 * MB, NULL, "c");
    struct rt_gpu_exec x = {.g = b.gpu, .d = &b.fake.d, .limit = 4 * MB};
    assert_int_equal(rt_gpu_alloc(&x, &s, 3 * MB, &p, &b.err), 0);
    assert_int_equal(rt_gpu_alloc(&x, &s, 2 * MB, &p, &b.err), -1);
    assert_int_equal(b.err.class, HD_ERR_RESOURCE);
    assert_string_equal(b.err.path, "$.root.input");
    assert_non_null(strstr(b.err.message, "4194304 bytes"));
    assert_non_null(strstr(b.err.message, "hash state"));
    close_bench(&b);
}

/* A first capacity is a guess, and must not fail where the rows themselves would fit. */
static void first_room_follows_the_budget(void **state)
{
    (void)state;
    struct bench b;
    struct hd_arena arena;
    struct rt_piece max;
    int sink = 0;
    struct rt_state s = {.kind = RT_STATE_ROWS, .stride = 8, .limit = -1, .est_rows = 1e9};
    struct rt_pipeline p = {.source = RT_SOURCE_INDEX, .nwrites = 1, .writes = &sink, .nlevels = 2};
    struct rt_spec spec = {.nstates = 1, .states = &s, .npipelines = 1, .pipelines = &p};
    struct rt_gpu_state live = {.s = &s};
    hd_arena_init(&arena);
    open_bench(&b, 16 * MB, NULL, "c");
    struct rt_gpu_exec x = {.g = b.gpu, .d = &b.fake.d, .spec = &spec, .state = &live, .arena = &arena};
    assert_true(rt_gpu_pool_alloc(b.gpu->pool, 14 * MB, &max));
    assert_int_equal(rt_gpu_state_start(&x, 0, false, &b.err), 0);
    assert_true(live.capacity > 1000 && live.capacity * 8 <= 2 * MB);
    rt_gpu_state_free(&x, 0);
    hd_arena_release(&arena);
    close_bench(&b);
}

/* ---- columns --------------------------------------------------------------------------- */

enum { ROWS = MB, COLUMNS = 4 };

/* A table of int32 columns, 4 MB each. */
struct sample {
    struct fe_table table;
    struct fe_table_column cols[COLUMNS];
    int32_t *data;
};

static void sample_init(struct sample *s, const char *name)
{
    memset(s, 0, sizeof *s);
    s->data = calloc(ROWS, sizeof *s->data);
    s->data[7] = 42;
    for (int i = 0; i < COLUMNS; i++)
        s->cols[i] = (struct fe_table_column){.name = "c", .storage = FE_STORE_INT, .width = 4, .at.data = s->data};
    s->table =
        (struct fe_table){.name = name, .id = rt_table_next_id(), .rows = ROWS, .ncols = COLUMNS, .cols = s->cols};
}

static int resident(struct bench *b, const struct sample *s, int column, uint64_t *address)
{
    struct rt_arg a = {.kind = RT_ARG_COL_DATA, .table = &s->table, .column = column};
    return rt_gpu_resident(b->gpu, &a, address, &b->err);
}

static void column_stays_and_the_oldest_makes_room(void **state)
{
    (void)state;
    struct bench b;
    struct sample s;
    uint64_t at[COLUMNS], again;
    sample_init(&s, "t");
    open_bench(&b, 13 * MB, NULL, "c"); /* three columns */
    for (int i = 0; i < 3; i++) {
        rt_gpu_residents_begin(b.gpu);
        assert_int_equal(resident(&b, &s, i, &at[i]), 0);
    }
    assert_int_equal(((int32_t *)(uintptr_t)at[1])[7], 42);
    rt_gpu_residents_begin(b.gpu);
    assert_int_equal(resident(&b, &s, 0, &again), 0); /* used again: 1 is now the oldest */
    assert_int_equal(again, at[0]);
    assert_int_equal(b.fake.uploads, 3);
    assert_int_equal(resident(&b, &s, 3, &at[3]), 0);
    assert_int_equal(b.fake.uploads, 4);
    assert_int_equal(resident(&b, &s, 2, &again), 0);
    assert_int_equal(b.fake.uploads, 4); /* 2 was still there */
    free(s.data);
    close_bench(&b);
}

static void columns_of_one_plan_must_fit_together(void **state)
{
    (void)state;
    struct bench b;
    struct sample s;
    uint64_t at;
    sample_init(&s, "big");
    open_bench(&b, 9 * MB, NULL, "c");
    rt_gpu_residents_begin(b.gpu);
    assert_int_equal(resident(&b, &s, 0, &at), 0);
    assert_int_equal(resident(&b, &s, 1, &at), 0);
    assert_int_equal(resident(&b, &s, 2, &at), -1);
    assert_int_equal(b.err.class, HD_ERR_RESOURCE);
    assert_non_null(strstr(b.err.message, "big.c"));
    free(s.data);
    close_bench(&b);
}

static void forgotten_table_frees_its_columns(void **state)
{
    (void)state;
    struct bench b;
    struct sample s, t;
    uint64_t at;
    sample_init(&s, "s");
    sample_init(&t, "t");
    assert_true(s.table.id != t.table.id);
    open_bench(&b, 16 * MB, NULL, "c");
    rt_gpu_residents_begin(b.gpu);
    assert_int_equal(resident(&b, &s, 0, &at), 0);
    assert_int_equal(resident(&b, &t, 0, &at), 0);
    rt_gpu_forget(b.gpu, s.table.id);
    assert_int_equal(resident(&b, &t, 0, &at), 0);
    assert_int_equal(b.fake.uploads, 2);
    assert_int_equal(resident(&b, &s, 0, &at), 0);
    assert_int_equal(b.fake.uploads, 3);
    assert_int_equal(b.fake.allocs, 2); /* in the same place */
    free(s.data);
    free(t.data);
    close_bench(&b);
}

static void part_that_a_table_lacks_has_no_address(void **state)
{
    (void)state;
    struct bench b;
    struct sample s;
    uint64_t at = 1;
    struct rt_arg a = {.kind = RT_ARG_COL_VALID, .table = &s.table};
    sample_init(&s, "t");
    open_bench(&b, 16 * MB, NULL, "c");
    assert_int_equal(rt_gpu_resident(b.gpu, &a, &at, &b.err), 0);
    assert_int_equal(at, 0);
    assert_int_equal(b.fake.uploads, 0);
    free(s.data);
    close_bench(&b);
}

/* ---- code ------------------------------------------------------------------------------ */

static struct rt_unit units[] = {
    {.entry = "p0", .text = "kernel p0", .size = 9, .threads = 128},
    {.entry = "p1", .text = "kernel p1", .size = 9, .threads = 128},
};

/* Many rows, not in order: they need no fixed kernel. */
static struct rt_state result = {.kind = RT_STATE_ROWS, .limit = -1, .est_rows = 1e6};
static int sink = 0;
static struct rt_pipeline pipelines[] = {{.nwrites = 1, .writes = &sink}, {.nwrites = 1, .writes = &sink}};
static const struct rt_spec spec = {
    .npipelines = (int)HD_COUNT(pipelines), .pipelines = pipelines, .nstates = 1, .states = &result};

static int get(struct bench *b, bool fresh, struct rt_gpu_code **code, enum rt_cached *how)
{
    return rt_gpu_code_get(b->gpu, &spec, units, b->thread_pool, 2, NULL, fresh ? RT_CODE_FRESH : RT_CODE_RUN, code,
                           how, &b->err);
}

static void expect(struct bench *b, bool fresh, enum rt_cached how, int compiles)
{
    struct rt_gpu_code *code;
    enum rt_cached found;
    double ms;
    int before = b->fake.compiles;
    assert_int_equal(get(b, fresh, &code, &found), 0);
    assert_int_equal(found, how);
    assert_int_equal(b->fake.compiles - before, compiles);
    assert_int_equal(rt_gpu_code_how(code, 1, &ms), how);
    assert_int_equal(rt_gpu_code_kernel(code, 1)->info.registers, 32);
    rt_gpu_code_release(b->gpu, code);
}

static char *cache_dir(char *pattern)
{
    assert_non_null(mkdtemp(pattern));
    return pattern;
}

static void each_entry(const char *dir, void (*fn)(const char *path))
{
    char path[512];
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.')
            fn(path);
    }
    closedir(d);
}

static void damage(const char *path)
{
    FILE *f = fopen(path, "r+b");
    fseek(f, -1, SEEK_END);
    int c = fgetc(f);
    fseek(f, -1, SEEK_END);
    fputc(c ^ 1, f);
    fclose(f);
}

static void erase(const char *path)
{
    unlink(path);
}

static void code_comes_from_memory_then_disk(void **state)
{
    (void)state;
    struct bench b;
    char pattern[] = "/tmp/heddle-gpu-XXXXXX", *dir = cache_dir(pattern);
    open_bench(&b, 16 * MB, dir, "compiler 1");
    expect(&b, false, RT_COMPILED, 2);
    expect(&b, false, RT_CACHED_MEMORY, 0);
    expect(&b, true, RT_COMPILED, 2);
    close_bench(&b);
    open_bench(&b, 16 * MB, dir, "compiler 1");
    expect(&b, false, RT_CACHED_DISK, 0);
    close_bench(&b);
    open_bench(&b, 16 * MB, dir, "compiler 2"); /* another compiler, other images */
    expect(&b, false, RT_COMPILED, 2);
    close_bench(&b);
    each_entry(dir, damage);
    open_bench(&b, 16 * MB, dir, "compiler 1");
    expect(&b, false, RT_COMPILED, 2);
    expect(&b, false, RT_CACHED_MEMORY, 0);
    close_bench(&b);
    open_bench(&b, 16 * MB, dir, "compiler 1"); /* what was damaged is whole again */
    expect(&b, false, RT_CACHED_DISK, 0);
    close_bench(&b);
    each_entry(dir, erase);
    rmdir(dir);
}

/* ---- code that no program brings -------------------------------------------------------- */

static int warm(struct bench *b, const char *dir, struct rt_gpu_warmed *out)
{
    struct rt_gpu_options o = {.version = "test", .cache_dir = dir, .cache_limit = 64 * MB};
    return rt_gpu_warm(&b->fake.c, b->fake.d.ops->name, b->fake.d.info.arch, &o, b->thread_pool, 3, out, &b->err);
}

/* Without a device, for one that comes later: keys are the same. */
static void fixed_kernels_are_compiled_ahead(void **state)
{
    (void)state;
    struct bench b;
    struct rt_gpu_warmed w;
    char pattern[] = "/tmp/heddle-gpu-XXXXXX", *dir = cache_dir(pattern);
    open_bench(&b, 16 * MB, dir, "compiler 1");
    assert_int_equal(warm(&b, dir, &w), 0);
    assert_int_equal(w.compiled, RT_WARM_MAX);
    assert_int_equal(w.found, 0);
    assert_int_equal(b.fake.compiles, RT_WARM_MAX);
    assert_int_equal(warm(&b, dir, &w), 0);
    assert_int_equal(w.compiled, 0);
    assert_int_equal(w.found, RT_WARM_MAX);
    for (int i = 0; i < RT_WARM_MAX; i++)
        assert_int_equal(rt_gpu_module_where(b.gpu, rt_gpu_source_key(b.gpu, rt_gpu_fixed_text(rt_gpu_warm_name(i)))),
                         RT_CACHED_DISK);
    close_bench(&b);
    each_entry(dir, erase);
    rmdir(dir);
}

static void compiling_ahead_says_what_fails(void **state)
{
    (void)state;
    struct bench b;
    struct rt_gpu_warmed w;
    char pattern[] = "/tmp/heddle-gpu-XXXXXX", *dir = cache_dir(pattern);
    open_bench(&b, 16 * MB, NULL, "c");
    b.fake.refuses = "finish_sort";
    assert_int_equal(warm(&b, dir, &w), -1);
    assert_int_equal(b.err.class, HD_ERR_TOOL);
    assert_string_equal(b.err.message, "refused");
    assert_string_equal(b.err.detail, "line 1: no");
    hd_err_release(&b.err);
    hd_err_init(&b.err);
    b.fake.refuses = NULL;
    assert_int_equal(warm(&b, dir, &w), 0);
    assert_int_equal(w.compiled + w.found, RT_WARM_MAX);
    assert_int_equal(warm(&b, "/", &w), -1);
    assert_int_equal(b.err.class, HD_ERR_RESOURCE);
    assert_string_equal(b.err.path, "/");
    close_bench(&b);
    each_entry(dir, erase);
    rmdir(dir);
}

/* One after the other, only what is missing; not where it takes from other compilations, and not once it is to stop. */
static void fixed_kernels_are_compiled_behind(void **state)
{
    (void)state;
    struct bench b;
    struct rt_gpu_warmed w;
    struct hd_stop stop = {false};
    char pattern[] = "/tmp/heddle-gpu-XXXXXX", *dir = cache_dir(pattern);
    int at = 0;
    open_bench(&b, 16 * MB, dir, "c");
    assert_false(rt_gpu_warm_next(b.gpu, &at, &stop));
    b.fake.c.beside = true;
    b.fake.refuses = rt_gpu_warm_name(1); /* which is nobody's concern */
    assert_true(rt_gpu_warm_next(b.gpu, &at, &stop));
    assert_int_equal(b.fake.compiles, 1);
    hd_stop_ask(&stop);
    assert_false(rt_gpu_warm_next(b.gpu, &at, &stop));
    assert_int_equal(b.fake.compiles, 1);
    stop.asked = false;
    while (rt_gpu_warm_next(b.gpu, &at, &stop))
        ;
    assert_int_equal(b.fake.compiles, RT_WARM_MAX);
    b.fake.refuses = NULL;
    assert_int_equal(warm(&b, dir, &w), 0);
    assert_int_equal(w.compiled, 1);
    close_bench(&b);
    open_bench(&b, 16 * MB, NULL, "c");
    b.fake.c.beside = true;
    assert_false(rt_gpu_warm_next(b.gpu, &at, &stop)); /* without a cache */
    close_bench(&b);
    each_entry(dir, erase);
    rmdir(dir);
}

/* ---- a device that is not open ----------------------------------------------------------- */

static bool stored(const char *dir, int number, const char *device)
{
    struct rt_gpu_options o = {.version = "test", .cache_dir = dir, .cache_limit = 64 * MB};
    return rt_gpu_known_stored(&o, number, device, &spec, units);
}

static void spoil(const char *path)
{
    FILE *f = fopen(path, "w");
    fputs("90\n", f);
    fclose(f);
}

static void cache_knows_what_it_has_for_the_last_device(void **state)
{
    (void)state;
    struct bench b;
    char pattern[] = "/tmp/heddle-gpu-XXXXXX", *dir = cache_dir(pattern), hint[64];
    snprintf(hint, sizeof hint, "%s/.gpu-0", dir);
    open_bench(&b, 16 * MB, dir, "c");
    expect(&b, false, RT_COMPILED, 2);
    assert_false(stored(dir, 0, "fake"));
    rt_gpu_remember(b.gpu, 0);
    assert_true(stored(dir, 0, "fake"));
    assert_false(stored(dir, 1, "fake"));
    assert_false(stored(dir, 0, "other"));
    assert_false(stored(NULL, 0, "fake"));
    spoil(hint);
    assert_false(stored(dir, 0, "fake"));
    rt_gpu_remember(b.gpu, 0);
    assert_true(stored(dir, 0, "fake"));
    b.fake.d.info.arch = 1; /* another device takes its place */
    rt_gpu_remember(b.gpu, 0);
    assert_false(stored(dir, 0, "fake"));
    b.fake.d.info.arch = 0;
    rt_gpu_remember(b.gpu, 0);
    each_entry(dir, erase);
    assert_false(stored(dir, 0, "fake"));
    close_bench(&b);
    unlink(hint);
    rmdir(dir);
}

/* ---- compiling while a device opens ------------------------------------------------------- */

static void open_ahead(struct bench *b, const char *cache, const char *refuses)
{
    struct rt_gpu_options o = {.version = "test", .cache_dir = cache, .cache_limit = 64 * MB, .memory = 16 * MB};
    hd_err_init(&b->err);
    fake_init(&b->fake, 64 * (uint64_t)MB, "c");
    b->fake.refuses = refuses;
    b->thread_pool = rt_thread_pool_new();
    struct rt_compiler *c = &b->fake.c;
    struct rt_gpu_ahead ahead = {&o, "fake", 0, &spec, units, b->thread_pool, 2, false};
    rt_gpu_ahead_begin(&c, &ahead);
    assert_int_equal(rt_gpu_open(&b->fake.d, c, &o, &b->gpu, &b->err), 0);
}

/* The compiler waits for threads of the pool, which are gone only where nothing is left to be compiled. */
static void close_ahead(struct bench *b)
{
    rt_gpu_close(b->gpu);
    rt_thread_pool_free(b->thread_pool);
    hd_err_release(&b->err);
    assert_int_equal(b->fake.modules, 0);
}

static void code_is_compiled_while_a_device_opens(void **state)
{
    (void)state;
    struct bench b;
    char pattern[] = "/tmp/heddle-gpu-XXXXXX", *dir = cache_dir(pattern);
    for (int k = 0; k < 50; k++) { /* before and after threads have begun */
        struct rt_gpu_code *code;
        enum rt_cached how;
        open_ahead(&b, NULL, NULL);
        assert_int_equal(get(&b, false, &code, &how), 0);
        assert_int_equal(how, RT_COMPILED);
        assert_int_equal(b.fake.compiles, 2);
        rt_gpu_code_release(b.gpu, code);
        close_ahead(&b);
        open_ahead(&b, NULL, NULL); /* and nobody asks */
        close_ahead(&b);
        assert_true(b.fake.compiles <= 2);
    }
    open_bench(&b, 16 * MB, dir, "c");
    expect(&b, false, RT_COMPILED, 2);
    close_bench(&b);
    open_ahead(&b, dir, NULL); /* what the cache has is not compiled */
    expect(&b, false, RT_CACHED_DISK, 0);
    assert_int_equal(b.fake.compiles, 0);
    close_ahead(&b);
    each_entry(dir, erase);
    rmdir(dir);
}

static void refused_while_a_device_opens_is_told_once_asked(void **state)
{
    (void)state;
    struct bench b;
    struct rt_gpu_code *code;
    enum rt_cached how;
    open_ahead(&b, NULL, "p1");
    assert_int_equal(get(&b, false, &code, &how), -1);
    assert_string_equal(b.err.message, "refused");
    assert_string_equal(b.err.detail, "line 1: no");
    close_ahead(&b);
}

/* ---- sources --------------------------------------------------------------------------- */

enum { MANY = 200 };

/* Units of which every third calls a library and the last is large. */
static void many_units(struct hd_arena *a, struct rt_unit *u, int n)
{
    for (int i = 0; i < n; i++) {
        bool calls = i % 3 == 0;
        const char *head = hd_asprintf(a, "%s// p%d\n#include \"x\"\n", calls ? "//! --option\n" : "", i);
        const char *code = hd_asprintf(a, "kernel p%d%*s\n", i, i == n - 1 ? 100000 : 0, "");
        u[i] = (struct rt_unit){.entry = hd_asprintf(a, "p%d", i),
                                .text = hd_asprintf(a, "%s%s", head, code),
                                .head = strlen(head),
                                .libraries = calls ? RT_LIBRARY_SHARE : 0};
        u[i].size = strlen(u[i].text);
    }
}

static void units_of_a_small_program_have_a_source_each(void **state)
{
    (void)state;
    struct hd_arena a;
    struct rt_unit u[MANY];
    struct rt_gpu_sources s;
    struct hd_err err;
    hd_err_init(&err);
    hd_arena_init(&a);
    many_units(&a, u, 63);
    assert_int_equal(rt_gpu_sources_init(&s, u, 63, &err), 0);
    assert_int_equal(s.n, 63);
    for (int i = 0; i < s.n; i++)
        assert_ptr_equal(s.v[s.of[i]].text, u[i].text);
    rt_gpu_sources_release(&s);
    hd_arena_release(&a);
}

static void many_small_units_share_sources(void **state)
{
    (void)state;
    struct hd_arena a;
    struct rt_unit u[MANY];
    struct rt_gpu_sources s;
    struct hd_err err;
    hd_err_init(&err);
    hd_arena_init(&a);
    many_units(&a, u, MANY);
    assert_int_equal(rt_gpu_sources_init(&s, u, MANY, &err), 0);
    assert_in_range(s.n, 32, 36);
    for (int i = 0; i < MANY; i++) {
        const struct rt_gpu_source *source = &s.v[s.of[i]];
        const char *code = hd_asprintf(&a, "kernel %s", u[i].entry);
        assert_non_null(strstr(source->text, code));
        assert_int_equal(source->libraries, u[i].libraries); /* relocatable ones are apart */
        assert_int_equal(strncmp(source->text, "//! ", 4) == 0, u[i].libraries != 0);
        const char *first = strstr(source->text, "namespace");
        assert_true(!first || !strstr(first, "#include"));
    }
    assert_int_equal(s.v[s.of[MANY - 1]].nunits, 1); /* the large one */
    rt_gpu_sources_release(&s);
    hd_arena_release(&a);
}

static void refused_source_tells_what_the_compiler_said(void **state)
{
    (void)state;
    struct bench b;
    struct rt_gpu_code *code = NULL;
    enum rt_cached how;
    open_bench(&b, 16 * MB, NULL, "c");
    b.fake.refuses = "p1";
    assert_int_equal(get(&b, false, &code, &how), -1);
    assert_int_equal(b.err.class, HD_ERR_TOOL);
    assert_string_equal(b.err.detail, "line 1: no");
    assert_null(code);
    b.fake.refuses = NULL;
    expect(&b, false, RT_COMPILED, 1); /* p0 was loaded */
    close_bench(&b);
}

/* ---- a lost device --------------------------------------------------------------------- */

/* Columns, memory and code go with the device; later executions find a new one. */
static void lost_device_is_made_anew(void **state)
{
    (void)state;
    struct bench b;
    struct sample s;
    struct rt_gpu_code *code;
    enum rt_cached how;
    uint64_t at;
    sample_init(&s, "t");
    open_bench(&b, 16 * MB, NULL, "c");
    assert_int_equal(get(&b, false, &code, &how), 0);
    assert_int_equal(rt_gpu_begin(b.gpu, NULL, &b.err), 0);
    assert_int_equal(resident(&b, &s, 0, &at), 0);
    b.fake.breaks = true;
    assert_int_equal(resident(&b, &s, 1, &at), -1);
    assert_int_equal(b.err.class, HD_ERR_EXEC); /* and not a lack of memory */
    assert_string_equal(b.err.message, "a kernel ran wild");
    rt_gpu_leave(b.gpu);
    assert_int_equal(b.fake.held, 0);
    assert_int_equal(b.fake.modules, 0);
    assert_false(rt_gpu_code_valid(b.gpu, code));
    rt_gpu_forget(b.gpu, s.table.id); /* needs no device */
    rt_gpu_code_release(b.gpu, code);
    assert_int_equal(b.fake.resets, 0);

    expect(&b, false, RT_COMPILED, 2);
    assert_int_equal(b.fake.resets, 1);
    expect(&b, false, RT_CACHED_MEMORY, 0);
    assert_int_equal(rt_gpu_begin(b.gpu, NULL, &b.err), 0);
    assert_int_equal(resident(&b, &s, 0, &at), 0);
    rt_gpu_leave(b.gpu);
    assert_int_equal(b.fake.resets, 1);
    assert_int_equal(b.fake.uploads, 2);
    free(s.data);
    close_bench(&b);
}

static void device_that_stays_lost_says_so(void **state)
{
    (void)state;
    struct bench b;
    struct rt_gpu_code *code = NULL;
    enum rt_cached how;
    open_bench(&b, 16 * MB, NULL, "c");
    b.fake.breaks = b.fake.stays_lost = true;
    assert_int_equal(get(&b, false, &code, &how), -1);
    assert_string_equal(b.err.message, "a kernel ran wild");
    for (int i = 0; i < 2; i++) {
        hd_err_release(&b.err);
        hd_err_init(&b.err);
        assert_int_equal(get(&b, false, &code, &how), -1);
        assert_int_equal(b.err.class, HD_ERR_RESOURCE);
        assert_string_equal(b.err.message, "the GPU was lost (a kernel ran wild) and this "
                                           "process cannot have it again: it stays away");
    }
    b.fake.stays_lost = false;
    expect(&b, false, RT_COMPILED, 2);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_memory_is_used_again),
        cmocka_unit_test(budget_holds_and_kept_memory_makes_room),
        cmocka_unit_test(execution_names_the_state_that_does_not_fit),
        cmocka_unit_test(first_room_follows_the_budget),
        cmocka_unit_test(column_stays_and_the_oldest_makes_room),
        cmocka_unit_test(columns_of_one_plan_must_fit_together),
        cmocka_unit_test(forgotten_table_frees_its_columns),
        cmocka_unit_test(part_that_a_table_lacks_has_no_address),
        cmocka_unit_test(code_comes_from_memory_then_disk),
        cmocka_unit_test(fixed_kernels_are_compiled_ahead),
        cmocka_unit_test(compiling_ahead_says_what_fails),
        cmocka_unit_test(fixed_kernels_are_compiled_behind),
        cmocka_unit_test(cache_knows_what_it_has_for_the_last_device),
        cmocka_unit_test(code_is_compiled_while_a_device_opens),
        cmocka_unit_test(refused_while_a_device_opens_is_told_once_asked),
        cmocka_unit_test(units_of_a_small_program_have_a_source_each),
        cmocka_unit_test(many_small_units_share_sources),
        cmocka_unit_test(refused_source_tells_what_the_compiler_said),
        cmocka_unit_test(lost_device_is_made_anew),
        cmocka_unit_test(device_that_stays_lost_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
