/* Values as text and back, as `--format csv` shows them (docs/plan.md 2.2), in no locale. */
#ifndef HEDDLE_RUNTIME_CPU_TEXT_H
#define HEDDLE_RUNTIME_CPU_TEXT_H

#include "runtime/base/type.h"

/* The shortest of %.1g ... %.17g that reads back as the same number; nan, inf, -inf. */
const char *hdr_f64_text(double v, char buf[HD_TEXT_MAX]);
/* A decimal number with an optional exponent, or nan, inf, infinity in any case. */
bool hdr_parse_f64(const char *s, size_t n, double *out);

#endif
