/* Suites of queries as data: a directory with suite.json, plans, parameters and answers
 * (tpch/suite.json explains the format in its own comment). */
#ifndef HEDDLE_TOOLS_SUITE_H
#define HEDDLE_TOOLS_SUITE_H

#include <cjson/cJSON.h>

#include "tools/json_slice.h"

struct suite_query {
    const char *name, *title, *plan; /* plan: path relative to the suite */
    const cJSON *order;              /* names of the result columns that the query orders by */
    int64_t limit;                   /* -1: none */
    const char *not_comparable; /* why its time in this class is no match for a published one; or NULL */
};
struct suite {
    char *dir, *path; /* path: of its suite.json */
    cJSON *json;      /* owns the texts below */
    const char *name, *title;
    int n, n_classes;
    struct suite_query *queries;
    const char **query_names, **class_names;
    const char *class;         /* of parameters; NULL: none */
    char *params_text;         /* the class's parameter file */
    struct json_slice *params; /* of every query, in that text; NULL: no file */
    int64_t unit_rows; /* rows of the table `unit` at scale factor 1; 0: no scale factor */
    const char *unit;
    int64_t rows; /* rows it has in the database */
};

/* name: a directory, or a suite installed beside the binary or in the source tree around it.
 * class may be NULL. */
int suite_open(const char *name, const char *class, struct suite *s, struct cli_error *err);
void suite_release(struct suite *s);
/* Reads the files of a suite whose dir is set (suite_read.c). */
int suite_read(struct suite *s, const char *class, struct cli_error *err);
/* Learns the scale factor from the database. */
int suite_measure(struct suite *s, heddle_database *db, struct cli_error *err);
/* 0 if it is unknown. */
double suite_scale(const struct suite *s);
/* Whether each query is in a list such as 1,5-9,q13; picked has room for s->n. */
int suite_pick(const struct suite *s, const char *list, bool *picked, struct cli_error *err);
/* The query's plan text on the heap. */
int suite_plan(const struct suite *s, const struct suite_query *q, char **text, struct cli_error *err);
/* JSON object of the query's parameters on the heap; NULL: none. */
int suite_params(const struct suite *s, const struct suite_query *q, char **json, struct cli_error *err);
/* Path of the stored answer on the heap; NULL: none for this class and scale factor. */
char *suite_answer(const struct suite *s, const struct suite_query *q);
/* Why there are none, on the heap; NULL if there are. */
char *suite_why_no_answers(const struct suite *s);

#endif
