// LIKE over a compiled pattern. One thread at a time.
#ifndef HDD_LIKE_CUH
#define HDD_LIKE_CUH

#include "hd/run.cuh"
#include "hd/value.cuh"

// A compiled LIKE pattern, one block of memory in host and device form alike: this head,
// `npieces` pieces, then their bytes and tables. Pieces stand between the `%` of the pattern; `_`
// matches one byte. Places in the block are counted from the start of the head.
struct hdd_like_piece {
    u32 at; // of its bytes; their wildcard flags follow them
    u32 n;
    u32 borders; // of the table of Morris and Pratt; 0: it has a `_`
    u32 masks;   // of those of its words; 0: it has no `_`, or is short
    u32 head;    // its first four bytes, the first one lowest; 0 where it has none, and for `_`
    u32 compared; // 0xff for each byte of the head that is compared
};
struct hdd_like_pattern {
    u32 open_start, open_end; // a `%` there
    u32 npieces;
    u32 min; // bytes of all pieces: no shorter string matches
};

// Bytes of a text times bytes of the pattern up to which comparing at place after place is never
// long, whatever they hold.
constexpr u32 HDD_LIKE_SHORT = 8192;
constexpr u32 HDD_LIKE_POLL = 4096; // places of a text between two looks at the abort word

// ---- short texts: place after place. wild: some pattern byte is `_` ------------------------

template <bool wild> HDD_DEVICE bool hdd_like_at(const u8 *piece, u32 n, const u8 *s)
{
    for (u32 i = 0; i < n; i++)
        if (piece[i] != s[i] && !(wild && piece[n + i]))
            return false;
    return true;
}

// Where in a string the head of a piece stands. The string is read in aligned words of eight bytes, of which the first
// and the last hold bytes of others too: device memory is allocated in wholes of 16 bytes (runtime/gpu/gpu_pool.c).
// all: the head has four bytes that are compared.
template <bool all> struct hdd_like_heads {
    const u32 *word; // the second of w
    u32 w[4];
    i32 at;      // place of w's first byte; below 0 in the first word of the string
    u32 places;  // bit k: the head stands at + k, where nothing was looked at yet
    i32 from, last; // places that count

    HDD_MEMBER hdd_like_heads(const u8 *s, u32 first, u32 end) : places(0), from((i32)first), last((i32)end)
    {
        at = (i32)first - (i32)(reinterpret_cast<u64>(s + first) % 8) - 8;
        word = reinterpret_cast<const u32 *>(s + at) + 2;
        w[2] = word[0], w[3] = word[1];
    }

    // The four bytes from byte k of w on.
    HDD_MEMBER bool fits(const hdd_like_piece &q, u32 k) const
    {
        const u32 v = hdd_shift_pair(w[k / 4], w[k / 4 + 1], 8 * (k % 4));
        return (all ? v : v & q.compared) == q.head;
    }

    // Goes on to the next place, false: there is none. Eight places are compared before any is looked at by itself, and
    // a lane that has found one waits for the others of its warp: together they compare the rest of the piece.
    HDD_MEMBER bool find(const hdd_like_piece &q)
    {
        HDD_NO_UNROLL
        while (!places) {
            at += 8;
            if (at > last)
                return false;
            w[0] = w[2], w[1] = w[3];
            if (at + 8 < last + (i32)q.n)
                word += 2, w[2] = word[0], w[3] = word[1];
            bool some = false;
            HDD_UNROLL
            for (u32 k = 0; k < 8; k++)
                some |= fits(q, k);
            if (some)
                mark(q);
        }
        return true;
    }

    HDD_MEMBER void mark(const hdd_like_piece &q)
    {
        HDD_UNROLL
        for (u32 k = 0; k < 8; k++)
            places |= (u32)(fits(q, k) && at + (i32)k >= from && at + (i32)k <= last) << k;
    }
};

// First place of [from, last] where the piece fits, or -1.
template <bool wild, bool all>
HDD_DEVICE i32 hdd_like_find(const u8 *piece, const hdd_like_piece &q, const u8 *s, u32 from, u32 last)
{
    hdd_like_heads<all> heads(s, from, last);
    HDD_NO_UNROLL
    while (heads.find(q)) {
        const i32 place = heads.at + (i32)hdd_lowest(heads.places);
        if (hdd_like_at<wild>(piece, q.n, s + place))
            return place;
        heads.places &= heads.places - 1;
    }
    return -1;
}

template <bool wild> struct hdd_like_short {
    const u8 *base, *s;

    HDD_MEMBER i32 operator()(const hdd_like_piece *q, u32 from, u32 end) const
    {
        if (from + q->n > end)
            return -1;
        return q->compared == ~0u ? hdd_like_find<wild, true>(base + q->at, *q, s, from, end - q->n)
                                  : hdd_like_find<wild, false>(base + q->at, *q, s, from, end - q->n);
    }
};

// ---- long texts: in time linear in the text, until the run is aborted ----------------------
// Loops are not unrolled: rare code must not cost a kernel registers.

HDD_DEVICE bool hdd_like_aborted(const hdd_progress *progress)
{
    return hdd_load_relaxed(&progress->abort) != 0;
}

// By the table of Morris and Pratt.
struct hdd_like_long {
    const u8 *base, *s;
    const hdd_progress *progress;

    HDD_MEMBER i32 operator()(const hdd_like_piece *q, u32 from, u32 end) const
    {
        const u8 *const piece = base + q->at;
        const u32 *const border = reinterpret_cast<const u32 *>(base + q->borders);
        u32 k = 0;
        HDD_NO_UNROLL
        for (u32 i = from; i < end; i++) {
            HDD_NO_UNROLL
            while (k && s[i] != piece[k])
                k = border[k - 1];
            k += s[i] == piece[k];
            if (k == q->n)
                return (i32)(i + 1 - k);
            if (i % HDD_LIKE_POLL == 0 && hdd_like_aborted(progress))
                return -1;
        }
        return -1;
    }
};

// Bit i: the word of n bytes fits at s + i; for that many places, at most 32. Bit k of the state:
// the bytes up to here end with the word's first k + 1. Its masks: of each high, then of each low
// half of a byte, the bytes of the word that have it.
HDD_DEVICE u32 hdd_like_word(const u32 *masks, u32 n, const u8 *s, u32 places)
{
    u32 state = 0, fits = 0;
    HDD_NO_UNROLL
    for (u32 i = places + n - 1; i > 0; i--) {
        const u32 c = *s++;
        state = (state << 1 | 1) & masks[c >> 4] & masks[16 + (c & 15)];
        fits = fits >> 1 | (state >> (n - 1)) << 31;
    }
    return fits >> (32 - places);
}

// Pieces with `_` by words of 32 bytes at 32 places at once; where they are short, each place.
struct hdd_like_wild_long {
    const u8 *base, *s;
    const hdd_progress *progress;

    HDD_MEMBER i32 by_masks(const hdd_like_piece *q, u32 from, u32 end) const
    {
        HDD_NO_UNROLL
        for (u32 at = from; at + q->n <= end && !hdd_like_aborted(progress); at += 32) {
            const u32 places = hdd_min(32u, end - q->n - at + 1);
            const u32 *masks = reinterpret_cast<const u32 *>(base + q->masks);
            u32 fits = ~0u;
            HDD_NO_UNROLL
            for (u32 k = 0; k < q->n && fits; k += 32, masks += 32)
                fits &= hdd_like_word(masks, hdd_min(q->n - k, 32u), s + at + k, places);
            if (fits)
                return (i32)(at + hdd_lowest(fits));
        }
        return -1;
    }

    HDD_MEMBER i32 by_places(const hdd_like_piece *q, u32 from, u32 end) const
    {
        HDD_NO_UNROLL
        for (u32 at = from; at + q->n <= end; at++) {
            if (hdd_like_at<true>(base + q->at, q->n, s + at))
                return (i32)at;
            if (at % HDD_LIKE_POLL == 0 && hdd_like_aborted(progress))
                return -1;
        }
        return -1;
    }

    HDD_MEMBER i32 operator()(const hdd_like_piece *q, u32 from, u32 end) const
    {
        return q->borders ? hdd_like_long{base, s, progress}(q, from, end)
               : q->masks ? by_masks(q, from, end)
                          : by_places(q, from, end);
    }
};

// ---- a whole pattern -----------------------------------------------------------------------

// Greedy from the left: the first place for every piece leaves most room for the rest. The
// last piece is anchored unless the pattern ends with `%`.
template <class Find> HDD_DEVICE bool hdd_like_pieces(const hdd_like_pattern *p, u32 n, const Find &find)
{
    const hdd_like_piece *pieces = reinterpret_cast<const hdd_like_piece *>(p + 1);
    u32 at = 0;
    if (p->npieces == 0)
        return n == 0 || p->open_start || p->open_end;
    for (u32 k = 0; k < p->npieces; k++) {
        const u32 m = pieces[k].n;
        const bool first = k == 0 && !p->open_start, last = k + 1 == p->npieces && !p->open_end;
        if (last && n - at < m)
            return false;
        const u32 from = last ? n - m : at;
        if (first && from != 0)
            return false;
        const u32 end = first || last ? from + m : n;
        const i32 found = find(pieces + k, from, end <= n ? end : n);
        if (found < 0)
            return false;
        at = (u32)found + m;
    }
    return true;
}

template <bool wild> struct hdd_like_of {
    const hdd_run &run;
    const hdd_like_pattern *pattern;

    HDD_MEMBER bool operator()(hdd_string t) const
    {
        const u8 *base = reinterpret_cast<const u8 *>(pattern);
        const u32 n = (u32)t.n, min = pattern->min;
        if (n < min)
            return false;
        if ((u64)n * min <= HDD_LIKE_SHORT)
            return hdd_like_pieces(pattern, n, hdd_like_short<wild>{base, t.s});
        if (wild)
            return hdd_like_pieces(pattern, n, hdd_like_wild_long{base, t.s, run.progress});
        return hdd_like_pieces(pattern, n, hdd_like_long{base, t.s, run.progress});
    }
};

template <bool wild, class A> HDD_DEVICE auto hdd_like(const hdd_run &run, A a, const hdd_like_pattern *p)
{
    return hdd_strict(hdd_like_of<wild>{run, p}, a);
}

// The same as for long texts, whatever their length: a third of the code, for kernels that a compiler shall not take long
// for.
template <bool wild> struct hdd_like_quick_of {
    const hdd_run &run;
    const hdd_like_pattern *pattern;

    HDD_MEMBER bool operator()(hdd_string t) const
    {
        const u8 *base = reinterpret_cast<const u8 *>(pattern);
        const u32 n = (u32)t.n;
        if (n < pattern->min)
            return false;
        if (wild)
            return hdd_like_pieces(pattern, n, hdd_like_wild_long{base, t.s, run.progress});
        return hdd_like_pieces(pattern, n, hdd_like_long{base, t.s, run.progress});
    }
};

template <bool wild, class A> HDD_DEVICE auto hdd_like_quick(const hdd_run &run, A a, const hdd_like_pattern *p)
{
    return hdd_strict(hdd_like_quick_of<wild>{run, p}, a);
}

#endif
