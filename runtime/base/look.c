#include "runtime/base/look.h"

#include <sched.h>
#include <time.h>

/* Between two looks at the clock: some 2 us. */
enum { LOOKS = 64 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

bool hd_look(bool (*is_there)(void *context), void *context, double ms)
{
    double until = now_ms() + ms;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (is_there(context))
                return true;
            hd_relax();
        }
        sched_yield();
    } while (now_ms() < until);
    return is_there(context);
}
