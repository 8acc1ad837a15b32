/* What store_writer.c and store_seal*.c share. */
#ifndef HEDDLE_RUNTIME_STORE_WRITER_IMPL_H
#define HEDDLE_RUNTIME_STORE_WRITER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/store/store_file.h"
#include "runtime/store/store_pool.h"
#include "runtime/store/store_ranges.h"
#include "runtime/store/store_writer.h"

/* Each table stages into several files: the system lets one thread at a time write to a file. */
enum { WR_LANES = 8 };
struct wr_stage {
    int fd; /* -1 until the first append */
    _Atomic uint64_t cursor;
};

struct wr_table {
    const struct fe_schema_table *decl;
    pthread_mutex_t mutex; /* ranges, slices, in_flight */
    struct rt_ranges ranges;
    struct rt_slice *slices;
    size_t nslices, cap;
    int in_flight;
    int number; /* in the names of its staging files */
    int whole; /* once all rows are there: of the schema's tables the one that it is, or a segment of; */
    int64_t first_row; /* in that */
    struct wr_stage stages[WR_LANES];
};

/* A table of the schema, in what is stored. */
struct wr_whole {
    const struct fe_schema_table *decl;
    int nsegments; /* 0: it is in one piece */
    int cut; /* the column that it is cut by, -1 by the number of rows */
};

struct wr_scratch {
    struct rt_scratch *s;
    int lane;
};

enum wr_state { WR_OPEN, WR_POISONED, WR_SEALED, WR_PUBLISHED };

struct rt_writer {
    const struct fe_schema *schema;
    int threads;
    char path[RT_PATH_MAX]; /* the target */
    char dir[RT_PATH_MAX];  /* the temporary directory; "" when gone */
    int lock;               /* of that directory */
    int ntables;
    struct wr_table *tables; /* of the schema; once all rows are there, those that are stored */
    int nwholes;
    struct wr_whole *wholes; /* of the schema, once all rows are there; from the arena */
    _Atomic int state;
    pthread_mutex_t mutex; /* scratches */
    struct wr_scratch *scratches;
    size_t nscratches, scratch_cap;
    _Atomic unsigned lanes; /* given to scratches in turn */
    struct hd_arena arena;  /* of the sealed doc */
    struct fe_catalog_doc *doc;
};

void wr_table_init(struct wr_table *x, const struct fe_schema_table *decl, int number);
void wr_table_release(struct wr_table *x);
/* As rt_writer_add, while the writer is in that state. */
int wr_add(struct rt_writer *w, struct wr_table *x, enum wr_state state, int64_t first_row, int64_t rows,
           const struct rt_row_source *source, struct hd_err *err);
/* The path of a staging file. */
void wr_stage_path(const struct rt_writer *w, const struct wr_table *x, int lane, char out[RT_PATH_MAX]);

#endif
