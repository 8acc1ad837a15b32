/* Conditions about other subplans in an expression: x in (subplan), exists (subplan). What reads expressions meets them;
 * who reads the operator around the expression makes joins of them below it and says what stands for them. */
#ifndef HEDDLE_FRONTEND_SUBPLAN_H
#define HEDDLE_FRONTEND_SUBPLAN_H

#include <stdbool.h>

struct fe_json;
struct fe_ast;

/* What NULL is as good as at a place of a condition; `not` exchanges the last two. */
enum fe_null_as { FE_NULL_AS_NULL, FE_NULL_AS_FALSE, FE_NULL_AS_TRUE };

struct fe_subplans {
    /* v is {"op": "in" or "exists", ..., "plan": ...} */
    int (*read)(struct fe_subplans *s, const struct fe_json *v, struct fe_ast **out);
    enum fe_null_as null; /* at the place that is being read */
    bool decides; /* only ands are above the place, and maybe a `not`: rows stay by it alone */
};

#endif
