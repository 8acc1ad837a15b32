/* Growing the program: expressions, arguments, slots, steps, states, pipelines. */
#ifndef HEDDLE_PLANNER_BUILD_H
#define HEDDLE_PLANNER_BUILD_H

#include "planner/ctx.h"

int pb_expr(struct ctx *c, struct pl_expr e);
int pb_site(struct ctx *c, struct rt_site s); /* shares an equal entry */
int pb_path(struct ctx *c, const char *path); /* a site without values */
int pb_arg(struct ctx *c, struct rt_arg a); /* shares an equal entry */
int pb_arg_state(struct ctx *c, enum rt_arg_kind k, int state, int index);
int pb_arg_column(struct ctx *c, enum rt_arg_kind k, const struct fe_table *t, int column);
int pb_arg_table(struct ctx *c, enum rt_arg_kind k, const struct fe_table *t, int index);
int pb_const_int(struct ctx *c, enum rt_phys p, hd_i128 v); /* expression of a constant */
int pb_null(struct ctx *c, enum rt_phys p);
int pb_op(struct ctx *c, enum fe_op op, enum rt_phys p, bool nullable, int nargs, const int *args);
int pb_slot(struct ctx *c, struct open_pipeline *p, const char *name, enum rt_phys phys, bool nullable);
int pb_slot_expr(struct ctx *c, const struct open_pipeline *p, int slot);
struct pl_step *pb_step(struct ctx *c, struct open_pipeline *p, enum pl_step_kind k, const char *path);
int pb_let(struct ctx *c, struct open_pipeline *p, const char *name, struct pl_val v);
void pb_filter(struct ctx *c, struct open_pipeline *p, int expr, double sel, const char *path);
void pb_note(struct ctx *c, const char *fmt, ...) HD_PRINTF(2, 3);

int pb_state(struct ctx *c, enum rt_state_kind k, const char *name, const char *path);
/* Of a state that nothing fills or reads any more: those behind it get the numbers before theirs. */
void pb_drop_state(struct ctx *c, int state);
int pb_field(struct ctx *c, int state, const char *name, const struct pl_val *v, enum rt_merge m);
void pb_state_layout(struct ctx *c, int state); /* offsets and stride, once all fields are there */

struct open_pipeline *pb_pipeline(struct ctx *c, enum rt_source_kind k, const char *path);
struct open_pipeline *pipeline_of(struct ctx *c, const struct stream *s);

void sink_add(struct ctx *c, struct pl_sink *sink, struct pl_out out);

#endif
