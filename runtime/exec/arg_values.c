#include "runtime/exec/arg_values.h"

#include <string.h>

#include "runtime/exec/source.h"

static void put_integer(uint64_t *w, enum rt_phys phys, hd_i128 v)
{
    w[0] = (uint64_t)v;
    if (phys == RT_I128)
        w[1] = (uint64_t)(v >> 64);
}

void rt_arg_constant(const struct rt_arg *a, uint64_t *w)
{
    HD_ASSERT(a->phys != RT_STR);
    float single = (float)a->f;
    if (a->phys == RT_F64) {
        memcpy(w, &a->f, sizeof a->f);
    } else if (a->phys == RT_F32) {
        w[0] = 0;
        memcpy(w, &single, sizeof single);
    } else {
        put_integer(w, a->phys, a->i);
    }
}

static hd_i128 number(const struct rt_spec *s, const struct rt_arg *a)
{
    const struct fe_table *t = a->table;
    switch (a->kind) {
    case RT_ARG_COL_BASE: return t->cols[a->column].base;
    case RT_ARG_COL_FACTOR: return t->cols[a->column].factor;
    case RT_ARG_COL_ROWS: return t->rows;
    case RT_ARG_KEYIDX_MIN: return t->keyidx[a->index].min;
    case RT_ARG_KEYIDX_RANGE: return (hd_i128)t->keyidx[a->index].range;
    case RT_ARG_SOURCE_FIRST: return rt_source_first(s, &s->pipelines[a->index]);
#define T_ARG_NUMBER(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no number", (int)a->kind);
}

void rt_arg_number(const struct rt_spec *s, const struct rt_arg *a, uint64_t *w)
{
    put_integer(w, a->phys, number(s, a));
}

const void *rt_arg_memory(const struct rt_arg *a)
{
    const struct fe_table *t = a->table;
    switch (a->kind) {
    case RT_ARG_COL_DATA: return t->cols[a->column].at.data;
    case RT_ARG_COL_VALID: return t->cols[a->column].at.validity;
    case RT_ARG_COL_TEXT_BASE: return t->cols[a->column].at.text_base;
    case RT_ARG_COL_TEXT_BYTES: return t->cols[a->column].at.text_bytes;
    case RT_ARG_DICT_OFFSETS: return t->cols[a->column].dict.offsets;
    case RT_ARG_DICT_BYTES: return t->cols[a->column].dict.bytes;
    case RT_ARG_KEYIDX_WORDS:
    case RT_ARG_KEYIDX_ROWS: return fe_key_index_data(&t->keyidx[a->index]);
    case RT_ARG_FK_OFFSETS: return t->fks[a->index].offsets;
    case RT_ARG_FK_CHILD_ROWS: return t->fks[a->index].child_rows;
#define T_ARG_MEMORY(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no memory", (int)a->kind);
}
