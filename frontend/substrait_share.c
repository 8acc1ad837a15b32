/* Groupings that a plan has more than once. Producers write a common table expression out at every use (docs/substrait.md),
 * so equal aggregates become one shared subplan, which is computed once. Groupings alone: their rows are few, while rows
 * of a join might cost more to keep than to make again. */
#include <cjson/cJSON.h>
#include <string.h>

#include "frontend/substrait_read.h"

enum { MAX_SHARED = 64 /* that are compared with later ones */ };

/* An aggregate that was read. */
struct sub_shared {
    const struct cJSON *from; /* Substrait */
    struct cJSON *ref; /* the operator of its first use */
    struct sub_rel rel;
    const char *name; /* NULL: used once */
    struct sub_shared *next;
};

static bool same_key(const struct cJSON *a, const struct cJSON *b)
{
    return !a->string == !b->string && (!a->string || strcmp(a->string, b->string) == 0);
}

/* As written, in the order as written, wherever it stands. Depth was checked when the plan was read. */
static bool same(const struct cJSON *a, const struct cJSON *b)
{
    if ((a->type & 0xff) != (b->type & 0xff))
        return false;
    if (cJSON_IsString(a))
        return strcmp(a->valuestring, b->valuestring) == 0;
    if (cJSON_IsNumber(a))
        return memcmp(&a->valuedouble, &b->valuedouble, sizeof a->valuedouble) == 0;
    const struct cJSON *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!same_key(x, y) || !same(x, y))
            return false;
    return !x && !y;
}

/* Errors of the operator lead to the relation. */
static void move_origin(struct sub *t, const struct cJSON *from, const struct cJSON *to)
{
    for (struct sub_origin *o = t->origins; o; o = o->next)
        if (o->node == from)
            o->node = to;
}

/* A further use: names of its own for the columns. */
static void use(struct sub *t, struct sub_shared *s, struct sub_rel *out)
{
    struct cJSON *ref = sub_make_op(t, "ref"), *exprs = fe_make_list(t->arena);
    if (!s->name) {
        struct cJSON *node = fe_make_object(t->arena);
        s->name = sub_new_name(t, "shared");
        node->child = s->ref->child;
        s->ref->child = NULL;
        fe_put(s->ref, "op", fe_make_string(t->arena, "ref"));
        fe_put(s->ref, "name", fe_make_string(t->arena, s->name));
        fe_put(t->shared, s->name, node);
        move_origin(t, s->ref, node);
    }
    fe_put(ref, "name", fe_make_string(t->arena, s->name));
    *out = s->rel;
    out->cols = HD_NEWN(t->arena, const char *, s->rel.n + 1);
    for (int i = 0; i < s->rel.n; i++) {
        struct cJSON *e = fe_make_object(t->arena);
        out->cols[i] = sub_new_name(t, s->rel.cols[i]);
        fe_put(e, "expr", sub_make_col(t, s->rel.cols[i]));
        fe_put(e, "as", fe_make_string(t->arena, out->cols[i]));
        fe_push(exprs, e);
    }
    out->node = sub_make_op(t, "project");
    fe_put(out->node, "input", ref);
    fe_put(out->node, "exprs", exprs);
    out->exact = true;
}

int sub_reference(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    for (struct sub_shared *s = t->referenced; s; s = s->next)
        if (s->from == v->item) {
            use(t, s, out);
            return 0;
        }
    struct sub_shared *s = HD_NEW(t->arena, struct sub_shared);
    *s = (struct sub_shared){.from = v->item};
    HD_TRY(t->rel(t, v, &s->rel));
    if (s->rel.n == 0)
        return sub_refuse(t, v, "a relation without fields is not supported in a reference");
    s->name = sub_new_name(t, "shared");
    fe_put(t->shared, s->name, s->rel.node);
    s->next = t->referenced;
    t->referenced = s;
    use(t, s, out);
    return 0;
}

bool sub_find_shared(struct sub *t, const struct fe_json *v, struct sub_rel *out)
{
    for (struct sub_shared *s = t->aggregates; s; s = s->next)
        if (same(s->from, v->item)) {
            use(t, s, out);
            return true;
        }
    return false;
}

void sub_may_share(struct sub *t, const struct fe_json *v, const struct sub_rel *r)
{
    if (r->n == 0 || t->naggregates == MAX_SHARED)
        return;
    struct sub_shared *s = HD_NEW(t->arena, struct sub_shared);
    *s = (struct sub_shared){.from = v->item, .ref = r->node, .rel = *r, .next = t->aggregates};
    t->aggregates = s;
    t->naggregates++;
}
