// Groups of AGG_HASH in kernels of a first tier, by the tables and rules of aggregate.cuh in half of its code, because what
// counts is how long a compiler takes: each lane looks its own key up. Lanes of one group still add together.
#ifndef HDD_GROUPS_BY_LANE_CUH
#define HDD_GROUPS_BY_LANE_CUH

#include "hd/aggregate.cuh"

// Lanes with one place. Whole warp.
HDD_DEVICE hdd_found hdd_found_at(u32 place)
{
    return hdd_found{place, hdd_match(place) & hdd_ballot(place != 0)};
}

// As hdd_groups; each new group is an addition to the cursor.
struct hdd_groups_by_lane {
    const hdd_run &run;
    u64 *slots;
    u64 mask;

    HDD_MEMBER explicit hdd_groups_by_lane(const hdd_run &r)
        : run(r), slots(reinterpret_cast<u64 *>(r.launch.sink.slots)), mask(r.launch.sink.mask)
    {
    }

    // Whole warp; may wait for another one that writes a key.
    template <class Same, class Init> HDD_MEMBER hdd_found find(bool live, u64 h, Same same, Init init) const
    {
        u32 place = 0, steps = 0;
        HDD_NO_UNROLL
        for (bool looks = live; hdd_any(looks);) {
            bool busy = false;
            if (looks) {
                u64 *const at = slots + ((h + steps) & mask);
                u64 slot = hdd_load_relaxed(at);
                if (slot == 0)
                    slot = hdd_atomic_cas(at, (u64)0, h | HDD_SLOT_BUSY);
                const bool fresh = slot == 0, met = !fresh && slot >> 32 == h >> 32;
                busy = met && (u32)slot == HDD_SLOT_BUSY;
                steps += !busy;
                u64 row = (u32)slot - 1;
                if (fresh)
                    row = hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)1);
                const bool room = row < run.launch.sink.capacity;
                if (fresh && room)
                    init(row);
                hdd_fence(); // the row before its slot here, a slot before its row where another lane's was met
                if (fresh)
                    hdd_store_relaxed(at, (h & ~(u64)HDD_SLOT_BUSY) + row + 1);
                if (fresh && row == mask - mask / 8) // the host takes it from here
                    run.abort();
                const bool mine = fresh || (met && !busy && (!room || same(row)));
                if (mine && room)
                    place = (u32)row + 1;
                looks = !mine && !run.aborted();
            }
            if (hdd_any(busy))
                hdd_back_off();
        }
        return hdd_found_at(place);
    }
};

// As hdd_word_groups; a turn's new groups of a warp are one addition to the cursor.
struct hdd_word_groups_by_lane {
    const hdd_run &run;
    u64 slots; // any number of them

    HDD_MEMBER explicit hdd_word_groups_by_lane(const hdd_run &r) : run(r), slots(r.launch.sink.mask + 1)
    {
    }

    // Whole warp.
    template <class Row, class Init> HDD_MEMBER hdd_found find(bool live, u64 word, Row *rows, Init init) const
    {
        u64 at = hdd_word_place(word, slots);
        u32 place = 0;
        HDD_NO_UNROLL
        for (bool looks = live; hdd_any(looks);) {
            bool fresh = false;
            if (looks) {
                u64 *const key = reinterpret_cast<u64 *>(rows + at);
                u64 there = hdd_load_relaxed(key);
                if (there == 0)
                    there = hdd_atomic_cas(key, (u64)0, word);
                fresh = there == 0;
                if (fresh)
                    init(at);
                if (fresh || there == word)
                    place = (u32)at + 1;
                looks = place == 0 && !run.aborted();
                at = at + 1 == slots ? 0 : at + 1;
            }
            count(hdd_ballot(fresh));
        }
        return hdd_found_at(place);
    }

  private:
    // Lanes with a new group. The host takes it from here where seven eighths are taken.
    HDD_MEMBER void count(u32 lanes) const
    {
        const u64 last = slots - 1;
        if (lanes == 0 || hdd_lane() != hdd_lowest(lanes))
            return;
        const u32 more = hdd_popc(lanes);
        if (hdd_atomic_add(reinterpret_cast<u64 *>(run.launch.sink.cursor), (u64)more) + more > last - last / 8)
            run.abort();
    }
};

#endif
