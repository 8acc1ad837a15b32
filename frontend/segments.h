/* Keys and segments of tables, for those who have the structs of catalog.h and nothing else of the frontend. */
#ifndef HEDDLE_FRONTEND_SEGMENTS_H
#define HEDDLE_FRONTEND_SEGMENTS_H

#include "frontend/catalog.h"

/* A column of a table, and where foreign keys lead from it in the end, alone or as one of several columns: columns with one
 * root have values of one set. */
struct fe_key_place {
    const struct fe_table *table;
    int column;
};

/* One step; p itself if to nothing. */
static inline struct fe_key_place fe_key_refers_to(struct fe_key_place p)
{
    for (int i = 0; i < p.table->nfks; i++)
        for (int k = 0; k < p.table->fks[i].n_columns; k++)
            if (p.table->fks[i].columns[k] == p.column)
                return (struct fe_key_place){p.table->fks[i].parent, p.table->fks[i].parent_columns[k]};
    return p;
}

static inline struct fe_key_place fe_key_root(struct fe_key_place p)
{
    enum { LINKS_MAX = 16 }; /* keys may lead in a circle */
    for (int i = 0; i < LINKS_MAX; i++)
        p = fe_key_refers_to(p);
    return p;
}

/* Of a segment: which one of its table it is, from 0. */
static inline int fe_segment_number(const struct fe_table *segment)
{
    int k = 0;
    while (segment->whole->segments[k] != segment)
        k++;
    return k;
}

/* The table that a foreign key of `child`, a segment or in one piece, to the table `parent` leads to: a segment of it where
 * both are cut alike. */
static inline const struct fe_table *fe_segment_parent(const struct fe_table *child, const struct fe_foreign_key *f,
                                                       const struct fe_table *parent)
{
    bool alike = child->whole && f->n_columns == 1 && child->cut == f->columns[0] && parent->nsegments &&
                 parent->cut == f->parent_columns[0] && parent->nsegments == child->whole->nsegments;
    return alike ? parent->segments[fe_segment_number(child)] : parent;
}

#endif
