/* Waiting for what is about to come: looking again and again takes no more time than what is waited for, where a thread that
 * sleeps takes 50 us and more to wake. */
#ifndef HEDDLE_BASE_LOOK_H
#define HEDDLE_BASE_LOOK_H

#include <stdatomic.h>
#include <stdbool.h>

/* Between two looks. */
static inline void hd_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Looks until it is there (true), for so many milliseconds at most. Lets other threads have the core in between, and no longer
 * looks once one has taken it. */
bool hd_look(bool (*is_there)(void *context), void *context, double ms);

#endif
