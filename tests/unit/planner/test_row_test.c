/* Conditions on rows of tables as they are stored: every kind of storage, NULLs, and patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "planner/row_test.h"
#include "planner/typed.h"

static struct hd_arena arena;

static int set_up(void **state)
{
    (void)state;
    hd_arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hd_arena_release(&arena);
    return 0;
}

/* ---- a table of four rows ------------------------------------------------------------------------------------------------ */

enum { NUMBER, KIND, TEXT, REAL, COLUMNS };
static const int16_t numbers[] = {0, 1, 2, 3}; /* 100, 110, 120, NULL */
static const uint8_t there[] = {0x07}, kinds[] = {1, 0, 1, 0};
static const uint32_t kind_ends[] = {0, 3, 7}, text_ends[] = {6, 6, 12, 13};
static const uint64_t text_base[] = {0};
static const double reals[] = {0.5, -1, 0, 2};

static const struct fe_table *table(void)
{
    static struct fe_table_column c[COLUMNS];
    static struct fe_table t = {.name = "t", .rows = 4, .ncols = COLUMNS, .cols = c};
    c[NUMBER] = (struct fe_table_column){.type = hd_type_of(HD_INT32),
                                         .storage = FE_STORE_INT,
                                         .width = 2,
                                         .base = 100,
                                         .factor = 10,
                                         .nullable = true,
                                         .at = {.data = numbers, .validity = there}};
    c[KIND] = (struct fe_table_column){.type = hd_type_of(HD_STRING),
                                       .storage = FE_STORE_DICT,
                                       .width = 1,
                                       .dict = {2, kind_ends, "redblue"},
                                       .at = {.data = kinds}};
    c[TEXT] =
        (struct fe_table_column){.type = hd_type_of(HD_STRING),
                                 .storage = FE_STORE_TEXT,
                                 .at = {.data = text_ends, .text_base = text_base, .text_bytes = "forestabcabcx"}};
    c[REAL] = (struct fe_table_column){
        .type = hd_type_of(HD_FLOAT64), .storage = FE_STORE_F64, .width = 8, .at = {.data = reals}};
    return &t;
}

/* ---- expressions ------------------------------------------------------------------------------------------------------------ */

static struct fe_expr *col(int i)
{
    return pl_col_node(&arena, i, table()->cols[i].type, table()->cols[i].nullable, "$");
}

static struct fe_expr *number(hd_i128 v)
{
    struct fe_expr *e = pl_expr_node(&arena, FE_LIT, hd_type_of(HD_INT32), false, "$", 0, NULL, NULL);
    e->value = (struct fe_value){.type = e->type, .i = v};
    return e;
}

static struct fe_expr *text(const char *s)
{
    struct fe_expr *e = pl_expr_node(&arena, FE_LIT, hd_type_of(HD_STRING), false, "$", 0, NULL, NULL);
    e->value = (struct fe_value){.type = e->type, .s = s, .n = strlen(s)};
    return e;
}

static struct fe_expr *op(enum fe_op o, struct fe_expr *x, struct fe_expr *y)
{
    return pl_expr_node(&arena, o, hd_type_of(HD_BOOL), true, "$", y ? 2 : 1, x, y);
}

/* The rows that pass, the first one in the lowest bit. */
static int rows_of(const struct fe_expr *e)
{
    static const struct fe_plan plan;
    int rows = 0;
    assert_true(pl_row_testable(&plan, e));
    for (int i = 0; i < 4; i++)
        rows |= pl_row_passes(&plan, table(), i, e) << i;
    return rows;
}

/* ---- tests -------------------------------------------------------------------------------------------------------------- */

static void numbers_are_compared(void **state)
{
    (void)state;
    assert_int_equal(rows_of(op(FE_EQ, col(NUMBER), number(110))), 2);
    assert_int_equal(rows_of(op(FE_NE, col(NUMBER), number(110))), 5); /* not NULL */
    assert_int_equal(rows_of(op(FE_LT, number(100), col(NUMBER))), 6);
    assert_int_equal(rows_of(op(FE_GE, col(NUMBER), number(120))), 4);
    struct fe_expr *half = pl_expr_node(&arena, FE_LIT, hd_type_of(HD_FLOAT64), false, "$", 0, NULL, NULL);
    half->value = (struct fe_value){.type = half->type, .f = 0.5};
    assert_int_equal(rows_of(op(FE_LE, col(REAL), half)), 7);
}

static void null_is_neither_true_nor_false(void **state)
{
    (void)state;
    struct fe_expr *small = op(FE_LT, col(NUMBER), number(115)), *red = op(FE_EQ, col(KIND), text("red"));
    assert_int_equal(rows_of(op(FE_NOT, small, NULL)), 4);
    assert_int_equal(rows_of(op(FE_IS_NULL, col(NUMBER), NULL)), 8);
    assert_int_equal(rows_of(op(FE_OR, small, red)), 11); /* NULL or true */
    assert_int_equal(rows_of(op(FE_NOT, op(FE_AND, small, red), NULL)), 5); /* NULL and true is NULL */
    assert_int_equal(rows_of(op(FE_NOT, op(FE_AND, small, op(FE_NOT, red, NULL)), NULL)),
                     14); /* NULL and false is false */
}

static void texts_are_compared(void **state)
{
    (void)state;
    assert_int_equal(rows_of(op(FE_EQ, col(KIND), text("blue"))), 5);
    assert_int_equal(rows_of(op(FE_GT, col(KIND), text("blue"))), 10);
    assert_int_equal(rows_of(op(FE_EQ, col(TEXT), text(""))), 2);
    assert_int_equal(rows_of(op(FE_LT, col(TEXT), text("abcabcd"))), 6); /* a beginning comes first */
    struct fe_expr *in = op(FE_IN, col(TEXT), text("x"));
    in->args = HD_NEWN(&arena, struct fe_expr *, 3);
    in->args[0] = col(TEXT);
    in->args[1] = text("x");
    in->args[2] = text("forest");
    in->nargs = 3;
    assert_int_equal(rows_of(in), 9);
}

static void patterns_match(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        int rows;
    } cases[] = {{"forest", 1}, {"forest%", 1}, {"%est", 1},  {"%", 15},    {"", 2},
                 {"_", 8},      {"%bc", 4},     {"%abc%", 4}, {"%b%b%", 4}, {"%b%b%b%", 0},
                 {"a%c", 4},    {"_bc_bc", 4},  {"%%x%%", 8}, {"abc", 0},   {"%o_e%", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rows_of(op(FE_LIKE, col(TEXT), text(cases[i].pattern))), cases[i].rows);
}

static void other_conditions_are_left_alone(void **state)
{
    (void)state;
    static const struct fe_plan plan;
    struct fe_expr *sum = pl_expr_node(&arena, FE_ADD, hd_type_of(HD_INT32), true, "$", 2, col(NUMBER), number(1));
    assert_false(pl_row_testable(&plan, op(FE_EQ, sum, number(101))));
    assert_false(pl_row_testable(&plan, op(FE_AND, op(FE_EQ, sum, number(101)), op(FE_EQ, col(KIND), text("red")))));
    assert_false(pl_row_testable(&plan, op(FE_LIKE, col(TEXT), col(KIND))));
    assert_false(pl_row_testable(&plan, op(FE_EQ, col(NUMBER), col(REAL))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_are_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_is_neither_true_nor_false, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_are_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patterns_match, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_conditions_are_left_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
