/* The last step over few rows of other fragments. They have come to the host together with what it waits for anyway: a thread of
 * the CPU is done with them before a GPU has them. */
#include "api/api_backend.h"
#include "api/api_spread.h"

/* More are the GPU's, whatever they take. */
enum { FEW_ROWS = 1024 };

bool api_spread_has_few(const struct api_spread *p, const struct api_spread_fragment *f)
{
    int64_t rows = 0;
    bool last = f->exchange == API_EXCHANGE_RESULT && !f->every && !f->reads_tables && !p->gives;
    if (!last || p->of->backend->side != PL_GPU || !api_backend_of(PL_CPU))
        return false;
    for (int i = 0; i < f->ninputs; i++) {
        const struct api_spread_table *t = api_spread_table_of(p, &p->fragments[f->inputs[i].fragment], 0);
        if (!t->rows)
            return false;
        rows += t->table->rows;
    }
    return rows <= FEW_ROWS;
}

bool api_spread_is_few(struct heddle_statement *s)
{
    struct hd_err e;
    hd_err_init(&e);
    bool planned = api_statement_plan_here(s, &e) == 0;
    hd_err_release(&e); /* the GPU's statement tells it, too */
    if (!planned)
        return false;
    struct pl_work work = pl_work_of(s->program->pl);
    return pl_cpu_has_few(&work);
}

bool api_spread_on_cpu(const struct api_spread_fragment *f, int w)
{
    const struct heddle_statement *s = f->part[w].statement;
    return f->on_cpu || (s && s->backend->side == PL_CPU);
}
