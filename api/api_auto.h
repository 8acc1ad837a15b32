/* Backend `auto`: which one runs the next execution, by cost (planner/choice.h), and what is done for the other one behind it. */
#ifndef HEDDLE_API_AUTO_H
#define HEDDLE_API_AUTO_H

#include "api/api_statement.h"

struct hd_strbuf;

/* Of a statement with automatic.on: chooses the backend and makes its program the present one. executes: what the GPU still
 * lacks is brought behind. */
int api_auto_choose(struct heddle_statement *s, bool executes, struct hd_err *err);
/* run(s, out, err), of any statement, on what is chosen for it. Where the GPU was chosen and does not get the memory or the
 * code that it needs, it runs once more on the CPU. */
int api_auto_execute(struct heddle_statement *s, int (*run)(struct heddle_statement *s, void *out, struct hd_err *err),
                     void *out, struct hd_err *err);
/* Members of the report, a comma before each. */
void api_auto_report(struct hd_strbuf *b, const struct heddle_statement *s);
/* What would be chosen now, and the costs of both. */
int api_auto_show(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err);

#endif
