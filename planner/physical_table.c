/* The tables of joins and the states of groupings. Direct addressing wins whenever facts bound the packed key's
 * range and that is not too sparse. */
#include "planner/physical_table.h"

#include "planner/cost.h"
#include "planner/physical_tree.h"

/* ---- joins ---- */

/* The table that is addressed by the packed key. */
static enum rt_state_kind addressed(const struct pl_table_facts *f)
{
    if (f->kept == 0 && (f->existence || f->unique))
        return RT_STATE_BITMAP;
    return f->existence || f->unique ? RT_STATE_DIRECT : RT_STATE_CSR;
}

static bool is_worth_it(const struct pl_table_facts *f)
{
    enum { FIELD_BYTES = 8 }; /* about; CSR: of an offset */
    enum rt_state_kind kind = addressed(f);
    bool asked = f->strategy == FE_DIRECT;
    if (kind == RT_STATE_BITMAP)
        return asked || pl_worth_bitmap(f->range, f->rows);
    if (kind == RT_STATE_CSR)
        return (asked && pl_direct_fits(f->range * FIELD_BYTES)) || pl_worth_csr(f->range, f->rows);
    double row = FIELD_BYTES * f->kept;
    return (asked && pl_direct_fits(f->range * row)) || pl_worth_direct(f->range, row, f->rows);
}

/* Bytes of the table that is addressed by the packed key. */
static double addressed_bytes(const struct pl_table_facts *f)
{
    enum rt_state_kind kind = addressed(f);
    return f->range * (kind == RT_STATE_BITMAP ? 0.125 : kind == RT_STATE_CSR ? 12 : 8.0 * f->kept);
}

/* Why keys cannot address the table, NULL: they can. */
static const char *why_not_addressed(const struct pl_table_facts *f, double memory)
{
    if (f->all_rows)
        return "rows without a match are wanted";
    if (f->null_equal)
        return "NULL matches NULL in a key";
    if (!f->packed)
        return "keys are no integers of a range";
    if (f->strategy == FE_HASH || f->strategy == FE_RADIX)
        return "the plan asks for a hash table";
    if (f->strategy != FE_DIRECT && pl_array_spills(addressed_bytes(f), memory))
        return "it takes more than half of the memory limit";
    return is_worth_it(f) ? NULL : "the range is too sparse";
}

bool pl_is_addressed(const struct ctx *c, const struct pl_table_facts *f)
{
    return !why_not_addressed(f, c->opt.memory_bytes);
}

enum rt_state_kind pl_choose_table(struct ctx *c, struct pl_node *n, const struct pl_table_facts *f)
{
    const char *why = why_not_addressed(f, c->opt.memory_bytes);
    enum rt_state_kind kind = why ? RT_STATE_HASH : addressed(f);
    struct pl_decision *d = pl_decide(c, n, "table");
    const char *detail = f->unique ? "range %.0f, ~%.0f rows, unique keys" : "range %.0f, ~%.0f rows";
    pl_decide_detail(c, d, rt_state_kind_name(addressed(f)), why, f->packed ? detail : NULL, f->range, f->rows);
    pl_decide_way(c, d, rt_state_kind_name(RT_STATE_HASH), -1, NULL);
    pl_decide_take(d, rt_state_kind_name(kind));
    return kind;
}

/* ---- partitions ---- */

enum { PARTS_NONE, PARTS_BUILD, PARTS_BOTH };

/* No part is larger than a window of the cache; asked for, there are some at least. */
static int part_bits(int table_bits, int window_bits, int max, bool asked)
{
    enum { ASKED_BITS = 4 };
    int bits = HD_MAX(table_bits - window_bits, asked ? HD_MIN((int)ASKED_BITS, table_bits) : 0);
    return HD_MIN(bits, max);
}

static struct pl_parts parts_of(double rows, bool asked)
{
    struct pl_parts p = {.top = 3};
    while ((double)(UINT64_C(1) << p.top) < rows * 1.5 && p.top < PL_PARTS_TOP)
        p.top++;
    p.cpu_bits = part_bits(p.top, PL_PART_SLOTS_CPU, PL_PARTS_CPU, asked);
    p.gpu_bits = part_bits(p.top, PL_PART_SLOTS_GPU, RT_PARTITION_BITS, asked);
    return p;
}

/* Costs of each way, and the cheapest that is possible. */
static int cheapest_parts(const struct pl_parts_facts *f, bool cached, int last, double ns[3])
{
    int best = PARTS_NONE;
    ns[PARTS_NONE] = pl_cost_table(cached, f->build + f->probe);
    ns[PARTS_BUILD] = pl_cost_parts(f->build, f->build) + pl_cost_table(cached, f->probe);
    ns[PARTS_BOTH] = pl_cost_parts(f->build + f->probe, f->build + f->probe);
    for (int i = PARTS_BUILD; i <= last; i++)
        best = ns[i] < ns[best] ? i : best;
    return best;
}

struct pl_parts pl_choose_parts(struct ctx *c, struct pl_node *n, const struct pl_parts_facts *f)
{
    static const char *const names[] = {"none", "build side", "both sides"};
    bool spills = pl_table_spills(f->build, pl_file_memory(&c->opt));
    bool asked = f->strategy == FE_RADIX || spills, small = pl_table_cached(f->build, c->opt.cached_bytes);
    int last = f->kept_order ? PARTS_BUILD : PARTS_BOTH;
    double ns[3];
    int taken = cheapest_parts(f, small, last, ns);
    bool gpu = c->opt.on_gpu && c->opt.cached_bytes <= 0; /* 64 M with 64 M rows on an H200: 19.9 ms, in parts 22.5 */
    if (f->strategy != FE_AUTO || gpu)
        taken = asked ? last : PARTS_NONE;
    if (small && !asked)
        return (struct pl_parts){.top = 0};
    struct pl_decision *d = pl_decide(c, n, "parts");
    pl_decide_way(c, d, names[PARTS_BOTH], last == PARTS_BOTH ? ns[PARTS_BOTH] : -1,
                  last == PARTS_BOTH ? NULL : "the order of rows is kept");
    pl_decide_way(c, d, names[PARTS_BUILD], ns[PARTS_BUILD], NULL);
    pl_decide_way(c, d, names[PARTS_NONE], ns[PARTS_NONE],
                  spills  ? "it takes more than a quarter of the memory limit"
                  : asked ? "the plan asks for parts"
                  : gpu   ? "a GPU's lookups are no faster in parts"
                          : NULL);
    pl_decide_take(d, names[taken]);
    struct pl_parts p = parts_of(f->build, asked || c->opt.cached_bytes > 0);
    p.build = taken != PARTS_NONE;
    p.probe = taken == PARTS_BOTH;
    return p;
}

struct pl_parts pl_choose_group_parts(struct ctx *c, struct pl_node *n, double rows, double groups, bool clustered)
{
    double table = pl_cost_table(pl_table_cached(groups, c->opt.cached_bytes), rows), parts = pl_cost_parts(rows, rows);
    if (!c->opt.on_gpu || clustered || parts >= table)
        return (struct pl_parts){.top = 0};
    struct pl_parts p = parts_of(groups, c->opt.cached_bytes > 0);
    struct pl_decision *d = pl_decide(c, n, "rows");
    pl_decide_way(c, d, "in parts", parts, NULL);
    pl_decide_way(c, d, "as they come", table, NULL);
    pl_decide_take(d, "in parts");
    p.cpu_bits = 0;
    p.probe = p.gpu_bits > 0;
    return p;
}

bool pl_choose_word_groups(struct ctx *c, struct pl_node *n, bool packed, double row_bytes)
{
    enum { ROW_BYTES = 64 }; /* free rows take as much as slots beside longer ones */
    static const char rows[] = "rows", slots[] = "slots of their own";
    bool word = packed && row_bytes <= ROW_BYTES;
    if (!c->opt.on_gpu)
        return false;
    struct pl_decision *d = pl_decide(c, n, "slots");
    pl_decide_way(c, d, rows, -1,
                  !packed ? "keys are no integers of 62 bits"
                  : word  ? "the keys are one word"
                          : hd_asprintf(c->a, "%.0f bytes a row are too many", row_bytes));
    pl_decide_way(c, d, slots, -1, NULL);
    pl_decide_take(d, word ? rows : slots);
    return word;
}

/* ---- groupings ---- */

static double dense_bytes(const struct pl_group_facts *f)
{
    return f->packed ? f->range * f->row_bytes : 0;
}

/* Each thread may have a copy. */
static const char *no_dense_groups(const struct ctx *c, const struct pl_group_facts *f)
{
    if (!f->packed)
        return "keys are no integers of a range";
    return pl_array_spills(dense_bytes(f), c->opt.memory_bytes) ? "they take more than half of the memory limit" : NULL;
}

static bool private_pays(const struct pl_group_facts *f)
{
    enum { PRIVATE_BYTES = 1 << 20 };
    return f->packed && pl_agg_private_fits(dense_bytes(f), PRIVATE_BYTES, f->rows);
}

bool pl_shared_groups_pay(const struct ctx *c, const struct pl_group_facts *f)
{
    return !no_dense_groups(c, f) && f->nkept > 0 && f->packed && !private_pays(f) &&
           pl_agg_shared_fits(dense_bytes(f), f->rows);
}

static void tell_keys(struct ctx *c, struct pl_node *n, const struct pl_group_facts *f)
{
    if (f->nkept < f->nkeys)
        pl_decide_way(c, pl_decide(c, n, "keys"), hd_asprintf(c->a, "%d of %d", f->nkept, f->nkeys), -1,
                      "the others follow from them");
    if (f->clustered)
        pl_decide_way(c, pl_decide(c, n, "order of keys"), "runs", -1, "the table's order has equal keys together");
}

/* Why costs say one thing and the choice another. */
static const char *too_large(struct ctx *c, double bytes, bool cheaper)
{
    return cheaper ? hd_asprintf(c->a, "%.0f bytes are too many", bytes) : NULL;
}

enum { GROUPS_ONE, GROUPS_COPIES, GROUPS_SHARED, GROUPS_HASH, GROUPS_FOLD, GROUPS_COUNT };

static const char *const group_names[GROUPS_COUNT] = {"one row", "dense, a copy per thread", "dense, shared", "hash",
                                                      "fold, without a state"};

/* Beside a fold, which finds each group's rows where it is, what it costs to add rows to groups elsewhere counts. */
static double cost_of_groups(const struct ctx *c, const struct pl_group_facts *f, int way)
{
    double bytes = dense_bytes(f), added = f->fold->parented ? pl_cost_agg_added(f->rows) : 0;
    return way == GROUPS_COPIES   ? pl_cost_agg_private(bytes, c->opt.threads) + added
           : way == GROUPS_SHARED ? pl_cost_agg_shared(bytes) + added
                                  : pl_cost_agg_hash(f->rows);
}

/* A copy that is small beside the cache is taken whatever the rows; of others costs are compared. */
static void tell_copies(struct ctx *c, struct pl_decision *d, const struct pl_group_facts *f)
{
    bool pays = private_pays(f);
    pl_decide_way(c, d, group_names[GROUPS_COPIES], pays ? -1 : cost_of_groups(c, f, GROUPS_COPIES),
                  pays ? hd_asprintf(c->a, "%.0f bytes fit the cache", dense_bytes(f)) : NULL);
    pl_decide_way(c, d, group_names[GROUPS_SHARED], -1, "copies need no atomics");
    pl_decide_way(c, d, group_names[GROUPS_HASH], cost_of_groups(c, f, GROUPS_HASH), NULL);
}

static void tell_shared(struct ctx *c, struct pl_decision *d, const struct pl_group_facts *f, int taken)
{
    const char *no_dense = no_dense_groups(c, f);
    const char *no_share = no_dense                                     ? no_dense
                           : f->sharable || !pl_shared_groups_pay(c, f) ? NULL
                                                                        : "no atomics for an accumulator";
    double bytes = dense_bytes(f), hash = cost_of_groups(c, f, GROUPS_HASH);
    double copies = cost_of_groups(c, f, GROUPS_COPIES), shared = cost_of_groups(c, f, GROUPS_SHARED);
    pl_decide_way(c, d, group_names[GROUPS_COPIES], f->packed ? copies : -1,
                  no_dense ? no_dense : too_large(c, bytes, copies < (taken == GROUPS_SHARED ? shared : hash)));
    pl_decide_way(c, d, group_names[GROUPS_SHARED], f->packed ? shared : -1,
                  no_share || taken == GROUPS_SHARED ? no_share : too_large(c, bytes, shared < hash));
    pl_decide_way(c, d, group_names[GROUPS_HASH], hash, NULL);
}

/* The state that groups would have. */
static int state_of_groups(const struct ctx *c, const struct pl_group_facts *f)
{
    if (f->nkept == 0)
        return GROUPS_ONE;
    if (private_pays(f))
        return GROUPS_COPIES;
    if (pl_shared_groups_pay(c, f) && f->sharable)
        return GROUPS_SHARED;
    return !no_dense_groups(c, f) && pl_agg_copies_fit(dense_bytes(f), c->opt.threads, f->rows) ? GROUPS_COPIES
                                                                                                : GROUPS_HASH;
}

void pl_choose_groups(struct ctx *c, struct pl_node *n, const struct pl_group_facts *f, struct pl_grouping *g)
{
    const struct pl_fold_facts *o = f->fold;
    int taken = state_of_groups(c, f);
    tell_keys(c, n, f);
    struct pl_decision *d = pl_decide(c, n, "groups");
    if (o->parented) {
        double ns = pl_cost_agg_fold(o->parents, o->tested, o->long_children, c->opt.on_gpu);
        g->fold = !o->why_not && ns < cost_of_groups(c, f, taken) ? o : NULL;
        pl_decide_way(c, d, group_names[GROUPS_FOLD], o->why_not ? -1 : ns, o->why_not);
    }
    if (taken == GROUPS_ONE)
        pl_decide_way(c, d, group_names[GROUPS_ONE], -1, "no keys");
    if (taken == GROUPS_COPIES)
        tell_copies(c, d, f);
    if (taken == GROUPS_SHARED || taken == GROUPS_HASH)
        tell_shared(c, d, f, taken);
    pl_decide_take(d, group_names[g->fold ? GROUPS_FOLD : taken]);
    g->shared = taken == GROUPS_SHARED && !g->fold;
    g->kind = taken == GROUPS_ONE ? RT_STATE_AGG_SCALAR : taken == GROUPS_HASH ? RT_STATE_AGG_HASH : RT_STATE_AGG_DENSE;
}
