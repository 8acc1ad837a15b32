/* What a program is compiled for and runs on: a row of functions for each. Everything above it is the same for all. */
#ifndef HEDDLE_API_BACKEND_H
#define HEDDLE_API_BACKEND_H

#include "api/api_statement.h"
#include "runtime/base/strbuf.h"

/* Text that `explain` shows. */
struct api_stage {
    const char *name; /* NULL ends a list */
    int (*show)(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err);
};

struct rt_fragment_options;
struct rt_fragment_rows;
struct rt_gpu_columns;
struct rt_gpu_received_column;
struct rt_gpu_send;
struct rt_gpu_sent;
struct rt_device_memory;

/* Where an execution's rows go: the one that is not NULL. */
struct api_output {
    struct ArrowArrayStream *stream; /* on the host */
    struct rt_fragment_rows **rows; /* on the host, as columns for other fragments, which `how` says how to make */
    const struct rt_fragment_options *how;
    struct rt_gpu_columns **columns; /* on the device, of a backend that has one */
    const struct rt_gpu_send *send; /* likewise, as rows that other devices read */
};

/* Rows that go from GPU to GPU; see runtime/gpu/gpu_sent.h. */
struct api_exchange_ops {
    /* As columns on the context's device `slot`. */
    int (*receive)(struct heddle_statement *s, int slot, struct rt_gpu_sent *const *from, int n, int part,
                   struct rt_gpu_received_column *column, int ncolumns, struct rt_gpu_columns **out,
                   struct hd_err *err);
    void (*give_back)(struct rt_gpu_sent *s);
    void (*free)(struct rt_gpu_sent *s);
};

/* Of a backend that has to be opened. */
struct api_late {
    /* Whether it is open. Does not wait; where it is not there, *why (of n bytes) says so. */
    enum api_gpu_state (*state)(const heddle_context *c, struct api_engine *e, char *why, size_t n);
    int (*open)(heddle_context *c, struct api_engine *e, struct hd_err *err);
    /* Bytes of tables that a planned program reads. */
    uint64_t (*bytes)(const struct api_program *p);
    /* Of one that is not open: whether the cache on disk has all code of an emitted program, as far as is known. */
    bool (*stored)(const heddle_context *c, const struct api_program *p);
    /* Of an open one: what is there of an emitted program. False: it is too busy to tell. */
    bool (*look)(struct api_engine *e, struct api_program *p, struct pl_choice_in *in, bool *fits);
    /* Compiles the emitted program and uploads what it reads. Any thread; CANCELLED once stop is set. */
    int (*get_ready)(struct api_program *p, int threads, const struct hd_stop *stop, struct hd_err *err);
    /* Of an open one: compiles optimised code of an emitted program that runs in its first tier. Any thread; CANCELLED once
     * stop is set. NULL: what there is of code is optimised, or somebody else sees to it. */
    int (*optimise)(struct api_program *p, int threads, const struct hd_stop *stop, struct hd_err *err);
    /* Of an open one: compiles one more piece of what programs have in common, from *at on. False: there is none. */
    bool (*warm_next)(struct api_engine *e, int *at, const struct hd_stop *stop);
};

struct api_backend {
    const char *name; /* in options and reports */
    enum pl_side side; /* CPU: pipelines run on the statement's host threads, which the planner counts */
    /* Decides what of tables is on the device, as far as it is known how much memory there is. NULL: all is where it is. */
    int (*place)(const struct heddle_statement *s, struct api_program *p, struct hd_err *err);
    /* Code of p->pl, into c. */
    int (*emit)(struct api_program *p, struct api_code *c, const struct cg_options *o, struct hd_err *err);
    /* Whether what `compile` made is there and good. */
    bool (*compiled)(struct heddle_statement *s, struct api_code *c);
    /* Compiles code of the statement's program, or finds it compiled; fills t->how and t->open. */
    int (*compile)(struct heddle_statement *s, struct api_code *c, struct api_times *t, struct hd_err *err);
    /* Runs it, and fills e->stats, also on failure, and e->times.result. out NULL: nobody wants the rows. */
    int (*run)(struct heddle_statement *s, const struct api_code *c, struct api_execution *e,
               const struct api_output *out, struct hd_err *err);
    /* The rows of an execution of s, which are on its device, as a stream of one batch; columns stay the caller's on failure.
     * NULL: rows are made on the host. */
    int (*give)(struct heddle_statement *s, struct rt_gpu_columns *columns, struct ArrowDeviceArrayStream *out,
                struct hd_err *err);
    /* What `compile` made goes. */
    void (*release)(struct api_program *p, struct api_code *c);
    /* Members of the report: about the backend; about pipeline i, NULL if there are none. */
    void (*report)(struct hd_strbuf *b, const struct heddle_statement *s);
    void (*report_pipeline)(struct hd_strbuf *b, const struct heddle_statement *s, int i);
    /* What traffic of its memory is made of (runtime/exec/traffic.h), with profile. */
    struct rt_memory_model (*memory)(struct heddle_statement *s);
    const struct api_stage *stages;
    /* Its part of a context's engine; closed once opened, even if another backend's could not be. */
    int (*open_engine)(const heddle_context *c, struct api_engine *e, struct hd_err *err);
    /* Before the thread pool goes, which finishes what it was asked for. NULL: so it shall. */
    void (*quit_engine)(struct api_engine *e);
    void (*close_engine)(struct api_engine *e);
    /* What takes long before the first execution, and can be done behind others; NULL: nothing does. */
    const struct api_late *late;
    /* How many devices this machine has; whether one that a context uses was lost, and that was not seen to yet. NULL: it is
     * the host. */
    int (*devices)(void);
    /* Bytes a second from one to another of these devices; 0: not known. NULL likewise. */
    double (*link)(const int *devices, int n);
    bool (*lost)(struct api_engine *e, int slot);
    /* Bytes of device memory that a context's device has for tables and states; 0: not known, as it is not open. */
    uint64_t (*room)(const heddle_context *c, struct api_engine *e, int slot);
    const struct api_exchange_ops *exchange; /* NULL: it has no devices */
    void (*free_columns)(struct rt_gpu_columns *c);
    /* Waits for the event of whoever made an array of the device. NULL: it has no events. */
    int (*wait)(heddle_context *c, void *event, struct hd_err *err);
    /* Compiles what its programs have in common for an architecture, NULL: that of the context's device; JSON text. NULL:
     * they have nothing. */
    int (*warm)(heddle_context *c, const char *arch, struct hd_strbuf *out, struct hd_err *err);
    /* Its device's memory for a table that lies there, until that is released. NULL: it has none. */
    int (*memory_of)(heddle_context *c, struct rt_device_memory *out, struct hd_err *err);
    /* A table goes; NULL: nothing is kept of tables. */
    void (*forget)(heddle_context *c, const struct fe_table *t);
    /* Members of the object that heddle_context_info writes, a comma before each. */
    void (*info)(struct hd_strbuf *b);
};

extern const struct api_backend api_backend_cpu, api_backend_cuda;

/* Compiles the present program and runs it, planning what is left to. */
int api_statement_execute(struct heddle_statement *s, const struct api_output *out, struct hd_err *err);

/* All that this build has. */
int api_backends_open(const heddle_context *c, struct api_engine *e, struct hd_err *err);
void api_backends_quit(struct api_engine *e);
void api_backends_close(struct api_engine *e);
void api_backends_forget(heddle_context *c, const struct fe_table *t);
/* Of the backend with devices: how many there are. */
int api_backends_devices(void);
double api_backends_link(const int *devices, int n);
bool api_backends_lost(struct api_engine *e, int slot);
/* Of the backend with a device; UNSUPPORTED if there is none. */
int api_backends_wait(heddle_context *c, void *event, struct hd_err *err);
int api_backends_warm(heddle_context *c, const char *arch, struct hd_strbuf *out, struct hd_err *err);
int api_backends_memory(heddle_context *c, struct rt_device_memory *out, struct hd_err *err);
void api_backends_info(struct hd_strbuf *b);
/* The stage of n bytes of name in a list; NULL: none. */
const struct api_stage *api_stage_find(const struct api_stage *list, const char *name, size_t n);
/* The same in the lists of all backends. USER if there is none, with the names of all, first those of `own`;
 * RESOURCE if it is of a backend that the build is without. */
int api_backend_stage(const struct api_stage *own, const char *name, size_t n, const struct api_stage **out,
                      struct hd_err *err);

/* USER unless the name is one of a backend, or "auto"; RESOURCE if the build is without it. */
int api_backend_check(const char *name, struct hd_err *err);
/* The one of that name, which has been checked; NULL: "auto", and there are several. That a backend is not there is told
 * when the statement is to run: plans can be explained without. */
const struct api_backend *api_backend_named(const char *name);
/* NULL: the build is without it. */
const struct api_backend *api_backend_of(enum pl_side side);

#endif
