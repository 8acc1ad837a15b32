/* Modules of functions that are no pipelines, to compile, link and cache. */
#ifndef HEDDLE_TESTS_EXEC_MODULE_FIXTURE_H
#define HEDDLE_TESTS_EXEC_MODULE_FIXTURE_H

#include "runtime/cache/code_tiers.h"

enum { MOD_FUNCTIONS = 24 };

/* i32 f<k>(i32 x) for k < n, each worth dividing a module for; `salt` makes it another. */
struct rt_bytes make_bitcode(int n, int salt);
struct rt_bytes assemble_bitcode(const char *text); /* of LLVM's text */
void check_function(void *p, int k, int salt);

/* Each function as the entry of a pipeline. */
struct mod_source {
    struct rt_code_source source;
    struct rt_spec spec;
    struct rt_pipeline pipelines[MOD_FUNCTIONS];
    struct rt_function functions[MOD_FUNCTIONS];
    char names[MOD_FUNCTIONS][16];
};
void mod_source_init(struct mod_source *s, struct rt_bytes bitcode, int n, enum rt_tiering tiering);
void *mod_function(const struct rt_tiers *t, int k, enum rt_tier tier); /* NULL: it is not there */

#endif
