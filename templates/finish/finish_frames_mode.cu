// The most frequent values of frames, a level of halves of the rows at a time (runtime/exec/frames_mode.c says how): a node's
// fringes are gone through by as many threads as it has pieces, neighbours beside each other.
#include "hd/finish_ranked.cuh"
#include "hd/mode.cuh"

HDD_DEVICE hdd_mode_values hdd_mode_values_of(const hdd_ranked_args &p)
{
    return {hdd_at<const u64>(p.values), hdd_at<const u32>(p.places), p.f.n};
}

// What the frames of rows a .. b - 1 have in common.
HDD_DEVICE hdd_mode_core hdd_mode_core_of(const hdd_ranked_args &p, u64 a, u64 b)
{
    hdd_mode_core c = {{0, 0, 0}, {0, 0, 0}};
    HDD_NO_UNROLL
    for (u32 k = 0; k < p.f.nspans; k++) {
        u64 from, to, other;
        hdd_frames_span_of(p.f, p.f.span[k], hdd_ranked_row(p, b - 1), b - 1, from, other);
        hdd_frames_span_of(p.f, p.f.span[k], hdd_ranked_row(p, a), a, other, to);
        c.from[k] = (i64)from;
        c.to[k] = (i64)to;
    }
    return c;
}

HDD_DEVICE hdd_mode_core hdd_mode_node(const hdd_ranked_args &p, u64 node, u64 width)
{
    const u64 end = (node + 1) * width;
    return hdd_mode_core_of(p, node * width, end < p.f.n ? end : p.f.n);
}

// Places in the order of ranks become keys.
HDD_KERNEL(hdd_mode_keys)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const u32 code = hdd_at<const u32>(p.code)[i], row = hdd_at<const u32>(p.row)[i];
        hdd_at<u64>(p.values)[i] = (u64)code << 32 | row;
        hdd_at<u32>(p.places)[row] = code == p.none ? HDD_MODE_NOWHERE : (u32)i;
    }
}

// A node begins with what the one above it has.
HDD_KERNEL(hdd_mode_inherit)(HDD_PARAMETER(hdd_ranked_args, p))
{
    for (u64 i = hdd_grid_thread(); i < p.nodes; i += hdd_grid_step(p.f.blocks))
        hdd_at<i64>(p.best)[i] = p.width < p.f.n ? hdd_at<const i64>(p.up)[i / 2] : 0;
}

HDD_KERNEL(hdd_mode_level)(HDD_PARAMETER(hdd_ranked_args, p))
{
    const hdd_mode_values v = hdd_mode_values_of(p);
    for (u64 i = hdd_grid_thread(); i < p.nodes * p.pieces; i += hdd_grid_step(p.f.blocks)) {
        const u64 node = i / p.pieces;
        const hdd_mode_core c = hdd_mode_node(p, node, p.width);
        hdd_mode_core up = {{0, 0, 0}, {0, 0, 0}};
        if (p.width < p.f.n)
            up = hdd_mode_node(p, node / 2, 2 * p.width);
        const i64 before = *(volatile const i64 *)&hdd_at<const i64>(p.best)[node];
        i64 best = before;
        HDD_NO_UNROLL
        for (u32 k = 0; k < 2 * p.f.nspans; k++) {
            hdd_mode_fringe g;
            if (!hdd_mode_fringe_of(&c, &up, p.f.nspans, k, &g))
                continue;
            HDD_NO_UNROLL
            for (u64 j = (u64)g.from + i % p.pieces; j < (u64)g.to; j += p.pieces)
                best = hdd_mode_look(v, &c, p.f.nspans, &g, j, best);
        }
        if (best > before)
            hdd_atomic_max(&hdd_at<i64>(p.best)[node], best);
    }
}

// Nodes are single rows by now.
HDD_KERNEL(hdd_mode_settle)(HDD_PARAMETER(hdd_ranked_args, p))
{
    const hdd_mode_values v = hdd_mode_values_of(p);
    for (u64 i = hdd_grid_thread(); i < p.f.n; i += hdd_grid_step(p.f.blocks)) {
        const i64 best = hdd_at<const i64>(p.best)[i];
        u8 *const row = hdd_ranked_row(p, i);
        row[p.f.valid_offset] = best != 0;
        if (!best)
            continue;
        const hdd_mode_core c = hdd_mode_core_of(p, i, i + 1);
        *reinterpret_cast<i64 *>(row + p.f.offset) =
            (i64)hdd_mode_row(v, &c, p.f.nspans, best) + 1 - hdd_field<i32>(row, p.f.begin);
    }
}
