/* Substitution parameters of the 22 queries of TPC-H and JCC-H: fixed ones, and those that the
 * generator of queries draws for a seed.
 *
 * Normal parameters avoid the skew of JCC-H, skewed ones meet it; on plain data both are just
 * parameters. A query draws from a stream of its own, so its values depend on class and seed
 * alone (and one value of query 11 on the scale factor), not on what else is drawn. */
#ifndef TPCH_QPARAMS_H
#define TPCH_QPARAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum qp_class { QP_VALIDATION, QP_NORMAL, QP_SKEWED, QP_CLASS_COUNT };
enum { QP_QUERIES = 22, QP_MAX_VALUES = 10, QP_VALUE_BYTES = 32 };

/* Values in the order in which the query's SQL numbers them. */
struct qp_values {
    int count;
    char at[QP_MAX_VALUES][QP_VALUE_BYTES];
    const char *degenerate; /* why this draw makes no good query; NULL for all others */
};

const char *qp_class_name(enum qp_class c);
/* False if no class is called so. */
bool qp_class_find(const char *name, enum qp_class *out);
/* Seeds count modulo 2^31-1; multiples of that have no draws. */
bool qp_seed_valid(int64_t seed);

/* query: 1..22. The seed must be valid, sf above zero; the validation class ignores the seed. */
void qp_draw(enum qp_class c, int64_t seed, double sf, int query, struct qp_values *out);

/* The parameters of a query's plan as a JSON object on one line. */
void qp_write_query(FILE *f, int query, const struct qp_values *v);
/* A parameter file of a suite: those of all queries, {"q01": {...}, ...}. all: one for each. */
void qp_write_file(FILE *f, const struct qp_values all[QP_QUERIES]);

#endif
