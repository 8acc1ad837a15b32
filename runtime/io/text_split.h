/* Cutting text files into pieces of whole lines that threads parse on their own. A line end
 * inside quotes does not end a line; whether a place is inside is known from the number of
 * quotes before it, because quotes only enclose fields or are doubled. */
#ifndef HEDDLE_RUNTIME_IO_TEXT_SPLIT_H
#define HEDDLE_RUNTIME_IO_TEXT_SPLIT_H

#include "runtime/io/text_parse.h"
#include "runtime/store/store_pool.h"

struct text_pieces {
    struct text_piece *v;
    size_t n;
    int64_t rows, lines;
};
/* Cuts [from, to), of which the first line has the given number, and counts the rows of every
 * piece; first rows count from first_row. */
int text_split(const char *from, const char *to, char quote, int64_t line, int64_t first_row, size_t piece_size,
               struct rt_pool *pool, struct text_pieces *out, struct hd_err *err);
void text_pieces_release(struct text_pieces *p);

#endif
