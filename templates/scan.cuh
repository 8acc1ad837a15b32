// Level 0 of the traversal: rows of the source that passed the cheap predicate of their tile
// and wait to be visited. Tiles come from cursors of the whole grid, not from an equal
// partition (docs/architecture.md, "Balancing"). What waits is a bit mask of survivors per lane, of up to 32 of its rows
// in as many tiles, and the fewer than 32 rows of earlier tiles that were left when there was no room for another. To line
// rows up takes longer than to read a tile, so it is done when there is a visit's worth, or no room.
//
// Registers only; all members but the lane's own `alive` and `left` are the same in every
// lane. Whole warps call. Rows come out in ascending order while one warp takes all tiles, which then wait one at a time.
#ifndef HDD_SCAN_CUH
#define HDD_SCAN_CUH

#include "hd/profile.cuh"
#include "hd/run.cuh"
#include "hd/tile.cuh"
#include "hd/warp.cuh"

// A level as a type: level L of a pipeline is chosen at run time, its code at compile time.
template <int L> struct hdd_level {
};

// Half of what a warp has at this level, in the memory of a mailbox.
struct hdd_scan_donation {
    u64 tile, tile_end;
    u32 first, nleft;
    u32 alive[HDD_LANES], left[HDD_LANES];
};

// Rows of a tile: of a lane, and of its warp; tiles that wait at a time.
template <class Pipeline> struct hdd_tile_size {
    enum : u32 { lane = Pipeline::lane_rows, warp = lane * HDD_LANES, waiting = 32 / lane };
};

struct hdd_scan {
    enum { OWN = ~0u, ANY = OWN - 1 };

    u32 rows;           // where the source ends
    u32 tile, tile_end; // tiles that were taken and not read yet
    u32 cursor;         // to take more from; OWN: nothing was taken yet; ANY: one that has some
    bool exhausted;     // there are no more
    u32 first;          // of the first tile that `alive` belongs to
    u32 alive;          // lane_rows bits of each: bit j of a tile is its row lane_rows * lane + j
    u32 left;           // in lanes below nleft: a row of an earlier tile
    u32 nleft;
    u32 pending; // rows that wait: nleft and the survivors of all lanes

    HDD_MEMBER explicit hdd_scan(const hdd_run &run)
        : rows((u32)run.rows()), tile(0), tile_end(0), cursor(OWN), exhausted(false), first(0), alive(0), left(0), nleft(0),
          pending(0)
    {
        exhausted = rank(run) >= run.launch.scan_warps;
    }

    // Number of the warp, the first ones of all blocks before the second ones: few tiles are for all multiprocessors.
    HDD_MEMBER static u32 rank(const hdd_run &run)
    {
        return hdd_warp() * (run.launch.warps / hdd_block_warps()) + hdd_block();
    }

    // Rows that wait and rows that were not looked at yet.
    template <class Pipeline> HDD_MEMBER u64 nodes() const
    {
        return pending + (u64)(tile_end - tile) * hdd_tile_size<Pipeline>::warp;
    }

    // Only this tile, of whose rows' children the warp has a part. Whole warp; where the query stops the kernel that makes the
    // rows may have left some unwritten, so that not even the first tile is read.
    template <class Pipeline> HDD_MEMBER void restrict_to(const Pipeline &p, u32 its_tile)
    {
        tile = its_tile;
        tile_end = tile + (!hdd_any(p.run.aborted()) && (u64)tile * hdd_tile_size<Pipeline>::warp < rows);
        exhausted = true;
    }

    // There may be rows: some wait, or there are tiles.
    HDD_MEMBER bool has_more() const
    {
        return pending || tile != tile_end || !exhausted;
    }

    // The next rows, one for each of the first lanes: reads tiles until as many as wanted wait or
    // there are no tiles. How many; 0: none are left.
    template <class Pipeline> HDD_MEMBER u32 next(Pipeline &p, u32 wanted, u32 &row)
    {
        for (;;) {
            const bool enough = pending >= wanted || (tile == tile_end && !claim_tiles(p));
            if (!enough && has_room(p)) {
                read_tile(p);
                continue;
            }
            const u32 n = pop<Pipeline>(row);
            if (enough)
                return n;
            left = row;
            pending = nleft = n;
        }
    }

    // Removes the first rows that wait, at most one per lane: how many.
    template <class Pipeline> HDD_MEMBER u32 pop(u32 &row)
    {
        const u32 lane = hdd_lane(), n = hdd_min(pending, HDD_LANES), of_tile = n - nleft;
        const u32 mine = hdd_popc(alive), upto = hdd_warp_prefix_sum(mine), before = upto - mine;
        const u32 j = lane - nleft; // of the tile's survivors; wraps for lanes with a left row
        const u32 owner = hdd_owner(upto, j);
        const u32 mask = hdd_shuffle(alive, owner), skip = hdd_shuffle(before, owner);
        if (lane < nleft)
            row = left;
        else if (lane < n)
            row = row_of<Pipeline>(owner, hdd_nth_bit(mask, j - skip));
        if (before < of_tile)
            alive = hdd_drop_bits(alive, of_tile - before);
        nleft = 0;
        pending -= n;
        return n;
    }

    // The next tile by its first row, for kernels that need no survivors in line. False: none
    // is left.
    template <class Pipeline> HDD_MEMBER bool pop_tile(const Pipeline &p, u32 &at)
    {
        if (tile == tile_end && !claim_tiles(p))
            return false;
        at = tile++ * hdd_tile_size<Pipeline>::warp;
        return true;
    }

    // ---- work-sharing ----------------------------------------------------------------------

    // Both halves have something: a row, or a tile.
    HDD_MEMBER bool divisible() const
    {
        return pending + (tile_end - tile) >= 2;
    }

    // Donates every second row that waits, and the later half of the tiles not read; of one
    // tile all, if a row stays.
    HDD_MEMBER void donate(hdd_scan_donation &donation)
    {
        const u32 lane = hdd_lane(), mine = hdd_popc(alive);
        const u32 middle = tile + (tile_end - tile + (pending == 0)) / 2;
        if (lane == 0) {
            donation.tile = middle;
            donation.tile_end = tile_end;
            donation.first = first;
            donation.nleft = nleft / 2;
        }
        if (lane < nleft && lane % 2)
            donation.left[lane / 2] = left;
        const u32 odd = odd_ranks(nleft + hdd_warp_prefix_sum(mine) - mine);
        donation.alive[lane] = odd;
        alive &= ~odd;
        left = hdd_shuffle(left, lane * 2 % HDD_LANES);
        nleft = (nleft + 1) / 2;
        tile_end = middle;
        pending = nleft + hdd_warp_add(hdd_popc(alive));
    }

    // Takes a donation; nothing waits here.
    HDD_MEMBER void receive(const hdd_scan_donation &donation)
    {
        HDD_ASSERT(pending == 0 && tile == tile_end);
        tile = (u32)donation.tile;
        tile_end = (u32)donation.tile_end;
        first = donation.first;
        nleft = donation.nleft;
        alive = donation.alive[hdd_lane()];
        left = hdd_lane() < nleft ? donation.left[hdd_lane()] : 0;
        pending = nleft + hdd_warp_add(hdd_popc(alive));
        HDD_ASSERT(pending || tile < tile_end);
    }

  private:
    // The next group of tiles, or what is left of one; false: there is none, or the query stops. Whole warp. The first
    // groups are the warps' own, one each. Those behind are dealt out to the cursors by turns; a warp stays with a cursor
    // as long as it has some, and then goes to one that has.
    template <class Pipeline> HDD_MEMBER bool claim_tiles(const Pipeline &p)
    {
        constexpr u32 size = hdd_tile_size<Pipeline>::warp;
        const hdd_launch &l = p.run.launch;
        const u32 base = (u32)(l.first_row / size), end = rows / size + (rows % size != 0);
        const u32 batch = 1u << l.batch_bits, groups = end > base ? (end - base + batch - 1) >> l.batch_bits : 0;
        u32 group = rank(p.run);
        HDD_NO_UNROLL
        while (!exhausted && (cursor != ANY || choose(l, groups))) {
            u32 taken = 0;
            bool stopped = false;
            if (hdd_lane() == 0) { // one wait for both
                if (cursor != OWN)
                    taken = hdd_atomic_add(&reinterpret_cast<hdd_cursor *>(l.cursors)[cursor].taken, 1u);
                stopped = p.run.aborted();
            }
            if (hdd_shuffle(stopped, 0))
                return false;
            if (cursor != OWN)
                group = next_of(l, cursor, hdd_shuffle(taken, 0));
            else
                cursor = group & (l.ncursors - 1);
            exhausted = groups <= l.scan_warps;
            if ((group < l.scan_warps ? next_of(l, cursor, 0) : group + l.ncursors) >= groups)
                cursor = ANY;
            if (group < groups) {
                tile = base + (group << l.batch_bits);
                tile_end = hdd_min(end, tile + batch);
                return true;
            }
        }
        return false;
    }

    // A cursor that has some; false: none has. Warps begin to look at different ones.
    HDD_MEMBER bool choose(const hdd_launch &l, u32 groups)
    {
        const hdd_cursor *const cursors = reinterpret_cast<const hdd_cursor *>(l.cursors);
        const u32 c = hdd_lane(), first = hdd_block() & (l.ncursors - 1);
        const u32 some = hdd_ballot(c < l.ncursors && next_of(l, c, hdd_load_relaxed(&cursors[c].taken)) < groups);
        const u32 behind = some >> first;
        exhausted = !some;
        if (some)
            cursor = behind ? hdd_lowest(behind) + first : hdd_lowest(some);
        return some != 0;
    }

    HDD_MEMBER static u32 next_of(const hdd_launch &l, u32 cursor, u32 taken)
    {
        return l.scan_warps + taken * l.ncursors + cursor;
    }

    // Of bit `at` of a lane's survivors.
    template <class Pipeline> HDD_MEMBER u32 row_of(u32 lane, u32 at) const
    {
        typedef hdd_tile_size<Pipeline> size;
        return first + at / size::lane * size::warp + lane * size::lane + at % size::lane;
    }

    // The next tile can wait beside those that do: it is one of those behind them, which no other one's bits are for.
    template <class Pipeline> HDD_MEMBER bool has_room(const Pipeline &p) const
    {
        typedef hdd_tile_size<Pipeline> size;
        return pending == nleft || (p.run.launch.scan_warps > 1 && tile - first / size::warp < size::waiting);
    }

    template <class Pipeline> HDD_MEMBER void read_tile(Pipeline &p)
    {
        typedef hdd_tile_size<Pipeline> size;
        const u32 at = tile++ * size::warp, n = hdd_tile_rows<size::lane>(at, rows);
        if (pending == nleft)
            first = at;
        alive |= p.tile(at + (n ? hdd_lane() * size::lane : 0), n) << (at - first) / HDD_LANES;
        if (Pipeline::tile_steps > 0)
            hdd_count_tile(p.run, Pipeline::levels, rows - at);
        pending = nleft + hdd_warp_add(hdd_popc(alive));
    }

    // This lane's survivors whose rank in the warp is odd; the first has the given rank.
    HDD_MEMBER u32 odd_ranks(u32 rank) const
    {
        u32 odd = 0;
        for (u32 rest = alive; rest; rest &= rest - 1, rank++)
            if (rank % 2)
                odd |= rest & (0u - rest);
        return odd;
    }
};

#endif
