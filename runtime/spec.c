#include "runtime/spec.h"

#include <string.h>

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

static const char *const balance_names[] = {
#define X(id, name) name,
    RT_BALANCES(X)
#undef X
};

const char *rt_balance_name(enum rt_balance b)
{
    return balance_names[b];
}

int rt_balance_find(const char *name)
{
    for (int i = 0; i < RT_BALANCE_COUNT; i++)
        if (strcmp(balance_names[i], name) == 0)
            return i;
    return -1;
}

const char *rt_shape_name(enum rt_shape s)
{
    static const char *const names[] = {
#define X(id, name) name,
        RT_SHAPES(X)
#undef X
    };
    return names[s];
}
