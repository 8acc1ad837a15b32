/* Any text as a plan over a small database, planned and emitted for both backends: whatever the
 * reader takes becomes code or one error that says where. No assertion of planner, verifier or
 * emitters can be reached from a plan. */
#include "codegen/codegen.h"
#include "codegen/cuda_source.h"
#include "fuzz_database.h"
#include "fuzz_frontend.h"
#include "planner/pipeline.h"

static void emit(struct hd_arena *a, const struct pl_program *p, bool profile)
{
    struct hd_err err;
    struct cg_options o = {.profile = profile};
    struct cg_artifact bitcode;
    struct cg_cuda_artifact sources;
    hd_err_init(&err);
    if (cg_llvm_emit(a, p, &o, &bitcode, &err) != 0 || cg_cuda_emit(a, p, &o, &sources, &err) != 0) {
        fprintf(stderr, "%s: %s\n", err.path, err.message);
        abort();
    }
    hd_err_release(&err);
}

/* Choices that are no part of a plan follow from its size, so that an input does the same each
 * time it is run. */
static void plan_and_emit(struct hd_arena *a, const struct fe_plan *plan, size_t size)
{
    struct hd_err err;
    struct pl_program *p;
    struct pl_options o = {.threads = 1 + (int)(size % 5),
                           .profile = size % 7 == 0,
                           .frame_weight = size % 4 ? 0 : 8 + (int)(size % 100),
                           .balance = size % 3 ? RT_BALANCE_AUTO : RT_BALANCE_AWS};
    hd_err_init(&err);
    int rc = pl_plan(a, plan, &o, &p, &err);
    fuzz_check_error(rc, &err, err.class == HD_ERR_UNSUPPORTED ? HD_ERR_UNSUPPORTED : HD_ERR_USER);
    if (rc == 0)
        emit(a, p, o.profile);
    hd_err_release(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_plan *p = NULL;
    hd_arena_init(&a);
    hd_err_init(&err);
    const struct fe_catalog *db = fuzz_database((enum fuzz_facts)(size % FUZZ_FACTS));
    int rc = fe_plan_read(&a, hd_strndup(&a, (const char *)data, size), db, &p, &err);
    fuzz_check_error(rc, &err, HD_ERR_USER);
    if (rc == 0 && fe_plan_check_bound(p, &err) == 0)
        plan_and_emit(&a, p, size);
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
