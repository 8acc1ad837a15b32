/* Borders of groups and running fields of sorted rows (templates/finish/finish_running.cu); searches among them. */
#include <string.h>

#include "runtime/gpu/gpu_state.h"

enum { TOTAL_BYTES = 32, GROUPS_BYTES = 12 }; /* of struct hdd_running_total, hdd_chunk_groups */

_Static_assert((int)HDD_MERGE_SUM == (int)RT_MERGE_SUM && (int)HDD_MERGE_MIN == (int)RT_MERGE_MIN &&
                   (int)HDD_MERGE_MAX == (int)RT_MERGE_MAX && (int)HDD_MERGE_OR == (int)RT_MERGE_OR &&
                   (int)HDD_MERGE_XOR == (int)RT_MERGE_XOR,
               "ways to merge are those of the spec");
_Static_assert((int)HDD_BORDER_BEGIN == (int)RT_BORDER_BEGIN && (int)HDD_BORDER_END == (int)RT_BORDER_END &&
                   (int)HDD_BORDER_COUNT == (int)RT_BORDER_COUNT,
               "borders are those of the spec");

/* What one pass over the rows is to do. */
struct pass {
    struct rt_gpu_exec *x;
    const struct rt_gpu_state *v;
    struct hdd_running_args p;
    struct hdd_running_field *field; /* all that run */
    int nfields;
    struct rt_piece keys, heads, groups, totals;
};

static void pass_init(struct pass *q, struct rt_gpu_exec *x, const struct rt_gpu_state *v)
{
    *q = (struct pass){.x = x, .v = v, .p = {.rows = v->rows, .n = v->nrows, .segment = -1, .begin = -1}};
    q->p.stride = (hdd_u32)v->s->stride;
    q->p.chunks = (v->nrows + HDD_RUNNING_CHUNK - 1) / HDD_RUNNING_CHUNK;
    q->p.blocks = rt_finish_blocks(x, q->p.chunks, HDD_BLOCK_WARPS);
}

static void add_running(struct pass *q)
{
    const struct rt_state *s = q->v->s;
    q->field = HD_NEWN(q->x->arena, struct hdd_running_field, s->nfields);
    for (int i = 0; i < s->nfields; i++)
        if (rt_state_field_runs(s, i))
            q->field[q->nfields++] = (struct hdd_running_field){.offset = (hdd_u32)s->fields[i].offset,
                                                                .valid = s->fields[i].valid_offset,
                                                                .phys = (hdd_u32)s->fields[i].phys,
                                                                .merge = (hdd_u32)s->merge[i]};
}

/* The level of groups by so many keys. */
static hdd_u32 level_of(struct hdd_running_args *p, int nkeys)
{
    for (hdd_u32 l = 0; l < p->nlevels; l++)
        if (p->nkeys[l] == (hdd_u32)nkeys)
            return l;
    HD_ASSERT(p->nlevels < HDD_HEAD_LEVELS);
    p->nkeys[p->nlevels] = (hdd_u32)nkeys;
    return p->nlevels++;
}

static int add_borders(struct pass *q, struct hd_err *err)
{
    const struct rt_state *s = q->v->s;
    int nkeys = 0;
    for (int i = 0; i < s->nfields; i++) {
        const struct rt_field *f = &s->fields[i];
        if (f->border == RT_BORDER_NONE)
            continue;
        HD_ASSERT(q->p.nborders < HDD_BORDERS);
        q->p.border[q->p.nborders++] =
            (struct hdd_border_field){(hdd_u32)f->offset, (hdd_u32)f->border, level_of(&q->p, f->border_keys)};
        nkeys = HD_MAX(nkeys, f->border_keys);
    }
    struct hdd_key *key = HD_NEWN(q->x->arena, struct hdd_key, nkeys + 1);
    for (int i = 0; i < nkeys; i++)
        key[i] = rt_key_of_field(&s->fields[s->sort[i].field]);
    return rt_keys_make(q->x, s, key, nkeys, &q->p.keys, &q->keys, err);
}

/* Heads of segments are seen in the field that has their numbers already. */
static void heads_from_numbers(struct pass *q)
{
    const struct rt_state *s = q->v->s;
    q->p.nborders = 0;
    q->p.nlevels = s->segment != 0;
    q->p.segment = s->segment ? 0 : -1;
    q->p.begin = s->segment ? s->fields[s->segment - 1].offset : -1;
}

static int launch(struct pass *q, struct hd_err *err)
{
    static const char module[] = "finish_running";
    const struct hdd_running_args *p = &q->p;
    HD_TRY(rt_finish_launch(q->x, module, "hdd_running_chunks", p->blocks, p, err));
    HD_TRY(rt_finish_launch(q->x, module, "hdd_running_before", 3 * p->nlevels + p->nfields, p, err));
    return rt_finish_launch(q->x, module, "hdd_running_rows", p->blocks, p, err);
}

static int run(struct pass *q, struct hd_err *err)
{
    const struct rt_state *s = q->v->s;
    size_t chunks = (size_t)q->p.chunks, fields = (size_t)HD_MIN(q->nfields, (int)HDD_INLINE_FIELDS);
    HD_TRY(rt_state_alloc(q->x, s, chunks * HDD_HEAD_LEVELS * HDD_RUNNING_CHUNK / 8, &q->heads, err));
    HD_TRY(rt_state_alloc(q->x, s, chunks * HDD_HEAD_LEVELS * GROUPS_BYTES, &q->groups, err));
    HD_TRY(rt_state_alloc(q->x, s, chunks * fields * TOTAL_BYTES, &q->totals, err));
    q->p.heads = q->heads.address;
    q->p.groups = q->groups.address;
    q->p.totals = q->totals.address;
    int at = 0;
    do {
        q->p.nfields = (hdd_u32)HD_MIN(q->nfields - at, (int)HDD_INLINE_FIELDS);
        if (q->p.nfields)
            memcpy(q->p.field, q->field + at, q->p.nfields * sizeof *q->field);
        HD_TRY(launch(q, err));
        at += (int)q->p.nfields;
        heads_from_numbers(q);
    } while (at < q->nfields);
    return 0;
}

static int run_and_release(struct pass *q, struct hd_err *err)
{
    int rc = q->v->nrows ? run(q, err) : 0;
    rt_gpu_release(q->x, &q->keys);
    rt_gpu_release(q->x, &q->heads);
    rt_gpu_release(q->x, &q->groups);
    rt_gpu_release(q->x, &q->totals);
    return rc;
}

static int check_rows(const struct rt_gpu_state *v, struct hd_err *err)
{
    if (v->nrows > INT32_MAX)
        return HD_FAIL(err, RESOURCE, v->s->path, "%llu rows, at most %d have a number", (unsigned long long)v->nrows,
                       INT32_MAX);
    return 0;
}

/* Running fields come with the borders where they are next: rows are gone through once for both. */
static bool runs_next(const struct rt_state *s)
{
    for (int i = 1; i < s->nfinish; i++)
        if (s->finish[i - 1] == RT_FINISH_BORDERS && s->finish[i] == RT_FINISH_RUNNING)
            return true;
    return false;
}

int rt_gpu_finish_borders(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    const struct rt_state *s = v->s;
    struct pass q;
    HD_TRY(check_rows(v, err));
    pass_init(&q, x, v);
    HD_TRY(add_borders(&q, err));
    if (runs_next(s))
        add_running(&q);
    if (runs_next(s) && s->segment)
        q.p.segment = (hdd_i32)level_of(&q.p, s->fields[s->segment - 1].border_keys);
    return run_and_release(&q, err);
}

int rt_gpu_finish_running(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    struct pass q;
    if (runs_next(v->s))
        return 0;
    HD_TRY(check_rows(v, err));
    pass_init(&q, x, v);
    add_running(&q);
    heads_from_numbers(&q);
    return run_and_release(&q, err);
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
