#include "runtime/exec/plain_args.h"

#include <string.h>

static bool put_integer(uint64_t *w, enum rt_phys phys, hd_i128 v)
{
    w[0] = (uint64_t)v;
    if (phys == RT_I128)
        w[1] = (uint64_t)(v >> 64);
    return true;
}

static bool put_const(uint64_t *w, const struct rt_arg *a)
{
    if (a->phys == RT_STR)
        return false;
    if (a->phys != RT_F64)
        return put_integer(w, a->phys, a->i);
    memcpy(w, &a->f, sizeof a->f);
    return true;
}

bool rt_arg_plain(const struct rt_arg *a, uint64_t *w)
{
    switch (a->kind) {
    case RT_ARG_CONST: return put_const(w, a);
    case RT_ARG_COL_BASE: return put_integer(w, a->phys, a->table->cols[a->column].base);
    case RT_ARG_COL_FACTOR: return put_integer(w, a->phys, a->table->cols[a->column].factor);
    case RT_ARG_TABLE_ROWS: return put_integer(w, RT_I64, a->table->rows);
    case RT_ARG_KEYIDX_MIN: return put_integer(w, a->phys, a->table->keyidx[a->index].min);
    case RT_ARG_KEYIDX_RANGE: return put_integer(w, RT_I64, (hd_i128)a->table->keyidx[a->index].range);
    case RT_ARG_SET:
    case RT_ARG_LIKE:
    case RT_ARG_COL_DATA:
    case RT_ARG_COL_VALID:
    case RT_ARG_COL_TEXT_BASE:
    case RT_ARG_COL_TEXT_BYTES:
    case RT_ARG_DICT_OFFSETS:
    case RT_ARG_DICT_BYTES:
    case RT_ARG_KEYIDX_ROWS:
    case RT_ARG_FK_OFFSETS:
    case RT_ARG_FK_CHILD_ROWS:
    case RT_ARG_STATE_BITS:
    case RT_ARG_STATE_MATCHES:
    case RT_ARG_STATE_RANGE:
    case RT_ARG_STATE_ROWS:
    case RT_ARG_STATE_NROWS:
    case RT_ARG_STATE_OFFSETS:
    case RT_ARG_STATE_SLOTS:
    case RT_ARG_STATE_MASK:
    case RT_ARG_STATE_FIELD:
    case RT_ARG_STATE_FIELD_VALID: return false;
    }
    HD_BUG("argument kind %d", (int)a->kind);
}
