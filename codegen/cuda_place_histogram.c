/* Counts of a block's own in shared memory, for loops over pairs (templates/histogram.cuh). */
#include "codegen/cuda_place.h"

static void members_histogram(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_histogram<%d> histogram;", u->pipeline->sink.count_copies);
}

static const char *initialise_histogram(struct cu_unit *u HD_UNUSED)
{
    return "histogram(shared.histogram, launch.sink.capacity)";
}

static void shared_histogram(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_histogram_memory<%d> histogram;", u->pipeline->sink.place_size);
}

static void visit_histogram(struct cu_unit *u)
{
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    cu_line(u->out, "histogram.add((u32)hdd_index(%s));", cu_expr(u, u->pipeline->sink.index));
    cu_unguard(u);
}

static void count_methods(struct cu_unit *u)
{
    cu_line(u->out, "HDD_MEMBER void add_count(u32 group, u32 counted) const");
    cu_open(u->out, "{");
    cu_line(u->out, "%s &row = sink[group];", cu_row(u, u->pipeline->sink.state));
    if (cu_has_flag(cu_sink_state(u)))
        cu_line(u->out, "row.present = 1;");
    enum rt_phys p = cu_sink_state(u)->fields[cu_out_of(u, 0)->field].phys;
    cu_add_field(u, 0, hd_asprintf(u->arena, "(%s)counted", cu_type(p)));
    cu_close(u->out, "}");
    cu_blank(u->out);
    cu_line(u->out, "HDD_MEMBER void after_task()");
    cu_open(u->out, "{");
    cu_line(u->out, "histogram.after_task(*this);");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void finish_histogram(struct cu_unit *u)
{
    cu_line(u->out, "(void)shared;");
    cu_line(u->out, "hdd_block_sync();");
    cu_line(u->out, "histogram.flush(*this, hdd_thread(), HDD_BLOCK);");
}

const struct cu_place cu_place_histogram = {
    .header = "histogram.cuh",
    .members = members_histogram,
    .initialiser = initialise_histogram,
    .shared = shared_histogram,
    .methods = count_methods,
    .visit = visit_histogram,
    .finish = finish_histogram,
};
