/* A result that passes leave on the GPU: a batch of each. */
#include <stdlib.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "runtime/base/fault.h"

struct batches {
    int n, at;
    struct ArrowDeviceArrayStream stream[];
};

/* A column has NULLs if it has any in one of them. */
static int schema(struct ArrowDeviceArrayStream *s, struct ArrowSchema *out)
{
    struct batches *b = s->private_data;
    int rc = b->stream[0].get_schema(&b->stream[0], out);
    for (int i = 1; i < b->n && rc == 0; i++) {
        struct ArrowSchema other;
        rc = b->stream[i].get_schema(&b->stream[i], &other);
        for (int64_t k = 0; k < out->n_children && rc == 0; k++)
            out->children[k]->flags |= other.children[k]->flags & ARROW_FLAG_NULLABLE;
        if (rc == 0)
            other.release(&other);
        else
            out->release(out);
    }
    return rc;
}

static int next(struct ArrowDeviceArrayStream *s, struct ArrowDeviceArray *out)
{
    struct batches *b = s->private_data;
    for (;; b->at++) {
        struct ArrowDeviceArrayStream *from = &b->stream[b->at];
        int rc = from->get_next(from, out);
        if (rc != 0 || out->array.release || b->at + 1 == b->n)
            return rc;
    }
}

static const char *last_error(struct ArrowDeviceArrayStream *s)
{
    struct batches *b = s->private_data;
    return b->stream[b->at].get_last_error(&b->stream[b->at]);
}

static void release(struct ArrowDeviceArrayStream *s)
{
    struct batches *b = s->private_data;
    for (int i = 0; i < b->n; i++)
        b->stream[i].release(&b->stream[i]);
    free(b);
    s->release = NULL;
}

static int give_parts(struct api_spread *p, struct batches *b, struct hd_err *err)
{
    struct api_spread_fragment *f = &p->fragments[p->nfragments - 1];
    for (int w = 0; w < api_spread_runs(f, p->workers); w++) {
        struct api_spread_part *part = &f->part[w];
        HD_TRY(part->statement->backend->give(part->statement, part->columns, &b->stream[b->n], err));
        part->columns = NULL;
        b->n++;
    }
    return 0;
}

int api_spread_give(struct api_spread *p, struct ArrowDeviceArrayStream *out, struct hd_err *err)
{
    struct batches *b = hd_try_calloc(1, sizeof *b + (size_t)p->workers * sizeof *b->stream);
    if (!b)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for a result");
    struct ArrowDeviceArrayStream all = {ARROW_DEVICE_CUDA, schema, next, last_error, release, b};
    if (give_parts(p, b, err) != 0) {
        all.release(&all);
        return -1;
    }
    *out = all;
    return 0;
}
