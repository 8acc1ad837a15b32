/* How the work of a pipeline with levels is shared among threads of a CPU, by what facts bound.
 *
 * A row of the source may have thousands of rows below it: a year of dates all sales of that year. Then a morsel has few rows
 * of the source, or one thread would have them all (Leis et al., Morsel-Driven Parallelism, SIGMOD 2014, takes morsels of a
 * constant number of rows, which says little of their work here). Where the source, or a level, has so few rows that there
 * are fewer morsels than threads (one nation, whose suppliers have all the line items), ranges of children are cut into pieces
 * of about PIECE_ROWS rows of the innermost level. */
#include "planner/morsel.h"

#include "runtime/base/util.h"

enum { FEW_PARENTS = 64, PIECE_ROWS = 4096 }; /* as many as a long range is cut into everywhere */
static const double below_max = 1e9;

/* Children of a row of the level above at most; 1 where nothing bounds them. */
static double known_children(const struct pl_pipeline *q, int level)
{
    double max = pl_max_children(&q->steps[q->levels[level].first_step - 1]);
    return HD_MAX(max, 1);
}

/* Rows of the innermost level below one row of this one at most. */
static double rows_below(const struct pl_pipeline *q, int level)
{
    double rows = 1;
    for (int l = level + 1; l < q->nlevels; l++)
        rows = HD_MIN(rows * known_children(q, l), below_max);
    return rows;
}

/* Levels with few parents whose ranges are too long for one thread. */
static void cut_ranges(struct pl_pipeline *q)
{
    double parents = (double)q->spec->table->rows;
    for (int l = 1; l < q->nlevels && parents <= FEW_PARENTS; l++) {
        double children = known_children(q, l), below = rows_below(q, l);
        if (children > 1 && children * below > PIECE_ROWS) {
            int piece = (int)HD_MAX(1, PIECE_ROWS / below);
            q->steps[q->levels[l].first_step - 1].piece_children = piece;
            q->spec->piece_children[l] = (uint32_t)piece;
        }
        parents *= children;
    }
}

void pl_choose_morsels(struct pl_pipeline *q)
{
    if (q->nlevels == 1 || q->loop.rows)
        return;
    q->spec->below = rows_below(q, 0);
    if (q->spec->source == RT_SOURCE_TABLE && !q->spec->ordered && !q->first_match)
        cut_ranges(q);
}
