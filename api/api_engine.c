/* The engine of a context: threads, backends, memory, history and what works in the background, made when the first
 * statement asks for it. */
#include <stdlib.h>

#include "api/api_background.h"
#include "api/api_backend.h"
#include "api/api_history.h"

/* Used memory that a context keeps for the next execution. */
static const uint64_t KEPT_BYTES = (uint64_t)256 << 20;

static void engine_free(void *p)
{
    struct api_engine *e = p;
    api_background_free(e->background);
    rt_lane_threads_free(e->lanes);
    api_backends_quit(e);
    rt_thread_pool_free(e->thread_pool); /* its threads may still compile, with the rest */
    api_backends_close(e);
    rt_pages_free(e->memory.pages);
    rt_admission_release(&e->admission);
    api_history_free(e->history);
    free(e);
}

static int engine_new(heddle_context *c, struct api_engine **out, struct hd_err *err)
{
    struct api_engine *e = calloc(1, sizeof *e);
    if (!e || !(e->thread_pool = rt_thread_pool_new()) || !(e->lanes = rt_lane_threads_new()) ||
        !(e->history = api_history_new()) || !(e->background = api_background_new(c, e))) {
        if (e) {
            rt_thread_pool_free(e->thread_pool);
            rt_lane_threads_free(e->lanes);
            api_history_free(e->history);
        }
        free(e);
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    }
    rt_memory_init(&e->memory, c->memory_limit, NULL);
    rt_admission_init(&e->admission, c->memory_limit);
    e->temp = (struct rt_temp){.dir = c->temp_dir, .limit = c->temp_limit ? c->temp_limit : UINT64_MAX};
    e->memory.temp = c->temp_dir ? &e->temp : NULL;
    e->memory.pages = rt_pages_new(HD_MIN(c->memory_limit / 16, KEPT_BYTES));
    if (api_backends_open(c, e, err) != 0) {
        engine_free(e);
        return -1;
    }
    *out = e;
    return 0;
}

int api_engine_get(heddle_context *c, struct api_engine **out, struct hd_err *err)
{
    int rc = 0;
    pthread_mutex_lock(&c->mutex);
    if (!c->exec) {
        struct api_engine *e = NULL;
        rc = engine_new(c, &e, err);
        c->exec = e;
        c->exec_free = engine_free;
    }
    *out = c->exec;
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

void api_engine_leave(heddle_context *c, const heddle_database *db)
{
    pthread_mutex_lock(&c->mutex);
    struct api_engine *e = c->exec;
    pthread_mutex_unlock(&c->mutex);
    if (e)
        api_background_leave(e->background, db);
}

int heddle_context_busy(heddle_context *c)
{
    if (!c)
        return 0;
    pthread_mutex_lock(&c->mutex);
    struct api_engine *e = c->exec;
    pthread_mutex_unlock(&c->mutex);
    return e && api_background_busy(e->background);
}
