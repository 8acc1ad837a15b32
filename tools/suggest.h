/* "did you mean ...?" for names that only the command line knows: commands, options, queries. The
 * library has its own for what stands in a plan. */
#ifndef HEDDLE_TOOLS_SUGGEST_H
#define HEDDLE_TOOLS_SUGGEST_H

struct suggestion {
    const char *wanted, *best; /* best: NULL if nothing is near */
    int edits;                 /* from wanted to best */
};

struct suggestion suggest_start(const char *wanted);
void suggest_offer(struct suggestion *suggestion, const char *candidate);
/* ` (did you mean "PREFIXx"?)` on the heap; "" if nothing is near. */
char *suggest_hint(const struct suggestion *suggestion, const char *prefix);

#endif
