/* Types: values in flight, rows of states. The layout of rows is the
 * planner's (struct rt_field); the structures printed here have members in the order of their
 * offsets, and assertions in the source hold the device compiler to the same layout. */
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda_gen.h"

enum { NAME_MAX = 24 };

const char *cu_type(enum rt_phys p)
{
    static const char *const names[] = {"bool", "i32", "i64", "i128", "f64", "hdd_string", "f32"};
    return names[p];
}

const char *cu_field_type(const struct rt_field *f)
{
    return f->bytes == 1 ? "u8" : f->bytes == 2 ? "u16" : cu_row_type(f->phys);
}

const char *cu_row_type(enum rt_phys p)
{
    return p == RT_STR ? "hdd_row_string" : cu_type(p);
}

const char *cu_value_type(struct cu_unit *u, enum rt_phys p, bool nullable)
{
    return nullable ? hd_asprintf(u->arena, "hdd_opt<%s>", cu_type(p)) : cu_type(p);
}

const char *cu_stored_type(struct cu_unit *u, const struct fe_table_column *c)
{
    bool is_code = c->storage == FE_STORE_DICT;
    if (c->bits)
        return hd_asprintf(u->arena, "hdd_packed<%d>", c->bits);
    switch (c->storage) {
    case FE_STORE_F64: return "f64";
    case FE_STORE_F32: return "f32";
    case FE_STORE_TEXT: return "u32";
    case FE_STORE_INT:
    case FE_STORE_DICT: break;
    }
    switch (c->width) {
    case 1: return is_code ? "u8" : "i8";
    case 2: return is_code ? "u16" : "i16";
    case 4: return is_code ? "u32" : "i32";
    case 8: return "i64";
    case 16: return "i128";
    default: HD_BUG("stored width %d", c->width);
    }
}

/* ---- rows ------------------------------------------------------------------------------- */

const char *cu_field(struct cu_unit *u, const struct rt_state *st, int field)
{
    const char *word = cu_word(u->arena, st->fields[field].name, NAME_MAX);
    return hd_asprintf(u->arena, "f%d_%s", field, word);
}

const char *cu_field_valid(struct cu_unit *u, const struct rt_state *st, int field)
{
    return hd_asprintf(u->arena, "%s_valid", cu_field(u, st, field));
}

/* Functions of framed pipelines know a member by its place: others of their like have another. */
static const char *member(struct cu_unit *u, const char *object, const char *type, int offset, const char *name)
{
    if (!cu_in_function(u))
        return hd_asprintf(u->arena, "%s.%s", object, name);
    return hd_asprintf(u->arena, "hdd_at<%s>(%s, %s)", type, object, cu_number(u, offset));
}

const char *cu_field_member(struct cu_unit *u, const struct rt_state *st, int field, const char *row)
{
    const struct rt_field *f = &st->fields[field];
    return member(u, row, cu_field_type(f), f->offset, cu_field(u, st, field));
}

const char *cu_valid_member(struct cu_unit *u, const struct rt_state *st, int field, const char *row)
{
    return member(u, row, "u8", st->fields[field].valid_offset, cu_field_valid(u, st, field));
}

const char *cu_field_value(struct cu_unit *u, const struct rt_state *st, int field, const char *row)
{
    const struct rt_field *f = &st->fields[field];
    const char *name = cu_field_member(u, st, field, row);
    if (f->valid_offset >= 0)
        return hd_asprintf(u->arena, "hdd_opt<%s>(%s, %s != 0)", cu_type(f->phys), name,
                           cu_valid_member(u, st, field, row));
    return hd_asprintf(u->arena, f->bytes ? "(i32)%s" : f->phys == RT_STR ? "hdd_string(%s)" : "%s", name);
}

const char *cu_present(struct cu_unit *u, int state, const char *row)
{
    const struct rt_state *st = &u->spec->states[state];
    int field = rt_state_presence(st);
    return hd_asprintf(u->arena, "%s.%s", row, field >= 0 ? cu_field(u, st, field) : "present");
}

bool cu_has_flag(const struct rt_state *st)
{
    return st->kind == RT_STATE_AGG_DENSE && rt_state_presence(st) < 0;
}

const char *cu_state(struct cu_unit *u, int state)
{
    if (!u->state_names[state]) {
        const char *name = u->spec->states[state].name;
        const char *rest = strchr(name, '_'); /* the planner puts a number before it, too */
        u->state_names[state] = hd_asprintf(u->arena, "s%d_%s", state, cu_word(u->arena, rest ? rest : name, NAME_MAX));
    }
    return u->state_names[state];
}

const char *cu_row(struct cu_unit *u, int state)
{
    u->row_used[state] = true;
    return hd_asprintf(u->arena, "%s_row", cu_state(u, state));
}

/* What a row holds, by offset. */
struct member {
    int offset;
    const char *text, *name;
};

static int by_offset(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_member(struct cu_unit *u, struct member *m, int *n, int offset, const char *type, const char *name)
{
    m[(*n)++] = (struct member){offset, hd_asprintf(u->arena, "%s %s;", type, name), name};
}

static struct member *row_members(struct cu_unit *u, const struct rt_state *st, int *n)
{
    struct member *m = HD_NEWN(u->arena, struct member, 2 * st->nfields + 1);
    *n = 0;
    if (st->kind == RT_STATE_HASH || (st->kind == RT_STATE_AGG_HASH && !st->word))
        add_member(u, m, n, 0, "u64", "hash");
    if (cu_has_flag(st))
        add_member(u, m, n, 0, "u8", "present");
    for (int i = 0; i < st->nfields; i++) {
        const struct rt_field *f = &st->fields[i];
        add_member(u, m, n, f->offset, cu_field_type(f), cu_field(u, st, i));
        if (f->valid_offset >= 0)
            add_member(u, m, n, f->valid_offset, "u8", cu_field_valid(u, st, i));
    }
    qsort(m, (size_t)*n, sizeof *m, by_offset);
    return m;
}

/* Rows begin at multiples of 8 bytes also where no field is that wide. */
void cu_row_struct(struct cu_unit *u, struct cu_out *o, int state)
{
    const struct rt_state *st = &u->spec->states[state];
    int n;
    struct member *m = row_members(u, st, &n);
    cu_line(o, "// A row of state %d, %s.", state, rt_state_kind_name(st->kind));
    cu_open(o, "struct alignas(%d) %s {", rt_state_align(st), cu_row(u, state));
    for (int i = 0; i < n; i++)
        cu_line(o, "%s", m[i].text);
    cu_close(o, "};");
}

void cu_row_checks(struct cu_unit *u, struct cu_out *o, int state)
{
    const struct rt_state *st = &u->spec->states[state];
    const char *row = cu_row(u, state);
    int n;
    struct member *m = row_members(u, st, &n);
    cu_line(o, "static_assert(sizeof(%s) == %d, \"size of a row\");", row, st->stride);
    for (int i = 0; i < n; i++)
        cu_line(o, "static_assert(HDD_OFFSET(%s, %s) == %d, \"place of a field\");", row, m[i].name, m[i].offset);
}
