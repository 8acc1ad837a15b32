/* Plans in any form: Heddle's own in JSON, Substrait's in JSON and in binary. Which it is the bytes say. */
#ifndef HEDDLE_FRONTEND_PLAN_ANY_H
#define HEDDLE_FRONTEND_PLAN_ANY_H

#include "frontend/plan.h"
#include "runtime/base/strbuf.h"

int fe_plan_read_any(struct hd_arena *a, const void *bytes, size_t size, const struct fe_catalog *cat,
                     struct fe_plan **out, struct hd_err *err);
/* The plan that fe_plan_read_any reads, as text; read as far as one can without a catalog. */
int fe_plan_convert(struct hd_arena *a, const void *bytes, size_t size, struct hd_strbuf *out, struct hd_err *err);

#endif
