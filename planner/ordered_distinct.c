/* approx_count_distinct: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007) in two groupings. A value's hash names one of
 * HDD_REGISTERS registers and has a word for it; the smallest word of a register has the largest rank, whatever the
 * order of rows. A grouping by keys and register finds it, one by keys adds up powers of two of the words, exactly, and
 * the estimate is that of O. Ertl (New cardinality estimation algorithms for HyperLogLog sketches, 2017, section 4),
 * which has no bias for few values. */
#include "planner/ordered.h"

#include "planner/typed.h"
#include "templates/device.cuh"

enum { WORD_BITS = 64 - HDD_REGISTER_BITS };

/* Keys, and the hash of the argument. */
static struct fe_node *hashed(const struct ordering *o, const struct ordered_part *part)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *in = rw_copy(o->w, o->in);
    struct fe_node *p = ro_projected(o, part->counts ? ro_filtered(o, in, part->counts) : in, nk + 1);
    for (int i = 0; i < nk; i++)
        ro_add(p, o->n->u.agg.keys[i], o->n->cols[i].name);
    struct fe_expr *x = o->n->u.agg.aggs[part->first].arg;
    ro_add(p, pl_expr_node(o->w->a, FE_HASH_OF, ro_integer, false, x->path, 1, x, NULL), "hash");
    return p;
}

static struct fe_expr *low_bits(const struct ordering *o, struct fe_expr *x, int n)
{
    return ro_op(o, FE_BIT_AND, ro_integer, x, ro_number(o, ro_integer, ((hd_i128)1 << n) - 1));
}

/* Keys, the number of the register, the word. */
static struct fe_node *registers(const struct ordering *o, const struct ordered_part *part)
{
    int nk = o->n->u.agg.nkeys;
    struct fe_node *p = ro_projected(o, hashed(o, part), nk + 2);
    struct fe_expr *h = rw_column(o->w, p->inputs[0], nk);
    struct fe_expr *word = ro_op(o, FE_SHIFT_RIGHT, ro_integer, h, ro_number(o, ro_integer, HDD_REGISTER_BITS));
    ro_add_columns(o, p, nk);
    ro_add(p, low_bits(o, h, HDD_REGISTER_BITS), "register");
    ro_add(p, low_bits(o, word, WORD_BITS), "word");
    return p;
}

void ro_distincts(struct ordering *o, int part)
{
    struct ordered_part *p = &o->parts[part];
    int nk = o->n->u.agg.nkeys;
    struct fe_node *rows = registers(o, p), *g = ro_grouped(o, rows, nk + 1, 1);
    struct fe_expr *word = rw_column(o->w, g, ro_add_agg(g, FE_AGG_MIN, rw_column(o->w, rows, nk + 1), "word"));
    struct fe_node *to = ro_grouped(o, g, nk, 2);
    struct fe_expr *above = ro_cast(o, ro_op(o, FE_POWER_ABOVE, ro_integer, word, NULL), ro_wide);
    int sum = ro_add_agg(to, FE_AGG_SUM, above, "sum"), filled = ro_add_agg(to, FE_AGG_COUNT_STAR, NULL, "filled");
    p->groups = ro_projected(o, to, nk + 1);
    ro_add_columns(o, p->groups, nk);
    struct fe_expr *n = ro_cast(o, rw_column(o->w, to, filled), ro_real);
    struct fe_expr *s = ro_cast(o, rw_column(o->w, to, sum), ro_real);
    ro_add(p->groups, ro_cast(o, ro_op(o, FE_DISTINCT_ESTIMATE, ro_real, n, s), ro_integer), "distinct");
    for (int i = 0; i < o->n->u.agg.naggs; i++)
        if (o->part[i] == part)
            o->at[i].value = nk;
}

struct fe_expr *ro_distinct(const struct ordering *o, struct fe_expr *e)
{
    return pl_expr_node(o->w->a, FE_COALESCE, ro_integer, false, e->path, 2, e, ro_number(o, ro_integer, 0));
}
