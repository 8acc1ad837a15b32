#include "runtime/base/interval.h"

#include "templates/interval_form.cuh"

bool hd_interval_pack(struct hd_interval v, hd_i128 *out)
{
    return hdd_interval_pack((hdd_interval){v.months, v.days, v.micros}, out);
}

struct hd_interval hd_interval_unpack(hd_i128 v)
{
    hdd_interval r = hdd_interval_parts(v);
    return (struct hd_interval){r.months, r.days, r.micros};
}

hd_i128 hd_interval_length(hd_i128 v)
{
    return hdd_interval_span(v);
}

bool hd_interval_plus(hd_i128 a, hd_i128 b, hd_i128 *out)
{
    return hdd_interval_sum(a, b, 1, out);
}

bool hd_interval_minus(hd_i128 a, hd_i128 b, hd_i128 *out)
{
    return hdd_interval_sum(a, b, -1, out);
}

bool hd_interval_times(hd_i128 a, int64_t n, hd_i128 *out)
{
    return hdd_interval_product(a, n, out);
}

void hd_interval_domain(hd_i128 *lo, hd_i128 *hi)
{
    hdd_interval_pack((hdd_interval){-HDD_INTERVAL_MONTHS_MAX, INT32_MIN, -HDD_INTERVAL_MICROS_MAX}, lo);
    hdd_interval_pack((hdd_interval){HDD_INTERVAL_MONTHS_MAX, INT32_MAX, HDD_INTERVAL_MICROS_MAX}, hi);
}

bool hd_interval_parse(const char *s, size_t n, hd_i128 *out)
{
    return n <= INT32_MAX && hdd_read_interval((const u8 *)s, (i32)n, out);
}

const char *hd_interval_text(hd_i128 v, char buf[HD_INTERVAL_TEXT_MAX])
{
    buf[hdd_put_interval((u8 *)buf, v)] = 0;
    return buf;
}
