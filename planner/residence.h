/* What of tables is in a GPU's memory while a program runs, where not all of it has room. */
#ifndef HEDDLE_PLANNER_RESIDENCE_H
#define HEDDLE_PLANNER_RESIDENCE_H

#include "planner/pipeline.h"

struct pl_residence {
    double memory; /* bytes of the GPU's memory in all: columns, states, chunks; 0: no limit */
    double columns; /* tests: bytes for resident columns, whatever there is; < 0: what memory leaves */
    uint64_t chunk_rows; /* tests: rows of a chunk, rounded up to whole fragments; 0: what suits the memory */
};

/* Decides for every part of a table how the program's kernels come to it, and which pipelines stream what. It changes
 * rt_arg.way, rt_pipeline.streamed and chunk_rows, nothing else, so that code that was emitted stays good. Asking again
 * decides anew. */
/* Bytes that the program's states are expected to take at once, the one that is being finished twice. What facts bound is
 * bounded; rows that multiply on their way are taken for those of their source, as such estimates can be far too high. */
double pl_states_peak(const struct pl_program *g);
/* Bytes that its states can take of a memory of so many, which also has what it reads of tables, or chunks of that. */
double pl_states_room(const struct pl_program *g, double memory);
void pl_place_columns(struct pl_program *g, const struct pl_residence *r);

#endif
