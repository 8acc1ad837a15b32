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
    u32 tail;     // the last four bytes likewise, of a piece that has as many
    u32 tail_compared;
};
struct hdd_like_pattern {
    u32 open_start, open_end; // a `%` there
    u32 npieces;
    u32 min;   // bytes of all pieces: no shorter string matches
    u32 heads; // every piece has four bytes in its head that are compared
    // Aligned words that a match has one of, for like_tile.cuh: word k if the piece begins k bytes behind a multiple of
    // four. `sought`: bytes of each that are compared, at least; 0: no piece is long enough.
    u32 sought;
    u32 word[4], compared[4];
    i32 front; // places of a string in front of the first where the word may begin; below 0: it begins in front of the string
    u32 back;  // from the last one up to the string's end
};

// Bytes of a text times bytes of the pattern up to which comparing at place after place is never
// long, whatever they hold.
constexpr u32 HDD_LIKE_SHORT = 8192;
constexpr u32 HDD_LIKE_POLL = 4096; // places of a text between two looks at the abort word

// ---- short texts: place after place. wild: some pattern byte is `_` ------------------------

// Four bytes at any address: of the aligned words that hold them, none is read that holds no byte of them.
HDD_DEVICE u32 hdd_like_word_at(const u8 *s)
{
    const u32 skip = (u32)(reinterpret_cast<u64>(s) % 4);
    const u32 *const word = reinterpret_cast<const u32 *>(s - skip);
    return skip ? hdd_shift_pair(word[0], word[1], 8 * skip) : word[0];
}

// Bytes [first, end) of a piece against those of a string.
template <bool wild> HDD_DEVICE bool hdd_like_bytes(const u8 *piece, u32 n, const u8 *s, u32 first, u32 end)
{
    HDD_NO_UNROLL
    for (u32 i = first; i < end; i++)
        if (piece[i] != s[i] && !(wild && piece[n + i]))
            return false;
    return true;
}

// What of a piece is not its head: pieces of up to eight bytes are head and tail.
template <bool wild> HDD_DEVICE bool hdd_like_rest(const u8 *base, const hdd_like_piece &q, const u8 *s)
{
    if (q.n <= 4)
        return true;
    if ((hdd_like_word_at(s + q.n - 4) ^ q.tail) & q.tail_compared)
        return false;
    return hdd_like_bytes<wild>(base + q.at, q.n, s, 4, q.n - 4);
}

// The whole piece at one place.
template <bool wild> HDD_DEVICE bool hdd_like_at(const u8 *base, const hdd_like_piece &q, const u8 *s)
{
    if (q.n < 4)
        return hdd_like_bytes<wild>(base + q.at, q.n, s, 0, q.n);
    return !((hdd_like_word_at(s) ^ q.head) & q.compared) && hdd_like_rest<wild>(base, q, s);
}

// A lane's way through a string, for pieces that stand anywhere, one behind the other. The string is read in aligned
// words of 16 bytes, of which the first and the last hold bytes of others too: device memory is allocated in wholes
// of 16 bytes (runtime/gpu/gpu_pool.c). A lane that has found a piece goes on from there with the next one, while
// others of its warp are at other pieces and other words: no lane goes through its string twice.
// all: every piece has a head of four bytes that are compared.
template <bool wild, bool all> struct hdd_like_walk {
    const u8 *const base, *const s;
    const hdd_like_piece *q, *const stop;
    i32 from, last; // places that count
    const i32 end;
    u32 head, compared;
    i32 at; // of w's first byte; below 0 in the first word of the string
    u32 w[8];

    HDD_MEMBER hdd_like_walk(const u8 *pattern, const u8 *string, const hdd_like_piece *first,
                             const hdd_like_piece *behind, u32 start, u32 bound)
        : base(pattern), s(string), q(first), stop(behind), from((i32)start), end((i32)bound)
    {
        at = from - (i32)(reinterpret_cast<u64>(s + from) % 16);
        w[4] = w[5] = w[6] = w[7] = 0;
    }

    HDD_MEMBER bool run()
    {
        bool found = q == stop, going = !found && take();
        if (going) {
            load(at);
            slide();
        }
        HDD_NO_UNROLL
        while (going) { // one path, so that lanes stay together
            const u32 places = heads();
            const i32 place = places ? first(places) : -1;
            if (place >= 0) { // the next piece may begin in the same words
                from = place + (i32)q->n;
                found = ++q == stop;
                going = !found && take();
            } else {
                at += 16;
                going = at <= last;
                if (going)
                    slide();
            }
        }
        return found;
    }

  private:
    // The piece to look for; false: the string is too short.
    HDD_MEMBER bool take()
    {
        head = q->head, compared = q->compared;
        last = end - (i32)q->n;
        return from <= last;
    }

    HDD_MEMBER void load(i32 place)
    {
        hdd_load16(s + place, w[4], w[5], w[6], w[7]);
    }

    HDD_MEMBER void slide()
    {
        HDD_UNROLL
        for (u32 k = 0; k < 4; k++)
            w[k] = w[4 + k];
        if (at + 16 < end)
            load(at + 16);
    }

    HDD_MEMBER bool fits(u32 k) const
    {
        const u32 v = hdd_shift_pair(w[k / 4], w[k / 4 + 1], 8 * (k % 4));
        return (all ? v : v & compared) == head;
    }

    // Bit k: the head stands at + k, of the 16 places.
    HDD_MEMBER u32 heads() const
    {
        u32 places = 0;
        HDD_UNROLL
        for (u32 k = 0; k < 16; k++)
            places |= fits(k) ? 1u << k : 0;
        return from > at ? places & ~0u << hdd_min((u32)(from - at), 16u) : places;
    }

    // The first of them where the piece fits, or -1.
    HDD_MEMBER i32 first(u32 places) const
    {
        HDD_NO_UNROLL
        for (; places; places &= places - 1) {
            const i32 place = at + (i32)hdd_lowest(places);
            if (place > last)
                return -1;
            if (hdd_like_rest<wild>(base, *q, s + place))
                return place;
        }
        return -1;
    }
};

// A whole pattern. Greedy from the left: the first place for every piece leaves most room for the rest.
// n: no less than all pieces take.
template <bool wild> HDD_DEVICE bool hdd_like_short(const hdd_like_pattern *p, const u8 *s, u32 n)
{
    const u8 *const base = reinterpret_cast<const u8 *>(p);
    const hdd_like_piece *q = reinterpret_cast<const hdd_like_piece *>(p + 1), *stop = q + p->npieces;
    u32 from = 0, end = n;
    if (q == stop)
        return n == 0 || p->open_start || p->open_end;
    if (!p->open_start) {
        if (!hdd_like_at<wild>(base, *q, s))
            return false;
        from = q->n;
        if (++q == stop)
            return p->open_end || from == n;
    }
    if (!p->open_end) {
        stop--;
        end -= stop->n;
        if (!hdd_like_at<wild>(base, *stop, s + end))
            return false;
    }
    return p->heads ? hdd_like_walk<wild, true>(base, s, q, stop, from, end).run()
                    : hdd_like_walk<wild, false>(base, s, q, stop, from, end).run();
}

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
            if (hdd_like_at<true>(base, *q, s + at))
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
            return hdd_like_short<wild>(pattern, t.s, n);
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
