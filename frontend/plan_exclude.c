/* Frames that leave out rows near their own: at most three pieces of successive rows, in front of those, among them and
 * behind them. */
#include "frontend/plan_window.h"

enum { PIECES = 3, ENDS_MAX = 3 };

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
    if (p.first.at[0].base == FE_WINDOW_ROW && p.first.at[0].by < 0)
        add(&p.first, FE_WINDOW_ZERO, 1);
    if (p.last.at[0].base == FE_WINDOW_ROW && p.last.at[0].by > 0)
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

int fw_pieces_sum(struct fw_reading *x, const struct fw_frame *f, int value, const char **out)
{
    struct hd_arena *a = x->r->arena;
    struct piece p[PIECES];
    const char *sum = NULL, *to, *from;
    for (int i = 0, n = pieces(f, p); i < n; i++) {
        const char *begin = first(x, &p[i]), *end = last(x, &p[i]);
        HD_TRY(fw_value_of(x, value, end, &to));
        HD_TRY(fw_value_of(x, value, hd_asprintf(a, "%s - 1", begin), &from));
        const char *one = hd_asprintf(a, "case when %s <= %s then coalesce(%s, 0) - coalesce(%s, 0) else 0 end", begin,
                                      end, to, from);
        sum = sum ? hd_asprintf(a, "%s + %s", sum, one) : one;
    }
    *out = hd_asprintf(a, "(%s)", sum);
    return 0;
}

const char *fw_pieces_nth(struct fw_reading *x, const struct fw_frame *f, const char *k)
{
    struct hd_arena *a = x->r->arena;
    struct piece p[PIECES];
    const char *text = "case", *before = "0";
    for (int i = 0, n = pieces(f, p); i < n; i++) {
        const char *up_to = hd_asprintf(a, "%s + %s", before, size(x, &p[i]));
        text = hd_asprintf(a, "%s when %s <= %s then %s + %s - 1 - (%s)", text, k, up_to, first(x, &p[i]), k, before);
        before = up_to;
    }
    return hd_asprintf(a, "%s else 0 end", text);
}

const char *fw_pieces_last(struct fw_reading *x, const struct fw_frame *f)
{
    struct hd_arena *a = x->r->arena;
    struct piece p[PIECES];
    const char *text = "case";
    for (int i = pieces(f, p); i-- > 0;)
        text = hd_asprintf(a, "%s when %s <= %s then %s", text, first(x, &p[i]), last(x, &p[i]), last(x, &p[i]));
    return hd_asprintf(a, "%s else 0 end", text);
}
