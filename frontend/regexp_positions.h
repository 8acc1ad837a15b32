/* Positions of a regular expression, of which automata are made. */
#ifndef HEDDLE_FRONTEND_REGEXP_POSITIONS_H
#define HEDDLE_FRONTEND_REGEXP_POSITIONS_H

#include "frontend/regexp.h"

enum fe_rx_position_kind { FE_RXP_BYTE, FE_RXP_SPLIT, FE_RXP_TAG, FE_RXP_BEGIN, FE_RXP_END, FE_RXP_MATCH };

struct fe_rx_position {
    enum fe_rx_position_kind kind;
    unsigned char lo, hi; /* BYTE */
    int next, other; /* other: SPLIT, after next; TAG: which, 2 k where groups[k] begins and 2 k + 1 where it ends */
};

struct fe_rx_making {
    struct hd_arena *a;
    struct fe_regexp_error *e;
    bool backwards;
    int ngroups;
    const int *groups; /* numbers of those that get tags */
    int n;
    struct fe_rx_position *v;
    uint64_t work;
};

int fe_rx_fail(struct fe_rx_making *m, const char *message); /* -1 */
int fe_rx_add(struct fe_rx_making *m, struct fe_rx_position p); /* its number; -1: too many */
int fe_rx_build(struct fe_rx_making *m, const struct fe_regexp *x,
                int next); /* where x begins, if `next` is behind it */
/* Bytes that no position tells apart are one class: the class of each, one byte of each class; how many there are. */
int fe_rx_classes(const struct fe_rx_making *m, unsigned char class[256], unsigned char byte[256]);
/* The automaton that tells where these groups lie (templates/regexp.cuh). */
const unsigned char *fe_rx_captures(struct hd_arena *a, const struct fe_regexp *x, int ngroups, const int *groups,
                                    size_t *size, struct fe_regexp_error *e);

/* What programs of automata begin with (templates/regexp.cuh), whatever they are for; size: their bytes. */
struct fe_rx_head {
    int nclasses, nstates, start, idle;
    size_t size;
};
void fe_rx_put_head(unsigned char *program, const unsigned char class[256], const struct fe_rx_head *h);
void fe_rx_put_two(unsigned char *program, size_t at, unsigned v);

#endif
