// AGG_DENSE on a clustered key: rows of a group are neighbours in the source, so a warp that
// takes 256 rows in order has whole groups. Each lane adds up the runs of equal keys among its
// eight rows in registers, runs that go on from lane to lane are joined by a segmented prefix sum, and
// a group whose rows all lie within the tile is stored as one row, without an atomic: nobody
// else has any of it. Only the first and the last group of a tile may have rows in other tiles
// and are added to. So a key with a tenth of all rows costs one atomic per tile.
//
// The pipeline has, beside what accumulate.cuh asks for,
//
//   void store_run(Row &, const accumulators &)   the whole row
#ifndef HDD_RUNS_CUH
#define HDD_RUNS_CUH

#include "hd/accumulate.cuh"
#include "hd/load.cuh"

HDD_DEVICE void hdd_store_pieces(u64 *to, u64 a, u64 b)
{
    hdd_store16(to, a, b);
}

template <class T> HDD_DEVICE void hdd_store_pieces(T *to, T a, T b)
{
    to[0] = a;
    to[1] = b;
}

// A row of which this thread writes every byte.
template <class Row> HDD_DEVICE void hdd_store_row(Row *to, const Row &from)
{
    typedef typename hdd_row_piece<sizeof(Row)>::type piece;
    const piece *const pieces = reinterpret_cast<const piece *>(&from);
    piece *const out = reinterpret_cast<piece *>(to);
    constexpr u32 n = sizeof(Row) / sizeof(piece), step = sizeof(Row) % 16 ? 1 : 2;
    HDD_UNROLL
    for (u32 k = 0; k < n; k += step)
        if (step == 2)
            hdd_store_pieces(out + k, pieces[k], pieces[k + 1]);
        else
            out[k] = pieces[k];
}

// One tile of a warp.
template <class Run> struct hdd_runs {
    static constexpr u64 none = ~(u64)0;
    u64 at;      // group of the lane's last run so far, none: it has seen no row
    u64 head_at; // of its first run, once there is another
    bool more;   // there is
    Run now, head;

    HDD_MEMBER hdd_runs() : at(none), head_at(none), more(false), now(), head()
    {
    }

    // The next row of this lane belongs to a group; its values go to `now`. A run between two
    // others of the lane is a whole group.
    template <class Pipeline> HDD_MEMBER void row(Pipeline &p, u64 group)
    {
        if (group == at)
            return;
        if (more) {
            p.store_run(p.sink[at], now);
        } else if (at != none) {
            head = now;
            head_at = at;
            more = true;
        }
        at = group;
        now = Run();
    }

    // The tile has no more rows. Whole warp.
    template <class Pipeline> HDD_MEMBER void finish(Pipeline &p)
    {
        const bool some = at != none;
        const u32 live = hdd_ballot(some), below = live & hdd_lanes_below();
        const u32 last = below ? hdd_highest(below) : 0;
        // The run that a lane begins with is the one that the last live lane ended with.
        const bool joined = hdd_shuffle(at, last) == (more ? head_at : at) && some && below != 0;
        const u32 joins = hdd_ballot(joined), split = hdd_ballot(more);
        const u32 starts = split | (live & ~joins); // lanes in which their last run began
        add_up(p, starts & hdd_lanes_upto());
        const Run before = p.of_lane(now, last);
        if (live == 0)
            return;
        // Other tiles may have rows of the first run, and of the last.
        const u32 first = hdd_lowest(live);
        const u32 opens = (split >> first & 1) ? HDD_LANES : first;
        if (more) {
            if (joined)
                p.merge(head, before);
            const bool shared = joined ? hdd_highest(starts & below) == opens : hdd_lane() == first;
            close(p, head_at, head, shared);
        }
        const u32 above = live & ~hdd_lanes_upto();
        const bool goes_on = above != 0 && (joins >> hdd_lowest(above) & 1);
        if (some && !goes_on)
            close(p, at, now, above == 0 || hdd_highest(starts & hdd_lanes_upto()) == opens);
    }

  private:
    // Last runs of lanes, each with those of the lanes before that it goes on from; `starts`
    // has the lane where it began as its highest bit.
    template <class Pipeline> HDD_MEMBER void add_up(Pipeline &p, u32 starts)
    {
        const u32 behind = starts ? hdd_lane() - hdd_highest(starts) : 0;
        HDD_NO_UNROLL
        for (u32 by = 1; hdd_any(behind >= by); by *= 2) {
            const Run other = p.of_lane(now, (hdd_lane() - by) % HDD_LANES);
            if (behind >= by)
                p.merge(now, other);
        }
    }

    template <class Pipeline> HDD_MEMBER static void close(Pipeline &p, u64 group, const Run &run, bool shared)
    {
        if (shared)
            p.add_accumulators(p.sink[group], run);
        else
            p.store_run(p.sink[group], run);
    }
};

#endif
