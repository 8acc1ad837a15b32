/* Which fixed kernels a program needs: known from its states before it runs, so that they are
 * compiled beside the pipelines and not when their turn comes. */
#include <math.h>
#include <string.h>

#include "runtime/gpu/gpu_order.h"
#include "templates/embed.h"

/* Rows that pipelines bring, as far as the planner knows. */
static double expected(const struct rt_spec *spec, int state)
{
    double rows = spec->states[state].est_rows;
    for (int i = 0; i < spec->npipelines; i++) {
        const struct rt_pipeline *p = &spec->pipelines[i];
        if (p->writes[0] == state && p->ncounters)
            rows = HD_MAX(rows, p->counter_est[p->ncounters - 1]);
    }
    return rows;
}

static bool has_far_ends(const struct rt_state *s)
{
    for (int i = 0; i < s->nfields; i++)
        if (s->merge[i] == RT_MERGE_MIN || s->merge[i] == RT_MERGE_MAX)
            return true;
    return false;
}

static bool has_strings(const struct rt_state *s)
{
    for (int i = 0; i < s->nfields; i++)
        if (s->fields[i].phys == RT_STR)
            return true;
    return false;
}

static bool is_plain(enum rt_phys p)
{
    return p == RT_BOOL || p == RT_I32 || p == RT_I64;
}

bool rt_rows_are_keys(const struct rt_state *s, bool *nullable)
{
    bool met[HDD_ROW_WORDS * 8] = {false}; /* a field takes a byte at least */
    *nullable = false;
    if (s->stride > HDD_ROW_WORDS * 8 || s->nsort != s->nfields)
        return false;
    for (int i = 0; i < s->nsort; i++) {
        const struct rt_field *f = &s->fields[s->sort[i].field];
        if (!is_plain(f->phys) || met[s->sort[i].field])
            return false;
        met[s->sort[i].field] = true;
        *nullable |= f->valid_offset >= 0;
    }
    return true;
}

struct needs {
    bool merge, fill, partition, rows, index, prefix_sum, hash, window, sort, pack, select, radix, string, running,
        search, frames, frames_of, frames_ranked, frames_distinct, frames_mode, top, text, frame_text;
};

static void add_sort(struct needs *n, const struct rt_state *s, double rows)
{
    bool nullable;
    bool many = rows > HDD_RANK_MAX && rt_state_wanted_rows(s) > HDD_RANK_MAX / 8; /* as gpu_order.c has it */
    n->pack |= rows > RT_ORDER_AT_ONCE;
    n->select |= rows > HDD_RANK_MAX && s->limit >= 0;
    n->sort |= rows <= HDD_RANK_MAX || s->limit >= 0 || s->sorted;
    n->radix |= many;
    n->rows |= many && rt_rows_are_keys(s, &nullable);
}

static void add_hash(struct needs *n, double rows)
{
    bool large = rows > (double)RT_WINDOW_ROWS_MIN;
    n->hash = true;
    n->window |= large;
    n->radix |= large;
}

static void add_frames(struct needs *n, const struct rt_state *s)
{
    for (int i = 0; i < s->nfields; i++) {
        if (!s->fields[i].frame || !rt_merge_is_fold(s->merge[i]))
            continue;
        n->frames |= !rt_merge_is_of_fields(s->merge[i]);
        n->frames_of |= rt_merge_is_of_fields(s->merge[i]);
    }
}

static void add_ranks(struct needs *n, const struct rt_state *s)
{
    n->frames_ranked = n->prefix_sum = true;
    for (int i = 0; i < s->nfields; i++)
        if (s->fields[i].frame && rt_merge_is_ranked(s->merge[i])) {
            n->frames_mode |= s->merge[i] == RT_MERGE_MODE;
            n->frames_distinct |= s->merge[i] == RT_MERGE_DISTINCT || s->merge[i] == RT_MERGE_DISTINCT_XOR;
        }
}

/* Of about so many rows. */
static void add_state(struct needs *n, const struct rt_state *s, double rows)
{
    n->fill |= s->word || (rt_state_aggregates(s->kind) && has_far_ends(s));
    for (int i = 0; i < s->nfinish; i++)
        switch (s->finish[i]) {
        case RT_FINISH_MERGE:
        case RT_FINISH_COMPACT:
        case RT_FINISH_SINGLE:
        case RT_FINISH_LIMIT:
        case RT_FINISH_MATCHES: break;
        case RT_FINISH_PARTITION: n->partition |= s->partition.gpu_bits > 0; break;
        case RT_FINISH_SORT: add_sort(n, s, rows); break;
        case RT_FINISH_TOP: n->top = n->prefix_sum = true; break;
        case RT_FINISH_SEARCH:
        case RT_FINISH_PLACES: n->search = true; break;
        case RT_FINISH_BORDERS:
        case RT_FINISH_RUNNING: n->running = true; break;
        case RT_FINISH_FRAMES: add_frames(n, s); break;
        case RT_FINISH_RANKS: add_ranks(n, s); break;
        case RT_FINISH_FRAME_TEXTS: n->frame_text = n->prefix_sum = true; break;
        case RT_FINISH_TEXT: n->text = true; break;
        case RT_FINISH_CSR: n->index = n->prefix_sum = true; break;
        case RT_FINISH_HASH_UNIQUE:
        case RT_FINISH_HASH_GROUP:
        case RT_FINISH_HASH_DEDUPE: add_hash(n, rows); break;
        }
}

int rt_gpu_fixed_modules(const struct rt_spec *spec, bool any_rows, const char *names[RT_FIXED_MAX])
{
    struct needs n = {.string = has_strings(&spec->states[spec->result_state]), .merge = spec->ndevices > 1};
    int k = 0;
    n.prefix_sum = n.string && (any_rows || expected(spec, spec->result_state) > RT_STRINGS_AT_ONCE);
    for (int i = 0; i < spec->nstates; i++)
        add_state(&n, &spec->states[i], expected(spec, i));
    for (int i = 0; i < spec->nstates && any_rows; i++) {
        add_state(&n, &spec->states[i], 0);
        add_state(&n, &spec->states[i], HUGE_VAL);
    }
    const struct {
        bool needed;
        const char *name;
    } all[] = {{n.radix, "finish_radix"},
               {n.select, "finish_select"},
               {n.sort, "finish_sort"},
               {n.pack, "finish_pack"},
               {n.hash, "finish_hash"},
               {n.window, "finish_window"},
               {n.string, "finish_string"},
               {n.prefix_sum, "finish_prefix_sum"},
               {n.index, "finish_index"},
               {n.top, "finish_top"},
               {n.running, "finish_running"},
               {n.search, "finish_search"},
               {n.frames, "finish_frames"},
               {n.fill, "finish_fill"},
               {n.merge, "finish_merge"},
               {n.partition, "finish_partition"},
               {n.rows, "finish_rows"},
               {n.text, "finish_text"},
               {n.frames_of, "finish_frames_of"},
               {n.frames_ranked, "finish_frames_ranked"},
               {n.frames_distinct, "finish_frames_distinct"},
               {n.frames_mode, "finish_frames_mode"},
               {n.frame_text, "finish_frame_text"}};
    _Static_assert(HD_COUNT(all) == RT_FIXED_MAX, "each need names its module");
    for (int i = 0; i < RT_FIXED_MAX; i++)
        if (all[i].needed)
            names[k++] = all[i].name;
    return k;
}

const char *rt_gpu_fixed_text(const char *module)
{
    size_t n = strlen(module);
    for (int i = 0; i < hdd_ntemplates; i++)
        if (strncmp(hdd_templates[i].name, module, n) == 0 && strcmp(hdd_templates[i].name + n, ".cu") == 0)
            return hdd_templates[i].text;
    HD_BUG("%s.cu is not embedded", module);
}
