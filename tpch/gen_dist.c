/* Word lists as static tables; see gen_dist.h. */
#include "gen_dist.h"

#define T_DIST(name)         static const struct tg_word words_##name[] = {
#define T_WORD(text, weight) {text, sizeof text - 1, weight},
#define T_END \
    } \
    ;
#include "data/distributions.def"

const struct tg_dict tg_dists[TG_DIST_COUNT] = {
#define T_DIST(name) [TG_D_##name] = {(int)(sizeof words_##name / sizeof words_##name[0]), words_##name},
#define T_WORD(text, weight)
#define T_END
#include "data/distributions.def"
};
