/* How long NVRTC takes for the units of a query, as the GPU executor compiles them. Needs no GPU.
 *
 *   bench_compile ARCHITECTURE THREADS REPEAT PLAN.cu...
 *
 * Each file holds the units of one query as `heddle explain --dump cuda` prints them. Prints a line
 * per file: number of units, then the milliseconds of each repetition. $HEDDLE_COMPILER=none:
 * in this process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/vec.h"
#include "runtime/gpu/compile_process.h"
#include "runtime/gpu/gpu_sources.h"

enum { THREADS_MAX = 64, SKIPPED = 77 };

struct batch {
    struct rt_compiler *c;
    struct hd_arena arena; /* of the list */
    HD_VEC(struct rt_unit) units;
    struct rt_gpu_sources sources;
    _Atomic int next;
};

static void stop(const struct hd_err *err)
{
    fprintf(stderr, "%s: %s\n%s\n", err->path, err->message, err->detail ? err->detail : "");
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t n = 0;
    if (!f || getdelim(&text, &n, 0, f) < 0) {
        perror(path);
        exit(1);
    }
    fclose(f);
    return text;
}

static int longer(const void *a, const void *b)
{
    size_t x = strlen(((const struct rt_gpu_source *)a)->text), y = strlen(((const struct rt_gpu_source *)b)->text);
    return (x < y) - (x > y);
}

static bool is_head(const char *line)
{
    return strncmp(line, "// p", 4) == 0 && line[4] >= '0' && line[4] <= '9';
}

static size_t head_bytes(const char *text)
{
    const char *end = text;
    for (const char *at = text; (at = strstr(at, "\n#include ")); at = end - 1)
        end = strchr(at + 1, '\n') + 1;
    return (size_t)(end - text);
}

static void add_unit(struct batch *b, char *text)
{
    char *name = strstr(text, "// p") + 3;
    bool calls_libraries = strncmp(text, "//! ", 4) == 0;
    struct rt_unit u = {
        .entry = hd_strndup(&b->arena, name, strcspn(name, ":")),
        .text = text,
        .size = strlen(text),
        .head = head_bytes(text),
        .libraries = calls_libraries ? RT_LIBRARY_SHARE : 0,
    };
    hd_vec_push(&b->arena, &b->units, u);
}

/* Every unit starts with "// pN: ", or with its options before that. */
static void split(struct batch *b, char *text)
{
    const char *options = NULL;
    char *first = text;
    b->units.n = 0;
    for (char *at = text; at;) {
        bool has_options = strncmp(at, "//! ", 4) == 0;
        if (at > first && (has_options || (is_head(at) && at != options))) {
            at[-1] = 0;
            add_unit(b, first);
            first = at;
        }
        at = strchr(at, '\n');
        at += at != NULL;
        if (has_options)
            options = at;
    }
    add_unit(b, first);
}

static void *compile_some(void *context)
{
    struct batch *b = context;
    struct hd_err err;
    hd_err_init(&err);
    for (int i; (i = b->next++) < b->sources.n;) {
        struct rt_bytes image;
        if (b->c->compile(b->c, b->sources.v[i].name, b->sources.v[i].text, &image, &err) != 0)
            stop(&err);
        rt_bytes_release(&image);
    }
    return NULL;
}

static double time_batch(struct batch *b, int threads)
{
    pthread_t ids[THREADS_MAX];
    double start = now_ms();
    b->next = 0;
    for (int i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, compile_some, b);
    compile_some(b);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    return now_ms() - start;
}

static struct rt_compiler *open_compiler(int arch)
{
    struct rt_compiler *c;
    struct rt_nvrtc *n;
    struct hd_err err;
    hd_err_init(&err);
    if (rt_nvrtc_open(NULL, &n, &err) != 0) {
        printf("skipped: %s\n", err.message);
        exit(SKIPPED);
    }
    if (rt_compile_process_open(n, arch, true, &c, &err) != 0)
        stop(&err);
    return c;
}

int main(int argc, char **argv)
{
    struct batch b = {0};
    struct hd_err err;
    hd_err_init(&err);
    if (argc < 5) {
        fprintf(stderr, "usage: bench_compile ARCHITECTURE THREADS REPEAT FILE...\n");
        return 2;
    }
    int threads = HD_MIN(atoi(argv[2]), THREADS_MAX), repeat = atoi(argv[3]);
    double start = now_ms();
    hd_arena_init(&b.arena);
    b.c = open_compiler(atoi(argv[1]));
    printf("opened in %.1f ms\n", now_ms() - start);
    for (int i = 4; i < argc; i++) {
        char *text = read_file(argv[i]);
        split(&b, text);
        if (rt_gpu_sources_init(&b.sources, b.units.v, b.units.n, &err) != 0)
            stop(&err);
        qsort(b.sources.v, (size_t)b.sources.n, sizeof *b.sources.v, longer);
        printf("%s %d", argv[i], b.units.n);
        for (int k = 0; k < repeat; k++)
            printf(" %.0f", time_batch(&b, threads));
        printf("\n");
        rt_gpu_sources_release(&b.sources);
        free(text);
    }
    start = now_ms();
    b.c->close(b.c);
    hd_arena_release(&b.arena);
    printf("closed in %.1f ms\n", now_ms() - start);
    return 0;
}
