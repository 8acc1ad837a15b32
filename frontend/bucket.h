/* Buckets of equal width: what typing and lowering of width_bucket share. */
#ifndef HEDDLE_FRONTEND_BUCKET_H
#define HEDDLE_FRONTEND_BUCKET_H

#include "frontend/expr.h"

/* Buckets 0 and n + 1 are int32 as well. */
enum { FE_BUCKETS_MAX = INT32_MAX - 2 };

/* The type that bounds of values of type x are brought to: it holds whatever compares with them. */
struct hd_type fe_bucket_type(struct hd_type x);
/* n / (hi - lo), in the type of the bounds, a float. */
double fe_bucket_factor(const struct fe_value *lo, const struct fe_value *hi, const struct fe_value *n);
/* Why n buckets between bounds of one type are none; NULL: they are. */
const char *fe_bucket_misfit(const struct fe_value *lo, const struct fe_value *hi, const struct fe_value *n);

#endif
