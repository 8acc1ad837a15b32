#include "planner/choice.h"

#include <stdio.h>

/* ---- what the model knows of machines, in milliseconds --------------------------------- */

/* Opening a GPU takes 220 to 270 ms once in a process (docs/performance.md, "Plan and code generation"). */
static const double open_ms = 250;
/* NVRTC, sources side by side on 16 cores of an H200's host: what fixed kernels take, and what the largest kernel is long; the
 * queries of TPC-H took 147 to 636 ms, in the mean 318. From the cache on disk 1.2 ms, at most 2.5. */
static const double gpu_compile_ms = 200, gpu_compile_ms_of_code = 2.5, gpu_stored_ms = 2.5;
/* Until there is code without optimisation, LLVM on two threads: 7.8 ms (TPC-H Q6) to 10.6 (Q21). */
static const double cpu_compile_ms = 6, cpu_compile_ms_of_code = 0.1, cpu_stored_ms = 1;
/* Mapped files are pageable: 9 GB/s to an H200 (56 from page-locked memory). */
static const double upload_bytes_of_ms = 9e6;
/* Others' executions, of which it is known only that one is not over yet. */
static const double busy_ms = 20;
/* Launches, the check of states, reading the result: TPC-H at SF 1 takes 0.3 ms a query. */
static const double gpu_ms = 0.1, gpu_ms_of_pipeline = 0.03;
/* A fragment in a pass, and what goes through the host's memory on all its threads. */
static const double pass_ms = 0.5, pass_bytes_of_ms = 2e6;
/* Threads are woken for each pipeline. */
static const double cpu_ms = 0.02, cpu_ms_of_pipeline = 0.01;
/* Of an H200, which planner/work.c tells times of; slower memory makes kernels slower. */
static const double large_bandwidth = 4.8e12;
/* A change of sides must gain a fifth, and what two clocks cannot tell apart is no gain. */
static const double gain = 0.8, noise_ms = 0.02;

/* Each pass may read all tables again. What passes exchange goes to the host and back, and is put in order there. */
static double more_passes_ms(const struct pl_choice_in *in)
{
    const struct pl_choice_passes *p = &in->passes;
    double bandwidth = in->bandwidth > 0 ? in->bandwidth : large_bandwidth;
    if (p->n <= 1)
        return 0;
    return p->n * (p->fragments * pass_ms + in->tables / bandwidth * 1e3) + p->exchanged / pass_bytes_of_ms;
}

static double gpu_model_ms(const struct pl_choice_in *in)
{
    const struct pl_work *w = &in->work[PL_GPU];
    double slower = in->bandwidth > 0 ? large_bandwidth / in->bandwidth : 1;
    return gpu_ms + gpu_ms_of_pipeline * w->begun + w->gpu_ms * slower + more_passes_ms(in);
}

static double cpu_model_ms(const struct pl_choice_in *in)
{
    const struct pl_work *w = &in->work[PL_CPU];
    return cpu_ms + cpu_ms_of_pipeline * w->begun + w->cpu_ms / HD_MAX(in->threads, 1);
}

static double model_ms(const struct pl_choice_in *in, enum pl_side side)
{
    return side == PL_GPU ? gpu_model_ms(in) : cpu_model_ms(in);
}

/* ---- both costs ------------------------------------------------------------------------ */

static double compile_ms(const struct pl_choice_in *in, enum pl_side side)
{
    const struct pl_work *w = &in->work[side];
    switch (in->code[side]) {
    case PL_CODE_LOADED: return 0;
    case PL_CODE_STORED: return side == PL_GPU ? gpu_stored_ms : cpu_stored_ms;
    case PL_CODE_ABSENT: break;
    }
    return side == PL_GPU ? gpu_compile_ms + gpu_compile_ms_of_code * w->gpu_code
                          : cpu_compile_ms + cpu_compile_ms_of_code * w->cpu_code / HD_MIN(HD_MAX(in->threads, 1), 2);
}

static struct pl_choice_cost cost_of(const struct pl_choice_in *in, enum pl_side side)
{
    bool gpu = side == PL_GPU, measured = in->measured[side] > 0;
    struct pl_choice_cost c = {.compile = compile_ms(in, side), .measured = measured};
    if (gpu && !in->gpu_open)
        c.open = in->gpu_open_ms > 0 ? in->gpu_open_ms : open_ms;
    if (gpu && in->gpu_busy)
        c.wait = busy_ms;
    if (gpu)
        c.transfer = HD_MAX(in->passes.n, 1) * in->upload / upload_bytes_of_ms;
    c.run = model_ms(in, side) * (measured ? in->measured[side] : 1);
    c.all = c.open + c.wait + c.compile + c.transfer + c.run;
    return c;
}

/* ---- the choice ------------------------------------------------------------------------ */

static bool is_gain(double from, double to)
{
    return to < from * gain && to < from - noise_ms;
}

struct pl_choice pl_choose_side(const struct pl_choice_in *in)
{
    struct pl_choice c = {.cost = {[PL_CPU] = cost_of(in, PL_CPU), [PL_GPU] = cost_of(in, PL_GPU)}};
    const struct pl_choice_cost *cpu = &c.cost[PL_CPU], *gpu = &c.cost[PL_GPU];
    if (in->last == PL_GPU)
        c.side = is_gain(gpu->all, cpu->all) ? PL_CPU : PL_GPU;
    else
        c.side = is_gain(cpu->all, gpu->all) ? PL_GPU : PL_CPU;
    c.prepare = c.side == PL_CPU && in->passes.n <= 1 && is_gain(cpu->run, gpu->run) &&
                gpu->open + gpu->compile + gpu->transfer > 0;
    return c;
}

static const char *const names[PL_SIDES] = {"CPU", "GPU"};

static const char *told(const struct pl_choice_cost *c)
{
    return c->measured ? "measured" : "estimated";
}

void pl_choice_why(const struct pl_choice *c, char *text, size_t n)
{
    const struct pl_choice_cost *gpu = &c->cost[PL_GPU], *mine = &c->cost[c->side];
    enum pl_side other = c->side == PL_CPU ? PL_GPU : PL_CPU;
    if (c->side == PL_CPU && gpu->wait > 0)
        snprintf(text, n, "the CPU needs %.3g ms; the GPU would %.3g, but is busy with other queries", mine->all,
                 gpu->run);
    else if (c->prepare)
        snprintf(text, n,
                 "the CPU needs %.3g ms; the GPU would %.3g, but %.3g first: open %.3g, compile %.3g, transfer %.3g; "
                 "that is done behind",
                 mine->all, gpu->run, gpu->all - gpu->run, gpu->open, gpu->compile, gpu->transfer);
    else
        snprintf(text, n, "the %s needs %.3g ms (%s), the %s %.3g (%s)", names[c->side], mine->all, told(mine),
                 names[other], c->cost[other].all, told(&c->cost[other]));
}

double pl_choice_measure(const struct pl_choice_in *in, enum pl_side side, double ms)
{
    return ms / model_ms(in, side);
}

/* ---- few rows on the host ---------------------------------------------------------------- */

/* What an H200 takes at least for a last fragment of TPC-H over few rows with strings, mostly for uploading columns one by one
 * (0.07 to 0.14 ms). One thread of the CPU takes 0.004 to 0.03 for those of Q1, Q4, Q5, Q9 and Q12: nobody is woken. */
static const double few_gpu_ms = 0.07;

bool pl_cpu_has_few(const struct pl_work *work)
{
    return work->cpu_ms < few_gpu_ms;
}

/* ---- several GPUs ----------------------------------------------------------------------- */

/* A fragment has launches and a result of its own, which threads wait for: on two H200, TPC-H at SF 100, prepared
 * statements, 0.02 to 0.1 ms beside its kernels (docs/scale.md, "Two GPUs, measured"). Rows go
 * from GPU to GPU as over PCIe where nobody knows the link. */
static const double fragment_ms = 0.1, exchange_bytes_of_ms = 40e6;
/* The least that a fragment took there, and what NVLink of one H200 gives: what several GPUs cannot be faster than. */
static const double least_fragment_ms = 0.03, most_exchange_bytes_of_ms = 326e6;
/* Of one GPU, the time that it may take is the estimate by this: docs/performance.md, "Estimates of a GPU's time". */
static const double overestimate = 2;
/* One GPU keeps what several do not gain a twentieth of. */
static const double worth = 0.95;

/* One way is near the other as long as its least time is a quarter above that at most. */
static const double near = 1.25;

enum {
    TRIALS = 4, /* ripe executions of which the fastest counts: the first finds cold caches */
    /* Of what is near. The first executions on several GPUs find no graphs, and pools of memory that grow: on two H200,
     * TPC-H Q18 at SF 100 took 1.67 ms in the first four, and 1.34 once it was warm. */
    NEAR_TRIALS = 12,
    UNRIPE = 8, /* executions beyond these end a trial, however few are ripe */
};

static double alone_model_ms(const struct pl_devices_in *in)
{
    return gpu_model_ms(&(struct pl_choice_in){.work = {[PL_GPU] = in->work}});
}

static double spread_ms(const struct pl_devices_in *in, double alone, double of_fragment, double of_bytes)
{
    return alone / in->devices + of_fragment * HD_MAX(in->fragments, 1) + in->bytes / of_bytes;
}

static double bytes_of_ms(const struct pl_devices_in *in)
{
    return in->link > 0 ? in->link / 1e3 : exchange_bytes_of_ms;
}

static double devices_model_ms(const struct pl_devices_in *in, enum pl_spread where)
{
    double alone = alone_model_ms(in);
    return where == PL_ONE ? alone : spread_ms(in, alone, fragment_ms, bytes_of_ms(in));
}

double pl_devices_measure(const struct pl_devices_in *in, enum pl_spread where, double ms)
{
    return ms / devices_model_ms(in, where);
}

static double devices_ms(const struct pl_devices_in *in, enum pl_spread where)
{
    const struct pl_tried *t = &in->tried[where];
    return devices_model_ms(in, where) * (t->n ? t->least : 1);
}

static bool is_tried(const struct pl_tried *t, int trials)
{
    return t->ripe >= trials || t->n >= trials + UNRIPE;
}

/* The least that it could take, judged by the other one's executions. */
static double at_best(const struct pl_devices_in *in, enum pl_spread where)
{
    if (where == PL_ONE)
        return alone_model_ms(in) / overestimate;
    return spread_ms(in, devices_ms(in, PL_ONE), least_fragment_ms, HD_MAX(bytes_of_ms(in), most_exchange_bytes_of_ms));
}

bool pl_devices_may_gain(const struct pl_devices_in *in)
{
    double one = devices_ms(in, PL_ONE);
    return !in->fits || in->tried[PL_SEVERAL].n > 0 || is_gain(one, devices_model_ms(in, PL_SEVERAL)) ||
           is_gain(one, at_best(in, PL_SEVERAL));
}

/* Where a trial goes on: here, in a row, then on the other side; PL_NO_SPREAD: both have had so many. */
static enum pl_spread in_trial(const struct pl_devices_in *in, int trials)
{
    enum pl_spread here = in->last, other = here == PL_ONE ? PL_SEVERAL : PL_ONE;
    if (!is_tried(&in->tried[here], trials))
        return here;
    return is_tried(&in->tried[other], trials) ? PL_NO_SPREAD : other;
}

/* The faster one stays; what is as fast does not move. */
static enum pl_spread faster(const struct pl_devices_in *in)
{
    double one = devices_ms(in, PL_ONE), several = devices_ms(in, PL_SEVERAL);
    return several < one * (in->last == PL_ONE ? worth : 1) ? PL_SEVERAL : PL_ONE;
}

static bool are_near(const struct pl_devices_in *in)
{
    double one = devices_ms(in, PL_ONE), several = devices_ms(in, PL_SEVERAL);
    return one <= several * near && several <= one * near;
}

/* Before any execution estimates decide; then whatever was begun is tried, then the other one if it may be faster; both for
 * longer where they are near; then the faster one stays. */
static enum pl_spread choose_spread(const struct pl_devices_in *in)
{
    if (in->last == PL_NO_SPREAD)
        return is_gain(devices_ms(in, PL_ONE), devices_ms(in, PL_SEVERAL)) ? PL_SEVERAL : PL_ONE;
    enum pl_spread to = in_trial(in, TRIALS);
    if (to != PL_NO_SPREAD) /* the other one may be slower for sure: then it is never tried */
        return to == in->last || is_gain(devices_ms(in, in->last), at_best(in, to)) ? to : in->last;
    if (are_near(in) && (to = in_trial(in, NEAR_TRIALS)) != PL_NO_SPREAD)
        return to;
    return faster(in);
}

/* Whether an execution there is one of a trial. */
static bool is_trial(const struct pl_devices_in *in, enum pl_spread to)
{
    const struct pl_tried *t = in->tried;
    bool both = is_tried(&t[PL_ONE], TRIALS) && is_tried(&t[PL_SEVERAL], TRIALS);
    return in->last != PL_NO_SPREAD && !is_tried(&t[to], both && are_near(in) ? NEAR_TRIALS : TRIALS);
}

static const char *known(const struct pl_tried *t)
{
    return t->n ? "measured" : "estimated";
}

double pl_link_bytes(double bytes, int workers, bool shuffled)
{
    double received = bytes * (workers - 1) / workers;
    return shuffled ? received / workers : received;
}

int pl_choose_devices(const struct pl_devices_in *in, char *why, size_t n)
{
    if (!in->fits) {
        snprintf(why, n, "the plan does not fit the memory of one GPU");
        return in->devices;
    }
    enum pl_spread to = choose_spread(in);
    const struct pl_tried *one = &in->tried[PL_ONE], *several = &in->tried[PL_SEVERAL];
    bool tries = is_trial(in, to);
    int at = snprintf(why, n, "%.3g ms on one GPU (%s), %.3g on %d (%s)", devices_ms(in, PL_ONE), known(one),
                      devices_ms(in, PL_SEVERAL), in->devices, known(several));
    if (tries && at > 0 && (size_t)at < n)
        snprintf(why + at, n - (size_t)at, "; %s tried", to == PL_ONE ? "one is" : "several are");
    return to == PL_SEVERAL ? in->devices : 1;
}
