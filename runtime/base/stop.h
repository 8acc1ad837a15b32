/* A request to stop: any thread sets it, whoever works for the asker looks at it. */
#ifndef HEDDLE_BASE_STOP_H
#define HEDDLE_BASE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct hd_stop {
    atomic_bool asked;
};

static inline void hd_stop_ask(struct hd_stop *s)
{
    atomic_store(&s->asked, true);
}

/* NULL: nobody can ask. */
static inline bool hd_stopped(const struct hd_stop *s)
{
    return s != NULL && atomic_load_explicit(&s->asked, memory_order_relaxed);
}

#endif
