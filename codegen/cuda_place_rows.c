/* Accumulators of groups that are rows: in the state's memory, or in a block's copy of the state, and the
 * caches that stand before the state's rows. Lanes of one group combine before one of them adds. */
#include "codegen/cuda_place.h"

/* ---- rows in memory --------------------------------------------------------------------- */

/* Once per visit and group: what its first lane stores. */
static void store_first(struct cu_unit *u)
{
    bool flag = cu_has_flag(cu_sink_state(u)), stored = false;
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        stored |= cu_is_stored(u, i);
    if (u->pipeline->sink.kind != PL_SINK_AGG_DENSE || !(flag || stored))
        return;
    cu_open(u->out, "if (group_lanes.first) {");
    cu_line(u->out, "%s &row = *group;", cu_row(u, u->pipeline->sink.state));
    if (flag)
        cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipeline->sink.nouts; i++)
        if (cu_is_stored(u, i)) {
            cu_open(u->out, "if (!hdd_is_null(%s))", cu_out_name(u, i));
            cu_add_field(u, i, hd_asprintf(u->arena, "%s.v", cu_out_name(u, i)));
            u->out->indent--;
        }
    cu_close(u->out, "}");
}

/* What adds `mine` to the rows: the uppermost cache, or the lanes themselves. */
static const char *update(const struct cu_unit *u)
{
    for (int k = 0; k < PL_CACHE_COUNT; k++) {
        const struct cu_place *c = u->caches[k];
        if (c && c->update)
            return c->update;
    }
    return "group_lanes.update(*this, group, mine);";
}

/* "found.lanes & left": those that have something to add. */
static const char *lanes_left(struct cu_unit *u, const char *lanes)
{
    for (int k = 0; k < PL_CACHE_COUNT; k++) {
        const struct cu_place *c = u->caches[k];
        if (c && c->left)
            lanes = hd_asprintf(u->arena, "%s & %s", lanes, c->left);
    }
    return lanes;
}

/* After `group` is set: lanes of one group combine, then one of them updates the row. Runs of equal
 * keys (`clustered`) are such lanes. `lanes`: which they are, NULL: not known yet. */
static void update_groups(struct cu_unit *u, const char *lanes)
{
    for (int k = PL_CACHE_COUNT - 1; k >= 0; k--) { /* the lowest knows where rows are */
        const struct cu_place *c = u->caches[k];
        if (c && c->redirect)
            c->redirect(u);
    }
    cu_line(u->out, "const hdd_group_lanes group_lanes(group, %s);",
            lanes ? lanes_left(u, lanes) : "hdd_same_row(group)");
    for (int k = 0; k < PL_CACHE_COUNT; k++) {
        const struct cu_place *c = u->caches[k];
        if (c && c->admit)
            c->admit(u);
    }
    store_first(u);
    if (cu_has_accumulators(u))
        cu_line(u->out, "%s", update(u));
}

/* ---- dense groups ------------------------------------------------------------------------- */

static void declare_accumulators(struct cu_unit *u)
{
    if (cu_has_accumulators(u))
        cu_line(u->out, "%s mine;", cu_accumulators_type(u));
}

/* rows: address of the row of group 0 */
static void visit_dense(struct cu_unit *u, const char *rows)
{
    cu_line(u->out, "%s *group = nullptr;", cu_row(u, u->pipeline->sink.state));
    cu_declare_outs(u);
    declare_accumulators(u);
    cu_sink_index(u);
    cu_line(u->out, "group = %s + index;", rows);
    cu_assign_outs(u);
    cu_accumulate_values(u, "mine", false);
    cu_unguard(u);
    if (!u->pipeline->sink.by_lane) {
        update_groups(u, NULL);
        return;
    }
    cu_open(u->out, "if (group)");
    cu_line(u->out, "add_accumulators(*group, mine);");
    u->out->indent--;
}

/* ---- hashed groups ------------------------------------------------------------------------ */

static void hash_same(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    cu_open(u->out, "const auto same = [&](u64 r) {");
    for (int k = 0; k < st->nkeys; k++)
        cu_line(u->out, "%shdd_group_eq(%s, %s)%s", k ? "       " : "return ", cu_field_value(u, st, k, "sink[r]"),
                cu_out_name(u, k), k + 1 < st->nkeys ? " &&" : ";");
    cu_close(u->out, "};");
}

/* A key that is a word is there already. */
static void hash_init(struct cu_unit *u)
{
    bool word = cu_sink_state(u)->word;
    int first = word, stored = 0;
    for (int i = first; i < u->pipeline->sink.nouts; i++)
        stored += cu_is_stored(u, i);
    if (word && !stored) {
        cu_line(u->out, "const auto init = [](u64) {};");
        return;
    }
    cu_open(u->out, "const auto init = [&](u64 r) {");
    cu_line(u->out, "%s &row = sink[r];", cu_row(u, u->pipeline->sink.state));
    if (!word)
        cu_line(u->out, "row.hash = hash;");
    for (int i = first; i < u->pipeline->sink.nouts; i++)
        if (cu_is_stored(u, i))
            cu_put_out(u, i);
    cu_close(u->out, "};");
}

/* What finds the group of `hash`, with the lambdas that it needs. */
static const char *find_group(struct cu_unit *u)
{
    bool word = cu_sink_state(u)->word, quick = u->pipeline->gpu.quick;
    if (!word)
        hash_same(u);
    hash_init(u);
    return word ? (quick ? CU_FIND_WORD_BY_LANE : CU_FIND_WORD) : quick ? CU_FIND_HASH_BY_LANE : CU_FIND_HASH;
}

static void visit_hash(struct cu_unit *u)
{
    cu_declare_outs(u);
    declare_accumulators(u);
    cu_line(u->out, "u64 hash = 0;");
    cu_guard(u);
    cu_count(u, u->pipeline->nsteps);
    cu_assign_outs(u);
    cu_accumulate_values(u, "mine", false);
    cu_line(u->out, cu_sink_state(u)->word ? "hash = (u64)%s;" : "hash = hdd_hash(%s);", cu_key_names(u));
    cu_unguard(u);
    const char *find = find_group(u);
    if (!cu_has_accumulators(u)) {
        cu_line(u->out, "%s", find);
        return;
    }
    cu_line(u->out, "const hdd_found found = %s", find);
    cu_line(u->out, "%s *group = found.place ? sink + (found.place - 1) : nullptr;",
            cu_row(u, u->pipeline->sink.state));
    update_groups(u, "found.lanes");
}

/* ---- the state's rows --------------------------------------------------------------------- */

static void visit_memory(struct cu_unit *u)
{
    if (u->pipeline->sink.kind == PL_SINK_AGG_HASH)
        visit_hash(u);
    else
        visit_dense(u, "sink");
}

/* Rows that are slots: what a warp still has to count, but for those of a first tier. */
static bool counts_groups(const struct cu_unit *u)
{
    return u->pipeline->sink.kind == PL_SINK_AGG_HASH && cu_sink_state(u)->word && !u->pipeline->gpu.quick;
}

static void members_memory(struct cu_unit *u, struct cu_out *o)
{
    if (counts_groups(u))
        cu_line(o, "hdd_uncounted uncounted;");
}

static void finish_memory(struct cu_unit *u)
{
    cu_line(u->out, "(void)shared;");
    if (counts_groups(u))
        cu_line(u->out, "uncounted.flush(run);");
}

const struct cu_place cu_place_memory = {
    .rows = true,
    .members = members_memory,
    .visit = visit_memory,
    .finish = finish_memory,
};

/* ---- rows in shared memory ---------------------------------------------------------------- */

/* Adds the row `from` of shared memory to the state's `row`. */
static void add_row(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    if (cu_has_flag(st))
        cu_line(u->out, "row.present = 1;");
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        int f = cu_out_of(u, i)->field;
        bool nullable = cu_may_stay_null(u, i);
        if (cu_is_new(u, i))
            continue;
        if (nullable)
            cu_open(u->out, "if (from.%s)", cu_field_valid(u, st, f));
        cu_add_field(u, i, hd_asprintf(u->arena, "%sfrom.%s", st->fields[f].bytes ? "(i32)" : "", cu_field(u, st, f)));
        u->out->indent -= nullable;
    }
}

static void flush_rows(struct cu_unit *u, const char *what, const char *count, const char *used, const char *to)
{
    const char *row = cu_row(u, u->pipeline->sink.state);
    cu_line(u->out, "hdd_block_sync();");
    cu_open(u->out, "for (u32 i = hdd_thread(); i < %s; i += HDD_BLOCK) {", count);
    cu_open(u->out, "if (!%s)", used);
    cu_line(u->out, "continue;");
    u->out->indent--;
    cu_line(u->out, "const %s &from = %s.rows[i];", row, what);
    cu_line(u->out, "%s &row = %s;", row, to);
    add_row(u);
    cu_close(u->out, "}");
}

/* "s1_row()" with the far end of its order in every extreme. */
static const char *empty_row(struct cu_unit *u)
{
    const struct rt_state *st = cu_sink_state(u);
    const char *fill = "";
    for (int i = 0; i < u->pipeline->sink.nouts; i++) {
        const struct pl_out *o = cu_out_of(u, i);
        enum rt_phys p = st->fields[o->field].phys;
        if ((o->fn != FE_AGG_MIN && o->fn != FE_AGG_MAX) || p == RT_I128)
            continue;
        fill = hd_asprintf(u->arena, "%s row.%s = hdd_%s_of<%s>();", fill, cu_field(u, st, o->field),
                           o->fn == FE_AGG_MIN ? "highest" : "lowest", cu_type(p));
    }
    const char *row = cu_row(u, u->pipeline->sink.state);
    if (!*fill)
        return hd_asprintf(u->arena, "%s()", row);
    return hd_asprintf(u->arena, "[] { %s row = %s();%s return row; }()", row, row, fill);
}

/* ---- a copy of the state per block (templates/block_local.cuh) ------------------------------ */

static void members_block(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "const hdd_block_local<%s> block_local;", cu_row(u, u->pipeline->sink.state));
}

static const char *initialise_block(struct cu_unit *u)
{
    return hd_asprintf(u->arena, "block_local(shared.block_local, launch.sink.capacity, %s)", empty_row(u));
}

static void shared_block(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_block_local_memory<%d> block_local;", u->pipeline->sink.place_size);
}

static void visit_block(struct cu_unit *u)
{
    visit_dense(u, "block_local.rows");
}

static void finish_block(struct cu_unit *u)
{
    cu_line(u->out, "(void)shared;");
    const char *used = cu_present(u, u->pipeline->sink.state, "block_local.rows[i]");
    flush_rows(u, "block_local", "block_local.range", used, "sink[i]");
}

const struct cu_place cu_place_block = {
    .rows = true,
    .members = members_block,
    .initialiser = initialise_block,
    .shared = shared_block,
    .visit = visit_block,
    .finish = finish_block,
};

/* ---- cache: groups that a block hits often (templates/frequent.cuh) ------------------------- */

static void members_frequent(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "const hdd_frequent<%s> frequent;", cu_row(u, u->pipeline->sink.state));
}

static const char *initialise_frequent(struct cu_unit *u)
{
    return hd_asprintf(u->arena, "frequent(shared.frequent, sink, %s)", empty_row(u));
}

static void shared_frequent(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_frequent_memory<%s> frequent;", cu_row(u, u->pipeline->sink.state));
}

static void redirect_frequent(struct cu_unit *u)
{
    cu_line(u->out, "%s *const home = group;", cu_row(u, u->pipeline->sink.state));
    cu_line(u->out, "group = frequent.place(home);");
}

static void admit_frequent(struct cu_unit *u)
{
    cu_open(u->out, "if (group == home)");
    cu_line(u->out, "frequent.admit(group_lanes, home);");
    u->out->indent--;
}

static void finish_frequent(struct cu_unit *u)
{
    const char *row = cu_row(u, u->pipeline->sink.state);
    flush_rows(u, "shared.frequent", "HDD_FREQUENT", "shared.frequent.groups[i]",
               hd_asprintf(u->arena, "*reinterpret_cast<%s *>(shared.frequent.groups[i])", row));
}

const struct cu_place cu_cache_block = {
    .members = members_frequent,
    .initialiser = initialise_frequent,
    .shared = shared_frequent,
    .redirect = redirect_frequent,
    .admit = admit_frequent,
    .finish = finish_frequent,
};

/* ---- cache: the group that fills a warp (templates/aggregate.cuh) --------------------------- */

static void members_register_cache(struct cu_unit *u, struct cu_out *o)
{
    cu_line(o, "hdd_register_cache<%s, %s> cache;", cu_row(u, u->pipeline->sink.state), cu_accumulators_type(u));
}

/* Lanes of the group that the warp has add to registers and are done. */
static void redirect_register_cache(struct cu_unit *u)
{
    cu_line(u->out, "const u32 left = cache.add(*this, group, mine);");
    cu_open(u->out, "if (!left)");
    cu_line(u->out, "return;");
    u->out->indent--;
}

static void finish_register_cache(struct cu_unit *u)
{
    cu_line(u->out, "cache.flush(*this);");
}

const struct cu_place cu_cache_warp = {
    .members = members_register_cache,
    .redirect = redirect_register_cache,
    .left = "left",
    .update = "cache.update(*this, group_lanes, group, mine);",
    .finish = finish_register_cache,
};
