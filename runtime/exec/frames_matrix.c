/* Levels of a wavelet matrix (frames.h): n rows take O(n) work for each, on all threads, and O(n) memory for all. */
#include <stdatomic.h>

#include "runtime/exec/frames.h"
#include "runtime/exec/sort_packed.h"

enum { WORD = 64, TASK_MIN = 1 << 8 /* words */ };

static uint64_t nwords(uint64_t n)
{
    return n / WORD + 1; /* the place behind the last one has a word, too */
}

size_t rt_matrix_bytes(const struct rt_exec *x, uint64_t n)
{
    return nwords(n) * sizeof(struct rt_matrix_word) + rt_cut(x, nwords(n), TASK_MIN).ntasks * sizeof(uint64_t) +
           4 * hd_align_up(n, 2) * sizeof(uint32_t);
}

void rt_matrix_place(struct rt_matrix *m, unsigned char *memory)
{
    m->cut = rt_cut(m->x, nwords(m->n), TASK_MIN);
    m->word = (void *)memory;
    memory += nwords(m->n) * sizeof *m->word;
    m->total = (void *)memory;
    memory += m->cut.ntasks * sizeof *m->total;
    for (int i = 0; i < 4; i++) {
        uint32_t **to = i % 2 ? &m->p[i / 2].row : &m->p[i / 2].code;
        *to = (void *)memory;
        memory += hd_align_up(m->n, 2) * sizeof **to;
    }
    m->at = &m->p[0];
    m->next = &m->p[1];
}

RT_INLINE void mark_any(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct rt_matrix *m = context;
    uint64_t all = 0;
    for (uint64_t k = task * m->cut.size; k < rt_cut_end(&m->cut, task); k++) {
        uint64_t zeros = 0, first = k * WORD, end = HD_MIN(m->n, first + WORD);
        for (uint64_t i = first; i < end; i++)
            zeros |= (uint64_t)(~(m->at->code[i] >> m->bit) & 1) << (i - first);
        m->word[k] = (struct rt_matrix_word){zeros, all};
        all += (uint64_t)__builtin_popcountll(zeros);
    }
    m->total[task] = all;
}

RT_COUNTS_BITS(mark)

static void move(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct rt_matrix *m = context;
    for (uint64_t k = task * m->cut.size; k < rt_cut_end(&m->cut, task); k++) {
        struct rt_matrix_word *word = &m->word[k];
        uint64_t first = k * WORD, end = HD_MIN(m->n, first + WORD);
        word->before += m->total[task];
        uint64_t zero = word->before, one = m->zeros + first - zero;
        for (uint64_t i = first; i < end; i++) {
            uint64_t to = word->zeros >> (i - first) & 1 ? zero++ : one++;
            m->next->code[to] = m->at->code[i];
            m->next->row[to] = m->at->row[i];
        }
    }
}

int rt_matrix_level(struct rt_matrix *m, int bit)
{
    struct rt_places *turned = m->next;
    m->bit = bit;
    HD_TRY(rt_exec_parallel(m->x, m->cut.ntasks, mark, m));
    m->zeros = 0;
    for (uint64_t i = 0; i < m->cut.ntasks; i++) {
        uint64_t n = m->total[i];
        m->total[i] = m->zeros;
        m->zeros += n;
    }
    HD_TRY(rt_exec_parallel(m->x, m->cut.ntasks, move, m));
    m->next = m->at;
    m->at = turned;
    return 0;
}

/* ---- all levels at once ----------------------------------------------------------------------------------- */

struct ordering {
    struct rt_matrix *m;
    uint64_t *word; /* in the memory of m->next: code, row */
    struct rt_cut cut;
};

static void join_words(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct ordering *o = context;
    for (uint64_t i = task * o->cut.size; i < rt_cut_end(&o->cut, task); i++)
        o->word[i] = (uint64_t)o->m->at->code[i] << 32 | o->m->at->row[i];
}

static void split_words(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct ordering *o = context;
    for (uint64_t i = task * o->cut.size; i < rt_cut_end(&o->cut, task); i++) {
        o->m->at->code[i] = (uint32_t)(o->word[i] >> 32);
        o->m->at->row[i] = (uint32_t)o->word[i];
    }
}

int rt_matrix_sort(struct rt_matrix *m, int bits)
{
    struct ordering o = {.m = m, .word = (void *)m->next->code, .cut = rt_cut(m->x, m->n, TASK_MIN * WORD)};
    uint64_t *spare = (void *)m->at->code; /* a row's code and number take a word (rt_matrix_place) */
    HD_TRY(rt_exec_parallel(m->x, o.cut.ntasks, join_words, &o));
    HD_TRY(rt_sort_words(m->x, m->v->s, o.word, spare, m->n, 32, 32 + bits));
    return rt_exec_parallel(m->x, o.cut.ntasks, split_words, &o);
}

/* ---- codes -------------------------------------------------------------------------------------------------- */

struct largest {
    const struct rt_ranked *r;
    _Atomic uint32_t code;
};

static uint32_t code_of(const struct rt_field *f, const unsigned char *row)
{
    uint32_t code = 0;
    if (f->valid_offset < 0 || row[f->valid_offset])
        memcpy(&code, row + f->offset, sizeof code);
    return code;
}

static void find_largest(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    struct largest *l = context;
    const struct rt_field *f = rt_ranked_codes_of(l->r);
    uint32_t most = 0, seen;
    for (uint64_t i = task * l->r->cut.size; i < rt_cut_end(&l->r->cut, task); i++)
        most = HD_MAX(most, code_of(f, rt_ranked_row(l->r, i)));
    seen = atomic_load(&l->code);
    while (seen < most && !atomic_compare_exchange_weak(&l->code, &seen, most))
        ;
}

static void fill(void *context, struct rt_worker *w HD_UNUSED, uint64_t task)
{
    const struct rt_ranked *r = context;
    const struct rt_field *f = rt_ranked_codes_of(r);
    for (uint64_t i = task * r->cut.size; i < rt_cut_end(&r->cut, task); i++) {
        uint32_t code = code_of(f, rt_ranked_row(r, i));
        r->m.at->code[i] = code ? code : r->none;
        r->m.at->row[i] = (uint32_t)i;
    }
}

int rt_ranked_codes(struct rt_ranked *r)
{
    struct largest l = {.r = r};
    HD_TRY(rt_exec_parallel(r->x, r->cut.ntasks, find_largest, &l));
    r->none = UINT32_C(1) << rt_bits_of(l.code); /* ranks have 31 bits at most */
    return rt_exec_parallel(r->x, r->cut.ntasks, fill, r);
}
