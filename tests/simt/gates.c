#include "tests/simt/gates.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/simt/session.h"
#include "tests/simt/sim_compiler.h"

pthread_mutex_t gates_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t gates_changed = PTHREAD_COND_INITIALIZER;

void set(enum gate *g, enum gate to)
{
    pthread_mutex_lock(&gates_lock);
    *g = to;
    pthread_cond_broadcast(&gates_changed);
    pthread_mutex_unlock(&gates_lock);
}

enum gate pass(const enum gate *g, int *count)
{
    pthread_mutex_lock(&gates_lock);
    ++*count;
    pthread_cond_broadcast(&gates_changed);
    while (*g == SHUT)
        pthread_cond_wait(&gates_changed, &gates_lock);
    enum gate found = *g;
    pthread_mutex_unlock(&gates_lock);
    return found;
}

int number(const int *count)
{
    pthread_mutex_lock(&gates_lock);
    int n = *count;
    pthread_mutex_unlock(&gates_lock);
    return n;
}

void wait_for(const int *count, int at_least)
{
    pthread_mutex_lock(&gates_lock);
    while (*count < at_least)
        pthread_cond_wait(&gates_changed, &gates_lock);
    pthread_mutex_unlock(&gates_lock);
}

static void *pass_soon(void *gate)
{
    usleep(30000);
    set(gate, PASS);
    return NULL;
}

pthread_t let_pass(enum gate *g)
{
    pthread_t t;
    EXPECT(pthread_create(&t, NULL, pass_soon, g) == 0);
    return t;
}

/* ---- the compiler ------------------------------------------------------------------------------------ */

struct gated {
    struct rt_compiler c;
    struct rt_compiler *host;
    enum gate (*passes)(const char *source);
};

static int compile(struct rt_compiler *c, const char *name, const char *source, struct rt_bytes *image,
                   struct hd_err *err)
{
    struct gated *g = c->self;
    if (g->passes(source) == FAIL)
        return HD_FAIL(err, TOOL, name, "the compiler is broken");
    return g->host->compile(g->host, name, source, image, err);
}

static void close_compiler(struct rt_compiler *c)
{
    struct gated *g = c->self;
    g->host->close(g->host);
    free(g);
}

int gated_compiler(enum gate (*passes)(const char *source), struct rt_compiler **out, struct hd_err *err)
{
    struct gated *g = calloc(1, sizeof *g);
    EXPECT(g && sim_compiler_open(&g->host, err) == 0);
    g->c = (struct rt_compiler){.identity = g->host->identity, .compile = compile, .close = close_compiler, .self = g};
    g->passes = passes;
    *out = &g->c;
    return 0;
}
