// A few KB to page-locked memory of the host: sooner there than by a copy, whose engine takes 8 us to begin.
#include "hd/finish_grid.cuh"

HDD_KERNEL(hdd_land)(HDD_PARAMETER(hdd_land_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.words; i += hdd_grid_step(p.blocks))
        hdd_at<u64>(p.to)[i] = hdd_at<const u64>(p.from)[i];
}
