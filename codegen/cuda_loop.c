/* Loops over pairs (templates/loop.cuh): methods that prepare a row of the source, tell which rows of the state there
 * are, and take one of these with all rows that the thread holds. */
#include "codegen/cuda_gen.h"

static const struct pl_level *pairs_level(const struct cu_unit *u)
{
    return &u->pipeline->levels[1];
}

/* The step that opens the level. */
static int opening(const struct cu_unit *u)
{
    return pairs_level(u)->first_step - 1;
}

static void declare_slots(struct cu_unit *u, int from, int to)
{
    for (int i = from; i < to; i++)
        cu_declare_slot(u, &u->pipeline->steps[i]);
}

static void steps(struct cu_unit *u, int from, int to)
{
    for (int i = from; i < to; i++)
        cu_step(u, &u->pipeline->steps[i], i);
}

/* The steps of level 0 for one row: what its pairs share. A thread does them again for a pair that it visits. */
static void print_begin(struct cu_unit *u)
{
    const bool *read = cu_slots_read_from(u, 0, true);
    cu_line(u->out, "// What the pairs of a row share; false: it has none.");
    cu_line(u->out, "HDD_MEMBER bool begin(bool live, bool counted, u32 row, pair_tuple &tuple)");
    cu_open(u->out, "{");
    cu_line(u->out, "(void)counted;");
    if (read[u->pipeline->source_slot])
        cu_define_slot(u, u->pipeline->source_slot, "i32", "(i32)row");
    else
        cu_line(u->out, "(void)row;");
    declare_slots(u, 0, opening(u));
    steps(u, 0, opening(u));
    cu_guard(u);
    cu_count(u, opening(u));
    cu_line(u->out, "tuple = %s;", cu_next_tuple(u, 1));
    cu_unguard(u);
    cu_line(u->out, "return live;");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void print_others(struct cu_unit *u)
{
    const struct pl_step *s = &u->pipeline->steps[opening(u)];
    cu_line(u->out, "HDD_MEMBER hdd_range others() const");
    cu_open(u->out, "{");
    cu_line(u->out, "return hdd_expand_all(%s);", cu_arg(u, s->a_nrows));
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* Steps that pairs go through in any case; behind them is what those that passed the tests do. */
static int end_of_pairs(const struct cu_unit *u)
{
    return u->pipeline->loop.fused ? u->pipeline->nsteps : u->pipeline->loop.tested;
}

static const bool *read_by_pairs(const struct cu_unit *u)
{
    bool *read = HD_NEWN(u->arena, bool, u->pipeline->nslots + 1);
    for (int i = pairs_level(u)->first_step; i < end_of_pairs(u); i++)
        pl_step_reads(u->prog->exprs, &u->pipeline->steps[i], read);
    if (u->pipeline->loop.fused || u->pipeline->loop.top)
        pl_sink_reads(u->prog->exprs, &u->pipeline->sink, read);
    return read;
}

/* The state's row, once for all rows of the thread. Its steps count with the pairs. */
static void state_row(struct cu_unit *u)
{
    int first = pairs_level(u)->first_step, end = first + u->pipeline->loop.others;
    cu_bind_child(u, &u->pipeline->steps[opening(u)], read_by_pairs(u));
    declare_slots(u, first, end);
    u->recounted = true;
    steps(u, first, end);
    cu_unguard(u);
    u->recounted = false;
    for (int i = first; i < end && (!u->pipeline->loop.fused || u->pipeline->loop.nbounds);
         i++) /* visits may be all that reads them */
        cu_line(u->out, "(void)%s;", cu_slot(u, u->pipeline->steps[i].slot));
}

static void source_row(struct cu_unit *u)
{
    const struct pl_level *l = pairs_level(u);
    cu_line(u->out, "live = whole || (alive >> j & 1) != 0;");
    for (int i = 0; i < l->nslots; i++) {
        const struct pl_slot *s = &u->pipeline->slots[l->slots[i]];
        cu_define_slot(u, l->slots[i], cu_value_type(u, s->phys, s->nullable),
                       hd_asprintf(u->arena, "mine[j].%s", cu_slot_name(u, l->slots[i])));
        cu_line(u->out, "(void)%s;", cu_slot(u, l->slots[i]));
    }
}

/* What the state's row did once, each pair counts. */
static void count_others(struct cu_unit *u)
{
    for (int i = 0; i < u->pipeline->loop.others && u->profile; i++) {
        cu_guard(u);
        cu_count(u, pairs_level(u)->first_step + i);
    }
}

/* The first key of the order of the rows that pairs become. */
static const struct rt_sort_key *rank_key(const struct cu_unit *u)
{
    const struct rt_state *st = &u->spec->states[u->pipeline->sink.state];
    return &st->sort[st->top->ngroup];
}

static int rank_expr(const struct cu_unit *u)
{
    const struct pl_sink *s = &u->pipeline->sink;
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field == rank_key(u)->field)
            return s->outs[i].expr;
    HD_BUG("pairs are ranked by nothing");
}

static void print_best(struct cu_unit *u)
{
    const struct rt_sort_key *k = rank_key(u);
    cu_line(u->out, "typedef hdd_best<%s, %s, %s, %d> best_rows;", cu_type(cu_expr_of(u, rank_expr(u))->phys),
            k->desc ? "true" : "false", k->nulls_first ? "true" : "false", u->pipeline->loop.top);
}

/* The same pairs before, of which only the smallest ranks of each row are kept. They are counted later. */
static void print_rank(struct cu_unit *u)
{
    int first = pairs_level(u)->first_step + u->pipeline->loop.others, end = end_of_pairs(u);
    cu_line(u->out,
            "template <bool whole> HDD_MEMBER void rank(const pair_tuple *mine, best_rows *best, u32 alive, u32 at)");
    cu_open(u->out, "{");
    cu_line(u->out, "(void)alive, (void)mine;");
    cu_line(u->out, "bool live = true;");
    state_row(u);
    cu_line(u->out, "HDD_UNROLL");
    cu_open(u->out, "for (u32 j = 0; j < loop_rows; j++) {");
    source_row(u);
    declare_slots(u, first, end);
    u->recounted = true;
    steps(u, first, end);
    u->recounted = false;
    cu_guard(u);
    cu_line(u->out, "best[j].add(%s);", cu_expr(u, rank_expr(u)));
    cu_unguard(u);
    cu_close(u->out, "}");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static void print_pairs(struct cu_unit *u)
{
    const struct pl_loop *l = &u->pipeline->loop;
    int first = pairs_level(u)->first_step + l->others, end = end_of_pairs(u);
    cu_line(u->out, "// Row `at` of the state with the rows of this thread%s.",
            l->fused ? "" : ": which pass the tests");
    cu_line(u->out, "template <bool whole%s> HDD_MEMBER void pairs(const pair_tuple *mine, %su32 alive, u32 at%s)",
            l->fused ? "" : ", u32 rows, class Passed", l->top ? "const best_rows::bound_type *bound, " : "",
            l->fused ? "" : ", Passed &passed");
    cu_open(u->out, "{");
    cu_line(u->out, "(void)alive, (void)mine;");
    cu_line(u->out, "bool live = true;");
    state_row(u);
    cu_line(u->out, "HDD_UNROLL");
    cu_open(u->out, "for (u32 j = 0; j < %s; j++) {", l->fused ? "loop_rows" : "rows");
    source_row(u);
    declare_slots(u, first, end);
    count_others(u);
    steps(u, first, end);
    if (l->fused)
        cu_sink(u);
    if (l->top) {
        cu_guard(u);
        cu_line(u->out, "live = bound[j].has(%s);", cu_expr(u, rank_expr(u)));
    }
    cu_unguard(u);
    if (!l->fused)
        cu_line(u->out, "passed.add(live, one, j);");
    cu_close(u->out, "}");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

static const char *bound_name(struct cu_unit *u, const struct pl_pair_bound *b)
{
    return hd_asprintf(u->arena, "%s_%s", b->most ? "most" : "least", cu_slot_name(u, b->slot));
}

/* Filters may share it. */
static bool is_first_of_name(const struct pl_loop *l, int i)
{
    for (int j = 0; j < i; j++)
        if (l->bounds[j].slot == l->bounds[i].slot && l->bounds[j].most == l->bounds[i].most)
            return false;
    return true;
}

static void print_bounds(struct cu_unit *u)
{
    const struct pl_loop *l = &u->pipeline->loop;
    cu_line(u->out, "// Values of the warp's rows with which pairs pass their tests if any row's do.");
    cu_open(u->out, "struct pair_bounds {");
    for (int i = 0; i < l->nbounds; i++)
        if (is_first_of_name(l, i))
            cu_line(u->out, "hdd_opt<%s> %s;", cu_type(u->pipeline->slots[l->bounds[i].slot].phys),
                    bound_name(u, &l->bounds[i]));
    cu_close(u->out, "};");
    cu_blank(u->out);
    cu_line(u->out, "HDD_MEMBER pair_bounds bounds(const pair_tuple *mine, u32 alive) const");
    cu_open(u->out, "{");
    cu_line(u->out, "pair_bounds b{};");
    for (int i = 0; i < l->nbounds; i++)
        if (is_first_of_name(l, i)) {
            const char *name = bound_name(u, &l->bounds[i]);
            cu_line(u->out, "HDD_UNROLL");
            cu_line(u->out, "for (u32 j = 0; j < loop_rows; j++)");
            cu_line(u->out, "    if (alive >> j & 1)");
            cu_line(u->out, "        b.%s = hdd_%s(b.%s, mine[j].%s);", name, l->bounds[i].most ? "greatest" : "least",
                    name, cu_slot_name(u, l->bounds[i].slot));
            cu_line(u->out, "b.%s = hdd_%s_of_warp(b.%s);", name, l->bounds[i].most ? "greatest" : "least", name);
        }
    cu_line(u->out, "return b;");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* The filters of the bounds, each with its own. */
static void print_may_pass(struct cu_unit *u)
{
    const struct pl_loop *l = &u->pipeline->loop;
    cu_line(u->out, "// Whether any pair of the warp's rows with row `at` of the state may pass.");
    cu_line(u->out, "HDD_MEMBER bool may_pass(const pair_bounds &bound, bool live, u32 at)");
    cu_open(u->out, "{");
    state_row(u);
    for (int i = 0, next; i < l->nbounds; i = next) {
        cu_open(u->out, "{");
        for (next = i; next < l->nbounds && l->bounds[next].step == l->bounds[i].step; next++) {
            const struct pl_slot *s = &u->pipeline->slots[l->bounds[next].slot];
            cu_define_slot(
                u, l->bounds[next].slot, cu_value_type(u, s->phys, s->nullable),
                hd_asprintf(u->arena, "bound.%s%s", bound_name(u, &l->bounds[next]), s->nullable ? "" : ".v"));
        }
        u->recounted = true;
        cu_step(u, &u->pipeline->steps[l->bounds[i].step], l->bounds[i].step);
        cu_unguard(u);
        u->recounted = false;
        cu_close(u->out, "}");
    }
    cu_line(u->out, "return live;");
    cu_close(u->out, "}");
    cu_blank(u->out);
}

/* The bit that a match sets, as it is now: other warps set them too. */
static void print_settled(struct cu_unit *u)
{
    const struct pl_pipeline *p = u->pipeline;
    int bits = p->sink.kind == PL_SINK_BITMAP ? p->sink.a_bits : p->steps[p->nsteps - 1].a_matches;
    cu_line(u->out, "// The row of the source has had a match.");
    cu_line(u->out, "HDD_MEMBER bool settled(u32 row) const");
    cu_open(u->out, "{");
    cu_line(u->out, "return (hdd_load_relaxed(%s + row / 64) >> row %% 64 & 1) != 0;", cu_arg(u, bits));
    cu_close(u->out, "}");
    cu_blank(u->out);
}

void cu_loop(struct cu_unit *u)
{
    const struct pl_loop *l = &u->pipeline->loop;
    cu_line(u->out, "enum : u32 { loop_rows = %d, fused = %d, again = %d, bounded = %d };", l->rows, l->fused, l->again,
            l->nbounds > 0);
    if (u->pipeline->loop.top)
        print_best(u);
    cu_line(u->out, "typedef %s_tuple1 pair_tuple;", u->name);
    cu_blank(u->out);
    print_begin(u);
    print_others(u);
    if (u->pipeline->first_match)
        print_settled(u);
    if (u->pipeline->loop.top)
        print_rank(u);
    if (!u->pipeline->loop.fused)
        cu_visit(u, 1);
    print_pairs(u);
    if (l->nbounds) {
        print_bounds(u);
        print_may_pass(u);
    }
}
