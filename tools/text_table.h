/* An aligned table of text, printed as
 *
 *      name  | rows
 *     -------+------
 *      part  |  200
 *
 * Widths come from the first rows, which are held back; later rows are printed at once. */
#ifndef HEDDLE_TOOLS_TEXT_TABLE_H
#define HEDDLE_TOOLS_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text_table {
    FILE *f;
    int columns;
    struct text_column {
        char *name;
        bool right; /* aligned right, as numbers are */
        int width;
    } *column;
    char **held; /* cells of rows held back */
    size_t cells, room;
    int at;       /* column of the next cell */
    bool flowing; /* the head is printed: nothing is held back any more */
};

void text_table_init(struct text_table *t, FILE *f);
/* All columns come before the first cell. */
void text_table_column(struct text_table *t, const char *name, bool right);
/* The next cell, row by row. Control characters are shown as escapes. */
void text_table_cell(struct text_table *t, const char *s, size_t n);
void text_table_text(struct text_table *t, const char *s);
/* Fills the rest of the row with empty cells. */
void text_table_row_end(struct text_table *t);
/* Prints what is held back and releases all. */
void text_table_end(struct text_table *t);
/* Releases all, printing nothing; harmless after text_table_end. */
void text_table_release(struct text_table *t);

#endif
