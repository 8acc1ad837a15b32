/* Offsets of range frames. The end of such a frame is where the order has the row's own key, moved by the offset: an
 * expression of the input's columns that is NULL where the key is, and where it would leave its type. */
#include <math.h>

#include "frontend/expr_date.h"
#include "frontend/expr_node.h"
#include "frontend/plan_window.h"
#include "frontend/value.h"

/* The offset, and the key under a name that has no other meaning. */
struct distance {
    struct fw_reading *x;
    struct fe_json v;
    struct hd_type type; /* of the key */
    struct fe_column key;
    struct fe_scope scope;
    bool up; /* to larger keys */
    struct fe_ast *by;
    struct fe_frame_end *said;
};

static struct fe_typing typing(struct distance *d, const struct fe_scope *scope)
{
    const struct fe_plan_reader *r = d->x->r;
    return (struct fe_typing){r->arena, r->err, r->plan->params, r->plan->nparams, scope};
}

static int expected(struct distance *d, const char *what)
{
    char text[HD_TEXT_MAX];
    return fe_json_fail(&d->v, "beside an order key of type %s expected %s", hd_type_text(d->type, text), what);
}

/* ---- trees --------------------------------------------------------------------------------------------------- */

static struct fe_ast *node(struct distance *d, enum fe_op op, int n, struct fe_ast *const *args)
{
    struct fe_ast *x = fe_ast_new(d->x->r->arena, op, fe_json_path(&d->v), -1);
    if (n)
        fe_ast_set_args(d->x->r->arena, x, n, args);
    return x;
}

static struct fe_ast *node2(struct distance *d, enum fe_op op, struct fe_ast *a, struct fe_ast *b)
{
    struct fe_ast *args[2] = {a, b};
    return node(d, op, 2, args);
}

static struct fe_ast *literal(struct distance *d, struct fe_value v)
{
    struct fe_ast *x = node(d, FE_LIT, 0, NULL);
    x->lit = v;
    return x;
}

static struct fe_ast *key(struct distance *d)
{
    struct fe_ast *x = node(d, FE_COL, 0, NULL);
    x->name = d->key.name;
    return x;
}

/* The type's last value on the offset's side. */
static struct fe_ast *end_of_type(struct distance *d)
{
    struct hd_type t = d->type;
    struct fe_value v = {.type = t};
    hd_i128 lo, hi;
    bool known = hd_type_domain(t, &lo, &hi);
    HD_ASSERT(known);
    v.i = d->up ? hi : lo;
    return literal(d, v);
}

/* The key moved by the offset, where that is in the type. */
static struct fe_ast *moved(struct distance *d)
{
    enum fe_op there = d->up ? FE_ADD : FE_SUB, back = d->up ? FE_SUB : FE_ADD;
    struct fe_ast *to = node2(d, there, key(d), d->by);
    if (hd_type_is_num(d->type)) {
        to = node(d, FE_CAST, 1, &to);
        to->type = d->type;
    }
    if (hd_type_is_float(d->type))
        return to;
    return node2(d, FE_CASE, node2(d, d->up ? FE_LE : FE_GE, key(d), node2(d, back, end_of_type(d), d->by)), to);
}

/* NULL where a parameter says an amount beyond `most`. */
static struct fe_ast *guarded(struct distance *d, int64_t most)
{
    struct fe_ast *to = moved(d);
    if (!d->by->interval || d->by->args[0]->op != FE_PARAM)
        return to;
    struct fe_value v = {.type = hd_type_of(HD_INT64), .i = most};
    return node2(d, FE_CASE, node2(d, FE_LE, d->by->args[0], literal(d, v)), to);
}

/* e, whose only column is the key. */
static struct fe_expr *with_key(struct distance *d, struct fe_expr *e, struct fe_expr *of)
{
    if (e->op == FE_COL)
        return of;
    if (!e->nargs)
        return e; /* a parameter is bound where it is */
    struct fe_expr *copy = hd_dup(d->x->r->arena, e, sizeof *e);
    copy->args = HD_NEWN(d->x->r->arena, struct fe_expr *, e->nargs);
    for (int i = 0; i < e->nargs; i++)
        copy->args[i] = with_key(d, e->args[i], of);
    return copy;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static int find_key(struct distance *d, const struct fe_sort_key **out)
{
    const struct fe_node *n = d->x->n;
    if (n->u.sort.nstated != n->u.sort.ngroup + 1)
        return fe_json_fail(&d->v, "an offset of a range frame needs exactly one order key, found %d",
                            n->u.sort.nstated - n->u.sort.ngroup);
    const struct fe_sort_key *k = &n->u.sort.keys[n->u.sort.ngroup];
    d->type = k->expr->op == FE_INTERVAL_LENGTH ? hd_type_of(HD_INTERVAL) : k->expr->type;
    if (!hd_type_is_num(d->type) && d->type.kind != HD_DATE && d->type.kind != HD_TIMESTAMP) {
        char text[HD_TEXT_MAX];
        return fe_json_fail(&d->v,
                            "an offset of a range frame needs an order key that is a number, date or timestamp, "
                            "found %s",
                            hd_type_text(d->type, text));
    }
    d->key = (struct fe_column){"", d->type, k->expr->nullable};
    d->scope = (struct fe_scope){.ncols = 1, .cols = &d->key};
    *out = k;
    return 0;
}

/* A number, text or tree. */
static int read_tree(struct distance *d)
{
    struct fe_value v;
    if (fe_json_kind(&d->v) != FE_JSON_NUMBER)
        return fe_ast_read(&d->v, &d->by);
    HD_TRY(fe_value_read(&d->v, hd_type_of(HD_INT64), &v));
    d->by = literal(d, v);
    return 0;
}

/* A literal >= 0 (*value), or a parameter that will be. */
static int type_amount(struct distance *d, const struct fe_ast *x, const char *what, struct fe_expr **out)
{
    struct fe_typing t = typing(d, &d->x->scope);
    HD_TRY(fe_ast_type(&t, x, NULL, NULL, out));
    const struct fe_expr *e = *out;
    d->said->by = e;
    if (e->op == FE_PARAM && hd_type_is_num(e->type))
        return fe_param_stands(&d->x->r->plan->params[e->param], FE_CONSTANT_DISTANCE, d->x->r->err);
    bool number = e->op == FE_LIT && hd_type_is_num(e->type) && !e->value.is_null;
    bool float_ = number && hd_type_is_float(e->type);
    if (!number || (float_ ? !(e->value.f >= 0) || isinf(e->value.f) : e->value.i < 0))
        return expected(d, what);
    return 0;
}

/* The widest type of offsets from such keys. */
static struct hd_type offset_type(struct hd_type key)
{
    return hd_type_is_int(key) ? hd_type_of(HD_INT64) : key;
}

static bool fits(const struct fe_expr *e, struct hd_type want)
{
    struct fe_value v;
    if (hd_type_is_float(want))
        return true;
    if (e->op == FE_LIT)
        return fe_value_cast_exact(&e->value, want, &v);
    if (hd_type_is_int(want) || hd_type_is_float(e->type))
        return hd_type_is_int(e->type);
    struct hd_type has = fe_type_as_decimal(e->type);
    return has.scale <= want.scale && has.precision - has.scale <= want.precision - want.scale;
}

static int read_number(struct distance *d, bool *zero)
{
    struct hd_type want = offset_type(d->type);
    struct fe_expr *e;
    struct fe_value v;
    char text[HD_TEXT_MAX];
    const char *what =
        hd_asprintf(d->x->r->arena, "an offset of type %s >= 0, a literal or a parameter", hd_type_text(want, text));
    if (d->by->interval)
        return expected(d, what);
    HD_TRY(type_amount(d, d->by, what, &e));
    if (!fits(e, want))
        return expected(d, what);
    if (e->op != FE_LIT) {
        if (hd_type_is_float(want)) {
            d->by = node(d, FE_CAST, 1, &d->by);
            d->by->type = want;
        }
        return 0;
    }
    if (!fe_value_cast(d->x->r->arena, &e->value, want, &v))
        return expected(d, what);
    *zero = hd_type_is_float(want) ? v.f == 0 : v.i == 0;
    d->by = literal(d, v);
    return 0;
}

/* No two values of the type are farther from each other, in what the step counts. */
static hd_i128 farthest(enum fe_op step)
{
    return step == FE_ADD_MONTHS ? 12 * 9999 - 1
           : step == FE_ADD_DAYS ? HD_DATE_MAX - HD_DATE_MIN
                                 : (hd_i128)HD_TIMESTAMP_MAX - HD_TIMESTAMP_MIN;
}

/* *far: beyond the farthest; *most: so many units are not yet. */
static int read_interval(struct distance *d, bool *zero, bool *far, int64_t *most)
{
    static const char what[] = "an offset that is an interval >= 0, its amount a literal or a parameter";
    struct fe_expr *e;
    if (!d->by->interval)
        return expected(d, what);
    HD_TRY(type_amount(d, d->by->args[0], what, &e));
    if (!hd_type_is_int(e->type))
        return expected(d, what);
    enum fe_op op;
    int64_t unit = fe_interval_step(d->by->field, &op);
    d->said->interval = true;
    d->said->unit = d->by->field;
    if (op == FE_ADD_MICROS && d->type.kind == HD_DATE)
        return expected(d, "an offset of whole days");
    *most = (int64_t)(farthest(op) / unit);
    *zero = e->op == FE_LIT && e->value.i == 0;
    *far = e->op == FE_LIT && e->value.i > *most;
    return 0;
}

static struct fe_expr *nowhere(struct distance *d)
{
    struct fe_typing t = typing(d, &d->scope);
    return fe_make_literal(&t, d->by, (struct fe_value){.type = d->type, .is_null = true});
}

int fw_read_distance(struct fw_reading *x, const struct fe_json *v, struct fe_frame_end *said, bool *here, int *limit)
{
    struct distance d = {.x = x, .v = *v, .said = said};
    const struct fe_sort_key *k = NULL;
    struct fe_expr *e = NULL;
    bool far = false;
    int64_t most = -1;
    HD_TRY(find_key(&d, &k));
    d.up = (said->at == FE_FRAME_FOLLOWING) != k->desc;
    HD_TRY(read_tree(&d));
    HD_TRY(hd_type_is_num(d.type) ? read_number(&d, here) : read_interval(&d, here, &far, &most));
    if (*here)
        return 0;
    struct fe_typing t = typing(&d, &d.scope);
    if (far)
        e = nowhere(&d);
    else
        HD_TRY(fe_ast_type(&t, guarded(&d, most), NULL, NULL, &e));
    *limit = fw_add_value(x, FE_AGG_ANY, with_key(&d, e, k->expr));
    return 0;
}
