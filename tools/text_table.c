/* Aligned tables of text. */
#include "tools/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"
#include "tools/text.h"

enum { HOLD_ROWS = 10000 };

/* Characters of UTF-8 text; bytes that continue one do not count. */
static int display_width(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void text_table_init(struct text_table *t, FILE *f)
{
    *t = (struct text_table){.f = f};
}

void text_table_column(struct text_table *t, const char *name, bool right)
{
    t->column = cli_realloc(t->column, sizeof *t->column * (size_t)(t->columns + 1));
    struct text_column *c = &t->column[t->columns++];
    c->name = text_printable(name, strlen(name), "");
    c->right = right;
    c->width = display_width(c->name);
}

static void print_cell(struct text_table *t, int column, const char *s)
{
    const struct text_column *c = &t->column[column];
    int pad = c->width - display_width(s);
    bool last = column == t->columns - 1;
    fprintf(t->f, "%s%*s%s%*s%s", column ? "| " : " ", c->right && pad > 0 ? pad : 0, "", s,
            !c->right && pad > 0 && !last ? pad : 0, "", last ? "\n" : " ");
}

static void print_head(struct text_table *t)
{
    for (int i = 0; i < t->columns; i++)
        print_cell(t, i, t->column[i].name);
    for (int i = 0; i < t->columns; i++) {
        if (i)
            fputc('+', t->f);
        for (int k = 0; k < t->column[i].width + 2; k++)
            fputc('-', t->f);
    }
    fputc('\n', t->f);
}

static void flow(struct text_table *t)
{
    print_head(t);
    for (size_t i = 0; i < t->cells; i++) {
        print_cell(t, (int)(i % (size_t)t->columns), t->held[i]);
        free(t->held[i]);
    }
    t->cells = 0;
    t->flowing = true;
}

static void hold(struct text_table *t, char *s)
{
    if (t->cells == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->held = cli_realloc(t->held, sizeof *t->held * t->room);
    }
    t->held[t->cells++] = s;
    int width = display_width(s);
    if (width > t->column[t->at].width)
        t->column[t->at].width = width;
}

void text_table_cell(struct text_table *t, const char *s, size_t n)
{
    char *copy = text_printable(s, n, "");
    if (!t->flowing && t->at == 0 && t->cells >= (size_t)HOLD_ROWS * (size_t)t->columns)
        flow(t);
    if (t->flowing) {
        print_cell(t, t->at, copy);
        free(copy);
    } else {
        hold(t, copy);
    }
    t->at = (t->at + 1) % t->columns;
}

void text_table_text(struct text_table *t, const char *s)
{
    text_table_cell(t, s, strlen(s));
}

void text_table_row_end(struct text_table *t)
{
    while (t->at)
        text_table_cell(t, "", 0);
}

void text_table_release(struct text_table *t)
{
    for (int i = 0; i < t->columns; i++)
        free(t->column[i].name);
    for (size_t i = 0; i < t->cells; i++)
        free(t->held[i]);
    free(t->column);
    free(t->held);
    *t = (struct text_table){0};
}

void text_table_end(struct text_table *t)
{
    if (!t->flowing && t->columns)
        flow(t);
    text_table_release(t);
}
