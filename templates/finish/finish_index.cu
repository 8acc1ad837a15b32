// CSR: rows grouped by an index. The first pass counts and remembers how many came before,
// so that no atomic is needed to place the rows.
#include "hd/finish_grid.cuh"

HDD_DEVICE u64 hdd_row_looked_at(const hdd_csr_args &p, u64 i)
{
    return p.order ? hdd_at<const u32>(p.order)[i] : i;
}

HDD_DEVICE u64 hdd_row_index(const hdd_csr_args &p, u64 row)
{
    const u64 index = *hdd_at<const u64>(p.rows + row * p.stride + p.field);
    HDD_ASSERT(index < p.range);
    return index;
}

HDD_KERNEL(hdd_csr_count)(HDD_PARAMETER(hdd_csr_args, p))
{
    HDD_SHARED(hdd_frequent_counters, frequent);
    hdd_rank_items(frequent, p.blocks, p.n, hdd_at<u32>(p.counts), hdd_at<u32>(p.ranks),
                   [&](u64 i) { return (u32)hdd_row_index(p, hdd_row_looked_at(p, i)); });
}

HDD_KERNEL(hdd_csr_place)(HDD_PARAMETER(hdd_csr_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks)) {
        const u64 row = hdd_row_looked_at(p, i), index = hdd_row_index(p, row);
        const u64 place = hdd_at<const u64>(p.offsets)[index] + hdd_at<const u32>(p.ranks)[i];
        hdd_copy_words(hdd_at<u64>(p.to + place * p.stride), hdd_at<const u64>(p.rows + row * p.stride), p.stride / 8);
    }
}

// Numbers of the indexes, for a sort that brings rows of near indexes together first.
HDD_KERNEL(hdd_csr_keys)(HDD_PARAMETER(hdd_csr_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.n; i += hdd_grid_step(p.blocks))
        hdd_at<u64>(p.to)[i] = hdd_row_index(p, i);
}
