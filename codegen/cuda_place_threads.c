/* Accumulators of threads: in registers, in columns of shared memory, and those of a tile's runs of
 * equal keys. Rows reach the state when the kernel ends, or a run does. */
#include "codegen/cuda_place.h"

/* ---- registers of each thread -------------------------------------------------------------- */

static void visit_registers(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    if (u->pipeline->loop.sums)
        cu_loop_sums_visit(u);
    else
        cu_accumulate_values(u, "accumulators", true);
    cu_unguard(u);
}

static void methods_registers(struct cu_unit *u)
{
    if (u->pipeline->loop.sums)
        cu_loop_sums_methods(u);
}

static void members_registers(struct cu_unit *u, struct cu_out *o)
{
    if (u->pipeline->loop.sums)
        cu_loop_sums_members(u, o);
    if (cu_has_accumulators(u))
        cu_line(o, "%s accumulators;", cu_accumulators_type(u));
}

static void shared_registers(struct cu_unit *u, struct cu_out *o)
{
    if (cu_has_accumulators(u))
        cu_line(o, "hdd_block_scratch<%s> scratch;", cu_accumulators_type(u));
}

static void finish_registers(struct cu_unit *u)
{
    if (cu_has_accumulators(u))
        cu_line(u->out, "hdd_block_flush(*this, shared.scratch, accumulators, *sink);");
    else
        cu_line(u->out, "(void)shared;");
}

const struct cu_place cu_place_registers = {
    .members = members_registers,
    .shared = shared_registers,
    .methods = methods_registers,
    .visit = visit_registers,
    .finish = finish_registers,
};

/* ---- a copy per thread (templates/lanes.cuh) -------------------------------------------- */

static const struct pl_lane_field *lane_of(const struct cu_unit *u, int i)
{
    return &cu_out_of(u, i)->lane;
}

static bool shares_word(const struct cu_unit *u, int i)
{
    return lane_of(u, i)->bits < 64;
}

/* The first out of its word, as these are listed. */
static bool is_first(const struct cu_unit *u, int i)
{
    for (int k = 0; k < i; k++)
        if (lane_of(u, k)->word == lane_of(u, i)->word)
            return false;
    return true;
}

/* The set of groups where out i has a value, "" where it is never NULL. */
static const char *group_set(struct cu_unit *u, int i)
{
    if (cu_sink_state(u)->fields[cu_out_of(u, i)->field].valid_offset < 0)
        return "";
    return hd_asprintf(u->arena, "valid%d", i);
}

/* The out that is not 0 where a thread has had a row of the group; -1: there is none. */
static int telling_out(const struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (cu_sink_state(u)->presence == 1 + cu_out_of(u, i)->field)
            return i;
    return -1;
}

/* What a row adds to the word that out i shares. */
static const char *shared_value(struct cu_unit *u, int i)
{
    const char *sum = "";
    for (int k = i; k < u->pipeline->sink.nouts; k++) {
        const struct pl_lane_field *f = lane_of(u, k);
        if (f->word == lane_of(u, i)->word)
            sum = hd_asprintf(u->arena, "%s%slanes.template part<%d, %d>(%s)", sum, *sum ? " + " : "", f->shift,
                              f->value_bits, cu_out_value(u, k));
    }
    return sum;
}

static void add_out(struct cu_unit *u, int i)
{
    const char *set = group_set(u, i);
    int word = lane_of(u, i)->word;
    if (!shares_word(u, i))
        cu_line(u->out, "lanes.template add<%d>(%s, words, %s%s%s%s);", word, cu_operation(u, cu_out_of(u, i)),
                *set ? "group, " : "", set, *set ? ", " : "", cu_out_value(u, i));
    else if (is_first(u, i))
        cu_line(u->out, "lanes.template add<%d>(hdd_sum(), words, %s);", word, shared_value(u, i));
}

static void visit_lanes(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    cu_line(u->out, "const u32 group = (u32)hdd_index(%s);", cu_expr(u, u->pipeline->sink.index));
    cu_line(u->out, "u64 *const words = lanes.find(group);");
    if (telling_out(u) < 0)
        cu_line(u->out, "seen.add(group);");
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        add_out(u, i);
    cu_unguard(u);
}

static void read_out(struct cu_unit *u, int i)
{
    const struct pl_out *o = cu_out_of(u, i);
    const char *set = group_set(u, i), *seen = "", *name = cu_accumulator_name(u, i);
    enum rt_phys p = o->narrow ? RT_I64 : cu_sink_state(u)->fields[o->field].phys;
    if (*set)
        seen = hd_asprintf(u->arena, ", %s", cu_seen_bit(u, i, "mine", ", "));
    if (shares_word(u, i))
        cu_line(u->out, "lanes.template read_part<%d, %d, %d>(group, mine.%s);", o->lane.word, o->lane.shift,
                o->lane.bits, name);
    else
        cu_line(u->out, "lanes.template read<%d, %s>(group, %s%smine.%s%s);", o->lane.word, cu_type(p), set,
                *set ? ", " : "", name, seen);
}

/* Opens a loop over the groups, of which a lane has `mine`. What says that it has had a row. */
static const char *open_groups(struct cu_unit *u)
{
    int telling = telling_out(u);
    cu_open(u->out, "for (u32 group = 0; group < lanes.range; group++) {");
    cu_line(u->out, "%s mine;", cu_accumulators_type(u));
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        read_out(u, i);
    return telling < 0 ? "seen.has(group)" : hd_asprintf(u->arena, "mine.%s != 0", cu_accumulator_name(u, telling));
}

static void methods_lanes(struct cu_unit *u)
{
    if (u->pipeline->sink.lane_room == 0)
        return;
    cu_line(u->out, "// What this warp has of all groups, to the sink's rows.");
    cu_line(u->out, "HDD_MEMBER void flush_lanes() const");
    cu_open(u->out, "{");
    const char *some = open_groups(u);
    cu_open(u->out, "if (!hdd_any(%s))", some);
    cu_line(u->out, "continue;");
    u->out->indent--;
    cu_line(u->out, "hdd_combine(*this, mine);");
    cu_open(u->out, "if (hdd_lane() == 0)");
    cu_line(u->out, "add_accumulators(sink[group], mine);");
    u->out->indent--;
    cu_close(u->out, "}");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* A tile more: parts of words may have no room for another one. */
static void after_lanes(struct cu_unit *u)
{
    int room = u->pipeline->sink.lane_room;
    if (room == 0)
        return;
    cu_open(u->out, "if (lanes.is_full(%d)) {", (1 << room) / HDD_LANE_ROWS);
    cu_line(u->out, "flush_lanes();");
    cu_line(u->out, "lanes.clear();");
    if (telling_out(u) < 0)
        cu_line(u->out, "seen = hdd_group_set();");
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (*group_set(u, i))
            cu_line(u->out, "%s = hdd_group_set();", group_set(u, i));
    cu_close(u->out, "}");
}

static void finish_lanes(struct cu_unit *u)
{
    const char *some = open_groups(u);
    cu_line(u->out, "hdd_finish_group(*this, shared.scratch, %s, mine, sink[group]);", some);
    cu_close(u->out, "}");
}

static void members_lanes(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_lane_groups<%d> lanes;", u->pipeline->sink.lane_words);
    if (telling_out(u) < 0)
        cu_line(o, "hdd_group_set seen;");
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (*group_set(u, i))
            cu_line(o, "hdd_group_set %s;", group_set(u, i));
}

static const char *initialise_lanes(struct cu_unit *u HD_UNUSED)
{
    return "lanes(shared.lanes, launch.sink.capacity)";
}

static void shared_lanes(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_lane_memory<%d> lanes;", u->pipeline->sink.place_size);
    cu_line(o, "hdd_lane_scratch<%s> scratch;", cu_accumulators_type(u));
}

const struct cu_place cu_place_lanes = {
    .marks = true,
    .members = members_lanes,
    .initialiser = initialise_lanes,
    .shared = shared_lanes,
    .methods = methods_lanes,
    .after_rows = after_lanes,
    .visit = visit_lanes,
    .finish = finish_lanes,
};

/* ---- runs of equal keys (templates/runs.cuh) -------------------------------------------- */

static void visit_runs(struct cu_unit *u)
{
    cu_sink_index(u);
    cu_line(u->out, "runs.row(*this, index);");
    cu_accumulate_values(u, "runs.now", true);
    cu_unguard(u);
}

static void before_runs(struct cu_unit *u)
{
    cu_line(u->out, "hdd_runs<%s> runs;", cu_accumulators_type(u));
}

static void after_runs(struct cu_unit *u)
{
    cu_line(u->out, "runs.finish(*this);");
}

static void store_run(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    const char *type = cu_row(u, u->pipeline->sink.state);
    cu_line(u->out, "HDD_MEMBER void store_run(%s &to, const %s &from) const", type, cu_accumulators_type(u));
    cu_open(u->out, "{");
    cu_line(u->out, "%s row = %s();", type, type);
    if (cu_has_flag(st))
        cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        int f = cu_out_of(u, i)->field;
        const char *cast = st->fields[f].bytes ? hd_asprintf(u->arena, "(%s)", cu_field_type(&st->fields[f])) : "";
        cu_line(u->out, "row.%s = %sfrom.%s;", cu_field(u, st, f), cast, cu_accumulator_name(u, i));
        if (cu_may_stay_null(u, i))
            cu_line(u->out, "row.%s = (%s) != 0;", cu_field_valid(u, st, f), cu_seen_bit(u, i, "from", " & "));
    }
    cu_line(u->out, "hdd_store_row(&to, row);");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void finish_runs(struct cu_unit *u)
{
    cu_line(u->out, "(void)shared;");
}

const struct cu_place cu_place_runs = {
    .header = "runs.cuh",
    .narrow = true,
    .marks = true,
    .methods = store_run,
    .before_rows = before_runs,
    .after_rows = after_runs,
    .visit = visit_runs,
    .finish = finish_runs,
};
