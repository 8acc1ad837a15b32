/* Frames that leave out rows near their own: at most three pieces of successive rows, in front of those, among them and
 * behind them. */
#include "frontend/plan_window.h"

enum { PIECES = FE_WINDOW_SPANS, ENDS_MAX = 3 };

/* A number: the greatest or the least of some. */
struct end {
    int n;
    struct fe_window_at at[ENDS_MAX];
};
struct piece {
    struct end first, last;
};

static void add(struct end *e, enum fe_window_base base, int64_t by)
{
    e->at[e->n++] = (struct fe_window_at){.base = base, .by = by};
}

/* The frame, within the partition. */
static struct piece whole(const struct fw_frame *f)
{
    struct piece p = {.first = {1, {fw_first_row(f)}}, .last = {1, {fw_last_row(f)}}};
    if (p.first.at[0].base == FE_WINDOW_ROW && (p.first.at[0].by < 0 || p.first.at[0].more))
        add(&p.first, FE_WINDOW_ZERO, 1);
    if (p.last.at[0].base == FE_WINDOW_ROW && (p.last.at[0].by > 0 || p.last.at[0].more))
        add(&p.last, FE_WINDOW_ROWS, 0);
    return p;
}

/* In the order of the rows. */
static int pieces(const struct fw_frame *f, struct piece p[PIECES])
{
    bool row = f->without == FW_ROW;
    int n = 0;
    p[n] = whole(f);
    if (f->without == FW_NOTHING)
        return 1;
    add(&p[n++].last, row ? FE_WINDOW_ROW : FE_WINDOW_PEER_BEGIN, -1);
    if (f->without == FW_TIES) {
        p[n] = whole(f);
        add(&p[n].first, FE_WINDOW_ROW, 0);
        add(&p[n++].last, FE_WINDOW_ROW, 0);
    }
    p[n] = whole(f);
    add(&p[n++].first, row ? FE_WINDOW_ROW : FE_WINDOW_PEER_END, 1);
    return n;
}

static const char *number(struct fw_reading *x, const struct end *e, const char *choice)
{
    const char *text = fw_number_at(x, &e->at[0], 0);
    for (int i = 1; i < e->n; i++)
        text = hd_asprintf(x->r->arena, "%s(%s, %s)", choice, text, fw_number_at(x, &e->at[i], 0));
    return text;
}

static const char *first(struct fw_reading *x, const struct piece *p)
{
    return number(x, &p->first, "greatest");
}

static const char *last(struct fw_reading *x, const struct piece *p)
{
    return number(x, &p->last, "least");
}

static const char *size(struct fw_reading *x, const struct piece *p)
{
    return hd_asprintf(x->r->arena, "greatest(%s - %s + 1, 0)", last(x, p), first(x, p));
}

const char *fw_pieces_size(struct fw_reading *x, const struct fw_frame *f)
{
    struct piece p[PIECES];
    const char *sum = NULL;
    for (int i = 0, n = pieces(f, p); i < n; i++)
        sum = sum ? hd_asprintf(x->r->arena, "%s + %s", sum, size(x, &p[i])) : size(x, &p[i]);
    return hd_asprintf(x->r->arena, "(%s)", sum);
}

int fw_pieces_sum(struct fw_reading *x, const struct fw_frame *f, enum fe_agg_fn fn, int value, const char **out)
{
    bool bits = fn == FE_AGG_BIT_XOR;
    struct hd_arena *a = x->r->arena;
    struct piece p[PIECES];
    const char *sum = NULL, *to, *from;
    for (int i = 0, n = pieces(f, p); i < n; i++) {
        const char *begin = first(x, &p[i]), *end = last(x, &p[i]);
        HD_TRY(fw_value_of(x, value, end, &to));
        HD_TRY(fw_value_of(x, value, hd_asprintf(a, "%s - 1", begin), &from));
        const char *one = hd_asprintf(a, "case when %s <= %s then %s(coalesce(%s, 0) %s coalesce(%s, 0)) else 0 end",
                                      begin, end, bits ? "xor" : "", to, bits ? "," : "-", from);
        if (bits)
            sum = sum ? hd_asprintf(a, "xor(%s, %s)", sum, one) : one;
        else
            sum = sum ? hd_asprintf(a, "%s + %s", sum, one) : one;
    }
    *out = hd_asprintf(a, "(%s)", sum);
    return 0;
}

/* The frame's own end, and where rows are left out: a fold stays in the partition by itself. */
static void set_ends(struct fe_window_at to[2], const struct end *e)
{
    to[0] = e->at[0];
    to[1] = e->at[e->n - 1];
}

int fw_spans(const struct fw_frame *f, struct fe_window_span span[FE_WINDOW_SPANS])
{
    struct piece p[PIECES];
    int n = pieces(f, p);
    if (f->without == FW_NOTHING) {
        span[0].first[0] = span[0].first[1] = fw_first_row(f);
        span[0].last[0] = span[0].last[1] = fw_last_row(f);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        set_ends(span[i].first, &p[i].first);
        set_ends(span[i].last, &p[i].last);
    }
    return n;
}

int fw_count_at(struct fw_reading *x, int count, const char *number_, const char **out)
{
    HD_TRY(fw_value_of(x, count, number_, out));
    *out = hd_asprintf(x->r->arena, "coalesce(%s, 0)", *out);
    return 0;
}

/* Where a piece begins and ends, and a condition under which it has rows, all rows counted, or those of a count. */
struct range {
    const char *first, *last, *some;
};

static int range_of(struct fw_reading *x, const struct piece *p, int count, struct range *out)
{
    struct hd_arena *a = x->r->arena;
    const char *begin = first(x, p), *end = last(x, p);
    *out = (struct range){begin, end, hd_asprintf(a, "%s <= %s", begin, end)};
    if (count < 0)
        return 0;
    HD_TRY(fw_count_at(x, count, hd_asprintf(a, "%s - 1", begin), &out->first));
    HD_TRY(fw_count_at(x, count, end, &out->last));
    out->first = hd_asprintf(a, "(%s + 1)", out->first);
    out->some = hd_asprintf(a, "%s and %s <= %s", out->some, out->first, out->last);
    return 0;
}

int fw_pieces_nth(struct fw_reading *x, const struct fw_frame *f, int count, const char *k, const char **out)
{
    struct hd_arena *a = x->r->arena;
    struct piece p[PIECES];
    struct range r;
    const char *text = "case", *before = "0";
    for (int i = 0, n = pieces(f, p); i < n; i++) {
        HD_TRY(range_of(x, &p[i], count, &r));
        const char *rows = hd_asprintf(a, "case when %s then %s - %s + 1 else 0 end", r.some, r.last, r.first);
        const char *up_to = hd_asprintf(a, "%s + %s", before, rows);
        text = hd_asprintf(a, "%s when %s <= %s then %s + %s - 1 - (%s)", text, k, up_to, r.first, k, before);
        before = up_to;
    }
    *out = hd_asprintf(a, "%s else 0 end", text);
    return 0;
}

int fw_pieces_last(struct fw_reading *x, const struct fw_frame *f, int count, const char **out)
{
    struct hd_arena *a = x->r->arena;
    struct piece p[PIECES];
    struct range r;
    const char *text = "case";
    for (int i = pieces(f, p); i-- > 0;) {
        HD_TRY(range_of(x, &p[i], count, &r));
        text = hd_asprintf(a, "%s when %s then %s", text, r.some, r.last);
    }
    *out = hd_asprintf(a, "%s else 0 end", text);
    return 0;
}
