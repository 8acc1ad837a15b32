/* "did you mean ...?": the known name that an unknown one most likely stands for. */
#ifndef HEDDLE_BASE_NEAR_H
#define HEDDLE_BASE_NEAR_H

enum {
    HD_NEAR_LONGEST = 64, /* bytes of a name; longer ones are not compared */
    HD_NEAR_HINT = 2 * HD_NEAR_LONGEST
};

struct hd_near {
    const char *wanted, *best; /* best: NULL if nothing is near */
    int score;                 /* of best: 0 for names that differ in case only */
    char hint[HD_NEAR_HINT];
};

void hd_near_init(struct hd_near *near, const char *wanted);
/* candidate must outlive the struct's use; of equally near ones the first is kept. */
void hd_near_offer(struct hd_near *near, const char *candidate);
/* ` (did you mean "x"?)`, or "" if nothing is near. Lives as long as the struct. */
const char *hd_near_hint(struct hd_near *near);
/* The three at once, of a list. */
const char *hd_near_of(struct hd_near *near, const char *wanted, const char *const *list, int n);

#endif
