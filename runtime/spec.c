#include "runtime/spec.h"

#include <string.h>

#include "runtime/base/util.h"

int rt_phys_size(enum rt_phys p)
{
    static const unsigned char sizes[] = {1, 4, 8, 16, 8, 16, 4};
    return sizes[p];
}

const char *rt_phys_name(enum rt_phys p)
{
    static const char *const names[] = {"bool", "i32", "i64", "i128", "f64", "str", "f32"};
    return names[p];
}

static const struct {
    const char *name;
    enum rt_filling filling;
    bool aggregate;
    unsigned char head;
} states[] = {
#define S_STATE(id, stem, name, filling, aggregate, head) {name, RT_##filling, aggregate, head},
#include "runtime/states.def"
};

bool rt_state_is_kind(int k)
{
    return k >= 0 && (size_t)k < HD_COUNT(states);
}

const char *rt_state_kind_name(enum rt_state_kind k)
{
    return states[k].name;
}

enum rt_filling rt_state_filling(enum rt_state_kind k)
{
    return states[k].filling;
}

bool rt_state_aggregates(enum rt_state_kind k)
{
    return states[k].aggregate;
}

static const struct {
    const char *text;
    enum rt_zone_takes takes;
} zone_tests[] = {
#define Z_TEST(id, text, takes) {text, RT_ZONE_TAKES_##takes},
#include "runtime/zone_tests.def"
};

bool rt_zone_test_is_kind(int k)
{
    return k >= 0 && (size_t)k < HD_COUNT(zone_tests);
}

const char *rt_zone_test_text(enum rt_zone_test_kind k)
{
    return zone_tests[k].text;
}

enum rt_zone_takes rt_zone_test_takes(enum rt_zone_test_kind k)
{
    return zone_tests[k].takes;
}

int rt_field_size(const struct rt_field *f)
{
    return f->bytes ? f->bytes : rt_phys_size(f->phys);
}

int rt_state_align(const struct rt_state *s)
{
    int align = 8, widest = 1;
    bool sums = s->kind == RT_STATE_AGG_DENSE && s->presence;
    for (int i = 0; i < s->nfields; i++) {
        const struct rt_field *f = &s->fields[i];
        if (f->phys == RT_I128)
            align = 16;
        sums = sums && s->merge[i] == RT_MERGE_SUM && f->valid_offset < 0;
        widest = HD_MAX(widest, rt_field_size(f));
    }
    return sums && widest <= 4 ? widest : align;
}

int rt_state_head(const struct rt_state *s)
{
    return s->word || s->presence ? 0 : states[s->kind].head;
}

int rt_state_presence(const struct rt_state *s)
{
    return s->word ? 0 : s->presence - 1;
}

bool rt_state_has_gaps(const struct rt_state *s)
{
    return s->kind == RT_STATE_AGG_DENSE || s->word;
}

const char *rt_finish_name(enum rt_finish_op op)
{
    static const char *const names[] = {
#define F_FINISH(id, stem, name) name,
#include "runtime/finish.def"
    };
    return names[op];
}

static void then(struct rt_state *s, enum rt_finish_op op)
{
    HD_ASSERT(s->nfinish < RT_FINISH_MAX);
    s->finish[s->nfinish++] = op;
}

enum { SET_SPARSE = 6 }; /* a filter has so many bits' more than there are elements */

const void *rt_set_filtered(struct hd_arena *a, const struct rt_arg *set)
{
    size_t size = (size_t)rt_phys_size(set->phys), n = (size_t)set->nset, values = hd_align_up(n * size, 8);
    if (set->phys != RT_I32 && set->phys != RT_I64)
        return set->set;
    int log = 64 - __builtin_clzll(n | 1) + SET_SPARSE;
    uint64_t shift = 64 - (uint64_t)log;
    unsigned char *p = hd_zalloc(a, values + sizeof shift + ((size_t)1 << log) / 8);
    uint64_t *filter = (uint64_t *)(void *)(p + values);
    if (n)
        memcpy(p, set->set, n * size);
    *filter++ = shift;
    for (size_t i = 0; i < n; i++) {
        int64_t v = set->phys == RT_I32 ? ((const int32_t *)set->set)[i] : ((const int64_t *)set->set)[i];
        uint64_t bit = (uint64_t)v * RT_SET_FACTOR >> shift;
        filter[bit / 64] |= (uint64_t)1 << bit % 64;
    }
    return p;
}

int64_t rt_state_no_bound(const struct rt_state *s)
{
    return s->nsort && s->sort[0].desc ? INT64_MIN : INT64_MAX;
}

bool rt_state_field_runs(const struct rt_state *s, int f)
{
    if (s->kind != RT_STATE_ROWS || !s->merge || s->fields[f].frame)
        return false;
    return s->merge[f] != RT_MERGE_KEY && s->merge[f] != RT_MERGE_ANY;
}

static bool same_rows(const struct rt_frame *a, const struct rt_frame *b)
{
    bool same = a->nspans == b->nspans;
    for (int k = 0; k < 2 * a->nspans && same; k++) {
        const struct rt_frame_span *p = &a->span[k / 2], *q = &b->span[k / 2];
        same = p->from[k % 2] == q->from[k % 2] && p->from_by[k % 2] == q->from_by[k % 2] &&
               p->to[k % 2] == q->to[k % 2] && p->to_by[k % 2] == q->to_by[k % 2];
    }
    return same;
}

/* It is a row's number; the frames of several may differ. */
static bool is_row(enum rt_merge m)
{
    return m == RT_MERGE_NTH || m == RT_MERGE_MODE;
}

static bool go_together(const struct rt_state *s, int a, int b)
{
    const struct rt_frame *f = s->fields[a].frame, *g = s->fields[b].frame;
    if (!f || !g || !rt_merge_is_ranked(s->merge[a]) || !rt_merge_is_ranked(s->merge[b]) || f->x != g->x)
        return false;
    if (is_row(s->merge[a]) || is_row(s->merge[b]))
        return s->merge[a] == s->merge[b];
    return same_rows(f, g);
}

int rt_ranked_fields(const struct rt_state *s, int first, int field[RT_RANKED_MAX])
{
    int before = 0, n = 0;
    for (int i = 0; i < first; i++)
        before += go_together(s, i, first);
    if (before % RT_RANKED_MAX)
        return 0;
    for (int i = first; i < s->nfields && n < RT_RANKED_MAX; i++)
        if (go_together(s, first, i))
            field[n++] = i;
    return n;
}

static void list_rows(struct rt_state *s)
{
    bool runs = false, borders = false, frames = false, ranks = false, texts = false;
    if (s->single)
        then(s, RT_FINISH_SINGLE);
    if (s->sorted < s->nsort)
        then(s, RT_FINISH_SORT);
    else if (s->limit >= 0 || s->offset > 0)
        then(s, RT_FINISH_LIMIT);
    if (s->top)
        then(s, RT_FINISH_TOP);
    for (int f = 0; f < s->nfields; f++) {
        runs |= rt_state_field_runs(s, f);
        borders |= s->fields[f].border != RT_BORDER_NONE;
        bool framed = s->fields[f].frame != NULL;
        frames |= framed && rt_merge_is_fold(s->merge[f]);
        ranks |= framed && rt_merge_is_ranked(s->merge[f]);
        texts |= framed && s->merge[f] == RT_MERGE_TEXT;
    }
    if (borders)
        then(s, RT_FINISH_BORDERS);
    if (s->nsearch)
        then(s, RT_FINISH_SEARCH);
    if (runs)
        then(s, RT_FINISH_RUNNING);
    if (s->nplace)
        then(s, RT_FINISH_PLACES);
    if (s->text)
        then(s, RT_FINISH_TEXT);
    if (frames)
        then(s, RT_FINISH_FRAMES);
    if (ranks)
        then(s, RT_FINISH_RANKS);
    if (texts)
        then(s, RT_FINISH_FRAME_TEXTS);
}

static enum rt_finish_op hash_op(const struct rt_state *s)
{
    return s->unique ? RT_FINISH_HASH_UNIQUE : s->dedupe ? RT_FINISH_HASH_DEDUPE : RT_FINISH_HASH_GROUP;
}

void rt_state_list_finish(struct rt_state *s)
{
    s->nfinish = 0;
    if (rt_state_aggregates(s->kind))
        then(s, RT_FINISH_MERGE);
    if (rt_state_filling(s->kind) != RT_APPENDED)
        return;
    then(s, RT_FINISH_COMPACT);
    if (s->partition.cpu_bits || s->partition.gpu_bits)
        then(s, RT_FINISH_PARTITION);
    if (s->kind == RT_STATE_ROWS)
        list_rows(s);
    if (s->kind == RT_STATE_CSR)
        then(s, RT_FINISH_CSR);
    if (s->kind == RT_STATE_HASH)
        then(s, hash_op(s));
    if (s->track_matches)
        then(s, RT_FINISH_MATCHES);
}

static const struct {
    const char *name;
    enum rt_arg_object object;
    enum rt_arg_group group;
    int words; /* 0: as phys says */
} arg_kinds[] = {
#define T_ARG_PLAN(id, text, object, words, ...)   {text, RT_OBJECT_##object, RT_ARGS_PLAN, words},
#define T_ARG_NUMBER(id, text, object, words, ...) {text, RT_OBJECT_##object, RT_ARGS_NUMBER, words},
#define T_ARG_MEMORY(id, text, object, words, ...) {text, RT_OBJECT_##object, RT_ARGS_MEMORY, words},
#define T_ARG_STATE(id, text, object, words, ...)  {text, RT_OBJECT_##object, RT_ARGS_STATE, words},
#include "runtime/args.def"
};

const char *rt_arg_kind_name(enum rt_arg_kind k)
{
    return arg_kinds[k].name;
}

enum rt_arg_object rt_arg_object(enum rt_arg_kind k)
{
    return arg_kinds[k].object;
}

enum rt_arg_group rt_arg_group(enum rt_arg_kind k)
{
    return arg_kinds[k].group;
}

int rt_arg_words(const struct rt_arg *a)
{
    int words = arg_kinds[a->kind].words;
    return words ? words : a->phys == RT_I128 || a->phys == RT_STR ? 2 : 1;
}

static const struct {
    const char *name;
    enum { EVERY, SHARING, ANY } where;
    bool shares;
} balances[] = {{"auto", ANY, false}, /* no kernel has it, see rt_shape_has */
#define X(id, name, where, shares) {name, where, shares},
                HDD_BALANCES(X)
#undef X
};

const char *rt_balance_name(enum rt_balance b)
{
    return balances[b].name;
}

bool rt_balance_shares(enum rt_balance b)
{
    return balances[b].shares;
}

bool rt_shape_has(enum rt_shape s, enum rt_balance b)
{
    if (b == RT_BALANCE_AUTO)
        return false;
    switch (balances[b].where) {
    case EVERY: return true;
    case SHARING: return s == RT_SHAPE_AWS || s == RT_SHAPE_ANY;
    case ANY: return s == RT_SHAPE_ANY;
    }
    return false;
}

const char *rt_balance_list(void)
{
#define X(id, name, where, shares) ", " name
    return "auto" HDD_BALANCES(X);
#undef X
}

int rt_balance_find(const char *name)
{
    for (int i = 0; i < RT_BALANCE_COUNT; i++)
        if (strcmp(balances[i].name, name) == 0)
            return i;
    return -1;
}

/* Names of kinds that a list of X(id, name) has. */
#define NAME_OF(id, name) name,
#define NAME_FUNCTION(function, type, LIST) \
    const char *function(type k) \
    { \
        static const char *const names[] = {LIST(NAME_OF)}; \
        return names[k]; \
    }
NAME_FUNCTION(rt_shape_name, enum rt_shape, RT_SHAPES)
NAME_FUNCTION(rt_tiering_text, enum rt_tiering, RT_TIERINGS)
NAME_FUNCTION(rt_action_name, enum rt_action_kind, RT_ACTIONS)
NAME_FUNCTION(rt_exchange_name, enum rt_exchange, RT_EXCHANGES)
NAME_FUNCTION(rt_distribution_name, enum rt_distribution, RT_DISTRIBUTIONS)
NAME_FUNCTION(rt_way_name, enum rt_way, RT_WAYS)

uint64_t rt_fragment_begin(struct rt_fragment f, uint64_t rows)
{
    uint64_t units = (rows + RT_FRAGMENT_ROWS - 1) / RT_FRAGMENT_ROWS;
    uint64_t begin =
        units / (uint64_t)f.parts * (uint64_t)f.part + units % (uint64_t)f.parts * (uint64_t)f.part / (uint64_t)f.parts;
    return HD_MIN(begin * RT_FRAGMENT_ROWS, rows);
}

uint64_t rt_fragment_end(struct rt_fragment f, uint64_t rows)
{
    return rt_fragment_begin((struct rt_fragment){f.part + 1, f.parts}, rows);
}

/* ---- memory of tables ---------------------------------------------------------------------- */

uint64_t rt_arg_bytes(const struct rt_arg *a)
{
    const struct fe_table *t = a->table;
    uint64_t rows = (uint64_t)t->rows;
    switch (a->kind) {
    case RT_ARG_COL_DATA: return fe_column_bytes(&t->cols[a->column], t->rows);
    case RT_ARG_COL_VALID: return (rows + 7) / 8;
    case RT_ARG_COL_TEXT_BASE: return (rows + (1u << FE_TEXT_BLOCK_SHIFT) - 1) >> FE_TEXT_BLOCK_SHIFT << 3;
    case RT_ARG_COL_TEXT_BYTES: return t->cols[a->column].at.text_size;
    case RT_ARG_DICT_OFFSETS: return ((uint64_t)t->cols[a->column].dict.n + 1) * 4;
    case RT_ARG_DICT_BYTES: return t->cols[a->column].dict.offsets[t->cols[a->column].dict.n];
    case RT_ARG_KEYIDX_WORDS:
    case RT_ARG_KEYIDX_ROWS: return fe_key_index_bytes(&t->keyidx[a->index]);
    case RT_ARG_FK_OFFSETS: return fe_fk_offset_bytes(&t->fks[a->index]);
    case RT_ARG_FK_CHILD_ROWS: return fe_fk_offset(&t->fks[a->index], t->fks[a->index].parent->rows) * 4;
#define T_ARG_MEMORY(...)
#define T_ARG(id, ...) case RT_ARG_##id:
#include "runtime/args.def"
    case RT_ARG_KIND_COUNT: break;
    }
    HD_BUG("argument kind %d is no memory", (int)a->kind);
}

uint64_t rt_arg_row_bits(const struct rt_arg *a)
{
    HD_ASSERT(a->kind == RT_ARG_COL_DATA || a->kind == RT_ARG_COL_VALID);
    const struct fe_table_column *c = &a->table->cols[a->column];
    return a->kind == RT_ARG_COL_VALID ? 1 : c->bits ? (uint64_t)c->bits : (uint64_t)c->width * 8;
}
