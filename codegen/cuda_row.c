/* A row while it is visited: its slots, what of them crosses levels, the block of statements that only live rows
 * execute, and counters. */
#include "codegen/cuda_gen.h"

const char *cu_slot_name(struct cu_unit *u, int slot)
{
    if (slot < 0 || slot >= u->pipeline->nslots)
        HD_BUG("slot %d of %s", slot, u->name);
    if (!u->slot_names[slot]) {
        const char *name = u->pipeline->slots[slot].name;
        u->slot_names[slot] = hd_asprintf(u->arena, "v%d_%s", slot, cu_word(u->arena, name ? name : "", 24));
    }
    return u->slot_names[slot];
}

const char *cu_slot(struct cu_unit *u, int slot)
{
    const char *name = cu_slot_name(u, slot);
    if (!u->pipeline->framed)
        return name;
    if (!cu_in_function(u))
        return hd_asprintf(u->arena, "frame.%s", name);
    const struct pl_slot *s = &u->pipeline->slots[slot];
    const char *place = hd_asprintf(u->arena, "HDD_OFFSET(%s_frame, %s)", u->name, name);
    return hd_asprintf(u->arena, "hdd_at<%s>(frame, %s)", cu_value_type(u, s->phys, s->nullable),
                       cu_number_text(u, place));
}

void cu_define_slot(struct cu_unit *u, int slot, const char *type, const char *value)
{
    if (u->pipeline->framed)
        cu_line(u->out, "%s = %s;", cu_slot(u, slot), value);
    else
        cu_line(u->out, "const %s %s = %s;", type, cu_slot(u, slot), value);
}

void cu_declare_slot(struct cu_unit *u, const struct pl_step *s)
{
    if (u->pipeline->framed || s->slot < 0 || pl_opens_fold(s->kind))
        return;
    const struct pl_slot *slot = &u->pipeline->slots[s->slot];
    cu_line(u->out, "%s %s{};", cu_value_type(u, slot->phys, slot->nullable), cu_slot(u, s->slot));
}

void cu_tuple_struct(struct cu_unit *u, struct cu_out *o, int level)
{
    const struct pl_level *l = &u->pipeline->levels[level];
    cu_line(o, "// What the children of one row share on level %d: row ids and computed values.", level);
    cu_open(o, "struct alignas(%d) %s_tuple%d {", l->tuple_align, u->name, level);
    for (int i = 0; i < l->nslots; i++) {
        const struct pl_slot *s = &u->pipeline->slots[l->slots[i]];
        cu_line(o, "%s %s;", cu_value_type(u, s->phys, s->nullable), cu_slot_name(u, l->slots[i]));
    }
    cu_close(o, "};");
}

const char *cu_frame_param(struct cu_unit *u, const char *more)
{
    return hd_asprintf(u->arena, "const %s_frame &frame%s", u->name, more);
}

/* ---- live rows -------------------------------------------------------------------------- */

void cu_guard(struct cu_unit *u)
{
    if (!u->guarded)
        cu_open(u->out, "if (live) {");
    u->guarded = true;
}

void cu_unguard(struct cu_unit *u)
{
    if (u->guarded)
        cu_close(u->out, "}");
    u->guarded = false;
}

void cu_count_rows(struct cu_unit *u, int counter, const char *rows)
{
    bool outer = u->pipeline->nlevels > 1 && counter < u->pipeline->nsteps && u->pipeline->steps[counter].level == 0;
    const char *once = u->pipeline->loop.rows ? "if (counted) " : "if (run.part() == 0) ";
    if (u->profile && !u->recounted)
        cu_line(u->out, "%srun.count(%s, %s);", outer ? once : "", cu_number(u, counter), rows);
}

void cu_count(struct cu_unit *u, int counter)
{
    cu_count_rows(u, counter, "1");
}
