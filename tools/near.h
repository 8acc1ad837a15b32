/* "did you mean ...?" for names that only the command line knows: commands, options, queries. The
 * library has its own for what stands in a plan. */
#ifndef HEDDLE_TOOLS_NEAR_H
#define HEDDLE_TOOLS_NEAR_H

struct near {
    const char *wanted, *best; /* best: NULL if nothing is near */
    int edits;                 /* from wanted to best */
};

struct near near_start(const char *wanted);
void near_offer(struct near *near, const char *candidate);
/* ` (did you mean "PREFIXx"?)` on the heap; "" if nothing is near. */
char *near_hint(const struct near *near, const char *prefix);

#endif
