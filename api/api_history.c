#include "api/api_history.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"

enum {
    ROWS = 512,   /* plans; one takes the place of another whose key falls on it */
    WINDOW = 8,   /* executions of which the fastest counts */
    WARM = 3,     /* executions before their times count in full */
    FAILURES = 3, /* in a row: a compiler that is broken fails for every plan */
};

static const double cold = 8; /* TPC-H Q1 at SF 1: 27 ms the first time, 6.4 later */

struct row {
    uint64_t key;
    bool used;
    double times[PL_SIDES][WINDOW];
    unsigned n[PL_SIDES];
    struct api_past past; /* but for measured */
};

struct api_history {
    pthread_mutex_t lock;
    struct row rows[ROWS];
    int failures;
    char trouble[200]; /* of all plans */
};

struct api_history *api_history_new(void)
{
    struct api_history *h = hd_try_calloc(1, sizeof *h);
    if (h)
        pthread_mutex_init(&h->lock, NULL);
    return h;
}

void api_history_free(struct api_history *h)
{
    if (!h)
        return;
    pthread_mutex_destroy(&h->lock);
    free(h);
}

uint64_t api_history_key(const void *db, const void *plan, size_t size)
{
    return XXH3_64bits_withSeed(plan, size, (uint64_t)(uintptr_t)db);
}

/* Under the lock. */
static struct row *row_of(struct api_history *h, uint64_t key)
{
    struct row *r = &h->rows[key % ROWS];
    if (!r->used || r->key != key)
        *r = (struct row){.key = key, .used = true, .past = {.last = PL_NO_SIDE}};
    return r;
}

/* The first executions find cold caches and load code. They do not speak against a backend that the model takes for fast,
 * unless they are slower by far. */
static double least(const struct row *r, enum pl_side side)
{
    double min = 0;
    for (unsigned i = 0; i < HD_MIN(r->n[side], WINDOW); i++)
        min = i == 0 ? r->times[side][i] : HD_MIN(min, r->times[side][i]);
    return r->n[side] >= WARM ? min : HD_MIN(min, HD_MAX(1, min / cold));
}

void api_history_get(struct api_history *h, uint64_t key, struct api_past *out)
{
    pthread_mutex_lock(&h->lock);
    const struct row *r = &h->rows[key % ROWS];
    *out = (struct api_past){.last = PL_NO_SIDE};
    if (r->used && r->key == key) {
        *out = r->past;
        out->measured[PL_CPU] = least(r, PL_CPU);
        out->measured[PL_GPU] = least(r, PL_GPU);
    }
    if (h->failures >= FAILURES)
        snprintf(out->trouble, sizeof out->trouble, "%s", h->trouble);
    pthread_mutex_unlock(&h->lock);
}

void api_history_ran(struct api_history *h, uint64_t key, enum pl_side side, double measured)
{
    pthread_mutex_lock(&h->lock);
    struct row *r = row_of(h, key);
    r->times[side][r->n[side]++ % WINDOW] = measured;
    r->past.last = side;
    r->past.compiled |= side == PL_CPU;
    if (side == PL_GPU && h->failures < FAILURES)
        h->failures = 0;
    pthread_mutex_unlock(&h->lock);
}

void api_history_prepared(struct api_history *h, uint64_t key)
{
    pthread_mutex_lock(&h->lock);
    row_of(h, key)->past.prepared = true;
    if (h->failures < FAILURES)
        h->failures = 0;
    pthread_mutex_unlock(&h->lock);
}

void api_history_failed(struct api_history *h, uint64_t key, const char *why)
{
    pthread_mutex_lock(&h->lock);
    struct row *r = row_of(h, key);
    h->failures += !*r->past.trouble; /* a plan that fails here and behind counts once */
    snprintf(r->past.trouble, sizeof r->past.trouble, "%s", why);
    snprintf(h->trouble, sizeof h->trouble, "%s", why);
    pthread_mutex_unlock(&h->lock);
}
