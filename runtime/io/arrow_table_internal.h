/* What the files about in-memory tables share: of the host (arrow_table.c), of a device (arrow_table_device.c). */
#ifndef HEDDLE_RUNTIME_IO_ARROW_TABLE_INTERNAL_H
#define HEDDLE_RUNTIME_IO_ARROW_TABLE_INTERNAL_H

#include "runtime/io/arrow_device.h"
#include "runtime/io/arrow_in.h"

struct rt_memtable {
    struct hd_arena arena;
    struct fe_table table;
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    int64_t nbatches, cap;
    struct rt_arrow_source *sources; /* of the batches, until their columns are imported */
    void **buffers;                  /* heap memory of converted columns */
    int nbuffers, buffer_cap;
    struct rt_scratch *scratch;
    struct rt_device_memory memory;  /* of a table of a device */
    struct rt_memtable **entries;    /* of its dictionaries, by column; NULL: none */
};

int rt_memtable_no_memory(const struct rt_memtable *m, struct hd_err *err);
/* The columns' names and types, of the schema. */
int rt_memtable_declare(struct rt_memtable *m, struct hd_err *err);
/* How column c is stored, in generic width; nothing is known about its values. */
void rt_memtable_choose_storage(struct rt_memtable *m, int c);

#endif
