// Aggregates in memory that many threads update: which row belongs to a group, and adding to
// its accumulators. Lanes of a warp with the same row combine first, so that a hot key costs
// one atomic per warp instead of 32 (DESIGN section 5: contended atomics are the price of
// skew).
#ifndef HDD_AGGREGATE_CUH
#define HDD_AGGREGATE_CUH

#include "hd/accumulate.cuh"
#include "hd/tile.cuh"

// ---- lanes of one group --------------------------------------------------------------------

// The lanes of a warp by the address of their group's row; 0: no group.
struct hdd_peers {
    u32 mask;   // lanes of this lane's group
    bool first; // of its group, and live
    bool alone; // no group has two lanes

    // Whole warp.
    HDD_MEMBER explicit hdd_peers(const void *row)
    {
        const u64 key = reinterpret_cast<u64>(row);
        const u32 live = hdd_ballot(key != 0);
        const u64 some = hdd_shuffle(key, live ? hdd_lowest(live) : 0);
        // All in one group is what a range with a heavy key looks like: no search for equals.
        mask = hdd_any(key != 0 && key != some) ? hdd_match(key) : key ? live : ~live;
        first = key != 0 && !(mask & hdd_lanes_below());
        alone = !hdd_any(key != 0 && !first);
    }

    // Adds each group's values to a field of its row. Whole warp.
    template <class Op, class Row, class F, class T>
    HDD_MEMBER void update(Op op, Row *row, F Row::*field, hdd_opt<T> value) const
    {
        const hdd_opt<T> v = combined(op, value);
        if (first && v.ok)
            op.into(row->*field, nullptr, v.v);
    }

    // The same for a field that stays NULL until a value comes.
    template <class Op, class Row, class F, class T>
    HDD_MEMBER void update(Op op, Row *row, F Row::*field, u8 Row::*valid,
                           hdd_opt<T> value) const
    {
        const hdd_opt<T> v = combined(op, value);
        if (first && v.ok)
            op.into(row->*field, &(row->*valid), v.v);
    }

    // A field that is the same in all rows of a group (hdd_pick).
    template <class Row, class F, class T>
    HDD_MEMBER void pick(Row *row, F Row::*field, u8 Row::*valid, hdd_opt<T> value) const
    {
        if (first && value.ok)
            hdd_pick().into(row->*field, &(row->*valid), value.v);
    }

    // The group of at least half of the lanes, in every lane; null if there is none. Whole
    // warp.
    template <class Row> HDD_MEMBER Row *popular(Row *row) const
    {
        const u32 many = hdd_ballot(first && hdd_popc(mask) >= HDD_LANES / 2);
        const u64 which = hdd_shuffle(reinterpret_cast<u64>(row), many ? hdd_lowest(many) : 0);
        return many ? reinterpret_cast<Row *>(which) : nullptr;
    }

  private:
    // Values over the lanes of each group that have one; valid in its first lane.
    template <class Op, class T> HDD_MEMBER hdd_opt<T> combined(Op op, hdd_opt<T> value) const
    {
        if (alone)
            return value;
        hdd_register<T> r;
        r.add(op, value);
        reduce(op, r);
        return hdd_opt<T>(r.v, r.seen);
    }

    // Halves the number of contributing lanes of each group per step.
    template <class Op, class T> HDD_MEMBER void reduce(Op op, hdd_register<T> &r) const
    {
        u32 above = mask & ~hdd_lanes_upto();
        u32 rank = hdd_popc(mask & hdd_lanes_below());
        while (hdd_any(above != 0)) {
            const u32 next = above ? hdd_lowest(above) : hdd_lane();
            const T other = hdd_shuffle(r.v, next);
            const bool other_seen = hdd_shuffle(r.seen, next);
            if (above && other_seen)
                r.add(op, other);
            above &= hdd_ballot(rank % 2 == 0); // odd ranks have been taken by the one below
            rank /= 2;
        }
    }
};

// ---- AGG_HASH: open addressing for the whole grid ------------------------------------------

// Low half of a slot whose key is being written.
constexpr u64 HDD_SLOT_BUSY = 0xffffffffull;
// Slots between two looks at the abort word; in a table half full few lookups see as many.
constexpr u64 HDD_PROBES = 16;

// The slots are used up by so many groups: what is still to come is projected from what the part
// of the source read so far has brought. One thread.
HDD_APART void hdd_project_groups(hdd_run run, u64 groups)
{
    const u64 rows = run.launch.source_rows;
    const u64 read = hdd_load_relaxed(&run.progress->next_tile) * HDD_TILE;
    const f64 share = run.launch.parts ? 0.25 // nobody knows: all warps began with all rows
                      : read < rows    ? (f64)read / (f64)rows
                                       : 1.0;
    hdd_atomic_max(reinterpret_cast<i64 *>(run.launch.sink.cursor),
                   (i64)((f64)groups / share * 1.125) + 64);
    run.abort();
}

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

    // Number of the row whose key has hash h and is `same(row)`; a new one is written by
    // `init(row)`. -1: dead, no room, or the run was aborted. Lanes with equal hashes send one
    // of them ahead, in a first round: a heavy key is looked up once per warp. Whole warp; may
    // wait for a thread that writes a key.
    template <class Same, class Init>
    HDD_MEMBER i64 find(bool live, u64 h, Same same, Init init) const
    {
        const u32 peers = hdd_match(h) & hdd_ballot(live);
        const u32 ahead = live ? hdd_lowest(peers) : hdd_lane();
        bool looks = live && ahead == hdd_lane();
        i64 row = -1;
        HDD_NO_UNROLL // one copy of the search
            for (u32 round = 0; round < 2; round++)
        {
            if (looks)
                row = find_one(h, same, init);
            hdd_warp_sync(); // what that lane has seen of the row, the others see
            const i64 found = hdd_shuffle(row, ahead);
            const bool follows = round == 0 && live && ahead != hdd_lane();
            looks = follows && (found < 0 || !same((u64)found));
            row = follows ? found : row;
            if (!hdd_any(looks))
                break;
        }
        return row;
    }

  private:
    template <class Same, class Init>
    HDD_MEMBER i64 find_one(u64 h, Same same, Init init) const
    {
        const u64 tag = h & ~HDD_SLOT_BUSY;
        u64 at = h & mask, steps = 0, used = 0; // used: groups that used up the slots
        i64 found = -1;
        HDD_NO_UNROLL
        for (;;) {
            u64 slot = hdd_load_acquire(slots + at);
            if (slot == 0) {
                slot = hdd_atomic_swap(slots + at, (u64)0, tag | HDD_SLOT_BUSY);
                if (slot == 0) {
                    found = insert(slots + at, tag, init, used);
                    break;
                }
            }
            if (slot == (tag | HDD_SLOT_BUSY)) { // perhaps this very key
                if (run.aborted())
                    break;
                hdd_back_off();
                continue;
            }
            const u64 row = (slot & HDD_SLOT_BUSY) - 1;
            if ((slot & ~HDD_SLOT_BUSY) == tag) {
                if (row >= run.launch.sink.capacity)
                    break;
                if (same(row)) {
                    found = (i64)row;
                    break;
                }
            }
            at = (at + 1) & mask;
            used = ++steps > mask ? steps : 0;
            if (used || (steps % HDD_PROBES == 0 && run.aborted())) // a full table: its rows
                break;                                              // are for the next run
        }
        if (used)
            hdd_project_groups(run, used);
        return found;
    }

    // A new group: its row, -1 where there is no room.
    template <class Init> HDD_MEMBER i64 insert(u64 *slot, u64 tag, Init init, u64 &used) const
    {
        const u64 row =
            hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)1);
        const bool room = row < run.launch.sink.capacity;
        if (room)
            init(row);
        hdd_store_release(slot, tag | (row + 1));
        used = row == mask - mask / 8 ? row : 0; // once: what is added to the cursor later
        return room && !used ? (i64)row : -1;    // counts nothing
    }
};

#endif
