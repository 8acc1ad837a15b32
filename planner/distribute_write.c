/* The document that a cut plan is: docs/scale.md. */
#include <string.h>

#include "frontend/json_make.h"
#include "frontend/value.h"
#include "planner/distribute_fragment.h"
#include "runtime/base/strbuf.h"

/* ---- what a tree of operators reads ------------------------------------------------------------------------------- */

struct reads {
    struct dist *d;
    bool *fragments; /* [fragment] */
    bool *shared; /* [shared subplan] */
};

static void visit_op(struct reads *r, const struct cJSON *v, const char *op);

static void visit(struct reads *r, const struct cJSON *v)
{
    const char *op = fe_member_text(v, "op");
    if (op)
        visit_op(r, v, op);
    for (const struct cJSON *m = fe_first_json(v); m; m = fe_next_json(m))
        visit(r, m);
}

static void visit_op(struct reads *r, const struct cJSON *v, const char *op)
{
    const char *table = strcmp(op, "scan") == 0 ? fe_member_text(v, "table") : NULL;
    const char *name = strcmp(op, "ref") == 0 ? fe_member_text(v, "name") : NULL;
    for (int i = 0; i < r->d->fragments.n && table; i++)
        r->fragments[i] |= strcmp(r->d->fragments.v[i].table, table) == 0;
    for (int i = 0; i < r->d->plan->nshared && name; i++)
        if (strcmp(r->d->plan->shared_names[i], name) == 0 && !r->shared[i]) {
            r->shared[i] = true;
            visit(r, r->d->shared[i].rel.op);
        }
}

/* ---- plans ---------------------------------------------------------------------------------------------------------- */

static struct cJSON *value_json(struct hd_arena *a, const struct fe_value *v)
{
    struct hd_strbuf text;
    if (v->is_null)
        return fe_make_null(a);
    if (v->type.kind == HD_BOOL)
        return fe_make_bool(a, v->i != 0);
    if (v->type.kind == HD_STRING)
        return fe_make_text(a, hd_strndup(a, v->s, v->n));
    hd_strbuf_init(&text);
    fe_value_text(&text, v);
    struct cJSON *out = fe_make_string(a, text.s);
    hd_strbuf_release(&text);
    return out;
}

/* The plan's parameter with the value that it has now. */
static struct cJSON *parameter(struct dist *d, const struct fe_param *p)
{
    struct cJSON *list, *v = fe_make_object(d->a);
    for (const struct cJSON *m = fe_first_json(fe_member(fe_member(d->tree, "params"), p->name)); m;
         m = fe_next_json(m))
        if (strcmp(fe_key_of(m), "default") != 0)
            fe_put(v, fe_key_of(m), fe_copy_json(d->a, m));
    if (!p->is_list) {
        fe_put(v, "default", value_json(d->a, &p->value));
        return v;
    }
    fe_put(v, "default", list = fe_make_list(d->a));
    for (int i = 0; i < p->nlist; i++)
        fe_push(list, value_json(d->a, &p->list[i]));
    return v;
}

static struct cJSON *shared_json(struct dist *d, const bool *used)
{
    struct cJSON *v = fe_make_object(d->a);
    for (int i = 0; i < d->plan->nshared; i++)
        if (used[i])
            fe_put(v, d->plan->shared_names[i], fe_copy_json(d->a, d->shared[i].rel.op));
    return v;
}

static struct cJSON *plan_json(struct dist *d, const struct dist_fragment *f, const struct reads *r,
                               struct cJSON **bind)
{
    struct cJSON *v = fe_make_object(d->a), *params = fe_make_object(d->a), *shared = shared_json(d, r->shared);
    fe_put(v, "heddle", fe_make_number(d->a, 1));
    fe_put(v, "name", fe_make_text(d->a, hd_asprintf(d->a, "%s %s", d->plan->name ? d->plan->name : "plan", f->table)));
    if (d->plan->order_auto)
        fe_put(v, "order", fe_make_string(d->a, "auto"));
    for (int i = 0; i < d->plan->nparams; i++)
        fe_put(params, d->plan->params[i].name, parameter(d, &d->plan->params[i]));
    *bind = fe_make_list(d->a);
    if (f->every) {
        struct cJSON *both = fe_make_list(d->a);
        fe_push(both, fe_copy_json(d->a, f->root));
        fe_push(both, fe_copy_json(d->a, shared));
        const struct pl_scheme *scheme = f->own ? f->own : d->scheme;
        if (scheme || dist_in_passes(d) || d->numbers_workers)
            pl_scheme_params(d->a, scheme, both, d->workers, d->param_prefix, params, *bind);
    }
    if (fe_first_json(params))
        fe_put(v, "params", params);
    if (fe_first_json(shared))
        fe_put(v, "shared", shared);
    fe_put(v, "root", f->root);
    return v;
}

/* ---- fragments ------------------------------------------------------------------------------------------------------ */

static struct cJSON *inputs_json(struct dist *d, const struct reads *r)
{
    struct cJSON *list = fe_make_list(d->a);
    for (int i = 0; i < d->fragments.n; i++)
        if (r->fragments[i]) {
            struct cJSON *in = dist_name(d->a, "table", d->fragments.v[i].table);
            fe_put(in, "fragment", fe_make_number(d->a, i));
            fe_push(list, in);
        }
    return list;
}

/* How others get the result; some worker, or every one, reads it. */
static const char *exchange_of(const struct dist *d, int fragment, bool read_by_every)
{
    if (fragment == d->fragments.n - 1)
        return "result";
    if (d->fragments.v[fragment].kept)
        return "keep";
    if (d->fragments.v[fragment].shuffle)
        return "shuffle";
    return read_by_every ? "broadcast" : "gather";
}

static struct cJSON *fragment_json(struct dist *d, int i, const struct reads *r, bool read_by_every)
{
    const struct dist_fragment *f = &d->fragments.v[i];
    struct cJSON *v = fe_make_object(d->a), *bind;
    struct cJSON *plan = plan_json(d, f, r, &bind);
    fe_put(v, "id", fe_make_number(d->a, i));
    fe_put(v, "workers", fe_make_string(d->a, f->every ? "every" : "one"));
    fe_put(v, "inputs", inputs_json(d, r));
    fe_put(v, "exchange", fe_make_string(d->a, exchange_of(d, i, read_by_every)));
    if (f->shuffle)
        fe_put(v, "column", fe_make_string(d->a, f->shuffle));
    fe_put(v, "rows", fe_make_number(d->a, (double)(int64_t)HD_MIN(f->rows, 9e15)));
    fe_put(v, "bytes", fe_make_number(d->a, (double)(int64_t)HD_MIN(f->bytes, 9e15)));
    if (d->memory > 0)
        fe_put(v, "state_bytes", fe_make_number(d->a, (double)(int64_t)HD_MIN(f->state_bytes, 9e15)));
    if (f->every)
        fe_put(v, "bind", bind);
    fe_put(v, "plan", plan);
    return v;
}

struct cJSON *dist_document(struct dist *d)
{
    int n = d->fragments.n;
    struct cJSON *v = fe_make_object(d->a), *list = fe_make_list(d->a);
    struct reads *r = HD_NEWN(d->a, struct reads, n);
    bool *by_every = HD_NEWN(d->a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        r[i] = (struct reads){d, HD_NEWN(d->a, bool, n + 1), HD_NEWN(d->a, bool, d->plan->nshared + 1)};
        visit(&r[i], d->fragments.v[i].root);
        for (int k = 0; k < i; k++)
            by_every[k] |= r[i].fragments[k] && d->fragments.v[i].every;
    }
    for (int i = 0; i < n; i++)
        fe_push(list, fragment_json(d, i, &r[i], by_every[i]));
    fe_put(v, "fragments", list);
    fe_put(v, "workers", fe_make_number(d->a, d->workers));
    return v;
}
