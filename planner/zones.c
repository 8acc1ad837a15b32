/* Programs are planned for the values that parameters have, so that zones are tested once for these, here. */
#include "planner/zones.h"

#include "frontend/zones.h"
#include "planner/ends.h"
#include "runtime/base/vec.h"

/* Alternatives of one condition; lists of more constants are sets mostly. */
enum { TESTS_MAX = 64 };
/* A GPU reads about so many rows of a scan in the time of a launch, some 10 us: 30 MB. */
static const uint64_t LAUNCH_ROWS = 4 << 20;

/* Ordinals from lo to hi; none: no value can be there. */
struct ordinals {
    uint64_t lo, hi;
    bool none;
};

/* A test as ordinals of its column. */
struct compiled {
    enum rt_zone_test_kind kind;
    const struct fe_zone *zones;
    uint64_t rows; /* of the table */
    struct ordinals o;
    int nset;
    struct ordinals *set; /* IN: ascending */
};

struct zoning {
    struct ctx *c;
    struct pl_pipeline *q;
    int steps; /* in front of the condition that is looked at */
    int nconditions;
    struct rt_zone_condition *conditions;
};

/* ---- conditions ------------------------------------------------------------------------------ */

/* A value of the source's row: column of its table that has zones, or -1. Widened numbers are the same ones. */
static int zoned_column(const struct zoning *z, int e)
{
    const struct pl_expr *x = &z->c->exprs.v[e];
    const struct pl_pipeline *q = z->q;
    while (x->op == FE_WIDEN)
        x = &z->c->exprs.v[x->args[0]];
    for (int i = 0; x->op == FE_COL && i < z->steps; i++) {
        const struct pl_step *s = &q->steps[i];
        if (s->slot != x->slot || s->kind != PL_STEP_LOAD_COLUMN || s->row_slot != q->source_slot)
            continue;
        bool text = s->table->cols[s->column].storage == FE_STORE_TEXT;
        return !text && x->phys != RT_STR && s->table->cols[s->column].zones ? s->column : -1;
    }
    return -1;
}

static bool is_constant(const struct pl_expr *x)
{
    return x->op == FE_LIT && !x->is_null && x->phys != RT_STR && x->phys != RT_BOOL;
}

static bool test_of(enum fe_op op, bool sides_exchanged, enum rt_zone_test_kind *out)
{
    static const struct {
        enum fe_op op;
        enum rt_zone_test_kind test, exchanged;
    } tests[] = {
        {FE_LT, RT_ZONE_LESS, RT_ZONE_GREATER}, {FE_LE, RT_ZONE_LESS_EQUAL, RT_ZONE_GREATER_EQUAL},
        {FE_GT, RT_ZONE_GREATER, RT_ZONE_LESS}, {FE_GE, RT_ZONE_GREATER_EQUAL, RT_ZONE_LESS_EQUAL},
        {FE_EQ, RT_ZONE_EQUAL, RT_ZONE_EQUAL},  {FE_NE, RT_ZONE_NOT_EQUAL, RT_ZONE_NOT_EQUAL},
    };
    for (size_t i = 0; i < HD_COUNT(tests); i++)
        if (tests[i].op == op) {
            *out = sides_exchanged ? tests[i].exchanged : tests[i].test;
            return true;
        }
    return false;
}

static bool add_test(const struct zoning *z, struct rt_zone_condition *to, struct rt_zone_test t)
{
    if (t.column < 0 || to->ntests == TESTS_MAX)
        return false;
    hd_grow1(z->c->a, to->tests, to->ntests);
    to->tests[to->ntests++] = t;
    return true;
}

static bool add_comparison(const struct zoning *z, struct rt_zone_condition *to, const struct pl_expr *x)
{
    for (int side = 0; side < 2; side++) {
        const struct pl_expr *with = &z->c->exprs.v[x->args[1 - side]];
        struct rt_zone_test t = {.arg = with->arg};
        if (!is_constant(with) || !test_of(x->op, side, &t.kind))
            continue;
        t.column = zoned_column(z, x->args[side]);
        return add_test(z, to, t);
    }
    return false;
}

static bool add_list(const struct zoning *z, struct rt_zone_condition *to, const struct pl_expr *x)
{
    int column = zoned_column(z, x->args[0]);
    for (int i = 1; i < x->nargs; i++) {
        const struct pl_expr *with = &z->c->exprs.v[x->args[i]];
        struct rt_zone_test t = {.kind = RT_ZONE_EQUAL, .column = column, .arg = with->arg};
        if (!is_constant(with) || !add_test(z, to, t))
            return false;
    }
    return true;
}

/* `not` of the expression. */
static bool add_negation(const struct zoning *z, struct rt_zone_condition *to, const struct pl_expr *x)
{
    struct rt_zone_test t = {.arg = -1};
    if (x->op == FE_IS_NULL) {
        t.kind = RT_ZONE_NOT_NULL;
        t.column = zoned_column(z, x->args[0]);
        return add_test(z, to, t);
    }
    if (x->op != FE_EQ)
        return false;
    for (int side = 0; side < 2; side++) {
        const struct pl_expr *with = &z->c->exprs.v[x->args[1 - side]];
        if (is_constant(with))
            return add_test(z, to, (struct rt_zone_test){RT_ZONE_NOT_EQUAL, zoned_column(z, x->args[side]), with->arg});
    }
    return false;
}

/* Tests of which one holds where the expression is true. False: zones cannot tell. */
static bool add_tests(const struct zoning *z, struct rt_zone_condition *to, int e)
{
    const struct pl_expr *x = &z->c->exprs.v[e];
    enum rt_zone_test_kind kind;
    if (x->op == FE_OR) {
        for (int i = 0; i < x->nargs; i++)
            if (!add_tests(z, to, x->args[i]))
                return false;
        return true;
    }
    if (test_of(x->op, false, &kind))
        return add_comparison(z, to, x);
    if (x->op == FE_IN)
        return add_list(z, to, x);
    if (pl_is_set(x->op))
        return add_test(z, to, (struct rt_zone_test){RT_ZONE_IN, zoned_column(z, x->args[0]), x->arg});
    if (x->op == FE_IS_NULL)
        return add_test(z, to, (struct rt_zone_test){RT_ZONE_IS_NULL, zoned_column(z, x->args[0]), -1});
    return x->op == FE_NOT && add_negation(z, to, &z->c->exprs.v[x->args[0]]);
}

static void take_condition(void *ctx, int steps, int e)
{
    struct zoning *z = ctx;
    struct rt_zone_condition one = {0};
    z->steps = steps;
    if (!add_tests(z, &one, e))
        return;
    hd_grow1(z->c->a, z->conditions, z->nconditions);
    z->conditions[z->nconditions++] = one;
}

/* ---- zones ------------------------------------------------------------------------------------- */

/* (value - base) / factor, rounded up or down. */
static hd_i128 stored_number(const struct fe_table_column *c, hd_i128 value, bool up)
{
    hd_i128 diff, most = (hd_i128)(~(hd_u128)0 >> 1);
    if (__builtin_sub_overflow(value, c->base, &diff))
        return c->base > 0 ? ~most : most;
    hd_i128 q = diff / c->factor, rest = diff % c->factor;
    return q + (up ? rest > 0 : -(rest < 0));
}

/* INT, DICT: of logical values (codes) from lo to hi. Those of INT of 16 bytes may take in more. */
static struct ordinals range_ordinals(const struct fe_table_column *c, hd_i128 lo, hd_i128 hi)
{
    struct ordinals o = {.none = lo > hi};
    if (o.none)
        return o;
    if (c->storage == FE_STORE_DICT) {
        o.none = hi < 0 || lo > UINT32_MAX;
        o.lo = lo < 0 ? 0 : (uint64_t)lo;
        o.hi = hi > UINT32_MAX ? UINT32_MAX : (uint64_t)hi;
        return o;
    }
    hd_i128 first = stored_number(c, lo, true), last = stored_number(c, hi, false);
    o.none = first > last || (c->width <= 8 && (first > INT64_MAX || last < INT64_MIN));
    o.lo = fe_stored_ordinal(first);
    o.hi = fe_stored_ordinal(last);
    return o;
}

static struct ordinals all_ordinals(void)
{
    return (struct ordinals){0, UINT64_MAX, false};
}

/* Of numbers op v. NOT_EQUAL: of v, as EQUAL. */
static struct ordinals int_ordinals(const struct fe_table_column *c, enum rt_zone_test_kind kind, hd_i128 v)
{
    hd_i128 most = (hd_i128)(~(hd_u128)0 >> 1), least = ~most;
    switch (kind) {
    case RT_ZONE_LESS: return v == least ? (struct ordinals){.none = true} : range_ordinals(c, least, v - 1);
    case RT_ZONE_LESS_EQUAL: return range_ordinals(c, least, v);
    case RT_ZONE_GREATER: return v == most ? (struct ordinals){.none = true} : range_ordinals(c, v + 1, most);
    case RT_ZONE_GREATER_EQUAL: return range_ordinals(c, v, most);
    case RT_ZONE_EQUAL:
    case RT_ZONE_NOT_EQUAL: return range_ordinals(c, v, v);
    case RT_ZONE_IN:
    case RT_ZONE_IS_NULL:
    case RT_ZONE_NOT_NULL: break;
    }
    return all_ordinals();
}

/* Likewise. Every float of 64 bits has the ordinal behind that of the next smaller one. */
static struct ordinals real_ordinals(enum rt_zone_test_kind kind, double v)
{
    uint64_t at = fe_real_ordinal(v);
    switch (kind) {
    case RT_ZONE_LESS: return (struct ordinals){0, at - 1, at == 0};
    case RT_ZONE_LESS_EQUAL: return (struct ordinals){0, at, false};
    case RT_ZONE_GREATER: return (struct ordinals){at + 1, UINT64_MAX, at == UINT64_MAX};
    case RT_ZONE_GREATER_EQUAL: return (struct ordinals){at, UINT64_MAX, false};
    case RT_ZONE_EQUAL:
    case RT_ZONE_NOT_EQUAL: return (struct ordinals){at, at, false};
    case RT_ZONE_IN:
    case RT_ZONE_IS_NULL:
    case RT_ZONE_NOT_NULL: break;
    }
    return all_ordinals();
}

static void compile_set(struct hd_arena *a, const struct fe_table_column *c, const struct rt_arg *set,
                        struct compiled *out)
{
    out->set = HD_NEWN(a, struct ordinals, set->nset + 1);
    for (int i = 0; i < set->nset; i++) {
        hd_i128 v = set->phys == RT_I32 ? ((const int32_t *)set->set)[i] : ((const int64_t *)set->set)[i];
        struct ordinals o = range_ordinals(c, v, v);
        if (!o.none)
            out->set[out->nset++] = o;
    }
}

/* False: such a set is of strings or floats. */
static bool compile(const struct zoning *z, const struct rt_zone_test *t, struct compiled *out)
{
    const struct fe_table *table = z->q->spec->table;
    const struct fe_table_column *c = &table->cols[t->column];
    const struct rt_arg *a = t->arg < 0 ? NULL : &z->c->args.v[t->arg];
    bool real = c->storage == FE_STORE_F64 || c->storage == FE_STORE_F32;
    *out = (struct compiled){.kind = t->kind, .zones = c->zones, .rows = (uint64_t)table->rows, .o = all_ordinals()};
    if (!a)
        return true;
    if (rt_phys_is_float(a->phys) != real)
        return false;
    if (t->kind == RT_ZONE_IN) {
        if (a->phys != RT_I32 && a->phys != RT_I64)
            return false;
        compile_set(z->c->a, c, a, out);
    } else {
        out->o = real ? real_ordinals(t->kind, a->phys == RT_F32 ? (float)a->f : a->f) : int_ordinals(c, t->kind, a->i);
    }
    /* Where ordinals stand for several values, a zone of one ordinal may have others. */
    return t->kind != RT_ZONE_NOT_EQUAL || real || c->width <= 8;
}

/* A value of the zone may be one of those. */
static bool meets(const struct fe_zone *z, const struct ordinals *o)
{
    return !o->none && fe_zone_has_values(z) && z->min <= o->hi && z->max >= o->lo;
}

/* Elements of the set begin to reach the zone from some on, and the first such one tells. */
static bool set_meets(const struct compiled *t, const struct fe_zone *zone)
{
    int lo = 0, hi = t->nset;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->set[mid].hi < zone->min)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->nset && meets(zone, &t->set[lo]);
}

static bool may_pass(const struct compiled *t, int64_t k)
{
    const struct fe_zone *zone = &t->zones[k];
    switch (t->kind) {
    case RT_ZONE_LESS:
    case RT_ZONE_LESS_EQUAL:
    case RT_ZONE_GREATER:
    case RT_ZONE_GREATER_EQUAL:
    case RT_ZONE_EQUAL: return meets(zone, &t->o);
    case RT_ZONE_NOT_EQUAL:
        return fe_zone_has_values(zone) && (t->o.none || zone->min != zone->max || zone->min != t->o.lo);
    case RT_ZONE_IN: return set_meets(t, zone);
    case RT_ZONE_IS_NULL: return zone->nulls > 0;
    case RT_ZONE_NOT_NULL: return fe_zone_has_values(zone);
    }
    HD_BUG("test %d of zones", (int)t->kind);
}

/* Zones that the condition rules out leave `visited`; whether there are any that were in it. */
static bool rule_out(const struct zoning *z, const struct rt_zone_condition *x, int64_t n, bool *visited)
{
    struct compiled *t = HD_NEWN(z->c->a, struct compiled, x->ntests + 1);
    bool any = false;
    for (int i = 0; i < x->ntests; i++)
        if (!compile(z, &x->tests[i], &t[i]))
            return false;
    for (int64_t k = 0; k < n; k++) {
        bool may = false;
        for (int i = 0; i < x->ntests && visited[k] && !may; i++)
            may = may_pass(&t[i], k);
        any |= visited[k] && !may;
        visited[k] &= may;
    }
    return any;
}

/* ---- ranges ------------------------------------------------------------------------------------ */

static void add_ranges(const struct zoning *z, int64_t n, const bool *visited)
{
    struct rt_zoning *to = &z->q->spec->zones;
    uint64_t rows = (uint64_t)z->q->spec->table->rows;
    to->n = n;
    for (int64_t k = 0; k < n; k++) {
        uint64_t begin = (uint64_t)k << FE_ZONE_SHIFT, end = HD_MIN(begin + FE_ZONE_ROWS, rows);
        to->visited += visited[k];
        if (!visited[k])
            continue;
        if (k > 0 && visited[k - 1]) {
            to->ranges[to->nranges - 1].end = end;
            continue;
        }
        hd_grow1(z->c->a, to->ranges, to->nranges);
        to->ranges[to->nranges++] = (struct rt_source_rows){begin, end};
    }
}

/* They are verified before the execution. */
static void use_zones(const struct zoning *z, int column)
{
    struct rt_pipeline *r = z->q->spec;
    for (int i = 0; i < r->ntouched; i++)
        if (r->touched[i].kind == FE_PART_ZONES && r->touched[i].number == column)
            return;
    hd_grow1(z->c->a, r->touched, r->ntouched);
    r->touched[r->ntouched++] = (struct fe_table_part){r->table, FE_PART_ZONES, column};
}

/* False: damaged ones are not looked at, and the execution ends in that error. */
static bool are_sound(const struct zoning *z, const struct rt_zone_condition *x)
{
    bool all = true;
    for (int i = 0; i < x->ntests; i++) {
        struct hd_err damaged;
        hd_err_init(&damaged);
        struct fe_table_part part = {z->q->spec->table, FE_PART_ZONES, x->tests[i].column};
        bool sound = !z->c->opt.touch || z->c->opt.touch(part, &damaged) == 0;
        hd_err_release(&damaged);
        if (!sound)
            use_zones(z, part.number);
        all &= sound;
    }
    return all;
}

static void keep(const struct zoning *z, struct rt_zone_condition x)
{
    struct rt_zoning *to = &z->q->spec->zones;
    hd_grow1(z->c->a, to->conditions, to->nconditions);
    to->conditions[to->nconditions++] = x;
    for (int i = 0; i < x.ntests; i++)
        use_zones(z, x.tests[i].column);
}

void pl_seal_zones(struct ctx *c, struct pl_pipeline *q)
{
    struct zoning z = {.c = c, .q = q};
    if (c->opt.no_zones || q->spec->source != RT_SOURCE_TABLE || q->spec->table->device)
        return;
    pl_visit_conditions(c, q, take_condition, &z);
    if (!z.nconditions)
        return;
    int64_t n = fe_zones_of(q->spec->table->rows);
    bool *visited = HD_NEWN(c->a, bool, n + 1);
    for (int64_t k = 0; k < n; k++)
        visited[k] = true;
    for (int i = 0; i < z.nconditions; i++)
        if (are_sound(&z, &z.conditions[i]) && rule_out(&z, &z.conditions[i], n, visited))
            keep(&z, z.conditions[i]);
    if (!q->spec->zones.nconditions)
        return;
    add_ranges(&z, n, visited);
    q->spec->zones.bridged = c->opt.cached_bytes > 0 ? 0 : LAUNCH_ROWS; /* tests: as if the GPU were small */
}

double pl_zones_share(const struct rt_pipeline *r)
{
    double rows = 0;
    if (!r->zones.nconditions)
        return 1;
    for (int i = 0; i < r->zones.nranges; i++)
        rows += (double)(r->zones.ranges[i].end - r->zones.ranges[i].begin);
    return rows / HD_MAX((double)r->table->rows, 1.0);
}
