/* Columns of Arrow's layouts in the memory of a device: what kernels do not read as it lies, and who converts it. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_DEVICE_H
#define HEDDLE_RUNTIME_IO_ARROW_DEVICE_H

#include "runtime/io/arrow_format.h"
#include "runtime/io/arrow_table.h"

enum rt_device_form {
    RT_DEVICE_VALUES,  /* numbers, bools, dates, ..., or codes of strings: become as wide as the column's */
    RT_DEVICE_STRINGS, /* become ends by blocks; the bytes stay where they are */
    RT_DEVICE_COPIES,  /* strings in several chunks or behind views: ends by blocks, and their bytes side by side */
    RT_DEVICE_NOTHING  /* all rows are NULL */
};

struct rt_device_buffer {
    uint64_t address, size;
};

/* A chunk's rows, which begin at `offset` of buffers of the device. Of a dictionary these are its indices. */
struct rt_device_chunk {
    int64_t rows, offset;
    const uint8_t *valid; /* NULL: no row is NULL */
    const void *values; /* values, offsets or views; of a dictionary: of its entries */
    const void *strings; /* bytes behind offsets */
    const struct rt_device_buffer *buffers; /* behind views, of the host */
    int nbuffers;
    const void *indices; /* NULL: no dictionary */
    const uint8_t *entry_valid;
    int64_t entry_offset, nentries;
};

struct rt_device_column {
    enum rt_device_form form;
    enum rt_arrow_format format, index;
    int number; /* in the table */
    const char *name;
    const struct rt_device_chunk *chunks;
    int width; /* bytes that it becomes; strings of one length: of each */
    bool make_data, make_bits; /* false: those of the one chunk serve where they are, and values are checked alone */
    bool bounded, utf8;
    hd_i128 least, most; /* of values, if bounded */
    /* Of dictionaries of strings, of the host: codes of the entries of all chunks, one behind the other; which are there. */
    const int32_t *codes;
    const uint8_t *codes_valid; /* NULL: all */
    int64_t ncodes;
    /* What it becomes. */
    const void *data, *text;
    const uint64_t *bases;
    const uint8_t *bits;
    uint64_t bytes; /* of all strings */
    int64_t nulls; /* make_bits */
    int64_t bad; /* the first row with a value that the column cannot have, or -1: then it becomes nothing */
};

/* What can be done with the memory of a device, by whoever knows it. */
struct rt_device_memory {
    void *self;
    /* from: of the device; where that has no such memory, of the host. */
    int (*read)(void *self, void *to, const void *from, size_t n, struct hd_err *err);
    /* Of all such columns of a table at once; chunks have at least a row, and `rows` in all. One that is bad is the last. */
    int (*convert)(void *self, struct rt_device_column *c, int n, int64_t rows, struct hd_err *err);
    void (*release)(void *self); /* once nobody reads what was converted */
};

/* Rows [first, first + n) of a checked array of the device as an array of the host. */
int rt_device_fetch(const struct rt_device_memory *m, const struct ArrowSchema *s, const struct ArrowArray *a,
                    int64_t first, int64_t n, struct ArrowArray *out, struct hd_err *err);
/* The entries of the dictionaries of column c of all batches, one behind the other, as a table of the host whose one column
 * has a row for each. */
int rt_device_entries(const struct rt_device_memory *m, const char *table, const struct ArrowSchema *schema, int c,
                      const struct ArrowArray *batches, int nbatches, struct rt_memtable **out, struct hd_err *err);

#endif
