// Sinks that keep rows: reserving them, and storing by index. Fields of rows are written through
// hdd_put, whatever the nullability of value and field.
#ifndef HDD_STORE_CUH
#define HDD_STORE_CUH

#include "hd/run.cuh"
#include "hd/value.cuh"
#include "hd/warp.cuh"

template <class F, class T> HDD_DEVICE void hdd_put(F &field, T v)
{
    field = v;
}

// Nullable field: its validity byte is written always.
template <class F, class T> HDD_DEVICE void hdd_put(F &field, u8 &valid, T v)
{
    field = v;
    valid = 1;
}

template <class F, class T> HDD_DEVICE void hdd_put(F &field, u8 &valid, hdd_opt<T> v)
{
    field = v.v;
    valid = v.ok;
}

// A row that was made in registers, stored in pieces of so many bytes: neighbouring lanes have neighbouring rows, and
// memory takes a sector once for each store that has a part of it.
template <u32 bytes> struct alignas(bytes) hdd_piece {
    u32 words[bytes / 4];
};

template <u32 bytes, class Row> HDD_DEVICE void hdd_put_row(Row *to, const Row &row)
{
    HDD_UNROLL
    for (u32 i = 0; i < sizeof(Row) / bytes; i++)
        reinterpret_cast<hdd_piece<bytes> *>(to)[i] = reinterpret_cast<const hdd_piece<bytes> *>(&row)[i];
}

// Byte `at` of an object.
template <class T> HDD_DEVICE u8 *hdd_bytes_at(T &object, u32 at)
{
    return reinterpret_cast<u8 *>(&object) + at;
}

template <class T> HDD_DEVICE const u8 *hdd_bytes_at(const T &object, u32 at)
{
    return reinterpret_cast<const u8 *>(&object) + at;
}

// Fields that lie side by side in two rows, and their validity bytes; from nullptr: zeros. Called,
// because rows of many fields have many such ranges. Both ends are as little aligned as a byte.
HDD_APART void hdd_copy_fields(void *to, const void *from, u32 bytes)
{
    u8 *const out = static_cast<u8 *>(to);
    const u8 *const in = static_cast<const u8 *>(from);
    u32 k = 0;
    if (((reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from)) & 7) == 0) {
        HDD_NO_UNROLL
        for (; k + 8 <= bytes; k += 8)
            *reinterpret_cast<u64 *>(out + k) = in ? *reinterpret_cast<const u64 *>(in + k) : (u64)0;
    }
    HDD_NO_UNROLL
    for (; k < bytes; k++)
        out[k] = in ? in[k] : (u8)0;
}

// A place of its own for the row of each live lane, -1 where there is no room: the cursor then
// tells the host how much was asked for, and the pipeline runs again with as much. Whole warp;
// one atomic. Rows of one warp keep the order of the lanes.
HDD_DEVICE i64 hdd_reserve_rows(const hdd_run &run, bool live)
{
    const hdd_sink_state &sink = run.launch.sink;
    const u32 who = hdd_ballot(live);
    u64 base = 0;
    if (who == 0)
        return -1;
    if (hdd_lane() == 0)
        base = hdd_atomic_add(reinterpret_cast<u64 *>(sink.cursor), (u64)hdd_popc(who));
    base = hdd_shuffle(base, 0);
    const u64 row = base + hdd_popc(who & hdd_lanes_below());
    return live && row < sink.capacity ? (i64)row : -1;
}

// Places of rows that all arrive once they wait: those that wait get theirs with the first of them,
// so that an addition to the cursor serves a tile. Whole warp.
struct hdd_places {
    u64 next; // the first of those that are left
    u32 left;

    HDD_MEMBER hdd_places() : next(0), left(0)
    {
    }

    // As hdd_reserve_rows; so many rows wait behind these.
    HDD_MEMBER i64 take(const hdd_run &run, bool live, u32 waiting)
    {
        const hdd_sink_state &sink = run.launch.sink;
        const u32 who = hdd_ballot(live), n = hdd_popc(who), rank = hdd_popc(who & hdd_lanes_below());
        const u32 old = hdd_min(left, n);
        u64 row = next + rank;
        next += old;
        left -= old;
        if (old < n) {
            u64 base = 0;
            left = n - old + waiting;
            if (hdd_lane() == 0)
                base = hdd_atomic_add(reinterpret_cast<u64 *>(sink.cursor), (u64)left);
            base = hdd_shuffle(base, 0);
            row = rank < old ? row : base + (rank - old);
            next = base + (n - old);
            left = waiting;
        }
        return live && row < sink.capacity ? (i64)row : -1;
    }

    // The same where the source's row has its place: the cursor only counts.
    HDD_MEMBER i64 at(const hdd_run &run, bool live, u32 row, u32 waiting)
    {
        const hdd_sink_state &sink = run.launch.sink;
        const u32 n = hdd_popc(hdd_ballot(live)), old = hdd_min(left, n);
        left -= old;
        if (old < n) {
            left = waiting;
            if (hdd_lane() == 0)
                hdd_atomic_add(reinterpret_cast<u64 *>(sink.cursor), (u64)(n - old + waiting));
        }
        return live && row < sink.capacity ? (i64)row : -1;
    }
};

#endif
