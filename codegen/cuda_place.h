/* What the CUDA emitter prints for each place of accumulators and each cache before them
 * (planner/places.def): one structure per row there, found by its name. */
#ifndef HEDDLE_CODEGEN_CUDA_PLACE_H
#define HEDDLE_CODEGEN_CUDA_PLACE_H

#include "codegen/cuda_sink.h"

/* Functions may be NULL: there is nothing to print. */
struct cu_place {
    const char *header; /* of templates/, beside those that all pipelines have; NULL: none */
    bool rows; /* visits update rows in the layout of the state's: what a group's rows have in common is stored there */
    bool narrow; /* the structure of sums has 64 bits for narrow ones */
    bool marks; /* whoever adds sums to a row also marks the group as existing */
    void (*members)(struct cu_unit *u, struct cu_out *o);
    const char *(*initialiser)(struct cu_unit *u); /* of the members */
    void (*shared)(struct cu_unit *u, struct cu_out *o); /* members of the structure in shared memory */
    void (*methods)(struct cu_unit *u);
    void (*before_rows)(struct cu_unit *u); /* rows in place: around the rows of a tile */
    void (*after_rows)(struct cu_unit *u);
    void (*visit)(struct cu_unit *u); /* places: adds the row of the last level's visit */
    void (*finish)(struct cu_unit *u); /* in finish(): the block is together; places come first */
    /* Caches: `group` is where additions go, and becomes where this cache wants them. */
    void (*redirect)(struct cu_unit *u);
    void (*admit)(struct cu_unit *u); /* once `group_lanes` are known */
    const char *left; /* lanes that still have something to add; NULL: all */
    const char *update; /* in place of adding `mine` to `group`; NULL: the next cache's, or the place's */
};

/* cuda_loop_sums.c: registers, in a loop over pairs. */
void cu_loop_sums_members(struct cu_unit *u, struct cu_out *o);
void cu_loop_sums_methods(struct cu_unit *u);
void cu_loop_sums_visit(struct cu_unit *u);

#define P_PLACE(id, name, sinks, flags, alone, beside, unit, text) extern const struct cu_place cu_place_##name;
#define P_CACHE(id, name, limit, unit, text)                       extern const struct cu_place cu_cache_##name;
#include "planner/places.def"

#endif
