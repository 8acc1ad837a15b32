/* Fibers: stacks with a saved context. Switching costs a few nanoseconds on x86-64 and
 * AArch64, where it is written out; elsewhere it is ucontext. Sanitizers are told about
 * stacks. */
#ifndef HEDDLE_TESTS_SIMT_FIBER_H
#define HEDDLE_TESTS_SIMT_FIBER_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#define FIBER_UCONTEXT 1
#include <ucontext.h>
#endif

struct fiber {
    void *sp;
#ifdef FIBER_UCONTEXT
    ucontext_t context;
#endif
    unsigned char *stack; /* lowest address; NULL: the stack of the thread that made the others */
    size_t size;
    void (*body)(void *);
    void *argument;
    void *fake_stack; /* of AddressSanitizer */
};

/* Prepares f to run body(argument), which must never return, on the given stack. */
void fiber_init(struct fiber *f, unsigned char *stack, size_t size, void (*body)(void *), void *argument);
/* Continues `to`; returns when somebody switches back to `from`. last: from never runs again.
 */
void fiber_switch(struct fiber *from, struct fiber *to, int last);

#endif
