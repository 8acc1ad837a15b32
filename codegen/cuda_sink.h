/* Sinks of the CUDA emitter: what their files share. */
#ifndef HEDDLE_CODEGEN_CUDA_SINK_H
#define HEDDLE_CODEGEN_CUDA_SINK_H

#include "codegen/cuda_gen.h"

/* cuda_sink_values.c */
const struct rt_state *cu_sink_state(const struct cu_unit *u);
const struct pl_out *cu_out_of(const struct cu_unit *u, int out);
bool cu_is_aggregate(const struct cu_unit *u);
bool cu_is_stored(const struct cu_unit *u, int out); /* the same in all rows of a group */
bool cu_is_new(const struct cu_unit *u, int out);    /* stored with the key of a group */
const char *cu_out_name(struct cu_unit *u, int out);
bool cu_out_nullable(const struct cu_unit *u, int out);
const char *cu_out_value(struct cu_unit *u, int out);
void cu_declare_outs(struct cu_unit *u); /* locals of the outs that are stored as they are */
void cu_assign_outs(struct cu_unit *u);
void cu_put_out(struct cu_unit *u, int out); /* cu_out_name, into `row` */
void cu_copy_fields(struct cu_unit *u);      /* into `row` */
void cu_store_direct(struct cu_unit *u, int out);
const char *cu_key_names(struct cu_unit *u); /* "o0_a, o1_b" */
void cu_sink_index(struct cu_unit *u); /* declares `index` */
const char *cu_reserve(struct cu_unit *u); /* the place of a row of the warp's visit, -1 none */

/* Of a word that is the key, or by the lambda `same`; new groups by `init`. */
#define CU_FIND_WORD         "hdd_word_groups(run, uncounted).find(live, hash, sink, init);"
#define CU_FIND_HASH         "hdd_groups(run).find(live, hash, same, init);"
#define CU_FIND_WORD_BY_LANE "hdd_word_groups_by_lane(run).find(live, hash, sink, init);" /* of a first tier */
#define CU_FIND_HASH_BY_LANE "hdd_groups_by_lane(run).find(live, hash, same, init);"

/* cuda_keys.c */
/* Of a step, or with the number after the last step of the sink. */
struct cu_keys {
    int number, state, n;
    const int *exprs;
    const struct pl_step *step; /* NULL: the sink's */
};
struct cu_keys cu_sink_keys(const struct cu_unit *u);
void cu_call_hash(struct cu_unit *u, const struct cu_keys *k, const char *name); /* into the variable */
void cu_call_same(struct cu_unit *u, const struct cu_keys *k, const char *row);  /* statements of a lambda */

/* cuda_accumulators.c */
const char *cu_operation(struct cu_unit *u, const struct pl_out *o); /* of an accumulator */
bool cu_has_accumulators(const struct cu_unit *u);
const char *cu_accumulators_type(struct cu_unit *u);
const char *cu_accumulator_name(struct cu_unit *u, int out);
bool cu_may_stay_null(const struct cu_unit *u, int out);
void cu_accumulate_value(struct cu_unit *u, int out, const char *accumulators, bool more);
/* "mine.seen0, 4": the word and the bit that say that an accumulator has a value. */
const char *cu_seen_bit(struct cu_unit *u, int out, const char *accumulators, const char *between);
void cu_accumulate_values(struct cu_unit *u, const char *accumulators, bool more); /* of the row; more: than one */
void cu_add_field(struct cu_unit *u, int out, const char *value); /* to a field of `row`; one thread */
void cu_accumulator_methods(struct cu_unit *u);

/* cuda_sink_parts.c */
void cu_store_outs(struct cu_unit *u, const char *at); /* row or index */
bool cu_sink_parts(struct cu_unit *u);                 /* false: a sink as all others */

#endif
