/* Which fixed kernels a program needs: known from its states before it runs, so that they are
 * compiled beside the pipelines and not when their turn comes. */
#include <math.h>
#include <string.h>

#include "runtime/base/fault.h"
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

/* Where fewer or more rows come than were expected, by this factor, other kernels are asked for as well: whoever waits for
 * one in the middle of an execution waits longer than another source takes that is compiled beside the others. */
enum { MISTAKEN = 100 };

/* More that are expected are hardly few. */
enum { FEW_EXPECTED = 1 << 14 };

static bool is_finished_by_few(const struct rt_state *s)
{
    for (int i = 0; i < s->nfinish; i++)
        if (s->finish[i] != RT_FINISH_COMPACT && s->finish[i] != RT_FINISH_SORT && s->finish[i] != RT_FINISH_LIMIT)
            return false;
    return s->kind == RT_STATE_ROWS;
}

bool rt_result_can_be_few(const struct rt_spec *spec)
{
    if (spec->ndevices > 1 || !is_finished_by_few(&spec->states[spec->result_state]))
        return false;
    for (int i = 0; i < spec->npipelines; i++)
        if (spec->pipelines[i].writes[0] == spec->result_state && spec->pipelines[i].nstreamed)
            return false;
    return true;
}

bool rt_result_may_be_few(const struct rt_spec *spec)
{
    return rt_result_can_be_few(spec) && expected(spec, spec->result_state) <= FEW_EXPECTED;
}

struct needs {
    bool land, few, merge, fill, compact, partition, index, prefix_sum, hash, window, sort, number_masks, word_masks,
        number_keys, word_keys, select, string, running, search, frames, frames_of, frames_ranked, frames_distinct,
        frames_mode, top, text, frame_text;
    bool radix, radix_keys, radix_rows, rows_move, rows[HDD_ROW_WORDS]; /* [words of a row - 1] */
};

/* X(need, module, ms: that NVRTC takes for its first tier) */
#define FIXED_MODULES(X) \
    X(n.land, "finish_land", 23) \
    X(n.few, "finish_few", 61) \
    X(n.radix, "finish_radix", 66) \
    X(n.select, "finish_select", 37) \
    X(n.sort, "finish_sort", 65) \
    X(n.number_masks, "finish_masks_number", 50) \
    X(n.number_keys, "finish_pack_number", 42) \
    X(n.word_masks, "finish_masks_word", 65) \
    X(n.word_keys, "finish_pack_word", 60) \
    X(n.hash, "finish_hash_group", 72) \
    X(n.hash, "finish_hash", 68) \
    X(n.window, "finish_window", 80) \
    X(n.string, "finish_string", 55) \
    X(n.prefix_sum, "finish_prefix_sum", 50) \
    X(n.index, "finish_index", 50) \
    X(n.top, "finish_top", 55) \
    X(n.running, "finish_running", 840) \
    X(n.search, "finish_search", 50) \
    X(n.frames, "finish_frames", 240) \
    X(n.fill, "finish_fill", 45) \
    X(n.compact, "finish_compact", 48) \
    X(n.merge, "finish_merge", 90) \
    X(n.partition, "finish_partition", 135) \
    X(n.radix_keys, "finish_radix_keys", 64) \
    X(n.radix_rows, "finish_radix_rows", 67) \
    X(n.rows_move, "finish_rows_move", 75) \
    X(n.rows[0], "finish_rows_1", 62) \
    X(n.rows[0], "finish_rows_back_1", 60) \
    X(n.rows[1], "finish_rows_2", 68) \
    X(n.rows[1], "finish_rows_back_2", 56) \
    X(n.rows[2], "finish_rows_3", 69) \
    X(n.rows[2], "finish_rows_back_3", 57) \
    X(n.rows[3], "finish_rows_4", 70) \
    X(n.rows[3], "finish_rows_back_4", 55) \
    X(n.text, "finish_text", 31) \
    X(n.frames_of, "finish_frames_of", 265) \
    X(n.frames_ranked, "finish_frames_ranked", 80) \
    X(n.frames_distinct, "finish_frames_distinct", 145) \
    X(n.frames_mode, "finish_frames_mode", 130) \
    X(n.frame_text, "finish_frame_text", 60)

struct fixed_source {
    const char *name;
    int ms;
};

static const struct fixed_source fixed[] = {
#define X(need, name, ms) {name, ms},
    FIXED_MODULES(X)
#undef X
};

static const struct fixed_source libraries[RT_NLIBRARIES] = {
#define X(id, name, ms) {name, ms},
    RT_LIBRARIES(X)
#undef X
};

_Static_assert(HD_COUNT(fixed) == RT_FIXED_MAX, "each need names its module");

const char *rt_gpu_library_name(int library)
{
    return libraries[library].name;
}

/* Libraries come first: pipelines are linked with them. No state asks for the columns of a result on a device, or of those
 * that come from another one. */
const char *rt_gpu_warm_name(int i)
{
    static const char *const more[] = {"finish_columns", "finish_exchange"};
    _Static_assert(RT_NLIBRARIES + RT_FIXED_MAX + HD_COUNT(more) == RT_WARM_MAX, "each has a number");
    if (i < RT_NLIBRARIES)
        return libraries[i].name;
    i -= RT_NLIBRARIES;
    return i < RT_FIXED_MAX ? fixed[i].name : more[i - RT_FIXED_MAX];
}

const char *rt_rows_module(const struct rt_state *s, bool back)
{
    static const char *const modules[HDD_ROW_WORDS][2] = {{"finish_rows_1", "finish_rows_back_1"},
                                                          {"finish_rows_2", "finish_rows_back_2"},
                                                          {"finish_rows_3", "finish_rows_back_3"},
                                                          {"finish_rows_4", "finish_rows_back_4"}};
    return modules[s->stride / 8 - 1][back];
}

bool rt_keys_are_numbers(const struct rt_state *s)
{
    for (int i = 0; i < s->nsort; i++) {
        enum rt_phys p = s->fields[s->sort[i].field].phys;
        if (p == RT_STR || p == RT_I128)
            return false;
    }
    return true;
}

uint64_t rt_order_compared(const struct rt_state *s)
{
    enum { COMPARED = 2048, COMPARED_TEXT = 256 }; /* ties take long where many strings have a common beginning */
    return s->fields[s->sort[0].field].phys == RT_STR ? COMPARED_TEXT : COMPARED;
}

/* So few rows are wanted, and the first key is a number, that it selects those which may be among the first ones. */
static bool goes_by_first(const struct rt_state *s)
{
    enum rt_phys first = s->fields[s->sort[0].field].phys;
    return first != RT_STR && first != RT_I128 && rt_state_wanted_rows(s) <= rt_order_compared(s) / RT_ORDER_SELECTED;
}

/* Keys of more than a word, which narrow rows seldom have, are sorted with row numbers. */
static void add_many(struct needs *n, const struct rt_state *s, double rows)
{
    bool nullable, keys = rt_rows_are_keys(s, &nullable), may_be_long = s->stride > 8 && isinf(rows);
    n->radix = true;
    n->radix_keys |= keys;
    n->radix_rows |= !keys || may_be_long;
    n->rows_move |= keys && s->stride == 8 && !nullable;
    if (keys)
        n->rows[s->stride / 8 - 1] = true;
}

static void add_sort(struct needs *n, const struct rt_state *s, double rows)
{
    bool many = rows > HDD_RANK_MAX && rt_state_wanted_rows(s) > HDD_RANK_MAX / 8; /* as gpu_order.c has it */
    bool numbers = rt_keys_are_numbers(s), first = goes_by_first(s);
    n->number_masks |= numbers && !first;
    n->word_masks |= !numbers && !first;
    n->number_keys |= numbers || first;
    n->word_keys |= !numbers && !first;
    n->sort = true; /* estimates of groups are wrong by any factor: TPC-H Q2, Q13, Q20, Q21 */
    n->select |= first || (rows > HDD_RANK_MAX && s->limit >= 0);
    if (many)
        add_many(n, s, rows);
}

static void add_hash(struct needs *n, double rows)
{
    bool large = rows > (double)RT_WINDOW_ROWS_MIN;
    n->hash = true;
    n->window |= large;
    n->radix |= large;
    n->radix_keys |= large;
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

static void add_index(struct needs *n, const struct rt_state *s, double rows, const struct rt_device_info *info)
{
    bool far = rows >= RT_INDEX_NEAR_MAX && s->range > rt_index_counters(info);
    n->index = n->prefix_sum = true;
    n->radix |= far;
    n->radix_rows |= far;
}

/* Of about so many rows. */
static void add_state(struct needs *n, const struct rt_state *s, double rows, const struct rt_device_info *info)
{
    n->compact |= s->word;
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
        case RT_FINISH_CSR: add_index(n, s, rows, info); break;
        case RT_FINISH_HASH_UNIQUE:
        case RT_FINISH_HASH_GROUP:
        case RT_FINISH_HASH_DEDUPE: add_hash(n, rows); break;
        }
}

uint64_t rt_index_counters(const struct rt_device_info *info)
{
    return HD_MAX(info->l2_bytes / 4, (uint64_t)64) / sizeof(uint32_t);
}

int rt_gpu_fixed_modules(const struct rt_spec *spec, const struct rt_device_info *info, bool any_rows,
                         const char *names[RT_FIXED_MAX])
{
    const struct rt_state *result = &spec->states[spec->result_state];
    struct needs n = {.string = has_strings(result), .merge = spec->ndevices > 1};
    int k = 0;
    n.land = rt_result_may_be_few(spec);
    n.few = n.land && (n.string || result->nsort);
    n.prefix_sum = n.string && (any_rows || expected(spec, spec->result_state) > RT_STRINGS_AT_ONCE / MISTAKEN);
    for (int i = 0; i < spec->nstates; i++)
        add_state(&n, &spec->states[i], expected(spec, i), info);
    for (int i = 0; i < spec->nstates && any_rows; i++) {
        add_state(&n, &spec->states[i], 0, info);
        add_state(&n, &spec->states[i], HUGE_VAL, info);
    }
    n.string &= any_rows || !n.few || result->limit >= 0; /* more rows than few may come before a limit */
    const bool needed[] = {
#define X(need, name, ms) need,
        FIXED_MODULES(X)
#undef X
    };
    for (int i = 0; i < RT_FIXED_MAX; i++)
        if (needed[i])
            names[k++] = fixed[i].name;
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

/* Loops are not unrolled, little is inlined: what NVRTC takes is mostly for that (docs/performance.md, "First tier on a GPU"). */
#define QUICK "//! --Ofast-compile=mid\n"

char *rt_gpu_fixed_first(const char *module)
{
    const char *text = rt_gpu_fixed_text(module);
    char *first = hd_try_calloc(strlen(QUICK) + strlen(text) + 1, 1);
    if (first)
        stpcpy(stpcpy(first, QUICK), text);
    return first;
}

/* Of a pipeline by its text, within a fifth; that of a fixed kernel says little, as most of it is in headers. */
double rt_gpu_expected_ms(const char *name, const char *text)
{
    static const double any = 15, a_kb = 7;
    for (size_t i = 0; i < HD_COUNT(fixed); i++)
        if (strcmp(fixed[i].name, name) == 0)
            return fixed[i].ms;
    for (size_t i = 0; i < HD_COUNT(libraries); i++)
        if (strcmp(libraries[i].name, name) == 0)
            return libraries[i].ms;
    return any + a_kb * (double)strlen(text) / 1024;
}
