/* Planning, top to bottom: from the typed plan to the program that code generators and runtime take. */
#include "planner/block_bits.h"
#include "planner/copies.h"
#include "planner/ends.h"
#include "planner/estimate.h"
#include "planner/flow.h"
#include "planner/join_order.h"
#include "planner/loop.h"
#include "planner/lower.h"
#include "planner/morsel.h"
#include "planner/need.h"
#include "planner/order_group.h"
#include "planner/parent_filters.h"
#include "planner/parts.h"
#include "planner/physical.h"
#include "planner/place.h"
#include "planner/prune.h"
#include "planner/rewrite.h"
#include "planner/rewrite_top.h"
#include "planner/schedule.h"
#include "planner/seal.h"
#include "planner/share_scans.h"
#include "planner/share_subplans.h"
#include "planner/splice.h"
#include "planner/tiering.h"
#include "planner/tile.h"

/* ---- what passes leave behind ---- */

enum {
    TYPED = 1 << 0,    /* c->plan: the frontend's, without operators that others say */
    ORDER = 1 << 1,    /* c->ordered */
    NEED = 1 << 2,     /* c->need, uses of shared subplans */
    FACTS = 1 << 3,    /* c->est: room for what facts say of typed nodes, filled when asked */
    PHYSICAL = 1 << 4, /* c->physical */
    PIPES = 1 << 5,    /* c->pipes and what they refer to; handles may still load */
    DENSE = 1 << 6,    /* every step and argument of the pipes has a reader */
    FRAMED = 1 << 7,   /* heavy pipes are framed */
    PROGRAM = 1 << 8,  /* c->program has all that the pipes said; they are read no more */
    PARTS = 1 << 9,    /* framed pipelines are cut into functions */
    PLACES = 1 << 10,  /* accumulators of GPU kernels have their places */
    SHAPES = 1 << 11,  /* kernels have shapes and balance */
    ACTIONS = 1 << 12, /* the schedule */
    LAZY = 1 << 13,    /* expressions say where they are computed */
    SIZES = 1 << 14,   /* kernels know what they need of a device */
    KEYS = 1 << 16,    /* tables of joins and states of groupings, at nodes of c->physical */
    TILES = 1 << 15    /* the steps that are evaluated for a tile of rows */
};

/* ---- passes ---- */

static int rewriting(struct ctx *c)
{
    c->plan = pl_rewrite(c->a, c->plan);
    pl_rewrite_tops(c);
    c->shared = HD_NEWN(c->a, struct shared_state, c->plan->nshared + 1);
    return 0;
}

static int groupings(struct ctx *c)
{
    pl_group_before_lookups(c);
    return 0;
}

static int join_order(struct ctx *c)
{
    pl_order_joins(c);
    return 0;
}

static int order(struct ctx *c)
{
    pl_need_order(c, c->plan->root);
    return 0;
}

static int needed_columns(struct ctx *c)
{
    pl_need_columns(c, c->plan->root);
    return 0;
}

static void mark_nodes(const struct fe_node *n, const struct fe_node **by_id)
{
    by_id[n->id] = n;
    for (int i = 0; i < n->ninputs; i++)
        mark_nodes(n->inputs[i], by_id);
}

/* Nodes of trees that were given up are counted, too, and have the numbers of others, or none that there are. */
static int facts(struct ctx *c)
{
    const struct fe_node **by_id = HD_NEWN(c->a, const struct fe_node *, c->plan->nnodes + 1);
    c->est = HD_NEWN(c->a, struct est_node, c->plan->nnodes + 1);
    mark_nodes(c->plan->root, by_id);
    for (int i = 0; i < c->plan->nshared; i++)
        mark_nodes(c->plan->shared[i], by_id);
    for (int i = 0; i < c->counted.n; i++) {
        const struct order_counted *x = &c->counted.v[i];
        if (x->n->id >= c->plan->nnodes || by_id[x->n->id] != x->n)
            continue;
        struct est_node *e = &c->est[x->n->id];
        if (x->met) {
            e->met = x->met;
            e->nmet = x->nmet;
        }
        if (x->rows < 0)
            continue;
        e->rows = x->rows;
        e->has_rows = true;
    }
    return 0;
}

static int physical_choices(struct ctx *c)
{
    return pl_physical(c, c->plan->root, &c->physical);
}

/* The passes up to here once more, of the plan as it is then. */
static int again(struct ctx *c)
{
    c->shared = HD_NEWN(c->a, struct shared_state, c->plan->nshared + 1);
    c->nnodes = 0;
    HD_TRY(order(c));
    HD_TRY(needed_columns(c));
    HD_TRY(facts(c));
    return physical_choices(c);
}

static int sharing(struct ctx *c)
{
    enum { SUBPLANS_MAX = 8 };
    for (int i = 0; i < SUBPLANS_MAX && pl_share_subplans(c); i++)
        HD_TRY(again(c));
    return pl_share_scans(c) ? again(c) : 0;
}

static int splicing(struct ctx *c)
{
    pl_splice(c);
    return 0;
}

static int copies(struct ctx *c)
{
    for (int i = 0; i < c->pipelines.n; i++)
        pl_copy_fields(c, c->pipelines.v[i]);
    return 0;
}

static int parent_filters(struct ctx *c)
{
    pl_filter_parents(c);
    return 0;
}

static int exact_ends(struct ctx *c)
{
    pl_take_exact_ends(c);
    return 0;
}

static int pruning(struct ctx *c)
{
    pl_prune(c);
    return 0;
}

static int frames(struct ctx *c)
{
    for (int i = 0; i < c->pipelines.n; i++)
        pl_frame(c, c->pipelines.v[i]);
    return 0;
}

static int loops(struct ctx *c)
{
    for (int i = 0; i < c->pipelines.n; i++)
        pl_plan_loop(c, c->pipelines.v[i]);
    return 0;
}

static int evaluation(struct ctx *c)
{
    pl_choose_evaluation(c->a, c->exprs.v, c->exprs.n, c->args.v);
    return 0;
}

static int sealing(struct ctx *c)
{
    pl_seal(c);
    return 0;
}

static int morsels(struct ctx *c)
{
    for (int i = 0; i < c->program->npipelines; i++)
        pl_choose_morsels(&c->program->pipelines[i]);
    return 0;
}

static int tiles(struct ctx *c)
{
    for (int i = 0; i < c->program->npipelines; i++)
        pl_choose_tiles(c, &c->program->pipelines[i]);
    return 0;
}

static int parts(struct ctx *c)
{
    for (int i = 0; i < c->program->npipelines; i++)
        pl_cut_parts(c, &c->program->pipelines[i]);
    return 0;
}

static int places(struct ctx *c)
{
    for (int i = 0; i < c->program->npipelines; i++) {
        pl_choose_block(&c->program->pipelines[i], c->opt.gpu_block_warps);
        pl_place_pipeline(c, &c->program->pipelines[i]);
        pl_choose_block_bits(c, &c->program->pipelines[i]);
    }
    return 0;
}

static int shapes(struct ctx *c)
{
    for (int i = 0; i < c->program->npipelines; i++) {
        struct pl_pipeline *p = &c->program->pipelines[i];
        pl_size_loop(c, p);
        pl_choose_shape(p, c->exprs.v, &c->states.v[p->sink.state], c->opt.balance, c->opt.gpu_blocks);
    }
    return 0;
}

static int kernels(struct ctx *c)
{
    for (int i = 0; i < c->program->npipelines; i++)
        pl_size_kernel(&c->program->pipelines[i]);
    for (int i = 0; i < c->program->npipelines; i++)
        pl_choose_first_tier(c, &c->program->pipelines[i]);
    return 0;
}

static int schedule(struct ctx *c)
{
    pl_schedule(c, c->program->spec);
    pl_choose_fixed_tier(c);
    return 0;
}

static int verifying(struct ctx *c)
{
    pl_verify(c->program);
    return 0;
}

static const struct pass {
    const char *name;
    int (*run)(struct ctx *c);
    unsigned needs, gives, breaks; /* what is in none of these is kept */
} passes[] = {
    {"rewriting", rewriting, TYPED, 0, 0},
    {"groupings below lookups", groupings, TYPED, 0, 0},
    {"join order", join_order, TYPED, 0, 0},
    {"order", order, TYPED, ORDER, 0},
    {"needed columns", needed_columns, TYPED, NEED, 0},
    {"facts", facts, TYPED, FACTS, 0},
    {"physical choices", physical_choices, TYPED | ORDER | NEED | FACTS, PHYSICAL, 0},
    {"sharing", sharing, TYPED | PHYSICAL | FACTS, 0, 0},
    {"keys and tables", pl_flow, PHYSICAL | NEED | FACTS, KEYS, 0},
    {"lowering, cutting", pl_lower, PHYSICAL | KEYS | NEED, PIPES, 0},
    {"splicing", splicing, PIPES, 0, DENSE},
    {"copies", copies, PIPES, 0, DENSE},
    {"filters of parents", parent_filters, PIPES, 0, DENSE},
    {"exact ends", exact_ends, PIPES, 0, DENSE},
    {"pruning", pruning, PIPES, DENSE, 0},
    {"frames", frames, PIPES | DENSE, FRAMED, 0},
    {"loops", loops, PIPES | DENSE | FRAMED, 0, 0},
    {"evaluation", evaluation, PIPES | FRAMED, LAZY, 0},
    {"sealing", sealing, PHYSICAL | DENSE | FRAMED | LAZY, PROGRAM, PIPES},
    {"morsels", morsels, PROGRAM, 0, 0},
    {"tiles", tiles, PROGRAM, TILES, 0},
    {"parts", parts, PROGRAM | TILES, PARTS, 0},
    {"places", places, PROGRAM, PLACES, 0},
    {"shapes", shapes, PROGRAM | TILES | PLACES, SHAPES, 0},
    {"kernel sizes", kernels, PROGRAM | PLACES | SHAPES, SIZES, 0},
    {"schedule", schedule, PROGRAM, ACTIONS, 0},
    {"verifying", verifying, PROGRAM | PARTS | PLACES | SHAPES | SIZES | ACTIONS, 0, 0},
};

static struct ctx *start(struct hd_arena *a, const struct fe_plan *plan, const struct pl_options *opt,
                         struct hd_err *err)
{
    struct ctx *c = HD_NEW(a, struct ctx);
    c->a = a;
    c->plan = plan;
    c->opt = *opt;
    c->err = err;
    c->maps_planned = HD_NEW(a, struct planned_maps);
    c->program = HD_NEW(a, struct pl_program);
    c->program->arena = a;
    c->program->spec = HD_NEW(a, struct rt_spec);
    return c;
}

int pl_plan(struct hd_arena *a, const struct fe_plan *plan, const struct pl_options *opt, struct pl_program **out,
            struct hd_err *err)
{
    struct ctx *c = start(a, plan, opt, err);
    unsigned have = TYPED;
    for (size_t i = 0; i < HD_COUNT(passes); i++) {
        const struct pass *p = &passes[i];
        if (p->needs & ~have)
            HD_BUG("%s comes before what it needs", p->name);
        HD_TRY(p->run(c));
        have = (have & ~p->breaks) | p->gives;
    }
    *out = c->program;
    return 0;
}
