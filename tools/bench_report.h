/* Results of a bench run as a table for people and as JSON for programs. */
#ifndef HEDDLE_TOOLS_BENCH_REPORT_H
#define HEDDLE_TOOLS_BENCH_REPORT_H

#include "tools/suite.h"

enum bench_status { BENCH_OK, BENCH_ERROR, BENCH_TIMEOUT };

/* What became of a query. */
struct bench_result {
    const struct suite_query *query;
    enum bench_status status;
    struct cli_error error; /* BENCH_ERROR */
    int64_t rows;
    bool checked;     /* compared with a stored answer */
    char *difference; /* NULL: equal */
    cJSON *runs;      /* list of statement reports */
};
void bench_result_release(struct bench_result *r);

struct bench_results {
    int n;
    struct bench_result *at;
};

/* Queries that failed or whose answer differs. */
int bench_failures(const struct bench_results *all);
void bench_print(const struct bench_results *all, const struct suite *s, FILE *f);
/* machine: the context's info as JSON text. Returns JSON text on the heap. */
char *bench_json(const struct bench_results *all, const struct suite *s, const char *machine);

#endif
