/* Keys seldom use all bits of their types. Those in which rows differ are looked for first, in each of the four 32-bit
 * cells of the normalised keys (sort.h); as many of these as leave room for a row's number make a word, and words are
 * sorted in place of entries of 24 bytes; rows that their words do not tell apart, which should be few, are sorted by all
 * of their keys then. Words are sorted by their first digit in which they differ, side by side on all threads, and then
 * each bucket, which the cache holds, from the last digit on (Satish and others, Fast Sort on CPUs and GPUs: A Case for
 * Bandwidth Oblivious SIMD Sort, 2010, section 3.1, on why; Knuth, The Art of Computer Programming 3, 5.2.5). Where a row is
 * its keys alone it is made from its word, which needs no number and must have all bits. */
#include "runtime/exec/sort_packed.h"

#include <string.h>

#include "runtime/exec/partition.h"

enum {
    CELLS = 4,
    WORD_BITS = 64,
    ROWS_MIN = 1 << 12,
    TASK_MIN = 1 << 12,
    BLOCK = 1 << 10, /* rows that are looked at cell by cell */
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    FEW = 64,        /* words that are inserted one by one */
    FEW_ROWS = 16,   /* rows likewise */
    UNEVEN = 16,     /* a bucket with more than this part of all words is for all threads, */
    LARGE = 1 << 16, /* if it is larger than this; and rows alike in their words that a thread sorts */
    ALIKE = 2        /* if more than this part of all rows have others alike, entries tell more */
};

/* Bits of a cell in which rows differ, or that are below such a one: the upper `bits` of them, at `shift` of the word, the
 * lower `left_out`. */
struct cell {
    int bits, shift, left_out;
    uint32_t above; /* what all rows have above them */
};

struct packed {
    struct rt_exec *x;
    const struct rt_state *s; /* whose memory it is */
    const struct rt_sorter *o;
    unsigned char *rows, *out;
    uint64_t offset, count;
    struct rt_cut cut; /* rows */
    _Atomic uint32_t some[CELLS], all[CELLS]; /* bits that are set in some row's cell, and in all */
    struct cell cell[CELLS];
    int number_bits, bits; /* of a row's number, of the whole word */
    bool tells_all; /* words of different rows differ */
    uint64_t *begin; /* [task]: its first word that is not alike with those in front; the last one: all words */
    _Atomic uint64_t alike; /* rows whose words do not */
    _Atomic bool many; /* some of which are too many for a thread */
    uint64_t *word, *spare;
};

/* Of an entry, where keys are not whole cells of the row. */
static void cells_of(const struct rt_sorter *o, const unsigned char *row, uint32_t w[CELLS])
{
    struct rt_sort_entry e;
    rt_sort_entry(o, row, &e);
    w[0] = (uint32_t)(e.hi >> 32);
    w[1] = (uint32_t)e.hi;
    w[2] = (uint32_t)(e.lo >> 32);
    w[3] = (uint32_t)e.lo;
}

static inline uint32_t load_cell(const struct packed *p, int k, const unsigned char *row)
{
    uint32_t v;
    memcpy(&v, row + p->o->cells[k].offset, sizeof v);
    return v ^ p->o->cells[k].flip;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void find_in_rows(const struct packed *p, const unsigned char *row, uint64_t n, uint32_t *some, uint32_t *all)
{
    size_t stride = (size_t)p->o->s->stride;
    for (uint64_t i = 0; i < n; i++, row += stride) {
        uint32_t v[CELLS];
        cells_of(p->o, row, v);
        for (int k = 0; k < CELLS; k++) {
            some[k] |= v[k];
            all[k] &= v[k];
        }
    }
}

static void find_in_cell(const struct packed *p, int k, const unsigned char *row, uint64_t n, uint32_t *some,
                         uint32_t *all)
{
    size_t stride = (size_t)p->o->s->stride;
    uint32_t any = 0, every = UINT32_MAX;
    for (uint64_t i = 0; i < n; i++, row += stride) {
        uint32_t v = load_cell(p, k, row);
        any |= v;
        every &= v;
    }
    *some |= any;
    *all &= every;
}

static void find_bits(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct packed *p = context;
    uint32_t some[CELLS] = {0}, all[CELLS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    uint64_t end = rt_cut_end(&p->cut, task);
    for (uint64_t i = task * p->cut.size, n; i < end; i += n) {
        const unsigned char *row = p->rows + i * (size_t)p->o->s->stride;
        n = HD_MIN(end - i, (uint64_t)BLOCK);
        if (!p->o->ncells)
            find_in_rows(p, row, n, some, all);
        for (int k = 0; k < p->o->ncells; k++)
            find_in_cell(p, k, row, n, &some[k], &all[k]);
    }
    for (int k = 0; k < CELLS; k++) {
        bool used = !p->o->ncells || k < p->o->ncells;
        atomic_fetch_or(&p->some[k], some[k]);
        atomic_fetch_and(&p->all[k], used ? all[k] : 0);
    }
}

static int bits_of(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

/* Where the cells are in a word, from the first key on. */
static void place_cells(struct packed *p, bool numbered)
{
    int left;
    p->number_bits = numbered ? bits_of(p->cut.n - 1) : 0;
    left = WORD_BITS - p->number_bits;
    p->tells_all = p->o->rest == p->o->s->nsort;
    for (int k = 0; k < CELLS; k++) {
        struct cell *c = &p->cell[k];
        int bits = bits_of(p->some[k] & ~p->all[k]);
        c->above = bits < 32 ? p->all[k] >> bits << bits : 0;
        c->bits = HD_MIN(bits, left);
        c->left_out = bits - c->bits;
        p->tells_all &= c->left_out == 0;
        left -= c->bits;
    }
    p->bits = p->number_bits;
    for (int k = CELLS - 1; k >= 0; k--) {
        p->cell[k].shift = p->bits;
        p->bits += p->cell[k].bits;
    }
}

static void add_rows(const struct packed *p, const unsigned char *row, uint64_t n, uint64_t *word)
{
    size_t stride = (size_t)p->o->s->stride;
    for (uint64_t i = 0; i < n; i++, row += stride) {
        uint32_t v[CELLS];
        cells_of(p->o, row, v);
        for (int k = 0; k < CELLS; k++)
            if (p->cell[k].bits)
                word[i] |= (uint64_t)((v[k] ^ p->cell[k].above) >> p->cell[k].left_out) << p->cell[k].shift;
    }
}

static void add_cell(const struct packed *p, int k, const unsigned char *row, uint64_t n, uint64_t *word)
{
    size_t stride = (size_t)p->o->s->stride;
    uint32_t above = p->cell[k].above;
    int shift = p->cell[k].shift, left_out = p->cell[k].left_out;
    for (uint64_t i = 0; i < n; i++, row += stride)
        word[i] |= (uint64_t)((load_cell(p, k, row) ^ above) >> left_out) << shift;
}

static void make_words(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct packed *p = context;
    uint64_t end = rt_cut_end(&p->cut, task);
    for (uint64_t i = task * p->cut.size, n; i < end; i += n) {
        const unsigned char *row = p->rows + i * (size_t)p->o->s->stride;
        n = HD_MIN(end - i, (uint64_t)BLOCK);
        for (uint64_t k = i; k < i + n; k++)
            p->word[k] = p->number_bits ? k : 0;
        if (!p->o->ncells)
            add_rows(p, row, n, p->word + i);
        for (int k = 0; k < p->o->ncells; k++)
            if (p->cell[k].bits)
                add_cell(p, k, row, n, p->word + i);
    }
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static void insertion_sort(uint64_t *v, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t x = v[i], k = i;
        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

/* Words by their bits from `low` up to below `high`, digit by digit from the last one on; what is above is alike. */
static void sort_few(uint64_t *v, uint64_t *spare, uint64_t n, int low, int high)
{
    uint64_t *from = v, *to = spare;
    if (n <= FEW) {
        insertion_sort(v, n);
        return;
    }
    for (int shift = low; shift < high; shift += DIGIT_BITS) {
        uint32_t at[DIGITS] = {0}, sum = 0;
        uint64_t mask = (UINT64_C(1) << HD_MIN((int)DIGIT_BITS, high - shift)) - 1;
        for (uint64_t i = 0; i < n; i++)
            at[from[i] >> shift & mask]++;
        if (at[from[0] >> shift & mask] == n)
            continue;
        for (int d = 0; d < DIGITS; d++) {
            uint32_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (uint64_t i = 0; i < n; i++)
            to[at[from[i] >> shift & mask]++] = from[i];
        uint64_t *turned = from;
        from = to;
        to = turned;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}

/* ---- all threads ------------------------------------------------------------------------------------------------- */

/* Words from `begin` on that differ below bit `high` alone, distributed by the digit there. */
struct spreading {
    struct packed *p;
    uint64_t begin;
    struct rt_cut cut;
    int high, shift, low;
    uint64_t *counts; /* [task][digit]; then where the task writes next */
    uint64_t start[DIGITS + 1];
};

static int digit_of(const struct spreading *s, uint64_t word)
{
    uint64_t mask = (UINT64_C(1) << (s->high - s->shift)) - 1;
    return (int)(word >> s->shift & mask);
}

static void count_words(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct spreading *s = context;
    const uint64_t *from = s->p->word + s->begin;
    uint64_t *counts = s->counts + task * DIGITS;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++)
        counts[digit_of(s, from[i])]++;
}

static void spread_words(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct spreading *s = context;
    const uint64_t *from = s->p->word + s->begin;
    uint64_t *to = s->p->spare + s->begin, *at = s->counts + task * DIGITS;
    for (uint64_t i = task * s->cut.size; i < rt_cut_end(&s->cut, task); i++)
        to[at[digit_of(s, from[i])]++] = from[i];
}

static void copy_back(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct spreading *s = context;
    uint64_t from = s->begin + task * s->cut.size, end = s->begin + rt_cut_end(&s->cut, task);
    memcpy(s->p->word + from, s->p->spare + from, (end - from) * sizeof *s->p->word);
}

static bool is_for_all(const struct spreading *s, uint64_t digit)
{
    uint64_t n = s->start[digit + 1] - s->start[digit];
    return n > HD_MAX(s->cut.n / UNEVEN, (uint64_t)LARGE) && s->shift > s->low;
}

/* A bucket is sorted where it was spread to, and its words go back. */
static void sort_bucket(void *context, struct rt_worker *w HD_UNUSED, uint64_t digit)
{
    const struct spreading *s = context;
    struct packed *p = s->p;
    uint64_t from = s->begin + s->start[digit], end = s->begin + s->start[digit + 1];
    if (from == end || is_for_all(s, digit))
        return;
    if (end > p->offset && from < p->offset + p->count)
        sort_few(p->spare + from, p->word + from, end - from, s->low, s->shift);
    memcpy(p->word + from, p->spare + from, (end - from) * sizeof *p->word);
}

static void place_buckets(struct spreading *s)
{
    uint64_t at = 0;
    for (int d = 0; d < DIGITS; d++) {
        s->start[d] = at;
        for (uint64_t t = 0; t < s->cut.ntasks; t++) {
            uint64_t n = s->counts[t * DIGITS + (uint64_t)d];
            s->counts[t * DIGITS + (uint64_t)d] = at;
            at += n;
        }
    }
    s->start[DIGITS] = at;
}

static int spread(struct spreading *s, bool *alike)
{
    struct rt_exec *x = s->p->x;
    struct rt_block counts;
    HD_TRY(rt_exec_block(x, s->p->s, s->cut.ntasks * DIGITS * sizeof *s->counts, true, &counts));
    s->counts = counts.p;
    int rc = rt_exec_parallel(x, s->cut.ntasks, count_words, s);
    place_buckets(s);
    for (int d = 0; d < DIGITS; d++)
        *alike |= s->start[d + 1] - s->start[d] == s->cut.n;
    rc = rc || *alike ? rc : rt_exec_parallel(x, s->cut.ntasks, spread_words, s);
    rt_block_free(&x->memory, &counts);
    return rc;
}

/* Sorts n words from `begin` on by their bits below `high`; they stay where they are. */
static int sort_words(struct packed *p, uint64_t begin, uint64_t n, int high)
{
    struct spreading s = {.p = p, .begin = begin, .cut = rt_cut(p->x, n, TASK_MIN), .low = p->number_bits};
    bool alike = true;
    for (; alike && high > s.low; high = s.shift) { /* a digit in which all are alike is passed over */
        s.high = high;
        s.shift = HD_MAX(high - DIGIT_BITS, s.low);
        alike = false;
        HD_TRY(spread(&s, &alike));
    }
    if (alike)
        return 0;
    HD_TRY(rt_exec_parallel(p->x, DIGITS, sort_bucket, &s));
    for (uint64_t d = 0; d < DIGITS; d++) {
        if (!is_for_all(&s, d))
            continue;
        struct spreading own = {.p = p, .begin = begin + s.start[d]};
        own.cut = rt_cut(p->x, s.start[d + 1] - s.start[d], TASK_MIN);
        HD_TRY(rt_exec_parallel(p->x, own.cut.ntasks, copy_back, &own));
        HD_TRY(sort_words(p, own.begin, own.cut.n, s.shift));
    }
    return 0;
}

int rt_sort_words(struct rt_exec *x, const struct rt_state *s, uint64_t *word, uint64_t *spare, uint64_t n, int low,
                  int high)
{
    struct packed p = {.x = x, .s = s, .word = word, .spare = spare, .count = n, .number_bits = low};
    return n ? sort_words(&p, 0, n, high) : 0;
}

/* ---- words alike ------------------------------------------------------------------------------------------------- */

static const unsigned char *row_of(const struct packed *p, uint64_t word)
{
    return p->rows + (word & ((UINT64_C(1) << p->number_bits) - 1)) * (size_t)p->o->s->stride;
}

static bool is_before(const struct packed *p, uint64_t a, uint64_t b)
{
    return rt_sort_compare_keys(p->o, 0, p->o->s->nsort, row_of(p, a), row_of(p, b)) < 0;
}

static void sift_down(const struct packed *p, uint64_t *v, uint64_t i, uint64_t n)
{
    uint64_t x = v[i];
    for (uint64_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && is_before(p, v[c], v[c + 1]);
        if (!is_before(p, x, v[c]))
            break;
        v[i] = v[c];
    }
    v[i] = x;
}

static void sort_by_keys(const struct packed *p, uint64_t *v, uint64_t n)
{
    for (uint64_t i = 1; i < n && n <= FEW_ROWS; i++) {
        uint64_t x = v[i], k = i;
        for (; k > 0 && is_before(p, x, v[k - 1]); k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
    if (n <= FEW_ROWS)
        return;
    for (uint64_t i = n / 2; i-- > 0;)
        sift_down(p, v, i, n);
    for (uint64_t i = n; i-- > 1;) {
        uint64_t last = v[i];
        v[i] = v[0];
        v[0] = last;
        sift_down(p, v, 0, i);
    }
}

static bool are_alike(const struct packed *p, uint64_t i, uint64_t k)
{
    return p->word[i] >> p->number_bits == p->word[k] >> p->number_bits;
}

/* Behind the words that are alike with word i and in front of `limit`. */
static uint64_t alike_end(const struct packed *p, uint64_t i, uint64_t limit)
{
    uint64_t end = i + 1;
    while (end < limit && are_alike(p, i, end))
        end++;
    return end;
}

/* Words of a task are those that begin among its own; whom they are alike with is looked at before anybody moves. */
static void count_alike(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct packed *p = context;
    uint64_t i = task * p->cut.size, end = rt_cut_end(&p->cut, task), alike = 0;
    while (i > 0 && i < p->cut.n && are_alike(p, i, i - 1))
        i++;
    p->begin[task] = i;
    for (uint64_t to; i < end; i = to) {
        to = alike_end(p, i, HD_MIN(p->cut.n, i + LARGE));
        alike += to - i > 1 ? to - i : 0;
        if (to - i < LARGE)
            continue;
        atomic_store(&p->many, true);
        return;
    }
    atomic_fetch_add(&p->alike, alike);
}

static void sort_alike(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct packed *p = context;
    uint64_t end = p->begin[task + 1];
    for (uint64_t i = p->begin[task], to; i < end; i = to) {
        to = alike_end(p, i, end);
        if (to - i > 1)
            sort_by_keys(p, p->word + i, to - i);
    }
}

/* *done: they are in order. */
static int tell_apart(struct packed *p, bool *done)
{
    if (p->tells_all)
        return 0;
    p->begin = HD_NEWN(&p->x->arena, uint64_t, p->cut.ntasks + 1);
    p->begin[p->cut.ntasks] = p->cut.n;
    HD_TRY(rt_exec_parallel(p->x, p->cut.ntasks, count_alike, p));
    *done = !p->many && p->alike <= p->cut.n / ALIKE;
    return *done && p->alike ? rt_exec_parallel(p->x, p->cut.ntasks, sort_alike, p) : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void gather_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct packed *p = context;
    size_t stride = (size_t)p->o->s->stride;
    uint64_t mask = (UINT64_C(1) << p->number_bits) - 1;
    enum { AHEAD = 8 };
    for (uint64_t i = task * p->cut.size; i < rt_cut_end(&p->cut, task); i++) {
        const uint64_t *word = p->word + p->offset + i;
        if (i + AHEAD < p->cut.n)
            __builtin_prefetch(p->rows + (word[AHEAD] & mask) * stride);
        rt_copy_row(p->out + i * stride, p->rows + (*word & mask) * stride, stride);
    }
}

static void make_rows(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct packed *p = context;
    const struct rt_sorter *o = p->o;
    size_t stride = (size_t)o->s->stride;
    for (uint64_t i = task * p->cut.size; i < rt_cut_end(&p->cut, task); i++)
        for (int k = 0; k < o->ncells; k++) {
            const struct cell *c = &p->cell[k];
            uint32_t mask = c->bits < 32 ? (UINT32_C(1) << c->bits) - 1 : UINT32_MAX;
            uint32_t v = c->bits ? (uint32_t)(p->word[i] >> c->shift) & mask : 0;
            v = (v | c->above) ^ o->cells[k].flip;
            memcpy(p->rows + i * stride + o->cells[k].offset, &v, sizeof v);
        }
}

static int sort_all(struct packed *p, bool numbered, bool *done)
{
    struct rt_exec *x = p->x;
    struct rt_block memory;
    uint64_t n = p->cut.n;
    for (int k = 0; k < CELLS; k++)
        p->all[k] = UINT32_MAX;
    HD_TRY(rt_exec_parallel(x, p->cut.ntasks, find_bits, p));
    place_cells(p, numbered);
    *done = numbered || p->tells_all;
    if (!*done)
        return 0;
    HD_TRY(rt_exec_block(x, p->s, 2 * n * sizeof *p->word, false, &memory));
    p->word = memory.p;
    p->spare = p->word + n;
    int rc = rt_exec_parallel(x, p->cut.ntasks, make_words, p);
    rc = rc ? rc : sort_words(p, 0, n, p->bits);
    rc = rc ? rc : tell_apart(p, done);
    p->cut = rt_cut(x, p->count, TASK_MIN);
    if (rc == 0 && *done)
        rc = rt_exec_parallel(x, p->cut.ntasks, numbered ? gather_rows : make_rows, p);
    rt_block_free(&x->memory, &memory);
    return rc;
}

/* More rows than tasks and tables are worth, and memory for `bytes` of each. */
static bool may_pack(const struct rt_exec *x, uint64_t n, size_t bytes)
{
    return n >= ROWS_MIN && n * bytes <= rt_memory_left(&x->memory);
}

int rt_sort_packed(struct rt_exec *x, const struct rt_sorter *o, const unsigned char *rows, uint64_t n, uint64_t offset,
                   uint64_t count, unsigned char *out)
{
    bool done = false;
    struct packed p = {.x = x,
                       .s = o->s,
                       .o = o,
                       .rows = (unsigned char *)(uintptr_t)rows,
                       .out = out,
                       .offset = offset,
                       .count = count,
                       .cut = rt_cut(x, n, TASK_MIN)};
    if (may_pack(x, n, 2 * sizeof(struct rt_sort_entry)) && count) /* else rows are to be moved in turn (rt_sort_rows) */
        HD_TRY(sort_all(&p, true, &done));
    return done ? 0 : rt_sort_rows(x, o, rows, n, offset, count, out);
}

/* Fields that no key has are filled once rows are sorted. */
static bool has_keys_alone(const struct rt_sorter *o)
{
    const struct rt_state *s = o->s;
    for (int i = 0; i < s->nfields; i++) {
        bool key = s->fields[i].border != RT_BORDER_NONE;
        for (int k = 0; k < s->nsort; k++)
            key |= s->sort[k].field == i;
        if (!key)
            return false;
    }
    return o->ncells > 0;
}

int rt_sort_in_place(struct rt_exec *x, const struct rt_sorter *o, unsigned char *rows, uint64_t n, bool *done)
{
    struct packed p = {.x = x, .s = o->s, .o = o, .rows = rows, .count = n, .cut = rt_cut(x, n, TASK_MIN)};
    *done = false;
    return may_pack(x, n, 2 * sizeof(uint64_t)) && has_keys_alone(o) ? sort_all(&p, false, done) : 0;
}
