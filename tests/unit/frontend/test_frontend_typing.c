/* Runs typing.test: groups of three lines: an expression; its type, with "?" if nullable;
 * the typed tree, printed. Where the expression is refused: "error" and the message. The
 * printed tree, read again, must print the same. HEDDLE_UPDATE rewrites the file. */
#include <stdlib.h>
#include <string.h>

#include "frontend_support.h"

/* Inputs: `every`, all nullable (b i k d w f day at s), and `solid`, none (nb ... ns). */
static const char plan_head[] =
    "{\"heddle\":1,\"params\":{"
    "\"n\":{\"type\":\"int64\"},\"m\":{\"type\":\"int32\"},\"p\":{\"type\":\"decimal(12,2)\"},"
    "\"t\":{\"type\":\"date\"},\"q\":{\"type\":\"string\"},"
    "\"o\":{\"type\":\"int64\",\"nullable\":true},"
    "\"words\":{\"type\":\"list(string)\"},\"sizes\":{\"type\":\"list(int32)\"},"
    "\"longs\":{\"type\":\"list(int64)\"},\"prices\":{\"type\":\"list(decimal(5,2))\"}},"
    "\"root\":{\"op\":\"project\",\"input\":{\"op\":\"join\",\"kind\":\"inner\","
    "\"left\":{\"op\":\"scan\",\"table\":\"every\"},"
    "\"right\":{\"op\":\"scan\",\"table\":\"solid\"}},\"exprs\":[{\"as\":\"x\",\"expr\":";

static int read_expr(struct fixture *f, const char *expr, struct fe_plan **out)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, plan_head);
    if (*expr == '{')
        hd_strbuf_adds(&b, expr);
    else
        hd_strbuf_add_json(&b, expr, strlen(expr));
    hd_strbuf_adds(&b, "}]}}");
    hd_err_release(&f->err);
    int rc = fe_plan_read(&f->arena, b.s, &f->cat, out, &f->err);
    hd_strbuf_release(&b);
    return rc;
}

static const struct fe_expr *expr_of(const struct fe_plan *p)
{
    return p->root->u.project.exprs[0];
}

static char *print_expr(const struct fe_plan *p)
{
    const struct fe_node *in = p->root->inputs[0];
    const char **names = HD_NEWN(p->arena, const char *, in->ncols);
    for (int i = 0; i < in->ncols; i++)
        names[i] = in->cols[i].name;
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    fe_expr_print(&b, expr_of(p), names);
    return b.s;
}

static void run_one(struct fixture *f, const char *expr, struct hd_strbuf *out)
{
    struct fe_plan *p, *again;
    char type[HD_TEXT_MAX];
    hd_strbuf_addf(out, "%s\n", expr);
    if (read_expr(f, expr, &p) != 0) {
        hd_strbuf_addf(out, "error\n%s\n", f->err.message);
        return;
    }
    char *text = print_expr(p);
    hd_strbuf_addf(out, "%s%s\n%s\n", hd_type_text(expr_of(p)->type, type), expr_of(p)->nullable ? "?" : "", text);
    if (read_expr(f, text, &again) != 0)
        fail_msg("%s printed as %s: %s", expr, text, f->err.message);
    char *second = print_expr(again);
    assert_string_equal(text, second);
    if (hd_type_eq(expr_of(p)->type, expr_of(again)->type))
        assert_true(expr_of(p)->nullable == expr_of(again)->nullable);
    free(text);
    free(second);
}

static bool is_group_line(const char *line)
{
    return *line && *line != '#';
}

static void expressions_are_typed(void **state)
{
    char *file = read_source_file("tests/unit/frontend/typing.test");
    struct hd_strbuf out;
    hd_strbuf_init(&out);
    int n = 0, groups = 0;
    for (char *line = file, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        *end = 0;
        if (!is_group_line(line))
            hd_strbuf_addf(&out, "%s\n", line);
        else if (n++ % 3 == 0 && ++groups)
            run_one(*state, line, &out);
    }
    print_message("%d expressions\n", groups);
    check_golden("tests/unit/frontend/typing.test", out.s);
    hd_strbuf_release(&out);
    free(file);
}

static void equality_ignores_paths(void **state)
{
    struct fe_plan *a, *b, *c, *d;
    assert_int_equal(read_expr(*state, "i + 1 < k and s like 'a%'", &a), 0);
    assert_int_equal(read_expr(*state,
                               "{\"op\":\"and\",\"args\":[{\"op\":\"<\",\"args\":[\"i+1\","
                               "{\"col\":\"k\"}]},\"s like 'a%'\"]}",
                               &b),
                     0);
    assert_int_equal(read_expr(*state, "i + 1 < k and s like 'a_'", &c), 0);
    assert_int_equal(read_expr(*state, "i + 1 < k and s like 'a%' escape '!'", &d), 0);
    assert_true(fe_expr_eq(expr_of(a), expr_of(b)));
    assert_false(fe_expr_eq(expr_of(a), expr_of(c)));
    assert_false(fe_expr_eq(expr_of(a), expr_of(d)));
    assert_string_equal(expr_of(b)->args[0]->path, "$.root.exprs[0].expr.args[0]");
}

static void names_may_be_missing(void **state)
{
    struct fe_plan *p;
    struct hd_strbuf b;
    assert_int_equal(read_expr(*state, "i + ni", &p), 0);
    hd_strbuf_init(&b);
    fe_expr_print(&b, expr_of(p), NULL);
    assert_string_equal(b.s, "cast($1 as int64) + cast($10 as int64)");
    hd_strbuf_release(&b);
}

/* A text of n bytes: `unit` again and again between head and tail. */
static char *repeat(const char *head, const char *unit, int n, const char *tail)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, head);
    for (int i = 0; i < n; i++)
        hd_strbuf_adds(&b, unit);
    hd_strbuf_adds(&b, tail);
    return b.s;
}

static void size_and_depth_are_limited(void **state)
{
    static const struct {
        const char *head, *unit, *tail;
        int n;
        const char *message; /* NULL: accepted */
    } cases[] = {
        {"", "(", "1", 5000, "character 257: the expression is nested too deeply"},
        {"", "- ", "k", 5000, "character 513: the expression is nested too deeply"},
        {"", "not ", "b", 5000, "character 1025: the expression is nested too deeply"},
        {"1", "+1", "", 5000, "character 512: the expression is nested deeper than 256 levels"},
        {"1", "+1", "", 200, NULL},
        {"b", " and b", "", 20000, NULL},
        {"k in (1", ",1", ")", 20000, NULL},
        /* Each level doubles the text of the one below. */
        {"b", " between b and b) between b and (b", "", 1,
         "character 18: expected an operator or the end of the expression, found \")\""},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fe_plan *p;
        char *text = repeat(cases[i].head, cases[i].unit, cases[i].n, cases[i].tail);
        int rc = read_expr(f, text, &p);
        assert_int_equal(rc, cases[i].message ? -1 : 0);
        if (cases[i].message)
            assert_string_equal(f->err.message, cases[i].message);
        free(text);
    }
}

static void doubling_is_limited(void **state)
{
    struct fixture *f = *state;
    struct fe_plan *p;
    char *open = repeat("", "(", 40, "b");
    char *text = repeat(open, " between b and b)", 40, "");
    assert_int_equal(read_expr(f, text, &p), -1);
    assert_non_null(strstr(f->err.message, "the expression has more than 200000 parts"));
    free(open);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_typed), cmocka_unit_test(equality_ignores_paths),
        cmocka_unit_test(names_may_be_missing),  cmocka_unit_test(size_and_depth_are_limited),
        cmocka_unit_test(doubling_is_limited),
    };
    return cmocka_run_group_tests_name("frontend_typing", tests, fixture_setup, fixture_teardown);
}
