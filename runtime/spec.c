#include "runtime/spec.h"

int rt_phys_size(enum rt_phys p)
{
    static const unsigned char sizes[] = {1, 4, 8, 16, 8, 16};
    return sizes[p];
}

const char *rt_phys_name(enum rt_phys p)
{
    static const char *const names[] = {"bool", "i32", "i64", "i128", "f64", "str"};
    return names[p];
}

const char *rt_state_kind_name(enum rt_state_kind k)
{
    static const char *const names[] = {"bitmap",     "direct",    "rows",     "csr",  "hash",
                                        "agg scalar", "agg dense", "agg hash", "array"};
    return names[k];
}
