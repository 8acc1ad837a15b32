/* Plans in any form: Heddle's own in JSON, Substrait's in JSON and in binary. Which it is the bytes say. */
#ifndef HEDDLE_FRONTEND_PLAN_ANY_H
#define HEDDLE_FRONTEND_PLAN_ANY_H

#include "frontend/plan.h"
#include "runtime/base/strbuf.h"

int fe_plan_read_any(struct hd_arena *a, const void *bytes, size_t size, const struct fe_catalog *cat,
                     struct fe_plan **out, struct hd_err *err);
struct cJSON;

/* What a plan may be printed as. */
enum fe_plan_form { FE_FORM_JSON, FE_FORM_SUBSTRAIT, FE_FORM_SUBSTRAIT_JSON };
/* In that form: as Heddle's JSON it is what fe_plan_read_any reads, as far as one can tell without a catalog; one of
 * Substrait becomes the other form of it. One of Heddle's becomes one of Substrait with the catalog, which otherwise may be
 * NULL; what that has no form for is an error of class UNSUPPORTED with its place. */
int fe_plan_convert(struct hd_arena *a, const void *bytes, size_t size, const struct fe_catalog *cat,
                    enum fe_plan_form to, struct hd_strbuf *out, struct hd_err *err);
/* The tree of Heddle's JSON that it is, in the arena. */
int fe_plan_tree(struct hd_arena *a, const void *bytes, size_t size, const struct cJSON **out, struct hd_err *err);

#endif
