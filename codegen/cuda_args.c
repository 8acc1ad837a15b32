/* Words of the args vector as typed members of the pipeline's class. A member is declared once
 * it is used; names come from columns and states. */
#include <string.h>

#include "codegen/cuda_gen.h"

enum { NAME_MOST = 24 };

static const struct rt_arg *arg_of(const struct cu_unit *u, int arg)
{
    if (arg < 0 || arg >= u->spec->nargs)
        HD_BUG("argument %d of %d", arg, u->spec->nargs);
    return &u->spec->args[arg];
}

static const char *column_name(struct cu_unit *u, const struct rt_arg *a)
{
    return cu_word(u->arena, a->table->cols[a->column].name, NAME_MOST);
}

/* What follows the column's or state's name. */
static const char *suffix(enum rt_arg_kind k)
{
    switch (k) {
    case RT_ARG_CONST: return "";
    case RT_ARG_SET: return "set";
    case RT_ARG_LIKE: return "pattern";
    case RT_ARG_COL_DATA: return "";
    case RT_ARG_COL_VALID: return "valid";
    case RT_ARG_COL_TEXT_BASE: return "bases";
    case RT_ARG_COL_TEXT_BYTES: return "bytes";
    case RT_ARG_COL_BASE: return "base";
    case RT_ARG_COL_FACTOR: return "factor";
    case RT_ARG_DICT_OFFSETS: return "dict_offsets";
    case RT_ARG_DICT_BYTES: return "dict_bytes";
    case RT_ARG_TABLE_ROWS: return "rows";
    case RT_ARG_KEYIDX_ROWS: return "key_rows";
    case RT_ARG_KEYIDX_MIN: return "key_min";
    case RT_ARG_KEYIDX_RANGE: return "key_range";
    case RT_ARG_FK_OFFSETS: return "fk_offsets";
    case RT_ARG_FK_CHILD_ROWS: return "fk_rows";
    case RT_ARG_STATE_BITS: return "bits";
    case RT_ARG_STATE_MATCHES: return "matches";
    case RT_ARG_STATE_RANGE: return "range";
    case RT_ARG_STATE_ROWS: return "rows";
    case RT_ARG_STATE_NROWS: return "nrows";
    case RT_ARG_STATE_OFFSETS: return "offsets";
    case RT_ARG_STATE_SLOTS: return "slots";
    case RT_ARG_STATE_MASK: return "mask";
    case RT_ARG_STATE_FIELD: return "field";
    case RT_ARG_STATE_FIELD_VALID: return "field_valid";
    }
    HD_BUG("argument kind %d", (int)k);
}

static const char *base_name(struct cu_unit *u, const struct rt_arg *a)
{
    const char *end = suffix(a->kind);
    if (a->kind == RT_ARG_CONST || a->kind == RT_ARG_SET || a->kind == RT_ARG_LIKE)
        return *end ? end : "k";
    if (a->kind >= RT_ARG_STATE_BITS)
        return hd_asprintf(u->arena, "%s_%s", cu_state(u, a->state), end);
    if (a->kind >= RT_ARG_TABLE_ROWS)
        return hd_asprintf(u->arena, "%s_%s", cu_word(u->arena, a->table->name, NAME_MOST), end);
    return *end ? hd_asprintf(u->arena, "%s_%s", column_name(u, a), end) : column_name(u, a);
}

/* Memory that this pipeline writes. */
static bool written(const struct cu_unit *u, const struct rt_arg *a)
{
    if (a->kind == RT_ARG_STATE_MATCHES)
        return true;
    return a->kind >= RT_ARG_STATE_BITS && a->state == u->pipe->sink.state;
}

static const char *pointed_to(struct cu_unit *u, const struct rt_arg *a)
{
    switch (a->kind) {
    case RT_ARG_LIKE: return "hdd_like_pattern";
    case RT_ARG_COL_DATA: return cu_stored_type(&a->table->cols[a->column]);
    case RT_ARG_COL_VALID:
    case RT_ARG_COL_TEXT_BYTES:
    case RT_ARG_DICT_BYTES:
    case RT_ARG_STATE_FIELD_VALID: return "u8";
    case RT_ARG_COL_TEXT_BASE:
    case RT_ARG_FK_OFFSETS:
    case RT_ARG_STATE_BITS:
    case RT_ARG_STATE_MATCHES:
    case RT_ARG_STATE_OFFSETS: return "u64";
    case RT_ARG_DICT_OFFSETS:
    case RT_ARG_KEYIDX_ROWS:
    case RT_ARG_FK_CHILD_ROWS: return "u32";
    case RT_ARG_STATE_ROWS: return cu_row(u, a->state);
    case RT_ARG_STATE_SLOTS: return "hdd_hash_slot";
    case RT_ARG_STATE_FIELD: return cu_row_type(u->spec->states[a->state].fields[a->index].phys);
    case RT_ARG_CONST:
    case RT_ARG_SET:
    case RT_ARG_COL_BASE:
    case RT_ARG_COL_FACTOR:
    case RT_ARG_TABLE_ROWS:
    case RT_ARG_KEYIDX_MIN:
    case RT_ARG_KEYIDX_RANGE:
    case RT_ARG_STATE_RANGE:
    case RT_ARG_STATE_NROWS:
    case RT_ARG_STATE_MASK: return NULL;
    }
    HD_BUG("argument kind %d", (int)a->kind);
}

static const char *scalar_type(struct cu_unit *u, const struct rt_arg *a)
{
    if (a->kind == RT_ARG_CONST || a->kind == RT_ARG_COL_BASE || a->kind == RT_ARG_COL_FACTOR)
        return cu_type(a->phys);
    if (a->kind == RT_ARG_SET)
        return hd_asprintf(u->arena, "hdd_set<%s>", cu_row_type(a->phys));
    return a->kind == RT_ARG_KEYIDX_MIN ? "i64" : "u64";
}

static const char *full_type(struct cu_unit *u, const struct rt_arg *a)
{
    const char *to = pointed_to(u, a);
    if (!to)
        return hd_asprintf(u->arena, "%s ", scalar_type(u, a));
    return hd_asprintf(u->arena, "%s%s *", written(u, a) ? "" : "const ", to);
}

/* "args[N]" */
static const char *word(struct cu_unit *u, int w)
{
    return hd_asprintf(u->arena, "args[%s]", cu_number(u, w));
}

static const char *constant(struct cu_unit *u, const struct rt_arg *a)
{
    const char *w = word(u, a->word), *more = NULL;
    if (a->phys == RT_I128 || a->phys == RT_STR)
        more = word(u, a->word + 1);
    switch (a->phys) {
    case RT_BOOL: return hd_asprintf(u->arena, "%s != 0", w);
    case RT_I32: return hd_asprintf(u->arena, "(i32)%s", w);
    case RT_I64: return hd_asprintf(u->arena, "(i64)%s", w);
    case RT_I128: return hd_asprintf(u->arena, "(i128)((u128)%s << 64 | %s)", more, w);
    case RT_F64: return hd_asprintf(u->arena, "hdd_f64_from_bits((i64)%s)", w);
    case RT_STR: return hd_asprintf(u->arena, "hdd_text{reinterpret_cast<const u8 *>(%s), (i32)%s}", w, more);
    }
    HD_BUG("constant of physical type %d", (int)a->phys);
}

static const char *value_of(struct cu_unit *u, const struct rt_arg *a)
{
    if (pointed_to(u, a))
        return hd_asprintf(u->arena, "reinterpret_cast<%s>(%s)", full_type(u, a), word(u, a->word));
    if (a->kind == RT_ARG_SET) {
        const char *w = word(u, a->word);
        return hd_asprintf(u->arena, "%s{reinterpret_cast<const %s *>(%s), %s}", scalar_type(u, a),
                           cu_row_type(a->phys), w, word(u, a->word + 1));
    }
    if (a->kind == RT_ARG_CONST || a->kind == RT_ARG_COL_BASE || a->kind == RT_ARG_COL_FACTOR)
        return constant(u, a);
    return hd_asprintf(u->arena, "(%s)%s", scalar_type(u, a), word(u, a->word));
}

/* The number keeps names apart: "a4_l_shipdate". Far arguments have no members, nor have those of a
 * framed pipeline, whose functions would find them in memory: they are read where they are used. */
const char *cu_arg(struct cu_unit *u, int arg)
{
    const struct rt_arg *a = arg_of(u, arg);
    if (u->far_args || u->pipe->framed)
        return hd_asprintf(u->arena, "(%s)", value_of(u, a));
    if (!u->arg_names[arg])
        u->arg_names[arg] = hd_asprintf(u->arena, "a%d_%s", arg, base_name(u, a));
    u->arg_used[arg] = true;
    return u->arg_names[arg];
}

void cu_arg_member(struct cu_unit *u, struct cu_out *o, int arg)
{
    const struct rt_arg *a = arg_of(u, arg);
    bool pointer = pointed_to(u, a) != NULL;
    cu_line(o, "%s%s%s;", pointer ? full_type(u, a) : "const ", pointer ? "const " : full_type(u, a), cu_arg(u, arg));
}

const char *cu_arg_initialiser(struct cu_unit *u, int arg)
{
    return hd_asprintf(u->arena, "%s(%s)", cu_arg(u, arg), value_of(u, arg_of(u, arg)));
}
