/* The admission queue: shares, order, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/exec/admission.h"

enum { LIMIT = 100 };

struct guest {
    struct rt_admission *a;
    uint64_t share;
    struct rt_cancel cancel;
    pthread_t thread;
    atomic_int state; /* 0 waits, 1 runs, 2 was refused */
    atomic_bool may_leave;
    double waited;
};

static void *visit(void *argument)
{
    struct guest *g = argument;
    struct hd_err e;
    hd_err_init(&e);
    if (rt_admission_enter(g->a, g->share, &g->cancel, &g->waited, &e) != 0) {
        assert_int_equal(e.class, HD_ERR_CANCELLED);
        hd_err_release(&e);
        atomic_store(&g->state, 2);
        return NULL;
    }
    atomic_store(&g->state, 1);
    while (!atomic_load(&g->may_leave))
        usleep(200);
    rt_admission_leave(g->a, g->share);
    return NULL;
}

/* So many wait in the queue. */
static int waiting(struct rt_admission *a, const struct guest *g, int n)
{
    int all = 0;
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < n; i++)
        all += atomic_load(&g[i].state) == 0;
    pthread_mutex_unlock(&a->lock);
    return all;
}

static void start(struct guest *g, struct rt_admission *a, uint64_t share)
{
    g->a = a;
    g->share = share;
    rt_cancel_init(&g->cancel);
    atomic_init(&g->state, 0);
    atomic_init(&g->may_leave, false);
    assert_int_equal(pthread_create(&g->thread, NULL, visit, g), 0);
}

static void reach(struct guest *g, int state)
{
    while (atomic_load(&g->state) != state)
        usleep(200);
}

static void end(struct guest *g)
{
    atomic_store(&g->may_leave, true);
    pthread_join(g->thread, NULL);
    rt_cancel_release(&g->cancel);
}

static void shares_run_side_by_side(void **state)
{
    (void)state;
    struct rt_admission a;
    struct guest g[3];
    rt_admission_init(&a, LIMIT);
    start(&g[0], &a, 60);
    reach(&g[0], 1);
    start(&g[1], &a, 40);
    reach(&g[1], 1);
    start(&g[2], &a, 1);
    usleep(20000);
    assert_int_equal(waiting(&a, g, 3), 1);
    end(&g[1]);
    reach(&g[2], 1);
    assert_true(g[2].waited >= 10);
    end(&g[0]);
    end(&g[2]);
    assert_int_equal(a.taken, 0);
    rt_admission_release(&a);
}

static void a_large_one_is_not_passed(void **state)
{
    (void)state;
    struct rt_admission a;
    struct guest g[3];
    rt_admission_init(&a, LIMIT);
    start(&g[0], &a, 50);
    reach(&g[0], 1);
    start(&g[1], &a, 10 * LIMIT); /* more than there is: alone */
    usleep(20000);
    start(&g[2], &a, 10);
    usleep(20000);
    assert_int_equal(waiting(&a, g, 3), 2);
    end(&g[0]);
    reach(&g[1], 1);
    usleep(20000);
    assert_int_equal(atomic_load(&g[2].state), 0);
    end(&g[1]);
    reach(&g[2], 1);
    end(&g[2]);
    rt_admission_release(&a);
}

static void who_is_cancelled_leaves_the_queue(void **state)
{
    (void)state;
    struct rt_admission a;
    struct guest g[3];
    rt_admission_init(&a, LIMIT);
    start(&g[0], &a, 50);
    reach(&g[0], 1);
    start(&g[1], &a, LIMIT);
    usleep(20000);
    start(&g[2], &a, 50);
    usleep(20000);
    assert_int_equal(atomic_load(&g[2].state), 0);
    rt_cancel_fire(&g[1].cancel);
    reach(&g[1], 2);
    reach(&g[2], 1); /* nobody is in front any more */
    for (int i = 0; i < 3; i++)
        end(&g[i]);
    rt_admission_release(&a);
}

static void a_cancelled_one_never_begins(void **state)
{
    (void)state;
    struct rt_admission a;
    struct rt_cancel c;
    struct hd_err e;
    double waited;
    rt_admission_init(&a, LIMIT);
    rt_cancel_init(&c);
    hd_err_init(&e);
    rt_cancel_fire(&c);
    assert_int_equal(rt_admission_enter(&a, 1, &c, &waited, &e), -1);
    assert_int_equal(e.class, HD_ERR_CANCELLED);
    assert_int_equal(a.running, 0);
    hd_err_release(&e);
    rt_cancel_release(&c);
    rt_admission_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_run_side_by_side),
        cmocka_unit_test(a_large_one_is_not_passed),
        cmocka_unit_test(who_is_cancelled_leaves_the_queue),
        cmocka_unit_test(a_cancelled_one_never_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
