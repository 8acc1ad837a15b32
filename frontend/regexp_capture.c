/* Automata that tell where groups lie in a match whose two ends are known (Laurikari, NFAs with Tagged Transitions, SPIRE
 * 2000). A state is a list of positions in the order of preference; each position has for each tag the number of the place
 * that holds where it was met last. A step says what each place of the next state gets: one of the places before, or where
 * the step is. Places are numbered as they first occur in the list, so states that differ in names alone are one. */
#include <string.h>

#include "frontend/regexp_positions.h"
#include "runtime/base/vec.h"
#include "templates/regexp.cuh"

struct item {
    int at; /* position */
    unsigned char place[HDD_RX_TAGS]; /* by tag; NOW, NONE */
};

struct state {
    struct item *list;
    int n;
    bool front; /* nothing lies before it */
    unsigned char match[HDD_RX_TAGS],
        border[HDD_RX_TAGS]; /* of the match that ends here: anywhere; at the text's end */
    int *next, *moves; /* by class */
};

struct automaton {
    struct fe_rx_making *m;
    int ntags, start;
    int nplaces; /* of the state with most */
    int nstates;
    struct state *states;
    int cap, *slots; /* of the hash table: 1 + state */
    int nmoves;
    unsigned char (*moves)[HDD_RX_PLACES];
    int nclasses;
    unsigned char class[256], byte[256];
    /* the list that is being made */
    struct item *list;
    int n;
    int *seen, turn; /* by position */
    bool cut; /* nothing behind a match */
};

static void begin_list(struct automaton *a)
{
    a->turn++;
    a->n = 0;
    a->cut = false;
}

/* Adds the positions that p reaches without a byte; at the border of the text the end is behind them, too. */
static void reach(struct automaton *a, int p, const unsigned char *places, bool front, bool border)
{
    struct item item = {0};
    memcpy(item.place, places, sizeof item.place);
    for (a->m->work++; !a->cut && a->seen[p] != a->turn; a->m->work++) {
        const struct fe_rx_position *x = &a->m->v[p];
        a->seen[p] = a->turn;
        switch (x->kind) {
        case FE_RXP_SPLIT:
            reach(a, x->next, item.place, front, border);
            p = x->other;
            continue;
        case FE_RXP_TAG:
            item.place[x->other] = HDD_RX_NOW;
            p = x->next;
            continue;
        case FE_RXP_BEGIN:
            if (!front)
                return;
            p = x->next;
            continue;
        case FE_RXP_END:
            if (border) {
                p = x->next;
                continue;
            }
            break;
        case FE_RXP_MATCH: a->cut = true; break;
        case FE_RXP_BYTE: break;
        }
        item.at = p;
        a->list[a->n++] = item;
        return;
    }
}

/* ---- states ------------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const struct item *list, int n, bool front)
{
    const unsigned char *bytes = (const unsigned char *)list;
    uint64_t h = front;
    for (size_t i = 0; i < (size_t)n * sizeof *list; i++)
        h = (h ^ bytes[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return h;
}

static void grow_slots(struct automaton *a)
{
    a->cap = a->cap ? 2 * a->cap : 64;
    a->slots = HD_NEWN(a->m->a, int, a->cap);
    for (int i = 0; i < a->nstates; i++) {
        uint64_t h = hash_of(a->states[i].list, a->states[i].n, a->states[i].front);
        while (a->slots[h & (uint64_t)(a->cap - 1)])
            h++;
        a->slots[h & (uint64_t)(a->cap - 1)] = 1 + i;
    }
}

/* Tags of the match that the list ends with, if it does. */
static void tags_of_match(const struct automaton *a, const struct item *list, int n, unsigned char *tags)
{
    bool found = n && a->m->v[list[n - 1].at].kind == FE_RXP_MATCH;
    memset(tags, HDD_RX_NONE, HDD_RX_TAGS);
    if (found)
        memcpy(tags, list[n - 1].place, (size_t)a->ntags);
}

static int add_state(struct automaton *a, bool front)
{
    struct state s = {.list = hd_dup(a->m->a, a->list, (size_t)a->n * sizeof *a->list), .n = a->n, .front = front};
    if (a->nstates == FE_REGEXP_MAX_STATES || a->m->work > FE_REGEXP_MAX_WORK)
        return fe_rx_fail(a->m, "the pattern is too complex: its automaton has too many states");
    tags_of_match(a, s.list, s.n, s.match);
    begin_list(a);
    for (int i = 0; i < s.n; i++)
        if (a->m->v[s.list[i].at].kind != FE_RXP_BYTE)
            reach(a, s.list[i].at, s.list[i].place, front, true);
    tags_of_match(a, a->list, a->n, s.border);
    hd_grow1(a->m->a, a->states, a->nstates);
    a->states[a->nstates] = s;
    return a->nstates++;
}

/* Numbers the places of the list anew; `from` says what each was. */
static int number_places(struct automaton *a, unsigned char *from)
{
    unsigned char number[256];
    int n = 0;
    memset(number, HDD_RX_NONE, sizeof number);
    for (int i = 0; i < a->n; i++)
        for (int t = 0; t < a->ntags; t++) {
            unsigned char *place = &a->list[i].place[t];
            if (*place == HDD_RX_NONE)
                continue;
            if (number[*place] == HDD_RX_NONE) {
                if (n == HDD_RX_PLACES)
                    return fe_rx_fail(a->m,
                                      "the pattern is too complex: its groups may begin and end in too many ways");
                from[n] = *place;
                number[*place] = (unsigned char)n++;
            }
            *place = number[*place];
        }
    a->nplaces = HD_MAX(a->nplaces, n);
    return n;
}

/* The step's number; 0 leaves the first places as they are. */
static int add_move(struct automaton *a, const unsigned char *from, int n)
{
    int i = 0;
    while (i < n && from[i] == i)
        i++;
    if (i == n)
        return 0;
    for (i = 1; i < a->nmoves; i++, a->m->work++)
        if (memcmp(a->moves[i], from, HDD_RX_PLACES) == 0)
            return i;
    if (a->nmoves == UINT16_MAX)
        return fe_rx_fail(a->m, "the pattern is too complex: its groups may begin and end in too many ways");
    hd_grow1(a->m->a, a->moves, a->nmoves);
    memcpy(a->moves[a->nmoves], from, HDD_RX_PLACES);
    return a->nmoves++;
}

/* The state of the list that was made. */
static int settle(struct automaton *a, bool front, int *move)
{
    unsigned char from[HDD_RX_PLACES] = {0};
    bool ends = false;
    int places = number_places(a, from);
    if (places < 0 || (*move = add_move(a, from, places)) < 0)
        return -1;
    for (int i = 0; i < a->n; i++)
        ends |= a->m->v[a->list[i].at].kind == FE_RXP_END;
    front &= ends;
    if (2 * a->nstates >= a->cap)
        grow_slots(a);
    for (uint64_t h = hash_of(a->list, a->n, front);; h++) {
        int *slot = &a->slots[h & (uint64_t)(a->cap - 1)];
        const struct state *s = *slot ? &a->states[*slot - 1] : NULL;
        if (!s)
            return (*slot = 1 + add_state(a, front)) - 1;
        if (s->n == a->n && s->front == front && memcmp(s->list, a->list, (size_t)a->n * sizeof *a->list) == 0)
            return *slot - 1;
    }
}

/* At its beginning the first place is there already, so that it needs no step. */
static int start_state(struct automaton *a, bool front)
{
    unsigned char none[HDD_RX_TAGS];
    int move;
    memset(none, HDD_RX_NONE, sizeof none);
    begin_list(a);
    reach(a, a->start, none, front, false);
    return settle(a, front, &move);
}

static int next_state(struct automaton *a, int from, unsigned char byte, int *move)
{
    const struct state s = a->states[from];
    begin_list(a);
    for (int i = 0; i < s.n; i++) {
        const struct fe_rx_position *x = &a->m->v[s.list[i].at];
        if (x->kind == FE_RXP_BYTE && x->lo <= byte && byte <= x->hi)
            reach(a, x->next, s.list[i].place, false, false);
    }
    return settle(a, false, move);
}

static int determine(struct automaton *a, int *start, int *idle)
{
    struct hd_arena *arena = a->m->a;
    a->list = HD_NEWN(arena, struct item, a->m->n + 1);
    a->seen = HD_NEWN(arena, int, a->m->n + 1);
    a->nclasses = fe_rx_classes(a->m, a->class, a->byte);
    hd_grow1(arena, a->moves, a->nmoves);
    memset(a->moves[a->nmoves++], 0, sizeof *a->moves);
    *start = start_state(a, true);
    *idle = start_state(a, false);
    for (int i = 0; i < a->nstates && !a->m->e->message; i++) {
        int *next = HD_NEWN(arena, int, a->nclasses), *moves = HD_NEWN(arena, int, a->nclasses);
        for (int c = 0; c < a->nclasses && !a->m->e->message; c++)
            next[c] = next_state(a, i, a->byte[c], &moves[c]);
        a->states[i].next = next;
        a->states[i].moves = moves;
    }
    return a->m->e->message ? -1 : 0;
}

/* ---- programs ---------------------------------------------------------------------------------------------- */

static unsigned char *write_program(const struct automaton *a, int start, int idle, size_t *size)
{
    size_t tags = (size_t)a->ntags, n = (size_t)a->nstates, cells = n * (size_t)a->nclasses;
    size_t table = HDD_RX_LAST + 2 * tags * n, moves = table + 4 * cells;
    size_t places = (size_t)a->nplaces;
    *size = moves + (size_t)a->nmoves * places;
    unsigned char *p = hd_zalloc(a->m->a, *size);
    p[HDD_RX_NTAGS] = (unsigned char)tags;
    p[HDD_RX_NPLACES] = (unsigned char)places;
    fe_rx_put_head(p, a->class, &(struct fe_rx_head){a->nclasses, a->nstates, start, idle, *size});
    memset(p + HDD_RX_GROUPS, HDD_RX_NONE, 16);
    for (int k = 0; k < a->m->ngroups; k++)
        if (a->m->groups[k] < 16)
            p[HDD_RX_GROUPS + a->m->groups[k]] = (unsigned char)(2 * k);
    for (size_t i = 0; i < n; i++) {
        memcpy(p + HDD_RX_LAST + 2 * tags * i, a->states[i].match, tags);
        memcpy(p + HDD_RX_LAST + 2 * tags * i + tags, a->states[i].border, tags);
    }
    for (size_t i = 0; i < cells; i++) {
        const struct state *s = &a->states[i / (size_t)a->nclasses];
        fe_rx_put_two(p, table + 4 * i, (unsigned)s->next[i % (size_t)a->nclasses]);
        fe_rx_put_two(p, table + 4 * i + 2, (unsigned)s->moves[i % (size_t)a->nclasses]);
    }
    for (size_t i = 0; i < (size_t)a->nmoves; i++)
        memcpy(p + moves + i * places, a->moves[i], places);
    return p;
}

const unsigned char *fe_rx_captures(struct hd_arena *arena, const struct fe_regexp *x, int ngroups, const int *groups,
                                    size_t *size, struct fe_regexp_error *e)
{
    struct fe_rx_making m = {.a = arena, .e = e, .ngroups = ngroups, .groups = groups};
    struct automaton a = {.m = &m, .ntags = 2 * ngroups};
    int start, idle, match = fe_rx_add(&m, (struct fe_rx_position){FE_RXP_MATCH, 0, 0, 0, 0});
    a.start = fe_rx_build(&m, x, match);
    if (a.start < 0 || determine(&a, &start, &idle) < 0)
        return NULL;
    return write_program(&a, start, idle, size);
}
