/* Rows in order, with limit and offset: few in one launch, many by a radix sort of the bits in
 * which their keys differ, and of many rows a few by selection first (templates/finish:
 * finish_sort.cu, finish_masks.cuh, finish_pack.cuh, finish_radix.cu, finish_select.cu). */
#include <string.h>

#include "runtime/gpu/gpu_order.h"

enum { DIGIT_BITS = 8, WORD_BITS = 64, SAMPLE = 1 << 17 };

struct ordering {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    const struct rt_state *s;
    uint64_t n, offset, count;
    struct hdd_keys keys;
    struct hdd_key *key;              /* the same on the host */
    struct rt_piece more, few, words; /* words: packed keys, the most significant */
    struct rt_radix sort;
    uint64_t *masks; /* per word of the normalised key: bits in which rows differ, that are not packed yet */
    int nwords;
    struct hdd_extract_args *packed; /* the first one has the most significant bits */
    int npacked;
    bool narrow, nullable; /* rt_rows_are_keys */
    bool numbers; /* keys that are packed: none is a string, or of 128 bits */
    bool first_only; /* few rows are wanted: they are selected, whatever the rows are like */
    uint64_t first[HDD_ROW_WORDS]; /* the words of the first narrow row */
};

static uint32_t blocks_for(const struct ordering *o, uint64_t n)
{
    return rt_finish_blocks(o->x, n, RT_FINISH_THREADS);
}

/* ---- few --------------------------------------------------------------------------------- */

static uint64_t value_bits(const struct hdd_key *k)
{
    static const uint64_t bits[] = {1, 32, 64, 128, 64, 0, 32};
    return k->phys == HDD_STR ? (uint64_t)k->max * 8 + 32 : bits[k->phys];
}

static uint64_t key_bits(const struct hdd_key *k)
{
    return value_bits(k) + (k->valid >= 0);
}

static uint64_t all_bits(const struct ordering *o)
{
    uint64_t bits = 0;
    for (int i = 0; i < o->s->nsort; i++)
        bits += key_bits(&o->key[i]);
    return bits;
}

/* So many rows are worth a block each. */
enum { PAIRS = 2048 };

/* words: the first packed keys, or 0: then rows are compared as they are. exact: the words are all there is to compare. */
static int order_few(struct ordering *o, uint64_t list, uint64_t n, uint64_t words, bool exact, struct hd_err *err)
{
    struct hdd_rank_args p = {.keys = o->keys,
                              .rows = o->v->rows_at.address,
                              .list = list,
                              .words = words,
                              .to = o->v->moved.address,
                              .skip = o->offset,
                              .count = o->count,
                              .n = (hdd_u32)n,
                              .exact = exact};
    if (!words || (n <= PAIRS && !exact)) {
        p.blocks = (hdd_u32)n;
        return rt_finish_launch(o->x, "finish_sort", "hdd_sort_pairs", p.blocks, &p, err);
    }
    p.blocks = blocks_for(o, n);
    return rt_finish_launch(o->x, "finish_sort", "hdd_sort_rank", p.blocks, &p, err);
}

/* ---- survey ------------------------------------------------------------------------------ */

static bool has_strings(const struct ordering *o)
{
    for (int i = 0; i < o->s->nsort; i++)
        if (o->key[i].phys == HDD_STR)
            return true;
    return false;
}

/* The longest string of each key decides how many bits the key has. */
static int find_lengths(struct ordering *o, struct hd_err *err)
{
    size_t bytes = sizeof(uint64_t) * (size_t)o->s->nsort;
    uint64_t *lengths = hd_alloc(o->x->arena, bytes);
    struct rt_piece at;
    if (!has_strings(o))
        return 0;
    HD_TRY(rt_state_alloc_zeroed(o->x, o->s, bytes, &at, err));
    struct hdd_survey_args p = {.keys = o->keys,
                                .rows = o->v->rows_at.address,
                                .n = o->n,
                                .lengths = at.address,
                                .blocks = blocks_for(o, o->n)};
    int rc = rt_finish_launch(o->x, "finish_masks_word", "hdd_sort_lengths", p.blocks, &p, err);
    if (rc == 0)
        rc = o->x->d->ops->download(o->x->d, lengths, at.address, bytes, err);
    rt_gpu_release(o->x, &at);
    for (int i = 0; i < o->s->nsort && rc == 0; i++)
        o->key[i].max = (hdd_u32)lengths[i];
    rt_gpu_release(o->x, &o->more);
    return rc ? rc : rt_keys_make(o->x, o->s, o->key, o->s->nsort, &o->keys, &o->more, err);
}

static bool is_number(const struct hdd_key *k)
{
    return k->phys != HDD_STR && k->phys != HDD_I128;
}

/* Sets the bits of v, of which there are `bits`, from bit `at` of the normalised key on. */
static void set_masks(struct ordering *o, uint64_t at, uint64_t bits, uint64_t v)
{
    for (uint64_t i = 0; i < bits; i++)
        if (v >> (bits - 1 - i) & 1)
            o->masks[(at + i) / WORD_BITS] |= UINT64_C(1) << (WORD_BITS - 1 - (at + i) % WORD_BITS);
}

/* Of keys that are numbers: a mask of each, and above them, of HDD_KEY_WORDS keys at a time, which are NULL in some
 * rows, and which are not. */
static int find_number_masks(struct ordering *o, struct hd_err *err)
{
    uint64_t n = (uint64_t)o->s->nsort, at = 0, groups = (n + HDD_KEY_WORDS - 1) / HDD_KEY_WORDS;
    size_t bytes = sizeof(uint64_t) * (size_t)(n + 2 * groups);
    uint64_t *found = hd_alloc(o->x->arena, bytes + 1), *nulls = found + n, *values = nulls + groups;
    struct rt_piece piece;
    int rc = 0;
    HD_TRY(rt_state_alloc_zeroed(o->x, o->s, bytes, &piece, err));
    struct hdd_survey_args p = {.keys = o->keys,
                                .rows = o->v->rows_at.address,
                                .n = o->n,
                                .masks = piece.address,
                                .nulls = piece.address + 8 * n,
                                .values = piece.address + 8 * (n + groups),
                                .blocks = blocks_for(o, o->n)};
    for (; p.word < n && rc == 0; p.word += HDD_KEY_WORDS, p.nulls += 8, p.values += 8) {
        p.words = HD_MIN((hdd_u32)n - p.word, (hdd_u32)HDD_KEY_WORDS);
        rc = rt_finish_launch(o->x, "finish_masks_number", "hdd_sort_number_masks", p.blocks, &p, err);
    }
    if (rc == 0)
        rc = o->x->d->ops->download(o->x->d, found, piece.address, bytes, err);
    rt_gpu_release(o->x, &piece);
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        const struct hdd_key *k = &o->key[i];
        if (k->valid >= 0)
            set_masks(o, at++, 1, (nulls[i / HDD_KEY_WORDS] & values[i / HDD_KEY_WORDS]) >> i % HDD_KEY_WORDS & 1);
        set_masks(o, at, value_bits(k), found[i]);
        at += value_bits(k);
    }
    return rc;
}

static int find_word_masks(struct ordering *o, struct hd_err *err)
{
    size_t bytes = sizeof(uint64_t) * (size_t)o->nwords;
    struct rt_piece at;
    int rc = 0;
    HD_TRY(rt_state_alloc_zeroed(o->x, o->s, bytes, &at, err));
    struct hdd_survey_args p = {
        .keys = o->keys, .rows = o->v->rows_at.address, .n = o->n, .masks = at.address, .blocks = blocks_for(o, o->n)};
    for (; p.word < (hdd_u32)o->nwords && rc == 0; p.word += HDD_KEY_WORDS) {
        p.words = HD_MIN((hdd_u32)o->nwords - p.word, (hdd_u32)HDD_KEY_WORDS);
        rc = rt_finish_launch(o->x, "finish_masks_word", "hdd_sort_masks", p.blocks, &p, err);
    }
    if (rc == 0)
        rc = o->x->d->ops->download(o->x->d, o->masks, at.address, bytes, err);
    rt_gpu_release(o->x, &at);
    return rc;
}

/* each: narrow rows may be looked at by chance, one of so many. */
static int find_masks(struct ordering *o, uint64_t each, struct hd_err *err)
{
    o->nwords = (int)((all_bits(o) + WORD_BITS - 1) / WORD_BITS);
    o->masks = hd_zalloc(o->x->arena, sizeof(uint64_t) * (size_t)o->nwords + 1);
    if (o->narrow && !o->nullable && !o->first_only)
        return rt_narrow_masks(o->x, o->v, o->n, each, o->masks, o->nwords, o->first, err);
    return rt_keys_are_numbers(o->s) ? find_number_masks(o, err) : find_word_masks(o, err);
}

/* ---- packing ----------------------------------------------------------------------------- */

static int count_bits(uint64_t v)
{
    return __builtin_popcountll(v);
}

/* Highest run of set bits: its lowest bit and its length. */
static void highest_run(uint64_t v, int *shift, int *length)
{
    int top = 63 - __builtin_clzll(v);
    uint64_t holes = ~v & (top == 63 ? ~UINT64_C(0) : (UINT64_C(1) << (top + 1)) - 1);
    *shift = holes ? 64 - __builtin_clzll(holes) : 0;
    *length = top + 1 - *shift;
}

/* Says where the run that begins with bit `first` of the normalised key comes from. How many of its bits lie in one key. */
static int find_source(const struct ordering *o, struct hdd_run_of_bits *run, uint64_t first, int length)
{
    uint64_t at = 0, bits = 0;
    int i = 0;
    for (; first >= at + (bits = key_bits(&o->key[i])); i++)
        at += bits;
    const struct hdd_key *k = &o->key[i];
    run->key = (hdd_u32)i;
    run->from = HDD_RUN_OF_WORD;
    if (k->valid >= 0 && first == at) {
        run->from = HDD_RUN_OF_NULL;
        return 1;
    }
    length = (int)HD_MIN((uint64_t)length, at + bits - first);
    if (is_number(k)) {
        run->from = HDD_RUN_OF_NUMBER;
        run->up = (unsigned char)(at + bits - first - (uint64_t)length);
    }
    return length;
}

/* The next bits of the key, from word *word on; `left`: bits still free in the packed key. */
static void add_run(struct ordering *o, struct hdd_extract_args *to, int *word, int *left)
{
    int shift, length;
    uint64_t *mask = &o->masks[*word];
    struct hdd_run_of_bits run = {.word = (hdd_u32)*word};
    if (*mask == 0) {
        ++*word;
        return;
    }
    highest_run(*mask, &shift, &length);
    uint64_t first = (uint64_t)(*word + 1) * WORD_BITS - (uint64_t)(shift + length);
    int taken = find_source(o, &run, first, HD_MIN(length, *left));
    shift += length - taken;
    *left -= taken;
    run.shift = (unsigned char)shift;
    run.length = (unsigned char)taken;
    run.to = (unsigned char)*left;
    to->run[to->nruns++] = run;
    *mask &= ~(taken == 64 ? ~UINT64_C(0) : ((UINT64_C(1) << taken) - 1) << shift);
}

/* Packed keys of 64 bits, the last one of as many as are left, at the low end. */
static void pack(struct ordering *o)
{
    int bits = 0, word = 0;
    for (int w = 0; w < o->nwords; w++)
        bits += count_bits(o->masks[w]);
    o->npacked = (bits + WORD_BITS - 1) / WORD_BITS;
    o->packed = HD_NEWN(o->x->arena, struct hdd_extract_args, o->npacked + 1);
    for (int k = 0; k < o->npacked; k++) {
        int left = HD_MIN(bits - k * WORD_BITS, (int)WORD_BITS);
        while (left)
            add_run(o, &o->packed[k], &word, &left);
    }
}

static uint64_t packed_mask(const struct hdd_extract_args *p)
{
    int top = p->run[0].to + p->run[0].length;
    return top == 64 ? ~UINT64_C(0) : (UINT64_C(1) << top) - 1;
}

static struct hdd_extract_args *extract_args(struct ordering *o, int k, uint64_t list, uint64_t n, uint64_t to)
{
    struct hdd_extract_args *p = &o->packed[k];
    p->keys = o->keys;
    p->rows = o->v->rows_at.address;
    p->n = n;
    p->list = list;
    p->to = to;
    p->blocks = blocks_for(o, n);
    return p;
}

static int extract(struct ordering *o, int k, uint64_t list, uint64_t n, uint64_t to, struct hd_err *err)
{
    const struct hdd_extract_args *p = extract_args(o, k, list, n, to);
    const char *module = o->numbers ? "finish_pack_number" : "finish_pack_word";
    return rt_finish_launch(o->x, module, "hdd_sort_extract", p->blocks, p, err);
}

/* ---- many --------------------------------------------------------------------------------- */

/* The rows of a list, or all; afterwards sort.rows[sort.now] has their order. */
static int sort_rows(struct ordering *o, uint64_t list, uint64_t n, struct hd_err *err)
{
    struct rt_radix *r = &o->sort;
    HD_TRY(rt_radix_alloc(o->x, o->s, n, true, r, err));
    if (list) {
        HD_TRY(o->x->d->ops->copy(o->x->d, r->rows[0].address, list, (size_t)n * 4, err));
        r->numbered = true;
    }
    for (int k = o->npacked - 1; k >= 0; k--) {
        uint64_t from = r->numbered ? r->rows[r->now].address : 0;
        HD_TRY(extract(o, k, from, n, r->keys[r->now].address, err));
        HD_TRY(rt_radix_sort(o->x, o->s, r, packed_mask(&o->packed[k]), err));
    }
    struct hdd_gather_args p = {.rows = o->v->rows_at.address,
                                .list = r->rows[r->now].address + o->offset * 4,
                                .n = o->count,
                                .to = o->v->moved.address,
                                .stride = (hdd_u32)o->s->stride};
    p.blocks = rt_radix_blocks(o->x, o->count * (uint64_t)o->s->stride / 8, HDD_RADIX_THREADS);
    return rt_radix_launch(o->x, "finish_radix", "hdd_sort_gather", p.blocks, &p, err);
}

/* ---- top-k ------------------------------------------------------------------------------- */

static int select_digits(struct ordering *o, struct hdd_select_args *p, uint64_t mask, struct hd_err *err)
{
    struct hdd_select_state first = {.wanted = o->offset + o->count};
    HD_TRY(o->x->d->ops->upload(o->x->d, p->state, &first, sizeof first, err));
    int digits = (WORD_BITS - __builtin_clzll(mask) + DIGIT_BITS - 1) / DIGIT_BITS;
    while (digits-- > 0) {
        p->shift = (hdd_u32)(digits * DIGIT_BITS);
        HD_TRY(rt_finish_launch(o->x, "finish_select", "hdd_select_count", p->blocks, p, err));
    }
    return rt_finish_launch(o->x, "finish_select", "hdd_select_collect", p->blocks, p, err);
}

/* Numbers of the rows that can be among the first ones go to `few`. */
static int select_rows(struct ordering *o, uint64_t *found, struct hd_err *err)
{
    enum { ENOUGH = 1024 };
    struct rt_piece state;
    struct hdd_select_state last;
    HD_TRY(rt_state_alloc(o->x, o->s, (size_t)o->n * 4, &o->few, err));
    HD_TRY(rt_state_alloc(o->x, o->s, sizeof last, &state, err));
    struct hdd_select_args p = {.keys = o->words.address,
                                .n = o->n,
                                .state = state.address,
                                .to = o->few.address,
                                .room = o->n,
                                .enough = ENOUGH,
                                .blocks = blocks_for(o, o->n)};
    int rc = select_digits(o, &p, packed_mask(&o->packed[0]), err);
    if (rc == 0)
        rc = o->x->d->ops->download(o->x->d, &last, state.address, sizeof last, err);
    rt_gpu_release(o->x, &state);
    *found = rc == 0 ? last.found : 0;
    return rc;
}

/* The first key alone, which is a number, tells most often which rows may be among the first ones, and what they are like need not be
 * known: rows with equal ones are compared. *done: it told. */
static int order_by_first(struct ordering *o, bool *done, struct hd_err *err)
{
    uint64_t found;
    int bits = (int)HD_MIN(key_bits(&o->key[0]), (uint64_t)WORD_BITS);
    o->masks = hd_zalloc(o->x->arena, 2 * sizeof(uint64_t));
    o->nwords = 1;
    o->masks[0] = ~UINT64_C(0) << (WORD_BITS - bits);
    o->numbers = true;
    pack(o);
    HD_TRY(rt_state_alloc(o->x, o->s, (size_t)o->n * 8, &o->words, err));
    HD_TRY(extract(o, 0, 0, o->n, o->words.address, err));
    HD_TRY(select_rows(o, &found, err));
    *done = found <= PAIRS;
    if (*done)
        return order_few(o, o->few.address, found, o->words.address, false, err);
    rt_gpu_release(o->x, &o->few);
    rt_gpu_release(o->x, &o->words);
    return 0;
}

static int copy_equal(struct ordering *o, struct hd_err *err)
{
    uint64_t stride = (uint64_t)o->s->stride;
    return o->x->d->ops->copy(o->x->d, o->v->moved.address, o->v->rows_at.address + o->offset * stride,
                              (size_t)(o->count * stride), err);
}

static int survey(struct ordering *o, uint64_t each, struct hd_err *err)
{
    HD_TRY(find_masks(o, each, err));
    pack(o);
    return 0;
}

static int sort_narrow(struct ordering *o, bool *missed, struct hd_err *err)
{
    struct hdd_extract_args *e = extract_args(o, 0, 0, o->n, 0);
    if (o->nullable)
        HD_TRY(rt_narrow_first(o->x, o->v, o->first, err));
    return rt_narrow_sort(o->x, o->v, o->n, o->offset, o->count, o->first, e, o->nullable, missed, err);
}

/* A sample shows most often in which bits narrow rows differ; whoever packs them sees where it did not. */
static int order_sampled(struct ordering *o, uint64_t sample, bool *done, struct hd_err *err)
{
    bool missed = true;
    HD_TRY(survey(o, o->n / sample, err));
    if (o->npacked == 1)
        HD_TRY(sort_narrow(o, &missed, err));
    *done = !missed;
    return 0;
}

static int order_many(struct ordering *o, struct hd_err *err)
{
    uint64_t wanted = o->offset + o->count, found = o->n;
    bool done = false;
    o->first_only = wanted <= HDD_RANK_MAX / 2 && wanted <= o->n / RT_ORDER_SELECTED;
    const uint64_t sample = o->x->first_rows ? o->x->first_rows : SAMPLE;
    if (o->first_only && wanted <= PAIRS / 2 && is_number(&o->key[0]))
        HD_TRY(order_by_first(o, &done, err));
    if (done)
        return 0;
    o->numbers = rt_keys_are_numbers(o->s);
    HD_TRY(find_lengths(o, err));
    if (o->narrow && !o->nullable && !o->first_only && o->n / 2 >= sample)
        HD_TRY(order_sampled(o, sample, &done, err));
    if (done)
        return 0;
    HD_TRY(survey(o, 1, err));
    if (o->npacked == 0)
        return copy_equal(o, err);
    if (!o->first_only && o->n > HDD_RANK_MAX && o->narrow && o->npacked == 1) {
        bool missed;
        HD_TRY(sort_narrow(o, &missed, err));
        HD_ASSERT(!missed); /* all rows were looked at */
        return 0;
    }
    if (!o->first_only && o->n > HDD_RANK_MAX)
        return sort_rows(o, 0, o->n, err);
    HD_TRY(rt_state_alloc(o->x, o->s, (size_t)o->n * 8, &o->words, err));
    HD_TRY(extract(o, 0, 0, o->n, o->words.address, err));
    if (o->n > HDD_RANK_MAX)
        HD_TRY(select_rows(o, &found, err));
    if (found > HDD_RANK_MAX)
        return sort_rows(o, o->few.address, found, err);
    return order_few(o, o->few.address, found, o->words.address, o->npacked == 1, err);
}

int rt_gpu_order(struct rt_gpu_exec *x, struct rt_gpu_state *v, uint64_t n, uint64_t offset, uint64_t count,
                 struct hd_err *err)
{
    struct ordering o = {.x = x, .v = v, .s = v->s, .n = n, .offset = offset, .count = count};
    o.narrow = n > HDD_RANK_MAX && rt_rows_are_keys(v->s, &o.nullable);
    o.key = HD_NEWN(x->arena, struct hdd_key, v->s->nsort);
    HD_TRY(rt_state_alloc(x, v->s, (size_t)(count * (uint64_t)v->s->stride), &v->moved, err));
    HD_TRY(rt_keys_of_order(x, v->s, &o.keys, &o.more, err));
    for (int i = 0; i < v->s->nsort; i++) {
        o.key[i] = rt_key_of_field(&v->s->fields[v->s->sort[i].field]);
        o.key[i].desc = v->s->sort[i].desc;
        o.key[i].nulls_first = v->s->sort[i].nulls_first;
    }
    int rc = n <= rt_order_compared(v->s) ? order_few(&o, 0, n, 0, false, err) : order_many(&o, err);
    rt_radix_release(x, &o.sort);
    rt_gpu_release(x, &o.more);
    rt_gpu_release(x, &o.few);
    rt_gpu_release(x, &o.words);
    return rc;
}

int rt_gpu_in_order(struct rt_gpu_exec *x, const struct rt_gpu_state *v, bool *there, struct hd_err *err)
{
    struct rt_piece more, failed = {0};
    uint32_t word = 1;
    struct hdd_check_args p = {.rows = v->rows_at.address, .n = v->nrows};
    p.blocks = rt_finish_blocks(x, v->nrows, RT_FINISH_THREADS);
    HD_TRY(rt_keys_of_order(x, v->s, &p.keys, &more, err));
    int rc = rt_state_alloc_zeroed(x, v->s, sizeof word, &failed, err);
    p.failed = failed.address;
    if (rc == 0)
        rc = rt_finish_launch(x, "finish_sort", "hdd_sort_check", p.blocks, &p, err);
    if (rc == 0)
        rc = x->d->ops->download(x->d, &word, failed.address, sizeof word, err);
    rt_gpu_release(x, &failed);
    rt_gpu_release(x, &more);
    *there = word == 0;
    return rc;
}
