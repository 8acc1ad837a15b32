/* Bytes on the heap. */
#ifndef HEDDLE_RUNTIME_CACHE_BYTES_H
#define HEDDLE_RUNTIME_CACHE_BYTES_H

#include <stddef.h>

struct rt_bytes {
    unsigned char *p;
    size_t n;
};
void rt_bytes_release(struct rt_bytes *b);

#endif
