/* Threads for lanes of work that have to run side by side (runtime/exec/lane_threads.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "runtime/base/fault.h"
#include "runtime/exec/lane_threads.h"

enum { LANES = 6 };

/* A lane ends once all have begun, each in a thread of its own. */
struct lane {
    pthread_barrier_t *all;
    pthread_t thread;
    struct rt_lane_work work;
};

static void meet(void *context)
{
    struct lane *l = context;
    l->thread = pthread_self();
    pthread_barrier_wait(l->all);
}

/* Works of the lanes with these numbers, side by side. */
static void run(struct rt_lane_threads *t, struct lane *lanes, const int *number, int n)
{
    pthread_barrier_t all;
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        lanes[i] = (struct lane){.all = &all, .work = {.run = meet, .context = &lanes[i]}};
        assert_true(rt_lane_start(t, number[i], &lanes[i].work));
    }
    for (int i = 0; i < n; i++)
        rt_lane_wait(t, &lanes[i].work);
    pthread_barrier_destroy(&all);
}

static bool has(const struct lane *lanes, int n, pthread_t thread)
{
    for (int i = 0; i < n; i++)
        if (pthread_equal(lanes[i].thread, thread))
            return true;
    return false;
}

/* Also where a thread has looked in vain, and sleeps. */
static void threads_are_kept_for_their_lane(void **state)
{
    static const int number[] = {0, 1, 2, 3, 4, 5};
    struct rt_lane_threads *t = rt_lane_threads_new();
    struct lane first[LANES], again[LANES];
    (void)state;
    assert_non_null(t);
    run(t, first, number, LANES);
    for (int k = 0; k < 20; k++) {
        if (k % 5 == 4)
            usleep(3000);
        run(t, again, number, LANES);
        for (int i = 0; i < LANES; i++)
            assert_true(pthread_equal(first[i].thread, again[i].thread));
    }
    rt_lane_threads_free(t);
}

static void works_of_one_lane_run_side_by_side(void **state)
{
    static const int number[] = {3, 3, 3};
    struct rt_lane_threads *t = rt_lane_threads_new();
    struct lane first[3], again[3];
    (void)state;
    run(t, first, number, 3);
    for (int i = 0; i < 3; i++)
        assert_false(has(first, i, first[i].thread));
    run(t, again, number, 2);
    for (int i = 0; i < 2; i++)
        assert_true(has(first, 3, again[i].thread));
    rt_lane_threads_free(t);
}

static void what_is_refused_does_not_run(void **state)
{
    static const int number[] = {1};
    struct rt_lane_threads *t = rt_lane_threads_new();
    struct lane lane = {.work = {.run = meet, .context = &lane}};
    (void)state;
    assert_true(hd_fault_arm("thread:1"));
    assert_false(rt_lane_start(t, 1, &lane.work));
    assert_true(hd_fault_arm("alloc:1"));
    assert_false(rt_lane_start(t, 1, &lane.work));
    hd_fault_arm(NULL);
    run(t, &lane, number, 1);
    rt_lane_threads_free(t);
}

static void slow(void *context)
{
    usleep(5000);
    *(int *)context += 1;
}

/* Longer than anybody looks. */
static void slow_work_is_waited_for(void **state)
{
    int times = 0;
    struct rt_lane_work work = {.run = slow, .context = &times};
    struct rt_lane_threads *t = rt_lane_threads_new();
    (void)state;
    for (int k = 0; k < 5; k++) {
        assert_true(rt_lane_start(t, 0, &work));
        rt_lane_wait(t, &work);
        assert_int_equal(times, k + 1);
    }
    rt_lane_threads_free(t);
}

static void *caller(void *threads)
{
    static const int number[] = {0, 1};
    struct lane lanes[2];
    for (int k = 0; k < 200; k++)
        run(threads, lanes, number, 2);
    return NULL;
}

static void several_callers_share_them(void **state)
{
    struct rt_lane_threads *t = rt_lane_threads_new();
    pthread_t callers[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, caller, t), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    rt_lane_threads_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_are_kept_for_their_lane), cmocka_unit_test(works_of_one_lane_run_side_by_side),
        cmocka_unit_test(what_is_refused_does_not_run),    cmocka_unit_test(slow_work_is_waited_for),
        cmocka_unit_test(several_callers_share_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
