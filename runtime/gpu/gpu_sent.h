/* Rows of a result that stay where they were made until other GPUs of the host have copied them, as columns of a table
 * there. Who copies waits for nobody on the host: events order the streams. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_SENT_H
#define HEDDLE_RUNTIME_GPU_GPU_SENT_H

#include "runtime/gpu/gpu_columns.h"

/* On the heap; opaque but for these. */
struct rt_gpu_sent {
    uint64_t n;      /* rows */
    uint64_t *first; /* of each part its first row, and n behind the last; one part has all */
    int parts;
};

/* What becomes of an execution's result: rows, side by side by what a column of integers says, below `parts`. */
struct rt_gpu_send {
    struct rt_gpu_sent **out;
    int parts;   /* RT_GPU_PARTS_MAX at most; 0: all together */
    int by;      /* column of the result */
    int readers; /* times that they will be received, at most */
};
enum { RT_GPU_PARTS_MAX = 64 };

/* Of a column of a table that rows become: values of `width` bytes, as the store has them; decimals get 8 where no row has more
 * in any of its senders. */
struct rt_gpu_received_column {
    int from; /* column of the results */
    int width;
    bool narrow; /* width may become 8 */
    bool text; /* strings: ends of `width` 4, which the result has as values, and: */
    uint64_t bases, text_size; /* address; bytes of all strings */
};

/* Rows of n results on any devices of one kind, of each those of that part (-1: all), one behind the other on g; column[i].width
 * becomes what it is. nulls of a column is 0, or -1 if it may have any. Zeros follow up to a multiple of HDD_LANE_ROWS rows. Does
 * not wait: g's compute stream has the columns for what is queued there later. EXEC if a device that has some was lost
 * since; RESOURCE; CANCELLED once stop is set. */
int rt_gpu_receive(struct rt_gpu *g, struct rt_gpu_sent *const *from, int n, int part,
                   struct rt_gpu_received_column *column, int ncolumns, const struct hd_stop *stop,
                   struct rt_gpu_columns **out, struct hd_err *err);
/* All who read it have asked: its memory serves what is queued after their copies. Waits for executions of its GPU. Twice is
 * fine. */
void rt_gpu_sent_give_back(struct rt_gpu_sent *s);
/* Waits for executions of its readers' GPUs as well. NULL is fine. */
void rt_gpu_sent_free(struct rt_gpu_sent *s);

#endif
