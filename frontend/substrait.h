/* Substrait (substrait.io): its plans as Heddle's own, which the reader of plans then reads. */
#ifndef HEDDLE_FRONTEND_SUBSTRAIT_H
#define HEDDLE_FRONTEND_SUBSTRAIT_H

#include "frontend/json.h"

/* The namespace of Heddle's own functions, which have the names and arguments of docs/functions.md. */
#define SUB_OWN_URN "extension:io.heddle:functions"

/* Whether an object is a plan of Substrait in its JSON form. */
bool sub_is_plan(const struct fe_json *v);

/* Which relation of Substrait an operator was made of. */
struct sub_origin {
    const struct cJSON *node;
    const char *path;
    struct sub_origin *next;
};
/* The plan lies in the arena of v's reader, and so do the origins. */
int sub_translate(const struct fe_json *v, struct cJSON **plan, struct sub_origin **origins);
/* Of an error that the translated plan gave: says the relation, and the plan's own path behind the message. */
void sub_map_error(const struct cJSON *plan, const struct sub_origin *origins, struct hd_err *err);

#endif
