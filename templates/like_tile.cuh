// LIKE over the strings of a tile's rows, by the whole warp. Strings of neighbouring rows of a column are one run of bytes
// (a tile lies in one block of FE_TEXT_BLOCK_SHIFT bits), which the warp reads from end to end, 16 aligned bytes a lane.
// Wherever a piece of seven bytes begins, it has one whole aligned word: of four possible ones, as it begins at a multiple
// of four, or one, two or three bytes behind. So comparing aligned words with four constants finds the few chunks of 16
// bytes that a row which matches has one of (hdd_like_pattern). Rows with such a chunk are matched as ever, 32 at a time.
#ifndef HDD_LIKE_TILE_CUH
#define HDD_LIKE_TILE_CUH

#include "hd/like.cuh"
#include "hd/load.cuh"
#include "hd/tile.cuh"
#include "hd/warp.cuh"

constexpr u32 HDD_LIKE_CHUNKS = HDD_LANES * HDD_LANES; // whose bits a warp keeps at a time, a word a lane
constexpr u32 HDD_LIKE_LOADS = 4;                      // of a lane that are on their way
constexpr u32 HDD_LIKE_RUN = 1u << 30;                 // a longer one has places beyond 32 bits with a sign

// Strings of a column of the scanned table, as hdd_column_string has them.
struct hdd_like_column {
    const u32 *ends;
    const u64 *bases;
    const u8 *bytes;

    HDD_MEMBER u32 start(u32 row) const
    {
        return row & 0xffff ? hdd_load_const(ends + row - 1) : 0;
    }
};

// The words to look for. whole: each has four bytes that are compared.
template <bool whole> struct hdd_like_sought {
    u32 word[4], compared[4];

    HDD_MEMBER explicit hdd_like_sought(const hdd_like_pattern *p)
    {
        HDD_UNROLL
        for (u32 k = 0; k < 4; k++)
            word[k] = p->word[k], compared[k] = p->compared[k];
    }

    HDD_MEMBER bool in(const u32 *w) const
    {
        bool found = false;
        HDD_UNROLL
        for (u32 i = 0; i < 4; i++) {
            HDD_UNROLL
            for (u32 k = 0; k < 4; k++)
                found |= (whole ? w[i] : w[i] & compared[k]) == word[k];
        }
        return found;
    }
};

// Which of the chunks from `text` on, HDD_LIKE_CHUNKS at most, have one of the words: lane s has the bits of 32 from 32 s on;
// behind the last one they mean nothing.
template <bool whole> HDD_DEVICE u32 hdd_like_chunks(const hdd_like_pattern *p, const u8 *text, u32 n)
{
    const hdd_like_sought<whole> sought(p);
    const u32 lane = hdd_lane(), steps = (hdd_min(n, HDD_LIKE_CHUNKS) + HDD_LANES - 1) / HDD_LANES;
    u32 mine = 0;
    HDD_NO_UNROLL
    for (u32 step = 0; step < steps; step += HDD_LIKE_LOADS) {
        u32 w[HDD_LIKE_LOADS][4];
        HDD_UNROLL
        for (u32 k = 0; k < HDD_LIKE_LOADS; k++) {
            const u8 *const at = text + (u64)16 * hdd_min((step + k) * HDD_LANES + lane, n - 1);
            hdd_load_const16(at, w[k][0], w[k][1], w[k][2], w[k][3]);
        }
        HDD_UNROLL
        for (u32 k = 0; k < HDD_LIKE_LOADS; k++) {
            const u32 found = hdd_ballot(sought.in(w[k]));
            mine = lane == step + k ? found : mine;
        }
    }
    return mine;
}

// Chunks with a word, of HDD_LIKE_CHUNKS that lie together.
struct hdd_like_found {
    u32 mine;  // this lane's bits
    u32 lanes; // those that have some

    HDD_MEMBER explicit hdd_like_found(u32 bits) : mine(bits), lanes(hdd_ballot(bits != 0))
    {
    }

    // One from a to b; of more than 32, one in the words of these. Whole warp; its lanes ask for different ones.
    HDD_MEMBER bool among(i32 a, i32 b) const
    {
        const u32 first = a > 0 ? (u32)a : 0, last = b < (i32)HDD_LIKE_CHUNKS ? (u32)b : HDD_LIKE_CHUNKS - 1;
        const u32 s = first / HDD_LANES % HDD_LANES, e = last / HDD_LANES % HDD_LANES, more = last - first;
        const u32 low = hdd_shuffle(mine, s), high = hdd_shuffle(mine, (s + 1) % HDD_LANES);
        const u32 here = hdd_shift_pair(low, high, first % HDD_LANES) << (31 - more % HDD_LANES);
        const u32 some = more < HDD_LANES ? here : lanes & ((2u << e) - (1u << s));
        return (i32)first <= (i32)last && some;
    }
};

template <bool wild> struct hdd_like_tile_of {
    const hdd_run &run;
    const hdd_like_column column;
    const hdd_like_pattern *const pattern;

    // Of the lane's n rows from `first` on those that match. Whole warp, with the tile's rows in a row; a lane that has none
    // is given the tile's first.
    HDD_MEMBER u32 operator()(u32 first, u32 n) const
    {
        const u32 tile = hdd_shuffle(first, 0), rows = hdd_warp_add(n);
        return rows ? matches(tile, candidates(tile, rows, first) & hdd_low_bits(n)) : 0;
    }

  private:
    // Rows that may match.
    HDD_MEMBER u32 candidates(u32 tile, u32 rows, u32 first) const
    {
        const u32 start = column.start(tile), end = hdd_load_const(column.ends + tile + rows - 1);
        if (!pattern->sought || end - start > HDD_LIKE_RUN)
            return ~0u;
        const u8 *text = column.bytes + hdd_load_const(column.bases + (tile >> 16)) + start;
        const u32 skip = (u32)(reinterpret_cast<u64>(text) % 16), n = (skip + (end - start) + 15) / 16;
        u32 some = 0;
        text -= skip;
        HDD_NO_UNROLL
        for (u32 at = 0; at < n; at += HDD_LIKE_CHUNKS) {
            if (at && hdd_any(hdd_like_aborted(run.progress)))
                break;
            const hdd_like_found found(pattern->sought == 4
                                           ? hdd_like_chunks<true>(pattern, text + (u64)16 * at, n - at)
                                           : hdd_like_chunks<false>(pattern, text + (u64)16 * at, n - at));
            if (found.lanes)
                some |= rows_with(found, first, start, skip - start - 16 * at);
        }
        return some;
    }

    // Rows with one of these chunks where a match has one. A byte of the column is `shift` behind its place among them.
    HDD_MEMBER u32 rows_with(const hdd_like_found &found, u32 first, u32 start, u32 shift) const
    {
        const hdd_tile<u32> ends(column.ends, first);
        const u32 front = shift + (u32)pattern->front, back = shift - pattern->back, min = pattern->min;
        const u32 before = hdd_shuffle_up(ends[HDD_TILE_ROWS - 1], 1);
        u32 from = hdd_lane() ? before : start, some = 0;
        HDD_UNROLL
        for (u32 j = 0; j < HDD_TILE_ROWS; j++) {
            const u32 end = ends[j];
            const bool here = found.among((i32)(from + front) >> 4, (i32)(end + back) >> 4);
            some |= here && end - from >= min ? 1u << j : 0;
            from = end;
        }
        return some;
    }

    // Those of the rows in `left` that match: taken together from all lanes, for a lane each.
    HDD_MEMBER u32 matches(u32 tile, u32 left) const
    {
        u32 matched = 0;
        HDD_NO_UNROLL
        while (hdd_any(left != 0)) {
            const u32 lane = hdd_lane(), mine = hdd_popc(left);
            const u32 upto = hdd_warp_prefix_sum(mine), before = upto - mine;
            const u32 owner = hdd_owner(upto, lane), its = hdd_shuffle(left, owner);
            const u32 skip = hdd_shuffle(before, owner);
            bool match = false;
            if (lane < hdd_shuffle(upto, HDD_LANES - 1)) {
                const u32 row = tile + owner * HDD_TILE_ROWS + hdd_nth_bit(its, lane - skip);
                const hdd_string s = hdd_column_string(column.ends, column.bases, column.bytes, (i32)row);
                match = hdd_like_of<wild>{run, pattern}(s);
            }
            const u32 found = hdd_ballot(match);
            HDD_NO_UNROLL
            for (u32 k = before; k < hdd_min(upto, HDD_LANES); k++) {
                matched |= found >> k & 1 ? left & (0u - left) : 0;
                left &= left - 1;
            }
        }
        return matched;
    }
};

template <bool wild>
HDD_DEVICE u32 hdd_like_tile(const hdd_run &run, const u32 *ends, const u64 *bases, const u8 *bytes,
                             const hdd_like_pattern *p, u32 first, u32 n)
{
    return hdd_like_tile_of<wild>{run, {ends, bases, bytes}, p}(first, n);
}

#endif
