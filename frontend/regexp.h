/* Regular expressions (docs/plan.md 2.4): read when a plan is, and compiled to automata over bytes, which kernels and the
 * CPU's runtime walk alike (templates/regexp.cuh). */
#ifndef HEDDLE_FRONTEND_REGEXP_H
#define HEDDLE_FRONTEND_REGEXP_H

#include <stddef.h>
#include <stdint.h>

#include "frontend/expr.h"
#include "runtime/base/arena.h"

enum {
    FE_REGEXP_MAX_BYTES = 1000, /* of a pattern */
    FE_REGEXP_MAX_REPEAT = 1000, /* of a counted repetition */
    FE_REGEXP_MAX_NODES = 20000, /* of the automaton that is not deterministic */
    FE_REGEXP_MAX_GROUPS = 9, /* that one use asks for */
    FE_REGEXP_MAX_STATES = 5000, /* of each that is */
    FE_REGEXP_MAX_WORK = 20000000 /* steps that making one may take */
};

/* What the pattern does not say. */
struct fe_regexp_error {
    const char *message; /* NULL: none */
    size_t at; /* byte of the pattern */
};

enum fe_regexp_kind {
    FE_RX_EMPTY,
    FE_RX_CLASS,
    FE_RX_CAT,
    FE_RX_ALT,
    FE_RX_REPEAT,
    FE_RX_GROUP,
    FE_RX_BEGIN,
    FE_RX_END,
    FE_RX_BYTE
};

struct fe_rx_range {
    uint32_t lo, hi; /* code points */
};

/* The syntax tree. BYTE: any byte, which no pattern of regular expressions says. */
struct fe_regexp {
    enum fe_regexp_kind kind;
    int n; /* CLASS: ranges, in ascending order; CAT, ALT: parts */
    struct fe_rx_range *ranges;
    struct fe_regexp **parts; /* REPEAT, GROUP: one */
    int min, max; /* REPEAT; max -1: any number. GROUP: min is its number */
    bool lazy;
};

/* NULL: *e says why. `groups`: how many it has. */
struct fe_regexp *fe_regexp_read(struct hd_arena *a, const char *pattern, size_t n, int *groups,
                                 struct fe_regexp_error *e);

/* A pattern of ilike, as `like` reads it with that escape (0: none). Letters are of either case. */
struct fe_regexp *fe_ilike_read(struct hd_arena *a, const char *pattern, size_t n, char escape);

/* What a program is for. */
struct fe_regexp_use {
    bool span; /* where the first match lies, and these groups in it; else whether there is one */
    bool must; /* the pattern has to have them */
    int ngroups, groups[FE_REGEXP_MAX_GROUPS];
};

struct fe_regexp_use fe_regexp_extracting(int group); /* 0: the whole match */
/* The groups that the text refers to; by NULL: any may be. */
struct fe_regexp_use fe_regexp_replacing(const char *by, size_t n);

/* The program of templates/regexp.cuh. */
const unsigned char *fe_regexp_compile(struct hd_arena *a, const char *pattern, size_t n,
                                       const struct fe_regexp_use *use, size_t *size, struct fe_regexp_error *e);
const unsigned char *fe_ilike_compile(struct hd_arena *a, const char *pattern, size_t n, char escape, size_t *size,
                                      struct fe_regexp_error *e);

/* Flags, of what function: false: a letter that is none. The letters that there are; a pattern with flag i. */
#define FE_FLAGS_WANTED  "flags are letters of \"%s\", found \"%.20s\""
#define FE_ESCAPE_WANTED "escape expects a text of one byte that is neither %% nor _"
bool fe_regexp_flags(enum fe_op op, const struct fe_value *flags, bool *fold, bool *all);
const char *fe_regexp_letters(enum fe_op op);
struct fe_value fe_regexp_folded(struct hd_arena *a, struct fe_value v);

#endif
