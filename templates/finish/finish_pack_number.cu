// Packed keys (finish_pack.cuh) that are all numbers of up to 64 bits.
#include "hd/finish_pack.cuh"

HDD_KERNEL(hdd_sort_extract)(HDD_PARAMETER(hdd_extract_args, p))
{
    hdd_extract<false>(p);
}
