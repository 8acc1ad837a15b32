/* What executions of plans took on either backend, of those that `auto` chooses for, and on one GPU or several. Statements of the same plan share it, so
 * that a query which is prepared anew each time settles on the faster backend, too. Any thread; of bounded size. */
#ifndef HEDDLE_API_HISTORY_H
#define HEDDLE_API_HISTORY_H

#include "planner/choice.h"

struct api_history;
struct api_history *api_history_new(void); /* NULL: no memory */
void api_history_free(struct api_history *h); /* NULL is fine */

/* Of a plan's bytes on a database. */
uint64_t api_history_key(const void *db, const void *plan, size_t size);

/* What is known of a plan. All 0 but `last`: nothing. */
struct api_past {
    double measured[PL_SIDES]; /* as in pl_choice_in: the least of the last executions */
    enum pl_side last;
    bool compiled; /* the CPU's code is in memory */
    bool prepared; /* what could be brought to the GPU was */
    char trouble[200]; /* why the GPU does not get it any more; empty: it may */
};
void api_history_get(struct api_history *h, uint64_t key, struct api_past *out);
/* Of executions on one GPU of a set of them (a bit for each of the context's), and over all of it; where that had another
 * set, as one was lost, nothing is known. */
void api_history_get_devices(struct api_history *h, uint64_t key, unsigned set, struct pl_devices_in *out);

void api_history_ran(struct api_history *h, uint64_t key, enum pl_side side, double measured);
/* ripe: as in pl_tried. */
void api_history_ran_on(struct api_history *h, uint64_t key, unsigned set, enum pl_spread where, bool ripe,
                        double measured);
void api_history_prepared(struct api_history *h, uint64_t key);
/* The GPU could not take the plan. After a few plans in a row it is asked for none any more. */
void api_history_failed(struct api_history *h, uint64_t key, const char *why);

#endif
