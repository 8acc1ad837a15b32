/* How fast the threads of this machine read memory. */
#ifndef HEDDLE_RUNTIME_EXEC_BANDWIDTH_H
#define HEDDLE_RUNTIME_EXEC_BANDWIDTH_H

#include "runtime/exec/thread_pool.h"

/* Bytes a second that so many threads read one after the other of 64 MiB, the calling one included: the fastest of some
 * passes, 0.1 s in all at most but on a very slow machine. Where the last cache is larger, this is its bandwidth. 0: no
 * memory for it. */
double rt_stream_bandwidth(struct rt_thread_pool *pool, int threads);

#endif
