/* Keys of joins that are decimals of one scale because both sides were brought to it: they are equal exactly if they are
 * equal at a smaller scale, at which one side is as it was. Their range is smaller by the power of ten, and so the table
 * that they address. */
#include "planner/handle.h"
#include "planner/join.h"
#include "planner/known.h"
#include "planner/lower_value.h"
#include "planner/physical_tree.h"
#include "planner/typed.h"

static int scale_of(struct hd_type t)
{
    return t.kind == HD_DECIMAL ? t.scale : 0;
}

static bool is_exact(struct hd_type t)
{
    return hd_type_is_int(t) || t.kind == HD_DECIMAL;
}

/* A cast between exact numbers that keeps all digits: what it is of; NULL: h is none. */
static struct handle *uncast(struct ctx *c, const struct handle *h)
{
    if (h->kind != H_EXPR || h->expr->op != FE_CAST || !is_exact(h->type))
        return NULL;
    struct handle *x = h_plain(h_expr(c, h->expr->args[0], h->env));
    return is_exact(x->type) && scale_of(x->type) <= scale_of(h->type) ? x : NULL;
}

static bool times_ten(int by, struct pl_range *r)
{
    hd_i128 f = hd_pow10(by);
    *r = range_binary(FE_MUL, *r, (struct pl_range){true, f, f});
    return r->known;
}

/* The smallest scale that h is known to have all its digits at. */
static int least_scale(struct ctx *c, struct handle *h, int *scale)
{
    *scale = scale_of(h->type);
    for (struct handle *x; (x = uncast(c, h)) != NULL; h = x) {
        struct pl_val v;
        HD_TRY(known_value(c, x, &v));
        int by = scale_of(h->type) - scale_of(x->type);
        if (!v.range.known || !times_ten(by, &v.range) || !range_within(v.range, range_of_type(h->type)))
            return 0;
        *scale = scale_of(x->type);
    }
    return 0;
}

int join_scale(struct ctx *c, struct handle *build, struct handle *probe, int *scale)
{
    int b, p, now = scale_of(build->type);
    *scale = -1;
    if (build->type.kind != HD_DECIMAL || probe->type.kind != HD_DECIMAL || scale_of(probe->type) != now)
        return 0;
    HD_TRY(least_scale(c, build, &b));
    HD_TRY(least_scale(c, probe, &p));
    if (HD_MAX(b, p) < now)
        *scale = HD_MAX(b, p);
    return 0;
}

/* What has been loaded, or stored on the way, is divided: it has zeros there. */
struct handle *join_at_scale(struct ctx *c, struct handle *h, int scale, bool planning)
{
    struct hd_type t = hd_decimal(HD_MAX(1, h->type.precision - h->type.scale + scale), scale);
    for (struct handle *x; (planning || h->slot < 0) && (x = uncast(c, h)) != NULL && scale_of(x->type) >= scale; h = x)
        if (scale_of(x->type) == scale)
            return x;
    struct handle **env = HD_NEWN(c->a, struct handle *, 1);
    struct handle *of = planning || h->slot < 0 ? uncast(c, h) : NULL;
    env[0] = of ? of : h;
    const char *path = h->kind == H_EXPR ? h->expr->path : "";
    struct fe_expr *column = lx_col(c, 0, env[0], path);
    return h_expr(c, pl_expr_node(c->a, FE_CAST, t, h->nullable, path, 1, column, NULL), env);
}

void join_tell_scale(struct ctx *c, struct pl_node *n, int from, int to)
{
    struct pl_decision *d = pl_decide(c, n, "scale of keys");
    pl_decide_way(c, d, hd_asprintf(c->a, "%d", to), -1, "digits behind it are zeros on both sides");
    pl_decide_way(c, d, hd_asprintf(c->a, "%d", from), -1, NULL);
    pl_decide_take(d, hd_asprintf(c->a, "%d", to));
}
