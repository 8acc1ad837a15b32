#include "planner/lower_fold.h"

#include "planner/build.h"
#include "planner/fold_long.h"
#include "planner/handle.h"

struct handle *fold_open(struct ctx *c, struct open_pipeline *p, struct handle *parent, const struct fe_table *t,
                         int fk, const char *path)
{
    int a_offsets = pb_arg_table(c, RT_ARG_FK_OFFSETS, t, fk);
    int slot = pb_slot(c, p, hd_asprintf(c->a, "%s row", t->name), RT_I32, false);
    bool longs = fold_has_long(&t->fks[fk]);
    struct fold_short of = {-1, parent->slot};
    if (longs)
        of = fold_short(c, p, &t->fks[fk], parent->slot);
    p->fold = (struct pl_open_fold){.parent = parent,
                                    .step = p->steps.n,
                                    .nlookups = p->lookups.n,
                                    .parent_slot = parent->slot,
                                    .number = of.number};
    struct pl_step *s = pb_step(c, p, PL_STEP_FOLD, path);
    s->table = t;
    s->index = fk;
    s->slot = slot;
    s->row_slot = of.row;
    s->parent_slot = parent->row_nullable ? -1 : parent->slot;
    s->row_nullable = parent->row_nullable || longs;
    s->probe = longs ? PL_LEFT : PL_INNER;
    s->a_offsets = a_offsets;
    return h_row(c, slot, t, -1, false);
}

void fold_close(struct ctx *c, struct open_pipeline *p, const char *path)
{
    pb_step(c, p, PL_STEP_FOLD_END, path);
    for (int i = p->fold.loaded.n - 1; i >= 0; i--) {
        const struct pl_folded *f = &p->fold.loaded.v[i];
        f->h->slot = -1;
        f->h->val = f->val;
    }
    p->lookups.n = p->fold.nlookups;
    p->fold.parent = NULL;
}
