/* A piece of a text file, whole lines, into typed columns. */
#ifndef HEDDLE_RUNTIME_IO_TEXT_PARSE_H
#define HEDDLE_RUNTIME_IO_TEXT_PARSE_H

#include "runtime/store/store_stage.h"

/* Where text came from, for messages, and how its fields map to columns. */
struct text_file {
    const char *path;
    const struct fe_table *table;
    const struct fe_text_format *format;
    const int *order; /* column of field k; NULL: k */
};

struct text_piece {
    const char *from, *to; /* a line end at the end is optional for the last line of a file */
    int64_t line;          /* of the file, from 1, where it starts */
    int64_t rows;
    int64_t first_row; /* of the table */
};

/* The rows of a piece as a source of a writer. One serves piece after piece of a file, since
 * fresh memory costs more than parsing into it. */
struct text_rows;
struct text_rows *text_rows_new(const struct text_file *f); /* NULL: out of memory */
void text_rows_free(struct text_rows *r);                   /* NULL is fine */
const struct rt_row_source *text_rows_source(const struct text_rows *r);
/* Replaces the rows by those of the piece, `rows` of them as counted before. DATA error at the
 * first bad one. */
int text_parse(struct text_rows *r, const struct text_piece *piece, struct hd_err *err);

/* One field at *p, which moves behind it and its delimiter. */
struct text_field {
    const char *s;
    size_t n;
    bool quoted;
    bool doubled; /* quoted, with doubled quotes inside */
    bool last;    /* of its line */
};
/* NULL, or what is wrong with the text. *lines grows by the line ends passed. */
const char *text_next_field(const struct fe_text_format *v, const char **p, const char *end, int64_t *lines,
                            struct text_field *f);

/* Text of one value as a number of type t; false if it is none. For decimals and whole numbers
 * *wide, for floats *real. */
bool text_parse_value(struct hd_type t, const char *s, size_t n, hd_i128 *wide, double *real);

#endif
