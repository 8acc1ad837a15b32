/* Any bytes as a plan of any form, which the bytes tell, Substrait's JSON and its binary form among them: never a crash; a failure
 * says where; what is read as Substrait is written in both forms, which make the same plan as it does; and what is read at all is written
 * as Substrait, if that has a form for it, which can be read over the same tables, in both forms alike. */
#include "frontend/plan_any.h"
#include "fuzz_frontend.h"

static void check(int rc, const struct hd_err *err)
{
    if (rc != 0)
        FUZZ_CHECK(err->class == HD_ERR_USER || err->class == HD_ERR_UNSUPPORTED);
    fuzz_check_error(rc, err, err->class);
}

/* NULL: it is not to be had. */
static char *convert_over(struct hd_arena *a, const void *bytes, size_t size, const struct fe_catalog *cat,
                          enum fe_plan_form to, size_t *n)
{
    struct hd_strbuf out;
    struct hd_err err;
    hd_strbuf_init(&out);
    hd_err_init(&err);
    int rc = fe_plan_convert(a, bytes, size, cat, to, &out, &err);
    check(rc, &err);
    hd_err_release(&err);
    *n = out.n;
    char *text = hd_strbuf_detach(&out);
    hd_strbuf_release(&out);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

static char *convert(struct hd_arena *a, const void *bytes, size_t size, enum fe_plan_form to, size_t *n)
{
    return convert_over(a, bytes, size, NULL, to, n);
}

/* Written in that form it is the same plan. A form may have no words for what is skipped in another: an unknown field. */
static void check_form(struct hd_arena *a, const void *bytes, size_t size, enum fe_plan_form form, const char *plan)
{
    size_t n, m;
    char *other = convert(a, bytes, size, form, &n);
    char *again = other ? convert(a, other, n, FE_FORM_JSON, &m) : NULL;
    if (again)
        FUZZ_CHECK(strcmp(again, plan) == 0);
    free(again);
    free(other);
}

/* A plan of Heddle's that can be read: one of Substrait, which has as many columns of the same names and types. The depth of what is
 * written has limits of its own. */
static void check_produced(struct hd_arena *a, const char *plan, size_t size, const struct fe_plan *p)
{
    size_t n, m;
    struct hd_err err;
    struct fe_plan *again = NULL;
    char *json = convert_over(a, plan, size, fuzz_catalog(), FE_FORM_SUBSTRAIT_JSON, &n);
    char *binary = json ? convert_over(a, plan, size, fuzz_catalog(), FE_FORM_SUBSTRAIT, &m) : NULL;
    hd_err_init(&err);
    if (json)
        FUZZ_CHECK(binary);
    if (binary && fe_plan_read_any(a, binary, m, fuzz_catalog(), &again, &err) == 0) {
        FUZZ_CHECK(again->root->ncols == p->root->ncols);
        for (int i = 0; i < p->root->ncols; i++) {
            FUZZ_CHECK(hd_type_eq(again->root->cols[i].type, p->root->cols[i].type));
            FUZZ_CHECK(strcmp(again->root->cols[i].name, p->root->cols[i].name) == 0);
        }
    } else if (binary) {
        FUZZ_CHECK(strstr(err.message, "nested") || strstr(err.message, "levels") || strstr(err.message, "at most"));
    }
    hd_err_release(&err);
    free(binary);
    free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_plan *p = NULL;
    size_t n;
    hd_arena_init(&a);
    hd_err_init(&err);
    const void *bytes = hd_dup(&a, data, size);
    int rc = fe_plan_read_any(&a, bytes, size, fuzz_catalog(), &p, &err);
    check(rc, &err);
    char *plan = convert(&a, bytes, size, FE_FORM_JSON, &n);
    if (plan) {
        check_form(&a, bytes, size, FE_FORM_SUBSTRAIT, plan);
        check_form(&a, bytes, size, FE_FORM_SUBSTRAIT_JSON, plan);
    }
    if (plan && rc == 0)
        check_produced(&a, plan, n, p);
    free(plan);
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
