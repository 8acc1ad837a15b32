#include "tests/exec/exec_fixture.h"

#include <math.h>
#include <pthread.h>

#include "runtime/exec/keys.h"

const int fx_threads[4] = {1, 2, 3, 7};

/* One stock of used pages for all executions of a test program: what one leaves behind must not
 * disturb the next. */
static struct rt_pages *stock;
static pthread_once_t stock_once = PTHREAD_ONCE_INIT;

static void make_stock(void)
{
    stock = rt_pages_new((size_t)64 << 20);
}

void fx_spill(struct fx *f, const char *dir, uint64_t limit)
{
    f->temp = (struct rt_temp){.dir = dir, .limit = UINT64_MAX};
    f->memory.temp = &f->temp;
    f->limit = limit;
    f->spill = true;
}

/* FX_SPILL=BYTES: all executions have so little memory, and a temporary file. */
static void spill_if_asked(struct fx *f)
{
    const char *limit = getenv("FX_SPILL"), *dir = getenv("TMPDIR");
    if (limit)
        fx_spill(f, dir ? dir : "/var/tmp", (uint64_t)atoll(limit));
}

void fx_init(struct fx *f, int threads, void *context)
{
    memset(f, 0, sizeof *f);
    hd_arena_init(&f->arena);
    hd_err_init(&f->err);
    rt_exec_stats_init(&f->stats);
    rt_memory_init(&f->memory, (uint64_t)4 << 30, NULL);
    pthread_once(&stock_once, make_stock);
    f->memory.pages = stock;
    f->thread_pool = rt_thread_pool_new();
    f->threads = threads;
    spill_if_asked(f);
    f->sites[0] = (struct rt_site){.path = "$.root.first"};
    f->sites[1] = (struct rt_site){.path = "$.root.second"};
    f->spec = (struct rt_spec){.states = f->states,
                               .args = f->args,
                               .pipelines = f->pipelines,
                               .actions = f->actions,
                               .nsites = 2,
                               .sites = f->sites};
    f->args[0] = (struct rt_arg){.kind = RT_ARG_CONST, .phys = RT_I64, .i = (int64_t)(intptr_t)context};
    f->spec.nargs = f->spec.nwords = 1;
}

void fx_release(struct fx *f)
{
    rt_result_free(f->result);
    assert_int_equal(atomic_load(&f->memory.used), 0);
    assert_int_equal(atomic_load(&f->memory.resident), 0);
    assert_int_equal(atomic_load(&f->temp.used), 0);
    rt_exec_stats_release(&f->stats);
    rt_thread_pool_free(f->thread_pool);
    hd_err_release(&f->err);
    hd_arena_release(&f->arena);
}

int fx_state(struct fx *f, enum rt_state_kind kind)
{
    struct rt_state *s = &f->states[f->spec.nstates];
    bool prefix = kind == RT_STATE_HASH || kind == RT_STATE_AGG_HASH || kind == RT_STATE_AGG_DENSE;
    *s = (struct rt_state){
        .kind = kind, .name = "s", .path = "$.state", .limit = -1, .stride = prefix ? 8 : 0, .est_rows = -1};
    s->fields = HD_NEWN(&f->arena, struct rt_field, FX_FIELDS);
    s->merge = HD_NEWN(&f->arena, enum rt_merge, FX_FIELDS);
    return f->spec.nstates++;
}

int fx_field(struct fx *f, int state, enum rt_phys phys, bool nullable, enum rt_merge merge)
{
    struct rt_state *s = &f->states[state];
    struct rt_field *d = &s->fields[s->nfields];
    HD_ASSERT(s->nfields < FX_FIELDS);
    size_t size = (size_t)rt_phys_size(phys), align = HD_MIN(size, (size_t)16);
    static const enum hd_type_kind kinds[] = {HD_BOOL, HD_INT32, HD_INT64, HD_DECIMAL, HD_FLOAT64, HD_STRING};
    *d = (struct rt_field){.name = "f", .phys = phys, .type = hd_type_of(kinds[phys])};
    if (phys == RT_I128)
        d->type = hd_decimal(38, 2);
    d->offset = (int)hd_align_up((size_t)s->stride, align);
    d->valid_offset = nullable ? d->offset + (int)size : -1;
    s->stride = (int)hd_align_up((size_t)d->offset + size + nullable, 8);
    for (int i = 0; i <= s->nfields; i++)
        if (s->fields[i].phys == RT_I128)
            s->stride = (int)hd_align_up((size_t)s->stride, 16);
    s->merge[s->nfields] = merge;
    return s->nfields++;
}

int fx_table_pipeline(struct fx *f, int64_t rows, rt_entry_fn entry)
{
    int i = f->spec.npipelines++;
    f->tables[i].rows = rows;
    f->pipelines[i] =
        (struct rt_pipeline){.name = "p", .source = RT_SOURCE_TABLE, .table = &f->tables[i], .nlevels = 1};
    f->entries[i].entry = entry;
    return i;
}

int fx_state_pipeline(struct fx *f, enum rt_source_kind source, int state, rt_entry_fn entry)
{
    int i = f->spec.npipelines++;
    f->pipelines[i] = (struct rt_pipeline){.name = "p", .source = source, .state = state, .nlevels = 1};
    f->entries[i].entry = entry;
    return i;
}

void fx_action(struct fx *f, enum rt_action_kind kind, int index)
{
    f->actions[f->spec.nactions++] = (struct rt_action){.kind = kind, .index = index, .fragment = {0, 1}};
}

int fx_state_arg(struct fx *f, enum rt_arg_kind kind, int state)
{
    f->args[f->spec.nargs++] = (struct rt_arg){.kind = kind, .state = state, .word = f->spec.nwords};
    return f->spec.nwords++;
}

void fx_seal(struct fx *f)
{
    for (int i = 0; i < f->spec.nstates; i++)
        rt_state_list_finish(&f->states[i]);
}

const struct rt_tier_entries *fx_entries(struct fx *f)
{
    for (int i = 0; i < f->spec.npipelines; i++)
        atomic_store(&f->tiers[i].tier[RT_TIER_OPTIMISED], &f->entries[i]);
    return f->tiers;
}

int fx_run(struct fx *f, int result_state)
{
    struct rt_exec_options o = {.threads = f->threads,
                                .profile = f->profile,
                                .thread_pool = f->thread_pool,
                                .memory = &f->memory,
                                .memory_limit = f->limit,
                                .spill = f->spill,
                                .cancel = f->cancel};
    f->spec.result_state = result_state;
    fx_seal(f);
    rt_result_free(f->result);
    f->result = NULL;
    hd_err_release(&f->err);
    return rt_exec_run(&f->spec, fx_entries(f), &o, &f->result, &f->stats, &f->err);
}

const unsigned char *fx_rows(struct fx *f, int result_state, uint64_t *n)
{
    if (fx_run(f, result_state) != 0)
        fail_msg("execution failed: %s: %s", f->err.path, f->err.message);
    return rt_result_rows(f->result, n);
}

int32_t fx_append(struct hdd_thread *t, int state, const void *row, size_t stride)
{
    struct hdd_rows_local *l = ((void **)t->local)[state];
    if (l->cur == l->end && hdr_rows_grow(t, state) != 0)
        return 1;
    memcpy(l->cur, row, stride);
    l->cur = (char *)l->cur + stride;
    return 0;
}

static uint64_t mix_f64(uint64_t h, const unsigned char *p)
{
    double v;
    uint64_t bits;
    memcpy(&v, p, 8);
    if (v == 0)
        v = 0;
    memcpy(&bits, &v, 8);
    return hdd_mix(h ^ (v != v ? 0x7ff8000000000000u : bits));
}

uint64_t fx_hash(const struct rt_state *s, const unsigned char *row)
{
    uint64_t h = HDD_HASH_SEED, w[2];
    int32_t i32;
    float single;
    for (int k = 0; k < s->nkeys; k++) {
        const unsigned char *p = row + s->fields[k].offset;
        if (!fx_valid(s, row, k)) {
            h = hdd_mix(h ^ HDD_HASH_NULL);
            continue;
        }
        memcpy(w, p, (size_t)HD_MIN(rt_phys_size(s->fields[k].phys), 16));
        switch (s->fields[k].phys) {
        case RT_BOOL: h = hdd_mix(h ^ *p); break;
        case RT_I32:
            memcpy(&i32, p, 4);
            h = hdd_mix(h ^ (uint64_t)i32);
            break;
        case RT_I64: h = hdd_mix(h ^ w[0]); break;
        case RT_I128: h = hdd_mix(hdd_mix(h ^ w[0]) ^ w[1]); break;
        case RT_F64: h = mix_f64(h, p); break;
        case RT_F32:
            memcpy(&single, p, 4);
            memcpy(&i32, p, 4);
            i32 = isnan(single) ? 0x7fc00000 : single == 0 ? 0 : i32;
            h = hdd_mix(h ^ (uint64_t)i32);
            break;
        case RT_STR: h = hdd_mix(h ^ (uint64_t)hdr_hash_bytes((void *)(uintptr_t)w[0], (int32_t)w[1])); break;
        }
    }
    return h;
}

bool fx_same_keys(const struct rt_state *s, const unsigned char *a, const unsigned char *b)
{
    return rt_keys_equal_any(s, a, b);
}

unsigned char *fx_group(struct hdd_thread *t, const struct rt_state *s, int state, const unsigned char *row)
{
    struct hdd_agg_local *l = ((void **)t->local)[state];
    uint64_t h = fx_hash(s, row);
    for (;;) {
        uint64_t *slots = l->slots, at = h & l->mask;
        for (; slots[at]; at = (at + 1) & l->mask) {
            unsigned char *r = (unsigned char *)l->rows + ((uint32_t)slots[at] - 1) * (size_t)s->stride;
            if (slots[at] >> 32 == h >> 32 && fx_same_keys(s, r, row))
                return r;
        }
        if (l->nrows < l->cap) {
            unsigned char *r = (unsigned char *)l->rows + l->nrows * (size_t)s->stride;
            memcpy(r, &h, 8);
            for (int k = 0; k < s->nkeys; k++)
                if (fx_valid(s, row, k))
                    fx_put(s, r, k, row + s->fields[k].offset);
            slots[at] = (h >> 32) << 32 | ++l->nrows;
            return r;
        }
        if (hdr_agg_grow(t, state) != 0)
            return NULL;
    }
}
