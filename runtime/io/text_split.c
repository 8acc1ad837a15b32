#include "runtime/io/text_split.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

struct split {
    const char *from, *to;
    char quote;
    size_t size; /* of a piece, about */
    struct text_piece *v;
    size_t n;
    int64_t *quotes; /* in the nominal pieces, then before them */
    int64_t *lines;  /* line ends of any kind in the pieces */
};

static const char *nominal(const struct split *s, size_t piece)
{
    return piece == s->n ? s->to : s->from + piece * s->size;
}

static int quotes_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct split *s = ctx;
    const char *end = nominal(s, (size_t)task + 1);
    int64_t n = 0;
    (void)worker;
    (void)err;
    for (const char *p = nominal(s, (size_t)task); p < end; p++)
        n += *p == s->quote;
    s->quotes[task] = n;
    return 0;
}

/* The first place at or behind a nominal cut where a line starts. */
static const char *line_start(const struct split *s, size_t piece)
{
    const char *p = nominal(s, piece);
    if (piece == 0 || piece == s->n)
        return p;
    bool inside = s->quote && s->quotes[piece] % 2;
    for (p--; p < s->to; p++) { /* a line end just before the cut makes the cut a start */
        bool before_cut = p < nominal(s, piece);
        if (s->quote && *p == s->quote && !before_cut)
            inside = !inside;
        if (*p == '\n' && !inside)
            return p + 1;
    }
    return s->to;
}

static int count_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    struct split *s = ctx;
    struct text_piece *x = &s->v[task];
    bool inside = false;
    int64_t rows = 0, lines = 0;
    (void)worker;
    (void)err;
    for (const char *p = x->from; !s->quote && p < x->to; p++)
        lines += *p == '\n';
    for (const char *p = x->from; s->quote && p < x->to; p++) {
        inside ^= *p == s->quote;
        lines += *p == '\n';
        rows += *p == '\n' && !inside;
    }
    if (!s->quote)
        rows = lines;
    bool open_end = x->to > x->from && (x->to[-1] != '\n' || inside);
    x->rows = rows + open_end;
    s->lines[task] = lines;
    return 0;
}

static int find_starts(struct split *s, struct rt_pool *pool, struct hd_err *err)
{
    if (s->quote) {
        HD_TRY(rt_pool_run(pool, (int64_t)s->n, quotes_task, s, NULL, "", err));
        int64_t sum = 0;
        for (size_t k = 0; k < s->n; k++) {
            int64_t n = s->quotes[k];
            s->quotes[k] = sum;
            sum += n;
        }
    }
    for (size_t k = 0; k < s->n; k++)
        s->v[k].from = line_start(s, k);
    for (size_t k = 0; k < s->n; k++) /* a line longer than a piece leaves the next ones empty */
        s->v[k].to = k + 1 < s->n ? s->v[k + 1].from : s->to;
    return rt_pool_run(pool, (int64_t)s->n, count_task, s, NULL, "", err);
}

static int split(struct split *s, int64_t line, int64_t first_row, struct rt_pool *pool, struct text_pieces *out,
                 struct hd_err *err)
{
    s->v = hd_try_calloc(s->n, sizeof *s->v);
    s->quotes = hd_try_calloc(s->n, sizeof *s->quotes);
    s->lines = hd_try_calloc(s->n, sizeof *s->lines);
    if (!s->v || !s->quotes || !s->lines)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    HD_TRY(find_starts(s, pool, err));
    for (size_t k = 0; k < s->n; k++) {
        s->v[k].line = line;
        s->v[k].first_row = first_row;
        line += s->lines[k];
        first_row += s->v[k].rows;
        out->rows += s->v[k].rows;
        out->lines += s->lines[k];
    }
    return 0;
}

int text_split(const char *from, const char *to, char quote, int64_t line, int64_t first_row, size_t piece_size,
               struct rt_pool *pool, struct text_pieces *out, struct hd_err *err)
{
    struct split s = {.from = from, .to = to, .quote = quote, .size = piece_size};
    *out = (struct text_pieces){0};
    if (from == to)
        return 0;
    s.n = ((size_t)(to - from) + piece_size - 1) / piece_size;
    int rc = split(&s, line, first_row, pool, out, err);
    free(s.quotes);
    free(s.lines);
    if (rc == 0) {
        out->v = s.v;
        out->n = s.n;
    } else {
        free(s.v);
    }
    return rc;
}

void text_pieces_release(struct text_pieces *p)
{
    free(p->v);
    *p = (struct text_pieces){0};
}
