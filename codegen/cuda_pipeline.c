/* A unit: the methods of a pipeline first, because they tell which arguments and row
 * structures are needed, then its members, then the skeletons templates/head.cu.in
 * and pipeline.cu.in around them. */
#include <string.h>

#include "codegen/cuda_gen.h"
#include "runtime/base/vec.h"
#include "templates/abi.h"
#include "templates/embed.h"
#include "templates/launch.cuh"

static void init_out(struct cu_out *o)
{
    hd_strbuf_init(&o->b);
    o->indent = 0;
}

/* The text so far, for the arena; the writer is released. */
static const char *detach_text(struct cu_unit *u, struct cu_out *o)
{
    const char *s = hd_strndup(u->arena, o->b.s, o->b.n);
    hd_strbuf_release(&o->b);
    return s;
}

/* Of a program's pipeline, or its first tier. */
static struct cu_unit *new_unit(struct hd_arena *a, const struct pl_program *p, const struct pl_pipeline *pipeline,
                                const struct cg_options *opt)
{
    struct cu_unit *u = HD_NEW(a, struct cu_unit);
    u->arena = a;
    u->prog = p;
    u->spec = p->spec;
    u->pipeline = pipeline;
    u->name = pipeline->spec->name;
    u->profile = opt && opt->profile;
    u->arg_used = HD_NEWN(a, bool, p->spec->nargs + 1);
    u->arg_names = HD_NEWN(a, const char *, p->spec->nargs + 1);
    u->row_used = HD_NEWN(a, bool, p->spec->nstates + 1);
    u->state_names = HD_NEWN(a, const char *, p->spec->nstates + 1);
    u->slot_names = HD_NEWN(a, const char *, u->pipeline->nslots + 1);
    cu_sink_choose_places(u);
    return u;
}

/* ---- parts of the class ----------------------------------------------------------------- */

static const char *methods(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    u->out = &o;
    for (int l = 1; pl_has_queues(u->pipeline) && l < u->pipeline->nlevels; l++) {
        cu_line(&o, "HDD_MEMBER hdd_queue_memory<%s_tuple%d> &queue_memory(hdd_level<%d>)", u->name, l, l);
        cu_open(&o, "{");
        cu_line(&o, "return shared.level%d[hdd_warp()];", l);
        cu_close(&o, "}");
        cu_blank(&o);
    }
    if (u->pipeline->spec->shape == RT_SHAPE_IN_PLACE) {
        cu_rows(u);
    } else if (u->pipeline->spec->shape == RT_SHAPE_LOOP) {
        cu_loop(u);
    } else {
        if (u->pipeline->spec->shape != RT_SHAPE_ALL_ROWS)
            cu_tile(u);
        for (int l = 0; l < u->pipeline->nlevels; l++)
            cu_visit(u, l);
    }
    cu_sink_methods(u);
    cu_settle_tables(u);
    cu_print_functions(u);
    cu_line(&o, "HDD_MEMBER void finish(%s_shared &shared)", u->name);
    cu_open(&o, "{");
    cu_sink_finish(u);
    cu_close(&o, "}");
    return cu_settle(u, detach_text(u, &o));
}

static const char *args_type(struct cu_unit *u)
{
    return u->prog->gpu_far_args ? "hdd_far_args" : hd_asprintf(u->arena, "hdd_args<%d>", HD_MAX(u->spec->nwords, 1));
}

/* Of the bits that step i looks up. */
static const char *copy_type(struct cu_unit *u, int i)
{
    const struct pl_step *s = &u->pipeline->steps[i];
    return hd_asprintf(u->arena, "hdd_block_bits<%d, %s>", s->bits_bytes, s->bits_folded ? "true" : "false");
}

static const char *members(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    if (u->prog->gpu_far_args)
        cu_line(&o, "const hdd_far_args args;");
    else if (u->pipeline->framed)
        cu_line(&o, "const %s &args;", args_type(u));
    for (int i = 0; i < u->spec->nargs; i++)
        if (u->arg_used[i])
            cu_arg_member(u, &o, i);
    cu_line(&o, "hdd_run run;");
    cu_line(&o, "hdd_scan scan;");
    if (u->pipeline->gpu.places_ahead || u->pipeline->spec->row_for_row)
        cu_line(&o, "hdd_places places;");
    for (int i = 0; i < u->pipeline->nsteps; i++)
        if (u->pipeline->steps[i].near)
            cu_line(&o, "hdd_near near%d;", i);
    if (pl_has_queues(u->pipeline)) {
        cu_line(&o, "%s_shared &shared;", u->name);
        cu_line(&o, "hdd_queues queues;");
    }
    if (pl_has_waiting(u->pipeline)) {
        cu_line(&o, "const u32 one = hdd_one();");
        cu_line(&o, "hdd_waiting waiting;");
    }
    for (int i = 0; i < u->pipeline->gpu_tile.steps; i++)
        if (u->pipeline->steps[i].bits_bytes)
            cu_line(&o, "const %s copy%d;", copy_type(u, i), i);
    cu_sink_members(u, &o);
    return detach_text(u, &o);
}

/* In the order of the members. */
static const char *initialisers(struct cu_unit *u)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    if (u->prog->gpu_far_args || u->pipeline->framed)
        hd_strbuf_adds(&b, "args(args),\n          ");
    for (int i = 0; i < u->spec->nargs; i++)
        if (u->arg_used[i])
            hd_strbuf_addf(&b, "%s,\n          ", cu_arg_initialiser(u, i));
    hd_strbuf_adds(&b, "run(launch), scan(run)");
    if (pl_has_queues(u->pipeline))
        hd_strbuf_adds(&b, ",\n          shared(shared), queues(run, shared.queues[hdd_warp()])");
    if (pl_has_waiting(u->pipeline))
        hd_strbuf_adds(&b, ",\n          waiting(shared.waiting)");
    for (int i = 0; i < u->pipeline->gpu_tile.steps; i++) {
        const struct pl_step *s = &u->pipeline->steps[i];
        if (s->bits_bytes)
            hd_strbuf_addf(&b, ",\n          copy%d(shared.copy%d, %s, %s)", i, i, cu_arg(u, s->a_bits),
                           cu_arg(u, s->a_range));
    }
    const char *sink = cu_sink_initialiser(u);
    if (sink)
        hd_strbuf_addf(&b, ",\n          %s", sink);
    const char *s = hd_strndup(u->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return s;
}

/* Of the constructor. */
static const char *beginning(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    for (int l = 1; pl_has_queues(u->pipeline) && l < u->pipeline->nlevels; l++)
        cu_line(&o, "queues.begin(%d, shared.level%d[hdd_warp()]);", l, l);
    return detach_text(u, &o);
}

static const char *shared_members(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    if (pl_has_queues(u->pipeline))
        cu_line(&o, "hdd_queue queues[HDD_WARPS][%d];", u->pipeline->nlevels - 1);
    for (int l = 1; pl_has_queues(u->pipeline) && l < u->pipeline->nlevels; l++)
        cu_line(&o, "hdd_queue_memory<%s_tuple%d> level%d[HDD_WARPS];", u->name, l, l);
    if (pl_has_waiting(u->pipeline))
        cu_line(&o, "hdd_waiting_memory waiting;");
    for (int i = 0; i < u->pipeline->gpu_tile.steps; i++)
        if (u->pipeline->steps[i].bits_bytes)
            cu_line(&o, "hdd_block_bits_memory<%d> copy%d;", u->pipeline->steps[i].bits_bytes, i);
    cu_sink_shared(u, &o);
    return detach_text(u, &o);
}

static const char *rows(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    for (int i = 0; i < u->spec->nstates; i++)
        if (u->row_used[i]) {
            cu_row_struct(u, &o, i);
            cu_blank(&o);
        }
    return detach_text(u, &o);
}

static const char *tuples(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    for (int l = 1; l < u->pipeline->nlevels; l++) {
        cu_tuple_struct(u, &o, l);
        cu_blank(&o);
    }
    cu_frame_struct(u, &o);
    cu_print_tables(u, &o);
    cu_sink_accumulators(u, &o);
    return detach_text(u, &o);
}

/* ---- what the host assumes -------------------------------------------------------------- */

static int block_threads(const struct cu_unit *u)
{
    return u->pipeline->gpu.block_warps * HDD_WARP_LANES;
}

static void check_number(struct cu_out *o, const char *what, unsigned long long n)
{
    cu_line(o, "static_assert(%s == %lluu, \"the host's view\");", what, n);
}

static void check_launch(const struct cu_unit *u, struct cu_out *o)
{
    check_number(o, "sizeof(hdd_launch)", sizeof(struct hdd_launch));
    check_number(o, "HDD_OFFSET(hdd_launch, string_heap)", offsetof(struct hdd_launch, string_heap));
    check_number(o, "HDD_OFFSET(hdd_launch, sink)", offsetof(struct hdd_launch, sink));
    check_number(o, "HDD_OFFSET(hdd_launch, share)", offsetof(struct hdd_launch, share));
    check_number(o, "sizeof(hdd_progress)", sizeof(struct hdd_progress));
    check_number(o, "HDD_OFFSET(hdd_progress, idle)", offsetof(struct hdd_progress, idle));
    check_number(o, "sizeof(hdd_warp_profile)", sizeof(struct hdd_warp_profile));
    check_number(o, "sizeof(hdd_scan_donation)", HDD_SCAN_DONATION_BYTES);
    check_number(o, "HDD_TILE_ROWS", HDD_LANE_ROWS);
#define X(id, name, where, shares) check_number(o, "HDD_" #id, RT_BALANCE_##id);
    HDD_BALANCES(X)
#undef X
    check_number(o, "HDD_BLOCK", (unsigned)block_threads(u));
    check_number(o, "HDD_HASH_SEED", HDD_HASH_SEED);
    check_number(o, "HDD_HASH_MUL", HDD_HASH_MUL);
    check_number(o, "HDD_HASH_NULL", HDD_HASH_NULL);
}

static void check_failures(const struct cu_unit *u, struct cu_out *o)
{
    check_number(o, "HDD_FAIL_OVERFLOW", RT_FAIL_OVERFLOW);
    check_number(o, "HDD_FAIL_DIV_ZERO", RT_FAIL_DIV_ZERO);
    check_number(o, "HDD_FAIL_CAST_RANGE", RT_FAIL_CAST_RANGE);
    check_number(o, "HDD_FAIL_CAST_STRING", RT_FAIL_CAST_STRING);
    check_number(o, "HDD_FAIL_SUBSTRING", RT_FAIL_SUBSTRING);
    check_number(o, "HDD_FAIL_DATE_RANGE", RT_FAIL_DATE_RANGE);
    if (u->math || u->undefined)
        check_number(o, "HDD_FAIL_DOMAIN", RT_FAIL_DOMAIN);
    if (u->texts)
        check_number(o, "HDD_FAIL_STRING_SIZE", RT_FAIL_STRING_SIZE);
}

static const char *checks(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    check_launch(u, &o);
    check_failures(u, &o);
    if (u->pipeline->spec->shape == RT_SHAPE_ANY)
        check_number(&o, "sizeof(hdd_slot)", HDD_SLOT_BYTES);
    if (pl_has_queues(u->pipeline))
        check_number(&o, "sizeof(hdd_queue)", HDD_QUEUE_BYTES);
    if (pl_has_waiting(u->pipeline))
        check_number(&o, "sizeof(hdd_waiting_memory)", (unsigned)u->pipeline->gpu.block_warps * HDD_LOOP_WAITING_BYTES);
    for (int l = 1; pl_has_queues(u->pipeline) && l < u->pipeline->nlevels; l++) {
        const int bytes = u->pipeline->levels[l].tuple_bytes;
        check_number(&o,
                     hd_asprintf(u->arena, "sizeof(hdd_queue_donation) + HDD_QUEUE * sizeof(%s_tuple%d)", u->name, l),
                     HDD_QUEUE_DONATION_BYTES + HDD_QUEUE_ENTRIES * (HDD_RANGE_BYTES + (unsigned)bytes));
        check_number(&o, hd_asprintf(u->arena, "sizeof(%s_tuple%d)", u->name, l), (unsigned)bytes);
    }
    for (int i = 0; i < u->spec->nstates; i++)
        if (u->row_used[i])
            cu_row_checks(u, &o, i);
    if (u->pipeline->gpu.shared_at_launch)
        cu_line(&o, "static_assert(sizeof(%s_shared) <= %d, \"the host's view\");", u->name,
                u->pipeline->gpu.shared_bytes);
    return detach_text(u, &o);
}

/* Loops over pairs: the header, and its function. */
static const char *loop_header(const struct pl_pipeline *p)
{
    return p->loop.top ? "loop_top" : p->first_match ? "loop_first" : "loop";
}

static const char *loop_traversal(const struct pl_pipeline *p)
{
    return p->loop.top      ? "hdd_loop_top"
           : p->loop.later  ? "hdd_loop_later"
           : p->first_match ? "hdd_loop_first"
                            : "hdd_loop";
}

/* Its function in templates/traverse.cuh; a first tier's in by_lane.cuh. */
static const char *traversal(const struct pl_pipeline *p)
{
    switch (p->spec->shape) {
    case RT_SHAPE_STRAIGHT: return p->gpu.most_pass ? "hdd_most_rows" : "hdd_straight";
    case RT_SHAPE_ALL_ROWS: return p->gpu.quick ? "hdd_all_by_lane" : "hdd_all_rows";
    case RT_SHAPE_IN_PLACE: return "hdd_in_place";
    case RT_SHAPE_LOOP: return loop_traversal(p);
    case RT_SHAPE_BY_LANE: return "hdd_by_lane";
    case RT_SHAPE_NIFS: return "hdd_nifs";
    case RT_SHAPE_AWS: return "hdd_nifs_aws";
    case RT_SHAPE_ANY: return "hdd_any_balance";
    }
    HD_BUG("shape %d", (int)p->spec->shape);
}

static const char *kernel(struct cu_unit *u)
{
    int blocks = u->pipeline->gpu.resident_blocks;
    return blocks ? hd_asprintf(u->arena, "HDD_KERNEL_FOR(%d, %s)", blocks, u->name)
                  : hd_asprintf(u->arena, "HDD_KERNEL(%s)", u->name);
}

/* ---- the unit --------------------------------------------------------------------------- */

/* "orders -> expand index -> s3_agg": source, steps that shape the pipeline, sink. */
static const char *summary(struct cu_unit *u)
{
    const struct rt_pipeline *r = u->pipeline->spec;
    const char *s = r->table ? cu_word(u->arena, r->table->name, 40) : cu_state(u, r->state);
    for (int i = 0; i < u->pipeline->nsteps; i++) {
        const struct pl_step *step = &u->pipeline->steps[i];
        if (pl_opens_level(step->kind))
            s = hd_asprintf(u->arena, "%s -> %s", s, pl_step_name(step->kind));
    }
    return hd_asprintf(u->arena, "%s -> %s", s, cu_state(u, u->pipeline->sink.state));
}

static bool has_folds(const struct pl_pipeline *p)
{
    for (int i = 0; i < p->nsteps; i++)
        if (pl_opens_fold(p->steps[i].kind))
            return true;
    return false;
}

static const char *includes(struct cu_unit *u)
{
    struct cu_out o;
    init_out(&o);
    if (u->profile)
        cu_line(&o, "#define HDD_PROFILE");
    if (u->pipeline->gpu.block_warps != HDD_BLOCK_WARPS)
        cu_line(&o, "#define HDD_CHOSEN_WARPS %d", u->pipeline->gpu.block_warps);
    cu_line(&o, "#include \"hd/pipeline.cuh\"");
    if (u->pipeline->spec->shape == RT_SHAPE_ANY)
        cu_line(&o, "#include \"hd/any.cuh\"");
    if (u->pipeline->spec->shape == RT_SHAPE_BY_LANE ||
        (u->pipeline->spec->shape == RT_SHAPE_ALL_ROWS && u->pipeline->gpu.quick))
        cu_line(&o, "#include \"hd/by_lane.cuh\"");
    if (u->pipeline->spec->shape == RT_SHAPE_LOOP)
        cu_line(&o, "#include \"hd/%s.cuh\"", loop_header(u->pipeline));
    if (has_folds(u->pipeline))
        cu_line(&o, "#include \"hd/accumulate.cuh\"");
    if (cu_sink_header(u))
        cu_line(&o, "#include \"hd/%s\"", cu_sink_header(u));
    if (u->pipeline->framed)
        cu_line(&o, "#include \"hd/parts.cuh\"");
    if (u->dates)
        cu_line(&o, "#include \"hd/date.cuh\"");
    if (u->casts)
        cu_line(&o, "#include \"hd/convert.cuh\"");
    if (u->intervals)
        cu_line(&o, "#include \"hd/interval.cuh\"");
    if (u->interval_texts)
        cu_line(&o, "#include \"hd/interval_text.cuh\"");
    if (u->math)
        cu_line(&o, "#include \"hd/function.cuh\"");
    if (u->texts)
        cu_line(&o, "#include \"hd/text_call.cuh\"");
    if (u->formats)
        cu_line(&o, "#include \"hd/format_call.cuh\"");
    if (u->sorted)
        cu_line(&o, "#include \"hd/sorted.cuh\"");
    if (u->bits)
        cu_line(&o, "#include \"hd/bits.cuh\"");
    if (u->digests)
        cu_line(&o, "#include \"hd/digest_call.cuh\"");
    if (u->searches)
        cu_line(&o, "#include \"hd/like_tile.cuh\"");
    return detach_text(u, &o);
}

static const char *skeleton(const char *name)
{
    for (int i = 0; i < hdd_ntemplates; i++)
        if (strcmp(hdd_templates[i].name, name) == 0)
            return hdd_templates[i].text;
    HD_BUG("%s is not embedded", name);
}

/* A line of options for NVRTC alone. */
static const char *options(const struct cu_unit *u, const struct rt_unit *unit)
{
    bool quick = u->pipeline->gpu.quick;
    if (!unit->libraries && !quick)
        return "";
    return hd_asprintf(u->arena, "//!%s%s\n", unit->libraries ? " --relocatable-device-code=true" : "",
                       quick ? " --Ofast-compile=min" : "");
}

/* What stands before the code: the runtime may put several units into one source. */
static const char *head(struct cu_unit *u, const struct rt_unit *unit)
{
    const struct cg_slot slots[] = {
        {"OPTIONS", options(u, unit)},
        {"NAME", u->name},
        {"SUMMARY", summary(u)},
        {"INCLUDES", includes(u)},
    };
    return cg_template_fill(u->arena, skeleton("head.cu.in"), slots, (int)HD_COUNT(slots));
}

static void emit_unit(struct cu_unit *u, struct rt_unit *out)
{
    struct rt_pipeline *r = u->pipeline->spec;
    const char *code = methods(u); /* first: the rest lists what it uses */
    const char *fields = members(u), *inits = initialisers(u);
    out->far_args = u->prog->gpu_far_args;
    out->by_lane = r->shape == RT_SHAPE_BY_LANE;
    out->makes_strings = u->makes_strings;
    out->may_fail = u->may_fail;
    bool shares = r->shape == RT_SHAPE_AWS || r->shape == RT_SHAPE_ANY;
    out->libraries = u->libraries | (shares ? RT_LIBRARY_SHARE : 0);
    out->donation_bytes = (uint32_t)u->pipeline->gpu.donation_bytes;
    out->slot_bytes = (uint32_t)u->pipeline->gpu.slot_bytes;
    out->threads = block_threads(u);
    for (int i = 0; i < u->pipeline->gpu_tile.steps; i++)
        out->shared_fits |= u->pipeline->steps[i].bits_bytes > 0;
    out->shared_bytes = u->pipeline->gpu.shared_at_launch ? (uint32_t)u->pipeline->gpu.shared_bytes : 0;
    const struct cg_slot slots[] = {
        {"NAME", u->name},
        {"ROWS", rows(u)},
        {"TUPLES", tuples(u)},
        {"SHARED", shared_members(u)},
        {"SHARED_KIND", out->shared_bytes ? "HDD_SHARED_AT_LAUNCH" : "HDD_SHARED"},
        {"LEVELS", hd_asprintf(u->arena, "%d", u->pipeline->nlevels)},
        {"TILE_STEPS", hd_asprintf(u->arena, "%d", u->pipeline->gpu_tile.steps)},
        {"LANE_ROWS", hd_asprintf(u->arena, "%d", u->pipeline->spec->lane_rows)},
        {"BEGIN", beginning(u)},
        {"SLOT_BYTES", hd_asprintf(u->arena, "%u", out->slot_bytes)},
        {"MEMBERS", fields},
        {"ARGS", args_type(u)},
        {"INITIALISERS", inits},
        {"METHODS", code},
        {"CHECKS", checks(u)},
        {"TRAVERSE", traversal(u->pipeline)},
        {"KERNEL", kernel(u)},
    };
    const char *first = head(u, out);
    out->head = strlen(first);
    out->text = hd_asprintf(u->arena, "%s%s", first,
                            cg_template_fill(u->arena, skeleton("pipeline.cu.in"), slots, (int)HD_COUNT(slots)));
    out->size = strlen(out->text);
    out->entry = u->name;
}

static const struct rt_unit *emit_first(struct hd_arena *a, const struct pl_program *p, const struct pl_pipeline *first,
                                        const struct cg_options *opt)
{
    struct rt_unit *unit = HD_NEW(a, struct rt_unit);
    emit_unit(new_unit(a, p, first, opt), unit);
    return unit;
}

int cg_cuda_emit(struct hd_arena *a, const struct pl_program *p, const struct cg_options *opt,
                 struct cg_cuda_artifact *out, struct hd_err *err HD_UNUSED)
{
    out->nunits = p->npipelines;
    out->units = HD_NEWN(a, struct rt_unit, p->npipelines + 1);
    for (int i = 0; i < p->npipelines; i++) {
        const struct pl_pipeline *q = &p->pipelines[i];
        emit_unit(new_unit(a, p, q, opt), &out->units[i]);
        if (q->gpu.first)
            out->units[i].first = emit_first(a, p, q->gpu.first, opt);
    }
    return 0;
}

/* The units live as long as the program: it keeps their entry names. */
int cg_cuda_print(struct hd_strbuf *out, const struct pl_program *p, const struct cg_options *opt, struct hd_err *err)
{
    struct cg_cuda_artifact art;
    HD_TRY(cg_cuda_emit(p->arena, p, opt, &art, err));
    for (int i = 0; i < art.nunits; i++)
        hd_strbuf_addf(out, "%s%s", i ? "\n" : "", art.units[i].text);
    return 0;
}
