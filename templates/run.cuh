// One run of a kernel as its threads see it: the launch structure, the abort word, failures.
// Every loop of the traversal and every wait polls the abort word.
#ifndef HDD_RUN_CUH
#define HDD_RUN_CUH

#include "hd/launch.cuh"
#include "hd/machine.cuh"

// enum rt_failure of runtime/spec.h; the emitted source asserts that they agree.
enum hdd_failure {
    HDD_FAIL_OVERFLOW = 1,
    HDD_FAIL_DIV_ZERO,
    HDD_FAIL_CAST_RANGE,
    HDD_FAIL_CAST_STRING,
    HDD_FAIL_SUBSTRING,
    HDD_FAIL_DATE_RANGE,
    HDD_FAIL_DOMAIN,
    HDD_FAIL_STRING_SIZE
};

// The args vector of the program: addresses, constants, sizes. The host passes as many words.
template <u32 N> struct hdd_args {
    u64 w[N];

    HDD_MEMBER u64 operator[](u32 k) const
    {
        return w[k];
    }
};

// The same by address: more words than a kernel's parameters hold.
struct hdd_far_args {
    const u64 *w;

    HDD_MEMBER u64 operator[](u32 k) const
    {
        return hdd_load_const(w + k);
    }
};

struct hdd_run {
    const hdd_launch &launch;
    hdd_progress *progress;

    HDD_MEMBER explicit hdd_run(const hdd_launch &l) : launch(l), progress(reinterpret_cast<hdd_progress *>(l.progress))
    {
    }

    // Number of this warp in the grid.
    HDD_MEMBER u32 warp() const
    {
        return hdd_block() * hdd_block_warps() + hdd_warp();
    }

    // Which of launch.parts of its rows' children this warp has.
    HDD_MEMBER u32 part() const
    {
        return launch.parts ? warp() % launch.parts : 0;
    }

    // The end of the launch's part of the source.
    HDD_MEMBER u64 rows() const
    {
        const u64 rows = launch.source_count ? *reinterpret_cast<const u64 *>(launch.source_count) : ~(u64)0;
        return rows < launch.source_rows ? rows : launch.source_rows;
    }

    HDD_MEMBER bool aborted() const
    {
        return hdd_load_relaxed(&progress->abort) != 0;
    }

    HDD_MEMBER void abort() const
    {
        hdd_store_relaxed(&progress->abort, 1);
    }

    // The abort word and, above it, the count of idle warps, in one load. Whole warp: the same
    // answer in every lane.
    HDD_MEMBER u64 look() const
    {
        u64 both = 0;
        if (hdd_lane() == 0)
            both = hdd_load_relaxed(reinterpret_cast<const u64 *>(&progress->abort));
        return hdd_shuffle(both, 0);
    }

    // A row failed. Of several failures any one may be reported (docs/plan.md 2.2).
    HDD_MEMBER void fail(hdd_failure why, i32 path) const
    {
        if (hdd_atomic_cas(&progress->failure, 0u, (u32)why) == 0)
            progress->failure_path = path;
        abort();
    }

    // The same, telling a number's image, or a string.
    HDD_MEMBER void fail_value(hdd_failure why, i32 path, u64 lo, u64 hi) const
    {
        if (hdd_atomic_cas(&progress->failure, 0u, (u32)why) == 0) {
            progress->failure_path = path;
            progress->has_values = 1;
            progress->value[0] = lo;
            progress->value[1] = hi;
        }
        abort();
    }
    HDD_MEMBER void fail_string(hdd_failure why, i32 path, const u8 *s, i32 n) const
    {
        if (hdd_atomic_cas(&progress->failure, 0u, (u32)why) == 0) {
            progress->failure_path = path;
            progress->has_values = 1;
            progress->value[0] = (u64)n;
            HDD_NO_UNROLL
            for (i32 i = 0; i < n && i < HDD_FAILED_BYTES; i++)
                progress->text[i] = s[i];
        }
        abort();
    }

    // Profile counter k (templates/abi.h): n rows more.
    HDD_MEMBER void count(u32 k, u64 n) const
    {
        const u32 copy = warp() % HDD_COUNTER_COPIES * launch.ncounters;
        hdd_atomic_add(reinterpret_cast<u64 *>(launch.counters) + copy + k, n);
    }
};

// Nodes for which a level is worth a visit. Depth first (HDD_NONE) takes what there is: the
// traversal without NIFS, in which ranges are pushed to a level only when it is empty.
HDD_DEVICE u32 hdd_worth_a_visit(const hdd_run &run)
{
    return run.launch.balance == HDD_NONE ? 1 : HDD_LANES;
}

#endif
