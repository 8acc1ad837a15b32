/* Words of the args vector as typed members of the pipeline's class. A member is declared once
 * it is used; names come from columns and states. */
#include <string.h>

#include "codegen/cuda_gen.h"

enum { NAME_MAX = 24 };

static const struct rt_arg *arg_of(const struct cu_unit *u, int arg)
{
    if (arg < 0 || arg >= u->spec->nargs)
        HD_BUG("argument %d of %d", arg, u->spec->nargs);
    return &u->spec->args[arg];
}

static const char *column_name(struct cu_unit *u, const struct rt_arg *a)
{
    return cu_word(u->arena, a->table->cols[a->column].name, NAME_MAX);
}

/* The CUDA columns of runtime/args.def. */
static const struct {
    const char *member, *type;
    enum { VALUE, ADDRESS } passed;
} kinds[] = {
#define T_ARG(id, text, object, words, member, passed, type) [RT_ARG_##id] = {member, type, passed},
#include "runtime/args.def"
};

static const char *base_name(struct cu_unit *u, const struct rt_arg *a)
{
    const char *end = kinds[a->kind].member;
    switch (rt_arg_object(a->kind)) {
    case RT_OBJECT_CONST:
    case RT_OBJECT_SET:
    case RT_OBJECT_LIKE: return end;
    case RT_OBJECT_COLUMN:
    case RT_OBJECT_DICT: return *end ? hd_asprintf(u->arena, "%s_%s", column_name(u, a), end) : column_name(u, a);
    case RT_OBJECT_KEYIDX:
    case RT_OBJECT_FK: return hd_asprintf(u->arena, "%s_%s", cu_word(u->arena, a->table->name, NAME_MAX), end);
    case RT_OBJECT_SOURCE: return end;
    case RT_OBJECT_STATE:
    case RT_OBJECT_FIELD: return hd_asprintf(u->arena, "%s_%s", cu_state(u, a->state), end);
    }
    HD_BUG("argument kind %d", (int)a->kind);
}

static bool is_address(const struct rt_arg *a)
{
    return kinds[a->kind].passed == ADDRESS;
}

/* Memory that this pipeline writes. */
static bool written(const struct cu_unit *u, const struct rt_arg *a)
{
    if (a->kind == RT_ARG_STATE_MATCHES)
        return true;
    return rt_arg_group(a->kind) == RT_ARGS_STATE && a->state == u->pipeline->sink.state;
}

/* The type that the argument's object says. */
static const char *type_of_object(struct cu_unit *u, const struct rt_arg *a)
{
    switch (rt_arg_object(a->kind)) {
    case RT_OBJECT_CONST: return cu_type(a->phys);
    case RT_OBJECT_SET: return hd_asprintf(u->arena, "hdd_set<%s>", cu_row_type(a->phys));
    case RT_OBJECT_COLUMN: return is_address(a) ? cu_stored_type(u, &a->table->cols[a->column]) : cu_type(a->phys);
    case RT_OBJECT_STATE: return cu_row(u, a->state);
    case RT_OBJECT_FIELD: return cu_row_type(u->spec->states[a->state].fields[a->index].phys);
    case RT_OBJECT_FK: return a->table->fks[a->index].offset_width == 4 ? "u32" : "u64";
    case RT_OBJECT_LIKE:
    case RT_OBJECT_DICT:
    case RT_OBJECT_KEYIDX:
    case RT_OBJECT_SOURCE: break;
    }
    HD_BUG("argument kind %d has no type", (int)a->kind);
}

/* Of what lies at the address, or of the value. */
static const char *type_of(struct cu_unit *u, const struct rt_arg *a)
{
    const char *type = kinds[a->kind].type;
    return *type ? type : type_of_object(u, a);
}

static const char *full_type(struct cu_unit *u, const struct rt_arg *a)
{
    if (!is_address(a))
        return hd_asprintf(u->arena, "%s ", type_of(u, a));
    return hd_asprintf(u->arena, "%s%s *", written(u, a) ? "" : "const ", type_of(u, a));
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
    case RT_F32: return hd_asprintf(u->arena, "hdd_f32_from_bits((i32)%s)", w);
    case RT_STR: return hd_asprintf(u->arena, "hdd_string{reinterpret_cast<const u8 *>(%s), (i32)%s}", w, more);
    }
    HD_BUG("constant of physical type %d", (int)a->phys);
}

static const char *value_of(struct cu_unit *u, const struct rt_arg *a)
{
    const char *w = word(u, a->word);
    if (is_address(a))
        return hd_asprintf(u->arena, "reinterpret_cast<%s>(%s)", full_type(u, a), w);
    if (a->kind == RT_ARG_SET)
        return hd_asprintf(u->arena, "%s{reinterpret_cast<const %s *>(%s), %s}", type_of(u, a), cu_row_type(a->phys), w,
                           word(u, a->word + 1));
    return *kinds[a->kind].type ? hd_asprintf(u->arena, "(%s)%s", type_of(u, a), w) : constant(u, a);
}

/* The number keeps names apart: "a4_l_shipdate". Far arguments have no members, nor have those of a
 * framed pipeline, whose functions would find them in memory: they are read where they are used. */
const char *cu_arg(struct cu_unit *u, int arg)
{
    const struct rt_arg *a = arg_of(u, arg);
    if (u->prog->gpu_far_args || u->pipeline->framed)
        return hd_asprintf(u->arena, "(%s)", value_of(u, a));
    if (!u->arg_names[arg])
        u->arg_names[arg] = hd_asprintf(u->arena, "a%d_%s", arg, base_name(u, a));
    u->arg_used[arg] = true;
    return u->arg_names[arg];
}

void cu_arg_member(struct cu_unit *u, struct cu_out *o, int arg)
{
    const struct rt_arg *a = arg_of(u, arg);
    bool pointer = is_address(a);
    cu_line(o, "%s%s%s;", pointer ? full_type(u, a) : "const ", pointer ? "const " : full_type(u, a), cu_arg(u, arg));
}

const char *cu_arg_initialiser(struct cu_unit *u, int arg)
{
    return hd_asprintf(u->arena, "%s(%s)", cu_arg(u, arg), value_of(u, arg_of(u, arg)));
}
