/* Query parameters against known draws, and the parameter files of both suites.
 *
 *   test_qparams VECTORS SUITES     SUITES: the folder above tpch and jcch */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qparams.h"

static int failures;

static void fail(const char *what, const char *expected, const char *found)
{
    printf("%s: expected %s, found %s\n", what, expected, found);
    failures++;
}

/* ---- vectors ---- */

/* Values as a line of the vectors has them: each behind a tab. */
static void join(const struct qp_values *v, char *out, size_t room)
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < v->count; i++)
        n += (size_t)snprintf(out + n, room - n, "\t%s", v->at[i]);
}

static void check_line(char *line)
{
    char class[16], found[512], what[64];
    enum qp_class c;
    long long seed;
    int query, start;
    struct qp_values v;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%15s %lld %d%n", class, &seed, &query, &start) != 3 || !qp_class_find(class, &c)) {
        fail("vectors", "class, seed, query", line);
        return;
    }
    qp_draw(c, seed, 1, query, &v);
    join(&v, found, sizeof found);
    snprintf(what, sizeof what, "%s, seed %lld, query %d", class, seed, query);
    if (strcmp(found, line + start) != 0)
        fail(what, line + start, found);
}

static int check_vectors(const char *path)
{
    enum { LINES = 2 * 5 * QP_QUERIES };
    char line[1024];
    int n = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (line[0] != '#') {
            check_line(line);
            n++;
        }
    if (f)
        fclose(f);
    if (n != LINES) {
        printf("%s: %d lines\n", path, n);
        failures++;
    }
    return n;
}

/* ---- parameter files ---- */

static char *read_file(const char *path)
{
    enum { ROOM = 16384 };
    char *text = calloc(1, ROOM);
    FILE *f = fopen(path, "r");
    if (f) {
        if (!fread(text, 1, ROOM - 1, f))
            text[0] = 0;
        fclose(f);
    }
    return text;
}

static void draw_all(enum qp_class c, int64_t seed, struct qp_values all[QP_QUERIES])
{
    for (int q = 1; q <= QP_QUERIES; q++)
        qp_draw(c, seed, 1, q, &all[q - 1]);
}

static void check_file(const char *suites, const char *name, enum qp_class c, int64_t seed,
                       void (*change)(struct qp_values *all))
{
    char path[4096], *found = NULL;
    size_t size;
    struct qp_values all[QP_QUERIES];
    FILE *f = open_memstream(&found, &size);
    draw_all(c, seed, all);
    if (change)
        change(all);
    qp_write_file(f, all);
    fclose(f);
    snprintf(path, sizeof path, "%s/%s", suites, name);
    char *expected = read_file(path);
    if (strcmp(expected, found) != 0)
        fail(path, expected, found);
    free(expected);
    free(found);
}

/* What a published comparison used in place of two drawn values. */
static void paper(struct qp_values *all)
{
    strcpy(all[1].at[0], "15");
    strcpy(all[10].at[1], "0.0000020000");
}

static void check_files(const char *suites)
{
    check_file(suites, "tpch/params/validation.json", QP_VALIDATION, 1, NULL);
    check_file(suites, "tpch/params/normal-1.json", QP_NORMAL, 1, NULL);
    check_file(suites, "tpch/params/normal-2.json", QP_NORMAL, 2, NULL);
    check_file(suites, "tpch/params/normal-3.json", QP_NORMAL, 3, NULL);
    check_file(suites, "jcch/params/normal-1.json", QP_NORMAL, 1, NULL);
    check_file(suites, "jcch/params/skewed-1.json", QP_SKEWED, 1, NULL);
    check_file(suites, "jcch/params/paper.json", QP_SKEWED, 1648967542, paper);
}

/* ---- the rest ---- */

static void check_fraction(void)
{
    static const struct {
        double sf;
        const char *text;
    } cases[] = {
        {0.01, "0.0100000000"}, {0.1, "0.0010000000"}, {1, "0.0001000000"},
        {10, "0.0000100000"},   {30, "0.0000033333"},  {100, "0.0000010000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int c = 0; c < QP_CLASS_COUNT; c++) {
            struct qp_values v;
            qp_draw((enum qp_class)c, 7, cases[i].sf, 11, &v);
            if (v.count != 2 || strcmp(v.at[1], cases[i].text) != 0)
                fail("fraction of query 11", cases[i].text, v.at[1]);
        }
}

static void check_seeds(void)
{
    const int64_t period = 2147483647;
    struct qp_values a, b;
    if (qp_seed_valid(0) || qp_seed_valid(-1) || qp_seed_valid(period) || qp_seed_valid(3 * period))
        fail("seed", "refused", "accepted");
    if (!qp_seed_valid(1) || !qp_seed_valid(period - 1) || !qp_seed_valid(INT64_MAX))
        fail("seed", "accepted", "refused");
    qp_draw(QP_SKEWED, 5, 1, 16, &a);
    qp_draw(QP_SKEWED, 5 + 9 * period, 1, 16, &b);
    char expected[512], found[512];
    join(&a, expected, sizeof expected);
    join(&b, found, sizeof found);
    if (strcmp(expected, found) != 0)
        fail("seed modulo the period", expected, found);
}

/* Draws of many seeds: a degenerate one says so, in the shares that the ranges give. */
static void check_degenerate(void)
{
    enum { SEEDS = 20000 };
    int found[QP_QUERIES + 1] = {0};
    for (int seed = 1; seed <= SEEDS; seed++)
        for (int q = 1; q <= QP_QUERIES; q++) {
            struct qp_values v;
            qp_draw(QP_NORMAL, seed * INT64_C(99991), 1, q, &v);
            if (v.degenerate)
                fail("normal class", "no degenerate draw", v.degenerate);
            qp_draw(QP_SKEWED, seed * INT64_C(99991), 1, q, &v);
            found[q] += v.degenerate != NULL;
            bool bad = (q == 3 && strcmp(v.at[1], "1993-05-32") == 0) ||
                       (q == 10 && strncmp(v.at[0], "1999", 4) == 0) ||
                       ((q == 14 || q == 15) && strcmp(v.at[0], "1995-05-01") == 0);
            if (bad != (v.degenerate != NULL))
                fail("degenerate draw", bad ? "reported" : "none", v.at[0]);
        }
    static const int one_in[QP_QUERIES + 1] = {[3] = 31, [10] = 6, [14] = 17, [15] = 17};
    for (int q = 1; q <= QP_QUERIES; q++) {
        double expected = one_in[q] ? (double)SEEDS / one_in[q] : 0;
        if (found[q] < 0.9 * expected || found[q] > 1.1 * expected) {
            printf("query %d: %d degenerate draws of %d\n", q, found[q], SEEDS);
            failures++;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: test_qparams VECTORS SUITES\n", stderr);
        return 2;
    }
    int n = check_vectors(argv[1]);
    check_files(argv[2]);
    check_fraction();
    check_seeds();
    check_degenerate();
    printf("%d vectors, %d failures\n", n, failures);
    return failures != 0;
}
