/* What bounds checks add to checksums: bench_verify DB [RUNS]. Verifies every file of a database
 * both ways on one thread, and prints the best times by what the files hold. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/arena.h"
#include "runtime/store/store_open.h"
#include "runtime/store/store_sum.h"

static const char *const kinds[] = {
    [RT_PART_FREE] = "free bytes",       [RT_PART_VALID] = "bitmaps",      [RT_PART_VALUES] = "values, codes",
    [RT_PART_ENDS] = "ends of texts",    [RT_PART_DICT] = "dictionaries",  [RT_PART_KEY] = "arrays of keys",
    [RT_PART_RANKS] = "bitmaps of keys", [RT_PART_OFFSETS] = "fk offsets", [RT_PART_CHILDREN] = "fk rows",
};

struct look {
    struct rt_part part;
    const void *p;
    bool wrong;
};

static void look_at(void *ctx, uint64_t from, uint64_t to)
{
    struct look *l = ctx;
    l->wrong |= rt_part_check(&l->part, l->p, from, to) != NULL;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double time_file(const struct rt_store *s, int file, bool look)
{
    char sum[RT_SUM_TEXT];
    struct look l = {.part = s->parts[file], .p = s->maps[file].p};
    double start = now();
    rt_sum_looking(l.p, s->maps[file].n, look && l.part.kind != RT_PART_FREE ? look_at : NULL, &l, sum);
    if (l.wrong)
        printf("%s: damaged\n", s->doc->files[file].name);
    return now() - start;
}

/* By turns, so that whatever else the machine does meets both alike. */
static void time_both(const struct rt_store *s, int file, int runs, double *sum, double *both)
{
    double best[2] = {1e30, 1e30};
    time_file(s, file, false); /* brings it into memory */
    for (int k = 0; k < 2 * runs; k++) {
        double t = time_file(s, file, k & 1);
        best[k & 1] = HD_MIN(best[k & 1], t);
    }
    *sum += best[0];
    *both += best[1];
}

static void print_times(const struct rt_store *s, int runs)
{
    double sums[HD_COUNT(kinds)] = {0}, both[HD_COUNT(kinds)] = {0}, all[2] = {0};
    uint64_t bytes[HD_COUNT(kinds)] = {0};
    for (int i = 0; i < s->doc->nfiles; i++) {
        enum rt_part_kind k = s->parts[i].kind;
        bytes[k] += s->maps[i].n;
        time_both(s, i, runs, &sums[k], &both[k]);
    }
    printf("%-14s %10s %12s %12s %8s\n", "", "MiB", "checksum ms", "with bounds", "more");
    for (size_t k = 0; k < HD_COUNT(kinds); k++) {
        if (bytes[k])
            printf("%-14s %10.1f %12.2f %12.2f %7.1f%%\n", kinds[k], (double)bytes[k] / (1 << 20), sums[k], both[k],
                   (both[k] / sums[k] - 1) * 100);
        all[0] += sums[k];
        all[1] += both[k];
    }
    printf("%-14s %10s %12.2f %12.2f %7.1f%%\n", "all", "", all[0], all[1], (all[1] / all[0] - 1) * 100);
}

int main(int argc, char **argv)
{
    struct hd_arena a;
    struct hd_err e;
    struct fe_catalog_doc *doc;
    struct rt_store *s;
    char *text;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_verify DB [RUNS]\n");
        return 1;
    }
    hd_arena_init(&a);
    hd_err_init(&e);
    if (rt_store_read_catalog(argv[1], &text, &e) != 0 || fe_catalog_read(&a, text, argv[1], &doc, &e) != 0 ||
        rt_store_open(argv[1], doc, (struct rt_open_mode){0}, &s, &e) != 0) {
        fprintf(stderr, "%s: %s\n", e.path, e.message);
        return 1;
    }
    print_times(s, argc > 2 ? atoi(argv[2]) : 10);
    rt_store_close(s);
    hd_arena_release(&a);
    free(text);
    return 0;
}
