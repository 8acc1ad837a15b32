/* The choice between a CPU and a GPU: a pure function of what is known before an execution; and the work of programs that it
 * is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "planner/choice.h"
#include "planner_fixture.h"

/* A query of 10 ms on one thread of a CPU, 0.1 ms of work on a GPU. Nothing is there. */
static struct pl_choice_in query(void)
{
    struct pl_work w = {.cpu_ms = 10, .gpu_ms = 0.1, .begun = 2, .cpu_code = 30, .gpu_code = 30};
    return (struct pl_choice_in){.work = {w, w}, .threads = 1, .upload = 9e6, .last = PL_NO_SIDE};
}

static struct pl_choice_in ready(void)
{
    struct pl_choice_in in = query();
    in.gpu_open = true;
    in.code[PL_CPU] = in.code[PL_GPU] = PL_CODE_LOADED;
    in.upload = 0;
    return in;
}

static void a_first_execution_waits_for_no_gpu(void **state)
{
    (void)state;
    struct pl_choice_in in = query();
    struct pl_choice c = pl_choose_side(&in);
    assert_int_equal(c.side, PL_CPU);
    assert_true(c.prepare);
    assert_true(c.cost[PL_GPU].open > 0 && c.cost[PL_GPU].compile > 0 && c.cost[PL_GPU].transfer > 0);
    assert_true(c.cost[PL_GPU].run < c.cost[PL_CPU].run);
}

static void what_is_there_costs_nothing(void **state)
{
    (void)state;
    struct pl_choice_in in = ready();
    struct pl_choice c = pl_choose_side(&in);
    assert_int_equal(c.side, PL_GPU);
    assert_false(c.prepare);
    assert_true(c.cost[PL_GPU].all == c.cost[PL_GPU].run && c.cost[PL_CPU].all == c.cost[PL_CPU].run);
}

/* One thing that is missing is enough to stay on the CPU, if the query is short. */
static void each_missing_part_counts(void **state)
{
    (void)state;
    struct pl_choice_in closed = ready(), absent = ready(), stored = ready(), far = ready();
    closed.gpu_open = false;
    absent.code[PL_GPU] = PL_CODE_ABSENT;
    stored.code[PL_GPU] = PL_CODE_STORED;
    far.upload = 1e9;
    assert_int_equal(pl_choose_side(&closed).side, PL_CPU);
    assert_int_equal(pl_choose_side(&absent).side, PL_CPU);
    assert_int_equal(pl_choose_side(&stored).side, PL_GPU); /* milliseconds */
    assert_int_equal(pl_choose_side(&far).side, PL_CPU);
    assert_true(pl_choose_side(&closed).prepare && pl_choose_side(&absent).prepare && pl_choose_side(&far).prepare);
}

static void a_long_query_waits_for_the_gpu(void **state)
{
    (void)state;
    struct pl_choice_in in = query();
    in.work[PL_CPU].cpu_ms = 5000;
    assert_int_equal(pl_choose_side(&in).side, PL_GPU);
    in.threads = 64;
    assert_int_equal(pl_choose_side(&in).side, PL_CPU);
    in.gpu_open_ms = 1;
    in.code[PL_GPU] = PL_CODE_STORED;
    assert_int_equal(pl_choose_side(&in).side, PL_GPU);
}

static void a_busy_gpu_is_waited_for_by_long_queries(void **state)
{
    (void)state;
    char text[320];
    struct pl_choice_in in = ready();
    in.gpu_busy = true;
    struct pl_choice c = pl_choose_side(&in);
    assert_int_equal(c.side, PL_CPU);
    assert_false(c.prepare);
    pl_choice_why(&c, text, sizeof text);
    assert_non_null(strstr(text, "busy"));
    in.work[PL_CPU].cpu_ms = 100;
    assert_int_equal(pl_choose_side(&in).side, PL_GPU);
}

static void a_gpu_that_gains_nothing_is_left_alone(void **state)
{
    (void)state;
    struct pl_choice_in in = query();
    in.work[PL_CPU].cpu_ms = 0.01;
    struct pl_choice c = pl_choose_side(&in);
    assert_int_equal(c.side, PL_CPU);
    assert_false(c.prepare);
}

static void slow_memory_makes_kernels_slow(void **state)
{
    (void)state;
    struct pl_choice_in in = ready();
    in.work[PL_GPU].gpu_ms = 2;
    assert_int_equal(pl_choose_side(&in).side, PL_GPU);
    in.bandwidth = 3e11;
    assert_int_equal(pl_choose_side(&in).side, PL_CPU);
}

/* The model takes the GPU for faster; clocks know better. */
static void measured_times_beat_estimates(void **state)
{
    (void)state;
    struct pl_choice_in in = ready();
    in.measured[PL_GPU] = pl_choice_measure(&in, PL_GPU, 40);
    struct pl_choice c = pl_choose_side(&in);
    assert_int_equal(c.side, PL_CPU);
    assert_true(c.cost[PL_GPU].measured && !c.cost[PL_CPU].measured);
    assert_true(c.cost[PL_GPU].run > 39.9 && c.cost[PL_GPU].run < 40.1);
    in.measured[PL_CPU] = pl_choice_measure(&in, PL_CPU, 80);
    assert_int_equal(pl_choose_side(&in).side, PL_GPU);
}

/* With other values the model says another time, and what was measured follows it. */
static void measured_times_follow_the_work(void **state)
{
    (void)state;
    struct pl_choice_in in = ready();
    in.measured[PL_CPU] = pl_choice_measure(&in, PL_CPU, 20);
    double before = pl_choose_side(&in).cost[PL_CPU].run;
    in.work[PL_CPU].cpu_ms *= 10;
    double after = pl_choose_side(&in).cost[PL_CPU].run;
    assert_true(before > 19.9 && before < 20.1 && after > 9 * before);
}

/* Times between four fifths and five fourths of the other side's change nothing, from either side. */
static void sides_are_not_changed_for_little(void **state)
{
    (void)state;
    for (int side = PL_CPU; side <= PL_GPU; side++) {
        struct pl_choice_in in = ready();
        in.last = (enum pl_side)side;
        for (double factor = 0.85; factor < 1.17; factor += 0.02) {
            in.measured[PL_CPU] = pl_choice_measure(&in, PL_CPU, 10);
            in.measured[PL_GPU] = pl_choice_measure(&in, PL_GPU, 10 * factor);
            assert_int_equal(pl_choose_side(&in).side, side);
            assert_false(pl_choose_side(&in).prepare);
        }
    }
    struct pl_choice_in in = ready();
    in.last = PL_GPU;
    in.measured[PL_CPU] = pl_choice_measure(&in, PL_CPU, 7);
    in.measured[PL_GPU] = pl_choice_measure(&in, PL_GPU, 10);
    assert_int_equal(pl_choose_side(&in).side, PL_CPU);
    in.last = PL_CPU;
    in.measured[PL_CPU] = pl_choice_measure(&in, PL_CPU, 0.015); /* half, but of nothing */
    in.measured[PL_GPU] = pl_choice_measure(&in, PL_GPU, 0.007);
    assert_int_equal(pl_choose_side(&in).side, PL_CPU);
}

static void the_reason_names_both_times(void **state)
{
    (void)state;
    char text[320];
    struct pl_choice_in in = query();
    struct pl_choice c = pl_choose_side(&in);
    pl_choice_why(&c, text, sizeof text);
    assert_non_null(strstr(text, "open 250, compile 275, transfer 1"));
    in = ready();
    in.measured[PL_CPU] = pl_choice_measure(&in, PL_CPU, 20);
    c = pl_choose_side(&in);
    pl_choice_why(&c, text, sizeof text);
    assert_string_equal(text, "the GPU needs 0.26 ms (estimated), the CPU 20 (measured)");
    pl_choice_why(&c, text, 12);
    assert_string_equal(text, "the GPU nee");
}

/* ---- work ------------------------------------------------------------------------------ */

static struct pl_work work_of(const char *root)
{
    struct hd_arena a;
    struct pl_options o = {.threads = 1};
    hd_arena_init(&a);
    struct pl_work w = pl_work_of(px_plan(&a, root, &o));
    hd_arena_release(&a);
    return w;
}

static void more_rows_are_more_work(void **state)
{
    (void)state;
    struct pl_work few = work_of("{'op':'aggregate','keys':['grp'],'aggs':[{'fn':'sum','arg':'amount','as':'s'}],"
                                 "'input':{'op':'scan','table':'parent'}}");
    struct pl_work many = work_of("{'op':'aggregate','keys':['tag'],'aggs':[{'fn':'sum','arg':'qty','as':'s'}],"
                                  "'input':{'op':'scan','table':'child'}}");
    struct pl_work pairs = work_of("{'op':'aggregate','keys':[],'aggs':[{'fn':'count','as':'n'}],'input':{'op':'join',"
                                   "'kind':'inner','on':[],'residual':'qty < amount','left':{'op':'scan','table':"
                                   "'child'},'right':{'op':'scan','table':'parent'}}}");
    assert_true(few.cpu_ms > 0 && few.gpu_ms > 0);
    assert_true(many.cpu_ms > 3 * few.cpu_ms && many.gpu_ms > 3 * few.gpu_ms);
    assert_true(pairs.cpu_ms > 10 * many.cpu_ms);
    assert_true(many.gpu_ms < many.cpu_ms / 20);
}

/* A scan costs what its zones have. */
static void zones_are_less_work(void **state)
{
    (void)state;
#define COUNTED(filter) \
    work_of( \
        "{'op':'aggregate','keys':[],'aggs':[{'fn':'sum','arg':'qty','as':'s'}],'input':{'op':'scan','table':'child'," \
        "'filter':'" filter "'}}")
    struct pl_work all = COUNTED("oid >= 0"), half = COUNTED("oid >= 5000"), none = COUNTED("oid < 0");
    assert_true(half.cpu_ms < 0.7 * all.cpu_ms && half.gpu_ms < 0.7 * all.gpu_ms);
    assert_true(none.cpu_ms < 0.01 * all.cpu_ms);
#undef COUNTED
}

static void longer_code_compiles_longer(void **state)
{
    (void)state;
    struct pl_work one = work_of("{'op':'project','exprs':[{'expr':'id + 1','as':'a'}],'input':{'op':'scan',"
                                 "'table':'parent'}}");
    struct pl_work two = work_of("{'op':'project','exprs':[{'expr':'id + 1','as':'a'},{'expr':'amount * 2 - id','as':"
                                 "'b'}],'input':{'op':'scan','table':'parent'}}");
    assert_true(one.cpu_code > 0 && two.cpu_code > one.cpu_code && two.gpu_code > one.gpu_code);
}

/* Some ten rows of a few groups are, a loop over a thousand is not. */
static void few_rows_are_for_the_cpu(void **state)
{
    (void)state;
    struct pl_work few = {.cpu_ms = 0.0005, .begun = 2}, many = {.cpu_ms = 0.2, .begun = 2};
    assert_true(pl_cpu_has_few(&few));
    assert_false(pl_cpu_has_few(&many));
}

/* Long queries gain by several GPUs, short ones and those that send much do not; what does not fit one has no choice. */
static void several_gpus_must_gain(void **state)
{
    (void)state;
    char why[200];
    struct pl_devices_in in = {
        .work = {.gpu_ms = 40, .begun = 2}, .devices = 4, .fits = true, .fragments = 2, .last = PL_NO_SPREAD};
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 4);
    assert_non_null(strstr(why, "on one GPU"));
    in.bytes = 4e9;
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 1);
    in.link = 300e9; /* a tenth of the time */
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 4);
    in.link = 40e9;
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 1);
    in.bytes = 0;
    in.work.gpu_ms = 0.1;
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 1);
    in.fits = false;
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 4);
}

static void rows_that_are_there_do_not_travel(void **state)
{
    (void)state;
    assert_float_equal(pl_link_bytes(100, 1, false), 0, 1e-9);
    assert_float_equal(pl_link_bytes(100, 4, false), 75, 1e-9);
    assert_float_equal(pl_link_bytes(100, 4, true), 18.75, 1e-9);
}

/* An execution that took so long where the plan is now. */
static void took(struct pl_devices_in *in, double ms, bool ripe)
{
    char why[200];
    enum pl_spread where = pl_choose_devices(in, why, sizeof why) > 1 ? PL_SEVERAL : PL_ONE;
    struct pl_tried *t = &in->tried[where];
    double measured = pl_devices_measure(in, where, ms);
    t->least = t->n ? HD_MIN(t->least, measured) : measured;
    t->n++;
    t->ripe += ripe;
    in->last = where;
}

/* Executions, each with the number of devices that it is on; they take so long on one and on all. */
static void runs(struct pl_devices_in *in, double one, double several, const char *devices)
{
    char why[200];
    for (; *devices; devices++) {
        int n = pl_choose_devices(in, why, sizeof why);
        assert_int_equal(n, *devices - '0');
        assert_true(pl_devices_may_gain(in) || n == 1);
        took(in, n == 1 ? one : several, true);
    }
}

static struct pl_devices_in spread(double gpu_ms)
{
    return (struct pl_devices_in){
        .work = {.gpu_ms = gpu_ms, .begun = 2}, .devices = 2, .fits = true, .fragments = 2, .last = PL_NO_SPREAD};
}

/* Each is tried four times where it may be the faster one, then the faster one stays. */
static void executions_tell_how_many(void **state)
{
    (void)state;
    struct pl_devices_in in = spread(0.5), back = spread(0.5), lost = spread(10), won = spread(10), never = spread(0.2);
    runs(&in, 1, 0.7, "1111222222");
    runs(&back, 0.7, 1, "1111222211111111");
    runs(&lost, 9, 12, "2222111111");
    runs(&won, 9, 7, "222211112222");
    runs(&never, 0.15, 0.05, "11111111");
}

/* Where the slower one is a quarter above the faster one at most, both are tried twelve times, each in a row. */
static void what_is_near_is_tried_for_longer(void **state)
{
    (void)state;
    struct pl_devices_in in = spread(0.5), lost = spread(0.5), won = spread(10), same = spread(0.5);
    runs(&in, 1, 0.85,
         "1111"
         "222222222222"
         "11111111"
         "22222222");
    runs(&lost, 1, 1.2,
         "1111"
         "222222222222"
         "11111111"
         "11111111");
    runs(&won, 9, 8,
         "2222"
         "111111111111"
         "22222222"
         "22222222");
    runs(&same, 1, 0.98,
         "1111"
         "222222222222"
         "11111111"
         "11111111");
}

/* What gets faster once it is warm is found, and ends the trial as soon as the other one is not near any more. */
static void a_warm_execution_may_be_faster(void **state)
{
    (void)state;
    char why[200];
    struct pl_devices_in in = spread(0.5), far = spread(0.5);
    runs(&in, 1.59, 1.67,
         "1111"
         "2222");
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 2);
    assert_non_null(strstr(why, "; several are tried"));
    runs(&in, 1.59, 1.34,
         "22222222"
         "11111111"
         "22222222");
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 2);
    assert_null(strstr(why, "tried"));
    runs(&far, 1.59, 1.67,
         "1111"
         "2222");
    runs(&far, 1.59, 1.2, "2222222222222222");
}

/* What several take by estimates, and what one took, do not tell that one is slower for sure; but far less does. */
static void what_is_slower_for_sure_is_not_tried(void **state)
{
    (void)state;
    struct pl_devices_in in = spread(100);
    runs(&in, 100, 20, "2222222");
    in = spread(100);
    in.bytes = 4e9; /* as long over the fastest link as one takes */
    runs(&in, 10, 1, "1111111");
}

/* A first tier does not count, but is not waited for without end. */
static void a_first_tier_is_no_trial(void **state)
{
    (void)state;
    char why[200];
    struct pl_devices_in in = spread(0.5);
    for (int i = 0; i < 5; i++)
        took(&in, 1.3, false);
    assert_int_equal(in.tried[PL_ONE].n, 5);
    runs(&in, 1, 0.7, "111122222");
    in = spread(0.5);
    for (int i = 0; i < 12; i++)
        took(&in, 1.3, false);
    assert_int_equal(in.tried[PL_ONE].n, 12);
    assert_int_equal(pl_choose_devices(&in, why, sizeof why), 2);
    assert_non_null(strstr(why, "; several are tried"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_execution_waits_for_no_gpu),
        cmocka_unit_test(what_is_there_costs_nothing),
        cmocka_unit_test(each_missing_part_counts),
        cmocka_unit_test(a_long_query_waits_for_the_gpu),
        cmocka_unit_test(a_busy_gpu_is_waited_for_by_long_queries),
        cmocka_unit_test(a_gpu_that_gains_nothing_is_left_alone),
        cmocka_unit_test(slow_memory_makes_kernels_slow),
        cmocka_unit_test(measured_times_beat_estimates),
        cmocka_unit_test(measured_times_follow_the_work),
        cmocka_unit_test(sides_are_not_changed_for_little),
        cmocka_unit_test(the_reason_names_both_times),
        cmocka_unit_test(few_rows_are_for_the_cpu),
        cmocka_unit_test(several_gpus_must_gain),
        cmocka_unit_test(rows_that_are_there_do_not_travel),
        cmocka_unit_test(executions_tell_how_many),
        cmocka_unit_test(what_is_near_is_tried_for_longer),
        cmocka_unit_test(a_warm_execution_may_be_faster),
        cmocka_unit_test(what_is_slower_for_sure_is_not_tried),
        cmocka_unit_test(a_first_tier_is_no_trial),
        cmocka_unit_test(more_rows_are_more_work),
        cmocka_unit_test(zones_are_less_work),
        cmocka_unit_test(longer_code_compiles_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
