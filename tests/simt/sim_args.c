/* The args vector of a program, as runtime/spec.h describes it. */
#include <string.h>

#include "tests/simt/sim.h"

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* ---- LIKE: the device form of a pattern (templates/text.cuh) ---------------------------- */

struct like_head {
    uint32_t open_start, open_end, npieces, least;
};
struct like_piece {
    uint32_t at, n;
};

struct like_build {
    struct like_head head;
    struct like_piece *pieces;
    unsigned char *bytes, *wild; /* of the piece being read */
    uint32_t n;
    unsigned char *out;
    uint32_t used;
};

static void end_piece(struct like_build *b)
{
    if (b->n == 0)
        return;
    b->pieces[b->head.npieces++] = (struct like_piece){b->used, b->n};
    memcpy(b->out + b->used, b->bytes, b->n);
    memcpy(b->out + b->used + b->n, b->wild, b->n);
    b->used += 2 * b->n;
    b->head.least += b->n;
    b->n = 0;
}

const void *sim_like_pattern(struct hd_arena *a, const struct rt_arg *arg)
{
    size_t n = arg->n, last = 0; /* just past the last % */
    size_t table = sizeof(struct like_head) + (n + 1) * sizeof(struct like_piece);
    struct like_build b = {.bytes = hd_alloc(a, n + 1), .wild = hd_alloc(a, n + 1)};
    b.out = hd_zalloc(a, table + 2 * n + 1);
    b.pieces = (struct like_piece *)(b.out + sizeof(struct like_head));
    b.used = (uint32_t)table;
    for (size_t i = 0; i < n; i++) {
        bool escaped = arg->escape && arg->s[i] == arg->escape && i + 1 < n;
        if (escaped)
            i++;
        if (!escaped && arg->s[i] == '%') {
            b.head.open_start |= i == 0;
            end_piece(&b);
            last = i + 1;
            continue;
        }
        b.wild[b.n] = !escaped && arg->s[i] == '_';
        b.bytes[b.n++] = (unsigned char)arg->s[i];
    }
    end_piece(&b);
    b.head.open_end = n > 0 && last == n;
    memcpy(b.out, &b.head, sizeof b.head);
    return b.out;
}

/* ---- words ------------------------------------------------------------------------------ */

static void put_int(uint64_t *w, enum rt_phys p, hd_i128 v)
{
    w[0] = (uint64_t)v;
    if (p == RT_I128)
        w[1] = (uint64_t)(v >> 64);
}

static void put_const(uint64_t *w, const struct rt_arg *a)
{
    if (a->phys == RT_F64)
        memcpy(w, &a->f, sizeof a->f);
    else if (a->phys == RT_STR)
        w[0] = address(a->s), w[1] = a->n;
    else
        put_int(w, a->phys, a->i);
}

static void put(uint64_t *w, const struct rt_arg *a, const struct sim_state *states)
{
    const struct fe_table_column *c =
        a->table && a->column >= 0 ? &a->table->cols[a->column] : NULL;
    const struct fe_key_index *k = a->table ? &a->table->keyidx[a->index] : NULL;
    const struct sim_state *v = a->state >= 0 ? &states[a->state] : NULL;
    switch (a->kind) {
    case RT_ARG_CONST: put_const(w, a); return;
    case RT_ARG_SET: w[0] = address(a->set), w[1] = (uint64_t)a->nset; return;
    case RT_ARG_LIKE: return; /* made once */
    case RT_ARG_COL_DATA: w[0] = address(c->at.data); return;
    case RT_ARG_COL_VALID: w[0] = address(c->at.validity); return;
    case RT_ARG_COL_TEXT_BASE: w[0] = address(c->at.text_base); return;
    case RT_ARG_COL_TEXT_BYTES: w[0] = address(c->at.text_bytes); return;
    case RT_ARG_COL_BASE: put_int(w, a->phys, c->base); return;
    case RT_ARG_COL_FACTOR: put_int(w, a->phys, c->factor); return;
    case RT_ARG_DICT_OFFSETS: w[0] = address(c->dict.offsets); return;
    case RT_ARG_DICT_BYTES: w[0] = address(c->dict.bytes); return;
    case RT_ARG_TABLE_ROWS: w[0] = (uint64_t)a->table->rows; return;
    case RT_ARG_KEYIDX_ROWS: w[0] = address(k->rows); return;
    case RT_ARG_KEYIDX_MIN: put_int(w, a->phys, k->min); return;
    case RT_ARG_KEYIDX_RANGE: w[0] = k->range; return;
    case RT_ARG_FK_OFFSETS: w[0] = address(a->table->fks[a->index].offsets); return;
    case RT_ARG_FK_CHILD_ROWS: w[0] = address(a->table->fks[a->index].child_rows); return;
    case RT_ARG_STATE_BITS: w[0] = address(v->bits); return;
    case RT_ARG_STATE_MATCHES: w[0] = address(v->matches); return;
    case RT_ARG_STATE_RANGE: w[0] = v->s->range; return;
    case RT_ARG_STATE_ROWS: w[0] = address(v->rows); return;
    case RT_ARG_STATE_NROWS: w[0] = v->nrows; return;
    case RT_ARG_STATE_OFFSETS: w[0] = address(v->offsets); return;
    case RT_ARG_STATE_SLOTS: w[0] = address(v->slots); return;
    case RT_ARG_STATE_MASK: w[0] = v->mask; return;
    case RT_ARG_STATE_FIELD: w[0] = address(v->field ? v->field[a->index] : NULL); return;
    case RT_ARG_STATE_FIELD_VALID:
        w[0] = address(v->valid ? v->valid[a->index] : NULL);
        return;
    }
    HD_BUG("argument kind %d", (int)a->kind);
}

void sim_args_fill(const struct rt_spec *s, const struct sim_state *states, uint64_t *words,
                   struct hd_arena *a)
{
    for (int i = 0; i < s->nargs; i++) {
        uint64_t *w = words + s->args[i].word;
        put(w, &s->args[i], states);
        if (s->args[i].kind == RT_ARG_LIKE && w[0] == 0)
            w[0] = address(sim_like_pattern(a, &s->args[i]));
    }
}
