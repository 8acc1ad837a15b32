/* Intervals: templates/interval_value.cuh with failures. */
#include "runtime/cpu/helpers.h"
#include "templates/interval_value.cuh"

static int32_t put(struct hdd_thread *t, bool fits, hd_i128 v, int32_t path, void *out)
{
    if (!fits)
        return hdr_fail(t, RT_FAIL_OVERFLOW, path);
    memcpy(out, &v, sizeof v);
    return 0;
}

int32_t hdr_make_interval(struct hdd_thread *t, int64_t months, int64_t days, int64_t micros, int32_t path, void *out)
{
    hd_i128 v = 0;
    bool fits = hdd_interval_pack((hdd_interval){months, days, micros}, &v);
    return put(t, fits, v, path, out);
}

int32_t hdr_interval_plus(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int32_t path,
                          void *out)
{
    hd_i128 v = 0;
    bool fits = hdd_interval_sum(hdr_i128(alo, ahi), hdr_i128(blo, bhi), 1, &v);
    return put(t, fits, v, path, out);
}

int32_t hdr_interval_minus(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi, int32_t path,
                           void *out)
{
    hd_i128 v = 0;
    bool fits = hdd_interval_sum(hdr_i128(alo, ahi), hdr_i128(blo, bhi), -1, &v);
    return put(t, fits, v, path, out);
}

int32_t hdr_interval_times(struct hdd_thread *t, int64_t alo, int64_t ahi, int64_t n, int32_t path, void *out)
{
    hd_i128 v = 0;
    bool fits = hdd_interval_product(hdr_i128(alo, ahi), n, &v);
    return put(t, fits, v, path, out);
}
