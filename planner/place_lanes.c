/* The words of a copy of the groups per thread (templates/lanes.cuh). Sums of values that facts bound on both sides share
 * words, so that a row reads and writes fewer: a sum has the bits of its values and room for the rows that a thread adds
 * up before its warp brings them to the state. */
#include "planner/place_lanes.h"

enum {
    WORD = 64,
    ROOM_MIN =
        10 /* log2 of rows: the 128 tiles that these are cost a hundred times what bringing them to the state does */
};

/* An accumulator that may share a word, by the bits of its values. */
struct part {
    struct pl_out *out;
    int bits;
};

static int bits_below(hd_i128 max)
{
    int n = 0;
    for (; max > 0; max >>= 1)
        n++;
    return n;
}

int pl_lane_bits(const struct rt_state *st, const struct pl_out *o)
{
    const struct rt_field *f = &st->fields[o->field];
    bool integer = f->phys == RT_I32 || f->phys == RT_I64 || f->phys == RT_I128;
    if (f->valid_offset >= 0 || !integer)
        return 0;
    if (o->fn == FE_AGG_COUNT || o->fn == FE_AGG_COUNT_STAR)
        return 1;
    return o->fn == FE_AGG_SUM && o->not_negative ? bits_below(o->max) : 0;
}

static int own_words(const struct rt_state *st, const struct pl_out *o)
{
    return st->fields[o->field].phys == RT_I128 && !o->narrow ? 2 : 1;
}

/* Words of its own for each accumulator. */
static int lay_apart(const struct rt_state *st, struct pl_sink *s)
{
    int n = 0;
    for (int i = 0; i < s->nouts; i++) {
        struct pl_out *o = &s->outs[i];
        o->lane = (struct pl_lane_field){.word = n, .bits = WORD * own_words(st, o)};
        n += own_words(st, o);
    }
    return n;
}

/* Each part into the first word that has room for it, the widest first. How many words; -1: one does not fit any. */
static int lay_parts(const struct part *parts, int n, int room, int *used)
{
    int words = 0;
    for (int i = 0; i < n; i++) {
        int bits = parts[i].bits + room, w = 0;
        if (bits >= WORD) /* signed, if alone */
            return -1;
        while (w < words && used[w] + bits > WORD)
            w++;
        if (w == words)
            used[words++] = 0;
        parts[i].out->lane = (struct pl_lane_field){w, used[w], bits, parts[i].bits};
        used[w] += bits;
    }
    return words;
}

/* The last part of a word has what is left of it; words that are not shared come first. */
static void settle(const struct rt_state *st, const struct part *parts, int n, int first, const int *used)
{
    for (int i = 0; i < n; i++) {
        struct pl_out *o = parts[i].out;
        if (o->lane.shift + o->lane.bits == used[o->lane.word])
            o->lane.bits = WORD - o->lane.shift;
        o->lane.word += first;
        o->narrow = st->fields[o->field].phys == RT_I128;
    }
}

/* Those that may share words, the widest first; the others get words of their own. */
static int sort_out(const struct rt_state *st, struct pl_sink *s, int room, struct part *parts, int *own)
{
    int n = 0;
    *own = 0;
    for (int i = 0; i < s->nouts; i++) {
        struct pl_out *o = &s->outs[i];
        int bits = pl_lane_bits(st, o), at = n;
        if (bits == 0 || bits + room >= WORD) {
            o->lane = (struct pl_lane_field){.word = *own, .bits = WORD * own_words(st, o)};
            *own += own_words(st, o);
            continue;
        }
        for (; at > 0 && parts[at - 1].bits < bits; at--)
            parts[at] = parts[at - 1];
        parts[at] = (struct part){o, bits};
        n++;
    }
    return n;
}

/* As few words as there are with the least room, then as much room as these have. How many; as many as `apart` or more:
 * nothing is shared. */
static int share_words(const struct ctx *c, const struct rt_state *st, struct pl_sink *s, int apart)
{
    struct part *parts = HD_NEWN(c->a, struct part, s->nouts + 1);
    int *used = HD_NEWN(c->a, int, s->nouts + 1), own;
    int room = c->opt.lane_room ? c->opt.lane_room : ROOM_MIN, most = c->opt.lane_room ? room : PL_LANE_ROOM_MOST;
    int n = sort_out(st, s, room, parts, &own), words = lay_parts(parts, n, room, used);
    if (own + words >= apart)
        return own + words;
    for (int more = room + 1; more <= most; more++)
        if (lay_parts(parts, n, more, used) == words)
            room = more;
    lay_parts(parts, n, room, used);
    settle(st, parts, n, own, used);
    s->lane_room = room;
    return own + words;
}

int pl_lay_lanes(const struct ctx *c, struct pl_sink *s, bool in_place)
{
    const struct rt_state *st = &c->states.v[s->state];
    int apart = lay_apart(st, s), shared = in_place ? share_words(c, st, s, apart) : apart;
    return shared < apart ? shared : lay_apart(st, s);
}
