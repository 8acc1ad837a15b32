/* Programs made by hand, with C functions in place of generated code. */
#ifndef HEDDLE_TESTS_EXEC_FIXTURE_H
#define HEDDLE_TESTS_EXEC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/cpu/helpers.h"
#include "runtime/exec/exec.h"

enum { FX_STATES = 8, FX_PIPELINES = 8, FX_ACTIONS = 32, FX_ARGS = 32, FX_FIELDS = 16 };

struct fx {
    struct hd_arena arena;
    struct rt_thread_pool *thread_pool;
    struct rt_memory memory;
    struct rt_spec spec;
    struct rt_state states[FX_STATES];
    struct rt_pipeline pipelines[FX_PIPELINES];
    struct rt_entries entries[FX_PIPELINES];
    struct rt_tier_entries tiers[FX_PIPELINES];
    struct rt_action actions[FX_ACTIONS];
    struct rt_arg args[FX_ARGS];
    struct fe_table tables[FX_PIPELINES];
    struct rt_site sites[2];
    int threads;
    bool profile;
    uint64_t limit;
    struct rt_temp temp;
    bool spill;
    struct rt_cancel *cancel;
    struct rt_exec_stats stats;
    struct rt_result *result;
    struct hd_err err;
};

/* Thread counts that every test of a state runs with. */
extern const int fx_threads[4];

/* word 0 of the args is the address of `context`. */
void fx_init(struct fx *f, int threads, void *context);
/* Executions have `limit` bytes of memory, and temporary files in dir. */
void fx_spill(struct fx *f, const char *dir, uint64_t limit);
void fx_release(struct fx *f); /* checks that all memory was given back */
/* An empty state with room for a hash, an existence byte or nothing before its fields. */
int fx_state(struct fx *f, enum rt_state_kind kind);
/* Adds a field and returns its number. */
int fx_field(struct fx *f, int state, enum rt_phys phys, bool nullable, enum rt_merge merge);
/* A pipeline over `rows` rows of a table without columns. */
int fx_table_pipeline(struct fx *f, int64_t rows, rt_entry_fn entry);
int fx_state_pipeline(struct fx *f, enum rt_source_kind source, int state, rt_entry_fn entry);
void fx_action(struct fx *f, enum rt_action_kind kind, int index);
int fx_state_arg(struct fx *f, enum rt_arg_kind kind, int state); /* returns the word */
void fx_seal(struct fx *f); /* once the program is complete; fx_run does so */
/* The entries as optimised code. */
const struct rt_tier_entries *fx_entries(struct fx *f);
/* Runs it; result and err are filled. Returns rt_exec_run's status. */
int fx_run(struct fx *f, int result_state);
/* The same, must succeed; the rows of the result. */
const unsigned char *fx_rows(struct fx *f, int result_state, uint64_t *n);

/* What generated sinks do. */
static inline void *fx_context(const uint64_t *args)
{
    return (void *)(uintptr_t)args[0];
}
int32_t fx_append(struct hdd_thread *t, int state, const void *row, size_t stride);
/* Hash of the key fields by the rule of templates/abi.h. */
uint64_t fx_hash(const struct rt_state *s, const unsigned char *row);
/* Finds or makes the group of a key image (a whole row with hash and keys); NULL: failed. */
unsigned char *fx_group(struct hdd_thread *t, const struct rt_state *s, int state, const unsigned char *row);
bool fx_same_keys(const struct rt_state *s, const unsigned char *a, const unsigned char *b);

/* Values of rows. */
static inline int64_t fx_i64(const struct rt_state *s, const unsigned char *row, int field)
{
    int64_t v;
    memcpy(&v, row + s->fields[field].offset, 8);
    return v;
}
static inline bool fx_valid(const struct rt_state *s, const unsigned char *row, int field)
{
    return s->fields[field].valid_offset < 0 || row[s->fields[field].valid_offset];
}
static inline void fx_put(const struct rt_state *s, unsigned char *row, int field, const void *v)
{
    memcpy(row + s->fields[field].offset, v, (size_t)rt_phys_size(s->fields[field].phys));
    if (s->fields[field].valid_offset >= 0)
        row[s->fields[field].valid_offset] = 1;
}
/* Pseudo-random, a function of x alone. */
static inline uint64_t fx_random(uint64_t x)
{
    x = hdd_mix(x + 0x9E3779B97F4A7C15u);
    x = hdd_mix(x ^ x >> 29);
    return x ^ x >> 31;
}

#endif
