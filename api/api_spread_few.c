/* The last step over few rows of other fragments. They have come to the host together with what it waits for anyway: a thread of
 * the CPU is done with them before a GPU has them. */
#include <stdlib.h>

#include "api/api_backend.h"
#include "api/api_spread.h"

/* More are the GPU's, whatever they take. For tests another number; 0: all are. */
static int64_t few_rows(void)
{
    enum { ROWS = 1024 };
    const char *text = secure_getenv("HEDDLE_FEW_ROWS");
    return text ? atoll(text) : ROWS;
}

static bool is_last_alone(const struct api_spread *p, const struct api_spread_fragment *f)
{
    bool last = f->exchange == API_EXCHANGE_RESULT && !f->every && !f->reads_tables && !f->takes_long && !p->gives;
    return last && f->ninputs && p->of->backend->side == PL_GPU && api_backend_of(PL_CPU) && few_rows() > 0;
}

static bool reads(const struct api_spread *p, const struct api_spread_fragment *f,
                  const struct api_spread_fragment *from)
{
    for (int i = 0; i < f->ninputs; i++)
        if (&p->fragments[f->inputs[i].fragment] == from)
            return true;
    return false;
}

/* Whether rows of `from` do, too. f is about to run, on one worker or the other: of what it reads that is known; of what it does
 * not read it may not be, or not to all workers alike. */
static bool comes_to_host(const struct api_spread *p, const struct api_spread_fragment *f,
                          const struct api_spread_fragment *from)
{
    if (from->exchange == API_EXCHANGE_GATHER)
        return from->bytes <= API_FEW_BYTES;
    return reads(p, f, from) && !from->direct;
}

bool api_spread_feeds_few(const struct api_spread *p, const struct api_spread_fragment *f)
{
    const struct api_spread_fragment *to = &p->fragments[f->last_reader];
    double rows = 0;
    if (f->exchange != API_EXCHANGE_GATHER || !is_last_alone(p, to))
        return false;
    for (int i = 0; i < to->ninputs; i++) {
        const struct api_spread_fragment *from = &p->fragments[to->inputs[i].fragment];
        if (!comes_to_host(p, f, from))
            return false;
        rows += HD_MAX(from->rows, from->came);
    }
    return rows <= (double)few_rows();
}

bool api_spread_has_few(const struct api_spread *p, const struct api_spread_fragment *f)
{
    int64_t rows = 0;
    if (!is_last_alone(p, f))
        return false;
    for (int i = 0; i < f->ninputs; i++) {
        const struct api_spread_table *t = api_spread_table_of(p, &p->fragments[f->inputs[i].fragment], 0);
        if (!t->rows)
            return false;
        rows += t->table->rows;
    }
    return rows <= few_rows();
}

bool api_spread_is_few(struct api_spread_fragment *f, struct heddle_statement *s)
{
    struct hd_err e;
    hd_err_init(&e);
    bool few = api_statement_plan_here(s, &e) == 0;
    hd_err_release(&e); /* the GPU's statement tells it, too */
    if (few) {
        struct pl_work work = pl_work_of(s->program->pl);
        few = pl_cpu_has_few(&work);
    }
    f->takes_long = !few;
    return few;
}

bool api_spread_on_cpu(const struct api_spread_fragment *f, int w)
{
    const struct heddle_statement *s = f->part[w].statement;
    return f->on_cpu || (s && s->backend->side == PL_CPU);
}
