/* The finished rows of an execution. */
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/rows_out.h"

int rt_result_stream(struct rt_result *r, struct ArrowArrayStream *out, struct hd_err *err)
{
    struct rt_exec *x = r->x;
    const struct rt_live *v = &x->live[x->spec->result_state];
    return rt_rows_stream(x->spec, v->rows, v->nrows, &x->memory, rt_cancel_flag(x->o.cancel), out, err);
}

const unsigned char *rt_result_rows(const struct rt_result *r, uint64_t *n)
{
    const struct rt_live *v = &r->x->live[r->x->spec->result_state];
    *n = v->nrows;
    return v->rows;
}
