/* Framed fields that ranks of values tell of: the k-th value of a frame, by a walk down a wavelet matrix of the ranks
 * (Vogelsgesang, Neumann, Leis, Kemper, Efficient Evaluation of Arbitrarily-Framed Holistic SQL Aggregates and Window
 * Functions, 2022, has a merge sort tree for it, of n log n numbers). A level has rows of lower ranks in front; how many
 * of these a frame has, says whether its k-th row is among them. O(log n) for a row, whatever its frame. */
#include "runtime/exec/frames.h"
#include "templates/ranked.cuh"

enum { TASK_MIN = 1 << 12 };

_Static_assert((int)HDD_SHARE_FLOOR == (int)RT_SHARE_FLOOR && (int)HDD_SHARE_CEILING == (int)RT_SHARE_CEILING &&
                   (int)HDD_SHARE_FIRST == (int)RT_SHARE_FIRST,
               "places are those of the spec");

/* ---- the k-th value ------------------------------------------------------------------------------------------ */

/* A frame, as places of the level, and how many of its values are in front of the one that is looked for. */
struct walk {
    uint32_t lo[RT_FRAME_SPANS], hi[RT_FRAME_SPANS], want;
};

struct selection {
    struct rt_ranked *r;
    struct walk *walk[RT_RANKED_MAX];
    bool counts; /* the level tells how many values there are */
};

static const struct rt_frame *frame_of(const struct rt_ranked *r, int k)
{
    return r->v->s->fields[r->field[k]].frame;
}

RT_INLINE void want(struct walk *w, const struct rt_share *s, uint64_t n)
{
    w->want = n ? (uint32_t)hdd_place_of((int64_t)n, (uint32_t)s->place, s->num, s->den) : 0;
}

static void start(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct selection *s = context;
    const struct rt_ranked *r = s->r;
    for (uint64_t i = task * r->cut.size; i < rt_cut_end(&r->cut, task); i++)
        for (int k = 0; k < r->n; k++) {
            const struct rt_frame *f = frame_of(r, k);
            struct walk *to = &s->walk[k][i];
            uint64_t from, end, n = 0;
            *to = (struct walk){.want = 0};
            for (int j = 0; j < f->nspans; j++) {
                if (!rt_frame_rows(r->v, f, j, i, &from, &end))
                    continue;
                to->lo[j] = (uint32_t)from;
                to->hi[j] = (uint32_t)end;
                n += end - from;
            }
            want(to, &f->share, n);
        }
}

RT_INLINE void descend(const struct selection *s, struct walk *at, const struct rt_frame *f)
{
    const struct rt_matrix *m = &s->r->m;
    uint32_t lo[RT_FRAME_SPANS], hi[RT_FRAME_SPANS], n = 0;
    for (int j = 0; j < f->nspans; j++) {
        lo[j] = rt_matrix_zeros(m, at->lo[j]);
        hi[j] = rt_matrix_zeros(m, at->hi[j]);
        n += hi[j] - lo[j];
    }
    if (s->counts)
        want(at, &f->share, n);
    bool zeros = s->counts || at->want < n;
    at->want -= zeros ? 0 : n;
    for (int j = 0; j < f->nspans; j++) {
        at->lo[j] = zeros ? lo[j] : (uint32_t)m->zeros + at->lo[j] - lo[j];
        at->hi[j] = zeros ? hi[j] : (uint32_t)m->zeros + at->hi[j] - hi[j];
    }
}

RT_INLINE void walk_down_any(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct selection *s = context;
    const struct rt_ranked *r = s->r;
    for (int k = 0; k < r->n; k++)
        for (uint64_t i = task * r->cut.size; i < rt_cut_end(&r->cut, task); i++)
            descend(s, &s->walk[k][i], frame_of(r, k));
}

RT_COUNTS_BITS(walk_down)

/* The rows of a frame that have the value: the one in its place. */
static void arrive(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct selection *s = context;
    const struct rt_ranked *r = s->r;
    for (uint64_t i = task * r->cut.size; i < rt_cut_end(&r->cut, task); i++)
        for (int k = 0; k < r->n; k++) {
            const struct rt_field *f = &r->v->s->fields[r->field[k]];
            const struct walk *at = &s->walk[k][i];
            unsigned char *row = rt_ranked_row(r, i);
            uint32_t before = at->want;
            row[f->valid_offset] = 0;
            for (int j = 0; j < f->frame->nspans && !row[f->valid_offset]; j++) {
                uint32_t n = at->hi[j] - at->lo[j];
                if (before >= n) {
                    before -= n;
                    continue;
                }
                int64_t found = r->m.at->row[at->lo[j] + before];
                found += 1 - rt_frame_number(r->v, row, f->frame->begin);
                memcpy(row + f->offset, &found, sizeof found);
                row[f->valid_offset] = 1;
            }
        }
}

static int select_values(struct rt_ranked *r)
{
    struct selection s = {.r = r};
    struct rt_block memory = {0};
    uint64_t n = r->v->nrows;
    HD_TRY(rt_exec_block(r->x, r->v->s, rt_matrix_bytes(r->x, n) + (size_t)r->n * n * sizeof(struct walk), false,
                         &memory));
    rt_matrix_place(&r->m, memory.p);
    for (int k = 0; k < r->n; k++)
        s.walk[k] = (struct walk *)(void *)((unsigned char *)memory.p + rt_matrix_bytes(r->x, n)) + (size_t)k * n;
    int rc = rt_ranked_codes(r);
    rc = rc ? rc : rt_exec_parallel(r->x, r->cut.ntasks, start, &s);
    int bits = rt_bits_of(r->none) - 1;
    s.counts = rt_ranked_codes_of(r)->valid_offset >= 0;
    for (int bit = s.counts ? bits : bits - 1; bit >= 0 && rc == 0; bit--) {
        rc = rt_matrix_level(&r->m, bit);
        rc = rc ? rc : rt_exec_parallel(r->x, r->cut.ntasks, walk_down, &s);
        s.counts = false;
    }
    rc = rc ? rc : rt_exec_parallel(r->x, r->cut.ntasks, arrive, &s);
    rt_block_free(&r->x->memory, &memory);
    return rc;
}

/* ---- fields -------------------------------------------------------------------------------------------------- */

int rt_finish_ranks(struct rt_exec *x, struct rt_live *v)
{
    const struct rt_state *s = v->s;
    for (int i = 0; i < s->nfields && v->nrows; i++) {
        struct rt_ranked r = {.x = x, .v = v, .m = {.x = x, .v = v, .n = v->nrows}};
        r.n = rt_ranked_fields(s, i, r.field);
        if (r.n == 0)
            continue;
        r.cut = rt_cut(x, v->nrows, TASK_MIN);
        HD_TRY(s->merge[i] == RT_MERGE_NTH ? select_values(&r) : rt_finish_distinct(&r));
    }
    return 0;
}
