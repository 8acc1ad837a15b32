// Many rows in order. A least-significant-digit radix sort (Knuth, The Art of Computer
// Programming 3, 5.2.5) over keys that hold only the bits in which the rows differ
// (finish_pack.cu): most orders need two to five passes of eight bits, each of one reading and one
// writing (finish_move.cuh; finish_radix_keys.cu, finish_radix_rows.cu). A sort by comparisons would read rows log n times, at random.
#define HDD_CHOSEN_WARPS 8
#include "hd/finish_digits.cuh"

static_assert(HDD_BLOCK == HDD_RADIX_THREADS, "blocks are as the host launches them");

// ---- counting ------------------------------------------------------------------------------

struct hdd_memory_keys {
    u64 at;

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&key)[N]) const
    {
        HDD_UNROLL
        for (u32 j = 0; j < N; j++)
            key[j] = hdd_at<const u64>(at)[start + j * step];
    }
};

struct hdd_hash_keys {
    u64 rows;
    u32 stride;

    template <u32 N> HDD_MEMBER void operator()(u64 start, u64 step, u64 (&key)[N]) const
    {
        HDD_UNROLL
        for (u32 j = 0; j < N; j++) {
            const u64 i = start + j * step;
            key[j] = *hdd_at<const u64>(rows + i * stride) << 32 | (i + 1);
        }
    }
};

HDD_KERNEL(hdd_radix_count)(HDD_PARAMETER(hdd_radix_count_args, p))
{
    HDD_SHARED(hdd_digit_counts, shared);
    if (p.rows)
        hdd_count_digits(shared, p.digits, p.blocks, p.n, p.keys, hdd_hash_keys{p.rows, p.stride});
    else
        hdd_count_digits(shared, p.digits, p.blocks, p.n, 0, hdd_memory_keys{p.keys});
}

// One block.
HDD_KERNEL(hdd_radix_begin)(HDD_PARAMETER(hdd_digits, p))
{
    HDD_SHARED(hdd_block_prefix, sums);
    hdd_digits_begin(sums, p);
}

// Blocks 0 .. n - 1 of the list become rows; a warp moves a row's words side by side.
HDD_KERNEL(hdd_sort_gather)(HDD_PARAMETER(hdd_gather_args, p))
{
    const u32 words = p.stride / 8;
    const u64 n = p.n * words;
    for (u64 i = hdd_grid_thread(); i < n; i += hdd_grid_step(p.blocks)) {
        const u64 row = i / words, k = i % words;
        hdd_at<u64>(p.to)[i] = hdd_at<const u64>(p.rows)[(u64)hdd_at<const u32>(p.list)[row] * words + k];
    }
}
