/* The way of rows into a database, second half. Sealing runs these phases, each over all
 * threads: *prepare* decides the final form of every column from its chunks' numbers; *encode*
 * writes the final files block by block; the files are mapped; *derive* (store_derive.h) computes
 * facts and indexes from what was stored, which thereby checks the encoding too. */
#ifndef HEDDLE_RUNTIME_STORE_SEAL_H
#define HEDDLE_RUNTIME_STORE_SEAL_H

#include "runtime/store/store_text.h"
#include "runtime/store/store_writer_impl.h"

struct seal_table {
    struct fe_table *table; /* of the doc */
    struct wr_table *source;
    const struct rt_slice *slices; /* ascending */
    size_t nslices;
    size_t *block_slice; /* first slice of block b; nblocks + 1 of them */
    int64_t nblocks;
    struct rt_map staging[WR_LANES];
    _Atomic int64_t blocks_left; /* column blocks yet to be encoded */
};

struct seal_column {
    struct seal_table *st;
    int c;                       /* column of the table */
    struct fe_table_column *col; /* of the doc */
    struct fe_column_files *files;
    int64_t nulls;
    /* TEXT */
    uint64_t *text_base; /* per block, and the total */
    /* DICT */
    struct rt_strset set; /* of texts in the staging file */
    uint32_t *rank;       /* code of the set's entry k */
    uint64_t dict_bytes;
};

struct seal {
    struct rt_writer *w;
    struct rt_pool *pool;
    struct fe_catalog_doc *doc;
    struct seal_table *tables;
    int ncolumns;
    struct seal_column *columns; /* of all tables */
    struct rt_map *maps;         /* of doc->files */
    int files_cap;
};

/* Phase 1: fills storage, width, bits, base, factor, nulls, text_base, set and rank. Reads headers of
 * chunks, and texts until it is clear whether a dictionary pays. */
int seal_prepare_column(struct seal_column *x, struct hd_err *err);
void seal_release_column(struct seal_column *x);
/* The chunk of a column in a slice of its table. */
void seal_view(const struct seal_column *x, size_t slice, struct rt_chunk_view *v);

/* Phase 2: writes one block of one column. */
struct seal_buffer { /* one per worker */
    _Alignas(16) char out[RT_BLOCK_ROWS * 16];
    uint32_t map[RT_BLOCK_ROWS];
    uint8_t bitmap[RT_BLOCK_ROWS / 8];
    unsigned char packed[RT_BLOCK_ROWS * 8];
};
struct seal_paths {
    char data[RT_PATH_MAX], validity[RT_PATH_MAX], bytes[RT_PATH_MAX];
};
int seal_encode_block(const struct seal_column *x, int64_t block, const struct seal_paths *p,
                      struct seal_buffer *buffer, struct hd_err *err);

/* Narrowest form of whole numbers between min and max that are all min plus a multiple of
 * step: value = base + factor * stored. */
void rt_choose_int_form(hd_i128 min, hd_i128 max, uint64_t step, int *width, hd_i128 *base, hd_i128 *factor);

#endif
