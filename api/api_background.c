#include "api/api_background.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/api_backend.h"
#include "api/api_history.h"
#include "runtime/base/fault.h"

enum { TASKS = 32 };

struct task {
    struct api_program *program; /* a reference; NULL: it was taken back */
    const heddle_database *db;
    uint64_t key;
    int threads;
    bool optimises; /* a program that executes; else it is made ready for that */
};

/* Of the thread. Opening has nothing to do with a database. */
enum phase { IDLE, OPENING, WORKING };

struct api_background {
    heddle_context *context;
    struct api_engine *engine;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, quit;
    struct task waiting[TASKS];
    int n;
    enum phase phase;
    struct task running;
    struct hd_stop stop; /* what is running */
    const struct api_late *warming; /* a backend that lacks what programs have in common */
    bool warmed;                    /* that was asked for */
    int warm_at;
};

/* ---- the thread ------------------------------------------------------------------------ */

/* Under the lock. */
static struct task next(struct api_background *b)
{
    struct task t = b->waiting[0];
    b->n--;
    for (int i = 0; i < b->n; i++)
        b->waiting[i] = b->waiting[i + 1];
    return t;
}

static void tell(struct api_background *b, uint64_t key, int rc, const struct hd_err *e)
{
    if (rc == 0)
        api_history_prepared(b->engine->history, key);
    else if (e->class != HD_ERR_CANCELLED)
        api_history_failed(b->engine->history, key, e->message);
}

static int optimise(const struct api_late *late, const struct task *t, const struct hd_stop *stop, struct hd_err *e)
{
    struct api_optimise *o = &t->program->optimise;
    int rc = late->optimise(t->program, t->threads, stop, e);
    bool cancelled = rc != 0 && e->class == HD_ERR_CANCELLED;
    if (rc != 0 && !cancelled)
        snprintf(o->problem, sizeof o->problem, "%s", e->message);
    o->state = rc == 0 ? API_OPTIMISED_DONE : cancelled ? API_OPTIMISED_NO : API_OPTIMISED_FAILED;
    return rc;
}

/* Under the lock, which it lets go meanwhile. */
static void work(struct api_background *b, const struct api_late *late, struct hd_err *e)
{
    struct task *t = &b->running;
    b->phase = WORKING;
    pthread_mutex_unlock(&b->lock);
    if (t->optimises)
        optimise(late, t, &b->stop, e);
    else
        tell(b, t->key, late->get_ready(t->program, t->threads, &b->stop, e), e);
    api_program_leave(t->program);
    pthread_mutex_lock(&b->lock);
    t->program = NULL;
}

/* Under the lock, which it lets go meanwhile. That there is no GPU is known from now on, to all who ask. */
static void run_next(struct api_background *b)
{
    struct hd_err e;
    hd_err_init(&e);
    b->running = next(b);
    b->phase = OPENING;
    atomic_store(&b->stop.asked, b->quit);
    const struct api_late *late = b->running.program->backend->late;
    int rc = 0;
    if (!b->running.optimises) {
        pthread_mutex_unlock(&b->lock);
        rc = late->open(b->context, b->engine, &e);
        pthread_mutex_lock(&b->lock);
    }
    if (b->running.program && rc == 0 && !b->quit)
        work(b, late, &e);
    struct api_program *left = b->running.program;
    b->running.program = NULL;
    if (left) {
        b->phase = WORKING;
        pthread_mutex_unlock(&b->lock);
        api_program_leave(left);
        pthread_mutex_lock(&b->lock);
    }
    b->phase = IDLE;
    pthread_cond_broadcast(&b->changed);
    hd_err_release(&e);
}

/* Likewise. */
static void warm_next(struct api_background *b)
{
    const struct api_late *late = b->warming;
    atomic_store(&b->stop.asked, b->quit);
    pthread_mutex_unlock(&b->lock);
    bool more = late->warm_next(b->engine, &b->warm_at, &b->stop);
    pthread_mutex_lock(&b->lock);
    if (!more)
        b->warming = NULL;
}

static void *thread_main(void *background)
{
    struct api_background *b = background;
    pthread_setname_np(pthread_self(), "heddle-behind");
    pthread_mutex_lock(&b->lock);
    while (!b->quit) {
        if (b->n)
            run_next(b);
        else if (b->warming)
            warm_next(b);
        else
            pthread_cond_wait(&b->changed, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* ---- from other threads ---------------------------------------------------------------- */

struct api_background *api_background_new(heddle_context *c, struct api_engine *e)
{
    struct api_background *b = hd_try_calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->context = c;
    b->engine = e;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    return b;
}

/* Under the lock. Nobody else keeps what it makes. */
static bool is_finished(const struct api_background *b)
{
    return b->phase == WORKING && b->running.optimises && b->context->cache_dir;
}

void api_background_free(struct api_background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->quit = true;
    if (!is_finished(b))
        hd_stop_ask(&b->stop);
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (b->started)
        pthread_join(b->thread, NULL);
    for (int i = 0; i < b->n; i++)
        api_program_leave(b->waiting[i].program);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* Under the lock. */
static bool has(const struct api_background *b, uint64_t key)
{
    bool found = b->phase != IDLE && !b->running.optimises && b->running.key == key;
    for (int i = 0; i < b->n && !found; i++)
        found = !b->waiting[i].optimises && b->waiting[i].key == key;
    return found;
}

/* Under the lock. */
static bool start(struct api_background *b)
{
    if (!b->started)
        b->started = !hd_fault(HD_FAULT_THREAD) && pthread_create(&b->thread, NULL, thread_main, b) == 0;
    return b->started;
}

void api_background_add(struct api_background *b, struct api_program *p, const heddle_database *db, uint64_t key,
                        int threads)
{
    pthread_mutex_lock(&b->lock);
    if (b->n < TASKS && !has(b, key) && start(b)) {
        atomic_fetch_add(&p->refs, 1);
        b->waiting[b->n++] = (struct task){p, db, key, threads, false};
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
}

void api_background_optimise(struct api_background *b, struct api_program *p, const heddle_database *db, int threads)
{
    pthread_mutex_lock(&b->lock);
    if (b->n < TASKS && start(b)) {
        p->optimise.state = API_OPTIMISED_UNDERWAY;
        atomic_fetch_add(&p->refs, 1);
        b->waiting[b->n++] = (struct task){p, db, 0, threads, true};
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
}

void api_background_warm(struct api_background *b, const struct api_late *late)
{
    pthread_mutex_lock(&b->lock);
    if (!b->warmed && start(b)) {
        b->warmed = true;
        b->warming = late;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
}

/* Under the lock: programs of the database that nobody is at. */
static int take_back(struct api_background *b, const heddle_database *db, struct api_program *out[TASKS + 1])
{
    int n = 0, kept = 0;
    for (int i = 0; i < b->n; i++) {
        if (b->waiting[i].db == db)
            out[n++] = b->waiting[i].program;
        else
            b->waiting[kept++] = b->waiting[i];
    }
    b->n = kept;
    if (b->phase == OPENING && b->running.db == db && b->running.program) {
        out[n++] = b->running.program;
        b->running.program = NULL;
    }
    return n;
}

void api_background_leave(struct api_background *b, const heddle_database *db)
{
    struct api_program *left[TASKS + 1];
    pthread_mutex_lock(&b->lock);
    int n = take_back(b, db, left);
    if (b->phase == WORKING && b->running.db == db && !is_finished(b))
        hd_stop_ask(&b->stop);
    while (b->phase == WORKING && b->running.db == db)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    for (int i = 0; i < n; i++)
        api_program_leave(left[i]);
}

bool api_background_busy(struct api_background *b)
{
    pthread_mutex_lock(&b->lock);
    bool busy = b->n > 0 || b->phase != IDLE || b->warming;
    pthread_mutex_unlock(&b->lock);
    return busy;
}
