/* The document of a plan that is cut (docs/scale.md), as what workers run. */
#include <string.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "frontend/json_make.h"

static enum api_exchange exchange_named(const char *name)
{
    static const char *const names[] = {
#define X(id, name) name,
        API_EXCHANGES(X)
#undef X
    };
    for (size_t i = 0; i < HD_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum api_exchange)i;
    HD_BUG("exchange %s", name);
}

static int text_of(struct hd_arena *a, const struct cJSON *v, const char **out, struct hd_err *err)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    int rc = fe_print_json(v, &b, err);
    *out = rc == 0 ? hd_strndup(a, b.s, b.n) : NULL;
    hd_strbuf_release(&b);
    return rc;
}

static int count(const struct cJSON *list)
{
    int n = 0;
    for (const struct cJSON *v = fe_first_json(list); v; v = fe_next_json(v))
        n++;
    return n;
}

static int read_inputs(struct api_spread *p, struct api_spread_fragment *f, const struct cJSON *list)
{
    f->inputs = HD_NEWN(&p->arena, struct api_spread_input, count(list) + 1);
    for (const struct cJSON *v = fe_first_json(list); v; v = fe_next_json(v)) {
        int from = (int)fe_number_of(fe_member(v, "fragment"));
        const char *table = hd_strdup(&p->arena, fe_member_text(v, "table"));
        f->inputs[f->ninputs++] = (struct api_spread_input){table, from};
        p->fragments[from].name = table;
        p->fragments[from].last_reader = HD_MAX(p->fragments[from].last_reader, (int)(f - p->fragments));
    }
    return 0;
}

static bool is_input(const struct api_spread_fragment *f, const char *table)
{
    for (int i = 0; i < f->ninputs; i++)
        if (strcmp(f->inputs[i].table, table) == 0)
            return true;
    return false;
}

/* Whether a plan reads tables that are no inputs. */
static bool reads_tables(const struct api_spread_fragment *f, const struct cJSON *plan)
{
    const char *op = fe_member_text(plan, "op");
    const char *table = op && strcmp(op, "scan") == 0 ? fe_member_text(plan, "table") : NULL;
    bool reads = table && !is_input(f, table);
    for (const struct cJSON *v = fe_first_json(plan); v && !reads; v = fe_next_json(v))
        reads = reads_tables(f, v);
    return reads;
}

static int read_values(struct api_spread *p, struct api_spread_fragment *f, const struct cJSON *list,
                       struct hd_err *err)
{
    int w = 0;
    for (const struct cJSON *v = list ? fe_first_json(list) : NULL; v; v = fe_next_json(v), w++)
        if (fe_first_json(v))
            HD_TRY(text_of(&p->arena, v, &f->values[w], err));
    return 0;
}

static int read_fragment(struct api_spread *p, struct api_spread_fragment *f, const struct cJSON *v, struct hd_err *err)
{
    const char *column = fe_member_text(v, "column");
    f->every = strcmp(fe_member_text(v, "workers"), "every") == 0;
    f->exchange = exchange_named(fe_member_text(v, "exchange"));
    f->column = column ? hd_strdup(&p->arena, column) : NULL;
    f->rows = fe_number_of(fe_member(v, "rows"));
    f->bytes = fe_number_of(fe_member(v, "bytes"));
    f->state_bytes = fe_member(v, "state_bytes") ? fe_number_of(fe_member(v, "state_bytes")) : 0;
    HD_TRY(read_inputs(p, f, fe_member(v, "inputs")));
    f->reads_tables = reads_tables(f, fe_member(v, "plan"));
    HD_TRY(text_of(&p->arena, fe_member(v, "plan"), &f->plan, err));
    return read_values(p, f, fe_member(v, "bind"), err);
}

static void new_parts(struct api_spread *p, struct api_spread_fragment *f)
{
    f->values = HD_NEWN(&p->arena, const char *, p->workers);
    f->part = HD_NEWN(&p->arena, struct api_spread_part, p->workers);
    f->table = HD_NEWN(&p->arena, struct api_spread_table, p->workers);
    for (int w = 0; w < p->workers; w++)
        api_spread_table_init(&f->table[w]);
}

static int read_document(struct api_spread *p, const struct cJSON *document, struct hd_err *err)
{
    const struct cJSON *list = fe_member(document, "fragments");
    int n = count(list);
    p->fragments = HD_NEWN(&p->arena, struct api_spread_fragment, n);
    for (int i = 0; i < n; i++)
        new_parts(p, &p->fragments[i]);
    p->nfragments = n;
    struct api_spread_fragment *f = p->fragments;
    for (const struct cJSON *v = fe_first_json(list); v; v = fe_next_json(v), f++)
        HD_TRY(read_fragment(p, f, v, err));
    return 0;
}

int api_spread_cut(struct api_spread *p, double memory, struct hd_err *err)
{
    struct cJSON *document;
    p->nfragments = 0;
    p->cut_for = p->workers;
    const struct api_cut how = {.workers = p->workers,
                                .segments = p->segments,
                                .gpus = memory == 0 && p->of->backend->side == PL_GPU,
                                .link = p->of->db->context->link,
                                .divide = p->divide,
                                .memory = memory,
                                .streams = memory > 0 && api_spread_streams(p)};
    HD_TRY(api_statement_cut(&p->arena, p->of, &how, &document, err));
    return read_document(p, document, err);
}

int api_spread_slot(const struct api_spread *p, int w)
{
    return p->slot[w % p->lanes];
}

int api_spread_runs(const struct api_spread_fragment *f, int workers)
{
    return f->every ? workers : 1;
}
