/* A statement's plan, cut for several workers. */
#include "api/api_facts.h"
#include "api/api_statement.h"
#include "frontend/json_make.h"
#include "frontend/plan_any.h"
#include "planner/distribute.h"
#include "runtime/store/store.h"
#include "runtime/store/store_column.h"

/* Of one plan. */
enum { WORKERS_MAX = 1024 };

static int value_in(const struct fe_table *t, int column, int64_t row, int64_t *out, struct hd_err *err)
{
    for (int i = 0; i < t->nsegments; i++)
        if (row < t->segments[i]->first_row + t->segments[i]->rows)
            return value_in(t->segments[i], column, row - t->segments[i]->first_row, out, err);
    const struct fe_table_column *c = &t->cols[column];
    HD_TRY(rt_store_touch((struct fe_table_part){t, FE_PART_COLUMN, column}, err));
    *out = (int64_t)rt_col_int(c, row);
    return 0;
}

int api_statement_cut(struct hd_arena *a, const struct heddle_statement *s, const struct api_cut *how,
                      struct cJSON **document, struct hd_err *err)
{
    const struct pl_distribute_options o = {.workers = how->workers,
                                            .segments = how->segments,
                                            .gpus = how->gpus,
                                            .link = how->link,
                                            .divide = how->divide,
                                            .memory = how->memory,
                                            .streams = how->streams,
                                            .value = value_in,
                                            .touch_dict = rt_store_touch_dict};
    const struct cJSON *tree;
    HD_TRY(fe_plan_check_bound(s->plan, err));
    HD_TRY(fe_plan_tree(a, s->source, s->source_size, &tree, err));
    return pl_distribute(a, s->plan, tree, &s->tables->cat, &o, document, err);
}

static int cut(struct hd_arena *a, const struct heddle_statement *s, int workers, struct hd_strbuf *text,
               struct hd_err *err)
{
    struct cJSON *document;
    const struct api_cut how = {.workers = workers ? workers : HD_MAX(s->segments, 1), .segments = !workers};
    HD_TRY(api_statement_cut(a, s, &how, &document, err));
    return fe_print_json(document, text, err);
}

static int plan_fragments(struct heddle_statement *s, int workers, struct hd_strbuf *text, struct hd_err *err)
{
    struct hd_arena a;
    int rc;
    HD_TRY(api_statement_ready(s, err));
    if (workers < 0 || workers > WORKERS_MAX)
        return HD_FAIL(err, USER, NULL, "workers: expected 1 to %d, or 0 for one a segment, found %d", WORKERS_MAX,
                       workers);
    HD_TRY(api_statement_learn(s, err));
    hd_arena_init(&a);
    HD_GUARDED(rc, &s->cancel.flag, err, cut(&a, s, workers, text, err));
    hd_arena_release(&a);
    return rc;
}

int heddle_plan_fragments(heddle_statement *s, int workers, char **json, heddle_error **err)
{
    struct hd_err e;
    struct hd_strbuf text;
    API_NEED(s, err);
    API_NEED(json, err);
    hd_err_init(&e);
    hd_strbuf_init(&text);
    int rc = plan_fragments(s, workers, &text, &e);
    if (rc == 0)
        *json = hd_strbuf_detach(&text);
    hd_strbuf_release(&text);
    return api_statement_finish(s, rc, &e, err);
}
