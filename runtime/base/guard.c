#include "runtime/base/guard.h"

static _Thread_local struct hd_guard *innermost;

void hd_guard_begin(struct hd_guard *g, const struct hd_stop *stop)
{
    g->stop = stop;
    g->outer = innermost;
    g->cleanups.prev = g->cleanups.next = &g->cleanups;
    innermost = g;
}

/* What is registered still lives on, and is its owner's alone from now on. */
void hd_guard_end(struct hd_guard *g)
{
    while (g->cleanups.next != &g->cleanups)
        hd_cleanup_drop(g->cleanups.next);
    innermost = g->outer;
}

int hd_guard_failed(struct hd_guard *g, struct hd_err *err)
{
    innermost = g->outer;
    if (g->why == HD_ERR_CANCELLED)
        return HD_FAIL(err, CANCELLED, NULL, "cancelled");
    return HD_FAIL(err, RESOURCE, NULL, "out of memory: the system refused %zu bytes", g->wanted);
}

bool hd_guarded(void)
{
    return innermost != NULL;
}

static _Noreturn void leave(struct hd_guard *g, enum hd_err_class why)
{
    g->why = why;
    while (g->cleanups.next != &g->cleanups) { /* here, where their frames still stand */
        struct hd_cleanup *c = g->cleanups.next;
        hd_cleanup_drop(c);
        c->run(c->object);
    }
    longjmp(g->jump, 1);
}

void hd_out_of_memory(size_t n)
{
    if (!innermost)
        HD_BUG("out of host memory (%zu bytes)", n);
    innermost->wanted = n;
    leave(innermost, HD_ERR_RESOURCE);
}

void hd_poll(void)
{
    if (innermost && hd_stopped(innermost->stop))
        leave(innermost, HD_ERR_CANCELLED);
}

void hd_cleanup_add(struct hd_cleanup *c, void (*run)(void *object), void *object)
{
    *c = (struct hd_cleanup){.run = run, .object = object};
    if (!innermost)
        return;
    c->prev = &innermost->cleanups;
    c->next = innermost->cleanups.next;
    c->prev->next = c->next->prev = c;
}

void hd_cleanup_drop(struct hd_cleanup *c)
{
    if (!c->next)
        return;
    c->prev->next = c->next;
    c->next->prev = c->prev;
    c->prev = c->next = NULL;
}
