/* Tables, columns, how they are stored, and the facts known about them. The frontend alone
 * reads and writes catalog.json; the runtime's column store fills the memory addresses and
 * gets and gives this plain struct. Facts are checked when data is loaded, never assumed. */
#ifndef HEDDLE_FRONTEND_CATALOG_H
#define HEDDLE_FRONTEND_CATALOG_H

#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/type.h"

/* How a column's values are stored. */
enum fe_storage {
    FE_STORE_INT,  /* width 1,2,4,8,16 bytes, or packed; value = base + factor * stored (stored signed) */
    FE_STORE_F64,  /* 8 bytes */
    FE_STORE_F32,  /* 4 bytes */
    FE_STORE_DICT, /* width 1,2,4 unsigned codes into a sorted dictionary, or packed */
    FE_STORE_TEXT  /* uint32 end offsets relative to a uint64 base per 65,536 rows; bytes */
};
enum { FE_TEXT_BLOCK_SHIFT = 16 };
/* Packed columns: stored numbers without sign, lowest bit first, one behind the other, and FE_PACKED_BEYOND bytes or more behind the
 * last one, so that readers may load whole words. Row r begins at bit r * bits. */
enum { FE_BITS_MAX = 63, FE_PACKED_BEYOND = 16 };
/* No table has more rows, so that rows * 16 bytes cannot overflow anywhere. */
#define FE_MAX_ROWS ((int64_t)1 << 44)
/* Rows of a table in one piece, or of a segment: plans count them in an int32. */
#define FE_TABLE_MAX_ROWS INT32_MAX
enum { FE_MAX_SEGMENTS = 1024 };

/* A sorted dictionary: entry k is bytes[offsets[k] .. offsets[k+1]). Distinct, ascending
 * bytewise. */
struct fe_dict {
    uint32_t n;
    const uint32_t *offsets; /* n + 1 */
    const char *bytes;
};

struct fe_facts {
    bool known; /* false: only `nulls` may be used (registered tables) */
    int64_t nulls; /* -1 unknown */
    bool has_range; /* min and max hold: ints, scaled decimals, dates, bools, codes */
    hd_i128 min, max; /* of non-NULL logical values; dict: codes */
    int64_t distinct; /* -1 unknown */
    bool distinct_exact;
    bool unique; /* no duplicates among non-NULL values */
    bool dense; /* unique and max - min + 1 <= 8 * rows: worth a direct array */
    bool sorted; /* ascending in row order, no NULLs */
    bool clustered; /* equal values are adjacent (implied by sorted) */
    int64_t max_mult; /* rows of the most frequent value; -1 unknown */
};

/* Of so many rows in a row (the last ones of a table: of those that there are) of a column that is no text: the least and the
 * largest value that is not NULL, as ordinals (runtime/store/store_column.h), the largest above the least where there is none; and
 * how many are NULL. The map of these zones leads a scan past rows that its filter would drop (small materialized aggregates: G.
 * Moerkotte, VLDB 1998). */
enum { FE_ZONE_SHIFT = 16, FE_ZONE_ROWS = 1 << FE_ZONE_SHIFT };
struct fe_zone {
    uint64_t min, max, nulls;
};
static inline int64_t fe_zones_of(int64_t rows)
{
    return (rows + FE_ZONE_ROWS - 1) >> FE_ZONE_SHIFT;
}

/* A column part as the store maps it. Sizes in bytes. Addresses are NULL until mapped. */
struct fe_column_data {
    const void *data; /* INT, F64, F32, DICT: rows * width, or packed; TEXT: uint32 ends, rows of them:
                                 string r spans [start, end) of its block's base, where start
                                 is 0 for a block's first row, else the previous end */
    const uint8_t *validity; /* bitmap, lowest bit first, 1 = valid; NULL: no NULLs */
    const uint64_t *text_base; /* TEXT: one per block */
    const char *text_bytes;
    uint64_t text_size;
};

struct fe_table_column {
    const char *name;
    struct hd_type type;
    bool nullable; /* declared */
    enum fe_storage storage;
    int width; /* bytes of a stored value; of a packed one, that would hold it with a sign */
    int bits; /* INT, DICT: 1 .. FE_BITS_MAX of a stored value, packed; 0: it has whole bytes */
    bool pack; /* of a schema: it is to be packed where that takes less */
    hd_i128 base, factor; /* INT */
    struct fe_facts facts;
    struct fe_dict dict; /* DICT */
    const struct fe_zone *zones; /* of the table's rows, in order; NULL: nobody knows, or they would tell nothing */
    struct fe_column_data at;
};

/* Prebuilt lookup from the values of a unique column to row ids of this table.
 * POSITIONAL: row = value - min (sorted, no gaps). BITMAP (sorted, with gaps): a word stands for FE_RANK_VALUES
 * values; its low half has a bit for each that a row has, its high half the rank of the first of them, which is the number of rows
 * with smaller values; the row of a value is that and the bits below its own. ARRAY: rows[value - min] = row + 1, 0 is none. */
enum fe_index_kind { FE_INDEX_NONE, FE_INDEX_POSITIONAL, FE_INDEX_BITMAP, FE_INDEX_ARRAY };
enum { FE_RANK_VALUES = 32 };
struct fe_key_index {
    enum fe_index_kind kind;
    int column;
    hd_i128 min;
    uint64_t range; /* max - min + 1 */
    const uint64_t *words; /* BITMAP */
    const uint32_t *rows; /* ARRAY */
};

/* A declared single-column foreign key child.column -> parent.key, with its CSR index: the
 * child rows of parent row r are child_rows[offsets[r] .. offsets[r+1]), ascending; child_rows
 * is NULL where the child is clustered in parent order, so that child row ids are the
 * positions themselves. Composite foreign keys are checked and kept with n_columns > 1 and
 * no index. */
struct fe_long_parent {
    int64_t row, children;
};
/* A parent of more children is a long one; of more long ones there is no list. */
enum { FE_LONG_CHILDREN = 64, FE_LONG_PARENTS = 16 };
struct fe_foreign_key {
    int n_columns;
    const int *columns; /* of the child table */
    const struct fe_table *parent;
    const int *parent_columns;
    int offset_width; /* bytes: 4, or of databases of older versions 8 */
    const void *offsets; /* parent rows + 1, or NULL: no index */
    const uint32_t *child_rows;
    int64_t max_children;
    int nlong; /* long parents, by ascending rows; 0: there are none, or they are not known */
    const struct fe_long_parent *longs;
};

/* Of offsets at p. */
static inline uint64_t fe_offset_at(const void *p, int width, int64_t i)
{
    return width == 4 ? ((const uint32_t *)p)[i] : ((const uint64_t *)p)[i];
}

/* Where the children of a parent row begin, and where those of all end. */
static inline uint64_t fe_fk_offset(const struct fe_foreign_key *f, int64_t row)
{
    return fe_offset_at(f->offsets, f->offset_width, row);
}

/* A table is in one piece, or it has segments: tables in one piece of the same name and columns, whose rows are one behind
 * the other. Then its own columns have no addresses, and its facts are what those of the segments come to; keys that refer
 * to it have no index. The segments of a table that is cut by a column have ascending ranges of its values, the same ones
 * in all tables whose column leads to the same key (fe_key_root in segments.h): foreign keys from the one column to the other lead from
 * a segment to the segment of that number. */
struct fe_table {
    const char *name;
    uint64_t id; /* of a table with data: like no other in this process, gone ones included */
    int64_t rows;
    int nsegments; /* 0: it is in one piece */
    struct fe_table **segments;
    int cut; /* of a table of segments, of each, and of a divided one: the column that it is cut by; -1: by the number of rows */
    bool divided; /* it is in one piece, and the database's other partitions have more rows of it */
    struct fe_table *whole; /* of a segment: its table; NULL: it is none */
    int64_t first_row; /* of a segment: in that table */
    int device; /* 1 + number of the GPU in whose memory the columns' addresses are; 0: the host's */
    int ncols;
    struct fe_table_column *cols;
    int npk;
    const int *pk;
    bool pk_sorted; /* of several columns: rows ascend by them, the first one first. False: unknown */
    int nkeyidx;
    struct fe_key_index *keyidx;
    int nfks;
    struct fe_foreign_key *fks;
    void *store; /* the runtime's handle for first-use checksum verification; opaque here */
};

static inline uint64_t fe_fk_offset_bytes(const struct fe_foreign_key *f)
{
    return ((uint64_t)f->parent->rows + 1) * (uint64_t)f->offset_width;
}

/* A part of a table's data that is verified as a whole. */
struct fe_table_part {
    const struct fe_table *table;
    enum fe_part_kind { FE_PART_COLUMN, FE_PART_ZONES, FE_PART_KEYIDX, FE_PART_FK } kind;
    int number; /* of the column (whose zones are a part of their own), key index or foreign key */
};

/* A directory may be one of several partitions of a database: it has some rows of the tables that are divided, all of the others, and
 * no table of segments. */
struct fe_partition {
    int number; /* from 0 */
    int of; /* so many; 0: it is none */
};

struct fe_catalog {
    int ntables;
    struct fe_table **tables;
};

/* As in a catalog and in plans. */
const char *fe_index_kind_name(enum fe_index_kind k);

static inline uint64_t fe_rank_words(uint64_t range)
{
    return (range + FE_RANK_VALUES - 1) / FE_RANK_VALUES;
}

/* Of what a key index reads; a positional one reads nothing. */
static inline uint64_t fe_key_index_bytes(const struct fe_key_index *x)
{
    return x->kind == FE_INDEX_BITMAP  ? fe_rank_words(x->range) * sizeof *x->words
           : x->kind == FE_INDEX_ARRAY ? x->range * sizeof *x->rows
                                       : 0;
}

static inline const void *fe_key_index_data(const struct fe_key_index *x)
{
    return x->kind == FE_INDEX_BITMAP ? (const void *)x->words : x->rows;
}

/* at: there, or NULL */
static inline void fe_key_index_place(struct fe_key_index *x, const void *at)
{
    x->words = x->kind == FE_INDEX_BITMAP ? (const uint64_t *)at : NULL;
    x->rows = x->kind == FE_INDEX_ARRAY ? (const uint32_t *)at : NULL;
}

/* The row of value min + at, at < range; -1: no row has it. */
static inline int64_t fe_key_index_row(const struct fe_key_index *x, uint64_t at)
{
    if (x->kind == FE_INDEX_POSITIONAL)
        return (int64_t)at;
    if (x->kind == FE_INDEX_ARRAY)
        return (int64_t)x->rows[at] - 1;
    const uint64_t word = x->words[at / FE_RANK_VALUES], bit = (uint64_t)1 << at % FE_RANK_VALUES;
    return word & bit ? (int64_t)(word >> 32) + __builtin_popcountll(word & (bit - 1)) : -1;
}

/* Bytes of `data` of so many rows. */
static inline uint64_t fe_column_bytes(const struct fe_table_column *c, int64_t rows)
{
    uint64_t n = (uint64_t)rows;
    return c->bits ? (n * (uint64_t)c->bits + 63) / 64 * 8 + FE_PACKED_BEYOND : n * (uint64_t)c->width;
}

/* A stored number of a packed column. */
static inline uint64_t fe_packed_at(const void *data, int bits, int64_t row)
{
    uint64_t at = (uint64_t)row * (uint64_t)bits, v;
    const unsigned char *p = (const unsigned char *)data + (at >> 3);
    int shift = (int)(at & 7);
    memcpy(&v, p, sizeof v); /* little-endian */
    v >>= shift;
    if (shift + bits > 64)
        v |= (uint64_t)p[8] << (64 - shift);
    return v & (((uint64_t)1 << bits) - 1);
}

/* Columns and primary key of a table with segments as they are declared, which is alike in all of them; then facts and foreign
 * keys, where the segments have theirs. */
void fe_segments_declare(struct hd_arena *a, struct fe_table *t);
void fe_segments_join(struct hd_arena *a, struct fe_table *t);

const struct fe_table *fe_catalog_find(const struct fe_catalog *c, const char *name);
int fe_table_find_column(const struct fe_table *t, const char *name); /* -1 none */
/* Lower bound of s in the dictionary; *found tells whether it is that very entry. */
uint32_t fe_dict_find(const struct fe_dict *d, const char *s, size_t n, bool *found);

/* catalog.json text to and from the struct. Files are named in it by column part; fe_file
 * lists them with sizes and checksums, in the order of the text. */
struct fe_file {
    const char *name;
    uint64_t size;
    char checksum[17]; /* 16 hex digits of XXH64 or XXH3 */
};
struct fe_catalog_doc {
    struct fe_catalog cat; /* addresses NULL, file indexes below */
    struct fe_catalog stored; /* of `cat`, in its order, the tables in one piece, and the segments of the others */
    struct fe_partition partition;
    int nfiles;
    struct fe_file *files;
    /* Of `stored`, [t][c].{data,validity,base,bytes,dict_offsets,dict_bytes,zones}, keyidx and fks parts:
     * index into files, -1 none. */
    struct fe_column_files {
        int data, validity, text_base, text_bytes, dict_offsets, dict_bytes, zones;
    } **column_files; /* [table][column] */
    int **keyidx_files; /* [table][k] */
    struct fe_fk_files {
        int offsets, child_rows;
    } **fk_files; /* [table][k] */
};
int fe_catalog_read(struct hd_arena *a, const char *json, const char *path, struct fe_catalog_doc **out,
                    struct hd_err *err);
/* Heap text. wholes: tables of segments have columns and keys themselves, too, to be read by people and other programs;
 * fe_catalog_read knows them from the segments. */
char *fe_catalog_write(const struct fe_catalog_doc *doc, bool wholes);

/* The partitions of a database as one, in which divided tables have segments, number k in partition k: all n of them, in their
 * order. Tables that are not divided are those of partition `home`, and of the others it is compared that they are alike. Files
 * are named from the directory `dir` of all, in which partition k is fe_partition_name. The docs' tables become those of the
 * result. CORRUPT if they do not belong together. */
int fe_catalog_join(struct hd_arena *a, const char *dir, struct fe_catalog_doc *const *docs, int n, int home,
                    struct fe_catalog_doc **out, struct hd_err *err);
/* "partition-K" */
const char *fe_partition_name(struct hd_arena *a, int number);

/* The schema JSON of heddle_writer_open (include/heddle.h). */
struct fe_text_format {
    char delimiter, quote; /* quote 0: none */
    bool header, trailing_delimiter;
    const char *null_text;
};
struct fe_schema_table {
    struct fe_table table; /* storage and facts empty */
    struct fe_text_format format;
    int64_t rows; /* declared, -1 not */
    const char *path;
};
struct fe_schema {
    int64_t segment_rows; /* a table of more is cut into segments of so many at most */
    struct fe_partition partition;
    int ntables;
    struct fe_schema_table *tables;
};
int fe_schema_read(struct hd_arena *a, const char *json, struct fe_schema **out, struct hd_err *err);
/* Keys of a table that has its columns already: {"primary_key": ..., "foreign_keys": ...}, as a table of a schema has them; those
 * of other tables refer to tables of `others`, whose keys are there. Nothing is checked but names and types. USER errors. */
int fe_keys_read(struct hd_arena *a, const char *json, struct fe_table *t, const struct fe_catalog *others,
                 struct hd_err *err);

#endif
