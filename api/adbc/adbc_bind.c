/* Executing a plan once for each row of what was bound. */
#include <stdlib.h>
#include <string.h>

#include "api/adbc/adbc_internal.h"
#include "api/adbc/adbc_stream.h"
#include "api/adbc/adbc_value.h"

/* Bound columns, and the parameter that each is for. */
struct binding {
    struct ArrowSchema columns, parameters;
    int64_t *parameter; /* of column i */
    struct adbc_bytes text;
};

static void release_binding(struct binding *b)
{
    if (b->columns.release)
        b->columns.release(&b->columns);
    if (b->parameters.release)
        b->parameters.release(&b->parameters);
    free(b->parameter);
    free(b->text.p);
}

static AdbcStatusCode stream_failed(struct ArrowArrayStream *s, struct AdbcError *e)
{
    const char *said = s->get_last_error ? s->get_last_error(s) : NULL;
    return adbc_fail(e, ADBC_STATUS_IO, "HY000", "the bound stream: %s", said ? said : "failed");
}

static int64_t find_parameter(const struct binding *b, const char *name)
{
    for (int64_t i = 0; name && i < b->parameters.n_children; i++)
        if (strcmp(b->parameters.children[i]->name, name) == 0)
            return i;
    return -1;
}

/* By name where the option says so, or says nothing and all columns are named as parameters are; else by position. */
static AdbcStatusCode match(struct binding *b, const char *by_name, struct AdbcError *e)
{
    int64_t n = b->columns.n_children;
    b->parameter = calloc((size_t)n + 1, sizeof *b->parameter);
    if (!b->parameter)
        return ADBC_NO_MEMORY(e);
    bool names = !by_name || strcmp(by_name, "true") == 0;
    for (int64_t i = 0; i < n && names; i++) {
        b->parameter[i] = find_parameter(b, b->columns.children[i]->name);
        names = b->parameter[i] >= 0;
        if (!names && by_name)
            return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "07001", "the plan has no parameter \"%s\"",
                             b->columns.children[i]->name);
    }
    if (names)
        return ADBC_STATUS_OK;
    if (n > b->parameters.n_children)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "07001", "%lld values are bound to %lld parameters",
                         (long long)n, (long long)b->parameters.n_children);
    for (int64_t i = 0; i < n; i++)
        b->parameter[i] = i;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode open_binding(struct adbc_statement *s, struct binding *b, struct AdbcError *e)
{
    heddle_error *error = NULL;
    if (s->bound.get_schema(&s->bound, &b->columns) != 0)
        return stream_failed(&s->bound, e);
    if (!b->columns.format || strcmp(b->columns.format, "+s") != 0)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "07006", "bound rows are of a struct type");
    if (heddle_statement_parameters(s->s, &b->parameters, &error) != 0)
        return adbc_fail_heddle(e, error);
    return match(b, adbc_option_text(&s->options, ADBC_OPT_BIND_BY_NAME), e);
}

static AdbcStatusCode bind_row(struct adbc_statement *s, struct binding *b, const struct ArrowArray *batch, int64_t row,
                               struct AdbcError *e)
{
    for (int64_t i = 0; i < b->columns.n_children; i++) {
        bool there;
        heddle_error *error = NULL;
        const char *name = b->parameters.children[b->parameter[i]]->name;
        ADBC_TRY(adbc_value_text(b->columns.children[i], batch->children[i], row + batch->offset, &b->text, &there, e));
        if (heddle_bind(s->s, name, there ? b->text.p : NULL, &error) != 0)
            return adbc_fail_heddle(e, error);
    }
    return ADBC_STATUS_OK;
}

/* Results so far. */
struct results {
    struct ArrowArrayStream *list;
    int n;
};

static AdbcStatusCode execute_row(struct adbc_statement *s, struct results *r, struct AdbcError *e)
{
    heddle_error *error = NULL;
    if (r->n == INT32_MAX)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "54000", "too many rows are bound");
    if ((r->n & (r->n - 1)) == 0) { /* room for twice as many at each power of two */
        struct ArrowArrayStream *more = realloc(r->list, ((size_t)r->n * 2 + 1) * sizeof *more);
        if (!more)
            return ADBC_NO_MEMORY(e);
        r->list = more;
    }
    if (heddle_execute(s->s, &r->list[r->n], &error) != 0)
        return adbc_fail_heddle(e, error);
    r->n++;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode execute_batch(struct adbc_statement *s, struct binding *b, const struct ArrowArray *batch,
                                    struct results *r, struct AdbcError *e)
{
    if (batch->length < 0 || batch->offset < 0 || batch->n_children != b->columns.n_children)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "07006", "a bound batch has %lld columns, its schema %lld",
                         (long long)batch->n_children, (long long)b->columns.n_children);
    for (int64_t i = 0; i < batch->n_children; i++)
        if (!adbc_values_fit(b->columns.children[i], batch->children[i], batch->offset + batch->length))
            return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "07006", "bound column %lld does not fit its schema",
                             (long long)i + 1);
    for (int64_t row = 0; row < batch->length; row++) {
        ADBC_TRY(bind_row(s, b, batch, row, e));
        ADBC_TRY(execute_row(s, r, e));
    }
    return ADBC_STATUS_OK;
}

static AdbcStatusCode execute_batches(struct adbc_statement *s, struct binding *b, struct results *r,
                                      struct AdbcError *e)
{
    for (;;) {
        struct ArrowArray batch = {0};
        if (s->bound.get_next(&s->bound, &batch) != 0)
            return stream_failed(&s->bound, e);
        if (!batch.release)
            return ADBC_STATUS_OK;
        AdbcStatusCode status = execute_batch(s, b, &batch, r, e);
        batch.release(&batch);
        ADBC_TRY(status);
    }
}

/* The results as one; without any, the schema that they would have. */
static AdbcStatusCode join_results(struct adbc_statement *s, struct results *r, struct ArrowArrayStream *out,
                                   struct AdbcError *e)
{
    struct ArrowSchema schema;
    heddle_error *error = NULL;
    if (r->n == 0 && heddle_statement_schema(s->s, &schema, &error) != 0)
        return adbc_fail_heddle(e, error);
    AdbcStatusCode status = adbc_stream_concat(s->core, r->n == 0 ? &schema : NULL, r->list, r->n, out, e);
    r->n = 0;
    return status;
}

AdbcStatusCode adbc_execute_bound(struct adbc_statement *s, struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct binding b = {0};
    struct results r = {0};
    AdbcStatusCode status = ADBC_STATUS_OK;
    if (s->bound.release) {
        status = open_binding(s, &b, e);
        if (status == ADBC_STATUS_OK)
            status = execute_batches(s, &b, &r, e);
        s->bound.release(&s->bound);
        s->bound.release = NULL;
    } else
        status = execute_row(s, &r, e);
    if (status == ADBC_STATUS_OK)
        status = join_results(s, &r, out, e);
    for (int i = 0; i < r.n; i++)
        r.list[i].release(&r.list[i]);
    free(r.list);
    release_binding(&b);
    return status;
}
