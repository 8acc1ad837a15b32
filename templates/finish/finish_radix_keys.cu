// Passes of a radix sort over keys alone (finish_radix.cu).
#define HDD_CHOSEN_WARPS 8
#include "hd/finish_move.cuh"

HDD_KERNEL_FOR(HDD_RADIX_BLOCKS, hdd_radix_move_keys)(HDD_PARAMETER(hdd_radix_args, p))
{
    using form = hdd_plain_keys<false>;
    HDD_SHARED(hdd_radix_shared<form>, s);
    hdd_radix_move_tiles(s, p, form{});
}
