/* Internal to planner/verify*.c: one look at a finished program. Functions return true if every rule
 * that they are about holds; the first that does not is kept as text, with where it was. */
#ifndef HEDDLE_PLANNER_VERIFY_H
#define HEDDLE_PLANNER_VERIFY_H

#include "planner/pipeline.h"

enum vf_rule {
#define V_RULE(id, text) VF_##id,
#include "planner/verify_rules.def"
    VF_RULE_COUNT
};

/* What an int32 that names a row is known to name. */
struct vf_row {
    bool known;
    const struct fe_table *table; /* or */
    int state;                    /* -1: a table's */
    bool missing;                 /* may be -1 */
};

struct vf {
    const struct pl_program *g;
    const struct rt_spec *spec;
    struct hd_arena *arena;
    const char *broken; /* NULL: nothing yet */
    /* where: numbers, -1 none */
    int pipeline, step, expr, state, arg, action;
    /* of the pipeline that is looked at */
    const struct pl_pipeline *p;
    int *set_by;         /* by slot: 0 the source, 1 + number of the step that sets it, INT_MAX none */
    struct vf_row *rows; /* by slot */
    /* by expression */
    int *seen;  /* 2 * pipeline + 1 being looked at, 2 * pipeline + 2 done in this pipeline */
    int *ready; /* the first step that can evaluate it */
    int *deep;  /* pipeline + 1: the slots below it are known to be read */
    int nlooks; /* expressions of the pipeline that look into a dictionary or a state */
    int *looks;
    /* of states */
    int *sinks;                 /* pipelines that end in it */
    int *read_by;               /* 1 + number of the last pipeline that is known to read it */
    struct vf_row **field_rows; /* [state][field] */
    uint64_t *before;           /* per action, the set of those that it waits for */
};

/* verify_rules.c */
/* Keeps the rule's text as the reason; false. */
bool vf_broken(struct vf *v, enum vf_rule rule);
#define VF_CHECK(v, id, holds) \
    do { \
        if (!(holds)) \
            return vf_broken((v), VF_##id); \
    } while (0)
#define VF_TRY(call) \
    do { \
        if (!(call)) \
            return false; \
    } while (0)

#define VF_BIT(kind) (1u << (kind))
static inline bool vf_is_one_of(int kind, unsigned kinds)
{
    return (kinds >> kind & 1) != 0;
}
/* A state of the program, of one of the kinds. */
bool vf_state_is(const struct vf *v, int state, unsigned kinds);
/* States whose rows are structures in memory. */
enum {
    VF_ROW_STATES = 1u << RT_STATE_ROWS | 1u << RT_STATE_CSR | 1u << RT_STATE_HASH | 1u << RT_STATE_AGG_SCALAR |
                    1u << RT_STATE_AGG_DENSE | 1u << RT_STATE_AGG_HASH | 1u << RT_STATE_ARRAY
};
/* States that may have match bits. */
enum {
    VF_MATCHED =
        1u << RT_STATE_ROWS | 1u << RT_STATE_CSR | 1u << RT_STATE_HASH | 1u << RT_STATE_DIRECT | 1u << RT_STATE_BITMAP
};

/* verify_expr.c */
/* Types, arguments and slots of an expression and of all below it, evaluated by step `at` (nsteps: the sink). */
bool vf_expr(struct vf *v, int e, int at);

/* verify_evaluation.c: how an expression is evaluated, once its arguments and its form are sound */
bool vf_evaluation(struct vf *v, const struct pl_expr *e);

/* verify_args.c: arguments of steps and sinks by what reads them */
bool vf_step_args(struct vf *v, const struct pl_step *s);
bool vf_sink_args(struct vf *v, const struct pl_sink *s);
bool vf_state_arg(struct vf *v, int arg, enum rt_arg_kind kind, int state);
/* The program's arguments: words, and what each is about. */
bool vf_args(struct vf *v);

/* verify_steps.c, verify_sink.c */
bool vf_steps(struct vf *v);
bool vf_sink(struct vf *v);
/* A row slot that step `at` reads names rows of a table or a state, and is no -1 unless said. */
bool vf_row_read(struct vf *v, int slot, int at, const struct fe_table *table, int state, bool may_miss);

/* verify_nest.c: levels, tiles, parts */
bool vf_nest(struct vf *v);

/* verify_loop.c: loops over pairs */
bool vf_loop(struct vf *v);

/* verify_fold.c: loops over the children of a row */
bool vf_folds(struct vf *v);

/* verify_kernel.c: what a kernel takes on a GPU */
bool vf_kernel(struct vf *v);

/* verify_spec.c: what the runtime is told of pipelines, states and the result */
bool vf_source(struct vf *v);
bool vf_pipeline_spec(struct vf *v);
bool vf_states(struct vf *v);
bool vf_result(struct vf *v);

/* verify_physical.c: the physical plan's choices are what the program has */
bool vf_physical(struct vf *v);

/* verify_schedule.c: what actions are about and wait for; then who waits for whom, once all pipelines are sound */
bool vf_actions(struct vf *v);
bool vf_schedule(struct vf *v);

#endif
