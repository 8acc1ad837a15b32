#include "tests/simt/fiber.h"

#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* The fiber that is switched to, and from: read on arrival. */
static struct fiber *arriving, *leaving;

/* AddressSanitizer must know the stack it is on. `leaving` learns its own bounds here when it
 * is the thread's first stack. */
static void announce(struct fiber *from, const struct fiber *to, int last)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &from->fake_stack, to->stack, to->size);
#else
    (void)from;
    (void)to;
    (void)last;
#endif
}

/* A stack may have been left in the middle of a function, its red zones still poisoned. */
static void wipe(const struct fiber *f)
{
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(f->stack, f->size);
#else
    (void)f;
#endif
}

static void arrived(void)
{
#ifdef FIBER_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(arriving->fake_stack, &bottom, &size);
    if (!leaving->stack) {
        leaving->stack = (unsigned char *)(uintptr_t)bottom;
        leaving->size = size;
    }
#endif
}

static void start(void)
{
    arrived();
    arriving->body(arriving->argument);
}

#ifdef FIBER_UCONTEXT

void fiber_init(struct fiber *f, unsigned char *stack, size_t size, void (*body)(void *), void *argument)
{
    *f = (struct fiber){.stack = stack, .size = size, .body = body, .argument = argument};
    wipe(f);
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = size;
    makecontext(&f->context, start, 0);
}

void fiber_switch(struct fiber *from, struct fiber *to, int last)
{
    announce(from, to, last);
    leaving = from;
    arriving = to;
    swapcontext(&from->context, &to->context);
    arrived();
}

#else

/* Saves what a function must preserve on the stack, stores the stack pointer, and does the
 * opposite on the other stack. */
void fiber_jump(void **save, void *load);

#ifdef __x86_64__
__asm__(".text\n"
        ".globl fiber_jump\n"
        ".hidden fiber_jump\n"
        ".type fiber_jump, @function\n"
        "fiber_jump:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size fiber_jump, . - fiber_jump\n");
enum { SAVED_WORDS = 7, RETURN_WORD = 6, ENTRY_PAD = 1 }; /* entry wants rsp = 8 modulo 16 */
#else
__asm__(".text\n"
        ".globl fiber_jump\n"
        ".hidden fiber_jump\n"
        ".type fiber_jump, %function\n"
        "fiber_jump:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n   stp x27, x28, [sp, #64]\n   stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n     stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n   ldp x27, x28, [sp, #64]\n   ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n     ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fiber_jump, . - fiber_jump\n");
enum { SAVED_WORDS = 20, RETURN_WORD = 11, ENTRY_PAD = 0 };
#endif

void fiber_init(struct fiber *f, unsigned char *stack, size_t size, void (*body)(void *), void *argument)
{
    *f = (struct fiber){.stack = stack, .size = size, .body = body, .argument = argument};
    wipe(f);
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    uintptr_t *at = (uintptr_t *)top - SAVED_WORDS - ENTRY_PAD;
    memset(at, 0, SAVED_WORDS * sizeof *at);
    at[RETURN_WORD] = (uintptr_t)start;
    f->sp = at;
}

void fiber_switch(struct fiber *from, struct fiber *to, int last)
{
    announce(from, to, last);
    leaving = from;
    arriving = to;
    fiber_jump(&from->sp, to->sp);
    arrived();
}

#endif
