/* The choice between a CPU and a GPU for one execution, by cost: the time until the last row, with what is not there yet:
 * a GPU that is not open, code that is not compiled, columns that are not in the GPU's memory. A pure function of what
 * is known at that moment, so that it can be tested without either. */
#ifndef HEDDLE_PLANNER_CHOICE_H
#define HEDDLE_PLANNER_CHOICE_H

#include "planner/work.h"

enum pl_side { PL_CPU, PL_GPU, PL_SIDES, PL_NO_SIDE = PL_SIDES };

/* Of compiled code. */
enum pl_code {
    PL_CODE_ABSENT,
    PL_CODE_STORED, /* in the cache on disk */
    PL_CODE_LOADED
};

/* Over a GPU that a plan's states do not fit (docs/scale.md). */
struct pl_choice_passes {
    int n; /* 0 and 1: one */
    int fragments; /* that the plan is cut into, each of which every pass may have to run */
    double exchanged; /* bytes that go through the host's memory */
};

struct pl_choice_in {
    struct pl_work work[PL_SIDES]; /* of the programs for either */
    int threads; /* of the CPU that run and compile */
    enum pl_code code[PL_SIDES];
    /* What executions have told: the time of one as a multiple of what the model says; 0: none has. */
    double measured[PL_SIDES];
    bool gpu_open, gpu_busy; /* busy: others execute on it, for some time already */
    double gpu_open_ms; /* it will take; 0: the usual */
    double bandwidth; /* of the GPU's memory, bytes a second; 0: that of a large one */
    double upload; /* bytes of columns and indexes that are not on the GPU */
    struct pl_choice_passes
        passes; /* with more than one, code[PL_GPU] is that of the fragments, and `tables` bytes are read by each */
    double tables;
    enum pl_side last; /* where the execution before ran, PL_NO_SIDE: there was none */
};

/* Milliseconds. */
struct pl_choice_cost {
    double open, wait, compile, transfer, run, all;
    bool measured; /* run follows from executions */
};

struct pl_choice {
    enum pl_side side;
    bool prepare; /* the GPU would be faster but for what is not there yet: it is to be brought behind */
    struct pl_choice_cost cost[PL_SIDES];
};

struct pl_choice pl_choose_side(const struct pl_choice_in *in);
/* The reason in one line, of at most n bytes. */
void pl_choice_why(const struct pl_choice *c, char *text, size_t n);
/* What an execution tells for pl_choice_in.measured: `ms` that it took beside opening, compiling and transfer. */
double pl_choice_measure(const struct pl_choice_in *in, enum pl_side side, double ms);

/* Whether a thread of the CPU is done with a program over few rows, which are on the host, before a GPU would be, to which they
 * are brought. work: of the program for the CPU, whose code is there or quickly made. */
bool pl_cpu_has_few(const struct pl_work *work);

/* Bytes of a fragment's rows over the links of the worker that receives most, of so many workers that made as many of them each: its
 * own do not travel. shuffled: it receives its part of the others', else all. */
double pl_link_bytes(double bytes, int workers, bool shuffled);

/* Whether a plan runs on several GPUs or on one of them, by cost: by estimates, then by what executions took. */
enum pl_spread { PL_ONE, PL_SEVERAL, PL_SPREADS, PL_NO_SPREAD = PL_SPREADS };

/* Executions on one GPU, or on all. */
struct pl_tried {
    int n, ripe; /* all; those of code that further ones run, too: no first tier */
    double least; /* of the ripe ones if there are any: as in pl_choice_in.measured */
};

struct pl_devices_in {
    struct pl_work work; /* of the program for one */
    int devices;
    double link; /* bytes a second from one to another; 0: not known */
    bool fits; /* all that the plan reads of tables does, into the memory of one */
    int fragments; /* that it is cut into (planner/distribute.h); 0: not cut yet, at least one and what it sends nothing */
    double bytes; /* that fragments send */
    struct pl_tried tried[PL_SPREADS];
    enum pl_spread last; /* where the execution before ran; PL_NO_SPREAD: there was none that counts */
};
/* How many: in->devices or 1. The reason in one line, of at most n bytes. What is not known from executions, and may be the
 * faster one, is tried four times; where both are near, each twelve times. */
int pl_choose_devices(const struct pl_devices_in *in, char *why, size_t n);
/* Whether several may be worth an execution, as far as is known now: else the plan need not be cut. */
bool pl_devices_may_gain(const struct pl_devices_in *in);
/* What an execution tells for pl_tried.least. */
double pl_devices_measure(const struct pl_devices_in *in, enum pl_spread where, double ms);

#endif
