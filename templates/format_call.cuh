// Texts of times by formats, and back (templates/strftime.cuh, strptime.cuh), in expressions: strict in NULL. One thread at a
// time.
#ifndef HDD_FORMAT_CALL_CUH
#define HDD_FORMAT_CALL_CUH

#include "hd/run.cuh"
#include "hd/strptime.cuh"
#include "hd/value.cuh"

struct hdd_strptime_of {
    const hdd_run &run;
    i32 path;

    HDD_MEMBER i64 operator()(hdd_string s, hdd_string format) const
    {
        i64 r = 0;
        if (!hdd_read_time(s.s, s.n, format.s, format.n, &r))
            run.fail_string(HDD_FAIL_CAST_STRING, path, s.s, s.n);
        return r;
    }
};

template <class A, class B> HDD_DEVICE auto hdd_strptime(const hdd_run &run, i32 path, A s, B format)
{
    return hdd_strict(hdd_strptime_of{run, path}, s, format);
}

#endif
