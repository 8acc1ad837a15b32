/* Builds the text pool from sentences; see gen_pool.h.
 *
 * A sentence takes a variable number of draws, so its place is only known once everything
 * before it is built.  A table of checkpoints (data/pool_checkpoints.def) cuts the pool into
 * 1024 segments that threads build independently; each segment must end exactly where the
 * next one starts, which proves table and vocabulary right on every run. */
#include "gen_pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gen_dist.h"
#include "gen_par.h"
#include "gen_rng.h"

/* More than the longest sentence (under 200 bytes) and the overrun of a word copy. */
#define SENTENCE_ROOM 1024

struct checkpoint {
    uint32_t offset; /* of a sentence in the pool */
    uint32_t state;  /* of stream 5 before that sentence */
};

static const struct checkpoint checkpoints[] = {
#define T_POINT(offset, state) {offset, state},
#include "data/pool_checkpoints.def"
};
#define SEGMENTS ((int)(sizeof checkpoints / sizeof checkpoints[0]))

/* A word with a blank behind it, as one vector register. */
struct vocable {
    char text[15];
    uint8_t len;
};

/* All vocables of a list, each as often as its weight says: a pick is one lookup. */
struct vocabulary {
    struct vocable *by_weight;
    uint32_t total;
};

struct lexicon {
    struct vocabulary nouns, verbs, adjectives, adverbs, auxiliaries, articles;
    struct vocabulary prepositions, terminators, sentences, noun_phrases, verb_phrases;
};

/* Writing position and random state of one thread. */
struct writer {
    const struct lexicon *lex;
    char *out;
    uint32_t x;
};

struct job {
    struct lexicon lex;
    char *pool;
    atomic_int next;
    atomic_bool broken;
};

static bool vocabulary_init(struct vocabulary *v, enum tg_dist id)
{
    const struct tg_dict *d = &tg_dists[id];
    v->total = 0;
    for (int i = 0; i < d->count; i++)
        v->total += d->words[i].weight;
    v->by_weight = calloc(v->total, sizeof *v->by_weight);
    if (v->by_weight == NULL)
        return false;
    struct vocable *p = v->by_weight;
    for (int i = 0; i < d->count; i++) {
        struct vocable w = {.len = (uint8_t)(d->words[i].len + 1)};
        memcpy(w.text, d->words[i].text, d->words[i].len);
        w.text[d->words[i].len] = ' ';
        for (int n = 0; n < d->words[i].weight; n++)
            *p++ = w;
    }
    return true;
}

#define FOR_EACH_VOCABULARY(X) \
    X(nouns) \
    X(verbs) \
    X(adjectives) \
    X(adverbs) X(auxiliaries) X(articles) X(prepositions) X(terminators) X(sentences) X(noun_phrases) X(verb_phrases)

static bool lexicon_init(struct lexicon *lex)
{
#define X(name) &&vocabulary_init(&lex->name, TG_D_##name)
    return true FOR_EACH_VOCABULARY(X);
#undef X
}

static void lexicon_release(struct lexicon *lex)
{
#define X(name) free(lex->name.by_weight);
    FOR_EACH_VOCABULARY(X)
#undef X
}

static const struct vocable *pick(struct writer *w, const struct vocabulary *v)
{
    w->x = tg_next(w->x);
    return &v->by_weight[tg_scale_small(w->x, v->total)];
}

/* Copies all sixteen bytes: the surplus is overwritten by the next word. */
static void put(struct writer *w, const struct vocabulary *v)
{
    const struct vocable *word = pick(w, v);
    memcpy(w->out, word, sizeof *word);
    w->out += word->len;
}

/* Vocabulary that a letter of a phrase stands for. */
static const struct vocabulary *vocabulary_of(const struct lexicon *lex, char letter)
{
    switch (letter) {
    case 'A': return &lex->articles;
    case 'J': return &lex->adjectives;
    case 'D': return &lex->adverbs;
    case 'V': return &lex->verbs;
    case 'X': return &lex->auxiliaries;
    default: return &lex->nouns;
    }
}

/* Letters separated by blanks; a comma after a letter goes between its word and the blank. */
static void put_phrase(struct writer *w, const struct vocabulary *phrases)
{
    const struct vocable *p = pick(w, phrases);
    for (int i = 0; i < p->len; i++) {
        if (p->text[i] == ' ')
            continue;
        if (p->text[i] == ',') {
            w->out[-1] = ',';
            *w->out++ = ' ';
        } else {
            put(w, vocabulary_of(w->lex, p->text[i]));
        }
    }
}

static void put_preposition(struct writer *w)
{
    put(w, &w->lex->prepositions);
    memcpy(w->out, "the ", 4);
    w->out += 4;
    put_phrase(w, &w->lex->noun_phrases);
}

/* A terminator replaces the blank before it and brings the blank after the sentence. */
static void put_sentence(struct writer *w)
{
    const struct vocable *form = pick(w, &w->lex->sentences);
    for (int i = 0; i < form->len; i += 2) {
        switch (form->text[i]) {
        case 'N': put_phrase(w, &w->lex->noun_phrases); break;
        case 'V': put_phrase(w, &w->lex->verb_phrases); break;
        case 'P': put_preposition(w); break;
        default: w->out--; put(w, &w->lex->terminators);
        }
    }
}

/* Fills [p, end) with sentences, the last one cut off; returns whether none had to be cut.
 * Near the end sentences pass through a buffer, because what follows belongs to others. */
static bool fill(const struct lexicon *lex, uint32_t state, char *p, const char *end)
{
    struct writer w = {.lex = lex, .out = p, .x = state};
    while (end - w.out > SENTENCE_ROOM)
        put_sentence(&w);
    for (p = w.out; p < end;) {
        char buffer[SENTENCE_ROOM];
        w.out = buffer;
        put_sentence(&w);
        ptrdiff_t n = w.out - buffer, room = end - p;
        memcpy(p, buffer, (size_t)(n < room ? n : room));
        p += n;
    }
    return p == end;
}

static void build_segments(void *arg, int index)
{
    (void)index;
    struct job *job = arg;
    for (int i; (i = atomic_fetch_add(&job->next, 1)) < SEGMENTS;) {
        bool last = i + 1 == SEGMENTS;
        uint32_t end = last ? TG_POOL_BYTES : checkpoints[i + 1].offset;
        bool exact = fill(&job->lex, checkpoints[i].state, job->pool + checkpoints[i].offset, job->pool + end);
        if (!exact && !last)
            atomic_store(&job->broken, true);
    }
}

/* A shifted pool has other sentences: no checkpoint holds, one thread writes it all. */
static void build(struct job *job, int threads, uint64_t shift)
{
    if (shift == 0)
        tg_parallel(threads, build_segments, job);
    else
        fill(&job->lex, tg_state(TG_S_POOL, shift), job->pool, job->pool + TG_POOL_BYTES);
}

char *tg_pool_build(int threads, uint64_t shift)
{
    struct job job = {.pool = NULL};
    char *pool = mmap(NULL, TG_POOL_BYTES + TG_POOL_SLACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED)
        return NULL;
    /* Comments are read at random: huge pages spare most of the address translation. */
    (void)madvise(pool, TG_POOL_BYTES, MADV_HUGEPAGE);
    job.pool = pool;
    int failure = 0;
    if (lexicon_init(&job.lex))
        build(&job, threads, shift);
    else
        failure = ENOMEM;
    if (atomic_load(&job.broken))
        failure = EPROTO;
    lexicon_release(&job.lex);
    if (failure != 0) {
        tg_pool_free(pool);
        errno = failure;
        return NULL;
    }
    return pool;
}

void tg_pool_free(char *pool)
{
    if (pool != NULL)
        munmap(pool, TG_POOL_BYTES + TG_POOL_SLACK);
}
