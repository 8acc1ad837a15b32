/* The text loader's splitter and parser. The first byte chooses the format, the rest is the
 * file. Cut into pieces of any size it must give the same rows, or the same first error. */
#include <stdlib.h>
#include <string.h>

#include "runtime/io/text_split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fe_table_column columns[] = {
    {.name = "i", .type = {HD_INT32, 0, 0}, .nullable = true},
    {.name = "s", .type = {HD_STRING, 0, 0}},
    {.name = "d", .type = {HD_DECIMAL, 12, 2}, .nullable = true},
    {.name = "w", .type = {HD_DECIMAL, 38, 4}, .nullable = true},
    {.name = "f", .type = {HD_FLOAT64, 0, 0}, .nullable = true},
    {.name = "x", .type = {HD_DATE, 0, 0}, .nullable = true},
    {.name = "t", .type = {HD_TIMESTAMP, 0, 0}, .nullable = true},
    {.name = "b", .type = {HD_BOOL, 0, 0}, .nullable = true},
};

struct outcome {
    int64_t rows;
    uint64_t sum; /* of what the columns hold */
    struct hd_err err;
};

static void add_rows(struct outcome *o, const struct text_file *f, const struct text_rows *r, int64_t rows,
                     struct rt_work *w)
{
    const struct rt_row_source *source = text_rows_source(r);
    for (int c = 0; c < f->table->ncols; c++)
        for (int64_t from = 0; from < rows; from += RT_BLOCK_ROWS) {
            w->n = (int)HD_MIN(rows - from, RT_BLOCK_ROWS);
            source->fill(source, c, from, w);
            for (int i = 0; i < w->n; i++) {
                bool valid = !w->nulls || rt_bit(w->valid, i);
                o->sum = o->sum * 31 + valid;
                if (valid && w->form == RT_WORK_STR)
                    for (uint32_t k = 0; k < w->str[i].n; k++)
                        o->sum = o->sum * 31 + (uint8_t)w->str[i].p[k];
                else if (valid && w->form == RT_WORK_I64)
                    o->sum = o->sum * 31 + (uint64_t)w->i64[i];
            }
        }
}

static void load(const struct text_file *f, const char *from, const char *to, size_t piece_size, struct rt_pool *pool,
                 struct rt_scratch *scratch, struct outcome *o)
{
    struct text_pieces p;
    memset(o, 0, sizeof *o);
    if (text_split(from, to, f->format->quote, 1, 0, piece_size, pool, &p, &o->err) != 0)
        abort();
    struct text_rows *r = text_rows_new(f);
    if (!r)
        abort();
    for (size_t k = 0; k < p.n && text_parse(r, &p.v[k], &o->err) == 0; k++) {
        o->rows += p.v[k].rows;
        if (p.n == 1) /* a look at all values; sums are by column, so they are not compared */
            add_rows(o, f, r, p.v[k].rows, rt_scratch_work(scratch));
    }
    text_rows_free(r);
    text_pieces_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rt_pool *pool;
    static struct rt_scratch *scratch;
    if (!pool && rt_pool_new(1, &pool, NULL) != 0)
        abort();
    if (!scratch && !(scratch = rt_scratch_new()))
        abort();
    if (size == 0)
        return 0;
    uint8_t how = data[0];
    struct fe_table table = {.name = "t", .ncols = 1 + (how >> 4) % 8, .cols = columns};
    struct fe_text_format format = {.delimiter = how & 1 ? ',' : '|',
                                    .quote = how & 2 ? '"' : 0,
                                    .trailing_delimiter = how & 4,
                                    .null_text = how & 8 ? "NA" : ""};
    struct text_file f = {.path = "f", .table = &table, .format = &format};
    /* A copy of exactly this size, so that reading past its end is seen. */
    char *text = malloc(size);
    struct outcome whole, cut;
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    load(&f, text, text + size - 1, size + 1, pool, scratch, &whole);
    for (size_t piece = 1; piece < size; piece = piece * 3 + 1) {
        load(&f, text, text + size - 1, piece, pool, scratch, &cut);
        if (cut.err.class != whole.err.class || strcmp(cut.err.path, whole.err.path) != 0 ||
            strcmp(cut.err.message, whole.err.message) != 0)
            abort();
        if (whole.err.class == HD_ERR_NONE && cut.rows != whole.rows)
            abort();
    }
    free(text);
    return 0;
}
