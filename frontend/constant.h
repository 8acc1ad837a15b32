/* Constants of a plan, literals or parameters, that not every value of their type fits (docs/plan.md 3). */
#ifndef HEDDLE_FRONTEND_CONSTANT_H
#define HEDDLE_FRONTEND_CONSTANT_H

#include "frontend/plan.h"

/* What stands behind a % in formats. */
#define FE_STRFTIME_LETTERS "YmdHMSfjybBaApIeuw%"
#define FE_STRPTIME_LETTERS "YmdHMSfybBpIejaAuw%"

enum fe_constant {
#define T_CONSTANT(id, ...) FE_CONSTANT_##id,
#include "frontend/constants.def"
    FE_CONSTANTS
};
bool fe_constant_fits(enum fe_constant place, const struct fe_value *v);
/* What was expected where the parameter stands and the value cannot; NULL: it fits everywhere. */
const char *fe_constant_misfit(const struct fe_param *p, const struct fe_value *v);
/* It stands there, too; its default has to fit. */
int fe_param_stands(struct fe_param *p, enum fe_constant place, struct hd_err *err);

#endif
