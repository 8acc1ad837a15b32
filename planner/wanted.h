/* Facts that a plan would gain by and that nobody has computed yet: of registered tables (api/api_facts.h). */
#ifndef HEDDLE_PLANNER_WANTED_H
#define HEDDLE_PLANNER_WANTED_H

#include "frontend/plan.h"

enum pl_fact_use {
#define T_FACT_USE(id, ...) PL_USE_##id,
#include "planner/fact_uses.def"
    PL_FACT_USES
};
const char *pl_fact_use_text(enum pl_fact_use u);

struct pl_wanted_fact {
    const struct fe_table *table;
    int column;
    unsigned uses; /* bits of pl_fact_use */
    bool counts; /* distinct values are to be counted, if they may be unique; else range and an estimate are enough */
    bool pays; /* the plan gains more than the facts cost */
    double cost; /* ns of a thread */
};

/* Columns of the plan's tables by whose facts it could gain, and that lack them: in the order of tables
 * and columns. The list lives in the arena. *why, where there is none and tables lack facts: the reason; else NULL. */
struct pl_wanted {
    int n;
    struct pl_wanted_fact *v;
    const char *why;
};
/* always: for tests, whatever it costs. */
void pl_facts_wanted(struct hd_arena *a, const struct fe_plan *plan, bool always, struct pl_wanted *out);

#endif
