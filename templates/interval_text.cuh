// Casts of intervals from and to string: templates/interval_form.cuh with NULLs, failures and the heap of strings. One thread
// at a time.
#ifndef HDD_INTERVAL_TEXT_CUH
#define HDD_INTERVAL_TEXT_CUH

#include "hd/convert.cuh"
#include "hd/interval_form.cuh"

struct hdd_interval_string_of {
    const hdd_run &run;

    HDD_MEMBER hdd_string operator()(i128 v) const
    {
        u8 form[HDD_INTERVAL_FORM_MAX];
        return hdd_keep_string(run.launch, form, hdd_put_interval(form, v));
    }
};

template <class A> HDD_DEVICE auto hdd_interval_string(const hdd_run &run, i32 scale, A v)
{
    (void)scale;
    return hdd_strict(hdd_interval_string_of{run}, v);
}

struct hdd_string_interval_of {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER i128 operator()(hdd_string t) const
    {
        i128 v = 0;
        if (hdd_read_interval(t.s, t.n, &v))
            return v;
        run.fail_string(HDD_FAIL_CAST_STRING, path, t.s, t.n);
        return 0;
    }
};

template <class A> HDD_DEVICE auto hdd_string_interval(const hdd_run &run, i32 scale, i32 digits, i32 path, A t)
{
    (void)scale, (void)digits;
    return hdd_strict(hdd_string_interval_of{run, path}, t);
}

HDD_DEVICE hdd_opt<i128> hdd_string_interval_or_null(i32 scale, i32 digits, hdd_string t)
{
    i128 v = 0;
    (void)scale, (void)digits;
    const bool ok = hdd_read_interval(t.s, t.n, &v);
    return hdd_opt<i128>(v, ok);
}

HDD_DEVICE hdd_opt<i128> hdd_string_interval_or_null(i32 scale, i32 digits, hdd_opt<hdd_string> t)
{
    return t.ok ? hdd_string_interval_or_null(scale, digits, t.v) : hdd_null<i128>();
}

#endif
