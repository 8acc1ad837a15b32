/* HASH: a table of slots over rows in which equal keys are neighbours.
 *
 * Unless facts prove keys unique, rows are grouped first: distributed into parts by hash, each
 * part grouped by one thread through a small table of its own. Then every group (every row, if
 * unique) takes a slot (templates/slot.cuh). Threads do that side by side: a slot is claimed with
 * one compare-and-swap. */
#include <stdlib.h>

#include "runtime/exec/keys.h"
#include "runtime/exec/partition.h"
#include "templates/slot.cuh"

enum { AHEAD = 12 }; /* rows between the prefetch of a slot and its use */

struct hash_build {
    struct rt_exec *x;
    struct rt_live *v;
    struct rt_keys keys;
    struct rt_parts parts;
    unsigned char *to;        /* grouped rows */
    uint64_t *kept, *groups;  /* per part: rows and groups left */
    struct rt_block *scratch; /* per worker: for grouping */
    uint64_t base[RT_MAX_PARTS + 1];
    struct rt_cut cut; /* for unique rows */
    bool atomic;
};

/* ---- Grouping a part ------------------------------------------------------------------- */

struct group {
    uint32_t first; /* row of the part */
    uint32_t count; /* then: where its next row goes, from behind */
};

/* Scratch of one part: table of group numbers + 1, groups, group of each row. */
struct grouping {
    uint32_t *table;
    uint32_t mask;
    struct group *groups;
    uint32_t ngroups;
    uint32_t *of_row;
};

static bool grouping_init(struct hash_build *b, struct grouping *g, int worker, uint64_t n)
{
    struct rt_block *m = &b->scratch[worker];
    uint64_t slots = hd_pow2_ceil(HD_MAX(n * 3 / 2, (uint64_t)8));
    size_t bytes = slots * 4 + n * (sizeof *g->groups + 4);
    HD_ASSERT(n < UINT32_MAX);
    if (bytes > m->n) {
        rt_block_free(&b->x->memory, m);
        if (rt_exec_block(b->x, b->v->s, bytes + bytes / 4, false, m) != 0)
            return false;
    }
    g->table = memset(m->p, 0, slots * 4);
    g->mask = (uint32_t)(slots - 1);
    g->groups = (struct group *)(void *)(g->table + slots);
    g->of_row = (uint32_t *)(void *)(g->groups + n);
    g->ngroups = 0;
    return true;
}

/* The group of row i of `rows`, a new one if its key is new. */
static uint32_t find_group(const struct hash_build *b, struct grouping *g, const unsigned char *rows, uint32_t i)
{
    size_t stride = (size_t)b->v->s->stride;
    const unsigned char *row = rows + i * stride;
    uint64_t h = rt_row_hash(row);
    /* The low bits chose the part; these are others. */
    for (uint32_t at = (uint32_t)(h >> 32) & g->mask;; at = (at + 1) & g->mask) {
        uint32_t k = g->table[at];
        if (k == 0) {
            g->groups[g->ngroups] = (struct group){i, 0};
            g->table[at] = ++g->ngroups;
            return g->ngroups - 1;
        }
        const unsigned char *other = rows + g->groups[k - 1].first * stride;
        if (rt_row_hash(other) == h && rt_keys_equal(&b->keys, other, row))
            return k - 1;
    }
}

/* Equal keys become neighbours, in the place of the part in b->to. */
static void group_rows(struct hash_build *b, struct grouping *g, uint64_t part)
{
    size_t stride = (size_t)b->v->s->stride;
    uint64_t start = b->parts.start[part];
    const unsigned char *rows = b->parts.rows + start * stride;
    uint32_t n = (uint32_t)(b->parts.start[part + 1] - start), at = 0;
    for (uint32_t i = 0; i < n; i++) {
        g->of_row[i] = find_group(b, g, rows, i);
        g->groups[g->of_row[i]].count++;
    }
    for (uint32_t k = 0; k < g->ngroups; k++) {
        at += g->groups[k].count;
        g->groups[k].count = at;
    }
    for (uint32_t i = n; i-- > 0;) {
        uint64_t to = start + --g->groups[g->of_row[i]].count;
        rt_copy_row(b->to + to * stride, rows + i * stride, stride);
    }
    b->kept[part] = n;
}

/* The first row of each key moves to the front of the part, in place. A group's `first` follows
 * its row: it lies at the number of the group. */
static void dedupe_rows(struct hash_build *b, struct grouping *g, uint64_t part)
{
    size_t stride = (size_t)b->v->s->stride;
    uint64_t start = b->parts.start[part];
    unsigned char *rows = (unsigned char *)(uintptr_t)b->parts.rows + start * stride;
    uint32_t n = (uint32_t)(b->parts.start[part + 1] - start);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = g->ngroups;
        uint32_t k = find_group(b, g, rows, i);
        if (g->ngroups == before || k == i)
            continue;
        memcpy(rows + k * stride, rows + i * stride, stride);
        g->groups[k].first = k;
    }
    b->kept[part] = g->ngroups;
}

static void group_part(void *context, struct rt_worker *w, uint64_t part)
{
    struct hash_build *b = context;
    struct grouping g;
    if (!grouping_init(b, &g, w->t.index, b->parts.start[part + 1] - b->parts.start[part]))
        return;
    if (b->v->s->dedupe)
        dedupe_rows(b, &g, part);
    else
        group_rows(b, &g, part);
    b->groups[part] = g.ngroups;
}

/* After deduplication the parts have holes behind them. */
static void close_up(void *context, struct rt_worker *w HD_UNUSED, uint64_t part)
{
    struct hash_build *b = context;
    size_t stride = (size_t)b->v->s->stride;
    memcpy(b->to + b->base[part] * stride, b->parts.rows + b->parts.start[part] * stride, b->kept[part] * stride);
}

/* ---- Slots ----------------------------------------------------------------------------- */

static bool claim(u64 *p, u64 word, bool atomic)
{
    u64 empty = 0;
    if (atomic)
        return __atomic_load_n(p, __ATOMIC_RELAXED) == 0 &&
               __atomic_compare_exchange_n(p, &empty, word, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (*p != 0)
        return false;
    *p = word;
    return true;
}

static void insert(const struct hash_build *b, uint64_t hash, uint64_t row, bool many)
{
    u64 *slots = b->v->slots.p, word = hdd_slot_word(hash, row, many);
    uint64_t at = hash & b->v->mask;
    while (!claim(&slots[at], word, b->atomic))
        at = (at + 1) & b->v->mask;
}

/* Groups among the rows [from, to), which none crosses. Nobody needs the hash of a row that is done. */
static void insert_rows(const struct hash_build *b, uint64_t from, uint64_t to, bool single)
{
    size_t stride = (size_t)b->v->s->stride;
    const u64 *slots = b->v->slots.p;
    unsigned char *row = b->v->rows + from * stride;
    for (uint64_t i = from, count; i < to; i += count, row += count * stride) {
        uint64_t h = rt_row_hash(row);
        if (i + AHEAD < to)
            __builtin_prefetch(&slots[rt_row_hash(row + AHEAD * stride) & b->v->mask], 1);
        count = 1;
        while (!single && i + count < to && rt_row_hash(row + count * stride) == h &&
               rt_keys_equal(&b->keys, row, row + count * stride))
            count++;
        if (count > 1)
            memcpy(row, &count, sizeof count);
        insert(b, h, i, count > 1);
    }
}

static void insert_cut(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct hash_build *b = context;
    insert_rows(b, task * b->cut.size, rt_cut_end(&b->cut, task), true);
}

static void insert_part(void *context, struct rt_worker *w HD_UNUSED, uint64_t part)
{
    struct hash_build *b = context;
    insert_rows(b, b->parts.start[part], b->parts.start[part + 1], false);
}

/* At most two thirds full: a miss then looks at five slots on average, mostly of one line. */
static int make_slots(struct hash_build *b, uint64_t ngroups)
{
    uint64_t n = hd_pow2_ceil(HD_MAX(ngroups + ngroups / 2, (uint64_t)8));
    b->v->mask = n - 1;
    return rt_exec_block(b->x, b->v->s, n * sizeof(u64), true, &b->v->slots);
}

/* ---- Finish ---------------------------------------------------------------------------- */

static int build_unique(struct hash_build *b)
{
    b->cut = rt_cut(b->x, b->v->nrows, 8192);
    b->atomic = b->cut.ntasks > 1;
    HD_TRY(make_slots(b, b->v->nrows));
    return rt_exec_parallel(b->x, b->cut.ntasks, insert_cut, b);
}

static int group_parts(struct hash_build *b)
{
    struct rt_exec *x = b->x;
    struct rt_live *v = b->v;
    const struct rt_state *s = v->s;
    size_t bytes = v->nrows * (size_t)s->stride;
    uint64_t slots = hd_pow2_ceil(HD_MAX(v->nrows, (uint64_t)8));
    struct rt_parts *p = &b->parts;
    p->n = rt_parts_wanted(bytes + v->nrows * 16);
    p->mask = slots - 1;
    p->shift = __builtin_ctzll(slots) - __builtin_ctz((unsigned)p->n);
    if (p->n > 1 || !s->dedupe)
        HD_TRY(rt_exec_block(x, s, bytes, false, &v->moved));
    if (p->n > 1) {
        HD_TRY(rt_parts_make(x, s, p, v->rows, v->nrows, v->moved.p));
        b->to = v->rows;
    } else {
        p->rows = v->rows;
        p->start[1] = v->nrows;
        b->to = v->moved.p;
    }
    b->scratch = HD_NEWN(&x->arena, struct rt_block, x->o.threads);
    int rc = rt_exec_parallel(x, (uint64_t)p->n, group_part, b);
    for (int w = 0; w < x->o.threads; w++)
        rt_block_free(&x->memory, &b->scratch[w]);
    return rc;
}

static int finish_dedupe(struct hash_build *b)
{
    struct rt_live *v = b->v;
    for (int k = 0; k < b->parts.n; k++)
        b->base[k + 1] = b->base[k] + b->kept[k];
    if (b->parts.n > 1)
        HD_TRY(rt_exec_parallel(b->x, (uint64_t)b->parts.n, close_up, b));
    v->nrows = b->base[b->parts.n];
    rt_block_free(&b->x->memory, &v->moved);
    rt_region_trim(&b->x->memory, &v->region, v->nrows * (size_t)v->s->stride);
    return build_unique(b);
}

static int finish_groups(struct hash_build *b)
{
    struct rt_live *v = b->v;
    uint64_t ngroups = 0;
    for (int k = 0; k < b->parts.n; k++)
        ngroups += b->groups[k];
    if (b->parts.n > 1) {
        rt_block_free(&b->x->memory, &v->moved);
    } else {
        rt_region_free(&b->x->memory, &v->region);
        v->rows = v->moved.p;
    }
    b->atomic = b->parts.n > 1 && b->x->o.threads > 1;
    HD_TRY(make_slots(b, ngroups));
    return rt_exec_parallel(b->x, (uint64_t)b->parts.n, insert_part, b);
}

static int build(struct rt_exec *x, struct rt_live *v, int (*finish)(struct hash_build *b))
{
    struct hash_build *b = HD_NEW(&x->arena, struct hash_build);
    if (v->nrows > HDD_SLOT_ROWS_MAX) {
        rt_exec_raise(x, HD_ERR_RESOURCE, v->s->path, "%llu rows, at most %llu have a number",
                      (unsigned long long)v->nrows, HDD_SLOT_ROWS_MAX);
        return -1;
    }
    *b = (struct hash_build){.x = x, .v = v, .keys = rt_keys(v->s)};
    return finish(b);
}

int rt_finish_hash_unique(struct rt_exec *x, struct rt_live *v)
{
    return build(x, v, build_unique);
}

static int build_groups(struct hash_build *b, int (*finish)(struct hash_build *b))
{
    if (b->v->nrows <= 1)
        return build_unique(b);
    b->kept = HD_NEWN(&b->x->arena, uint64_t, RT_MAX_PARTS);
    b->groups = HD_NEWN(&b->x->arena, uint64_t, RT_MAX_PARTS);
    HD_TRY(group_parts(b));
    return finish(b);
}

static int build_many(struct hash_build *b)
{
    return build_groups(b, finish_groups);
}

static int build_first(struct hash_build *b)
{
    return build_groups(b, finish_dedupe);
}

int rt_finish_hash_group(struct rt_exec *x, struct rt_live *v)
{
    return build(x, v, build_many);
}

int rt_finish_hash_dedupe(struct rt_exec *x, struct rt_live *v)
{
    return build(x, v, build_first);
}
