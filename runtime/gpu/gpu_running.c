/* Running sums, minima and maxima of rows (templates/finish/finish_running.cu). */
#include <string.h>

#include "runtime/gpu/gpu_state.h"

enum { VALUE_BYTES = 32 }; /* of struct hdd_running_value */

_Static_assert((int)HDD_MERGE_SUM == (int)RT_MERGE_SUM && (int)HDD_MERGE_MIN == (int)RT_MERGE_MIN &&
                   (int)HDD_MERGE_MAX == (int)RT_MERGE_MAX,
               "ways to merge are those of the spec");

static void add_field(struct hdd_running_args *p, struct hdd_running_field *field, const struct rt_field *f,
                      enum hdd_merge merge)
{
    field[p->nfields++] = (struct hdd_running_field){
        .offset = (hdd_u32)f->offset, .valid = f->valid_offset, .phys = (hdd_u32)f->phys, .merge = (hdd_u32)merge};
}

static int place_fields(struct rt_gpu_exec *x, const struct rt_state *s, struct hdd_running_args *p,
                        const struct hdd_running_field *field, struct rt_piece *more, struct hd_err *err)
{
    size_t bytes = sizeof *field * p->nfields;
    if (p->nfields <= HDD_INLINE_FIELDS) {
        memcpy(p->field, field, bytes);
        return 0;
    }
    HD_TRY(rt_state_alloc(x, s, bytes, more, err));
    p->more = more->address;
    return x->d->ops->upload(x->d, more->address, field, bytes, err);
}

static int launch(struct rt_gpu_exec *x, const struct hdd_running_args *p, struct hd_err *err)
{
    static const char module[] = "finish_running";
    HD_TRY(rt_finish_launch(x, module, "hdd_running_tiles", p->blocks, p, err));
    HD_TRY(rt_finish_launch(x, module, "hdd_running_totals", 1, p, err));
    return rt_finish_launch(x, module, "hdd_running_apply", p->blocks, p, err);
}

/* p has all but memory and fields. */
static int run(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hdd_running_args *p,
               const struct hdd_running_field *field, struct hd_err *err)
{
    struct rt_piece totals = {0, 0}, more = {0, 0};
    uint64_t tiles = (v->nrows + HDD_RUNNING_TILE - 1) / HDD_RUNNING_TILE;
    p->rows = v->rows;
    p->n = v->nrows;
    p->stride = (hdd_u32)v->s->stride;
    p->blocks = rt_finish_blocks(x, tiles, 1);
    int rc = place_fields(x, v->s, p, field, &more, err);
    if (rc == 0)
        rc = rt_state_alloc(x, v->s, (size_t)tiles * p->nfields * VALUE_BYTES, &totals, err);
    p->totals = totals.address;
    if (rc == 0)
        rc = launch(x, p, err);
    rt_gpu_release(x, &totals);
    rt_gpu_release(x, &more);
    return rc;
}

static int check_rows(const struct rt_gpu_state *v, struct hd_err *err)
{
    if (v->nrows > INT32_MAX)
        return HD_FAIL(err, RESOURCE, v->s->path, "%llu rows, at most %d have a number", (unsigned long long)v->nrows,
                       INT32_MAX);
    return 0;
}

int rt_gpu_finish_running(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    struct hdd_running_args p = {.segment = s->segment ? s->fields[s->segment - 1].offset : -1};
    struct hdd_running_field *field = HD_NEWN(x->arena, struct hdd_running_field, s->nfields);
    HD_TRY(check_rows(v, err));
    if (v->nrows == 0)
        return 0;
    for (int i = 0; i < s->nfields; i++)
        if (rt_state_field_runs(s, i))
            add_field(&p, field, &s->fields[i], (enum hdd_merge)s->merge[i]);
    return run(x, v, &p, field, err);
}

/* ---- borders of groups (templates/finish/finish_borders.cu) ----------------------------------------------- */

_Static_assert((int)HDD_BORDER_BEGIN == (int)RT_BORDER_BEGIN && (int)HDD_BORDER_END == (int)RT_BORDER_END &&
                   (int)HDD_BORDER_COUNT == (int)RT_BORDER_COUNT,
               "borders are those of the spec");

static int mark(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    struct rt_piece more = {0, 0};
    struct hdd_borders_args p = {
        .rows = v->rows, .n = v->nrows, .blocks = rt_finish_blocks(x, v->nrows, RT_FINISH_THREADS)};
    int nkeys = 0;
    for (int i = 0; i < s->nfields; i++) {
        const struct rt_field *f = &s->fields[i];
        if (f->border == RT_BORDER_NONE)
            continue;
        p.field[p.nfields++] =
            (struct hdd_border_field){(hdd_u32)f->offset, (hdd_u32)f->border, (hdd_u32)f->border_keys};
        nkeys = HD_MAX(nkeys, f->border_keys);
    }
    struct hdd_key *key = HD_NEWN(x->arena, struct hdd_key, nkeys + 1);
    for (int i = 0; i < nkeys; i++)
        key[i] = rt_key_of_field(&s->fields[s->sort[i].field]);
    int rc = rt_keys_make(x, s, key, nkeys, &p.keys, &more, err);
    if (rc == 0)
        rc = rt_finish_launch(x, "finish_borders", "hdd_borders_mark", p.blocks, &p, err);
    rt_gpu_release(x, &more);
    return rc;
}

int rt_gpu_finish_borders(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    HD_TRY(check_rows(v, err));
    if (v->nrows == 0)
        return 0;
    HD_TRY(mark(x, v, err));
    for (int backward = 0; backward < 2; backward++) {
        struct hdd_running_args p = {.backward = (hdd_u32)backward, .segment = -1};
        struct hdd_running_field *field = HD_NEWN(x->arena, struct hdd_running_field, s->nfields);
        for (int i = 0; i < s->nfields; i++) {
            enum rt_border b = s->fields[i].border;
            if (b != RT_BORDER_NONE && (b == RT_BORDER_END) == (backward == 1))
                add_field(&p, field, &s->fields[i],
                          b == RT_BORDER_BEGIN ? HDD_MERGE_MAX
                          : b == RT_BORDER_END ? HDD_MERGE_MIN
                                               : HDD_MERGE_SUM);
        }
        if (p.nfields)
            HD_TRY(run(x, v, &p, field, err));
    }
    return 0;
}

/* ---- searches (templates/finish/finish_search.cu) ---------------------------------------------------------- */

int rt_gpu_finish_search(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    struct hdd_search_args p = {.rows = v->rows,
                                .n = v->nrows,
                                .blocks = rt_finish_blocks(x, v->nrows, RT_FINISH_THREADS),
                                .stride = (hdd_u32)s->stride};
    for (int i = 0; v->nrows && i < s->nsearch; i++) {
        const struct rt_search *q = &s->search[i];
        p.key = rt_key_of_field(&s->fields[q->key]);
        p.key.desc = q->desc;
        p.key.nulls_first = q->nulls_first;
        p.limit = rt_key_of_field(&s->fields[q->limit]);
        p.field = (hdd_u32)s->fields[q->field].offset;
        p.begin = (hdd_u32)s->fields[q->begin].offset;
        p.end = (hdd_u32)s->fields[q->end].offset;
        p.by = q->by;
        p.following = q->following;
        p.behind = q->behind;
        HD_TRY(rt_finish_launch(x, "finish_search", "hdd_search_rows", p.blocks, &p, err));
    }
    return 0;
}

int rt_gpu_finish_places(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    struct hdd_places_args p = {.rows = v->rows,
                                .n = v->nrows,
                                .blocks = rt_finish_blocks(x, v->nrows, RT_FINISH_THREADS),
                                .stride = (hdd_u32)s->stride,
                                .begin = (hdd_u32)s->fields[s->segment - 1].offset};
    for (int i = 0; v->nrows && i < s->nplace; i++) {
        p.field = (hdd_u32)s->fields[s->place[i].field].offset;
        p.count = (hdd_u32)s->fields[s->place[i].count].offset;
        HD_TRY(rt_finish_launch(x, "finish_search", "hdd_search_places", p.blocks, &p, err));
    }
    return 0;
}
