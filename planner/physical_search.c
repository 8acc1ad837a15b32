/* Joins that search a sorted state. Its rows begin with one or two words (planner/pipeline.h, "Search words"): a key that
 * orders as an integer is a word itself, other keys are hashed to one, and the last word may be the sum that a range is
 * about. */
#include "planner/physical_search.h"

#include "planner/bounds.h"
#include "planner/cost.h"
#include "planner/estimate.h"
#include "planner/physical_loop.h"
#include "planner/pipeline.h"
#include "planner/typed.h"
#include "planner/typed_range.h"

enum { NARROW_DIGITS = 18 }; /* that 64 bits hold */

static bool is_narrow(const struct fe_expr *e)
{
    struct hd_type t = pl_uncast(e)->type;
    return t.kind == HD_DECIMAL ? t.precision <= NARROW_DIGITS : !hd_type_is_text(t);
}

/* Different values have different words. */
static bool is_word(const struct pl_join *j, int key)
{
    return is_narrow(j->bkeys[key]) && is_narrow(j->pkeys[key]);
}

/* Whether the words tell all keys apart: NULL has none of its own, and rows with NULL stay where they come out of the
 * join although nothing matches them. */
static bool tells_apart(const struct pl_join *j)
{
    for (int i = 0; i < j->nkeys; i++)
        if (!is_word(j, i) || (j->null_equal && j->null_equal[i]) || (j->kind == FE_FULL && j->bkeys[i]->nullable))
            return false;
    return true;
}

struct pl_search *pl_find_search(struct ctx *c, const struct pl_join *j)
{
    struct pl_search *s = HD_NEW(c->a, struct pl_search);
    int lo = j->swapped ? 0 : j->nleft;
    bool squares = !j->nkeys || j->strategy != FE_AUTO; /* else keys have found what is near */
    *s = (struct pl_search){.nkeys = j->nkeys, .pkeys = j->pkeys, .bkeys = j->bkeys, .null_equal = j->null_equal};
    s->range = pl_find_interval(c, j->tjoin, j->rest, j->nrest, lo, lo + j->nbuilt, squares, &s->reach);
    if (s->nkeys) /* a running maximum knows nothing of keys */
        s->reach = NULL;
    if (j->single || (!s->range && !s->nkeys))
        return NULL;
    s->exact = tells_apart(j) && s->nkeys + (s->range != NULL) <= PL_SEARCH_WORDS;
    for (int i = 0; i < s->nkeys; i++)
        s->hashed |= !is_word(j, i) || (j->null_equal && j->null_equal[i]);
    s->hashed |= s->nkeys + (s->range != NULL) > PL_SEARCH_WORDS;
    return s;
}

/* Build rows of the key of a probe row. */
static double rows_of_key(const struct ctx *c, const struct pl_join *j)
{
    double distinct = 1, rows = est_rows(c, j->tbuild);
    for (int i = 0; i < j->nkeys; i++) {
        double d = est_key(c, j->tbuild, j->bkeys[i]).distinct;
        distinct *= d < 0 ? rows : HD_MAX(1, d);
    }
    return j->nkeys ? HD_MAX(1, rows / HD_MAX(1, HD_MIN(distinct, rows))) : rows;
}

/* What lies behind the near end and before the far one is one point. */
static bool holds_point(const struct pl_search *s)
{
    return pl_same_sum(&s->range->high[0].at, &s->reach->low[0].at);
}

double pl_search_share(const struct pl_search *s)
{
    const struct pl_interval *x = s->range;
    if (s->reach && !holds_point(s))
        return pl_overlap_share();
    return pl_range_share(x ? (x->nlow > 0) + (x->nhigh > 0) + (s->reach != NULL) : 0);
}

/* In the order of all words: each is that of a column whose values ascend. */
static bool comes_in_order(const struct ctx *c, const struct pl_join *j, const struct pl_search *s)
{
    bool all = !s->hashed;
    for (int i = 0; i < s->nkeys && all; i++)
        all = est_in_order(j->tbuild, j->bkeys[i], c->opt.on_gpu);
    return all && (!s->range || pl_comes_by(j->tbuild, s->range, j->swapped ? 0 : j->nleft, c->opt.on_gpu));
}

/* A table that is addressed by key is faster. */
static bool addresses(const struct ctx *c, const struct pl_join *j)
{
    enum { FIELD_BYTES = 8 };
    struct pl_range r = pl_typed_range(c->plan, j->tbuild, j->bkeys[0]);
    double range = r.known ? (double)(r.hi - r.lo) + 1 : 1e300, rows = est_rows(c, j->tbuild);
    return pl_worth_direct(range, FIELD_BYTES, rows) || pl_worth_csr(range, rows);
}

/* A GPU's lookups in a hash table have not been compared with this. */
bool pl_is_merge(const struct ctx *c, const struct pl_join *j, const struct pl_search *s)
{
    bool once = j->kind == FE_INNER || (j->kind == FE_LEFT && j->nrest == 0);
    return !c->opt.on_gpu && once && !s->range && s->exact && s->nkeys == 1 && !j->null_equal &&
           comes_in_order(c, j, s) && est_in_order(j->tprobe, j->pkeys[0], false) && !addresses(c, j);
}

double pl_price_search(const struct ctx *c, const struct pl_join *j, const struct pl_search *s)
{
    double build = est_rows(c, j->tbuild), probe = est_rows(c, j->tprobe);
    if (pl_is_merge(c, j, s))
        return pl_cost_merge(build, probe, probe * rows_of_key(c, j));
    return pl_cost_search(build, comes_in_order(c, j, s), probe, probe * rows_of_key(c, j) * pl_search_share(s),
                          j->nrest);
}

static bool gives_end(const struct pl_bound *v, int n, int conjunct)
{
    for (int i = 0; i < n; i++)
        if (v[i].from == conjunct)
            return true;
    return false;
}

static void mark_found(struct ctx *c, struct pl_search *s, int nrest)
{
    const struct pl_interval *r = s->range;
    s->found = HD_NEWN(c->a, bool, nrest + 1);
    for (int i = 0; i < nrest; i++)
        s->found[i] = gives_end(r->low, r->nlow, i) || gives_end(r->high, r->nhigh, i);
}

struct pl_search *pl_find_near(struct ctx *c, const struct pl_join *j)
{
    struct pl_search *s = HD_NEW(c->a, struct pl_search);
    int lo = j->swapped ? 0 : j->nleft;
    s->range = pl_find_interval(c, j->tjoin, j->rest, j->nrest, lo, lo + j->nbuilt, true, &s->reach);
    if (!s->range || !s->range->squares || !s->range->nlow || !s->range->nhigh || j->nkeys || j->single)
        return NULL;
    s->reach = NULL;
    s->exact = true;
    mark_found(c, s, j->nrest);
    return s;
}

double pl_price_near(const struct pl_search *s, double pairs, double build, double probe, bool in_order,
                     int comparisons)
{
    return pl_cost_near(build, in_order, probe) + pl_cost_loop(pairs * pl_search_share(s), comparisons);
}

int pl_band_column(const struct pl_join *j, const struct pl_search *s)
{
    const struct fe_table *t = node_table(j->tbuild);
    const struct pl_interval *x = s ? s->range : NULL;
    const struct pl_term *of = x && x->of.n == 1 && !x->is_float ? &x->of.v[0] : NULL;
    if (!t || !of || s->nkeys || s->reach || of->factor != 1 || of->e->op != FE_COL || pl_unit(of, x->scale) != 1)
        return -1;
    int column = j->tbuild->u.scan.columns[of->e->col - (j->swapped ? 0 : j->nleft)];
    return pl_column_is_sorted(t, column) ? column : -1;
}

double pl_price_band(const struct ctx *c, const struct pl_join *j, const struct pl_search *s)
{
    double rows = (double)node_table(j->tbuild)->rows, probe = est_rows(c, j->tprobe);
    return pl_cost_band(rows, probe, probe * rows * pl_search_share(s), j->nrest);
}

double pl_price_pairs(const struct ctx *c, const struct pl_join *j)
{
    return pl_cost_loop(est_rows(c, j->tprobe) * rows_of_key(c, j), j->nrest);
}

void pl_take_search(struct ctx *c, const struct fe_node *n, struct pl_join *j, struct pl_search *s)
{
    const struct pl_interval *r = s->range;
    int before = j->nrest, keys = s->exact ? 0 : j->nkeys;
    j->search = s;
    if (!s->exact)
        pl_loop_keys(c, n, j);
    s->found = HD_NEWN(c->a, bool, j->nrest + 1);
    for (int i = 0; i < keys; i++)
        s->found[i] = true;
    for (int i = 0; i < before && r; i++)
        s->found[keys + i] = gives_end(r->low, r->nlow, i) || gives_end(r->high, r->nhigh, i) ||
                             (s->reach && gives_end(s->reach->low, s->reach->nlow, i));
    j->nkeys = 0;
}
