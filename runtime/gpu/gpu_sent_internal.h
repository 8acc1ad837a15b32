/* Shared by gpu_sent.c, gpu_sent_text.c and gpu_receive.c. */
#ifndef HEDDLE_RUNTIME_GPU_GPU_SENT_INTERNAL_H
#define HEDDLE_RUNTIME_GPU_GPU_SENT_INTERNAL_H

#include <stdatomic.h>

#include "runtime/gpu/gpu_sent.h"
#include "runtime/gpu/gpu_state.h"

enum { RT_SENT_PIECES = 3 }; /* rows; where strings begin; their bytes */

/* Strings of a column. */
struct rt_sent_text {
    uint64_t sums, bytes; /* addresses: 64 bits per row, where its string begins, and the total; the strings */
    uint64_t
        at[RT_GPU_PARTS_MAX + 2]; /* of each part where the strings of its first row begin; the total; the longest */
};

struct rt_sent_copied {
    struct rt_gpu *g;
    unsigned life;
    rt_event *event;
};

struct rt_sent {
    struct rt_gpu_sent s;
    struct rt_gpu *g;
    unsigned life; /* of the device when the rows were made */
    int npieces;
    struct rt_piece pieces[RT_SENT_PIECES];
    uint64_t rows; /* address */
    uint32_t stride;
    rt_event *ready;
    int readers;
    atomic_int ncopied;
    struct rt_sent_copied *copied; /* [readers] */
    int ntexts;
    struct rt_sent_text *text;
    int ncolumns;
    struct rt_sent_column {
        uint32_t offset, phys;
        int32_t valid;
        int text; /* number of it, -1: other values */
    } column[];
};

static inline struct rt_sent *rt_sent_of(struct rt_gpu_sent *s)
{
    return (struct rt_sent *)s;
}

/* Strings of the rows, which lie where they will be sent from, one behind the other: of all columns that have some. Waits for how
 * many bytes there are. */
int rt_sent_make_texts(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_sent *sent, struct hd_err *err);
/* Memory that stays with the rows. */
int rt_sent_keep(struct rt_gpu_exec *x, const struct rt_state *s, struct rt_sent *sent, size_t n, uint64_t *address,
                 struct hd_err *err);

#endif
