/* Intervals on the host: templates/interval_value.cuh has the layout of a value, interval_form.cuh its text. */
#ifndef HEDDLE_BASE_INTERVAL_H
#define HEDDLE_BASE_INTERVAL_H

#include <stddef.h>

#include "runtime/base/util.h"

/* Each part has a sign of its own. */
struct hd_interval {
    int64_t months, days, micros;
};

/* Longest text of an interval, NUL included; digits of a length. */
enum { HD_INTERVAL_TEXT_MAX = 81, HD_INTERVAL_LENGTH_DIGITS = 21 };

/* False if a part is too large. */
bool hd_interval_pack(struct hd_interval v, hd_i128 *out);
struct hd_interval hd_interval_unpack(hd_i128 v);
/* The microseconds that it is compared by, with months of 30 days and days of 24 hours. */
hd_i128 hd_interval_length(hd_i128 v);
bool hd_interval_plus(hd_i128 a, hd_i128 b, hd_i128 *out);
bool hd_interval_minus(hd_i128 a, hd_i128 b, hd_i128 *out);
bool hd_interval_times(hd_i128 a, int64_t n, hd_i128 *out);
/* The smallest and largest value. */
void hd_interval_domain(hd_i128 *lo, hd_i128 *hi);

/* 1 year 2 months 3 days 04:05:06.789, parts in any order. */
bool hd_interval_parse(const char *s, size_t n, hd_i128 *out);
const char *hd_interval_text(hd_i128 v, char buf[HD_INTERVAL_TEXT_MAX]);

#endif
