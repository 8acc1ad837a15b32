/* The args vector: the words that generated code reads. Addresses of states change as states
 * finish, so all words are written anew before each pipeline: there are few. */
#include "runtime/cpu/like.h"
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/plain_args.h"

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void put_column(uint64_t *w, const struct rt_arg *a)
{
    const struct fe_table_column *c = &a->table->cols[a->column];
    if (a->kind == RT_ARG_COL_DATA)
        w[0] = address(c->at.data);
    else if (a->kind == RT_ARG_COL_VALID)
        w[0] = address(c->at.validity);
    else if (a->kind == RT_ARG_COL_TEXT_BASE)
        w[0] = address(c->at.text_base);
    else if (a->kind == RT_ARG_COL_TEXT_BYTES)
        w[0] = address(c->at.text_bytes);
    else if (a->kind == RT_ARG_DICT_OFFSETS)
        w[0] = address(c->dict.offsets);
    else
        w[0] = address(c->dict.bytes);
}

static void put_state(uint64_t *w, const struct rt_arg *a, const struct rt_live *v)
{
    if (a->kind == RT_ARG_STATE_BITS)
        w[0] = address(v->bits.p);
    else if (a->kind == RT_ARG_STATE_MATCHES)
        w[0] = address(v->matches.p);
    else if (a->kind == RT_ARG_STATE_RANGE)
        w[0] = v->s->range;
    else if (a->kind == RT_ARG_STATE_ROWS)
        w[0] = address(v->rows);
    else if (a->kind == RT_ARG_STATE_NROWS)
        w[0] = v->nrows;
    else if (a->kind == RT_ARG_STATE_OFFSETS)
        w[0] = address(v->offsets.p);
    else if (a->kind == RT_ARG_STATE_SLOTS)
        w[0] = address(v->slots.p);
    else if (a->kind == RT_ARG_STATE_MASK)
        w[0] = v->mask;
    else if (a->kind == RT_ARG_STATE_FIELD)
        w[0] = address(v->field ? v->field[a->index] : NULL);
    else
        w[0] = address(v->valid ? v->valid[a->index] : NULL);
}

static void put(struct rt_exec *x, const struct rt_arg *a)
{
    uint64_t *w = x->args + a->word;
    if (rt_arg_plain(a, w))
        return;
    switch (a->kind) {
    case RT_ARG_CONST:
        w[0] = address(a->s);
        w[1] = a->n;
        return;
    case RT_ARG_SET:
        w[0] = address(a->set);
        w[1] = (uint64_t)a->nset;
        return;
    case RT_ARG_LIKE: return; /* compiled once, in rt_args_init */
    case RT_ARG_COL_DATA:
    case RT_ARG_COL_VALID:
    case RT_ARG_COL_TEXT_BASE:
    case RT_ARG_COL_TEXT_BYTES:
    case RT_ARG_DICT_OFFSETS:
    case RT_ARG_DICT_BYTES: put_column(w, a); return;
    case RT_ARG_KEYIDX_ROWS: w[0] = address(a->table->keyidx[a->index].rows); return;
    case RT_ARG_FK_OFFSETS: w[0] = address(a->table->fks[a->index].offsets); return;
    case RT_ARG_FK_CHILD_ROWS: w[0] = address(a->table->fks[a->index].child_rows); return;
    case RT_ARG_COL_BASE:
    case RT_ARG_COL_FACTOR:
    case RT_ARG_TABLE_ROWS:
    case RT_ARG_KEYIDX_MIN:
    case RT_ARG_KEYIDX_RANGE: break; /* plain */
    case RT_ARG_STATE_BITS:
    case RT_ARG_STATE_MATCHES:
    case RT_ARG_STATE_RANGE:
    case RT_ARG_STATE_ROWS:
    case RT_ARG_STATE_NROWS:
    case RT_ARG_STATE_OFFSETS:
    case RT_ARG_STATE_SLOTS:
    case RT_ARG_STATE_MASK:
    case RT_ARG_STATE_FIELD:
    case RT_ARG_STATE_FIELD_VALID: put_state(w, a, &x->live[a->state]); return;
    }
    HD_BUG("argument kind %d", (int)a->kind);
}

int rt_args_init(struct rt_exec *x)
{
    const struct rt_spec *s = x->spec;
    x->args = HD_NEWN(&x->arena, uint64_t, s->nwords + 1);
    for (int i = 0; i < s->nargs; i++)
        if (s->args[i].kind == RT_ARG_LIKE)
            x->args[s->args[i].word] =
                address(hdr_like_new(&x->arena, s->args[i].s, s->args[i].n, s->args[i].escape, &x->failure));
    return 0;
}

void rt_args_resolve(struct rt_exec *x)
{
    for (int i = 0; i < x->spec->nargs; i++)
        put(x, &x->spec->args[i]);
}
