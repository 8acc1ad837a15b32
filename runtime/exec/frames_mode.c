/* The most frequent values of frames, of several the smallest. Both ends of frames move in one direction, so the frames of
 * rows a .. b - 1 have the rows from where the last one begins up to where the first one ends in common: their core. The
 * core of half of these rows is theirs and rows in front of it and behind it, its fringes; a value that is more frequent
 * there comes in a fringe. Halving all rows, then halves, down to single ones, whose core is their frame, looks at each
 * level no more than once at each row where ends of frames move: O(n log n) looks in all, whatever the frames, each of
 * O(1) steps (templates/mode.cuh) and O(log f) for a value that turns out to be more frequent, f times; for a value beside
 * rows that a frame leaves out always. Nodes of a level and parts of fringes are work of their own. */
#include <stdatomic.h>

#include "runtime/exec/frames.h"
#include "templates/mode.cuh"

enum { SUBTREE = 1 << 12 /* rows whose nodes are one task's */, LOOKS_MIN = 1 << 14 };

_Static_assert((int)HDD_MODE_SPANS == (int)RT_FRAME_SPANS, "spans are those of the spec");

struct modes {
    struct rt_ranked *r;
    struct hdd_mode_values v;
    u64 *key;
    u32 *place;
    const struct rt_field *field;
    _Atomic int64_t *best, *up; /* of the nodes of a level, and of the one above */
    uint64_t width; /* rows of a node */
    uint64_t pieces; /* tasks for a node */
};

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* Of rows a .. b - 1. */
static struct hdd_mode_core core_of(const struct modes *m, uint64_t a, uint64_t b)
{
    const struct rt_frame *f = m->field->frame;
    struct hdd_mode_core c = {{0}, {0}};
    uint64_t from, to, other;
    for (int k = 0; k < f->nspans; k++) {
        rt_frame_rows(m->r->v, f, k, b - 1, &from, &other);
        rt_frame_rows(m->r->v, f, k, a, &other, &to);
        c.from[k] = (int64_t)from;
        c.to[k] = (int64_t)to;
    }
    return c;
}

/* Piece i of each fringe. */
static int64_t look(const struct modes *m, const struct hdd_mode_core *c, const struct hdd_mode_core *up, int64_t best,
                    uint64_t i)
{
    const uint32_t nspans = (uint32_t)m->field->frame->nspans;
    struct hdd_mode_fringe g;
    for (uint32_t k = 0; k < 2 * nspans; k++) {
        if (!hdd_mode_fringe_of(c, up, nspans, k, &g))
            continue;
        uint64_t n = (uint64_t)(g.to - g.from), from = (uint64_t)g.from;
        for (uint64_t j = from + n * i / m->pieces; j < from + n * (i + 1) / m->pieces; j++)
            best = hdd_mode_look(m->v, c, nspans, &g, j, best);
    }
    return best;
}

static struct hdd_mode_core node_core(const struct modes *m, uint64_t node, uint64_t width)
{
    return core_of(m, node * width, HD_MIN(m->v.n, (node + 1) * width));
}

/* What the node above has; *up: its core. */
static int64_t above(const struct modes *m, uint64_t node, struct hdd_mode_core *up)
{
    *up = (struct hdd_mode_core){{0}, {0}};
    if (m->width >= m->v.n)
        return 0;
    *up = node_core(m, node / 2, 2 * m->width);
    return atomic_load_explicit(&m->up[node / 2], memory_order_relaxed);
}

static void look_at_node(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct modes *m = context;
    uint64_t node = task / m->pieces;
    struct hdd_mode_core up, c = node_core(m, node, m->width);
    int64_t best = look(m, &c, &up, above(m, node, &up), task % m->pieces);
    int64_t seen = atomic_load(&m->best[node]);
    while (seen < best && !atomic_compare_exchange_weak(&m->best[node], &seen, best))
        ;
}

static void settle(const struct modes *m, uint64_t i, const struct hdd_mode_core *frame, int64_t best)
{
    unsigned char *row = rt_ranked_row(m->r, i);
    row[m->field->valid_offset] = best != 0;
    if (!best)
        return;
    int64_t number = (int64_t)hdd_mode_row(m->v, frame, (uint32_t)m->field->frame->nspans, best);
    number += 1 - rt_frame_number(m->r->v, row, m->field->frame->begin);
    memcpy(row + m->field->offset, &number, sizeof number);
}

/* Rows a .. a + width - 1, as far as they are there. */
static void descend(const struct modes *m, uint64_t a, uint64_t width, const struct hdd_mode_core *up, int64_t best)
{
    if (a >= m->v.n)
        return;
    struct hdd_mode_core c = core_of(m, a, HD_MIN(m->v.n, a + width));
    best = look(m, &c, up, best, 0);
    if (width == 1) {
        settle(m, a, &c, best);
        return;
    }
    descend(m, a, width / 2, &c, best);
    descend(m, a + width / 2, width / 2, &c, best);
}

static void descend_node(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct modes *m = context;
    struct hdd_mode_core up;
    int64_t best = above(m, task, &up);
    descend(m, task * m->width, m->width, &up, best);
}

static uint64_t nodes_of(const struct modes *m)
{
    return (m->v.n + m->width - 1) / m->width;
}

static int find_modes(struct modes *m)
{
    struct rt_exec *x = m->r->x;
    for (m->width = 1; m->width < m->v.n;)
        m->width *= 2;
    for (; m->width > SUBTREE; m->width /= 2) {
        uint64_t nodes = nodes_of(m), tasks = rt_cut(x, m->v.n, LOOKS_MIN).ntasks;
        for (uint64_t i = 0; i < nodes; i++)
            atomic_store_explicit(&m->best[i], 0, memory_order_relaxed);
        m->pieces = HD_MAX(1, tasks / nodes);
        HD_TRY(rt_exec_parallel(x, nodes * m->pieces, look_at_node, m));
        _Atomic int64_t *up = m->up;
        m->up = m->best;
        m->best = up;
    }
    m->pieces = 1;
    return rt_exec_parallel(x, nodes_of(m), descend_node, m);
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static void set_keys(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct modes *m = context;
    const struct rt_places *at = m->r->m.at;
    for (uint64_t p = task * m->r->cut.size; p < rt_cut_end(&m->r->cut, task); p++) {
        m->key[p] = (u64)at->code[p] << 32 | at->row[p];
        m->place[at->row[p]] = at->code[p] == m->r->none ? HDD_MODE_NOWHERE : (uint32_t)p;
    }
}

static int make_keys(struct modes *m)
{
    struct rt_ranked *r = m->r;
    HD_TRY(rt_ranked_codes(r));
    for (int bit = 0; bit < rt_bits_of(r->none); bit++)
        HD_TRY(rt_matrix_level(&r->m, bit));
    return rt_exec_parallel(r->x, r->cut.ntasks, set_keys, m);
}

int rt_finish_modes(struct rt_ranked *r)
{
    uint64_t n = r->v->nrows, nodes = n / SUBTREE + 1;
    size_t matrix = hd_align_up(rt_matrix_bytes(r->x, n), sizeof(uint64_t));
    struct modes m = {.r = r, .v.n = n};
    struct rt_block memory = {0};
    HD_TRY(rt_exec_block(r->x, r->v->s, matrix + (n + 2 * nodes) * sizeof(uint64_t) + n * sizeof(uint32_t), false,
                         &memory));
    rt_matrix_place(&r->m, memory.p);
    m.key = (void *)((unsigned char *)memory.p + matrix);
    m.best = (void *)(m.key + n);
    m.up = m.best + nodes;
    m.place = (void *)(m.up + nodes);
    m.v.key = m.key;
    m.v.place = m.place;
    int rc = make_keys(&m);
    for (int k = 0; k < r->n && rc == 0; k++) {
        m.field = &r->v->s->fields[r->field[k]];
        rc = find_modes(&m);
    }
    rt_block_free(&r->x->memory, &memory);
    return rc;
}
