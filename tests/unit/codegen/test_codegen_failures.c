/* Every expression operator that can fail, over the same rows as the others, each by itself: it raises where plain C
 * says so, and nowhere else. */
#include "tests/unit/codegen/expr_inputs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/type.h"
enum { PATH = 5 };

/* Runs a failing node over every row by itself. */
static void check_failures(int (*build)(struct fx *x), int (*why)(const struct input *r), const char *name)
{
    struct fx *x = start();
    int rows = fx_state(x, RT_STATE_ROWS, 32), failed = 0;
    int e = build(x);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    fx_field(x, rows, x->exprs[e].phys, 0, 16);
    fx_out(x, 0, e, FE_AGG_ANY);
    fx_compile(x);
    for (int i = 0; i < N; i++) {
        int want = why(&in[i]);
        int rc = fx_run(x, 0, i, i + 1);
        failed += rc;
        if (rc != (want != 0) || (rc && x->thread.failure != want))
            fail_msg("%s, row %d: failure %d, expected %d", name, i, rc ? x->thread.failure : 0, want);
        if (rc)
            assert_int_equal(x->thread.failure_path, PATH);
    }
    if (failed == 0 || failed == N)
        fail_msg("%s: %d of %d rows fail", name, failed, N);
    fx_free(x);
}

static int limited(struct fx *x, int e, int digits)
{
    x->exprs[e].limit_digits = digits;
    return e;
}
#define HIGH(k)          OP(WIDEN, RT_I128, 1, OP(HIGH_WORD, RT_I64, 1, COL(k)))
#define LOW(k)           OP(LOW_WORD, RT_I128, 1, COL(k))
#define CHECKED(op, ...) fx_op_fail(x, FE_##op, __VA_ARGS__)

static int over(bool bad)
{
    return bad ? RT_FAIL_OVERFLOW : 0;
}
static bool not64(hd_i128 v)
{
    return v != (int64_t)v;
}
static bool outside(hd_i128 v, int digits)
{
    return v >= hd_pow10(digits) || v <= -hd_pow10(digits);
}
static int div_fails(int64_t a, int64_t b)
{
    return b == 0 ? RT_FAIL_DIV_ZERO : over(a == INT64_MIN && b == -1);
}

/* clang-format off */
/* X(name, node, failure over r) */
#define FAIL_CASES(X)                                                                         \
    X(add, CHECKED(ADD, RT_I64, PATH, 2, COL(A), COL(B)),                                        \
      over(r->bv && not64((hd_i128)r->a + r->b)))                                                \
    X(sub, CHECKED(SUB, RT_I64, PATH, 2, COL(A), COL(B)),                                        \
      over(r->bv && not64((hd_i128)r->a - r->b)))                                                \
    X(mul, CHECKED(MUL, RT_I64, PATH, 2, COL(A), COL(B)),                                        \
      over(r->bv && not64((hd_i128)r->a * r->b)))                                                \
    X(mul_limit, limited(x, CHECKED(MUL, RT_I64, PATH, 2, COL(A), COL(B)), 12),                  \
      over(r->bv && outside((hd_i128)r->a * r->b, 12)))                                          \
    X(add_limit, limited(x, CHECKED(ADD, RT_I128, PATH, 2, COL(H), COL(G)), 20),                 \
      over(r->gv && outside(r->h + r->g, 20)))                                                   \
    X(mul128, limited(x, CHECKED(MUL, RT_I128, PATH, 2, COL(H), COL(G)), 38),                    \
      over(r->gv && (__builtin_mul_overflow(r->h, r->g, &(hd_i128){0}) ||                        \
                     outside(r->h * r->g, 38))))                                                 \
    X(neg, CHECKED(NEG, RT_I64, PATH, 1, COL(B)), over(r->bv && r->b == INT64_MIN))              \
    X(div, CHECKED(DIV, RT_I64, PATH, 2, COL(A), COL(B)), r->bv ? div_fails(r->a, r->b) : 0)     \
    X(mod, CHECKED(MOD, RT_I64, PATH, 2, COL(A), COL(B)),                                        \
      r->bv && r->b == 0 ? RT_FAIL_DIV_ZERO : 0)                                                 \
    X(div_dec, limited(x, scaled(x, CHECKED(DIV, RT_I128, PATH, 2,                               \
          OP(WIDEN, RT_I128, 1, COL(D)), OP(WIDEN, RT_I128, 1, COL(B))), 2), 38),                \
      r->bv && r->dv && r->b == 0 ? RT_FAIL_DIV_ZERO : 0)                                        \
    X(div_f64, CHECKED(DIV, RT_F64, PATH, 2, COL(F), COL(E)),                                    \
      r->fv && r->e == 0 ? RT_FAIL_DIV_ZERO : 0)                                                 \
    X(narrow, CHECKED(NARROW, RT_I32, PATH, 1, COL(B)),                                          \
      r->bv && r->b != (int32_t)r->b ? RT_FAIL_CAST_RANGE : 0)                                   \
    X(narrow_limit, limited(x, CHECKED(NARROW, RT_I64, PATH, 1, COL(G)), 6),                     \
      r->gv && (not64(r->g) || outside(r->g, 6)) ? RT_FAIL_CAST_RANGE : 0)                       \
    X(rescale, scaled(x, CHECKED(RESCALE, RT_I64, PATH, 1, COL(B)), 4),                          \
      over(r->bv && not64((hd_i128)r->b * 10000)))                                               \
    X(rescale128, limited(x, scaled(x, CHECKED(RESCALE, RT_I128, PATH, 1, COL(G)), 9), 30),      \
      over(r->gv && outside(r->g * 1000000000, 30)))                                             \
    X(of_parts, limited(x, scaled(x, CHECKED(OF_PARTS, RT_I128, PATH, 3, HIGH(G), LOW(G),        \
          I(1)), 0), 20),                                                                        \
      over(r->gv && outside(r->g, 20)))                                                          \
    X(from_f64, scaled(x, CHECKED(FROM_F64, RT_I32, PATH, 1, COL(F)), 0),                        \
      r->fv && !(fabs(r->f) < 1e9) ? RT_FAIL_CAST_RANGE : 0)                                     \
    X(from_string, typed(x, CHECKED(FROM_STRING, RT_I64, PATH, 1, COL(T)), HD_STRING, HD_INT64), \
      r->tv && strcmp(r->t, "12") && strcmp(r->t, "-7") ? RT_FAIL_CAST_STRING : 0)               \
    X(substring, CHECKED(SUBSTRING, RT_STR, PATH, 3, COL(T), I(1),                               \
                         OP(WIDEN, RT_I64, 1, COL(C))),                                          \
      r->tv && r->c < 0 ? RT_FAIL_SUBSTRING : 0)                                                 \
    X(add_days, CHECKED(ADD_DAYS, RT_I32, PATH, 2, COL(C), COL(B)),                              \
      r->bv && r->b > 100000 ? RT_FAIL_DATE_RANGE : 0)                                           \
    X(make_date, CHECKED(MAKE_DATE, RT_I32, PATH, 3, I(1996), OP(WIDEN, RT_I64, 1, COL(C)), I(1)), \
      r->c < 1 || r->c > 12 ? RT_FAIL_DOMAIN : 0)                                                \
    X(make_interval, CHECKED(MAKE_INTERVAL, RT_I128, PATH, 3, COL(A), I(1), I(1)),                \
      over(r->a < -33554431 || r->a > 33554431))                                                 \
    X(guarded_and, OP(AND, RT_BOOL, 2, OP(NE, RT_BOOL, 2, COL(A), I(7)),                         \
          OP(EQ, RT_BOOL, 2, I(1), CHECKED(DIV, RT_I64, PATH, 2, I(1),                           \
             OP(SUB, RT_I64, 2, COL(A), I(7))))), 0 * r->a + never(r))                           \
    X(guarded_case, OP(CASE, RT_I64, 2, COL(P),                                                  \
                       CHECKED(DIV, RT_I64, PATH, 2, I(1), COL(A))),                             \
      r->pv && r->p && r->a == 0 ? RT_FAIL_DIV_ZERO : 0)                                         \
    X(guarded_coalesce, OP(COALESCE, RT_I64, 2, COL(B),                                          \
                           CHECKED(DIV, RT_I64, PATH, 2, I(1), COL(A))),                         \
      !r->bv && r->a == 0 ? RT_FAIL_DIV_ZERO : 0)                                                \
    X(guarded_in, OP(IN, RT_BOOL, 3, COL(A), I(0),                                               \
                     CHECKED(DIV, RT_I64, PATH, 2, I(1), COL(B))),                               \
      r->a != 0 && r->bv && r->b == 0 ? RT_FAIL_DIV_ZERO : 0)

/* clang-format on */

static int never(const struct input *r)
{
    (void)r;
    return 0;
}

#define X(name, node, cond) \
    static int fbuild_##name(struct fx *x) \
    { \
        return node; \
    } \
    static int why_##name(const struct input *r) \
    { \
        return (int)(cond); \
    }
FAIL_CASES(X)
#undef X

static void failures_are_raised_where_reached(void **state)
{
    (void)state;
#define X(name, node, why) \
    if (strcmp(#name, "guarded_and")) \
        check_failures(fbuild_##name, why_##name, #name);
    FAIL_CASES(X)
#undef X
}

static void and_guards_its_later_arguments(void **state)
{
    (void)state;
    struct fx *x = start();
    int rows = fx_state(x, RT_STATE_ROWS, 32);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = rows;
    fx_field(x, rows, RT_BOOL, 0, 16);
    fx_out(x, 0, fbuild_guarded_and(x), FE_AGG_ANY);
    fx_compile(x);
    assert_int_equal(fx_run(x, 0, 0, N), why_guarded_and(&in[0]));
    assert_int_equal(fx_nrows(x, rows), N);
    fx_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_raised_where_reached),
        cmocka_unit_test(and_guards_its_later_arguments),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
