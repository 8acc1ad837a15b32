/* Any bytes as a plan: never a crash; a failure has a path; a plan that is read prints the
 * same twice, and its parameters take or refuse any text. */
#include "fuzz_frontend.h"

static void bind_all(struct fe_plan *p, const char *text)
{
    for (int i = 0; i < p->nparams; i++) {
        struct hd_err err;
        hd_err_init(&err);
        fuzz_check_error(fe_plan_bind(p, p->params[i].name, text, &err), &err, HD_ERR_USER);
        hd_err_release(&err);
    }
}

static char *print(const struct fe_plan *p)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    fe_plan_print(&b, p);
    return b.s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_plan *p = NULL;
    hd_arena_init(&a);
    hd_err_init(&err);
    const char *text = hd_strndup(&a, (const char *)data, size);
    int rc = fe_plan_read(&a, text, fuzz_catalog(), &p, &err);
    fuzz_check_error(rc, &err, HD_ERR_USER);
    if (rc == 0) {
        char *first = print(p), *second = print(p);
        FUZZ_CHECK(strcmp(first, second) == 0);
        bind_all(p, "12");
        bind_all(p, "[\"1994-01-01\",null]");
        bind_all(p, NULL);
        free(second);
        free(print(p));
        free(first);
    }
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
