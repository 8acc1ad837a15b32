/* Results where they were made, by the Arrow C Device Interface: here those of the host. */
#include <stdlib.h>
#include <string.h>

#include "api/api_auto.h"
#include "api/api_backend.h"
#include "api/api_spread.h"
#include "runtime/base/fault.h"

static int host_schema(struct ArrowDeviceArrayStream *stream, struct ArrowSchema *out)
{
    struct ArrowArrayStream *from = stream->private_data;
    return from->get_schema(from, out);
}

static int host_next(struct ArrowDeviceArrayStream *stream, struct ArrowDeviceArray *out)
{
    struct ArrowArrayStream *from = stream->private_data;
    memset(out, 0, sizeof *out);
    out->device_id = -1;
    out->device_type = ARROW_DEVICE_CPU;
    return from->get_next(from, &out->array);
}

static const char *host_error(struct ArrowDeviceArrayStream *stream)
{
    struct ArrowArrayStream *from = stream->private_data;
    return from->get_last_error(from);
}

static void host_release(struct ArrowDeviceArrayStream *stream)
{
    struct ArrowArrayStream *from = stream->private_data;
    from->release(from);
    free(from);
    stream->release = NULL;
}

static int execute_on_host(struct heddle_statement *s, struct ArrowDeviceArrayStream *out, struct hd_err *err)
{
    struct ArrowArrayStream *rows = hd_try_calloc(1, sizeof *rows);
    if (!rows)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    if (api_spread_or_execute(s, rows, err) != 0) {
        free(rows);
        return -1;
    }
    *out = (struct ArrowDeviceArrayStream){ARROW_DEVICE_CPU, host_schema, host_next, host_error, host_release, rows};
    return 0;
}

static int execute(struct heddle_statement *s, void *out, struct hd_err *err)
{
    return s->backend->give && !s->segments ? api_spread_or_give(s, out, err) : execute_on_host(s, out, err);
}

int heddle_statement_execute_device(heddle_statement *s, struct ArrowDeviceArrayStream *out, heddle_error **err)
{
    struct hd_err e;
    API_NEED(s, err);
    API_NEED(out, err);
    hd_err_init(&e);
    return api_statement_finish(s, api_auto_execute(s, execute, out, &e), &e, err);
}
