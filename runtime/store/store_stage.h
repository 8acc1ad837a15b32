/* The way of rows into a database, first half: a batch is cut at block boundaries into slices;
 * each column of a slice is brought into *working form* by its source (Arrow, text), then packed
 * into a *chunk*, and the chunks of a slice go in one write to the table's staging file. Chunks
 * are narrow, and carry the numbers (min, max, gcd, NULLs) from which commit decides the final
 * form without looking at the values again. */
#ifndef HEDDLE_RUNTIME_STORE_STAGE_H
#define HEDDLE_RUNTIME_STORE_STAGE_H

#include "frontend/catalog.h"

/* Slices never cross a multiple of this: a block is the unit of commit, and of text bases. */
enum { RT_BLOCK_SHIFT = FE_TEXT_BLOCK_SHIFT, RT_BLOCK_ROWS = 1 << RT_BLOCK_SHIFT };

struct rt_str {
    const char *p;
    uint32_t n;
};

/* One column of 1..RT_BLOCK_ROWS rows in working form. */
enum rt_work_form {
    RT_WORK_I64, /* bool, int32, int64, date, timestamp, decimals of up to 18 digits */
    RT_WORK_I128,
    RT_WORK_F64,
    RT_WORK_F32,
    RT_WORK_STR,
    RT_WORK_CODES /* codes into `entries`, not necessarily distinct or all used */
};
struct rt_work {
    enum rt_work_form form;
    int n;
    int nulls;
    uint64_t *valid; /* bitmap, set for all rows, read only if nulls > 0 */
    int64_t *i64;    /* i64, i128, f64, f32, str share their memory; NULL rows are ignored */
    hd_i128 *i128;
    double *f64;
    float *f32;
    struct rt_str *str;
    uint32_t *codes;
    uint32_t nentries; /* <= RT_BLOCK_ROWS */
    const struct rt_str *entries;
};

/* Where rows come from, which were checked before: NULLs stand where they may, and values are in
 * their type's range. fill writes rows [from, from + w->n) of table column c to w. */
struct rt_row_source {
    void (*fill)(const struct rt_row_source *s, int c, int64_t from, struct rt_work *w);
};

/* How a chunk's values lie in the staging file. Sections start at multiples of 16. */
enum rt_chunk_form {
    RT_CHUNK_INT,  /* unsigned value - min, `width` bytes (0: all equal min) */
    RT_CHUNK_WIDE, /* hd_i128 */
    RT_CHUNK_F64,
    RT_CHUNK_F32,
    RT_CHUNK_TEXT, /* uint32 ends, bytes */
    RT_CHUNK_DICT  /* uint32 ends of the entries, their bytes, uint16 codes */
};
struct rt_chunk {
    hd_i128 min, max; /* INT, WIDE with a value that is not NULL; else 0 */
    uint64_t gcd;     /* of all (value - min): 0 all equal, 1 also where not looked for */
    uint64_t at;      /* in the staging file: validity bitmap if nulls > 0, then the rest */
    uint64_t bytes;   /* TEXT, DICT: bytes of text */
    uint32_t entries; /* DICT */
    uint32_t nulls;
    uint16_t form;
    uint16_t width;
};
/* At the head of a slice in the staging file stands struct rt_chunk[ncols]. */
struct rt_slice {
    int64_t first_row;
    uint32_t rows;
    uint32_t lane; /* which of the table's staging files */
    uint64_t at;
};

/* Pointers into a mapped chunk. */
struct rt_chunk_view {
    const struct rt_chunk *c;
    uint32_t rows;
    const uint64_t *valid; /* NULL: no NULLs */
    const void *values;    /* INT, WIDE, F64, F32 values; DICT codes */
    const uint32_t *ends;
    const char *bytes;
};
void rt_chunk_open(const char *staging, const struct rt_slice *s, int column, struct rt_chunk_view *out);

/* Buffers for one thread that stages. */
struct rt_scratch;
struct rt_scratch *rt_scratch_new(void); /* NULL: out of memory */
void rt_scratch_free(struct rt_scratch *s);
struct rt_work *rt_scratch_work(struct rt_scratch *s);

/* Packs rows [from, from + n) of the source into one slice image of table t, chunk headers first. The image stays the scratch's. */
int rt_stage_slice(struct rt_scratch *s, const struct fe_table *t, const struct rt_row_source *source, int64_t from,
                   int n, struct hd_err *err);
size_t rt_stage_size(const struct rt_scratch *s);
/* The image, its positions moved to where it will stand. Once per slice. */
const void *rt_stage_image(struct rt_scratch *s, int ncols, uint64_t at);

/* Whether a table of at most `most` rows may have rows [first_row, first_row + rows). */
int rt_rows_check(const char *table, int64_t first_row, int64_t rows, int64_t most, struct hd_err *err);

/* Blocks of a table with this many rows. */
static inline int64_t rt_nblocks(int64_t rows)
{
    return (rows + RT_BLOCK_ROWS - 1) >> RT_BLOCK_SHIFT;
}
uint64_t rt_gcd(uint64_t a, uint64_t b); /* gcd(0, b) = b */
int rt_unsigned_width(uint64_t max); /* bytes that hold 0..max: 1, 2, 4, 8 */

static inline bool rt_bit(const uint64_t *words, int64_t i)
{
    return words[i >> 6] >> (i & 63) & 1;
}

#endif
