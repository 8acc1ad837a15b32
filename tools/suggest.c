#include "tools/suggest.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/cli.h"

enum { LONGEST = 64 };

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete, replace, or swap with their neighbours. */
static int count_edits(const char *a, const char *b)
{
    int d[LONGEST + 1][LONGEST + 1], na = (int)strlen(a), nb = (int)strlen(b);
    for (int i = 0; i <= na; i++) {
        for (int k = 0; k <= nb; k++) {
            if (!i || !k) {
                d[i][k] = i + k;
                continue;
            }
            d[i][k] = min(min(d[i - 1][k], d[i][k - 1]) + 1, d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = min(d[i][k], d[i - 2][k - 2] + 1);
        }
    }
    return d[na][nb];
}

struct suggestion suggest_start(const char *wanted)
{
    return (struct suggestion){.wanted = wanted, .edits = 1 + min((int)strlen(wanted) / 3, 3)};
}

void suggest_offer(struct suggestion *suggestion, const char *candidate)
{
    if (strlen(suggestion->wanted) > LONGEST || strlen(candidate) > LONGEST)
        return;
    int n = strcasecmp(suggestion->wanted, candidate) ? count_edits(suggestion->wanted, candidate) : 0;
    if (n < suggestion->edits) {
        suggestion->edits = n;
        suggestion->best = candidate;
    }
}

char *suggest_hint(const struct suggestion *suggestion, const char *prefix)
{
    return suggestion->best ? cli_format(" (did you mean \"%s%s\"?)", prefix, suggestion->best) : cli_strdup("");
}
