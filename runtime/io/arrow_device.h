/* Columns of Arrow's layout in the memory of a device that kernels do not read as they lie, and who converts them. */
#ifndef HEDDLE_RUNTIME_IO_ARROW_DEVICE_H
#define HEDDLE_RUNTIME_IO_ARROW_DEVICE_H

#include "runtime/io/arrow_table.h"

enum rt_device_form {
    RT_DEVICE_BOOLS, /* bits: becomes a byte each */
    RT_DEVICE_ENDS,  /* offsets of strings: become ends by blocks; their bytes stay where they are */
    RT_DEVICE_CODES  /* indices of a dictionary: become codes of a sorted one */
};

struct rt_device_column {
    enum rt_device_form form;
    int number;            /* in the table */
    const char *name;
    const void *values;    /* from here on addresses of the device; bits, offsets or indices, from row 0 on */
    const uint8_t *valid;  /* NULL: no row is NULL */
    const void *strings;   /* ENDS: the bytes; NULL: there are none */
    int width;             /* bytes of an offset or index */
    bool is_signed, utf8;  /* an index; strings, not binary */
    const int32_t *codes;  /* CODES, of the host: of each entry, -1 where it is NULL */
    uint32_t ncodes;
    /* What it becomes. */
    const void *data;
    const uint64_t *bases;
    const uint8_t *bits;   /* CODES: what is not NULL */
    uint64_t bytes;        /* ENDS: of all strings */
    int64_t nulls;         /* CODES */
};

/* What can be done with the memory of a device, by whoever knows it. */
struct rt_device_memory {
    void *self;
    int (*read)(void *self, void *to, const void *from, size_t n, struct hd_err *err);
    /* Of all such columns of a table at once. */
    int (*convert)(void *self, struct rt_device_column *c, int n, int64_t rows, struct hd_err *err);
    void (*release)(void *self); /* once nobody reads what was converted */
};

/* How a column of this schema is converted; false: it cannot be. Not of the formats that kernels read as they lie. */
bool rt_device_form(const struct ArrowSchema *s, struct rt_device_column *out);
/* The entries of a dictionary of the device as a table of the host, whose one column has a row for each: its code. */
int rt_device_entries(const struct rt_device_memory *m, const char *table, const struct ArrowSchema *s,
                      const struct ArrowArray *entries, struct rt_memtable **out, struct hd_err *err);

#endif
