/* What a program is compiled for and runs on: a row of functions for each. Everything above it is the same for all. */
#ifndef HEDDLE_API_BACKEND_H
#define HEDDLE_API_BACKEND_H

#include "api/api_statement.h"
#include "runtime/base/strbuf.h"

struct api_backend {
    const char *name; /* in options and reports */
    bool on_threads;  /* pipelines run on the statement's host threads, which the planner counts */
    /* Whether `auto` may take it: it is there. */
    bool (*available)(struct heddle_statement *s);
    /* Code of p->pl, into p. */
    int (*emit)(struct api_program *p, const struct cg_options *o, struct hd_err *err);
    /* Whether what `compile` made is there and good. */
    bool (*compiled)(struct heddle_statement *s);
    /* Compiles the statement's program, or finds it compiled; fills times.how and times.open. */
    int (*compile)(struct heddle_statement *s, struct hd_err *err);
    /* Runs it, and fills stats, also on failure, and times.result. */
    int (*run)(struct heddle_statement *s, struct ArrowArrayStream *out, struct hd_err *err);
    /* What `compile` made goes. */
    void (*release)(struct heddle_statement *s);
    /* Members of the report: about the backend; about pipeline i, NULL if there are none. */
    void (*report)(struct hd_strbuf *b, const struct heddle_statement *s);
    void (*report_pipeline)(struct hd_strbuf *b, const struct heddle_statement *s, int i);
};

extern const struct api_backend api_backend_cpu, api_backend_cuda;

/* USER unless the name is one of a backend, or "auto". */
int api_backend_check(const char *name, struct hd_err *err);
/* The one of that name, which has been checked; "auto": the first that is available. That a backend is not there is
 * told when the statement is to run: plans can be explained without. */
const struct api_backend *api_backend_choose(struct heddle_statement *s, const char *name);

#endif
