/* Grouping rows: by index (CSR) and by key (HASH). */
#include "runtime/gpu/gpu_state.h"

/* ---- CSR --------------------------------------------------------------------------------- */

static int launch_csr(struct rt_gpu_exec *x, const char *entry, struct hdd_csr_args *p, struct hd_err *err)
{
    p->blocks = rt_finish_blocks(x, p->n, RT_FINISH_THREADS);
    return rt_finish_launch(x, "finish_index", entry, p->blocks, p, err);
}

/* Counters that do not fit the cache: rows are looked at in the order of the upper bits of
 * their index, so that the counters in use do. Measured without: 36 ms for 6e8 rows over
 * 1.5e8 counters; with 10^6 counters 6 ms (docs/performance.md, "What memory of a GPU gives"). */
static int near_indexes(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hdd_csr_args *p, struct rt_radix *order,
                        struct hd_err *err)
{
    uint64_t cached = rt_index_counters(&x->d->info);
    uint64_t low = hd_pow2_ceil(cached + 1) / 2 - 1, high = hd_pow2_ceil(p->range) - 1;
    struct hdd_csr_args keys = *p;
    if (p->range <= cached || p->n < (x->first_rows ? x->first_rows : RT_INDEX_NEAR_MAX))
        return 0;
    HD_TRY(rt_radix_alloc(x, v->s, p->n, true, order, err));
    keys.to = order->keys[0].address;
    HD_TRY(launch_csr(x, "hdd_csr_keys", &keys, err));
    HD_TRY(rt_radix_sort(x, v->s, order, high & ~low, err));
    rt_gpu_release(x, &order->keys[0]);
    rt_gpu_release(x, &order->keys[1]);
    p->order = order->rows[order->now].address;
    return 0;
}

static int group_by_index(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct rt_radix *order,
                          struct rt_piece *scratch, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    size_t counts = hd_align_up((size_t)s->range * 4, 256), bytes = counts + (size_t)v->nrows * 4;
    HD_TRY(rt_state_alloc(x, s, (size_t)(v->nrows * (uint64_t)s->stride), &v->moved, err));
    struct hdd_csr_args p = {.rows = v->rows_at.address,
                             .n = v->nrows,
                             .to = v->moved.address,
                             .offsets = v->offsets_at.address,
                             .range = s->range,
                             .stride = (hdd_u32)s->stride,
                             .field = (hdd_u32)s->fields[0].offset};
    HD_TRY(near_indexes(x, v, &p, order, err));
    HD_TRY(rt_state_alloc(x, s, bytes, scratch, err));
    HD_TRY(x->d->ops->set(x->d, scratch->address, 0, counts, err));
    p.counts = scratch->address;
    p.ranks = scratch->address + counts;
    HD_TRY(launch_csr(x, "hdd_csr_count", &p, err));
    HD_TRY(rt_gpu_prefix_sum(x, s, p.counts, s->range, p.offsets, true, err));
    return launch_csr(x, "hdd_csr_place", &p, err);
}

int rt_gpu_finish_csr(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    size_t bytes = (size_t)(s->range + 1) * sizeof(uint64_t);
    struct rt_radix order = {.n = 0};
    struct rt_piece scratch = {0};
    HD_ASSERT(s->range < UINT32_MAX);
    if (v->nrows == 0)
        return rt_state_alloc_zeroed(x, s, bytes, &v->offsets_at, err);
    HD_TRY(rt_state_alloc(x, s, bytes, &v->offsets_at, err));
    int rc = group_by_index(x, v, &order, &scratch, err);
    rt_radix_release(x, &order);
    rt_gpu_release(x, &scratch);
    rt_gpu_release(x, &v->rows_at);
    v->rows = v->moved.address;
    return rc;
}

/* ---- HASH -------------------------------------------------------------------------------- */

struct hash_build {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct hdd_hash_args p;
    struct rt_piece more, zeroed, scratch, counts;
};

static int launch_hash(struct hash_build *b, const char *module, const char *entry, struct hd_err *err)
{
    return rt_finish_launch(b->x, module, entry, b->p.blocks, &b->p, err);
}

/* At most two thirds full, as on the CPU. */
static int make_slots(struct hash_build *b, uint64_t keys, struct hd_err *err)
{
    uint64_t n = hd_pow2_ceil(HD_MAX(keys + keys / 2, (uint64_t)8));
    rt_gpu_release(b->x, &b->v->slots_at);
    b->v->mask = b->p.mask = n - 1;
    HD_TRY(rt_state_alloc_zeroed(b->x, b->v->s, (size_t)n * sizeof(uint64_t), &b->v->slots_at, err));
    b->p.slots = b->v->slots_at.address;
    return 0;
}

/* Two totals, and where rows are counted at once a count per row, begin as zeros; a first row and a rank per row need
 * not. */
static int group_memory(struct hash_build *b, bool counted, struct hd_err *err)
{
    enum { TOTALS = 256 };
    size_t words = (size_t)b->p.n * sizeof(uint32_t);
    HD_TRY(rt_state_alloc_zeroed(b->x, b->v->s, TOTALS + (counted ? words : 0), &b->zeroed, err));
    HD_TRY(rt_state_alloc(b->x, b->v->s, 2 * words, &b->scratch, err));
    b->p.totals = b->zeroed.address;
    b->p.counts = counted ? b->zeroed.address + TOTALS : 0;
    b->p.first = b->scratch.address;
    b->p.ranks = b->p.first + words;
    return 0;
}

static int count_rows(struct hash_build *b, struct hd_err *err)
{
    HD_TRY(rt_state_alloc_zeroed(b->x, b->v->s, (size_t)b->p.n * sizeof(uint32_t), &b->counts, err));
    b->p.counts = b->counts.address;
    return launch_hash(b, "finish_hash", "hdd_hash_rank", err);
}

/* Rows of a key become neighbours, or all but the first one go. */
static int move_rows(struct hash_build *b, uint64_t rows, struct hd_err *err)
{
    struct rt_gpu_state *v = b->v;
    v->nrows = rows;
    HD_TRY(rt_state_alloc(b->x, v->s, (size_t)(rows * (uint64_t)v->s->stride), &v->moved, err));
    b->p.to = v->moved.address;
    HD_TRY(launch_hash(b, "finish_hash", "hdd_hash_place", err));
    if (!b->p.dedupe)
        HD_TRY(launch_hash(b, "finish_hash", "hdd_hash_move", err));
    rt_gpu_release(b->x, &v->rows_at);
    v->rows = v->moved.address;
    return 0;
}

/* Of few rows nobody asks how many keys they have: that would take longer than to move them. Else rows whose keys are
 * distinct stay where they are, and many rows of few keys get slots that stay in a cache. */
static int group(struct hash_build *b, struct hd_err *err)
{
    enum { FEW = 1 << 16, ROWS_OF_A_KEY = 4 };
    bool few = !b->p.dedupe && b->p.n <= (b->x->first_rows ? b->x->first_rows : FEW);
    uint64_t keys = b->p.n;
    HD_TRY(make_slots(b, keys, err));
    HD_TRY(group_memory(b, few, err));
    HD_TRY(launch_hash(b, "finish_hash_group", "hdd_hash_group", err));
    if (few)
        return move_rows(b, b->p.n, err);
    HD_TRY(b->x->d->ops->download(b->x->d, &keys, b->p.totals, sizeof keys, err));
    if (keys == b->p.n)
        return 0;
    if (!b->p.dedupe)
        HD_TRY(count_rows(b, err));
    b->p.fresh = keys <= b->p.n / ROWS_OF_A_KEY;
    if (b->p.fresh)
        HD_TRY(make_slots(b, keys, err));
    return move_rows(b, b->p.dedupe ? keys : b->p.n, err);
}

static int slots(struct hash_build *b, struct hd_err *err)
{
    HD_TRY(make_slots(b, b->v->nrows, err));
    return b->v->nrows ? launch_hash(b, "finish_hash", "hdd_hash_unique", err) : 0;
}

static int build(struct rt_gpu_exec *x, struct rt_gpu_state *v, bool distinct, bool dedupe, struct hd_err *err)
{
    struct hash_build b = {.x = x, .v = v, .p = {.rows = v->rows, .n = v->nrows, .dedupe = dedupe}};
    b.p.blocks = rt_finish_blocks(x, b.p.n, RT_FINISH_THREADS);
    bool made = false;
    int rc = rt_keys_of_group(x, v->s, &b.p.keys, &b.more, err);
    if (rc == 0 && rt_hash_has_windows(x, v->nrows))
        rc = rt_hash_by_windows(x, v, &b.p.keys, distinct, &made, err);
    if (rc == 0 && !made)
        rc = distinct || v->nrows <= 1 ? slots(&b, err) : group(&b, err);
    rt_gpu_release(x, &b.more);
    rt_gpu_release(x, &b.zeroed);
    rt_gpu_release(x, &b.scratch);
    rt_gpu_release(x, &b.counts);
    return rc;
}

int rt_gpu_finish_hash_unique(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    return build(x, v, true, false, err);
}

int rt_gpu_finish_hash_group(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    return build(x, v, false, false, err);
}

int rt_gpu_finish_hash_dedupe(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    return build(x, v, false, true, err);
}
