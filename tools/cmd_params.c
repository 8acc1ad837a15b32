/* heddle params: query parameters as a JSON parameter file. */
#include <stdlib.h>
#include <string.h>

#include "tools/suite.h"
#include "tpch/qparams.h"

struct params {
    const char *suite;
    enum qp_class class;
    int64_t seed;
    double sf;
    bool picked[QP_QUERIES];
    struct qp_values values[QP_QUERIES];
};

static int parse_class(const struct cli_args *a, struct params *p, struct cli_error *err)
{
    const char *name = cli_text(a, CLI_CLASS);
    p->suite = a->operands[0];
    bool jcch = strcmp(p->suite, "jcch") == 0;
    if (!jcch && strcmp(p->suite, "tpch") != 0)
        return cli_fail(err, CLI_BAD_INPUT, NULL, "expected tpch or jcch, found \"%s\"", p->suite);
    p->class = jcch ? QP_SKEWED : QP_VALIDATION;
    if (name && !qp_class_find(name, &p->class))
        return cli_fail(err, CLI_BAD_INPUT, NULL, "--class: expected validation, normal or skewed, found \"%s\"", name);
    return 0;
}

static int parse_queries(const struct cli_args *a, struct params *p, struct cli_error *err)
{
    char names[QP_QUERIES][16];
    struct suite_query queries[QP_QUERIES] = {0};
    for (int q = 0; q < QP_QUERIES; q++) {
        snprintf(names[q], sizeof names[q], "q%02d", q + 1);
        queries[q].name = names[q];
    }
    const struct suite s = {.n = QP_QUERIES, .queries = queries};
    return suite_pick(&s, cli_text(a, CLI_QUERIES), p->picked, err);
}

static int parse(const struct cli_args *a, struct params *p, struct cli_error *err)
{
    *p = (struct params){.seed = cli_count(a, CLI_SEED, 1), .sf = 1};
    if (parse_class(a, p, err) || parse_queries(a, p, err))
        return -1;
    if (cli_given(a, CLI_SCALE))
        p->sf = a->option[CLI_SCALE].real;
    if (!qp_seed_valid(p->seed))
        return cli_fail(err, CLI_BAD_INPUT, NULL, "--seed: multiples of 2147483647 have no draws");
    return 0;
}

static void warn(const struct params *p, int query)
{
    const char *why = p->values[query - 1].degenerate;
    if (why && p->picked[query - 1])
        fprintf(stderr, "heddle: warning: q%02d of class %s, seed %lld, is degenerate: %s\n", query,
                qp_class_name(p->class), (long long)p->seed, why);
}

/* One query alone is what -p takes; several are keyed by query. */
static void print(const struct params *p, FILE *f)
{
    int n = 0, left;
    for (int q = 0; q < QP_QUERIES; q++)
        n += p->picked[q];
    fputs(n == 1 ? "" : "{\n", f);
    left = n;
    for (int q = 1; q <= QP_QUERIES; q++) {
        if (!p->picked[q - 1])
            continue;
        if (n > 1)
            fprintf(f, "  \"q%02d\": ", q);
        qp_write_query(f, q, &p->values[q - 1]);
        fputs(--left ? ",\n" : "\n", f);
    }
    fputs(n == 1 ? "" : "}\n", f);
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    struct params p;
    if (parse(a, &p, err))
        return -1;
    for (int q = 1; q <= QP_QUERIES; q++) {
        qp_draw(p.class, p.seed, p.sf, q, &p.values[q - 1]);
        warn(&p, q);
    }
    const char *path = cli_text(a, CLI_OUT);
    if (!path) {
        print(&p, stdout);
        return 0;
    }
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return cli_fail_errno(err, path, "cannot write");
    print(&p, f);
    fclose(f);
    text[size - 1] = 0; /* the file gets its last line feed from cli_write_file */
    int rc = cli_write_file(path, text, err);
    free(text);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_CLASS, CLI_SEED, CLI_SCALE, CLI_QUERIES, CLI_OUT, CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_params = {
    .name = "params",
    .operands = "tpch|jcch",
    .summary = "print parameters of a benchmark's queries",
    .about = "Prints the parameters of the 22 queries as JSON: those of the reference generator\n"
             "of queries. Class validation is fixed (the default of tpch); classes normal and\n"
             "skewed (the default of jcch) are drawn for a seed (default 1). Data does not\n"
             "matter: skewed parameters are those that meet the skew of JCC-H. Only one value\n"
             "depends on --sf (default 1). A draw that makes no good query is reported on\n"
             "standard error.\n"
             "\n"
             "Several queries are keyed by name, as in the parameter files of a suite; one\n"
             "query (--queries 5) is printed as `heddle run -p @FILE` takes it.\n"
             "\n"
             "  heddle params jcch --class skewed --seed 1 --sf 10 --out skewed.json\n"
             "  heddle params tpch --class normal --seed 7 --queries 5 --out q05.json\n"
             "  heddle run tpch/plans/q05.json --db tpch1 -p @q05.json",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
