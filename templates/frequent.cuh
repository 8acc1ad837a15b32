// Groups that many rows of a block hit, kept in its shared memory: what some rows in a hundred
// have in common would queue up at one place of the state from all over the device, and yet
// seldom fills a warp. The first groups that two lanes of a warp hit at once move in and stay;
// what they have is added to their rows when the kernel ends.
#ifndef HDD_FREQUENT_CUH
#define HDD_FREQUENT_CUH

#include "hd/aggregate.cuh"

constexpr u32 HDD_FREQUENT = HDD_CACHED_GROUPS;
// Places that a group may have, one behind the other: with one, 5 of 20 groups whose numbers are hashes would have none.
constexpr u32 HDD_FREQUENT_PROBES = 4;

template <class Row> struct hdd_frequent_memory {
    Row rows[HDD_FREQUENT];
    u64 groups[HDD_FREQUENT]; // address of the row whose additions these are, 0: free
};

template <class Row> struct hdd_frequent {
    hdd_frequent_memory<Row> &at;
    const Row *const first; // of the state

    // Every row begins as `empty`. The whole block calls; a block barrier.
    HDD_MEMBER hdd_frequent(hdd_frequent_memory<Row> &store, const Row *state, const Row &empty) : at(store), first(state)
    {
        for (u32 i = hdd_thread(); i < HDD_FREQUENT; i += HDD_BLOCK) {
            at.rows[i] = empty;
            at.groups[i] = 0;
        }
        hdd_block_sync();
    }

    // Where additions to a group's row go.
    HDD_MEMBER Row *place(Row *group) const
    {
        const u32 first_slot = group ? slot(group) : 0;
        HDD_NO_UNROLL
        for (u32 k = 0; group && k < HDD_FREQUENT_PROBES; k++) {
            const u32 i = (first_slot + k) % HDD_FREQUENT;
            const u64 there = hdd_load_relaxed(at.groups + i);
            if (there == address(group))
                return at.rows + i;
            if (there == 0) // it would have moved in here
                break;
        }
        return group;
    }

    // Lets groups of several lanes in; `group` is not here yet.
    HDD_MEMBER void admit(const hdd_group_lanes &group_lanes, Row *group) const
    {
        const bool comes = group_lanes.first && hdd_popc(group_lanes.mask) > 1;
        HDD_NO_UNROLL
        for (u32 k = 0; comes && k < HDD_FREQUENT_PROBES; k++) {
            u64 *const here = at.groups + (slot(group) + k) % HDD_FREQUENT;
            u64 there = hdd_load_relaxed(here);
            if (there == 0)
                there = hdd_atomic_cas(here, (u64)0, address(group));
            if (there == 0 || there == address(group))
                return;
        }
    }

  private:
    HDD_MEMBER static u64 address(const Row *row)
    {
        return reinterpret_cast<u64>(row);
    }

    // By the row's number and the golden ratio: 21 neighbours have 21 of the 32 slots.
    HDD_MEMBER u32 slot(const Row *row) const
    {
        return (u32)(row - first) * 0x9E3779B9u >> (32 - HDD_CACHED_GROUPS_BITS);
    }
};

#endif
