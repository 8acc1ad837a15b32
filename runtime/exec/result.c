/* The finished rows of an execution. */
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/rows_out.h"

int rt_result_stream(struct rt_result *r, struct ArrowArrayStream *out, struct hd_err *err)
{
    struct rt_exec *x = r->x;
    const struct rt_live *v = &x->live[x->spec->result_state];
    return rt_rows_stream(x->spec, v->rows, v->nrows, rt_state_row_sums(v), &x->memory, rt_cancel_flag(x->o.cancel),
                          out, err);
}

int rt_result_verify(const struct rt_result *r, struct hd_err *err)
{
    char text[RT_REFUSAL_TEXT];
    const struct rt_live *v = &r->x->live[r->x->spec->result_state];
    const struct rt_checksums *sums = rt_state_row_sums(v);
    if (rt_checksums_verify(&r->x->memory, sums, 0, sums->n))
        return 0;
    enum hd_err_class class = rt_memory_refusal(&r->x->memory, "result", text);
    return hd_err_set(err, class, __FILE__, __LINE__, NULL, "%s", text);
}

const unsigned char *rt_result_rows(const struct rt_result *r, uint64_t *n)
{
    const struct rt_live *v = &r->x->live[r->x->spec->result_state];
    *n = v->nrows;
    return v->rows;
}
