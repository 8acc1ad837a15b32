/* Makes automata of regular expressions: deterministic states, each a list of positions. Where a match lies is decided as
 * Perl does, by the order of alternatives: the states' lists are ordered, and nothing stays behind a match (Cox, Regular Expression
 * Matching in the Wild, 2010). */
#include <stdlib.h>
#include <string.h>

#include "frontend/regexp_positions.h"
#include "runtime/base/vec.h"
#include "templates/regexp.cuh"

enum { AGAIN = -1 }; /* in a list: the search begins once more here */

/* ---- states ------------------------------------------------------------------------------------------------ */

/* What an automaton is for. FIRST: the first match's end; LONGEST: all that begin at the start, the longest last. */
enum purpose { SEARCH, FIRST, LONGEST };

struct state {
    int *list, n;
    bool front; /* nothing lies before it */
    unsigned tells;
    int *next; /* by class; NULL: not looked at yet */
};

struct automaton {
    struct fe_rx_making *m;
    enum purpose purpose;
    int start; /* position */
    int nstates;
    struct state *states;
    int cap, *slots; /* of the hash table: 1 + state */
    int nclasses;
    unsigned char class[256], byte[256]; /* byte: one of each class */
    /* the list that is being made */
    int *list, n;
    int *seen, turn; /* by position */
    bool cut; /* nothing behind a match */
};

/* Adds the positions that p reaches without a byte. Its depth is that of the pattern's groups and repetitions. */
static void reach(struct automaton *a, int p, bool front)
{
    for (a->m->work++; !a->cut && a->seen[p] != a->turn; a->m->work++) {
        const struct fe_rx_position *x = &a->m->v[p];
        a->seen[p] = a->turn;
        switch (x->kind) {
        case FE_RXP_SPLIT:
            reach(a, x->next, front);
            p = x->other;
            continue;
        case FE_RXP_TAG: p = x->next; continue;
        case FE_RXP_BEGIN:
            if (!front)
                return;
            p = x->next;
            continue;
        case FE_RXP_MATCH: a->cut = a->purpose != LONGEST; break;
        case FE_RXP_BYTE:
        case FE_RXP_END: break;
        }
        a->list[a->n++] = p;
        return;
    }
}

/* Whether a match ends at the border: behind the positions FE_RXP_END of the list. */
static bool matches_at_border(struct automaton *a, const struct state *s)
{
    bool found = false;
    a->turn++;
    a->n = 0;
    a->cut = false;
    for (int i = 0; i < s->n; i++)
        if (s->list[i] >= 0 && a->m->v[s->list[i]].kind == FE_RXP_END)
            reach(a, a->m->v[s->list[i]].next, s->front);
    for (int i = 0; i < a->n; i++) { /* those it reaches may be such again */
        const struct fe_rx_position *x = &a->m->v[a->list[i]];
        found |= x->kind == FE_RXP_MATCH;
        if (x->kind == FE_RXP_END)
            reach(a, x->next, s->front);
    }
    return found || a->cut;
}

static int compare_positions(const void *x, const void *y)
{
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

static uint64_t hash_of(const int *list, int n, bool front)
{
    uint64_t h = front;
    for (int i = 0; i < n; i++)
        h = (h ^ (uint64_t)(unsigned)list[i]) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return h;
}

static void grow_slots(struct automaton *a)
{
    a->cap = a->cap ? 2 * a->cap : 64;
    a->slots = HD_NEWN(a->m->a, int, a->cap);
    for (int i = 0; i < a->nstates; i++) {
        const struct state *s = &a->states[i];
        uint64_t h = hash_of(s->list, s->n, s->front);
        while (a->slots[h & (uint64_t)(a->cap - 1)])
            h++;
        a->slots[h & (uint64_t)(a->cap - 1)] = 1 + i;
    }
}

static int add_state(struct automaton *a, bool front)
{
    struct state s = {.list = hd_dup(a->m->a, a->list, (size_t)a->n * sizeof *a->list), .n = a->n, .front = front};
    if (a->nstates == FE_REGEXP_MAX_STATES || a->m->work > FE_REGEXP_MAX_WORK)
        return fe_rx_fail(a->m, "the pattern is too complex: its automaton has too many states");
    for (int i = 0; i < s.n; i++)
        if (s.list[i] >= 0 && a->m->v[s.list[i]].kind == FE_RXP_MATCH)
            s.tells |= HDD_RX_MATCH | HDD_RX_BORDER;
    if (matches_at_border(a, &s))
        s.tells |= HDD_RX_BORDER;
    hd_grow1(a->m->a, a->states, a->nstates);
    a->states[a->nstates] = s;
    return a->nstates++;
}

/* The state of the list that was made. */
static int settle(struct automaton *a, bool front)
{
    bool found = false, ends = false;
    for (int i = 0; i < a->n; i++) {
        enum fe_rx_position_kind k = a->list[i] < 0 ? FE_RXP_SPLIT : a->m->v[a->list[i]].kind;
        found |= k == FE_RXP_MATCH;
        ends |= k == FE_RXP_END;
    }
    if (a->purpose == SEARCH && found)
        return HDD_RX_FOUND;
    if (!a->n)
        return HDD_RX_DEAD;
    if (a->purpose != FIRST)
        qsort(a->list, (size_t)a->n, sizeof *a->list, compare_positions);
    front &= ends;
    if (2 * a->nstates >= a->cap)
        grow_slots(a);
    uint64_t h = hash_of(a->list, a->n, front);
    for (;; h++) {
        int *slot = &a->slots[h & (uint64_t)(a->cap - 1)];
        const struct state *s = *slot ? &a->states[*slot - 1] : NULL;
        if (!s)
            return (*slot = 1 + add_state(a, front)) - 1;
        if (s->n == a->n && s->front == front && memcmp(s->list, a->list, (size_t)a->n * sizeof *a->list) == 0)
            return *slot - 1;
    }
}

static void begin_list(struct automaton *a)
{
    a->turn++;
    a->n = 0;
    a->cut = false;
}

/* The search may begin here as well. */
static void begin_search(struct automaton *a, bool front)
{
    reach(a, a->start, front);
    if (a->purpose == FIRST && !a->cut)
        a->list[a->n++] = AGAIN;
}

static int start_state(struct automaton *a, bool front)
{
    begin_list(a);
    begin_search(a, front);
    return settle(a, front);
}

static int next_state(struct automaton *a, int from, unsigned char byte)
{
    const struct state s = a->states[from];
    bool again = a->purpose == SEARCH;
    begin_list(a);
    for (int i = 0; i < s.n; i++) {
        const struct fe_rx_position *x = s.list[i] < 0 ? NULL : &a->m->v[s.list[i]];
        again |= !x;
        if (x && x->kind == FE_RXP_BYTE && x->lo <= byte && byte <= x->hi)
            reach(a, x->next, false);
    }
    if (again)
        begin_search(a, false);
    return settle(a, false);
}

/* ---- programs ---------------------------------------------------------------------------------------------- */

static unsigned char *write_program(const struct automaton *a, int start, int idle, size_t *size)
{
    bool wide = a->nstates > 256;
    size_t n = (size_t)a->nstates, cells = n * (size_t)a->nclasses, table = HDD_RX_TELLS + n;
    *size = table + (wide ? 2 * cells : cells);
    unsigned char *p = hd_zalloc(a->m->a, *size);
    p[HDD_RX_WIDE] = wide;
    fe_rx_put_head(p, a->class, &(struct fe_rx_head){a->nclasses, a->nstates, start, idle, *size});
    for (int b = 0; b < 256; b++)
        p[HDD_RX_LEAVES + b] = a->states[idle].next[a->class[b]] != idle;
    for (size_t i = 0; i < n; i++)
        p[HDD_RX_TELLS + i] = (unsigned char)a->states[i].tells;
    for (size_t i = 0; i < cells; i++) {
        unsigned to = (unsigned)a->states[i / (size_t)a->nclasses].next[i % (size_t)a->nclasses];
        if (wide)
            fe_rx_put_two(p, table + 2 * i, to);
        else
            p[table + i] = (unsigned char)to;
    }
    return p;
}

/* Every state that can be reached, from both starts on. DEAD and FOUND lead to themselves. */
static int determine(struct automaton *a, int *start, int *idle)
{
    struct hd_arena *arena = a->m->a;
    a->list = HD_NEWN(arena, int, a->m->n + 1);
    a->seen = HD_NEWN(arena, int, a->m->n + 1);
    a->nclasses = fe_rx_classes(a->m, a->class, a->byte);
    for (int i = 0; i < 2; i++)
        add_state(a, false);
    a->states[HDD_RX_FOUND].tells = HDD_RX_MATCH | HDD_RX_BORDER;
    grow_slots(a);
    memset(a->slots, 0, (size_t)a->cap * sizeof *a->slots); /* these two are not found by their lists */
    *start = start_state(a, true);
    *idle = start_state(a, false);
    for (int i = 0; i < a->nstates && !a->m->e->message; i++) {
        int *next = HD_NEWN(arena, int, a->nclasses);
        for (int c = 0; c < a->nclasses && !a->m->e->message; c++)
            next[c] = i <= HDD_RX_FOUND ? i : next_state(a, i, a->byte[c]);
        a->states[i].next = next;
    }
    return a->m->e->message ? -1 : 0;
}

static const unsigned char *make(struct hd_arena *arena, const struct fe_regexp *x, enum purpose purpose, size_t *size,
                                 struct fe_regexp_error *e)
{
    struct fe_rx_making m = {.a = arena, .e = e, .backwards = purpose == LONGEST};
    struct automaton a = {.m = &m, .purpose = purpose};
    int start, idle, match = fe_rx_add(&m, (struct fe_rx_position){FE_RXP_MATCH, 0, 0, 0, 0});
    a.start = fe_rx_build(&m, x, match);
    if (a.start < 0 || determine(&a, &start, &idle) < 0)
        return NULL;
    return write_program(&a, start, idle, size);
}

static const unsigned char *joined(struct hd_arena *a, const unsigned char *program, size_t *size,
                                   const unsigned char *part, size_t n)
{
    unsigned char *all = hd_alloc(a, *size + n);
    memcpy(all, program, *size);
    memcpy(all + *size, part, n);
    *size += n;
    return all;
}

const unsigned char *fe_regexp_compile(struct hd_arena *a, const char *pattern, size_t n,
                                       const struct fe_regexp_use *use, size_t *size, struct fe_regexp_error *e)
{
    int there = 0, ngroups = 0, groups[FE_REGEXP_MAX_GROUPS];
    size_t more = 0;
    const struct fe_regexp *x = fe_regexp_read(a, pattern, n, &there, e);
    if (!x)
        return NULL;
    if (!use->span)
        return make(a, x, SEARCH, size, e);
    for (int k = 0; k < use->ngroups; k++)
        if (use->groups[k] <= there)
            groups[ngroups++] = use->groups[k];
        else if (use->must)
            return (*e = (struct fe_regexp_error){"the pattern has no group of that number", 0}, NULL);
    const unsigned char *all = make(a, x, FIRST, size, e), *part = all ? make(a, x, LONGEST, &more, e) : NULL;
    if (!part)
        return NULL;
    all = joined(a, all, size, part, more);
    if (ngroups && !(part = fe_rx_captures(a, x, ngroups, groups, &more, e)))
        return NULL;
    if (ngroups)
        all = joined(a, all, size, part, more);
    return all;
}

static void use_group(struct fe_regexp_use *use, int group)
{
    int k = 0;
    while (k < use->ngroups && use->groups[k] != group)
        k++;
    if (k == use->ngroups && group)
        use->groups[use->ngroups++] = group;
}

struct fe_regexp_use fe_regexp_extracting(int group)
{
    struct fe_regexp_use use = {.span = true, .must = true};
    use_group(&use, group);
    return use;
}

struct fe_regexp_use fe_regexp_replacing(const char *by, size_t n)
{
    struct fe_regexp_use use = {.span = true, .must = by != NULL};
    for (int k = 1; !by && k < 10; k++)
        use_group(&use, k);
    for (size_t i = 0; by && i + 1 < n; i++)
        if (by[i] == '\\' && by[++i] >= '0' && by[i] <= '9')
            use_group(&use, by[i] - '0');
    return use;
}

const unsigned char *fe_ilike_compile(struct hd_arena *a, const char *pattern, size_t n, char escape, size_t *size,
                                      struct fe_regexp_error *e)
{
    *e = (struct fe_regexp_error){0};
    return make(a, fe_ilike_read(a, pattern, n, escape), SEARCH, size, e);
}
