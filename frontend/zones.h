/* Zones of columns (struct fe_zone): values as ordinals, numbers of 64 bits without sign that are ordered as the values are.
 * Equal values have one ordinal, others have different ones, but for INT of 16 bytes: what is beyond 64 bits is put to the
 * nearest end. */
#ifndef HEDDLE_FRONTEND_ZONES_H
#define HEDDLE_FRONTEND_ZONES_H

#include <math.h>

#include "frontend/catalog.h"

/* Added to stored whole numbers. */
#define FE_ORDINAL_BIAS ((uint64_t)1 << 63)

/* All but text, and intervals, whose order is not that of their bits. */
static inline bool fe_column_has_zones(const struct fe_table_column *c)
{
    return c->storage != FE_STORE_TEXT && c->type.kind != HD_INTERVAL;
}

/* F64, F32: -infinity < ... < -0 = 0 < ... < infinity < NaN, which is UINT64_MAX. Positive numbers get the top bit, negative
 * ones are inverted. */
static inline uint64_t fe_real_ordinal(double x)
{
    uint64_t u;
    if (isnan(x))
        return UINT64_MAX;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&u, &x, sizeof u);
    return u & FE_ORDINAL_BIAS ? ~u : u | FE_ORDINAL_BIAS;
}

/* INT: of a stored number. */
static inline uint64_t fe_stored_ordinal(hd_i128 stored)
{
    if (stored < INT64_MIN)
        return 0;
    return stored > INT64_MAX ? UINT64_MAX : (uint64_t)(int64_t)stored + FE_ORDINAL_BIAS;
}

static inline bool fe_zone_has_values(const struct fe_zone *z)
{
    return z->min <= z->max;
}

#endif
