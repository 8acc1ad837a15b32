/* Strings of rows that go to other GPUs: of each column they lie one behind the other, in the order of the rows, so that those
 * of a part are one range of bytes. */
#include "runtime/gpu/gpu_sent_internal.h"

enum { ALIGN = 256 };

int rt_sent_keep(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_sent *sent, size_t n, uint64_t *address,
                 struct hd_err *err)
{
    struct rt_piece *piece = &sent->pieces[sent->npieces];
    HD_TRY(rt_state_alloc(x, s, n, piece, err));
    sent->npieces++;
    *address = piece->address;
    return 0;
}

struct texts {
    struct rt_gpu_exec *x;
    const struct rt_state *s;
    struct rt_sent *sent;
    struct rt_piece
        words; /* zeros: per column where parts begin, and the longest; then lengths of a column's strings */
    struct hdd_sent_text_args *p; /* [columns with strings] */
};

static size_t words_of(const struct rt_sent *sent)
{
    return (size_t)sent->s.parts + 2;
}

static int dictionary(struct texts *t, const struct rt_field *f, struct hdd_sent_text_args *p, struct hd_err *err)
{
    struct rt_arg a = {.kind = RT_ARG_DICT_OFFSETS, .table = f->dict_table, .column = f->dict_column};
    uint64_t offsets, bytes;
    HD_TRY(rt_gpu_resident(t->x->g, &a, &offsets, err));
    a.kind = RT_ARG_DICT_BYTES;
    HD_TRY(rt_gpu_resident(t->x->g, &a, &bytes, err));
    p->dict_offsets = offsets;
    p->dict_bytes = bytes;
    return 0;
}

static int launch(struct texts *t, const char *entry, uint32_t blocks, const struct hdd_sent_text_args *p,
                  struct hd_err *err)
{
    return rt_finish_launch(t->x, "finish_exchange", entry, blocks, p, err);
}

/* Where each string of a column begins. */
static int measure(struct texts *t, int i, uint64_t lengths, struct hd_err *err)
{
    const struct rt_sent *sent = t->sent;
    const struct rt_sent_column *c = &sent->column[i];
    const struct rt_field *f = &t->s->fields[t->x->spec->result[i].field];
    struct hdd_sent_text_args *p = &t->p[c->text];
    *p = (struct hdd_sent_text_args){.rows = sent->rows,
                                     .n = sent->s.n,
                                     .lengths = lengths,
                                     .sums = sent->text[c->text].sums,
                                     .at = t->words.address + (uint64_t)c->text * words_of(sent) * 8,
                                     .longest = t->words.address + (uint64_t)sent->ntexts * words_of(sent) * 8 +
                                                (uint64_t)c->text * 4,
                                     .blocks = rt_finish_blocks(t->x, sent->s.n, RT_FINISH_THREADS),
                                     .stride = sent->stride,
                                     .offset = c->offset,
                                     .phys = c->phys,
                                     .parts = (hdd_u32)sent->s.parts,
                                     .valid = c->valid};
    for (int k = 0; k <= sent->s.parts; k++)
        p->first[k] = sent->s.first[k];
    if (f->phys != RT_STR)
        HD_TRY(dictionary(t, f, p, err));
    HD_TRY(launch(t, "hdd_sent_lengths", p->blocks, p, err));
    HD_TRY(rt_gpu_prefix_sum(t->x, t->s, p->lengths, p->n, p->sums, true, err));
    return launch(t, "hdd_sent_at", 1, p, err);
}

static int make_sums(struct texts *t, struct hd_err *err)
{
    struct rt_sent *sent = t->sent;
    size_t words = hd_align_up((size_t)sent->ntexts * (words_of(sent) * 8 + 4), ALIGN);
    size_t each = hd_align_up((size_t)(sent->s.n + 1) * 8, ALIGN);
    uint64_t sums;
    HD_TRY(rt_sent_keep(t->x, t->s, sent, each * (size_t)sent->ntexts, &sums, err));
    HD_TRY(rt_state_alloc(t->x, t->s, words + (size_t)sent->s.n * 4, &t->words, err));
    HD_TRY(t->x->d->ops->set(t->x->d, t->words.address, 0, words, err));
    for (int i = 0; i < sent->ncolumns; i++) {
        if (sent->column[i].text < 0)
            continue;
        sent->text[sent->column[i].text].sums = sums + (uint64_t)sent->column[i].text * each;
        HD_TRY(measure(t, i, t->words.address + words, err));
    }
    return 0;
}

/* How many bytes each part has, of all columns. */
static int look(struct texts *t, struct hd_err *err)
{
    struct rt_sent *sent = t->sent;
    size_t n = words_of(sent);
    uint64_t *at = HD_NEWN(t->x->arena, uint64_t, n *(size_t)sent->ntexts);
    HD_TRY(t->x->d->ops->download(t->x->d, at, t->words.address, n * (size_t)sent->ntexts * 8, err));
    for (int k = 0; k < sent->ntexts; k++)
        for (size_t i = 0; i < n; i++)
            sent->text[k].at[i] = at[(size_t)k * n + i];
    return 0;
}

static int make_bytes(struct texts *t, struct hd_err *err)
{
    struct rt_sent *sent = t->sent;
    uint64_t all = 0, address;
    for (int k = 0; k < sent->ntexts; k++)
        all += hd_align_up((size_t)sent->text[k].at[sent->s.parts], ALIGN);
    HD_TRY(rt_sent_keep(t->x, t->s, sent, (size_t)all, &address, err));
    for (int k = 0; k < sent->ntexts; k++) {
        t->p[k].bytes = sent->text[k].bytes = address;
        address += hd_align_up((size_t)sent->text[k].at[sent->s.parts], ALIGN);
        HD_TRY(launch(t, "hdd_sent_copy", t->p[k].blocks, &t->p[k], err));
    }
    return 0;
}

int rt_sent_make_texts(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_sent *sent, struct hd_err *err)
{
    struct texts t = {.x = x, .s = s, .sent = sent};
    if (!sent->ntexts)
        return 0;
    t.p = HD_NEWN(x->arena, struct hdd_sent_text_args, sent->ntexts);
    int rc = make_sums(&t, err);
    if (rc == 0)
        rc = look(&t, err);
    if (rc == 0)
        rc = make_bytes(&t, err);
    rt_gpu_release(x, &t.words);
    return rc;
}
