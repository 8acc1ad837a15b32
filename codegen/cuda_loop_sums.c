/* What a thread adds up of the pairs of a task that pass its tests, without groups. Sums that fit are 32 bits until the
 * task ends; whether there was a pair is told once for all values that cannot be NULL. So a pair costs its tests and an
 * instruction for each of them under a predicate. */
#include "codegen/cuda_place.h"

static bool is_null_free(const struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    return o->fn != FE_AGG_ANY && (o->expr < 0 || !u->prog->exprs[o->expr].nullable);
}

/* It may stay NULL, and every pair has a value for it. */
static bool is_told(const struct cu_unit *u, int i)
{
    return cu_may_stay_null(u, i) && is_null_free(u, i);
}

static bool has_word(const struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (cu_out_of(u, i)->word)
            return true;
    return false;
}

static bool has_told(const struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (is_told(u, i))
            return true;
    return false;
}

/* Counted, each pair with a value. */
static bool is_count(const struct pl_out *o)
{
    return o->fn == FE_AGG_COUNT_STAR || (o->fn == FE_AGG_COUNT && o->word);
}

void cu_loop_sums_members(struct cu_unit *u, struct cu_out *o)
{
    if (!has_word(u) && !has_told(u))
        return;
    cu_line(o, "// What the pairs of a task add up to.");
    cu_open(o, "struct task_sums {");
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (cu_out_of(u, i)->word)
            cu_line(o, "u32 %s = 0;", cu_accumulator_name(u, i));
    if (has_told(u))
        cu_line(o, "u32 some = 0;");
    cu_close(o, "};");
    cu_line(o, "task_sums task;");
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (is_count(cu_out_of(u, i))) {
            cu_line(o, "const u32 one = hdd_one();");
            break;
        }
}

static bool is_sum(const struct pl_out *o)
{
    return o->fn == FE_AGG_SUM || o->fn == FE_AGG_COUNT_STAR || o->fn == FE_AGG_COUNT;
}

static void add_value(struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    const char *name = cu_accumulator_name(u, i);
    if (is_count(o))
        cu_line(u->out, "hdd_plus(task.%s, one);", name);
    else if (o->word)
        cu_line(u->out, "hdd_plus(task.%s, (u32)%s);", name, cu_out_value(u, i));
    else if (!is_null_free(u, i))
        cu_accumulate_value(u, i, "accumulators", true);
    else if (is_sum(o))
        cu_line(u->out, "hdd_plus(accumulators.%s, %s);", name, cu_out_value(u, i));
    else
        cu_line(u->out, "hdd_add(%s, accumulators.%s, %s);", cu_operation(u, o), name, cu_out_value(u, i));
}

void cu_loop_sums_visit(struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        add_value(u, i);
    if (has_told(u))
        cu_line(u->out, "hdd_flag(task.some);");
}

void cu_loop_sums_methods(struct cu_unit *u)
{
    if (!has_word(u) && !has_told(u))
        return;
    cu_line(u->out, "HDD_MEMBER void after_task()");
    cu_open(u->out, "{");
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        const char *name = cu_accumulator_name(u, i);
        if (cu_out_of(u, i)->word)
            cu_line(u->out, "accumulators.%s += (i32)task.%s;", name, name);
    }
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (is_told(u, i))
            cu_line(u->out, "%s : 0;", cu_seen_bit(u, i, "accumulators", " |= task.some ? "));
    cu_line(u->out, "task = task_sums();");
    cu_close(u->out, "}");
    cu_blank(u->out);
}
