/* Inside of rt_tiers: what is compiled by one call of the compiler, and what is linked at once. */
#ifndef HEDDLE_RUNTIME_CACHE_CODE_UNITS_H
#define HEDDLE_RUNTIME_CACHE_CODE_UNITS_H

#include <pthread.h>
#include <time.h>

#include "runtime/cache/code_tiers.h"
#include "runtime/cpu/link.h"
#include "runtime/cpu/llvm.h"

enum {
    RT_GROUP_UNITS = 16, /* at most */
    RT_MEANWHILE_GROUPS = 12,
    RT_OPTIMISED_GROUPS = RT_MEANWHILE_GROUPS + RT_TIERING_COUNT
};

enum rt_progress { RT_UNIT_IDLE, RT_UNIT_ASKED, RT_UNIT_RUNNING, RT_UNIT_COMPILED };

/* What one call of the compiler makes: an object of some functions. */
struct rt_code_unit {
    int group;
    enum rt_progress progress;
    const char **roots;
    int nroots;
    uint64_t weight;
    struct rt_bytes object;
};

/* What is linked at once: all functions of some pipelines in one tier. */
struct rt_code_group {
    enum rt_tier tier;
    int first, nunits, left; /* units; those that are still to be compiled */
    bool failed;             /* at the last attempt */
    int attempts;
    struct timespec began;
    double ms; /* < 0: not linked */
    struct rt_code *code;
};

struct rt_code_pipeline {
    const char *entry, *level[RT_MAX_LEVELS];
    int group[RT_TIER_COUNT];
    struct rt_entries entries[RT_TIER_COUNT];
};

struct rt_tiers {
    _Atomic int refs;
    struct hd_stop stop;
    struct rt_disk_cache *disk;
    struct rt_cache_key key;
    struct hd_arena arena; /* what follows, but for the objects; nothing is added once there are other threads */
    const void *bitcode;
    size_t size;
    int npipelines, ngroups, nunits;
    struct rt_code_pipeline *pipelines;
    struct rt_tier_entries *entries;
    struct rt_code_group *groups; /* first tier, then optimised */
    struct rt_code_unit *units;   /* in the order in which they are compiled */
    struct rt_code *loaded;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool settled;
    struct hd_err error; /* the last one */
};

/* Copies what is compiled and divides it. Inside a guard. */
int rt_tiers_divide(struct rt_tiers *t, const struct rt_code_source *s, int threads);

#endif
