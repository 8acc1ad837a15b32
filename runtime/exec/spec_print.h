/* The kernel spec as text, for `explain --dump spec`. */
#ifndef HEDDLE_RUNTIME_EXEC_SPEC_PRINT_H
#define HEDDLE_RUNTIME_EXEC_SPEC_PRINT_H

#include "runtime/base/strbuf.h"
#include "runtime/spec.h"

void rt_spec_print(struct hd_strbuf *out, const struct rt_spec *s);

#endif
