/* Word lists (data/distributions.def): the dictionaries of coded columns, and the weighted
 * vocabularies of the text pool. */
#ifndef TPCH_GEN_DIST_H
#define TPCH_GEN_DIST_H

#include <stdint.h>

/* Thirty-two bytes, so that a word can be copied as two vector registers. */
struct tg_word {
    char text[28]; /* zero padded */
    uint8_t len;   /* bytes of text */
    uint16_t weight;
};

struct tg_dict {
    int count;
    const struct tg_word *words;
};

enum tg_dist {
#define T_DIST(name) TG_D_##name,
#define T_WORD(text, weight)
#define T_END
#include "data/distributions.def"
    TG_DIST_COUNT,
    TG_D_none = TG_DIST_COUNT
};

extern const struct tg_dict tg_dists[TG_DIST_COUNT];

#endif
