/* Any bytes as a plan of any form, which the bytes tell, Substrait's JSON and its binary form among them: never a crash; a failure
 * says where; what is read as Substrait is written in both forms, which make the same plan as it does. */
#include "frontend/plan_any.h"
#include "fuzz_frontend.h"

static void check(int rc, const struct hd_err *err)
{
    if (rc != 0)
        FUZZ_CHECK(err->class == HD_ERR_USER || err->class == HD_ERR_UNSUPPORTED);
    fuzz_check_error(rc, err, err->class);
}

/* NULL: it is not to be had. */
static char *convert(struct hd_arena *a, const void *bytes, size_t size, enum fe_plan_form to, size_t *n)
{
    struct hd_strbuf out;
    struct hd_err err;
    hd_strbuf_init(&out);
    hd_err_init(&err);
    int rc = fe_plan_convert(a, bytes, size, to, &out, &err);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_plan *p = NULL;
    size_t n;
    hd_arena_init(&a);
    hd_err_init(&err);
    const void *bytes = hd_dup(&a, data, size);
    check(fe_plan_read_any(&a, bytes, size, fuzz_catalog(), &p, &err), &err);
    char *plan = convert(&a, bytes, size, FE_FORM_JSON, &n);
    if (plan) {
        check_form(&a, bytes, size, FE_FORM_SUBSTRAIT, plan);
        check_form(&a, bytes, size, FE_FORM_SUBSTRAIT_JSON, plan);
    }
    free(plan);
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
