/* Constants: text to value and back, and casts, exactly as docs/plan.md 2.2 defines them for
 * rows. The planner may use these to evaluate constant expressions. */
#ifndef HEDDLE_FRONTEND_VALUE_H
#define HEDDLE_FRONTEND_VALUE_H

#include "frontend/expr.h"
#include "runtime/base/strbuf.h"

struct fe_json;

/* Text as in a literal of the type; strings are borrowed. False if it is not one. */
bool fe_value_parse(struct hd_arena *a, struct hd_type t, const char *s, size_t n, struct fe_value *out);
/* What fe_value_parse accepts, for messages: "a date (YYYY-MM-DD)". */
const char *fe_value_form(struct hd_type t, char buf[HD_TEXT_MAX * 2]);
enum { FE_MISFIT_MAX = 64 };
/* Why a plain number is no value of a decimal type: which digits are too many, in parentheses.
 * "" if that is not why. */
const char *fe_value_misfit(struct hd_type t, const char *s, char buf[FE_MISFIT_MAX]);
/* JSON null, true and false, strings, and numbers where the type is int32, int64, float32, float64. */
int fe_value_read(const struct fe_json *v, struct hd_type t, struct fe_value *out);
/* The name of a type, exactly as hd_type_text writes it. */
int fe_type_read(const struct fe_json *v, struct hd_type *out);
/* The same from text; fe_type_list names all types for messages. */
bool fe_type_parse(const char *s, struct hd_type *out);
extern const char fe_type_list[];
/* Text form without quotes, as in a result row; NULL prints nothing. */
/* Two digits for each byte of a string or binary. */
void fe_value_hex(struct hd_strbuf *b, const struct fe_value *v);
void fe_value_text(struct hd_strbuf *b, const struct fe_value *v);

/* Whether the language has a cast between the types at all. */
bool fe_type_castable(struct hd_type from, struct hd_type to);
/* Whether the cast between two such types fails for some value of the first. */
bool fe_type_cast_may_fail(struct hd_type from, struct hd_type to);
/* Casts a value; false if it does not fit or the text is bad (at run time: an error). */
bool fe_value_cast(struct hd_arena *a, const struct fe_value *v, struct hd_type to, struct fe_value *out);
/* Casts without any loss: the value compares equal to the original. */
bool fe_value_cast_exact(const struct fe_value *v, struct hd_type to, struct fe_value *out);
bool fe_value_eq(const struct fe_value *a, const struct fe_value *b);
/* What the value is compared, grouped and ordered by: of an interval its length, else the value. */
struct fe_value fe_value_key(const struct fe_value *v);
/* Whether a scaled integer is within the range of an int, date, timestamp, bool or decimal. */
bool fe_value_in_range(hd_i128 v, struct hd_type t);

/* Shortest decimal text that reads back as the same number of the type, float32 or float64: 0.1, 1e+22, nan, -inf. */
const char *fe_real_text(struct hd_type t, double d, char buf[HD_TEXT_MAX]);

#endif
