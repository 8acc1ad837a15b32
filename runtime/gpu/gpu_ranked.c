/* Framed fields that ranks of values tell of (templates/finish/finish_frames_ranked.cu, finish_frames_distinct.cu,
 * finish_frames_mode.cu): a few
 * launches for each level of a wavelet matrix, of which one is there at a time. */
#include "runtime/gpu/gpu_state.h"
#include "templates/ranked.cuh"

_Static_assert((int)HDD_RANKED_FIELDS == (int)RT_RANKED_MAX, "fields are those of the spec");
_Static_assert((int)HDD_SHARE_FLOOR == (int)RT_SHARE_FLOOR && (int)HDD_SHARE_CEILING == (int)RT_SHARE_CEILING &&
                   (int)HDD_SHARE_FIRST == (int)RT_SHARE_FIRST,
               "places of shares are those of the spec");

static const char ranked[] = "finish_frames_ranked", distinct[] = "finish_frames_distinct",
                  mode[] = "finish_frames_mode";

struct ranking {
    struct rt_gpu_exec *x;
    struct rt_gpu_state *v;
    struct hd_err *err;
    int n, field[RT_RANKED_MAX];
    struct hdd_ranked_args p; /* of what all fields share */
    struct hdd_ranked_args own[RT_RANKED_MAX]; /* of each field: its frame, and of a selection its walk */
};

static int launch(struct ranking *r, const char *module, const char *entry, struct hdd_ranked_args *p)
{
    p->f.blocks = rt_finish_blocks(r->x, p->f.n, RT_FINISH_THREADS);
    return rt_finish_launch(r->x, module, entry, p->f.blocks, p, r->err);
}

/* The same for a field, which sees where the others are. */
static int launch_own(struct ranking *r, const char *module, const char *entry, int k)
{
    struct hdd_ranked_args p = r->p;
    p.f = r->own[k].f;
    p.y = r->own[k].y;
    p.walk = r->own[k].walk;
    p.num = r->own[k].num;
    p.den = r->own[k].den;
    p.place = r->own[k].place;
    return launch(r, module, entry, &p);
}

static int bits_of(uint32_t n)
{
    return n ? 32 - __builtin_clz(n) : 0;
}

/* Places in the order of the level's bit; the level's numbers stay in `before`. */
static int level(struct ranking *r, int bit)
{
    struct hdd_ranked_args *p = &r->p;
    p->bit = (hdd_u32)bit;
    HD_TRY(launch(r, ranked, "hdd_ranked_mark", p));
    HD_TRY(rt_gpu_prefix_sum(r->x, r->v->s, p->before, p->f.n + 1, p->before, false, r->err));
    HD_TRY(launch(r, ranked, "hdd_ranked_move", p));
    hdd_u64 code = p->code, row = p->row;
    p->code = p->next_code;
    p->row = p->next_row;
    p->next_code = code;
    p->next_row = row;
    return 0;
}

/* Codes of the rows, and how many there may be of what codes and keys are. */
static int fill(struct ranking *r)
{
    struct rt_device *d = r->x->d;
    const uint64_t none = 0;
    uint32_t largest[2];
    HD_TRY(d->ops->upload(d, r->p.largest, &none, sizeof none, r->err));
    HD_TRY(launch(r, ranked, "hdd_ranked_survey", &r->p));
    HD_TRY(d->ops->download(d, largest, r->p.largest, sizeof largest, r->err));
    r->p.none = UINT32_C(1) << bits_of(largest[0]);
    r->p.never = largest[1];
    return launch(r, ranked, "hdd_ranked_fill", &r->p);
}

/* Memory for places, and `more` bytes behind. */
static int alloc(struct ranking *r, uint64_t more, struct rt_piece *memory, uint64_t *at)
{
    struct hdd_ranked_args *p = &r->p;
    const uint64_t words = hd_align_up(p->f.n + 1, 4) * sizeof(uint32_t);
    HD_TRY(rt_state_alloc(r->x, r->v->s, (size_t)(16 + 5 * words + more), memory, r->err));
    p->largest = memory->address;
    p->before = p->largest + 16;
    p->code = p->before + words;
    p->row = p->code + words;
    p->next_code = p->row + words;
    p->next_row = p->next_code + words;
    *at = p->next_row + words;
    return 0;
}

/* ---- the k-th value ------------------------------------------------------------------------------------------ */

static int for_each(struct ranking *r, const char *module, const char *entry)
{
    for (int k = 0; k < r->n; k++)
        HD_TRY(launch_own(r, module, entry, k));
    return 0;
}

static int walk_down(struct ranking *r)
{
    HD_TRY(fill(r));
    HD_TRY(for_each(r, ranked, "hdd_ranked_start"));
    int bits = bits_of(r->p.none) - 1;
    r->p.counts = r->p.f.x.valid >= 0;
    for (int bit = r->p.counts ? bits : bits - 1; bit >= 0; bit--) {
        HD_TRY(level(r, bit));
        HD_TRY(for_each(r, ranked, "hdd_ranked_descend"));
        r->p.counts = false;
    }
    return for_each(r, ranked, "hdd_ranked_arrive");
}

static int select_values(struct ranking *r)
{
    struct rt_piece memory = {0};
    const uint64_t walk = r->p.f.n * HDD_WALK_WORDS * sizeof(uint32_t);
    uint64_t at;
    HD_TRY(alloc(r, (uint64_t)r->n * walk, &memory, &at));
    for (int k = 0; k < r->n; k++)
        r->own[k].walk = at + (uint64_t)k * walk;
    int rc = walk_down(r);
    rt_gpu_release(r->x, &memory);
    return rc;
}

/* ---- distinct ------------------------------------------------------------------------------------------------ */

static int add_up(struct ranking *r, int k)
{
    struct hdd_frames_args *f = &r->own[k].f;
    for (f->level = 0; f->level < f->nlevels && r->own[k].y >= 0; f->level++)
        HD_TRY(launch_own(r, distinct, "hdd_distinct_level", k));
    return launch_own(r, distinct, "hdd_distinct_gather", k);
}

static int walk_keys(struct ranking *r)
{
    HD_TRY(launch(r, distinct, "hdd_distinct_fill", &r->p));
    HD_TRY(launch(r, distinct, "hdd_distinct_start", &r->p));
    for (int bit = r->p.running ? 0 : bits_of(r->p.never) - 1; bit >= 0; bit--) {
        HD_TRY(level(r, bit));
        for (int k = 0; k < r->n; k++)
            HD_TRY(add_up(r, k));
        HD_TRY(launch(r, distinct, "hdd_distinct_descend", &r->p));
    }
    return 0;
}

static int walks(struct ranking *r)
{
    HD_TRY(fill(r));
    for (int bit = 0; bit < bits_of(r->p.none); bit++)
        HD_TRY(level(r, bit));
    HD_TRY(launch(r, distinct, "hdd_distinct_keys", &r->p));
    HD_TRY(for_each(r, distinct, "hdd_distinct_clear"));
    HD_TRY(walk_keys(r));
    r->p.in_gaps = true;
    return r->p.f.nspans > 1 ? walk_keys(r) : 0;
}

static int add_distinct(struct ranking *r)
{
    struct rt_piece memory = {0};
    const uint64_t n = r->p.f.n, keys = hd_align_up(n, 4) * sizeof(uint32_t),
                   walk = hd_align_up(n * HDD_WALK_WORDS, 4) * sizeof(uint32_t);
    uint64_t sums = 0, at;
    for (int k = 0; k < r->n; k++)
        sums = HD_MAX(sums,
                      rt_frames_levels(&r->own[k].f, false) * (uint64_t)rt_phys_size((enum rt_phys)r->own[k].f.phys));
    HD_TRY(alloc(r, 2 * keys + walk + sums, &memory, &at));
    r->p.key = at;
    r->p.gap_key = at + keys;
    r->p.walk = at + 2 * keys;
    for (int k = 0; k < r->n; k++) {
        r->own[k].walk = r->p.walk;
        r->own[k].f.values = r->p.walk + walk;
    }
    int rc = walks(r);
    rt_gpu_release(r->x, &memory);
    return rc;
}

/* ---- modes --------------------------------------------------------------------------------------------------- */

enum { MODE_LOOKS = 8 /* rows of a node for each thread */ };

/* Halves of all rows, then of these, down to single rows. */
static int halve(struct ranking *r, int k)
{
    struct hdd_ranked_args *p = &r->p;
    uint64_t width = 1;
    p->f = r->own[k].f;
    while (width < p->f.n)
        width *= 2;
    for (; width > 0; width /= 2) {
        p->width = width;
        p->nodes = (p->f.n + width - 1) / width;
        p->pieces = (width + MODE_LOOKS - 1) / MODE_LOOKS;
        HD_TRY(launch(r, mode, "hdd_mode_inherit", p));
        HD_TRY(launch(r, mode, "hdd_mode_level", p));
        hdd_u64 up = p->up;
        p->up = p->best;
        p->best = up;
    }
    p->best = p->up;
    return launch(r, mode, "hdd_mode_settle", p);
}

static int find_modes(struct ranking *r)
{
    struct rt_piece memory = {0};
    const uint64_t n = hd_align_up(r->p.f.n, 2);
    uint64_t at;
    HD_TRY(alloc(r, 3 * n * sizeof(uint64_t) + n * sizeof(uint32_t), &memory, &at));
    int rc = fill(r);
    for (int bit = 0; bit < bits_of(r->p.none) && rc == 0; bit++)
        rc = level(r, bit);
    r->p.values = at;
    r->p.places = at + 3 * n * sizeof(uint64_t);
    rc = rc ? rc : launch(r, mode, "hdd_mode_keys", &r->p);
    for (int k = 0; k < r->n && rc == 0; k++) {
        r->p.best = at + n * sizeof(uint64_t);
        r->p.up = at + 2 * n * sizeof(uint64_t);
        rc = halve(r, k);
    }
    rt_gpu_release(r->x, &memory);
    return rc;
}

/* ---- fields -------------------------------------------------------------------------------------------------- */

static void set_field(struct ranking *r, int k)
{
    const struct rt_state *s = r->v->s;
    const struct rt_frame *f = s->fields[r->field[k]].frame;
    struct hdd_ranked_args *p = &r->own[k];
    p->f = rt_frames_args(r->v, r->field[k]);
    p->f.x = rt_key_of_field(&s->fields[f->x]);
    p->y = f->y < 0 ? -1 : s->fields[f->y].offset;
    p->num = f->share.num;
    p->den = f->share.den;
    p->place = (hdd_u32)f->share.place;
}

int rt_gpu_finish_ranks(struct rt_gpu_exec *x, struct rt_gpu_state *v, struct hd_err *err)
{
    for (int i = 0; i < v->s->nfields && v->nrows; i++) {
        struct ranking r = {.x = x, .v = v, .err = err};
        r.n = rt_ranked_fields(v->s, i, r.field);
        if (r.n == 0)
            continue;
        for (int k = 0; k < r.n; k++)
            set_field(&r, k);
        r.p = r.own[0];
        r.p.running = rt_frame_is_running(v->s->fields[i].frame);
        HD_TRY(v->s->merge[i] == RT_MERGE_NTH    ? select_values(&r)
               : v->s->merge[i] == RT_MERGE_MODE ? find_modes(&r)
                                                 : add_distinct(&r));
    }
    return 0;
}
