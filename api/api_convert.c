/* Plans from one form to another. */
#include <string.h>

#include "api/api_internal.h"
#include "frontend/plan_any.h"

static int convert(const void *plan, size_t size, const struct fe_catalog *cat, enum fe_plan_form to,
                   struct hd_strbuf *text, struct hd_err *err)
{
    struct hd_arena arena;
    int rc;
    hd_arena_init(&arena);
    HD_GUARDED(rc, NULL, err, fe_plan_convert(&arena, plan, size, cat, to, text, err));
    hd_arena_release(&arena);
    return rc;
}

/* -1: there is none. */
static int find_form(const char *name)
{
    static const char *const names[] = {
        [FE_FORM_JSON] = "json", [FE_FORM_SUBSTRAIT] = "substrait", [FE_FORM_SUBSTRAIT_JSON] = "substrait-json"};
    for (size_t i = 0; i < HD_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

static int convert_to(const void *plan, size_t size, const struct fe_catalog *cat, const char *to, char **out,
                      size_t *out_size, heddle_error **err)
{
    struct hd_err e;
    struct hd_strbuf text;
    hd_err_init(&e);
    hd_strbuf_init(&text);
    int form = find_form(to);
    int rc = form < 0 ? HD_FAIL(&e, USER, NULL, "to: expected json, substrait or substrait-json, found \"%.60s\"", to)
                      : convert(plan, size, cat, (enum fe_plan_form)form, &text, &e);
    if (rc == 0) {
        *out_size = text.n;
        *out = hd_strbuf_detach(&text);
    }
    hd_strbuf_release(&text);
    return api_finish(rc, &e, err);
}

int heddle_convert(const void *plan, size_t size, const char *to, char **out, size_t *out_size, heddle_error **err)
{
    API_NEED(plan, err);
    API_NEED(to, err);
    API_NEED(out, err);
    API_NEED(out_size, err);
    return convert_to(plan, size, NULL, to, out, out_size, err);
}

int heddle_database_convert(heddle_database *db, const void *plan, size_t size, const char *to, char **out,
                            size_t *out_size, heddle_error **err)
{
    API_NEED(db, err);
    API_NEED(plan, err);
    API_NEED(to, err);
    API_NEED(out, err);
    API_NEED(out_size, err);
    struct api_snapshot *tables = api_database_snapshot(db);
    int rc = convert_to(plan, size, &tables->cat, to, out, out_size, err);
    api_snapshot_release(tables);
    return rc;
}
