// Aggregates in memory that many threads update: which row belongs to a group, and adding to
// its accumulators. Lanes of a warp with the same row combine first, so that a hot key costs
// one atomic per warp instead of 32 (DESIGN section 5: contended atomics are the price of
// skew).
#ifndef HDD_AGGREGATE_CUH
#define HDD_AGGREGATE_CUH

#include "hd/accumulate.cuh"
#include "hd/tile.cuh"

// ---- lanes of one group --------------------------------------------------------------------

// The lanes with the same address, not 0. Whole warp.
HDD_DEVICE u32 hdd_same_row(const void *row)
{
    const u64 key = reinterpret_cast<u64>(row);
    const u32 live = hdd_ballot(key != 0);
    const u64 some = hdd_shuffle(key, live ? hdd_lowest(live) : 0);
    // All in one group is what a range with a heavy key looks like: no search for equals.
    return hdd_any(key != 0 && key != some) ? hdd_match(key) : live;
}

// The lanes of a warp that have a row of their group to update.
struct hdd_peers {
    u32 live; // lanes with a row
    u32 mask; // those of this lane's group, 0: it has none
    bool first;

    // `lanes` are those of this lane's group, of which some may be done. Whole warp.
    HDD_MEMBER hdd_peers(const void *row, u32 lanes)
        : live(hdd_ballot(row != nullptr)), mask(row ? lanes & live : 0),
          first(row && !(mask & hdd_lanes_below()))
    {
    }

    // Adds what the lanes of each group have to its row. Whole warp.
    template <class Pipe, class Row, class Sums>
    HDD_MEMBER void update(const Pipe &p, Row *row, Sums &sums) const
    {
        reduce(p, sums);
        if (first)
            p.add_sums(*row, sums);
    }

    // The group of at least half of the lanes, in every lane; null if there is none. Whole
    // warp.
    template <class Row> HDD_MEMBER Row *popular(Row *row) const
    {
        const u32 many = hdd_ballot(first && hdd_popc(mask) >= HDD_LANES / 2);
        const u64 which = hdd_shuffle(reinterpret_cast<u64>(row), many ? hdd_lowest(many) : 0);
        return many ? reinterpret_cast<Row *>(which) : nullptr;
    }

    // Every lane has the same row from now on.
    HDD_MEMBER void unite()
    {
        mask = ~0u;
        first = hdd_lane() == 0;
    }

  private:
    // Halves the number of contributing lanes of each group per step, down to its first.
    template <class Pipe, class Sums> HDD_MEMBER void reduce(const Pipe &p, Sums &sums) const
    {
        u32 above = mask & ~hdd_lanes_upto();
        u32 rank = hdd_popc(mask & hdd_lanes_below());
        while (hdd_any(above != 0)) {
            const Sums other = p.of_lane(sums, above ? hdd_lowest(above) : hdd_lane());
            if (above)
                p.join(sums, other);
            above &= hdd_ballot(rank % 2 == 0); // odd ranks have been taken by the one below
            rank /= 2;
        }
    }
};

// A group that a warp adds to in registers: the last one that filled half of it.
template <class Row, class Sums> struct hdd_held {
    Row *group; // null: none
    Sums sums;  // of each lane

    HDD_MEMBER hdd_held() : group(nullptr), sums()
    {
    }

    // A lane of the group adds what it has, and is done.
    template <class Pipe> HDD_MEMBER void take(const Pipe &p, Row *&row, const Sums &more)
    {
        if (row && row == group) {
            p.join(sums, more);
            row = nullptr;
        }
    }

    // As hdd_peers::update; a group of many lanes is held from now on. What there is of the one
    // before takes the way of the rows, in a second round. Whole warp.
    template <class Pipe>
    HDD_MEMBER void update(const Pipe &p, hdd_peers peers, Row *row, Sums more)
    {
        Row *next = peers.popular(row);
        HDD_NO_UNROLL
        for (;;) {
            peers.update(p, row, more);
            if (!next)
                return;
            row = group, more = sums;
            group = next, sums = Sums();
            if (!row)
                return;
            peers.unite();
            next = nullptr;
        }
    }

    // At the end. Whole warp.
    template <class Pipe> HDD_MEMBER void release(const Pipe &p)
    {
        hdd_combine(p, sums);
        if (group && hdd_lane() == 0)
            p.add_sums(*group, sums);
    }
};

// ---- AGG_HASH: open addressing for the whole grid ------------------------------------------

// Low half of a slot whose key is being written.
constexpr u64 HDD_SLOT_BUSY = 0xffffffffull;
// Slots between two looks at the abort word; in a table half full few lookups see as many.
constexpr u64 HDD_PROBES = 16;

// Number of a row, -1: dead, no room, or the run was aborted. The lanes that have the same one.
struct hdd_found {
    i64 row;
    u32 lanes;
};

// Groups beyond the capacity have slots but no rows: they are told apart by their tags alone
// and only counted, so that the host can make room for all at once.
struct hdd_groups {
    const hdd_run &run;
    u64 *slots;
    u64 mask;

    HDD_MEMBER explicit hdd_groups(const hdd_run &r)
        : run(r), slots(reinterpret_cast<u64 *>(r.launch.sink.slots)), mask(r.launch.sink.mask)
    {
    }

    // The row whose key has hash h and is `same(row)`; a new one is written by `init(row)`. Lanes
    // with equal hashes send one of them ahead: a heavy key is looked up once per warp. Those
    // whose key is another one after all look it up in a second round. Whole warp; may wait for
    // a thread that writes a key.
    template <class Same, class Init>
    HDD_MEMBER hdd_found find(bool live, u64 h, Same same, Init init) const
    {
        const u32 peers = hdd_match(h) & hdd_ballot(live);
        const u32 ahead = live ? hdd_lowest(peers) : hdd_lane();
        bool looks = live && ahead == hdd_lane();
        u32 strays = 0;
        i64 row = -1;
        HDD_NO_UNROLL // one copy of the search
            for (;;)
        {
            if (looks)
                row = find_one(h, same, init);
            if (strays)
                break;
            hdd_warp_sync(); // what that lane has seen of the row, the others see
            row = hdd_shuffle(row, ahead);
            looks = live && ahead != hdd_lane() && row >= 0 && !same((u64)row);
            strays = hdd_ballot(looks);
            if (!strays)
                break;
        }
        return hdd_found{row, looks ? 1u << hdd_lane() : peers & ~strays};
    }

  private:
    template <class Same, class Init>
    HDD_MEMBER i64 find_one(u64 h, Same same, Init init) const
    {
        const u64 tag = h & ~HDD_SLOT_BUSY;
        u64 at = h & mask;
        u32 steps = 0;
        HDD_NO_UNROLL
        for (;;) {
            u64 slot = hdd_load_acquire(slots + at);
            if (slot == 0) {
                slot = hdd_atomic_swap(slots + at, (u64)0, tag | HDD_SLOT_BUSY);
                if (slot == 0)
                    return insert(slots + at, tag, init);
            }
            const bool busy = slot == (tag | HDD_SLOT_BUSY); // perhaps this very key
            const u64 row = (slot & HDD_SLOT_BUSY) - 1;
            if (!busy && (slot & ~HDD_SLOT_BUSY) == tag) {
                if (row >= run.launch.sink.capacity)
                    return -1;
                if (same(row))
                    return (i64)row;
            }
            if (busy)
                hdd_back_off();
            else
                at = (at + 1) & mask;
            if (++steps % HDD_PROBES == 0 && run.aborted()) // or else a full table has no end
                return -1;
        }
    }

    // A new group: its row, -1 where there is no room.
    template <class Init> HDD_MEMBER i64 insert(u64 *slot, u64 tag, Init init) const
    {
        const u64 row =
            hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)1);
        const bool room = row < run.launch.sink.capacity;
        if (room)
            init(row);
        hdd_store_release(slot, tag | (row + 1));
        if (row == mask - mask / 8) // the host takes it from here
            run.abort();
        return room ? (i64)row : -1;
    }
};

#endif
