// Packed keys (finish_pack.cuh) of any type.
#include "hd/finish_pack.cuh"

HDD_KERNEL(hdd_sort_extract)(HDD_PARAMETER(hdd_extract_args, p))
{
    hdd_extract<true>(p);
}
