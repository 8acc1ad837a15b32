// Kernels written by hand, for the host: the tree of test_nifs.c, the planted bugs of
// test_simt.c, and groups whose hashes are equal.
#include "tests/simt/tree.cu"

#include "hd/aggregate.cuh"
#include "hd/block.cuh"

// As a pipeline with one sum.
struct one_sum {
    static void merge(i64 &to, i64 from)
    {
        to += from;
    }
    static i64 of_lane(i64 from, u32 lane)
    {
        return hdd_shuffle(from, lane);
    }
    static void add_accumulators(i64 &row, i64 sum)
    {
        hdd_sum().into(row, nullptr, sum);
    }
};

struct group_row {
    u64 key;
    i64 count;
};

struct group_sum : one_sum {
    static void add_accumulators(group_row &row, i64 sum)
    {
        hdd_sum().into(row.count, nullptr, sum);
    }
};

extern "C" {

void good_kernel(void *out);
void lost_lane(void *);
void other_operation(void *);
void early_return(void *);
void missed_barrier(void *);
void endless_wait(void *);
void failed_assertion(void *);
void lost_update(void *count);
void equal_hashes(void *launch);

// Sums block * 1000 + thread number over each block, through registers, shuffles, shared
// memory.
void good_kernel(void *out)
{
    HDD_SHARED(hdd_block_scratch<i64>, scratch);
    const i64 number = hdd_block() * 1000 + hdd_warp() * HDD_LANES + hdd_lane();
    HDD_ASSERT(hdd_warp_sum(hdd_lane()) == 496);
    HDD_ASSERT(hdd_warp_prefix_sum(1) == hdd_lane() + 1);
    HDD_ASSERT(hdd_warp_sum(~hdd_lane()) == 32 * (u64)~0u - 496);
    HDD_ASSERT(hdd_warp_add(~hdd_lane()) == (u32)(0u - 496 - 32));
    HDD_ASSERT(hdd_warp_prefix_sum(hdd_lane()) == hdd_lane() * (hdd_lane() + 1) / 2);
    HDD_ASSERT(hdd_match(hdd_lane() / 4) == 15u << (hdd_lane() / 4 * 4));
    hdd_block_flush(one_sum(), scratch, number, static_cast<i64 *>(out)[hdd_block()]);
}

void lost_lane(void *)
{
    if (hdd_lane() != 3)
        hdd_ballot(true);
}

void other_operation(void *)
{
    if (hdd_lane() < 16)
        hdd_ballot(true);
    else
        hdd_warp_sync();
}

void early_return(void *)
{
    if (hdd_lane() == 31)
        return;
    hdd_warp_sum(hdd_lane());
}

void missed_barrier(void *)
{
    if (hdd_warp() != 2)
        hdd_block_sync();
}

void endless_wait(void *)
{
    for (;;)
        hdd_back_off();
}

void failed_assertion(void *)
{
    HDD_ASSERT(hdd_lane() != 5);
}

void lost_update(void *count)
{
    u32 *p = static_cast<u32 *>(count);
    const u32 v = hdd_load_relaxed(p);
    hdd_store_relaxed(p, v + 1);
}

// Counts keys 0 to 9, which have `source_rows` hashes; all start at slot 0. One row in eleven has
// none. Odd blocks hold groups.
void equal_hashes(void *launch)
{
    const hdd_run run(*static_cast<const hdd_launch *>(launch));
    group_row *const rows = reinterpret_cast<group_row *>(run.launch.sink.rows);
    hdd_register_cache<group_row, i64> cache;
    for (u32 i = 0; i < 8; i++) {
        const bool popular = i % 4 == 3 && hdd_lane() < 20;
        const u64 key = popular ? i / 4 : (hdd_thread() * (i + 1) + hdd_block()) % 11;
        const bool live = key != 10;
        i64 mine = live;
        const auto same = [&](u64 r) { return rows[r].key == key; };
        const auto init = [&](u64 r) { rows[r].key = key; };
        const u64 hash = (key % run.launch.source_rows) << 32;
        const hdd_found found = hdd_groups(run).find(live, hash, same, init);
        group_row *group = found.place ? rows + (found.place - 1) : nullptr;
        HDD_ASSERT(!group || (live && group->key == key));
        const u32 equals = hdd_match(key) & hdd_ballot(live);
        HDD_ASSERT(!group || found.lanes == equals);
        if (hdd_block() % 2) {
            const u32 left = cache.add(group_sum(), group, mine);
            cache.update(group_sum(), hdd_group_lanes(group, found.lanes & left), group, mine);
        } else {
            hdd_group_lanes(group, found.lanes).update(group_sum(), group, mine);
        }
    }
    cache.flush(group_sum());
}

// The same with keys that are words, in rows that are slots. source_rows: keys that there are.
void word_groups(void *launch)
{
    const hdd_run run(*static_cast<const hdd_launch *>(launch));
    group_row *const rows = reinterpret_cast<group_row *>(run.launch.sink.rows);
    hdd_uncounted uncounted;
    for (u32 i = 0; i < 8; i++) {
        const bool popular = i % 4 == 3 && hdd_lane() < 20;
        const u64 key = popular ? i / 4 : (hdd_thread() * (i + 1) + hdd_block()) % (run.launch.source_rows + 1);
        const bool live = key != run.launch.source_rows;
        i64 mine = live;
        const auto init = [&](u64 r) { HDD_ASSERT(rows[r].key == key + 1); };
        const hdd_found found = hdd_word_groups(run, uncounted).find(live, key + 1, rows, init);
        group_row *group = found.place ? rows + (found.place - 1) : nullptr;
        HDD_ASSERT(!group || (live && group->key == key + 1));
        const u32 equals = hdd_match(key) & hdd_ballot(live);
        HDD_ASSERT(!live || found.lanes == equals);
        hdd_group_lanes(group, found.lanes).update(group_sum(), group, mine);
    }
    uncounted.flush(run);
}
}
