/* The positions of Thompson's construction (Regular Expression Search Algorithm, CACM 1968) over the bytes of UTF-8. */
#include "frontend/regexp_positions.h"

#include "runtime/base/vec.h"
#include "templates/regexp.cuh"

int fe_rx_fail(struct fe_rx_making *m, const char *message)
{
    if (!m->e->message)
        *m->e = (struct fe_regexp_error){message, 0};
    return -1;
}

int fe_rx_add(struct fe_rx_making *m, struct fe_rx_position p)
{
    if (m->n == FE_REGEXP_MAX_NODES)
        return fe_rx_fail(m, "the pattern is too large: its repetitions are too many");
    hd_grow1(m->a, m->v, m->n);
    m->v[m->n] = p;
    return m->n++;
}

static int choice(struct fe_rx_making *m, int first, int second)
{
    if (first < 0 || second < 0)
        return first < 0 ? second : first;
    return fe_rx_add(m, (struct fe_rx_position){FE_RXP_SPLIT, 0, 0, first, second});
}

/* Bytes of the characters lo to hi, whose encodings have `n` bytes and differ as a product of ranges. */
static int bytes_of(struct fe_rx_making *m, uint32_t lo, uint32_t hi, int n, int next)
{
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int k = 0; k < n && next >= 0; k++) {
        int i = m->backwards ? n - 1 - k : k; /* from the last byte; backwards the first one is met last */
        uint32_t l = lo >> 6 * i, h = hi >> 6 * i;
        bool head = i == n - 1;
        unsigned char mark = head ? heads[n] : 0x80, mask = head ? 0xff : 0x3f;
        if (n == 1)
            mark = 0;
        next = fe_rx_add(m, (struct fe_rx_position){FE_RXP_BYTE, (unsigned char)((l & mask) | mark),
                                                    (unsigned char)((h & mask) | mark), next, 0});
    }
    return next;
}

/* The same of any range: it is cut where lengths change and where last bytes do not span all that follow. */
static int range_of(struct fe_rx_making *m, uint32_t lo, uint32_t hi, int next)
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

static int repeat(struct fe_rx_making *m, const struct fe_regexp *x, int next)
{
    const struct fe_regexp *part = x->parts[0];
    int at = next;
    if (x->max < 0) {
        int loop = fe_rx_add(m, (struct fe_rx_position){FE_RXP_SPLIT, 0, 0, 0, 0});
        int body = loop < 0 ? -1 : fe_rx_build(m, part, loop);
        if (body < 0)
            return -1;
        m->v[loop].next = x->lazy ? next : body;
        m->v[loop].other = x->lazy ? body : next;
        at = loop;
    }
    for (int i = x->min; i < x->max && at >= 0; i++) {
        int body = fe_rx_build(m, part, at);
        at = body < 0 ? -1 : x->lazy ? choice(m, next, body) : choice(m, body, next);
    }
    for (int i = 0; i < x->min && at >= 0; i++)
        at = fe_rx_build(m, part, at);
    return at;
}

/* Where it lies is told of groups that somebody asked for. */
static int group(struct fe_rx_making *m, const struct fe_regexp *x, int next)
{
    int k = 0;
    while (k < m->ngroups && m->groups[k] != x->min)
        k++;
    if (k == m->ngroups)
        return fe_rx_build(m, x->parts[0], next);
    int end = fe_rx_add(m, (struct fe_rx_position){.kind = FE_RXP_TAG, .next = next, .other = 2 * k + 1});
    int begin = end < 0 ? -1 : fe_rx_build(m, x->parts[0], end);
    return begin < 0 ? -1 : fe_rx_add(m, (struct fe_rx_position){.kind = FE_RXP_TAG, .next = begin, .other = 2 * k});
}

int fe_rx_build(struct fe_rx_making *m, const struct fe_regexp *x, int next)
{
    int at = next;
    switch (x->kind) {
    case FE_RX_EMPTY: return next;
    case FE_RX_BYTE: return fe_rx_add(m, (struct fe_rx_position){FE_RXP_BYTE, 0, 255, next, 0});
    case FE_RX_REPEAT: return repeat(m, x, next);
    case FE_RX_GROUP: return group(m, x, next);
    case FE_RX_CAT:
        for (int i = 0; i < x->n && at >= 0; i++)
            at = fe_rx_build(m, x->parts[m->backwards ? i : x->n - 1 - i], at);
        return at;
    case FE_RX_ALT:
        at = fe_rx_build(m, x->parts[x->n - 1], next);
        for (int i = x->n - 2; i >= 0 && at >= 0; i--) {
            int part = fe_rx_build(m, x->parts[i], next);
            at = part < 0 ? -1 : choice(m, part, at);
        }
        return at;
    case FE_RX_CLASS:
        if (!x->n) /* no character: a byte that no text has there */
            return fe_rx_add(m, (struct fe_rx_position){FE_RXP_BYTE, 1, 0, next, 0});
        at = range_of(m, x->ranges[x->n - 1].lo, x->ranges[x->n - 1].hi, next);
        for (int i = x->n - 2; i >= 0 && at >= 0; i--) {
            int part = range_of(m, x->ranges[i].lo, x->ranges[i].hi, next);
            at = part < 0 ? -1 : choice(m, part, at);
        }
        return at;
    case FE_RX_BEGIN:
    case FE_RX_END: {
        bool front = (x->kind == FE_RX_BEGIN) != m->backwards;
        return fe_rx_add(m, (struct fe_rx_position){front ? FE_RXP_BEGIN : FE_RXP_END, 0, 0, next, 0});
    }
    }
    return -1;
}

int fe_rx_classes(const struct fe_rx_making *m, unsigned char class[256], unsigned char byte[256])
{
    bool begins[257] = {[0] = true};
    int n = 0;
    for (int i = 0; i < m->n; i++)
        if (m->v[i].kind == FE_RXP_BYTE && m->v[i].lo <= m->v[i].hi)
            begins[m->v[i].lo] = begins[m->v[i].hi + 1] = true;
    for (int b = 0; b < 256; b++) {
        if (begins[b])
            byte[n++] = (unsigned char)b;
        class[b] = (unsigned char)(n - 1);
    }
    return n;
}

void fe_rx_put_two(unsigned char *program, size_t at, unsigned v)
{
    program[at] = (unsigned char)v;
    program[at + 1] = (unsigned char)(v >> 8);
}

void fe_rx_put_head(unsigned char *program, const unsigned char class[256], const struct fe_rx_head *h)
{
    fe_rx_put_two(program, HDD_RX_CLASSES, (unsigned)h->nclasses);
    fe_rx_put_two(program, HDD_RX_STATES, (unsigned)h->nstates);
    fe_rx_put_two(program, HDD_RX_START, (unsigned)h->start);
    fe_rx_put_two(program, HDD_RX_IDLE, (unsigned)h->idle);
    fe_rx_put_two(program, HDD_RX_SIZE, (unsigned)h->size & 0xffff);
    fe_rx_put_two(program, HDD_RX_SIZE + 2, (unsigned)(h->size >> 16));
    memcpy(program + HDD_RX_CLASS, class, 256);
}
