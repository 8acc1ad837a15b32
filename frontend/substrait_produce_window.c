/* Windows for Substrait, as functions in a projection; the first rows of groups as rows whose number is low enough. */
#include "frontend/substrait_produce.h"

#include <string.h>

/* ---- frames ------------------------------------------------------------------------------ */

static struct cJSON *interval(struct sp *p, const struct fe_frame_end *e)
{
    struct cJSON *out = fe_make_object(p->arena), *literal = fe_make_object(p->arena), *of = fe_make_object(p->arena);
    int64_t n = (int64_t)e->by->value.i, unit = 0;
    static const struct {
        enum fe_field field;
        const char *member;
        int64_t count;
    } units[] = {{FE_YEAR, "years", 1},    {FE_DECADE, "years", 10},   {FE_CENTURY, "years", 100},
                 {FE_MONTH, "months", 1},  {FE_QUARTER, "months", 3},  {FE_WEEK, "days", 7},
                 {FE_DAY, "days", 1},      {FE_HOUR, "seconds", 3600}, {FE_MINUTE, "seconds", 60},
                 {FE_SECOND, "seconds", 1}};
    const char *member = NULL;
    for (size_t i = 0; i < HD_COUNT(units); i++)
        if (units[i].field == e->unit) {
            member = units[i].member;
            unit = units[i].count;
        }
    if (!member || e->by->op != FE_LIT || n > INT32_MAX / unit)
        return NULL;
    fe_put(of, member, fe_make_number(p->arena, (double)(n * unit)));
    fe_put(literal, *member == 'y' || *member == 'm' ? "intervalYearToMonth" : "intervalDayToSecond", of);
    fe_put(out, "literal", literal);
    return out;
}

static int put_offset(struct sp *p, const struct fe_window_said *f, const struct fe_frame_end *e, struct cJSON *to)
{
    struct cJSON *x = NULL;
    if (!e->interval && e->by->op == FE_LIT && hd_type_is_int(e->by->type)) {
        fe_put(to, "offset", fe_make_text(p->arena, hd_asprintf(p->arena, "%lld", (long long)e->by->value.i)));
        return 0;
    }
    if (!e->interval)
        HD_TRY(sp_expr(p, e->by, 0, &x));
    else if (!(x = interval(p, e)))
        return sp_refuse(p, f->path, "the offset of this frame is not written as Substrait");
    fe_put(to, "offsetExpr", x);
    return 0;
}

static int put_bound(struct sp *p, const struct fe_window_said *f, const struct fe_frame_end *e, const char *key,
                     struct cJSON *call)
{
    static const char *const names[] = {[FE_FRAME_OPEN] = "unbounded",
                                        [FE_FRAME_HERE] = "currentRow",
                                        [FE_FRAME_PRECEDING] = "preceding",
                                        [FE_FRAME_FOLLOWING] = "following"};
    struct cJSON *bound = fe_make_object(p->arena), *of = fe_make_object(p->arena);
    if (e->by)
        HD_TRY(put_offset(p, f, e, of));
    fe_put(bound, names[e->at], of);
    fe_put(call, key, bound);
    return 0;
}

static int put_frame(struct sp *p, const struct fe_window_said *f, struct cJSON *call)
{
    if (f->excludes)
        return sp_refuse(p, f->path, "Substrait has no frames that exclude rows");
    if (f->unit == FE_FRAME_GROUPS)
        return sp_refuse(p, f->path, "Substrait has no frames of groups");
    HD_TRY(put_bound(p, f, &f->end, "upperBound", call));
    HD_TRY(put_bound(p, f, &f->start, "lowerBound", call));
    fe_put(call, "boundsType",
           fe_make_string(p->arena, f->unit == FE_FRAME_ROWS ? "BOUNDS_TYPE_ROWS" : "BOUNDS_TYPE_RANGE"));
    return 0;
}

/* ---- functions --------------------------------------------------------------------------- */

static int put_arguments(struct sp *p, const struct fe_window_said *f, struct cJSON *call)
{
    const struct fe_expr *all[] = {f->arg, f->by, f->n, f->other, f->q, f->separator}, *given[6];
    struct cJSON *args = fe_make_list(p->arena), *x = NULL;
    int n = 0;
    for (size_t i = 0; i < HD_COUNT(all); i++)
        if (all[i]) {
            given[n++] = all[i];
            HD_TRY(sp_expr(p, all[i], 0, &x));
            sp_add_value(p, args, x);
        }
    fe_put(call, "functionReference", fe_make_number(p->arena, sp_find_aggregate(p, f->fn, n, given)));
    fe_put(call, "arguments", args);
    return 0;
}

/* What the partition and the order of a call are, keys of the sort below by their numbers, and the frame. */
struct written {
    int npartition, nkeys; /* the first are of the partition, those behind it of the order */
    bool whole; /* the frame is the partition, whatever the plan says */
};

static int put_keys(struct sp *p, const struct fe_node *w, struct written as, struct cJSON *call)
{
    struct cJSON *list = fe_make_list(p->arena), *x = NULL;
    int n = as.npartition, nkeys = as.nkeys;
    for (int i = 0; i < n; i++) {
        HD_TRY(sp_expr(p, w->u.sort.keys[i].expr, 0, &x));
        fe_push(list, x);
    }
    if (n)
        fe_put(call, "partitions", list);
    if (nkeys == n)
        return 0;
    HD_TRY(sp_sorts(p, w->u.sort.keys + n, nkeys - n, &x));
    fe_put(call, "sorts", x);
    return 0;
}

static int finish_call(struct sp *p, const struct fe_column *c, const char *path, bool distinct, struct cJSON *call,
                       struct cJSON **out)
{
    struct cJSON *type = NULL;
    HD_TRY(sp_type(p, c->type, c->nullable, path, &type));
    fe_put(call, "phase", fe_make_string(p->arena, "AGGREGATION_PHASE_INITIAL_TO_RESULT"));
    fe_put(call, "outputType", type);
    fe_put(call, "invocation",
           fe_make_string(p->arena, distinct ? "AGGREGATION_INVOCATION_DISTINCT" : "AGGREGATION_INVOCATION_ALL"));
    *out = fe_make_object(p->arena);
    fe_put(*out, "windowFunction", call);
    return 0;
}

static bool opens(const struct fe_frame_end *e)
{
    return e->at == FE_FRAME_OPEN;
}

static bool opens_or_here(const struct fe_frame_end *e)
{
    return e->at == FE_FRAME_OPEN || e->at == FE_FRAME_HERE;
}

/* Where rows that tie make a difference the sorts tell them apart as Heddle does. A frame of range up to a row's peers
 * would then be another one: it stays what it is where the value is that of its other end, and the last or first of the
 * peers is that of a partition by the order's keys. */
static int keys_and_frame(struct sp *p, const struct fe_node *w, const struct fe_window_said *f, struct written *out)
{
    int ngroup = w->u.sort.ngroup, stated = w->u.sort.nstated, all = w->u.sort.nkeys;
    *out = (struct written){ngroup, f->ties ? all : stated, false};
    if (!f->ties || stated == all || !f->framed || f->unit != FE_FRAME_RANGE || (opens(&f->start) && opens(&f->end)))
        return 0;
    bool first = !strcmp(f->fn, "first_value"), last = !strcmp(f->fn, "last_value");
    if ((first || last) && opens_or_here(&f->start) && opens_or_here(&f->end)) {
        bool peers = !opens(first ? &f->start : &f->end);
        *out = (struct written){peers ? stated : ngroup, all, peers};
        return 0;
    }
    return sp_refuse(p, f->path, "Substrait has no %s of a frame of range in which rows that tie have an order", f->fn);
}

static int function(struct sp *p, const struct fe_node *w, const struct fe_window_said *f, const struct fe_column *c,
                    struct cJSON **out)
{
    struct cJSON *call = fe_make_object(p->arena);
    struct written as;
    struct fe_window_said said = *f;
    if (f->ignore_nulls)
        return sp_refuse(p, f->path, "Substrait has no %s that ignores NULLs", f->fn);
    HD_TRY(keys_and_frame(p, w, f, &as));
    HD_TRY(put_arguments(p, f, call));
    HD_TRY(put_keys(p, w, as, call));
    if (as.whole)
        said.start.at = said.end.at = FE_FRAME_OPEN;
    if (f->framed)
        HD_TRY(put_frame(p, &said, call));
    return finish_call(p, c, f->path, f->distinct, call, out);
}

int sp_window(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    const struct fe_node *w = n->inputs[0];
    const struct fe_window *win = w->u.sort.window;
    struct cJSON *body, *input = NULL, *exprs = fe_make_list(p->arena), *x = NULL;
    HD_TRY(p->rel(p, win->over, &input));
    for (int i = 0; i < win->nsaid; i++) {
        HD_TRY(function(p, w, &win->said[i], &n->cols[win->over->ncols + i], &x));
        fe_push(exprs, x);
    }
    *out = sp_new_rel(p, "project", input, &body);
    fe_put(body, "expressions", exprs);
    return 0;
}

/* ---- tops of groups ---------------------------------------------------------------------- */

static int compare(struct sp *p, const char *name, int field, const struct fe_expr *with, struct cJSON **out)
{
    struct cJSON *args = fe_make_list(p->arena), *x = NULL;
    HD_TRY(sp_expr(p, with, 0, &x));
    sp_add_value(p, args, sp_field(p, field));
    sp_add_value(p, args, x);
    return sp_bool_call(p, "comparison", name, false, args, out);
}

/* number > offset and number <= offset + limit. */
static int within(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    const struct fe_expr *limit = n->u.sort.limit, *offset = n->u.sort.offset;
    struct fe_expr last = *limit;
    struct cJSON *both[2];
    HD_TRY(offset ? compare(p, "gt:any_any", n->ncols, offset, &both[1]) : 0);
    if (offset && (limit->op != FE_LIT || offset->op != FE_LIT || last.value.i > INT64_MAX - offset->value.i))
        return sp_refuse(p, n->path, "a top with parameters for limit and offset is not written as Substrait");
    if (offset)
        last.value.i += offset->value.i;
    HD_TRY(compare(p, "lte:any_any", n->ncols, &last, &both[0]));
    return sp_and(p, offset ? 2 : 1, both, out);
}

int sp_top(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    const struct fe_column number = {"", hd_type_of(HD_INT64), false};
    struct cJSON *body, *call = fe_make_object(p->arena), *exprs = fe_make_list(p->arena), *x = NULL;
    bool keep = n->u.sort.keep;
    if (keep && n->u.sort.offset)
        return sp_refuse(p, n->path, "a top with an offset that keeps ties is not written as Substrait");
    HD_TRY(p->rel(p, n->inputs[0], out));
    fe_put(call, "functionReference",
           fe_make_number(p->arena, sp_find_aggregate(p, keep ? "rank" : "row_number", 0, NULL)));
    struct written as = {n->u.sort.ngroup, keep ? n->u.sort.nstated : n->u.sort.nkeys, false};
    HD_TRY(put_keys(p, n, as, call));
    HD_TRY(finish_call(p, &number, n->path, false, call, &x));
    fe_push(exprs, x);
    *out = sp_new_rel(p, "project", *out, &body);
    fe_put(body, "expressions", exprs);
    HD_TRY(within(p, n, &x));
    *out = sp_new_rel(p, "filter", *out, &body);
    fe_put(body, "condition", x);
    *out = sp_emit(p, *out, n->ncols, NULL, 0);
    return 0;
}
