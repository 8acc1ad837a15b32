/* Values of Arrow arrays as the text of a literal, which is how parameters are bound. */
#ifndef HEDDLE_ADBC_VALUE_H
#define HEDDLE_ADBC_VALUE_H

#include "api/adbc/adbc_internal.h"

/* Whether the array looks like one of the type, with so many rows. */
bool adbc_values_fit(const struct ArrowSchema *type, const struct ArrowArray *values, int64_t rows);
/* Writes the value of a row, counted from the array's offset; *there: it is not NULL. INVALID_ARGUMENT for types that no
 * parameter has. */
AdbcStatusCode adbc_value_text(const struct ArrowSchema *type, const struct ArrowArray *values, int64_t row,
                               struct adbc_bytes *out, bool *there, struct AdbcError *e);

#endif
