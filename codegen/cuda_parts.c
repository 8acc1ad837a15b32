/* Framed pipelines (planner/parts.c): slots are members of a structure in local memory, the frame,
 * and functions that are called (cuda_functions.c) do what would else be one long one.
 *
 *   bool steps5(frame, live)         steps 5 and following of a visit; all lanes together
 *   T e12(frame)                     an expression (cuda_expr.c)
 *   u64 hash5_0(frame, h)            keys 0 and following of step 5, or of the sink, in a hash (cuda_keys.c)
 *   bool same5_0(frame, row)         whether a row has the same
 *   void store8(frame, row | index)  outs 8 and following of the sink (cuda_sink_parts.c)
 *   void add8(frame, group, group_lanes)   the same added to the group's row; all lanes together */
#include "codegen/cuda_gen.h"

static bool *slots_set(const struct cu_unit *u)
{
    bool *set = HD_NEWN(u->arena, bool, u->pipeline->nslots + 1);
    set[u->pipeline->source_slot] = true;
    for (int i = 0; i < u->pipeline->nsteps; i++)
        if (u->pipeline->steps[i].slot >= 0)
            set[u->pipeline->steps[i].slot] = true;
    return set;
}

void cu_frame_struct(struct cu_unit *u, struct cu_out *o)
{
    if (!u->pipeline->framed)
        return;
    const bool *set = slots_set(u);
    cu_line(o, "// What the functions of a visit share.");
    cu_open(o, "struct %s_frame {", u->name);
    for (int i = 0; i < u->pipeline->nslots; i++) {
        const struct pl_slot *s = &u->pipeline->slots[i];
        if (set[i])
            cu_line(o, "%s %s;", cu_value_type(u, s->phys, s->nullable), cu_slot_name(u, i));
    }
    cu_close(o, "};");
    cu_blank(o);
}

void cu_declare_frame(struct cu_unit *u)
{
    if (u->pipeline->framed)
        cu_line(u->out, "%s_frame frame;", u->name);
}

/* ---- steps ------------------------------------------------------------------------------ */

static const struct pl_part *part_from(const struct cu_unit *u, int step)
{
    for (int i = 0; i < u->pipeline->nparts; i++)
        if (u->pipeline->parts[i].first == step)
            return &u->pipeline->parts[i];
    return NULL;
}

static void steps_body(struct cu_unit *u, int first, int unused HD_UNUSED)
{
    int end = part_from(u, first)->end;
    for (int k = first; k < end; k++)
        cu_step(u, &u->pipeline->steps[k], k);
    cu_unguard(u);
    cu_line(u->out, "return hdd_unknown(live);");
}

int cu_call_steps(struct cu_unit *u, int step)
{
    const struct pl_part *p = part_from(u, step);
    if (!p)
        return step;
    const struct pl_part *last = u->pipeline->parts + u->pipeline->nparts;
    struct cu_call *calls = HD_NEWN(u->arena, struct cu_call, u->pipeline->nparts + 1);
    int n = 0;
    cu_unguard(u);
    for (; p < last && p->first == step; step = p++->end) {
        const struct cu_function f = {.name = hd_asprintf(u->arena, "steps%d", step),
                                      .type = "bool",
                                      .params = hd_asprintf(u->arena, "%s_frame &frame, bool live", u->name),
                                      .changes = true,
                                      .body = steps_body,
                                      .what = step};
        calls[n++] = cu_define(u, &f);
    }
    cu_print_calls(u, "live = ", calls, n, "frame, live");
    return step;
}
