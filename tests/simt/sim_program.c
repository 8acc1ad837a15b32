#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/plan.h"
#include "runtime/store/store.h"
#include "tests/simt/sim.h"

static char *read_file(struct hd_arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = hd_zalloc(a, (size_t)n + 1);
    size_t got = fread(text, 1, (size_t)n, f);
    fclose(f);
    return got == (size_t)n ? text : NULL;
}

static int open_database(struct sim_program *p, const char *db, struct fe_catalog_doc **doc, struct hd_err *err)
{
    char *text = NULL;
    HD_TRY(rt_store_read_catalog(db, &text, err));
    int status = fe_catalog_read(&p->arena, text, db, doc, err);
    free(text);
    HD_TRY(status);
    return rt_store_open(db, *doc, (struct rt_open_mode){0}, &p->store, err);
}

/* Verifies the columns that the program reads, as the runtime does before it uses them. */
static int touch_columns(const struct rt_spec *s, struct hd_err *err)
{
    for (int i = 0; i < s->npipelines; i++)
        for (int k = 0; k < s->pipelines[i].ntouched; k++)
            HD_TRY(rt_store_touch(s->pipelines[i].touched[k], err));
    return 0;
}

static int bind(struct sim_program *p, struct fe_plan *plan, const char *path, struct hd_err *err)
{
    char *json = path ? read_file(&p->arena, path) : NULL;
    if (path && !json)
        return HD_FAIL(err, IO, path, "the parameters cannot be read");
    if (json)
        HD_TRY(fe_plan_bind_json(plan, json, err));
    return fe_plan_check_bound(plan, err);
}

static int plan_and_emit(struct sim_program *p, const char *plan_path, const char *db, const char *params,
                         const struct pl_options *options, struct hd_err *err)
{
    struct fe_catalog_doc *doc;
    struct fe_plan *plan;
    char *json = read_file(&p->arena, plan_path);
    if (!json)
        return HD_FAIL(err, IO, plan_path, "the plan cannot be read");
    HD_TRY(open_database(p, db, &doc, err));
    HD_TRY(fe_plan_read(&p->arena, json, &doc->cat, &plan, err));
    HD_TRY(bind(p, plan, params, err));
    const struct fe_node *top = plan->root;
    while (top->op == FE_LIMIT_OP)
        top = top->inputs[0];
    p->ordered = top->op == FE_SORT_OP;
    HD_TRY(pl_plan(&p->arena, plan, options, &p->pl, err));
    HD_TRY(touch_columns(p->pl->spec, err));
    struct cg_options co = {.profile = options->profile};
    return cg_cuda_emit(&p->arena, p->pl, &co, &p->art, err);
}

int sim_program_init(struct sim_program *p, const char *plan_path, const char *db, const char *params,
                     const struct pl_options *options, struct hd_err *err)
{
    memset(p, 0, sizeof *p);
    hd_arena_init(&p->arena);
    if (plan_and_emit(p, plan_path, db, params, options, err) == 0)
        return 0;
    sim_program_release(p);
    return -1;
}

void sim_program_release(struct sim_program *p)
{
    rt_store_close(p->store);
    hd_arena_release(&p->arena);
}
