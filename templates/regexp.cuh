// Regular expressions as deterministic automata over bytes. Shared with host C (templates/host.h). One thread at a time.
//
// An automaton is a block of bytes: its head, a class for each byte, whether a byte leaves the idle state, what each state
// tells, and the next state for each state and class. A program is one automaton (SEARCH), or two: the first finds where
// the match ends, the second, going back from there, where it begins; and maybe a third one, which tells where groups lie
// when it goes over the match once more. States 0 and 1 of the first two are DEAD and, where only existence counts, FOUND.
#ifndef HDD_REGEXP_CUH
#define HDD_REGEXP_CUH

#ifdef __cplusplus
#include "hd/text.cuh"
#else
#include "templates/text.cuh"
#endif

#define HDD_RX_DEAD  0
#define HDD_RX_FOUND 1

// Places in the head, each a number of two bytes but WIDE and SIZE.
#define HDD_RX_WIDE    0 // 1: states are two bytes in the table
#define HDD_RX_CLASSES 2
#define HDD_RX_STATES  4
#define HDD_RX_START   6 // at the border of the text
#define HDD_RX_IDLE    8 // anywhere else
#define HDD_RX_SIZE    12 // of the automaton, four bytes
#define HDD_RX_CLASS   16
#define HDD_RX_LEAVES  (HDD_RX_CLASS + 256)
#define HDD_RX_TELLS   (HDD_RX_LEAVES + 256)

// What a state tells: a match ends here; one does if the text does.
#define HDD_RX_MATCH  1
#define HDD_RX_BORDER 2

// The third automaton has another form: places of groups' tags, how many tags there are, for each state the tags of the
// match that ends there and of that which does if the text ends, and for each state and class the next state and a move of
// places. A tag is the number of a place, a move has for each place the one that it takes its value from.
#define HDD_RX_NTAGS  1
#define HDD_RX_NPLACES 10
#define HDD_RX_GROUPS HDD_RX_LEAVES // by group: its first tag
#define HDD_RX_LAST   (HDD_RX_GROUPS + 16)
#define HDD_RX_TAGS   18 // at most
#define HDD_RX_PLACES 24 // at most
#define HDD_RX_NOW    254 // where the step is
#define HDD_RX_NONE   255

HDD_DEVICE u32 hdd_rx_two(const u8 *p, u32 at)
{
    return (u32)p[at] | (u32)p[at + 1] << 8;
}

HDD_DEVICE u32 hdd_rx_size(const u8 *p)
{
    return hdd_rx_two(p, HDD_RX_SIZE) | hdd_rx_two(p, HDD_RX_SIZE + 2) << 16;
}

HDD_DEVICE u32 hdd_rx_next(const u8 *p, const u8 *table, u32 classes, bool wide, u32 state, u8 byte)
{
    const u32 at = state * classes + p[HDD_RX_CLASS + byte];
    return wide ? hdd_rx_two(table, 2 * at) : table[at];
}

// Whether there is a match.
HDD_DEVICE i64 hdd_regexp_like(const u8 *s, i32 n, const u8 *p, i32 m)
{
    const u32 classes = hdd_rx_two(p, HDD_RX_CLASSES), idle = hdd_rx_two(p, HDD_RX_IDLE);
    const u8 *tells = p + HDD_RX_TELLS, *table = tells + hdd_rx_two(p, HDD_RX_STATES);
    const bool wide = p[HDD_RX_WIDE] != 0;
    u32 state = hdd_rx_two(p, HDD_RX_START);
    (void)m;
    for (i32 i = 0; i < n && state > HDD_RX_FOUND; i++) {
        if (state == idle) {
            while (i < n && !p[HDD_RX_LEAVES + s[i]])
                i++;
            if (i == n)
                break;
        }
        state = hdd_rx_next(p, table, classes, wide, state, s[i]);
    }
    return state == HDD_RX_FOUND || (tells[state] & HDD_RX_BORDER) != 0;
}

// Where the first match that begins at `from` or behind it ends; -1: there is none.
HDD_DEVICE i32 hdd_rx_end(const u8 *s, i32 n, i32 from, const u8 *p)
{
    const u32 classes = hdd_rx_two(p, HDD_RX_CLASSES), idle = hdd_rx_two(p, HDD_RX_IDLE);
    const u8 *tells = p + HDD_RX_TELLS, *table = tells + hdd_rx_two(p, HDD_RX_STATES);
    const bool wide = p[HDD_RX_WIDE] != 0;
    u32 state = hdd_rx_two(p, from == 0 ? HDD_RX_START : HDD_RX_IDLE);
    i32 end = (tells[state] & HDD_RX_MATCH) != 0 ? from : -1;
    for (i32 i = from; i < n && state != HDD_RX_DEAD; i++) {
        if (state == idle && end < 0) {
            while (i < n && !p[HDD_RX_LEAVES + s[i]])
                i++;
            if (i == n)
                break;
        }
        state = hdd_rx_next(p, table, classes, wide, state, s[i]);
        if ((tells[state] & HDD_RX_MATCH) != 0)
            end = i + 1;
    }
    return (tells[state] & HDD_RX_BORDER) != 0 ? n : end;
}

// Where the longest match between `from` and `end` begins that ends there.
HDD_DEVICE i32 hdd_rx_begin(const u8 *s, i32 n, i32 from, i32 end, const u8 *p)
{
    const u32 classes = hdd_rx_two(p, HDD_RX_CLASSES);
    const u8 *tells = p + HDD_RX_TELLS, *table = tells + hdd_rx_two(p, HDD_RX_STATES);
    const bool wide = p[HDD_RX_WIDE] != 0;
    u32 state = hdd_rx_two(p, end == n ? HDD_RX_START : HDD_RX_IDLE);
    i32 begin = end;
    for (i32 i = end; state != HDD_RX_DEAD; i--) {
        if ((tells[state] & (i == 0 ? HDD_RX_BORDER : HDD_RX_MATCH)) != 0)
            begin = i;
        if (i == from)
            break;
        state = hdd_rx_next(p, table, classes, wide, state, s[i - 1]);
    }
    return begin;
}

// Where the groups of the match from `begin` to `end` lie, by tag; -1: nowhere.
HDD_DEVICE void hdd_rx_groups(const u8 *s, i32 n, i32 begin, i32 end, const u8 *p, i32 *out)
{
    const u32 classes = hdd_rx_two(p, HDD_RX_CLASSES), states = hdd_rx_two(p, HDD_RX_STATES), tags = p[HDD_RX_NTAGS];
    const u8 *table = p + HDD_RX_LAST + 2 * tags * states, *moves = table + 4 * states * classes;
    u32 state = hdd_rx_two(p, begin == 0 ? HDD_RX_START : HDD_RX_IDLE);
    const u32 nplaces = p[HDD_RX_NPLACES];
    i32 places[HDD_RX_PLACES], before[HDD_RX_PLACES];
    for (u32 k = 0; k < nplaces; k++)
        places[k] = begin;
    for (i32 i = begin; i < end; i++) {
        const u32 cell = 4 * (state * classes + p[HDD_RX_CLASS + s[i]]), move = hdd_rx_two(table, cell + 2);
        state = hdd_rx_two(table, cell);
        if (!move)
            continue;
        for (u32 k = 0; k < nplaces; k++)
            before[k] = places[k];
        for (u32 k = 0; k < nplaces; k++) {
            const u8 from = moves[move * nplaces + k];
            places[k] = from == HDD_RX_NOW ? i + 1 : before[from];
        }
    }
    const u8 *last = p + HDD_RX_LAST + 2 * tags * state + (end == n ? tags : 0);
    for (u32 t = 0; t < tags; t++)
        out[t] = last[t] == HDD_RX_NONE ? -1 : last[t] == HDD_RX_NOW ? end : places[last[t]];
}

// The automaton of groups; null: the program has none.
HDD_DEVICE const u8 *hdd_rx_captures(const u8 *p, i32 size)
{
    const u32 both = hdd_rx_size(p) + hdd_rx_size(p + hdd_rx_size(p));
    return both < (u32)size ? p + both : (const u8 *)0;
}

// The first match, or the group in it, which is the only one that the program tells; nothing if there is none.
HDD_DEVICE i64 hdd_regexp_extract(const u8 *s, i32 n, const u8 *p, i32 m, i64 group)
{
    const i32 end = hdd_rx_end(s, n, 0, p);
    if (end < 0)
        return hdd_span(0, 0);
    const i32 begin = hdd_rx_begin(s, n, 0, end, p + hdd_rx_size(p));
    if (group == 0)
        return hdd_span(begin, end);
    i32 places[HDD_RX_TAGS];
    hdd_rx_groups(s, n, begin, end, hdd_rx_captures(p, m), places);
    return places[0] < 0 || places[1] < 0 ? hdd_span(0, 0) : hdd_span(places[0], places[1]);
}

// t for the match from `begin` to `end`: \0 to \9 stand for it and its groups, \\ for a backslash.
HDD_DEVICE i64 hdd_rx_put(u8 *to, i64 at, const u8 *s, i32 n, i32 begin, i32 end, const u8 *captures, const u8 *t, i32 m)
{
    i32 places[HDD_RX_TAGS], done = 0;
    if (captures)
        hdd_rx_groups(s, n, begin, end, captures, places);
    for (i32 i = 0; i + 1 < m; i++) {
        const u8 digit = (u8)(t[i + 1] - '0');
        if (t[i] != '\\' || (digit > 9 && t[i + 1] != '\\'))
            continue;
        at = hdd_put_bytes(to, at, t + done, i - done);
        const u8 tag = digit <= 9 && captures ? captures[HDD_RX_GROUPS + digit] : HDD_RX_NONE;
        if (digit > 9)
            at = hdd_put_bytes(to, at, t + i, 1);
        else if (digit == 0)
            at = hdd_put_bytes(to, at, s + begin, end - begin);
        else if (tag != HDD_RX_NONE && places[tag] >= 0 && places[tag + 1] >= 0)
            at = hdd_put_bytes(to, at, s + places[tag], places[tag + 1] - places[tag]);
        done = ++i + 1;
    }
    return hdd_put_bytes(to, at, t + done, m - done);
}

// s with t for the first match, or for each: the search goes on behind a match, and an empty one right behind another is
// none.
HDD_DEVICE i64 hdd_rx_replaced(u8 *to, const u8 *s, i32 n, const u8 *p, i32 size, const u8 *t, i32 m, bool all)
{
    const u8 *captures = hdd_rx_captures(p, size);
    i64 out = 0;
    i32 done = 0, from = 0, last = -1; // bytes of s that are copied; where to search; where the last match ended
    while (from <= n) {
        const i32 end = hdd_rx_end(s, n, from, p);
        if (end < 0)
            break;
        const i32 begin = hdd_rx_begin(s, n, from, end, p + hdd_rx_size(p));
        if (end > last || begin < end) {
            out = hdd_put_bytes(to, out, s + done, begin - done);
            out = hdd_rx_put(to, out, s, n, begin, end, captures, t, m);
            done = last = end;
            if (!all || out > HDD_STRING_MAX)
                break;
        }
        from = end;
        if (begin == end) // the next one begins a character further on
            do
                from++;
            while (from < n && !hdd_begins_character(s[from]));
    }
    return hdd_put_bytes(to, out, s + done, n - done);
}

HDD_DEVICE i64 hdd_regexp_replace(u8 *to, const u8 *s, i32 n, const u8 *p, i32 size, const u8 *t, i32 m)
{
    return hdd_rx_replaced(to, s, n, p, size, t, m, false);
}

HDD_DEVICE i64 hdd_regexp_replace_all(u8 *to, const u8 *s, i32 n, const u8 *p, i32 size, const u8 *t, i32 m)
{
    return hdd_rx_replaced(to, s, n, p, size, t, m, true);
}

#endif
