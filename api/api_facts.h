/* Facts of registered tables, computed when a plan wants them and kept with the table until it is dropped or replaced. The
 * table's own struct never changes, so that whoever reads it needs no lock; a statement plans over views, copies of the struct
 * with the facts that are known by then. */
#ifndef HEDDLE_API_FACTS_H
#define HEDDLE_API_FACTS_H

#include "api/api_statement.h"
#include "runtime/base/strbuf.h"

/* NULL: no memory. */
struct api_facts *api_facts_new(int ncols);
void api_facts_free(struct api_facts *f); /* NULL is fine */

/* Before the first planning: facts that the plan wants are computed, and plan and snapshot become those of views that have
 * them. Errors are CANCELLED, and RESOURCE where there is not even memory for views; what could not be computed for want of
 * memory the plan does without. */
int api_statement_learn(struct heddle_statement *s, struct hd_err *err);
/* The stage "facts". */
int api_facts_show(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err);
/* The same, of a statement that has learned, where there is something to say. */
void api_facts_show_learned(const struct heddle_statement *s, struct hd_strbuf *out);
/* A member of the report, a comma before it. */
void api_facts_report(struct hd_strbuf *b, const struct heddle_statement *s);

/* A snapshot with views in the place of registered tables; which: of these tables, NULL: of all, to be listed. */
int api_facts_views(const struct api_snapshot *from, const bool *which, struct api_snapshot **out, struct hd_err *err);

#endif
