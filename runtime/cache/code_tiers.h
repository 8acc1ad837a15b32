/* The code of a program in two tiers. What is asked for is compiled by threads of a thread pool, from one bitcode: the
 * bytes that functions carry from level to level are private to it, so that both tiers agree in them. A pipeline's code is
 * there, for every execution that has the program, as soon as the functions of its group are linked. */
#ifndef HEDDLE_RUNTIME_CACHE_CODE_TIERS_H
#define HEDDLE_RUNTIME_CACHE_CODE_TIERS_H

#include "runtime/cache/disk_cache.h"
#include "runtime/exec/exec.h"

/* What is compiled. All of it is copied. */
struct rt_code_source {
    const struct rt_spec *spec; /* entries of its pipelines, and when they want optimised code */
    const void *bitcode;
    size_t size;
    int nfunctions;
    const struct rt_function *functions; /* all external ones */
};

/* How far it is. */
#define RT_OPTIMISED_STATES(X) \
    X(NOT, "no")            /* nobody asked for all of it yet */ \
    X(UNDERWAY, "underway") /* some of it is being compiled */ \
    X(DONE, "yes")          /* all of it */ \
    X(FAILED, "failed")     /* some of it could not be compiled */
enum rt_optimised {
#define X(id, name) RT_OPTIMISED_##id,
    RT_OPTIMISED_STATES(X)
#undef X
};
const char *rt_optimised_name(enum rt_optimised o);

struct rt_tiers_about {
    enum rt_optimised optimised;
    char problem[768]; /* why some of it could not be compiled, else "" */
};

struct rt_tiers; /* counted */
/* disk: where the optimised code goes once all of it is there; may be NULL. */
int rt_tiers_new(const struct rt_code_source *source, int threads, struct rt_disk_cache *disk, struct rt_cache_key key,
                 struct rt_tiers **out, struct hd_err *err);
void rt_tiers_release(struct rt_tiers *t); /* NULL is fine */
/* Optimised code of all functions comes from these objects. */
int rt_tiers_load(struct rt_tiers *t, const struct rt_bytes *objects, int n, struct hd_err *err);

/* Has compiled what the pipelines of the spec want and nobody has asked for before: what they begin with, and what is
 * optimised meanwhile. */
void rt_tiers_begin(struct rt_tiers *t, const struct rt_spec *spec, struct rt_thread_pool *thread_pool, int threads);
/* After an execution: has compiled the optimised code of all pipelines but those that never want any. What failed is
 * tried again, three times in all. Where there are no threads, or they have enough to do, it does nothing. */
void rt_tiers_settle(struct rt_tiers *t, const struct rt_spec *spec, struct rt_thread_pool *thread_pool, int threads);
/* Waits until the pipeline has the code that it begins with. The compiler's error if there will be none; CANCELLED once
 * stop (may be NULL) is set. */
int rt_tiers_wait(struct rt_tiers *t, int pipeline, enum rt_tiering tiering, const struct hd_stop *stop,
                  struct hd_err *err);
/* Compiles no more than threads are at, of which LLVM returns soon. */
void rt_tiers_stop(struct rt_tiers *t);
/* Something is being compiled although no execution has settled it. */
bool rt_tiers_is_premature(struct rt_tiers *t);

const struct rt_tier_entries *rt_tiers_entries(const struct rt_tiers *t); /* by pipeline */
void rt_tiers_tell(struct rt_tiers *t, struct rt_tiers_about *about);
/* Wall time in ms from when a thread began with the code of a pipeline, or of several, in this tier until it was linked;
 * < 0: it was not compiled here. */
double rt_tiers_ms(struct rt_tiers *t, int pipeline, enum rt_tier tier);

#endif
