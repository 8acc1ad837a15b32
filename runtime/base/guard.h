/* Leaves a computation from any depth: where the system refuses memory to an arena or a strbuf, or
 * somebody asked to stop. Reading, planning and emitting own nothing but arenas and what is
 * registered here, so a jump to the function that began them is all there is to do. Not for code that
 * holds locks, runs jobs of a thread pool or is called back by a library.
 *
 * Guards nest; each belongs to its thread. Without one, memory that is refused ends the process. */
#ifndef HEDDLE_BASE_GUARD_H
#define HEDDLE_BASE_GUARD_H

#include <setjmp.h>

#include "runtime/base/err.h"
#include "runtime/base/stop.h"

/* What must be undone if the guard is left by a jump; lies in the object that it is about. */
struct hd_cleanup {
    void (*run)(void *object);
    void *object;
    struct hd_cleanup *prev, *next; /* NULL outside of guards */
};

struct hd_guard {
    jmp_buf jump;
    const struct hd_stop *stop; /* may be NULL */
    struct hd_guard *outer;
    struct hd_cleanup cleanups; /* ring, the last registered first */
    enum hd_err_class why;
    size_t wanted; /* bytes that were refused */
};

/* rc = call, or -1 with RESOURCE or CANCELLED in err. What call changes outside must be fit to be
 * left half-done: arenas are. */
#define HD_GUARDED(rc, stop, err, call) \
    do { \
        struct hd_guard guard_; \
        hd_guard_begin(&guard_, (stop)); \
        if (setjmp(guard_.jump) == 0) { \
            hd_poll(); /* what is short looks at nothing */ \
            (rc) = (call); \
            hd_guard_end(&guard_); \
        } else { \
            (rc) = hd_guard_failed(&guard_, (err)); \
        } \
    } while (0)

void hd_guard_begin(struct hd_guard *g, const struct hd_stop *stop);
void hd_guard_end(struct hd_guard *g);
int hd_guard_failed(struct hd_guard *g, struct hd_err *err); /* -1 */

/* True: memory that is refused leaves the guard instead of ending the process. */
bool hd_guarded(void);
/* n bytes were refused. */
_Noreturn void hd_out_of_memory(size_t n);
/* Leaves the guard if somebody asked to stop. Arenas look at every allocation; loops that allocate
 * nothing call this. */
void hd_poll(void);

/* Outside of guards neither does anything. */
void hd_cleanup_add(struct hd_cleanup *c, void (*run)(void *object), void *object);
void hd_cleanup_drop(struct hd_cleanup *c);

#endif
