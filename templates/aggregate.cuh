// Aggregates in memory that many threads update: which row belongs to a group, and adding to
// its accumulators. Lanes of a warp with the same row combine first, so that a frequent key costs
// one atomic per warp instead of 32: contended atomics are the price of skew
// (docs/architecture.md, "Where a GPU adds up").
#ifndef HDD_AGGREGATE_CUH
#define HDD_AGGREGATE_CUH

#include "hd/accumulate.cuh"
#include "hd/hash.cuh"
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
struct hdd_group_lanes {
    u32 mask; // those of this lane's group, 0: it has none
    bool first;

    HDD_MEMBER hdd_group_lanes(const void *row, u32 lanes)
        : mask(row ? lanes : 0), first(row && !(lanes & hdd_lanes_below()))
    {
    }

    // Adds what the lanes of each group have to its row. Whole warp.
    template <class Pipeline, class Row, class Accumulators>
    HDD_MEMBER void update(const Pipeline &p, Row *row, Accumulators &accumulators) const
    {
        reduce(p, accumulators);
        if (first)
            p.add_accumulators(*row, accumulators);
    }

    // The first lanes of groups of at least half of the lanes, in every lane. Whole warp.
    HDD_MEMBER u32 popular() const
    {
        return hdd_ballot(first && hdd_popc(mask) >= HDD_LANES / 2);
    }

    // Every lane has the same row from now on.
    HDD_MEMBER void unite()
    {
        mask = ~0u;
        first = hdd_lane() == 0;
    }

  private:
    // Halves the number of contributing lanes of each group per step, down to its first.
    template <class Pipeline, class Accumulators>
    HDD_MEMBER void reduce(const Pipeline &p, Accumulators &accumulators) const
    {
        u32 above = mask & ~hdd_lanes_upto();
        u32 rank = hdd_popc(mask & hdd_lanes_below());
        while (hdd_any(above != 0)) {
            const Accumulators other = p.of_lane(accumulators, above ? hdd_lowest(above) : hdd_lane());
            if (above)
                p.merge(accumulators, other);
            above &= hdd_ballot(rank % 2 == 0); // odd ranks have been taken by the one below
            rank /= 2;
        }
    }
};

// A group that a warp adds to in registers: the last one that filled half of it.
template <class Row, class Accumulators> struct hdd_register_cache {
    Row *group;                // null: none
    Accumulators accumulators; // of each lane

    HDD_MEMBER hdd_register_cache() : group(nullptr), accumulators()
    {
    }

    // Lanes of the group add what they have, and are done: those that are left. Whole warp.
    template <class Pipeline> HDD_MEMBER u32 add(const Pipeline &p, Row *&row, const Accumulators &more)
    {
        if (row && row == group) {
            p.merge(accumulators, more);
            row = nullptr;
        }
        return hdd_ballot(row != nullptr);
    }

    // As hdd_group_lanes::update; a group of many lanes is register-cached from now on. What there is of the one
    // before takes the way of the rows, in a second round. Whole warp.
    template <class Pipeline>
    HDD_MEMBER void update(const Pipeline &p, hdd_group_lanes group_lanes, Row *row, Accumulators more)
    {
        u32 popular = group_lanes.popular();
        HDD_NO_UNROLL
        for (;;) {
            group_lanes.update(p, row, more);
            if (!popular)
                return;
            Row *const last = group;
            group = reinterpret_cast<Row *>(
                hdd_shuffle(reinterpret_cast<u64>(row), hdd_lowest(popular)));
            row = last, more = accumulators;
            accumulators = Accumulators();
            if (!row)
                return;
            group_lanes.unite();
            popular = 0;
        }
    }

    // At the end. Whole warp.
    template <class Pipeline> HDD_MEMBER void flush(const Pipeline &p)
    {
        hdd_combine(p, accumulators);
        if (group && hdd_lane() == 0)
            p.add_accumulators(*group, accumulators);
    }
};

// ---- AGG_HASH: open addressing for the whole grid ------------------------------------------

// Low half of a slot whose key is being written.
constexpr u32 HDD_SLOT_BUSY = 0xffffffffu;
// Slots that a lane looks at before the others go on, too; in a table half full few lookups see as many.
constexpr u32 HDD_PROBES = 16;

// Number of a row plus 1; 0: dead, no room, or the run was aborted. The lanes that have the
// same one.
struct hdd_found {
    u32 place, lanes;
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

    // The row whose key has hash h and is `same(row)`; a new one is written by `init(row)`. Of
    // the lanes with equal hashes one goes ahead: a heavy key is looked up once per warp. Then
    // all look whether the key is theirs; those whose is not go on from there. Lanes go in rounds:
    // the new groups of a round take one addition to the cursor and one fence, because a fence for
    // each would cost more than all the rest. Whole warp; may wait for another one that writes a key.
    template <class Same, class Init>
    HDD_MEMBER hdd_found find(bool live, u64 h, Same same, Init init) const
    {
        u32 group_lanes = hdd_match(h) & hdd_ballot(live);
        u32 steps = 0;
        bool looks = live;
        hdd_found found = {0, 0};
        HDD_NO_UNROLL
        for (;;) {
            const u32 ahead = looks ? hdd_lowest(group_lanes) : hdd_lane();
            bool fresh = false, again = false;
            u32 place = 0;
            if (looks && ahead == hdd_lane())
                place = next(h, steps, fresh, again);
            if (hdd_any(fresh || place != 0))
                place = publish(fresh, h, steps, place, init);
            hdd_warp_sync(); // what that lane has seen of the row, the others see
            place = hdd_shuffle(place, ahead);
            const bool waits = hdd_shuffle((u32)again, ahead) != 0 && looks;
            const bool other = looks && place != 0 && !fresh && !same((u64)(place - 1));
            const u32 left = hdd_ballot(waits || other);
            if (looks && !waits && !other)
                found = hdd_found{place, group_lanes & ~left};
            if (!left)
                return found;
            if (waits)
                hdd_back_off();
            looks = waits || other;
            group_lanes &= left;
            steps = hdd_shuffle(steps, ahead);
        }
    }

  private:
    // The next place after so many slots whose key may be that of hash h; 0: there is no room,
    // or the run was aborted, or this lane claimed a slot (`fresh`), or it is to look `again` after the
    // others: somebody writes a key there that perhaps is the same, or a full table has no end, which
    // it is the others of the warp who tell.
    HDD_MEMBER u32 next(u64 h, u32 &steps, bool &fresh, bool &again) const
    {
        HDD_NO_UNROLL
        for (u32 k = 0; k < HDD_PROBES; k++) {
            u64 *const at = slots + ((h + steps) & mask);
            u64 slot = hdd_load_relaxed(at);
            if (slot == 0) {
                slot = hdd_atomic_cas(at, (u64)0, h | HDD_SLOT_BUSY);
                fresh = slot == 0;
                if (fresh)
                    return 0;
            }
            if (slot >> 32 == h >> 32) {
                if ((u32)slot == HDD_SLOT_BUSY)
                    break;
                steps++;
                return (u32)slot <= run.launch.sink.capacity ? (u32)slot : 0;
            }
            steps++;
        }
        again = !run.aborted();
        return 0;
    }

    // New groups of the lanes that claimed slots: their places; of other lanes those that they met, whose
    // keys they may read from now on. Whole warp.
    template <class Init> HDD_MEMBER u32 publish(bool fresh, u64 h, u32 steps, u32 place, Init init) const
    {
        const u32 lanes = hdd_ballot(fresh);
        u64 row = 0;
        if (lanes && hdd_lane() == hdd_lowest(lanes))
            row = hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)hdd_popc(lanes));
        row = hdd_shuffle(row, lanes ? hdd_lowest(lanes) : 0) + hdd_popc(lanes & hdd_lanes_below());
        const bool room = row < run.launch.sink.capacity;
        if (fresh && room)
            init(row);
        hdd_fence(); // rows before slots here, slots before rows where others were met
        if (!fresh)
            return place;
        hdd_store_relaxed(slots + ((h + steps) & mask), (h & ~(u64)HDD_SLOT_BUSY) + row + 1);
        if (row == mask - mask / 8) // the host takes it from here
            run.abort();
        return room ? (u32)row + 1 : 0;
    }
};

// ---- AGG_HASH whose key is a word ----------------------------------------------------------

// New groups that a warp has not added to the cursor yet, the same in every lane: additions of all warps to one place
// come one after the other. Of all warps they are at most a sixteenth of the slots, so that the cursor of a full
// table is beyond seven eighths whatever warps wait for.
struct hdd_uncounted {
    u32 n;

    HDD_MEMBER hdd_uncounted() : n(0)
    {
    }

    // Whole warp.
    HDD_MEMBER void add(const hdd_run &run, u32 more)
    {
        n += more;
        if ((u64)n * run.launch.warps > run.launch.sink.mask / 16)
            flush(run);
    }

    // At the end, too. Whole warp.
    HDD_MEMBER void flush(const hdd_run &run)
    {
        if (n && hdd_lane() == 0)
            hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)n);
        n = 0;
    }
};

// The rows are the slots: a row begins with its key, 0 where there is none. Who swaps a key for the 0
// has a new group, and nobody has to wait for anything: what else there is in a row is added to by
// atomics, or not read by this kernel. The host makes room for all where a search finds seven eighths taken.
struct hdd_word_groups {
    const hdd_run &run;
    hdd_uncounted &uncounted;
    u64 slots; // any number of them

    HDD_MEMBER hdd_word_groups(const hdd_run &r, hdd_uncounted &u)
        : run(r), uncounted(u), slots(r.launch.sink.mask + 1)
    {
    }

    // As hdd_groups::find; `init(row)` writes what is stored beside the key. Whole warp.
    template <class Row, class Init> HDD_MEMBER hdd_found find(bool live, u64 word, Row *rows, Init init) const
    {
        const u32 group_lanes = hdd_match(word) & hdd_ballot(live);
        const u32 ahead = live ? hdd_lowest(group_lanes) : hdd_lane();
        bool looks = live && ahead == hdd_lane();
        u64 at = hdd_word_place(word, slots);
        u32 place = 0;
        HDD_NO_UNROLL
        for (;;) {
            bool fresh = false;
            HDD_NO_UNROLL
            for (u32 k = 0; looks && k < HDD_PROBES; k++) {
                const u64 there = look(reinterpret_cast<u64 *>(rows + at), word, fresh);
                looks = there != word;
                if (looks)
                    at = at + 1 == slots ? 0 : at + 1;
                else
                    place = (u32)at + 1;
            }
            if (fresh)
                init(at);
            uncounted.add(run, hdd_popc(hdd_ballot(fresh)));
            if (!hdd_any(looks) || full())
                break;
        }
        return hdd_found{hdd_shuffle(place, ahead), group_lanes};
    }

  private:
    // The key of a row, which is `word` from now on if there was none.
    HDD_MEMBER u64 look(u64 *key, u64 word, bool &fresh) const
    {
        u64 there = hdd_load_relaxed(key);
        if (there == 0) {
            there = hdd_atomic_cas(key, (u64)0, word);
            fresh = there == 0;
        }
        return fresh ? word : there;
    }

    // The host takes it from here: no more is looked up. Whole warp.
    HDD_MEMBER bool full() const
    {
        const u64 last = slots - 1;
        if (hdd_load_relaxed(reinterpret_cast<u64 *>(run.launch.sink.cursor)) > last - last / 8)
            run.abort();
        return hdd_any(run.aborted());
    }
};

#endif
