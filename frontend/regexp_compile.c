/* Makes automata of regular expressions: the positions of Thompson's construction (Regular Expression Search Algorithm,
 * CACM 1968), and of these deterministic states, each a list of positions. Where a match lies is decided as Perl does, by
 * the order of alternatives: the states' lists are ordered, and nothing stays behind a match (Cox, Regular Expression
 * Matching in the Wild, 2010). */
#include <stdlib.h>
#include <string.h>

#include "frontend/regexp.h"
#include "runtime/base/vec.h"
#include "templates/regexp.cuh"

enum position_kind { BYTE, SPLIT, BEGIN, END, MATCH };
enum { AGAIN = -1 }; /* in a list: the search begins once more here */

struct position {
    enum position_kind kind;
    unsigned char lo, hi; /* BYTE */
    int next, other; /* other: SPLIT, after next */
};

struct making {
    struct hd_arena *a;
    struct fe_regexp_error *e;
    bool backwards;
    int n;
    struct position *v;
    uint64_t work;
};

static int fail(struct making *m, const char *message)
{
    if (!m->e->message)
        *m->e = (struct fe_regexp_error){message, 0};
    return -1;
}

/* ---- positions ------------------------------------------------------------------------------------------- */

static int add_position(struct making *m, struct position p)
{
    if (m->n == FE_REGEXP_MAX_NODES)
        return fail(m, "the pattern is too large: its repetitions are too many");
    hd_grow1(m->a, m->v, m->n);
    m->v[m->n] = p;
    return m->n++;
}

static int choice(struct making *m, int first, int second)
{
    if (first < 0 || second < 0)
        return first < 0 ? second : first;
    return add_position(m, (struct position){SPLIT, 0, 0, first, second});
}

/* Bytes of the characters lo to hi, whose encodings have `n` bytes and differ as a product of ranges. */
static int bytes_of(struct making *m, uint32_t lo, uint32_t hi, int n, int next)
{
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int k = 0; k < n && next >= 0; k++) {
        int i = m->backwards ? n - 1 - k : k; /* from the last byte; backwards the first one is met last */
        uint32_t l = lo >> 6 * i, h = hi >> 6 * i;
        bool head = i == n - 1;
        unsigned char mark = head ? heads[n] : 0x80, mask = head ? 0xff : 0x3f;
        if (n == 1)
            mark = 0;
        next = add_position(m, (struct position){BYTE, (unsigned char)((l & mask) | mark),
                                                 (unsigned char)((h & mask) | mark), next, 0});
    }
    return next;
}

/* The same of any range: it is cut where lengths change and where last bytes do not span all that follow. */
static int range_of(struct making *m, uint32_t lo, uint32_t hi, int next)
{
    static const uint32_t last[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};
    int n = 1;
    while (lo > last[n - 1])
        n++;
    if (hi > last[n - 1])
        return choice(m, range_of(m, lo, last[n - 1], next), range_of(m, last[n - 1] + 1, hi, next));
    for (int i = 1; i < n; i++) {
        uint32_t low = ((uint32_t)1 << 6 * i) - 1;
        if ((lo & ~low) == (hi & ~low))
            break;
        if (lo & low)
            return choice(m, range_of(m, lo, lo | low, next), range_of(m, (lo | low) + 1, hi, next));
        if ((hi & low) != low)
            return choice(m, range_of(m, lo, (hi & ~low) - 1, next), range_of(m, hi & ~low, hi, next));
    }
    return bytes_of(m, lo, hi, n, next);
}

static int build(struct making *m, const struct fe_regexp *x, int next);

static int repeat(struct making *m, const struct fe_regexp *x, int next)
{
    const struct fe_regexp *part = x->parts[0];
    int at = next;
    if (x->max < 0) {
        int loop = add_position(m, (struct position){SPLIT, 0, 0, 0, 0});
        int body = loop < 0 ? -1 : build(m, part, loop);
        if (body < 0)
            return -1;
        m->v[loop].next = x->lazy ? next : body;
        m->v[loop].other = x->lazy ? body : next;
        at = loop;
    }
    for (int i = x->min; i < x->max && at >= 0; i++) {
        int body = build(m, part, at);
        at = body < 0 ? -1 : x->lazy ? choice(m, next, body) : choice(m, body, next);
    }
    for (int i = 0; i < x->min && at >= 0; i++)
        at = build(m, part, at);
    return at;
}

/* Where x begins, if `next` is behind it. */
static int build(struct making *m, const struct fe_regexp *x, int next)
{
    int at = next;
    switch (x->kind) {
    case FE_RX_EMPTY: return next;
    case FE_RX_BYTE: return add_position(m, (struct position){BYTE, 0, 255, next, 0});
    case FE_RX_REPEAT: return repeat(m, x, next);
    case FE_RX_CAT:
        for (int i = 0; i < x->n && at >= 0; i++)
            at = build(m, x->parts[m->backwards ? i : x->n - 1 - i], at);
        return at;
    case FE_RX_ALT:
        at = build(m, x->parts[x->n - 1], next);
        for (int i = x->n - 2; i >= 0 && at >= 0; i--) {
            int part = build(m, x->parts[i], next);
            at = part < 0 ? -1 : choice(m, part, at);
        }
        return at;
    case FE_RX_CLASS:
        if (!x->n) /* no character: a byte that no text has there */
            return add_position(m, (struct position){BYTE, 1, 0, next, 0});
        at = range_of(m, x->ranges[x->n - 1].lo, x->ranges[x->n - 1].hi, next);
        for (int i = x->n - 2; i >= 0 && at >= 0; i--) {
            int part = range_of(m, x->ranges[i].lo, x->ranges[i].hi, next);
            at = part < 0 ? -1 : choice(m, part, at);
        }
        return at;
    case FE_RX_BEGIN:
    case FE_RX_END: {
        bool front = (x->kind == FE_RX_BEGIN) != m->backwards;
        return add_position(m, (struct position){front ? BEGIN : END, 0, 0, next, 0});
    }
    }
    return -1;
}

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
    struct making *m;
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

static void find_classes(struct automaton *a)
{
    bool begins[257] = {[0] = true};
    for (int i = 0; i < a->m->n; i++)
        if (a->m->v[i].kind == BYTE && a->m->v[i].lo <= a->m->v[i].hi)
            begins[a->m->v[i].lo] = begins[a->m->v[i].hi + 1] = true;
    for (int b = 0; b < 256; b++) {
        if (begins[b])
            a->byte[a->nclasses++] = (unsigned char)b;
        a->class[b] = (unsigned char)(a->nclasses - 1);
    }
}

/* Adds the positions that p reaches without a byte. Its depth is that of the pattern's groups and repetitions. */
static void reach(struct automaton *a, int p, bool front)
{
    for (a->m->work++; !a->cut && a->seen[p] != a->turn; a->m->work++) {
        const struct position *x = &a->m->v[p];
        a->seen[p] = a->turn;
        switch (x->kind) {
        case SPLIT:
            reach(a, x->next, front);
            p = x->other;
            continue;
        case BEGIN:
            if (!front)
                return;
            p = x->next;
            continue;
        case MATCH: a->cut = a->purpose != LONGEST; break;
        case BYTE:
        case END: break;
        }
        a->list[a->n++] = p;
        return;
    }
}

/* Whether a match ends at the border: behind the positions END of the list. */
static bool matches_at_border(struct automaton *a, const struct state *s)
{
    bool found = false;
    a->turn++;
    a->n = 0;
    a->cut = false;
    for (int i = 0; i < s->n; i++)
        if (s->list[i] >= 0 && a->m->v[s->list[i]].kind == END)
            reach(a, a->m->v[s->list[i]].next, s->front);
    for (int i = 0; i < a->n; i++) { /* those it reaches may be such again */
        const struct position *x = &a->m->v[a->list[i]];
        found |= x->kind == MATCH;
        if (x->kind == END)
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
        return fail(a->m, "the pattern is too complex: its automaton has too many states");
    for (int i = 0; i < s.n; i++)
        if (s.list[i] >= 0 && a->m->v[s.list[i]].kind == MATCH)
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
        enum position_kind k = a->list[i] < 0 ? SPLIT : a->m->v[a->list[i]].kind;
        found |= k == MATCH;
        ends |= k == END;
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
        const struct position *x = s.list[i] < 0 ? NULL : &a->m->v[s.list[i]];
        again |= !x;
        if (x && x->kind == BYTE && x->lo <= byte && byte <= x->hi)
            reach(a, x->next, false);
    }
    if (again)
        begin_search(a, false);
    return settle(a, false);
}

/* ---- programs ---------------------------------------------------------------------------------------------- */

static void put_two(unsigned char *p, size_t at, unsigned v)
{
    p[at] = (unsigned char)v;
    p[at + 1] = (unsigned char)(v >> 8);
}

static unsigned char *write_program(const struct automaton *a, int start, int idle, size_t *size)
{
    bool wide = a->nstates > 256;
    size_t n = (size_t)a->nstates, cells = n * (size_t)a->nclasses, table = HDD_RX_TELLS + n;
    *size = table + (wide ? 2 * cells : cells);
    unsigned char *p = hd_zalloc(a->m->a, *size);
    p[HDD_RX_WIDE] = wide;
    put_two(p, HDD_RX_CLASSES, (unsigned)a->nclasses);
    put_two(p, HDD_RX_STATES, (unsigned)n);
    put_two(p, HDD_RX_START, (unsigned)start);
    put_two(p, HDD_RX_IDLE, (unsigned)idle);
    put_two(p, HDD_RX_SIZE, (unsigned)*size & 0xffff);
    put_two(p, HDD_RX_SIZE + 2, (unsigned)(*size >> 16));
    memcpy(p + HDD_RX_CLASS, a->class, sizeof a->class);
    for (int b = 0; b < 256; b++)
        p[HDD_RX_LEAVES + b] = a->states[idle].next[a->class[b]] != idle;
    for (size_t i = 0; i < n; i++)
        p[HDD_RX_TELLS + i] = (unsigned char)a->states[i].tells;
    for (size_t i = 0; i < cells; i++) {
        unsigned to = (unsigned)a->states[i / (size_t)a->nclasses].next[i % (size_t)a->nclasses];
        if (wide)
            put_two(p, table + 2 * i, to);
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
    find_classes(a);
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
    struct making m = {.a = arena, .e = e, .backwards = purpose == LONGEST};
    struct automaton a = {.m = &m, .purpose = purpose};
    int start, idle, match = add_position(&m, (struct position){MATCH, 0, 0, 0, 0});
    a.start = build(&m, x, match);
    if (a.start < 0 || determine(&a, &start, &idle) < 0)
        return NULL;
    return write_program(&a, start, idle, size);
}

const unsigned char *fe_regexp_compile(struct hd_arena *a, const char *pattern, size_t n, enum fe_regexp_use use,
                                       size_t *size, struct fe_regexp_error *e)
{
    const struct fe_regexp *x = fe_regexp_read(a, pattern, n, e);
    size_t second = 0;
    if (!x)
        return NULL;
    if (use == FE_REGEXP_SEARCH)
        return make(a, x, SEARCH, size, e);
    const unsigned char *end = make(a, x, FIRST, size, e);
    const unsigned char *begin = end ? make(a, x, LONGEST, &second, e) : NULL;
    if (!begin)
        return NULL;
    unsigned char *both = hd_alloc(a, *size + second);
    memcpy(both, end, *size);
    memcpy(both + *size, begin, second);
    *size += second;
    return both;
}

const unsigned char *fe_ilike_compile(struct hd_arena *a, const char *pattern, size_t n, char escape, size_t *size,
                                      struct fe_regexp_error *e)
{
    *e = (struct fe_regexp_error){0};
    return make(a, fe_ilike_read(a, pattern, n, escape), SEARCH, size, e);
}
