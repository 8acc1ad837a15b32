/* Results of fragments as tables that others read. */
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "planner/typed_range.h"
#include "runtime/base/fault.h"
#include "runtime/base/guard.h"

void api_spread_table_init(struct api_spread_table *t)
{
    hd_arena_init(&t->arena);
}

void api_spread_table_empty(struct api_spread *p, struct api_spread_table *t)
{
    if (t->columns)
        p->of->backend->free_columns(t->columns);
    t->columns = NULL;
    if (!t->rows)
        return;
    api_backends_forget(p->of->db->context, t->table);
    rt_fragment_table_free(t->rows);
    t->rows = NULL;
}

void api_spread_table_release(struct api_spread *p, struct api_spread_table *t)
{
    api_spread_table_empty(p, t);
    if (t->owner)
        api_table_release(t->owner);
    hd_arena_release(&t->arena);
}

int api_spread_table_number(const struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    switch (f->exchange) {
    case API_EXCHANGE_KEEP:
    case API_EXCHANGE_SHUFFLE: return w;
    case API_EXCHANGE_BROADCAST: return f->direct ? w % p->lanes : 0; /* on each GPU one */
    case API_EXCHANGE_GATHER:
    case API_EXCHANGE_RESULT: break;
    }
    return 0;
}

struct api_spread_table *api_spread_table_of(const struct api_spread *p, struct api_spread_fragment *f, int w)
{
    return &f->table[api_spread_table_number(p, f, w)];
}

static bool same_facts(const struct fe_facts *a, const struct fe_facts *b)
{
    bool same_range = a->has_range == b->has_range && (!a->has_range || (a->min == b->min && a->max == b->max));
    return a->known == b->known && a->nulls == b->nulls && a->unique == b->unique && same_range;
}

static bool same_column(const struct fe_table_column *a, const struct fe_table_column *b)
{
    return hd_type_eq(a->type, b->type) && a->nullable == b->nullable && a->storage == b->storage &&
           a->width == b->width && a->base == b->base && a->factor == b->factor && same_facts(&a->facts, &b->facts);
}

/* Plans over the one are plans over the other: beside columns and their types they are made of the number of rows, of what
 * values can be, and of where NULLs are. */
static bool same_shape(const struct fe_table *a, const struct fe_table *b)
{
    bool same = a->rows == b->rows && a->ncols == b->ncols && a->device == b->device;
    for (int i = 0; i < a->ncols && same; i++)
        same = same_column(&a->cols[i], &b->cols[i]) && !a->cols[i].at.validity == !b->cols[i].at.validity;
    return same;
}

static int copy_table(struct api_spread_table *t, const struct fe_table *from)
{
    t->table = HD_NEW(&t->arena, struct fe_table);
    *t->table = *from;
    t->table->name = hd_strdup(&t->arena, from->name);
    t->table->cols = HD_NEWN(&t->arena, struct fe_table_column, from->ncols + 1);
    for (int i = 0; i < from->ncols; i++) {
        t->table->cols[i] = from->cols[i];
        t->table->cols[i].name = hd_strdup(&t->arena, from->cols[i].name);
    }
    return 0;
}

/* Of a new shape: programs over the one before are not used any more, but may still be there, and so is its struct. */
static int renew(struct api_spread_table *t, const struct fe_table *from, struct hd_err *err)
{
    int rc;
    struct api_table *owner;
    HD_GUARDED(rc, NULL, err, copy_table(t, from));
    HD_TRY(rc);
    owner = api_table_new(t->table, NULL);
    if (!owner)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    if (t->owner)
        api_table_release(t->owner);
    t->owner = owner;
    t->version++;
    return 0;
}

static void move_rows(struct fe_table *to, const struct fe_table *from)
{
    to->id = from->id;
    for (int i = 0; i < to->ncols; i++)
        to->cols[i].at = from->cols[i].at;
}

/* Bytes of values and texts. */
static uint64_t bytes_of(const struct fe_table *t)
{
    uint64_t bytes = 0;
    for (int i = 0; i < t->ncols; i++)
        bytes += (uint64_t)t->rows * (uint64_t)t->cols[i].width + t->cols[i].at.text_size;
    return bytes;
}

/* What values of a column of the fragment's table can be, by the facts of what the workers read whose rows it has; not known:
 * anything of the type. */
static struct pl_range range_of(const struct api_spread *p, const struct api_spread_fragment *f, int table,
                                const char *column)
{
    struct pl_range r = {false, 0, 0};
    for (int w = 0; w < api_spread_runs(f, p->workers); w++) {
        if (f->exchange == API_EXCHANGE_KEEP && w != table)
            continue; /* it may not have begun */
        const struct heddle_statement *s = f->part[w].statement;
        const struct fe_node *root = s->plan->root;
        int i = api_statement_column(s, column);
        const struct fe_expr e = {.op = FE_COL, .type = root->cols[i].type, .col = i};
        struct pl_range mine = pl_typed_range(s->plan, root, &e), all = range_of_type(e.type);
        if (!mine.known || !all.known || (mine.lo <= all.lo && mine.hi >= all.hi))
            return (struct pl_range){false, 0, 0};
        r = r.known ? (struct pl_range){true, HD_MIN(r.lo, mine.lo), HD_MAX(r.hi, mine.hi)} : mine;
    }
    return r;
}

static bool is_fragment(const struct api_spread *p, const struct fe_table *t)
{
    for (int i = 0; i < p->nfragments; i++)
        if (p->fragments[i].name && strcmp(p->fragments[i].name, t->name) == 0)
            return true;
    return false;
}

/* Each of the table's rows has a value of its own there: a column of a database's table that has, of whose rows each is one worker's,
 * or the one key of all groups. here: one worker has them all. */
static bool is_unique(const struct api_spread *p, const struct heddle_statement *s, const char *column, bool here)
{
    const struct fe_node *n = s->plan->root;
    int i = api_statement_column(s, column);
    while (n->op == FE_FILTER_OP || n->op == FE_SORT_OP || n->op == FE_LIMIT_OP || n->op == FE_PROJECT_OP) {
        const struct fe_expr *e = n->op == FE_PROJECT_OP ? n->u.project.exprs[i] : NULL;
        if (e && e->op != FE_COL)
            return false;
        i = e ? e->col : i;
        n = n->inputs[0];
    }
    if (n->op == FE_SCAN_OP) {
        const struct fe_facts *facts = &n->u.scan.table->cols[n->u.scan.columns[i]].facts;
        return facts->known && facts->unique && (here || (!p->segments && !is_fragment(p, n->u.scan.table)));
    }
    return n->op == FE_AGGREGATE_OP && here && n->u.agg.nkeys == 1 && n->u.agg.nsets == 0 && i == 0;
}

/* Parts of other fragments may be planned over tables meanwhile, but not over this one. */
static int tell_facts(const struct api_spread *p, const struct api_spread_fragment *f, int table, struct fe_table *to)
{
    bool kept = f->exchange == API_EXCHANGE_KEEP, here = kept || api_spread_runs(f, p->workers) == 1;
    for (int i = 0; i < to->ncols; i++) {
        struct pl_range r = range_of(p, f, table, to->cols[i].name);
        struct fe_facts *facts = &to->cols[i].facts;
        facts->has_range = r.known;
        facts->min = r.lo;
        facts->max = r.hi;
        facts->unique = is_unique(p, f->part[kept ? table : 0].statement, to->cols[i].name, here);
        facts->distinct = facts->unique && facts->nulls == 0 ? to->rows : -1;
        facts->distinct_exact = facts->distinct >= 0;
        facts->max_mult = facts->unique ? 1 : -1;
        facts->known = facts->has_range || facts->unique;
    }
    return 0;
}

int api_spread_use_rows(const struct api_spread *p, const struct api_spread_fragment *f, struct api_spread_table *t,
                        struct fe_table *from, struct hd_err *err)
{
    int rc;
    HD_GUARDED(rc, NULL, err, tell_facts(p, f, (int)(t - f->table), from));
    HD_TRY(rc);
    if (!t->table || !same_shape(t->table, from))
        HD_TRY(renew(t, from, err));
    move_rows(t->table, from);
    t->bytes = bytes_of(t->table);
    return 0;
}

struct rt_fragment_options api_spread_how(struct api_spread *p, const struct api_spread_fragment *f,
                                          const struct heddle_statement *part)
{
    bool shuffle = f->exchange == API_EXCHANGE_SHUFFLE;
    return (struct rt_fragment_options){.readers = shuffle ? p->workers : 1,
                                        .by = shuffle ? api_statement_column(part, f->column) : 0,
                                        .memory = &p->memory,
                                        .thread_pool = p->of->engine->thread_pool,
                                        .threads = HD_MAX(p->of->threads / p->lanes, 1),
                                        .stop = &part->cancel.flag};
}

/* Table number k of a shuffle has the rows for worker k, one that is kept those of worker k. */
static int fill_on_host(struct api_spread *p, struct api_spread_fragment *f, int table, struct hd_err *err)
{
    struct api_spread_table *t = &f->table[table];
    bool kept = f->exchange == API_EXCHANGE_KEEP;
    struct rt_fragment_options how = api_spread_how(p, f, f->part[kept ? table : 0].statement);
    struct rt_fragment_rows **from = hd_try_calloc((size_t)p->workers, sizeof(struct rt_fragment_rows *));
    struct rt_fragment_table *rows;
    int n = 0;
    if (!from)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    for (int w = 0; w < api_spread_runs(f, p->workers); w++)
        if (!kept || w == table)
            from[n++] = f->part[w].rows;
    int rc = rt_fragment_table_new(f->name, from, n, how.readers > 1 ? table : 0, &how, &rows, err);
    free(from);
    HD_TRY(rc);
    if (api_spread_use_rows(p, f, t, rt_fragment_table_get(rows), err) != 0) {
        rt_fragment_table_free(rows);
        return -1;
    }
    t->rows = rows;
    pthread_mutex_lock(&p->lock);
    p->host_bytes += t->bytes;
    pthread_mutex_unlock(&p->lock);
    return 0;
}

/* ---- how many ---------------------------------------------------------------------------------- */

/* For tests a smaller number. */
static uint64_t most_rows(void)
{
    const char *text = secure_getenv("HEDDLE_GATHERED_ROWS");
    return text ? (uint64_t)HD_MAX(atoll(text), 1) : FE_TABLE_MAX_ROWS;
}

/* Rows that are brought together are a table in one piece. */
static int check_rows(const struct api_spread *p, const struct api_spread_fragment *f, struct hd_err *err)
{
    uint64_t rows = 0, most = most_rows();
    if (f->exchange == API_EXCHANGE_KEEP || f->exchange == API_EXCHANGE_SHUFFLE)
        return 0;
    for (int w = 0; w < api_spread_runs(f, p->workers); w++)
        rows += f->part[w].statement->timed.rows;
    if (rows <= most)
        return 0;
    return HD_FAIL(
        err, UNSUPPORTED, f->name,
        "%llu rows of the operator %s are needed in one place, which takes %llu at most: what reads them does "
        "not run segment by segment (see the stage devices)",
        (unsigned long long)rows, fe_relop_name(f->part[0].statement->plan->root->op), (unsigned long long)most);
}

int api_spread_table_fill(struct api_spread *p, struct api_spread_fragment *f, int table, struct hd_err *err)
{
    HD_TRY(check_rows(p, f, err));
    return f->direct ? api_spread_receive(p, f, table, err) : fill_on_host(p, f, table, err);
}
