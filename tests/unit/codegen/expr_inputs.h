/* Rows of interesting values and NULLs that expressions are tried on, and the pipeline that loads them. */
#ifndef HEDDLE_TESTS_UNIT_CODEGEN_EXPR_INPUTS_H
#define HEDDLE_TESTS_UNIT_CODEGEN_EXPR_INPUTS_H

#include "tests/unit/codegen/codegen_fixture.h"

enum { N = 1500 };

/* One row: values, and validity of those whose slots are nullable. */
struct input {
    int64_t a, b;
    hd_i128 h, g;
    double e, f;
    const char *s, *t;
    int32_t c, d;
    bool p, q, bv, dv, gv, fv, tv, pv, qv;
};
extern struct input in[N];

enum { A, B, C, D, E, F, G, H, S, T, P, Q, NCOLS };
/* Makes the rows. */
void fill(void);
/* A pipeline that loads column k into slot 1 + k. */
struct fx *start(void);
int col(struct fx *x, int k);
#define COL(k)      col(x, k)
#define I(v)        fx_int(x, RT_I64, v)
#define OP(op, ...) fx_op(x, FE_##op, __VA_ARGS__)

/* Nodes with what operators alone do not say. */
int scaled(struct fx *x, int e, int scale);
int typed(struct fx *x, int e, enum hd_type_kind from, enum hd_type_kind to);

#endif
