/* What a prepared statement takes and gives, as Arrow schemas. */
#include "api/api_statement.h"
#include "runtime/io/arrow_out.h"

static int result_columns(struct hd_arena *a, const struct fe_plan *p, struct rt_out_column **out, int *n)
{
    *n = p->root->ncols;
    *out = HD_NEWN(a, struct rt_out_column, *n + 1);
    for (int i = 0; i < *n; i++) {
        const struct fe_column *c = &p->root->cols[i];
        (*out)[i] = (struct rt_out_column){c->name, c->type, c->nullable};
    }
    return 0;
}

/* A list is bound as text, whatever its elements are. */
static int parameter_columns(struct hd_arena *a, const struct fe_plan *p, struct rt_out_column **out, int *n)
{
    *n = p->nparams;
    *out = HD_NEWN(a, struct rt_out_column, *n + 1);
    for (int i = 0; i < *n; i++) {
        const struct fe_param *x = &p->params[i];
        (*out)[i] = (struct rt_out_column){x->name, x->is_list ? hd_type_of(HD_STRING) : x->type, x->nullable};
    }
    return 0;
}

typedef int columns_fn(struct hd_arena *a, const struct fe_plan *p, struct rt_out_column **out, int *n);

/* A stream without rows. */
static int make_stream(struct heddle_statement *s, columns_fn *columns, struct ArrowArrayStream *out,
                       struct hd_err *err)
{
    int rc, n = 0;
    struct hd_arena a;
    struct rt_out_column *list = NULL;
    struct rt_arrow_out *o;
    HD_TRY(api_statement_ready(s, err));
    hd_arena_init(&a);
    HD_GUARDED(rc, NULL, err, columns(&a, s->plan, &list, &n));
    if (rc == 0)
        rc = rt_arrow_out_new(n, list, &o, err);
    if (rc == 0)
        rt_arrow_out_finish(o, out);
    hd_arena_release(&a);
    return rc;
}

int api_statement_empty_stream(struct heddle_statement *s, struct ArrowArrayStream *out, struct hd_err *err)
{
    return make_stream(s, result_columns, out, err);
}

static int schema_of(struct heddle_statement *s, columns_fn *columns, struct ArrowSchema *out, struct hd_err *err)
{
    struct ArrowArrayStream stream;
    HD_TRY(make_stream(s, columns, &stream, err));
    int rc = stream.get_schema(&stream, out);
    stream.release(&stream);
    return rc == 0 ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory for a schema");
}

int heddle_statement_schema(heddle_statement *s, struct ArrowSchema *out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(out, err);
    hd_err_init(&e);
    return api_finish(schema_of(s, result_columns, out, &e), &e, err);
}

int heddle_statement_parameters(heddle_statement *s, struct ArrowSchema *out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(out, err);
    hd_err_init(&e);
    return api_finish(schema_of(s, parameter_columns, out, &e), &e, err);
}
