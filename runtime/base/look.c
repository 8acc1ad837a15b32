#include "runtime/base/look.h"

#include <sched.h>
#include <time.h>

/* Between two looks at the clock: some 2 us. */
enum { LOOKS = 64 };
/* Who had the core meanwhile for longer has more use for it; it is given back later than a thread that sleeps is woken. */
static const double away_ms = 0.05;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

bool hd_look(bool (*is_there)(void *context), void *context, double ms)
{
    double now = now_ms(), until = now + ms, before;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (is_there(context))
                return true;
            hd_relax();
        }
        before = now_ms();
        sched_yield();
        now = now_ms();
    } while (now < until && now - before < away_ms);
    return is_there(context);
}
