#include "runtime/base/suggest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/util.h"

/* The shortest part of a name that says something: a_ is at the start of too many. */
enum { MIN_PART = 3, MAX_EDITS = 3, PART_SCORE = MAX_EDITS + 1 };

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
}

/* Insertions, deletions, replacements and swaps of neighbours that make a of b, case ignored. */
static int edits(const char *a, int na, const char *b, int nb)
{
    int rows[3][HD_SUGGEST_LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    for (int k = 0; k <= nb; k++)
        last[k] = k;
    for (int i = 1; i <= na; i++) {
        row[0] = i;
        for (int k = 1; k <= nb; k++) {
            char x = lower(a[i - 1]), y = lower(b[k - 1]);
            int d = HD_MIN(last[k], row[k - 1]) + 1;
            d = HD_MIN(d, last[k - 1] + (x != y));
            if (i > 1 && k > 1 && x == lower(b[k - 2]) && y == lower(a[i - 2]))
                d = HD_MIN(d, before[k - 2] + 1);
            row[k] = d;
        }
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[nb];
}

/* One name begins or ends with the other. */
static bool is_part(const char *a, int na, const char *b, int nb)
{
    if (na > nb)
        return is_part(b, nb, a, na);
    return na >= MIN_PART && (strncasecmp(a, b, (size_t)na) == 0 || strcasecmp(a, b + nb - na) == 0);
}

/* INT_MAX: not near. */
static int score(const char *wanted, const char *candidate)
{
    size_t nw = strlen(wanted), nc = strlen(candidate);
    if (nw > HD_SUGGEST_LONGEST || nc > HD_SUGGEST_LONGEST)
        return INT_MAX;
    int allowed = HD_MIN((int)nw / 3, (int)MAX_EDITS);
    int n = edits(wanted, (int)nw, candidate, (int)nc);
    if (n <= allowed)
        return n;
    return is_part(wanted, (int)nw, candidate, (int)nc) ? PART_SCORE : INT_MAX;
}

void hd_suggest_init(struct hd_suggestion *suggestion, const char *wanted)
{
    *suggestion = (struct hd_suggestion){.wanted = wanted, .score = INT_MAX};
}

void hd_suggest_offer(struct hd_suggestion *suggestion, const char *candidate)
{
    int n = score(suggestion->wanted, candidate);
    if (n < suggestion->score) {
        suggestion->score = n;
        suggestion->best = candidate;
    }
}

const char *hd_suggest_hint(struct hd_suggestion *suggestion)
{
    if (suggestion->best)
        snprintf(suggestion->hint, sizeof suggestion->hint, " (%sdid you mean \"%s\"?)",
                 suggestion->score ? "" : "case matters: ", suggestion->best);
    return suggestion->hint;
}

const char *hd_suggest_from(struct hd_suggestion *suggestion, const char *wanted, const char *const *list, int n)
{
    hd_suggest_init(suggestion, wanted);
    for (int i = 0; i < n; i++)
        hd_suggest_offer(suggestion, list[i]);
    return hd_suggest_hint(suggestion);
}
