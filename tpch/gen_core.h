/* TPC-H and JCC-H data, bit for bit as the reference generator prints them, and data of the Star
 * Schema Benchmark, made from the same streams.
 *
 * Any range of rows of any table can be produced on any thread, independently of all others.
 * Rows are addressed by the *unit* that owns them: for lineitem and lineorder the order, for
 * partsupp the part, for other tables the row itself.  Units and rows count from 0.  A cursor cuts units
 * into ranges of bounded size; tg_produce turns one range into columns.
 *
 *     struct tg_options o = {.scheme = TG_PLAIN, .sf = 1};
 *     tg_gen_new(&o, &gen, &err);
 *     tg_gen_prepare(gen, threads, &err);
 *     batch = tg_batch_new(gen, TG_LINEITEM, tg_all_columns(TG_LINEITEM), 2048);
 *     tg_cursor_init(&c, gen, TG_LINEITEM, 0, tg_unit_count(gen, TG_LINEITEM));
 *     while (tg_cursor_next(&c, 2048, &range)) {
 *         tg_produce(gen, &range, batch);
 *         ... batch->rows rows, the first is number range.first_row of the table ...
 *     }
 *
 * The library never prints.  Functions returning int give 0, or -1 with *err filled. */
#ifndef TPCH_GEN_CORE_H
#define TPCH_GEN_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_dist.h"

enum tg_table {
#define T_TABLE(schema, id, name, first, produce, lines, whole) TG_##id,
#include "gen_tables.def"
    TG_TABLE_COUNT
};

enum tg_scheme {
    TG_PLAIN, /* TPC-H: uniform */
    TG_JCCH,  /* JCC-H: skewed and correlated joins */
    TG_SSB    /* Star Schema Benchmark: uniform, tables of its own */
};

/* How a batch stores a column. */
enum tg_kind {
    TG_I32,   /* int32_t */
    TG_I64,   /* int64_t */
    TG_MONEY, /* int64_t hundredths */
    TG_DAY,   /* int32_t days since 1970-01-01 */
    TG_CODE,  /* uint8_t index into the column's dictionary */
    TG_TEXT   /* int32_t offsets, rows + 1 of them, and bytes */
};

/* Columns of all tables, in print order. */
enum tg_column_id {
#define T_COL(table, id, name, kind, dict, max, used) TG_##id,
#include "gen_columns.def"
    TG_COLUMN_COUNT
};
/* Most columns of any table. */
#define TG_TABLE_COLUMNS 17
/* A column in a mask, which is one of a single table's columns: neighbours, so that no two of them share a bit. */
#define TG_BIT(column) (UINT64_C(1) << ((column) % 64))

struct tg_column_info {
    const char *name;
    enum tg_table table;
    enum tg_kind kind;
    int max_bytes; /* of a text; 0 for other kinds */
    bool used;     /* some query of the suite reads it */
};
extern const struct tg_column_info tg_columns[TG_COLUMN_COUNT];

/* The tables of a scheme are those from the first to before the end. */
int tg_first_table(enum tg_scheme s);
int tg_end_table(enum tg_scheme s);
/* The scheme's table of that name, n bytes long; -1: there is none. */
int tg_find_table(enum tg_scheme s, const char *name, size_t n);
const char *tg_table_name(enum tg_table t);
/* Most rows that a unit of the table owns. */
int tg_unit_rows(enum tg_table t);
/* Every chunk of a data set holds all of the table. */
bool tg_table_whole(enum tg_table t);
/* First column of a table; tg_first_column(TG_TABLE_COUNT) is TG_COLUMN_COUNT. */
int tg_first_column(enum tg_table t);
uint64_t tg_all_columns(enum tg_table t);
uint64_t tg_used_columns(enum tg_table t);

struct tg_error {
    char path[512]; /* file concerned, or "" */
    char text[256]; /* one line, including the system's reason where there is one */
    bool user;      /* the caller's arguments were wrong */
    bool cancelled;
};

struct tg_options {
    enum tg_scheme scheme;
    double sf; /* 0.001 .. 29999, JCC-H 0.003 .. 1000; fractions above 1 are dropped */
    /* JCC-H only: reproduce what the reference prints for chunk `chunk` of `chunks`, which is
     * no slice of its whole output.  0 of 0: slices of the whole. */
    int64_t chunk, chunks;
};

struct tg_gen;
int tg_gen_new(const struct tg_options *o, struct tg_gen **out, struct tg_error *err);
/* Builds the text pool (300 MiB; the Star Schema Benchmark has no comments) and the sums of JCC-H's
 * populous orders; must come before the first tg_produce.  threads <= 0: one per core.  Fails for lack of memory. */
int tg_gen_prepare(struct tg_gen *g, int threads, struct tg_error *err);
void tg_gen_free(struct tg_gen *g);

enum tg_scheme tg_gen_scheme(const struct tg_gen *g);
/* The text pool, TG_POOL_BYTES long, once prepared; else NULL. */
const char *tg_gen_pool(const struct tg_gen *g);

int64_t tg_unit_count(const struct tg_gen *g, enum tg_table t);
/* Exact number of rows that units [begin, end) own.  Plain lineitem and lineorder have to draw it:
 * about a nanosecond per order. */
int64_t tg_rows_between(const struct tg_gen *g, enum tg_table t, int64_t begin, int64_t end);
/* Units of chunk i (1..n): n-ths rounded down, the last with the rest. */
void tg_chunk_units(const struct tg_gen *g, enum tg_table t, int64_t i, int64_t n, int64_t *begin, int64_t *end);

/* A piece of work: whole units, or a slice of the rows of a single populous unit. */
struct tg_range {
    enum tg_table table;
    int64_t unit_begin, unit_end;
    bool slice;
    int64_t row_begin, row_end; /* slice: rows within the unit */
    int64_t first_row;          /* number in the table of the first row */
    int64_t rows;
};

struct tg_cursor {
    const struct tg_gen *gen;
    enum tg_table table;
    int64_t unit, unit_end;
    int64_t row, row_end; /* next and last row within a populous unit; row_end < 0: all */
    int64_t first_row;
};

/* Rows are numbered from the table's first: starting inside lineitem or lineorder counts all lines before. */
void tg_cursor_init(struct tg_cursor *c, const struct tg_gen *g, enum tg_table t, int64_t unit_begin, int64_t unit_end);
/* Cuts a range into smaller ones. */
void tg_cursor_inside(struct tg_cursor *c, const struct tg_gen *g, const struct tg_range *r);
/* Next range of at most max_rows (>= 8) rows; false at the end. */
bool tg_cursor_next(struct tg_cursor *c, int64_t max_rows, struct tg_range *out);

struct tg_column {
    union {
        int32_t *i32;
        int64_t *i64;
        uint8_t *code;
        char *bytes;
    };
    int32_t *offsets; /* text only; offsets[0] = 0 */
};

struct tg_scratch;
struct tg_batch {
    enum tg_table table;
    uint64_t mask; /* columns produced */
    int64_t max_rows;
    int64_t rows;
    struct tg_column col[TG_TABLE_COLUMNS]; /* by position in the table; NULL if not in mask */
    struct tg_scratch *scratch;
};

/* Room for ranges of up to max_rows rows of the columns in mask; NULL if there is no memory.
 * About 300 bytes a row with all columns.  For one thread at a time. */
struct tg_batch *tg_batch_new(enum tg_table t, uint64_t mask, int64_t max_rows);
void tg_batch_free(struct tg_batch *b);
/* Replaces the batch's rows by those of the range, which came from a cursor with a max_rows no
 * larger than the batch's. */
void tg_produce(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b);

static inline const struct tg_column *tg_batch_column(const struct tg_batch *b, int column)
{
    return &b->col[column - tg_first_column(b->table)];
}

/* Dictionary of a TG_CODE column. */
struct tg_dict tg_column_dict(int column);

/* Writes an error; for the generator's own files. */
void tg_fail(struct tg_error *err, const char *path, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
