#include "api/api_keys.h"

#include <stdlib.h>
#include <string.h>

#include "planner/handle.h"
#include "runtime/base/fault.h"
#include "runtime/store/store.h"
#include "runtime/store/store_derive.h"
#include "runtime/store/store_facts.h"

struct api_keys {
    struct rt_big index; /* of the primary key */
    int nfks;
    struct rt_fk_index *fks;
    int nparents;
    struct api_table **parents; /* but the table itself */
};

void api_keys_free(struct api_keys *k)
{
    if (!k)
        return;
    rt_big_release(&k->index);
    for (int i = 0; i < k->nfks; i++)
        rt_fk_index_release(&k->fks[i]);
    for (int i = 0; i < k->nparents; i++)
        api_table_release(k->parents[i]);
    free(k->fks);
    free(k->parents);
    free(k);
}

struct declaring {
    const struct api_snapshot *now;
    struct api_table *of;
    struct fe_table *t;
    struct rt_pool *pool;
    struct hd_err *err;
};

/* Tables that keys may refer to: the one itself in the place of one of its name. */
static struct fe_catalog others(const struct declaring *d, struct hd_arena *a)
{
    struct fe_catalog c = {.tables = HD_NEWN(a, struct fe_table *, d->now->cat.ntables + 1)};
    c.tables[c.ntables++] = d->t;
    for (int i = 0; i < d->now->cat.ntables; i++)
        if (strcmp(d->now->cat.tables[i]->name, d->t->name) != 0)
            c.tables[c.ntables++] = d->now->cat.tables[i];
    return c;
}

static int read(struct declaring *d, const char *json)
{
    struct fe_catalog c = others(d, &d->of->arena);
    d->t->keyidx = HD_NEW(&d->of->arena, struct fe_key_index);
    return fe_keys_read(&d->of->arena, json, d->t, &c, d->err);
}

static int learn(struct declaring *d, int n, const int *columns)
{
    for (int i = 0; i < n; i++) {
        struct fe_table_column *c = &d->t->cols[columns[i]];
        if (!c->facts.known)
            HD_TRY(rt_facts_compute(c, d->t->rows, RT_FACTS_UNIQUE, d->pool, NULL, &c->facts, NULL, d->err));
    }
    return 0;
}

static int primary_key(struct declaring *d)
{
    struct fe_table *t = d->t;
    HD_TRY(learn(d, t->npk, t->pk));
    HD_TRY(rt_derive_primary_key(t, d->pool, NULL, d->err));
    if (t->npk != 1)
        return 0;
    HD_TRY(rt_key_index_build(t, t->pk[0], d->pool, NULL, t->keyidx, &d->of->keys->index, d->err));
    t->nkeyidx = t->keyidx->kind != FE_INDEX_NONE;
    return 0;
}

static bool is_primary_key(const struct fe_foreign_key *f)
{
    const struct fe_table *p = f->parent;
    bool is = p->npk == f->n_columns;
    for (int i = 0; i < f->n_columns && is; i++) {
        bool found = false;
        for (int k = 0; k < p->npk; k++)
            found |= p->pk[k] == f->parent_columns[i];
        is = found;
    }
    return is || (f->n_columns == 1 && key_index_of(p, f->parent_columns[0]) >= 0);
}

/* What is stored is verified at first use. */
static int touch(const struct fe_foreign_key *f, struct hd_err *err)
{
    for (int i = 0; i < f->n_columns; i++)
        HD_TRY(rt_store_touch((struct fe_table_part){f->parent, FE_PART_COLUMN, f->parent_columns[i]}, err));
    const int index = f->n_columns == 1 ? key_index_of(f->parent, f->parent_columns[0]) : -1;
    return index >= 0 ? rt_store_touch((struct fe_table_part){f->parent, FE_PART_KEYIDX, index}, err) : 0;
}

static void hold(struct declaring *d, const struct fe_table *parent)
{
    struct api_keys *keys = d->of->keys;
    for (int i = 0; i < d->now->cat.ntables; i++)
        if (d->now->cat.tables[i] == parent) {
            atomic_fetch_add(&d->now->owners[i]->refs, 1);
            keys->parents[keys->nparents++] = d->now->owners[i];
        }
}

static int foreign_key(struct declaring *d, int k)
{
    const struct fe_foreign_key *f = &d->t->fks[k];
    struct api_keys *keys = d->of->keys;
    char names[256];
    if (f->parent->device || f->parent->nsegments)
        return HD_FAIL(d->err, UNSUPPORTED, d->t->name, "foreign key: table \"%s\" %s", f->parent->name,
                       f->parent->device ? "is in a device's memory" : "has segments");
    if (!is_primary_key(f))
        return HD_FAIL(d->err, USER, d->t->name, "foreign key: %s of table \"%s\" is not declared as its primary key",
                       rt_key_names(f->parent, f->n_columns, f->parent_columns, names), f->parent->name);
    HD_TRY(touch(f, d->err));
    HD_TRY(learn(d, f->n_columns, f->columns));
    HD_TRY(rt_derive_foreign_key(d->t, k, d->pool, NULL, &keys->fks[k], d->err));
    keys->nfks = k + 1;
    hold(d, f->parent);
    return 0;
}

static int declare(struct declaring *d)
{
    struct api_keys *keys = d->of->keys = hd_try_calloc(1, sizeof *keys);
    if (!keys)
        return HD_FAIL(d->err, RESOURCE, d->t->name, "out of memory");
    keys->fks = hd_try_calloc((size_t)d->t->nfks + 1, sizeof *keys->fks);
    keys->parents = hd_try_calloc((size_t)d->t->nfks + 1, sizeof(struct api_table *));
    if (!keys->fks || !keys->parents)
        return HD_FAIL(d->err, RESOURCE, d->t->name, "out of memory");
    HD_TRY(primary_key(d));
    for (int k = 0; k < d->t->nfks; k++)
        HD_TRY(foreign_key(d, k));
    return 0;
}

int api_keys_declare(const heddle_context *c, const struct api_snapshot *now, struct api_table *t, const char *json,
                     struct hd_err *err)
{
    int rc;
    struct declaring d = {.now = now, .of = t, .t = t->table, .err = err};
    HD_GUARDED(rc, NULL, err, read(&d, json));
    HD_TRY(rc);
    HD_TRY(rt_pool_new(c->threads, &d.pool, err));
    rc = declare(&d);
    rt_pool_free(d.pool);
    return rc;
}
