#include "runtime/exec/sort.h"

#include <math.h>
#include <string.h>

#include "runtime/exec/keys.h"

/* ---- Normalised keys ------------------------------------------------------------------- */

static int key_bits(enum rt_phys p)
{
    switch (p) {
    case RT_BOOL: return 1;
    case RT_I32:
    case RT_F32: return 32;
    case RT_I64:
    case RT_F64: return 64;
    case RT_I128:
    case RT_STR: return 128;
    }
    HD_BUG("physical type %d", (int)p);
}

static void add_cell(struct rt_sorter *o, int offset, uint32_t flip)
{
    if (o->ncells == 4)
        return;
    o->cells[o->ncells].offset = offset;
    o->cells[o->ncells++].flip = flip;
}

static void find_cells(struct rt_sorter *o)
{
    const uint32_t sign = 0x80000000u;
    const struct rt_state *s = o->s;
    for (int i = 0; i < s->nsort && o->ncells < 4; i++) {
        const struct rt_field *f = &s->fields[s->sort[i].field];
        uint32_t flip = s->sort[i].desc ? UINT32_MAX : 0;
        if (f->valid_offset >= 0 || (f->phys != RT_I32 && f->phys != RT_I64)) {
            o->ncells = 0;
            return;
        }
        if (f->phys == RT_I64)
            add_cell(o, f->offset + 4, flip ^ sign); /* the upper half */
        add_cell(o, f->offset, f->phys == RT_I64 ? flip : flip ^ sign);
    }
}

void rt_sorter_init(struct rt_sorter *o, const struct rt_state *s)
{
    int used = 0;
    *o = (struct rt_sorter){.s = s};
    find_cells(o);
    for (; o->rest < s->nsort; o->rest++) {
        const struct rt_field *f = &s->fields[s->sort[o->rest].field];
        used += key_bits(f->phys) + (f->valid_offset >= 0);
        if (used > 128 || f->phys == RT_STR)
            return;
    }
}

/* As a number that orders like them; a shorter string is filled with zeros. */
static hd_u128 first_bytes(const struct rt_row_str *s)
{
    uint64_t w[2] = {0, 0};
    if (s->n >= 16)
        memcpy(w, s->s, 16); /* of a constant size: no call */
    else if (s->n > 0)
        memcpy(w, s->s, (size_t)s->n);
    return (hd_u128)__builtin_bswap64(w[0]) << 64 | __builtin_bswap64(w[1]);
}

/* The value as an unsigned number of key_bits bits that orders like it; STR: its first bytes. */
static hd_u128 normalise(enum rt_phys phys, const unsigned char *p)
{
    int32_t i32;
    int64_t i64;
    hd_u128 u;
    struct rt_row_str s;
    double d;
    float v;
    switch (phys) {
    case RT_BOOL: return *p != 0;
    case RT_I32: memcpy(&i32, p, 4); return (uint32_t)i32 ^ 0x80000000u;
    case RT_I64: memcpy(&i64, p, 8); return (uint64_t)i64 ^ (uint64_t)1 << 63;
    case RT_I128: memcpy(&u, p, 16); return u ^ (hd_u128)1 << 127;
    case RT_F64:
        memcpy(&d, p, 8);
        if (isnan(d))
            return ~(uint64_t)0;
        d = d == 0 ? 0.0 : d; /* no -0 */
        memcpy(&i64, &d, 8);
        return i64 < 0 ? ~(uint64_t)i64 : (uint64_t)i64 | (uint64_t)1 << 63;
    case RT_F32:
        memcpy(&v, p, 4);
        if (isnan(v))
            return ~(uint32_t)0;
        v = v == 0 ? 0.0f : v;
        memcpy(&i32, &v, 4);
        return i32 < 0 ? ~(uint32_t)i32 : (uint32_t)i32 | 0x80000000u;
    case RT_STR: memcpy(&s, p, sizeof s); return first_bytes(&s);
    }
    HD_BUG("physical type %d", (int)phys);
}

/* Bits are filled from the top; `left` counts those still free. */
struct packing {
    hd_u128 key;
    int left;
};

static void pack(struct packing *p, hd_u128 v, int bits)
{
    if (bits < 128)
        v &= ((hd_u128)1 << bits) - 1;
    if (bits > p->left) {
        v >>= bits - p->left;
        bits = p->left;
    }
    p->left -= bits;
    if (bits)
        p->key |= v << p->left;
}

static void entry_of_cells(const struct rt_sorter *o, const unsigned char *row, struct rt_sort_entry *e)
{
    uint32_t w[4] = {0};
    for (int i = 0; i < o->ncells; i++) {
        memcpy(&w[i], row + o->cells[i].offset, sizeof w[i]);
        w[i] ^= o->cells[i].flip;
    }
    *e = (struct rt_sort_entry){(uint64_t)w[0] << 32 | w[1], (uint64_t)w[2] << 32 | w[3], row};
}

void rt_sort_entry(const struct rt_sorter *o, const unsigned char *row, struct rt_sort_entry *e)
{
    const struct rt_state *s = o->s;
    struct packing p = {0, 128};
    if (o->ncells) {
        entry_of_cells(o, row, e);
        return;
    }
    for (int i = 0; i < s->nsort && p.left > 0; i++) {
        const struct rt_field *f = &s->fields[s->sort[i].field];
        bool valid = f->valid_offset < 0 || row[f->valid_offset];
        hd_u128 v = valid ? normalise(f->phys, row + f->offset) : 0;
        if (f->valid_offset >= 0)
            pack(&p, valid == s->sort[i].nulls_first, 1);
        pack(&p, valid && s->sort[i].desc ? ~v : v, key_bits(f->phys));
    }
    e->hi = (uint64_t)(p.key >> 64);
    e->lo = (uint64_t)p.key;
    e->row = row;
}

static int compare_field(const struct rt_state *s, const struct rt_sort_key *k, const unsigned char *a,
                         const unsigned char *b)
{
    const struct rt_field *f = &s->fields[k->field];
    if (f->valid_offset >= 0) {
        bool va = a[f->valid_offset] != 0, vb = b[f->valid_offset] != 0;
        if (!va || !vb)
            return va == vb ? 0 : va == k->nulls_first ? 1 : -1;
    }
    int c = rt_value_compare(f->phys, a + f->offset, b + f->offset);
    return k->desc ? -c : c;
}

int rt_sort_compare_keys(const struct rt_sorter *o, int from, int to, const unsigned char *a, const unsigned char *b)
{
    int c = 0;
    for (int i = from; i < to && c == 0; i++)
        c = compare_field(o->s, &o->s->sort[i], a, b);
    return c;
}

int rt_sort_compare_rest(const struct rt_sorter *o, const unsigned char *a, const unsigned char *b)
{
    return rt_sort_compare_keys(o, o->rest, o->s->nsort, a, b);
}

/* ---- One thread ------------------------------------------------------------------------ */

enum { INSERTION = 20 };

static inline void swap(struct rt_sort_entry *a, struct rt_sort_entry *b)
{
    struct rt_sort_entry t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct rt_sort_entry v = e[i];
        size_t j = i;
        for (; j > 0 && rt_sort_less(o, &v, &e[j - 1]); j--)
            e[j] = e[j - 1];
        e[j] = v;
    }
}

static void sift_down(const struct rt_sorter *o, struct rt_sort_entry *e, size_t i, size_t n)
{
    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && rt_sort_less(o, &e[c], &e[c + 1]);
        if (!rt_sort_less(o, &e[i], &e[c]))
            return;
        swap(&e[i], &e[c]);
    }
}

static void heap_sort(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(o, e, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(&e[0], &e[i]);
        sift_down(o, e, 0, i);
    }
}

static bool is_stopped(const struct rt_sorter *o)
{
    return o->stopped && atomic_load_explicit(o->stopped, memory_order_relaxed) != 0;
}

static void order3(const struct rt_sorter *o, struct rt_sort_entry *a, struct rt_sort_entry *b, struct rt_sort_entry *c)
{
    if (rt_sort_less(o, b, a))
        swap(a, b);
    if (rt_sort_less(o, c, b)) {
        swap(b, c);
        if (rt_sort_less(o, b, a))
            swap(a, b);
    }
}

/* Hoare's partition around a median of three: e[0..p) <= e[p..n), 0 < p < n. Equal entries are
 * spread over both sides, so that many duplicates stay balanced. */
static size_t partition(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n)
{
    order3(o, &e[n / 4], &e[n / 2], &e[n / 4 * 3]);
    struct rt_sort_entry pivot = e[n / 2];
    size_t i = (size_t)-1, j = n;
    for (;;) {
        while (rt_sort_less(o, &e[++i], &pivot))
            ;
        while (rt_sort_less(o, &pivot, &e[--j]))
            ;
        if (i >= j)
            return j + 1;
        if (is_stopped(o))
            return n / 2;
        swap(&e[i], &e[j]);
    }
}

static int depth_limit(size_t n)
{
    int d = 8;
    for (; n > 1; n >>= 1)
        d += 2;
    return d;
}

static void sort_within(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n, int depth)
{
    while (n > INSERTION && !is_stopped(o)) {
        if (depth-- == 0) {
            heap_sort(o, e, n);
            return;
        }
        size_t p = partition(o, e, n);
        if (is_stopped(o))
            return;
        if (p < n - p) {
            sort_within(o, e, p, depth);
            e += p;
            n -= p;
        } else {
            sort_within(o, e + p, n - p, depth);
            n = p;
        }
    }
    if (n <= INSERTION)
        insertion_sort(o, e, n);
}

void rt_sort_entries(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n)
{
    sort_within(o, e, n, depth_limit(n));
}

void rt_sort_select(const struct rt_sorter *o, struct rt_sort_entry *e, size_t n, size_t k)
{
    int depth = depth_limit(n);
    while (n > INSERTION && k < n && !is_stopped(o)) {
        if (depth-- == 0)
            break;
        size_t p = partition(o, e, n);
        if (k < p) {
            n = p;
        } else {
            e += p;
            n -= p;
            k -= p;
        }
        if (k == 0)
            return;
    }
    if (k < n)
        sort_within(o, e, n, depth_limit(n));
}

/* ---- One thread, many entries ------------------------------------------------------------ */

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, RADIX_MIN = 256 };

/* Of the digit below the highest bit of `any`. */
static int digit_shift(uint64_t any, int bits)
{
    int top = 64 - __builtin_clzll(any);
    return HD_MAX(top - bits, 0);
}

/* By the highest bits in which the entries' first words differ, digit by digit; few entries, or those of equal first
 * words, by comparisons. spare: as much memory. */
static void sort_by_digits(const struct rt_sorter *o, struct rt_sort_entry *e, struct rt_sort_entry *spare, size_t n)
{
    size_t at[DIGITS + 1] = {0};
    uint64_t any = 0;
    for (size_t i = 1; i < n; i++)
        any |= e[i].hi ^ e[0].hi;
    if (n < RADIX_MIN || any == 0 || is_stopped(o)) {
        rt_sort_entries(o, e, n);
        return;
    }
    int shift = digit_shift(any, DIGIT_BITS);
    for (size_t i = 0; i < n; i++)
        at[(e[i].hi >> shift & (DIGITS - 1)) + 1]++;
    for (int d = 0; d < DIGITS; d++)
        at[d + 1] += at[d];
    for (size_t i = 0; i < n; i++)
        spare[at[e[i].hi >> shift & (DIGITS - 1)]++] = e[i];
    memcpy(e, spare, n * sizeof *e);
    for (size_t d = 0, from = 0; d < DIGITS; from = at[d++])
        sort_by_digits(o, e + from, spare + from, at[d] - from);
}

/* ---- All threads ----------------------------------------------------------------------- */

/* Entries are distributed to buckets by the highest bits in which their first words differ, or, where these are uneven,
 * between splitters drawn from a sample (sample sort); then buckets are sorted one by one. A bucket of equal entries
 * alone costs one pass per level of the recursion, as everywhere in this sort. */
enum { PARALLEL_MIN = 1 << 15, SAMPLES_PER_BUCKET = 64, BUCKET_BITS = 8, MAX_BUCKETS = 1 << BUCKET_BITS, UNEVEN = 16 };

struct sorting {
    struct rt_exec *x;
    const struct rt_sorter *o;
    const unsigned char *rows;
    struct rt_cut cut;
    struct rt_sort_entry *from, *to; /* entries before and after distribution */
    struct rt_sort_entry splitters[MAX_BUCKETS];
    int nbuckets;
    _Atomic uint64_t some, all; /* bits that are set in some first word, and in all */
    bool by_digit;
    int shift;
    uint64_t *counts; /* [task][bucket]; then where the task writes next */
    uint64_t start[MAX_BUCKETS + 1];
    uint64_t offset, count;
    unsigned char *out;
};

static void make_entries(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct sorting *s = context;
    size_t stride = (size_t)s->o->s->stride;
    uint64_t some = 0, all = UINT64_MAX;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++) {
        rt_sort_entry(s->o, s->rows + i * stride, &s->from[i]);
        some |= s->from[i].hi;
        all &= s->from[i].hi;
    }
    atomic_fetch_or(&s->some, some);
    atomic_fetch_and(&s->all, all);
}

/* A digit, or the number of splitters that are not greater. */
static int bucket_of(const struct sorting *s, const struct rt_sort_entry *e)
{
    int from = 0, to = s->nbuckets - 1;
    if (s->by_digit)
        return (int)(e->hi >> s->shift & (MAX_BUCKETS - 1));
    while (from < to) {
        int mid = (from + to) / 2;
        if (rt_sort_less(s->o, e, &s->splitters[mid]))
            to = mid;
        else
            from = mid + 1;
    }
    return from;
}

static void count_buckets(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct sorting *s = context;
    uint64_t *counts = s->counts + task * (uint64_t)s->nbuckets;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++)
        counts[bucket_of(s, &s->from[i])]++;
}

static void distribute(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct sorting *s = context;
    uint64_t *at = s->counts + task * (uint64_t)s->nbuckets;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++)
        s->to[at[bucket_of(s, &s->from[i])]++] = s->from[i];
}

static void choose_splitters(struct sorting *s)
{
    static const int per = SAMPLES_PER_BUCKET;
    size_t n = (size_t)s->nbuckets * SAMPLES_PER_BUCKET;
    struct rt_sort_entry *sample = s->to; /* not in use yet, and longer */
    for (size_t i = 0; i < n; i++)
        sample[i] = s->from[(hdd_mix(i + 1) >> 11) % s->cut.n];
    rt_sort_entries(s->o, sample, n);
    for (int b = 0; b + 1 < s->nbuckets; b++)
        s->splitters[b] = sample[(b + 1) * per];
}

/* From counts to the places where each task writes, bucket by bucket. */
static void place_buckets(struct sorting *s)
{
    uint64_t at = 0;
    for (int b = 0; b < s->nbuckets; b++) {
        s->start[b] = at;
        for (uint64_t t = 0; t < s->cut.ntasks; t++) {
            uint64_t *c = &s->counts[t * (uint64_t)s->nbuckets + (uint64_t)b];
            uint64_t n = *c;
            *c = at;
            at += n;
        }
    }
    s->start[s->nbuckets] = at;
}

/* Buckets outside the wanted rows need no sorting. */
static void sort_bucket(void *context, struct rt_worker *w HD_UNUSED, uint64_t b)
{
    struct sorting *s = context;
    if (s->start[b + 1] > s->offset && s->start[b] < s->offset + s->count)
        sort_by_digits(s->o, s->to + s->start[b], s->from + s->start[b], s->start[b + 1] - s->start[b]);
}

static void gather_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct sorting *s = context;
    size_t stride = (size_t)s->o->s->stride;
    const struct rt_sort_entry *e = s->to + s->offset;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++) {
        if (i + 8 < s->cut.n)
            __builtin_prefetch(e[i + 8].row);
        memcpy(s->out + i * stride, e[i].row, stride);
    }
}

/* No bucket has so much that a thread would be left alone with it. */
static bool is_even(const struct sorting *s)
{
    uint64_t max = 0;
    for (int b = 0; b < s->nbuckets; b++)
        max = HD_MAX(max, s->start[b + 1] - s->start[b]);
    return max <= s->cut.n / UNEVEN;
}

static int count_all(struct sorting *s)
{
    memset(s->counts, 0, s->cut.ntasks * (size_t)s->nbuckets * sizeof *s->counts);
    HD_TRY(rt_exec_parallel(s->x, s->cut.ntasks, count_buckets, s));
    place_buckets(s);
    return 0;
}

static int choose_buckets(struct sorting *s)
{
    uint64_t any = s->some & ~s->all;
    s->by_digit = any != 0;
    if (any) {
        s->nbuckets = MAX_BUCKETS;
        s->shift = digit_shift(any, BUCKET_BITS);
        HD_TRY(count_all(s));
        if (is_even(s))
            return 0;
    }
    s->by_digit = false;
    s->nbuckets = HD_MIN(s->x->o.threads * 8, MAX_BUCKETS);
    choose_splitters(s);
    return count_all(s);
}

static int sort_parallel(struct sorting *s, struct rt_block *counts)
{
    struct rt_exec *x = s->x;
    HD_TRY(rt_exec_block(x, s->o->s, s->cut.ntasks * (size_t)MAX_BUCKETS * sizeof *s->counts, false, counts));
    s->counts = counts->p;
    HD_TRY(choose_buckets(s));
    HD_TRY(rt_exec_parallel(x, s->cut.ntasks, distribute, s));
    return rt_exec_parallel(x, (uint64_t)s->nbuckets, sort_bucket, s);
}

static int sort_all(struct sorting *s, uint64_t n, struct rt_block *blocks)
{
    struct rt_exec *x = s->x;
    bool parallel = x->o.threads > 1 && n >= PARALLEL_MIN;
    s->cut = rt_cut(x, n, 4096);
    HD_TRY(rt_exec_block(x, s->o->s, n * sizeof *s->from, false, &blocks[0]));
    s->from = blocks[0].p;
    HD_TRY(rt_exec_parallel(x, s->cut.ntasks, make_entries, s));
    if (parallel) {
        HD_TRY(rt_exec_block(x, s->o->s, n * sizeof *s->to, false, &blocks[1]));
        s->to = blocks[1].p;
        HD_TRY(sort_parallel(s, &blocks[2]));
    } else {
        s->to = s->from;
        if (s->offset + s->count < n && s->count)
            rt_sort_select(s->o, s->to, n, s->offset + s->count);
        rt_sort_entries(s->o, s->to, s->offset + s->count);
    }
    s->cut = rt_cut(x, s->count, 4096);
    return rt_exec_parallel(x, s->cut.ntasks, gather_rows, s);
}

/* ---- Rows beyond memory ------------------------------------------------------------------ */

/* A bucket's rows are written side by side before it is sorted, so that only they and their entries are touched at
 * random (external distribution sort: Knuth, The Art of Computer Programming 3, 5.4.7). A bucket of equal rows may be
 * larger than planned, which costs time. */
struct distribution {
    struct sorting *s;
    unsigned char *bucket_of; /* each row's */
    unsigned char *rows; /* bucket by bucket */
};

static struct rt_sort_entry entry_at(const struct sorting *s, const unsigned char *rows, uint64_t i)
{
    struct rt_sort_entry e;
    rt_sort_entry(s->o, rows + i * (size_t)s->o->s->stride, &e);
    return e;
}

static void find_buckets(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distribution *d = context;
    struct sorting *s = d->s;
    uint64_t *counts = s->counts + task * (uint64_t)s->nbuckets;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++) {
        struct rt_sort_entry e = entry_at(s, s->rows, i);
        d->bucket_of[i] = (unsigned char)bucket_of(s, &e);
        counts[d->bucket_of[i]]++;
    }
}

static void move_to_buckets(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct distribution *d = context;
    struct sorting *s = d->s;
    size_t stride = (size_t)s->o->s->stride;
    uint64_t *at = s->counts + task * (uint64_t)s->nbuckets;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++)
        memcpy(d->rows + at[d->bucket_of[i]]++ * stride, s->rows + i * stride, stride);
}

/* The wanted rows of a bucket go to their places. */
static void write_bucket(const struct sorting *s, const struct rt_sort_entry *e, uint64_t b)
{
    size_t stride = (size_t)s->o->s->stride;
    uint64_t from = HD_MAX(s->start[b], s->offset), to = HD_MIN(s->start[b + 1], s->offset + s->count);
    for (uint64_t i = from; i < to; i++)
        memcpy(s->out + (i - s->offset) * stride, e[i - s->start[b]].row, stride);
}

static void sort_apart(void *context, struct rt_worker *w, uint64_t b)
{
    struct distribution *d = context;
    struct sorting *s = d->s;
    struct rt_block m;
    uint64_t n = s->start[b + 1] - s->start[b];
    if (s->start[b + 1] <= s->offset || s->start[b] >= s->offset + s->count || n == 0)
        return;
    if (!rt_block_new(&w->x->memory, 2 * n * sizeof(struct rt_sort_entry), false, &m)) {
        rt_exec_raise_memory(w->x, s->o->s);
        return;
    }
    struct rt_sort_entry *e = m.p;
    for (uint64_t i = 0; i < n; i++)
        e[i] = entry_at(s, d->rows, s->start[b] + i);
    sort_by_digits(s->o, e, e + n, n);
    write_bucket(s, e, b);
    rt_block_free(&w->x->memory, &m);
}

/* Some neighbours at each place: rows of one page of a file cost as much as one. */
static void sample_rows(struct sorting *s, struct rt_sort_entry *sample, size_t n)
{
    enum { NEIGHBOURS = 8 };
    for (size_t i = 0; i < n; i++)
        sample[i] = entry_at(s, s->rows, ((hdd_mix(i / NEIGHBOURS + 1) >> 11) + i % NEIGHBOURS) % s->cut.n);
    rt_sort_entries(s->o, sample, n);
    for (int b = 0; b + 1 < s->nbuckets; b++)
        s->splitters[b] = sample[(b + 1) * SAMPLES_PER_BUCKET];
}

static int distribute_rows(struct distribution *d, struct rt_block *blocks)
{
    struct sorting *s = d->s;
    struct rt_exec *x = s->x;
    const struct rt_state *st = s->o->s;
    size_t samples = (size_t)s->nbuckets * SAMPLES_PER_BUCKET;
    HD_TRY(rt_exec_block(x, st, s->cut.n, false, &blocks[0]));
    HD_TRY(rt_exec_block(x, st, samples * sizeof *s->from, false, &blocks[1]));
    HD_TRY(rt_exec_block(x, st, s->cut.ntasks * (size_t)s->nbuckets * sizeof *s->counts, true, &blocks[2]));
    HD_TRY(rt_exec_block(x, st, s->cut.n * (size_t)st->stride, false, &blocks[3]));
    d->bucket_of = blocks[0].p;
    s->counts = blocks[2].p;
    d->rows = blocks[3].p;
    sample_rows(s, blocks[1].p, samples);
    HD_TRY(rt_exec_parallel(x, s->cut.ntasks, find_buckets, d));
    place_buckets(s);
    HD_TRY(rt_exec_parallel(x, s->cut.ntasks, move_to_buckets, d));
    return rt_exec_parallel(x, (uint64_t)s->nbuckets, sort_apart, d);
}

/* Bytes of rows and entries; what all threads sort at once stays below the memory that there is. */
static int sort_beyond(struct sorting *s, uint64_t n, uint64_t memory)
{
    struct rt_block blocks[4] = {{.p = NULL}, {.p = NULL}, {.p = NULL}, {.p = NULL}};
    struct distribution d = {.s = s};
    double bytes = (double)n * (double)(2 * sizeof(struct rt_sort_entry) + 2 * (size_t)s->o->s->stride);
    double each = (double)memory / (2.0 * s->x->o.threads);
    s->cut = rt_cut(s->x, n, 4096);
    s->nbuckets = (int)HD_MIN(2 + bytes / HD_MAX(each, 1.0), (double)MAX_BUCKETS);
    int rc = distribute_rows(&d, blocks);
    for (int i = 0; i < 4; i++)
        rt_block_free(&s->x->memory, &blocks[i]);
    return rc;
}

int rt_sort_rows(struct rt_exec *x, const struct rt_sorter *o, const unsigned char *rows, uint64_t n, uint64_t offset,
                 uint64_t count, unsigned char *out)
{
    struct rt_block blocks[3] = {{.p = NULL}, {.p = NULL}, {.p = NULL}};
    struct sorting *s = hd_alloc(&x->arena, sizeof *s);
    *s =
        (struct sorting){.x = x, .o = o, .rows = rows, .offset = offset, .count = count, .out = out, .all = UINT64_MAX};
    uint64_t memory = rt_memory_left(&x->memory), need = n * (2 * sizeof *s->from);
    if (n > PARALLEL_MIN && count && need > memory)
        return sort_beyond(s, n, memory);
    int rc = n && count ? sort_all(s, n, blocks) : 0;
    for (int i = 0; i < 3; i++)
        rt_block_free(&x->memory, &blocks[i]);
    return rc;
}
