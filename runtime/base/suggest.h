/* "did you mean ...?": the known name that an unknown one most likely stands for. */
#ifndef HEDDLE_BASE_SUGGEST_H
#define HEDDLE_BASE_SUGGEST_H

enum {
    HD_SUGGEST_LONGEST = 64, /* bytes of a name; longer ones are not compared */
    HD_SUGGEST_HINT = 2 * HD_SUGGEST_LONGEST
};

struct hd_suggestion {
    const char *wanted, *best; /* best: NULL if nothing is near */
    int score;                 /* of best: 0 for names that differ in case only */
    char hint[HD_SUGGEST_HINT];
};

void hd_suggest_init(struct hd_suggestion *suggestion, const char *wanted);
/* candidate must outlive the struct's use; of equally near ones the first is kept. */
void hd_suggest_offer(struct hd_suggestion *suggestion, const char *candidate);
/* ` (did you mean "x"?)`, or "" if nothing is near. Lives as long as the struct. */
const char *hd_suggest_hint(struct hd_suggestion *suggestion);
/* The three at once, of a list. */
const char *hd_suggest_from(struct hd_suggestion *suggestion, const char *wanted, const char *const *list, int n);

#endif
