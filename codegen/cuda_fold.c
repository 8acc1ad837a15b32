/* Folds: a lane goes through the children of its row in a loop. What ends a child goes on with the next one; slots of
 * what is added up stand before the loop. */
#include "codegen/cuda_gen.h"

static const char *operation_type(const struct pl_step *s)
{
    switch (s->fn) {
    case FE_AGG_COUNT:
    case FE_AGG_SUM: return "hdd_sum";
    case FE_AGG_MIN: return "hdd_minimum";
    case FE_AGG_MAX: return "hdd_maximum";
    case FE_AGG_BIT_OR: return "hdd_either";
    case FE_AGG_BIT_XOR: return "hdd_parity";
#define T_AGG(id, ...) case FE_AGG_##id:
#include "frontend/aggs_said.def"
    case FE_AGG_COUNT_STAR:
    case FE_AGG_AVG:
    case FE_AGG_ANY:
    case FE_AGG_COUNT_OF: break;
    }
    HD_BUG("aggregate function %s in a fold", fe_agg_name(s->fn));
}

/* The bits of nothing are those of a sum. */
static void begin(struct cu_unit *u, const struct pl_step *s)
{
    const struct pl_slot *slot = &u->pipeline->slots[s->slot];
    bool picks = s->fn == FE_AGG_MIN || s->fn == FE_AGG_MAX;
    const char *none =
        hd_asprintf(u->arena, "%s::none<%s>()", picks ? operation_type(s) : "hdd_sum", cu_type(slot->phys));
    cu_line(u->out, "%s%s = %s;", cu_slot(u, s->slot), slot->nullable ? ".v" : "", none);
    if (slot->nullable)
        cu_line(u->out, "%s.ok = false;", cu_slot(u, s->slot));
}

/* Children that are only counted have no use for their row. */
static bool is_read(const struct cu_unit *u, int slot, int first)
{
    bool *read = HD_NEWN(u->arena, bool, u->pipeline->nslots + 1);
    for (int i = first; u->pipeline->steps[i].kind != PL_STEP_FOLD_END; i++)
        pl_step_reads(u->prog->exprs, &u->pipeline->steps[i], read);
    return read[slot];
}

/* Children from fold<number>.begin on, fold<number>.n of them, each `stride` behind the one before. */
static int open_range(struct cu_unit *u, const struct pl_step *s, int number)
{
    const char *range =
        hd_asprintf(u->arena, "hdd_expand_parent(%s, %s)", cu_arg(u, s->a_offsets), cu_slot(u, s->row_slot));
    bool piece = s->kind == PL_STEP_FOLD_PIECE;
    if (piece)
        range = hd_asprintf(u->arena, "hdd_piece_of<%d, %d>(%s, %s)", s->piece, s->stride, range, cu_expr(u, s->expr));
    cu_line(u->out, "const hdd_range fold%d = %s;", number, range);
    if (s->probe == PL_INNER)
        cu_line(u->out, "live = fold%d.n > 0;", number);
    return piece ? s->stride : 1;
}

void cu_fold_open(struct cu_unit *u, const struct pl_step *s, int number)
{
    int stride = open_range(u, s, number);
    const char *by = stride > 1 ? hd_asprintf(u->arena, " * %d", stride) : "";
    for (int i = number + 1; u->pipeline->steps[i].kind != PL_STEP_FOLD_END; i++)
        if (u->pipeline->steps[i].kind == PL_STEP_FOLD_ADD)
            begin(u, &u->pipeline->steps[i]);
    cu_open(u->out, "for (u32 k%d = 0; k%d < fold%d.n; k%d++) {", number, number, number, number);
    if (is_read(u, s->slot, number + 1))
        cu_define_slot(u, s->slot, "i32", hd_asprintf(u->arena, "(i32)(fold%d.begin + k%d%s)", number, number, by));
    u->folding = true;
}

void cu_fold_add(struct cu_unit *u, const struct pl_step *s)
{
    if (s->fn == FE_AGG_COUNT)
        cu_line(u->out, "%s += hdd_is_null(%s) ? 0 : 1;", cu_slot(u, s->slot), cu_expr(u, s->expr));
    else
        cu_line(u->out, "hdd_add(%s{%s}, %s, %s);", operation_type(s),
                s->fn == FE_AGG_MIN || s->fn == FE_AGG_MAX ? "run" : "", cu_slot(u, s->slot), cu_expr(u, s->expr));
}

/* Rows without children go no further. */
void cu_fold_close(struct cu_unit *u)
{
    cu_close(u->out, "}");
    u->folding = false;
    cu_unguard(u);
}
