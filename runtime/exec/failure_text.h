/* What a failure of generated code is called, with the values that it was about. */
#ifndef HEDDLE_RUNTIME_FAILURE_TEXT_H
#define HEDDLE_RUNTIME_FAILURE_TEXT_H

#include "runtime/base/strbuf.h"
#include "runtime/spec.h"

/* Integers of 128 bits, low word first; of a float the bits of the float64; of a text the address and length. */
struct rt_failed {
    bool known;
    uint64_t a[2], b[2];
};

/* site may be NULL. */
void rt_failure_text(struct hd_strbuf *out, enum rt_failure f, const struct rt_site *site, const struct rt_failed *v);

#endif
