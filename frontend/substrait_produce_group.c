/* Groupings for Substrait. */
#include "frontend/substrait_produce.h"

static struct cJSON *set_of(struct sp *p, const struct fe_node *n, const bool *has)
{
    struct cJSON *set = fe_make_object(p->arena), *references = fe_make_list(p->arena);
    for (int i = 0; i < n->u.agg.nkeys; i++)
        if (!has || has[i])
            fe_push(references, fe_make_number(p->arena, i));
    fe_put(set, "expressionReferences", references);
    return set;
}

static int put_groupings(struct sp *p, const struct fe_node *n, struct cJSON *body)
{
    struct cJSON *keys = fe_make_list(p->arena), *sets = fe_make_list(p->arena), *x = NULL;
    for (int i = 0; i < n->u.agg.nkeys; i++) {
        HD_TRY(sp_expr(p, n->u.agg.keys[i], 0, &x));
        fe_push(keys, x);
    }
    for (int i = 0; i < n->u.agg.nsets; i++)
        fe_push(sets, set_of(p, n, n->u.agg.sets[i]));
    if (!n->u.agg.nsets)
        fe_push(sets, set_of(p, n, NULL));
    if (n->u.agg.nkeys)
        fe_put(body, "groupingExpressions", keys);
    fe_put(body, "groupings", sets);
    return 0;
}

static int measure(struct sp *p, const struct fe_agg *g, struct cJSON **out)
{
    const struct fe_expr *all[] = {g->arg, g->by, g->q, g->separator}, *given[4];
    struct cJSON *call = fe_make_object(p->arena), *args = fe_make_list(p->arena), *type = NULL, *x = NULL;
    int n = 0;
    for (size_t i = 0; i < HD_COUNT(all); i++)
        if (all[i]) {
            given[n++] = all[i];
            HD_TRY(sp_expr(p, all[i], 0, &x));
            sp_add_value(p, args, x);
        }
    HD_TRY(sp_type(p, g->type, true, g->path, &type));
    const char *name = g->fn == FE_AGG_COUNT_STAR ? "count" : fe_agg_name(g->fn);
    fe_put(call, "functionReference", fe_make_number(p->arena, sp_find_aggregate(p, name, n, given)));
    fe_put(call, "arguments", args);
    if (g->norder) { /* first and last: those that break ties, too */
        HD_TRY(sp_sorts(p, g->order, g->norder, &x));
        fe_put(call, "sorts", x);
    }
    fe_put(call, "phase", fe_make_string(p->arena, "AGGREGATION_PHASE_INITIAL_TO_RESULT"));
    fe_put(call, "outputType", type);
    fe_put(call, "invocation",
           fe_make_string(p->arena, g->distinct ? "AGGREGATION_INVOCATION_DISTINCT" : "AGGREGATION_INVOCATION_ALL"));
    *out = fe_make_object(p->arena);
    fe_put(*out, "measure", call);
    if (g->filter) {
        HD_TRY(sp_expr(p, g->filter, 0, &x));
        fe_put(*out, "filter", x);
    }
    return 0;
}

/* ---- grouping() -------------------------------------------------------------------------- */

static int64_t lacking(const struct fe_agg *g, const bool *has)
{
    int64_t bits = 0;
    for (int i = 0; i < g->nof; i++)
        bits = bits << 1 | (has && !has[g->of[i]]);
    return bits;
}

/* By the number of the row's set, which is the last field. */
static int grouping(struct sp *p, const struct fe_node *n, const struct fe_agg *g, int number, struct cJSON **out)
{
    struct cJSON *body = fe_make_object(p->arena), *ifs = fe_make_list(p->arena);
    int nsets = n->u.agg.nsets;
    if (nsets < 2) {
        *out = sp_int_literal(p, "i64", lacking(g, nsets ? n->u.agg.sets[0] : NULL));
        return 0;
    }
    for (int i = 0; i + 1 < nsets; i++) {
        struct cJSON *clause = fe_make_object(p->arena), *args = fe_make_list(p->arena), *is = NULL;
        sp_add_value(p, args, sp_field(p, number));
        sp_add_value(p, args, sp_int_literal(p, "i32", i));
        HD_TRY(sp_bool_call(p, "comparison", "equal:any_any", false, args, &is));
        fe_put(clause, "if", is);
        fe_put(clause, "then", sp_int_literal(p, "i64", lacking(g, n->u.agg.sets[i])));
        fe_push(ifs, clause);
    }
    fe_put(body, "ifs", ifs);
    fe_put(body, "else", sp_int_literal(p, "i64", lacking(g, n->u.agg.sets[nsets - 1])));
    *out = fe_make_object(p->arena);
    fe_put(*out, "ifThen", body);
    return 0;
}

/* From keys, measures and the set's number to keys and aggregates. */
static int arrange(struct sp *p, const struct fe_node *n, int nmeasures, struct cJSON **out)
{
    int nkeys = n->u.agg.nkeys, number = nkeys + nmeasures, width = number + (n->u.agg.nsets > 1), k = nkeys;
    int *fields = HD_NEWN(p->arena, int, n->ncols + 1);
    struct cJSON *body, *exprs = fe_make_list(p->arena), *x = NULL;
    if (width == n->ncols && nmeasures == n->u.agg.naggs)
        return 0;
    for (int i = 0; i < nkeys; i++)
        fields[i] = i;
    for (int i = 0; i < n->u.agg.naggs; i++) {
        const struct fe_agg *g = &n->u.agg.aggs[i];
        fields[nkeys + i] = g->fn == FE_AGG_GROUPING ? width++ : k++;
        if (g->fn != FE_AGG_GROUPING)
            continue;
        HD_TRY(grouping(p, n, g, number, &x));
        fe_push(exprs, x);
    }
    if (fe_first_json(exprs)) {
        *out = sp_new_rel(p, "project", *out, &body);
        fe_put(body, "expressions", exprs);
    }
    *out = sp_emit(p, *out, n->ncols, fields, 0);
    return 0;
}

int sp_aggregate(struct sp *p, const struct fe_node *n, struct cJSON **out)
{
    struct cJSON *body, *input = NULL, *measures = fe_make_list(p->arena), *x = NULL;
    int nmeasures = 0;
    HD_TRY(p->rel(p, n->inputs[0], &input));
    *out = sp_new_rel(p, "aggregate", input, &body);
    HD_TRY(put_groupings(p, n, body));
    for (int i = 0; i < n->u.agg.naggs; i++) {
        if (n->u.agg.aggs[i].fn == FE_AGG_GROUPING)
            continue;
        HD_TRY(measure(p, &n->u.agg.aggs[i], &x));
        fe_push(measures, x);
        nmeasures++;
    }
    if (nmeasures)
        fe_put(body, "measures", measures);
    return arrange(p, n, nmeasures, out);
}
