/* The rows of the last fragment: the streams of its parts one behind the other, on the host or left on the GPU. */
#include <stdlib.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "runtime/base/fault.h"

/* All on the host, or all on a device. */
struct streams {
    bool device;
    int n, at;
    union {
        struct ArrowArrayStream host;
        struct ArrowDeviceArrayStream device;
    } stream[];
};

/* Room for n streams; NULL: out of memory. */
static struct streams *streams_new(bool device, int n)
{
    struct streams *v = hd_try_calloc(1, sizeof *v + (size_t)n * sizeof *v->stream);
    if (v)
        v->device = device;
    return v;
}

static int schema_of(struct streams *v, int i, struct ArrowSchema *out)
{
    struct ArrowArrayStream *host = &v->stream[i].host;
    struct ArrowDeviceArrayStream *device = &v->stream[i].device;
    return v->device ? device->get_schema(device, out) : host->get_schema(host, out);
}

/* A batch on a device begins with the struct of one on the host. */
static int next_of(struct streams *v, int i, struct ArrowArray *out)
{
    struct ArrowArrayStream *host = &v->stream[i].host;
    struct ArrowDeviceArrayStream *device = &v->stream[i].device;
    return v->device ? device->get_next(device, (struct ArrowDeviceArray *)(void *)out) : host->get_next(host, out);
}

/* A column has NULLs if it has any in one of them. */
static int schema(struct streams *v, struct ArrowSchema *out)
{
    int rc = schema_of(v, 0, out);
    for (int i = 1; i < v->n && rc == 0; i++) {
        struct ArrowSchema other;
        rc = schema_of(v, i, &other);
        for (int64_t k = 0; k < out->n_children && rc == 0; k++)
            out->children[k]->flags |= other.children[k]->flags & ARROW_FLAG_NULLABLE;
        if (rc == 0)
            other.release(&other);
        else
            out->release(out);
    }
    return rc;
}

static int next(struct streams *v, struct ArrowArray *out)
{
    for (;; v->at++) {
        int rc = next_of(v, v->at, out);
        if (rc != 0 || out->release || v->at + 1 == v->n)
            return rc;
    }
}

static const char *last_error(struct streams *v)
{
    struct ArrowArrayStream *host = &v->stream[v->at].host;
    struct ArrowDeviceArrayStream *device = &v->stream[v->at].device;
    return v->device ? device->get_last_error(device) : host->get_last_error(host);
}

static void release(struct streams *v)
{
    for (int i = 0; i < v->n; i++)
        if (v->device)
            v->stream[i].device.release(&v->stream[i].device);
        else
            v->stream[i].host.release(&v->stream[i].host);
    free(v);
}

/* ---- on the host ------------------------------------------------------------------------------------------------- */

static int host_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    return schema(s->private_data, out);
}

static int host_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    return next(s->private_data, out);
}

static const char *host_error(struct ArrowArrayStream *s)
{
    return last_error(s->private_data);
}

static void host_release(struct ArrowArrayStream *s)
{
    release(s->private_data);
    s->release = NULL;
}

int api_spread_concat(struct api_spread *p, struct api_spread_fragment *f, struct ArrowArrayStream *out,
                      struct hd_err *err)
{
    int runs = api_spread_runs(f, p->workers);
    struct streams *v = streams_new(false, runs);
    for (int w = 0; w < runs; w++) {
        struct ArrowArrayStream *s = &f->part[w].out;
        if (v)
            v->stream[v->n++].host = *s;
        else
            s->release(s);
        *s = (struct ArrowArrayStream){0};
    }
    if (!v)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    *out = (struct ArrowArrayStream){host_schema, host_next, host_error, host_release, v};
    return 0;
}

/* ---- on the GPU -------------------------------------------------------------------------------------------------- */

static int device_schema(struct ArrowDeviceArrayStream *s, struct ArrowSchema *out)
{
    return schema(s->private_data, out);
}

static int device_next(struct ArrowDeviceArrayStream *s, struct ArrowDeviceArray *out)
{
    return next(s->private_data, &out->array);
}

static const char *device_error(struct ArrowDeviceArrayStream *s)
{
    return last_error(s->private_data);
}

static void device_release(struct ArrowDeviceArrayStream *s)
{
    release(s->private_data);
    s->release = NULL;
}

static int give_parts(struct api_spread *p, struct streams *v, struct hd_err *err)
{
    struct api_spread_fragment *f = &p->fragments[p->nfragments - 1];
    for (int w = 0; w < api_spread_runs(f, p->workers); w++) {
        struct api_spread_part *part = &f->part[w];
        HD_TRY(part->statement->backend->give(part->statement, part->columns, &v->stream[v->n].device, err));
        part->columns = NULL;
        v->n++;
    }
    return 0;
}

int api_spread_give(struct api_spread *p, struct ArrowDeviceArrayStream *out, struct hd_err *err)
{
    struct streams *v = streams_new(true, p->workers);
    if (!v)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    if (give_parts(p, v, err) != 0) {
        release(v);
        return -1;
    }
    *out =
        (struct ArrowDeviceArrayStream){ARROW_DEVICE_CUDA, device_schema, device_next, device_error, device_release, v};
    return 0;
}
