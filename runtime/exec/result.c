/* The finished rows of an execution. */
#include "runtime/exec/exec_internal.h"
#include "runtime/exec/rows_out.h"

int rt_result_stream(struct rt_result *r, struct ArrowArrayStream *out, struct hd_err *err)
{
    struct rt_exec *x = r->x;
    const struct rt_live *v = &x->live[x->spec->result_state];
    const struct rt_rows_options o = {.memory = &x->memory,
                                      .stop = rt_cancel_flag(x->o.cancel),
                                      .thread_pool = x->o.thread_pool,
                                      .threads = x->o.threads};
    struct rt_rows_out *rows;
    HD_TRY(rt_rows_out_new(x->spec, &o, &rows, err));
    if (rt_rows_out_add(rows, v->rows, v->nrows, rt_state_row_sums(v), err) != 0) {
        rt_rows_out_free(rows);
        return -1;
    }
    rt_rows_out_finish(rows, out);
    return 0;
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
