/* Compares a result with a stored answer: a CSV file with a header, numbers as exact as it
 * prints them, texts without blanks at their end. */
#ifndef HEDDLE_TOOLS_BENCH_ANSWER_H
#define HEDDLE_TOOLS_BENCH_ANSWER_H

#include "tools/arrow_read.h"
#include "tools/suite.h"

struct bench_answer;
/* The rows of the result are collected by the visitor, with the object as its user. */
int bench_answer_open(const char *path, const struct suite_query *q, struct bench_answer **out, struct cli_error *err);
extern const struct arrow_visitor bench_answer_visitor;
/* NULL if the result equals the answer, else what differs, on the heap. Rows that the query's
 * order leaves equal may come in any order; those cut off by its limit, at the end, may differ. */
char *bench_answer_compare(struct bench_answer *a);
void bench_answer_free(struct bench_answer *a);

#endif
