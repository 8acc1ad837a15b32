// Where groups of sorted rows begin and end, and running sums, minima, maxima and bits of fields, in place and in
// three launches: what chunks of rows amount to, what comes before each chunk, the rows themselves. Each row is read twice and
// written once, whatever is asked of it. A chunk is a warp's; it goes from 32 neighbours to the next 32, and no warp waits
// for another one. Where groups begin is a bit per row, so that the distance to the next or last of them is arithmetic.
#include "hd/accumulate.cuh"
#include "hd/finish_keys.cuh"

static_assert(HDD_RUNNING_CHUNK == HDD_LANES * HDD_LANES, "each lane keeps the heads of 32 rows");

// ---- fields ------------------------------------------------------------------------------------------------

// Ways to merge values of one type, of which none() changes nothing; bits of all types travel through memory.
struct hdd_sum_plus {
    template <class T> HDD_MEMBER static T of(T a, T b)
    {
        typedef typename hdd_unsigned<T>::type U;
        return (T)((U)a + (U)b);
    }
    HDD_MEMBER static f64 of(f64 a, f64 b)
    {
        return a + b;
    }
};

struct hdd_sum_or {
    HDD_MEMBER static i64 of(i64 a, i64 b)
    {
        return a | b;
    }
};

struct hdd_sum_xor {
    HDD_MEMBER static i64 of(i64 a, i64 b)
    {
        return a ^ b;
    }
};

template <class T, class Operation> struct hdd_sum_of {
    typedef T value;
    HDD_MEMBER static T none()
    {
        return 0;
    }
    HDD_MEMBER static T of(T a, T b)
    {
        return Operation::of(a, b);
    }
};

template <class T, class Order> struct hdd_first_of {
    typedef T value;
    HDD_MEMBER static T none()
    {
        return Order::template last<T>();
    }
    HDD_MEMBER static T of(T a, T b)
    {
        return Order::before(b, a) ? b : a;
    }
};

HDD_DEVICE i128 hdd_running_bits(i64 v)
{
    return v;
}

HDD_DEVICE i128 hdd_running_bits(i128 v)
{
    return v;
}

HDD_DEVICE i128 hdd_running_bits(f64 v)
{
    return hdd_f64_bits(v);
}

HDD_DEVICE void hdd_running_set(i64 &v, i128 bits)
{
    v = (i64)bits;
}

HDD_DEVICE void hdd_running_set(i128 &v, i128 bits)
{
    v = bits;
}

HDD_DEVICE void hdd_running_set(f64 &v, i128 bits)
{
    v = hdd_f64_from_bits((i64)bits);
}

HDD_DEVICE void hdd_running_load(const hdd_running_field &f, const u8 *row, i64 &v)
{
    v = f.phys == HDD_I32 ? hdd_field<i32>(row, f.offset) : hdd_field<i64>(row, f.offset);
}

HDD_DEVICE void hdd_running_load(const hdd_running_field &f, const u8 *row, i128 &v)
{
    v = hdd_field<i128>(row, f.offset);
}

HDD_DEVICE void hdd_running_load(const hdd_running_field &f, const u8 *row, f64 &v)
{
    v = f.phys == HDD_F32 ? (f64)hdd_field<f32>(row, f.offset) : hdd_field<f64>(row, f.offset);
}

HDD_DEVICE void hdd_running_store(const hdd_running_field &f, u8 *row, i64 v)
{
    if (f.phys == HDD_I32)
        *reinterpret_cast<i32 *>(row + f.offset) = (i32)v;
    else
        *reinterpret_cast<i64 *>(row + f.offset) = v;
}

HDD_DEVICE void hdd_running_store(const hdd_running_field &f, u8 *row, i128 v)
{
    *reinterpret_cast<i128 *>(row + f.offset) = v;
}

HDD_DEVICE void hdd_running_store(const hdd_running_field &f, u8 *row, f64 v)
{
    if (f.phys == HDD_F32)
        *reinterpret_cast<f32 *>(row + f.offset) = (f32)v;
    else
        *reinterpret_cast<f64 *>(row + f.offset) = v;
}

// Calls with(Way()) for the field's type and way to merge.
template <class With> HDD_DEVICE void hdd_running_way(const hdd_running_field &f, With with)
{
    const bool is_float = f.phys == HDD_F64 || f.phys == HDD_F32;
    if (f.merge == HDD_MERGE_SUM && f.phys == HDD_I128)
        with(hdd_sum_of<i128, hdd_sum_plus>());
    else if (f.merge == HDD_MERGE_SUM && is_float)
        with(hdd_sum_of<f64, hdd_sum_plus>());
    else if (f.merge == HDD_MERGE_SUM)
        with(hdd_sum_of<i64, hdd_sum_plus>());
    else if (f.merge == HDD_MERGE_OR)
        with(hdd_sum_of<i64, hdd_sum_or>());
    else if (f.merge == HDD_MERGE_XOR)
        with(hdd_sum_of<i64, hdd_sum_xor>());
    else if (f.merge == HDD_MERGE_MIN && is_float)
        with(hdd_first_of<f64, hdd_ascending>());
    else if (f.merge == HDD_MERGE_MIN && f.phys == HDD_I128)
        with(hdd_first_of<i128, hdd_ascending>());
    else if (f.merge == HDD_MERGE_MIN)
        with(hdd_first_of<i64, hdd_ascending>());
    else if (is_float)
        with(hdd_first_of<f64, hdd_descending>());
    else if (f.phys == HDD_I128)
        with(hdd_first_of<i128, hdd_descending>());
    else
        with(hdd_first_of<i64, hdd_descending>());
}

// What is known of some rows in order: of those since the last head among them.
struct hdd_running_total {
    i128 bits;
    u64 is; // some row has a value
    u64 starts; // there is a head: what is before these rows does not matter
};

HDD_DEVICE hdd_running_total &hdd_running_total_of(const hdd_running_args &p, u32 field, u64 chunk)
{
    return hdd_at<hdd_running_total>(p.totals)[field * p.chunks + chunk];
}

// ---- heads -------------------------------------------------------------------------------------------------

// Of a chunk and a level: rows that begin a group. After hdd_running_before: the last one before the chunk, how many are
// before it, the first one behind it.
struct hdd_chunk_groups {
    i32 last, count, first;
};

HDD_DEVICE hdd_chunk_groups &hdd_groups_of(const hdd_running_args &p, u32 level, u64 chunk)
{
    return hdd_at<hdd_chunk_groups>(p.groups)[level * p.chunks + chunk];
}

HDD_DEVICE u32 &hdd_heads_of(const hdd_running_args &p, u32 level, u64 chunk)
{
    return hdd_at<u32>(p.heads)[(level * p.chunks + chunk) * HDD_LANES + hdd_lane()];
}

HDD_DEVICE u8 *hdd_running_row(const hdd_running_args &p, u64 i)
{
    return hdd_at<u8>(p.rows + i * p.stride);
}

// How many first keys row i, not the first one, has in common with the row before it.
HDD_APART u32 hdd_keys_in_common(const hdd_running_args &p, u64 i)
{
    const hdd_key *const key = hdd_keys_of(p.keys);
    const u8 *const a = hdd_running_row(p, i - 1), *const b = hdd_running_row(p, i);
    u32 k = 0;
    for (; k < p.keys.n; k++) {
        const bool va = hdd_field_valid(key[k], a), vb = hdd_field_valid(key[k], b);
        if (va != vb || (va && hdd_compare_values(key[k].phys, a, b, key[k].offset) != 0))
            break;
    }
    return k;
}

// Row i, which is there, begins a group: of which levels, a bit each.
HDD_DEVICE u32 hdd_head_levels(const hdd_running_args &p, u64 i)
{
    if (p.begin >= 0)
        return (u64)hdd_field<i32>(hdd_running_row(p, i), (u32)p.begin) == i;
    const u32 common = i ? hdd_keys_in_common(p, i) : 0;
    u32 levels = 0;
    HDD_UNROLL
    for (u32 l = 0; l < HDD_HEAD_LEVELS; l++)
        levels |= (u32)(i == 0 || common < p.nkeys[l]) << l;
    return levels;
}

// Rows of a warp, 32 of a chunk: which of them begin a group. Whole warp.
struct hdd_heads {
    u32 of[HDD_HEAD_LEVELS];

    // Heads of a segment, if there are any.
    HDD_MEMBER u32 segment(const hdd_running_args &p) const
    {
        return p.segment < 0 ? 0 : p.segment ? of[HDD_HEAD_LEVELS - 1] : of[0];
    }
};

// What a chunk's heads, each lane's 32 of them, say of the chunk. Whole warp.
HDD_DEVICE hdd_chunk_groups hdd_groups_in(u32 mine, i32 base)
{
    const u32 some = hdd_ballot(mine != 0);
    hdd_chunk_groups g{-1, (i32)hdd_warp_add(hdd_popc(mine)), -1};
    if (some) {
        const u32 low = hdd_lowest(some), high = hdd_highest(some);
        g.first = base + (i32)(low * HDD_LANES + hdd_lowest(hdd_shuffle(mine, low)));
        g.last = base + (i32)(high * HDD_LANES + hdd_highest(hdd_shuffle(mine, high)));
    }
    return g;
}

// ---- a step ------------------------------------------------------------------------------------------------

// What each warp has of each field up to where it is.
struct hdd_running_shared {
    hdd_running_total upto[HDD_WARPS][HDD_INLINE_FIELDS];
};

// The rows of the segment of this lane's row, up to it: those of the warp, and those before them where no head is among
// the former. Prefix sums by segments of a warp (Sengupta, Harris, Zhang and Owens, Scan Primitives for GPU Computing,
// 2007, section 3, has them with flags; here the distance to the last head is known). Whole warp.
template <class Way>
HDD_DEVICE typename Way::value hdd_running_step(Way way, typename Way::value v, bool is, u32 heads,
                                                hdd_running_total &upto, bool &is_upto)
{
    typedef typename Way::value T;
    const u32 before = heads & hdd_lanes_upto(), from = before ? hdd_highest(before) : 0;
    HDD_NO_UNROLL
    for (u32 by = 1; by < HDD_LANES; by *= 2) {
        const T below = hdd_shuffle(v, hdd_lane() >= by ? hdd_lane() - by : 0);
        if (hdd_lane() >= from + by)
            v = way.of(below, v);
    }
    is_upto = (hdd_ballot(is) & hdd_lanes_upto() & ~((1u << from) - 1)) != 0;
    if (!before) {
        T carried;
        hdd_running_set(carried, upto.bits);
        v = way.of(carried, v);
        is_upto = is_upto || upto.is;
    }
    hdd_warp_sync();
    if (hdd_lane() == HDD_LANES - 1)
        upto = hdd_running_total{hdd_running_bits(v), is_upto, upto.starts | (heads != 0)};
    hdd_warp_sync();
    return v;
}

// One field of this lane's row, if there is one. store: the row gets what it amounts to.
struct hdd_running_at {
    const hdd_running_field &f;
    u8 *row;
    bool live, store;
    u32 heads;
    hdd_running_total &upto;

    template <class Way> HDD_MEMBER void operator()(Way way) const
    {
        const bool is = live && (f.valid < 0 || row[f.valid]);
        bool is_upto;
        typename Way::value v = way.none();
        if (is)
            hdd_running_load(f, row, v);
        v = hdd_running_step(way, v, is, heads, upto, is_upto);
        if (!store || !live || !is_upto)
            return;
        if (f.valid >= 0)
            row[f.valid] = 1;
        hdd_running_store(f, row, v);
    }
};

HDD_DEVICE void hdd_running_fields_at(const hdd_running_args &p, hdd_running_total *upto, u64 i, u32 heads, bool store)
{
    HDD_NO_UNROLL
    for (u32 k = 0; k < p.nfields; k++)
        hdd_running_way(p.field[k], hdd_running_at{p.field[k], hdd_running_row(p, i), i < p.n, store, heads, upto[k]});
}

struct hdd_running_nothing {
    hdd_running_total &to;
    template <class Way> HDD_MEMBER void operator()(Way way) const
    {
        to = hdd_running_total{hdd_running_bits(way.none()), 0, 0};
    }
};

// ---- chunks ------------------------------------------------------------------------------------------------

// This warp in the grid, and how many there are.
HDD_DEVICE u64 hdd_running_warp()
{
    return (u64)hdd_block() * HDD_WARPS + hdd_warp();
}

HDD_DEVICE void hdd_chunk_of_heads(const hdd_running_args &p, hdd_running_total *upto, u64 chunk)
{
    hdd_heads mine{{0, 0}};
    HDD_NO_UNROLL
    for (u32 step = 0; step < HDD_LANES; step++) {
        const u64 i = chunk * HDD_RUNNING_CHUNK + step * HDD_LANES + hdd_lane();
        const u32 levels = i < p.n && p.nlevels ? hdd_head_levels(p, i) : 0;
        hdd_heads heads;
        HDD_UNROLL
        for (u32 l = 0; l < HDD_HEAD_LEVELS; l++) {
            heads.of[l] = hdd_ballot(levels >> l & 1);
            mine.of[l] = hdd_lane() == step ? heads.of[l] : mine.of[l];
        }
        hdd_running_fields_at(p, upto, i, heads.segment(p), false);
    }
    HDD_UNROLL
    for (u32 l = 0; l < HDD_HEAD_LEVELS; l++) {
        if (l >= p.nlevels)
            break;
        hdd_heads_of(p, l, chunk) = mine.of[l];
        const hdd_chunk_groups g = hdd_groups_in(mine.of[l], (i32)(chunk * HDD_RUNNING_CHUNK));
        if (hdd_lane() == 0)
            hdd_groups_of(p, l, chunk) = g;
    }
}

HDD_KERNEL(hdd_running_chunks)(HDD_PARAMETER(hdd_running_args, p))
{
    HDD_SHARED(hdd_running_shared, s);
    hdd_running_total *const upto = s.upto[hdd_warp()];
    for (u64 chunk = hdd_running_warp(); chunk < p.chunks; chunk += (u64)p.blocks * HDD_WARPS) {
        if (hdd_lane() == 0)
            for (u32 k = 0; k < p.nfields; k++)
                hdd_running_way(p.field[k], hdd_running_nothing{upto[k]});
        hdd_warp_sync();
        hdd_chunk_of_heads(p, upto, chunk);
        if (hdd_lane() == 0)
            for (u32 k = 0; k < p.nfields; k++)
                hdd_running_total_of(p, k, chunk) = upto[k];
        hdd_warp_sync();
    }
}

// ---- what comes before -------------------------------------------------------------------------------------

constexpr u32 HDD_BEFORE_EACH = 8; // neighbouring chunks of a thread

template <class T> struct hdd_running_part {
    T v;
    u32 is, starts;
};

template <class Way>
HDD_DEVICE hdd_running_part<typename Way::value> hdd_running_join(Way way,
                                                                  const hdd_running_part<typename Way::value> &a,
                                                                  const hdd_running_part<typename Way::value> &b)
{
    if (b.starts)
        return b;
    return hdd_running_part<typename Way::value>{way.of(a.v, b.v), a.is | b.is, a.starts};
}

struct hdd_before_shared {
    hdd_running_total warp[HDD_WARPS];
};

template <class T> HDD_DEVICE hdd_running_total hdd_running_kept(const hdd_running_part<T> &a)
{
    return hdd_running_total{hdd_running_bits(a.v), a.is, a.starts};
}

template <class T> HDD_DEVICE hdd_running_part<T> hdd_running_taken(const hdd_running_total &t)
{
    hdd_running_part<T> a{T(), (u32)t.is, (u32)t.starts};
    hdd_running_set(a.v, t.bits);
    return a;
}

// Of the threads before this one, and of all. Whole block; two block barriers.
template <class Way, class Part>
HDD_DEVICE Part hdd_running_threads(hdd_before_shared &s, Way way, const Part &mine, Part &total)
{
    const Part none{way.none(), 0, 0};
    Part upto = mine;
    HDD_NO_UNROLL
    for (u32 by = 1; by < HDD_LANES; by *= 2) {
        const u32 lane = hdd_lane() >= by ? hdd_lane() - by : 0;
        const Part below{hdd_shuffle(upto.v, lane), hdd_shuffle(upto.is, lane), hdd_shuffle(upto.starts, lane)};
        if (hdd_lane() >= by)
            upto = hdd_running_join(way, below, upto);
    }
    const u32 lane = hdd_lane() ? hdd_lane() - 1 : 0;
    Part before{hdd_shuffle(upto.v, lane), hdd_shuffle(upto.is, lane), hdd_shuffle(upto.starts, lane)};
    before = hdd_lane() ? before : none;
    if (hdd_lane() == HDD_LANES - 1)
        s.warp[hdd_warp()] = hdd_running_kept(upto);
    hdd_block_sync();
    total = none;
    for (u32 w = 0; w < HDD_WARPS; w++) {
        if (w == hdd_warp())
            before = hdd_running_join(way, total, before);
        total = hdd_running_join(way, total, hdd_running_taken<decltype(mine.v)>(s.warp[w]));
    }
    hdd_block_sync();
    return before;
}

// Each of n items becomes what those before it amount to: of.get(j), of.put(j, part). Whole block, the only one at it.
template <class Way, class Items> HDD_DEVICE void hdd_running_scan(hdd_before_shared &s, Way way, u64 n, Items of)
{
    typedef hdd_running_part<typename Way::value> Part;
    Part base{way.none(), 0, 0};
    HDD_NO_UNROLL
    for (u64 from = 0; from < n; from += HDD_BEFORE_EACH * HDD_BLOCK) {
        const u64 at = from + hdd_thread() * HDD_BEFORE_EACH;
        Part mine{way.none(), 0, 0}, total;
        for (u64 j = at; j < at + HDD_BEFORE_EACH && j < n; j++)
            mine = hdd_running_join(way, mine, of.get(j));
        Part before = hdd_running_join(way, base, hdd_running_threads(s, way, mine, total));
        for (u64 j = at; j < at + HDD_BEFORE_EACH && j < n; j++) {
            const Part own = of.get(j);
            of.put(j, before);
            before = hdd_running_join(way, before, own);
        }
        base = hdd_running_join(way, base, total);
    }
}

struct hdd_totals_of_field {
    const hdd_running_args &p;
    u32 field;
    hdd_before_shared &s;

    template <class T> struct items {
        const hdd_running_args &p;
        u32 field;
        HDD_MEMBER hdd_running_part<T> get(u64 j) const
        {
            return hdd_running_taken<T>(hdd_running_total_of(p, field, j));
        }
        HDD_MEMBER void put(u64 j, const hdd_running_part<T> &part) const
        {
            hdd_running_total_of(p, field, j) = hdd_running_kept(part);
        }
    };

    template <class Way> HDD_MEMBER void operator()(Way way) const
    {
        hdd_running_scan(s, way, p.chunks, items<typename Way::value>{p, field});
    }
};

// A number of a level's groups, which is none below 0; `backward`: chunks come last to first.
struct hdd_groups_member {
    const hdd_running_args &p;
    u32 level;
    i32 hdd_chunk_groups::*member;
    i32 none; // what is put where nothing comes before
    bool backward;

    HDD_MEMBER i32 &at(u64 j) const
    {
        return hdd_groups_of(p, level, backward ? p.chunks - 1 - j : j).*member;
    }
    HDD_MEMBER hdd_running_part<i64> get(u64 j) const
    {
        const i32 v = at(j);
        return hdd_running_part<i64>{v < 0 ? (backward ? hdd_highest_of<i64>() : hdd_lowest_of<i64>()) : v, v >= 0, 0};
    }
    HDD_MEMBER void put(u64 j, const hdd_running_part<i64> &part) const
    {
        at(j) = part.is ? (i32)part.v : none;
    }
};

// Blocks: one for each field, then for each level three.
HDD_KERNEL(hdd_running_before)(HDD_PARAMETER(hdd_running_args, p))
{
    HDD_SHARED(hdd_before_shared, s);
    if (hdd_block() < p.nfields) {
        hdd_running_way(p.field[hdd_block()], hdd_totals_of_field{p, hdd_block(), s});
        return;
    }
    const u32 level = (hdd_block() - p.nfields) / 3;
    switch ((hdd_block() - p.nfields) % 3) {
    case 0:
        hdd_running_scan(s, hdd_first_of<i64, hdd_descending>(), p.chunks,
                         hdd_groups_member{p, level, &hdd_chunk_groups::last, 0, false});
        return;
    case 1:
        hdd_running_scan(s, hdd_sum_of<i64, hdd_sum_plus>(), p.chunks,
                         hdd_groups_member{p, level, &hdd_chunk_groups::count, 0, false});
        return;
    default:
        hdd_running_scan(s, hdd_first_of<i64, hdd_ascending>(), p.chunks,
                         hdd_groups_member{p, level, &hdd_chunk_groups::first, (i32)p.n, true});
    }
}

// ---- rows --------------------------------------------------------------------------------------------------

// The first head behind the 32 rows of a step, or where the chunk's last group ends. mine: each lane's heads. Whole warp.
HDD_DEVICE i32 hdd_next_head(u32 mine, u32 step, i32 base, i32 behind)
{
    const u32 some = hdd_ballot(mine != 0) & ~((2u << step) - 1);
    const u32 next = some ? hdd_lowest(some) : 0, heads = hdd_shuffle(mine, next);
    return some ? base + (i32)(next * HDD_LANES + hdd_lowest(heads)) : behind;
}

// Borders of this lane's row, if it is there: `now` is the first row of the step. Whole warp; moves `g` behind the step.
HDD_DEVICE void hdd_borders_at(const hdd_running_args &p, u32 level, u32 mine, u32 step, i32 base, hdd_chunk_groups &g,
                               bool live, u8 *row)
{
    const u32 heads = hdd_shuffle(mine, step), upto = heads & hdd_lanes_upto(), above = heads & ~hdd_lanes_upto();
    const i32 now = base + (i32)(step * HDD_LANES), next = hdd_next_head(mine, step, base, g.first);
    const i32 begin = upto ? now + (i32)hdd_highest(upto) : g.last;
    const i32 end = above ? now + (i32)hdd_lowest(above) : next;
    const i32 count = g.count + (i32)hdd_popc(upto);
    for (u32 k = 0; live && k < p.nborders; k++) {
        const hdd_border_field &f = p.border[k];
        if (f.level == level)
            *reinterpret_cast<i32 *>(row + f.offset) = f.border == HDD_BORDER_BEGIN ? begin
                                                       : f.border == HDD_BORDER_END ? end
                                                                                    : count;
    }
    g.last = heads ? now + (i32)hdd_highest(heads) : g.last;
    g.count += (i32)hdd_popc(heads);
}

HDD_DEVICE void hdd_chunk_of_rows(const hdd_running_args &p, hdd_running_total *upto, u64 chunk)
{
    const i32 base = (i32)(chunk * HDD_RUNNING_CHUNK);
    hdd_heads mine{{0, 0}};
    hdd_chunk_groups g[HDD_HEAD_LEVELS];
    HDD_UNROLL
    for (u32 l = 0; l < HDD_HEAD_LEVELS; l++) {
        mine.of[l] = l < p.nlevels ? hdd_heads_of(p, l, chunk) : 0;
        g[l] = l < p.nlevels ? hdd_groups_of(p, l, chunk) : hdd_chunk_groups{0, 0, 0};
    }
    HDD_NO_UNROLL
    for (u32 step = 0; step < HDD_LANES; step++) {
        const u64 i = chunk * HDD_RUNNING_CHUNK + step * HDD_LANES + hdd_lane();
        hdd_heads heads;
        HDD_UNROLL
        for (u32 l = 0; l < HDD_HEAD_LEVELS; l++) {
            heads.of[l] = hdd_shuffle(mine.of[l], step);
            if (l < p.nlevels && p.nborders)
                hdd_borders_at(p, l, mine.of[l], step, base, g[l], i < p.n, hdd_running_row(p, i));
        }
        hdd_running_fields_at(p, upto, i, heads.segment(p), true);
    }
}

HDD_KERNEL(hdd_running_rows)(HDD_PARAMETER(hdd_running_args, p))
{
    HDD_SHARED(hdd_running_shared, s);
    hdd_running_total *const upto = s.upto[hdd_warp()];
    for (u64 chunk = hdd_running_warp(); chunk < p.chunks; chunk += (u64)p.blocks * HDD_WARPS) {
        for (u32 k = hdd_lane(); k < p.nfields; k += HDD_LANES)
            upto[k] = hdd_running_total_of(p, k, chunk);
        hdd_warp_sync();
        hdd_chunk_of_rows(p, upto, chunk);
        hdd_warp_sync();
    }
}
