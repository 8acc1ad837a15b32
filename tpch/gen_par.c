/* Fork and join over POSIX threads; see gen_par.h. */
#include "gen_par.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct share {
    void (*work)(void *arg, int index);
    void *arg;
    int index;
    bool started;
    pthread_t thread;
};

static void *run_share(void *p)
{
    struct share *s = p;
    s->work(s->arg, s->index);
    return NULL;
}

static void run_all_here(int threads, void (*work)(void *, int), void *arg)
{
    for (int i = 0; i < threads; i++)
        work(arg, i);
}

void tg_parallel(int threads, void (*work)(void *arg, int index), void *arg)
{
    struct share *s = threads > 1 ? calloc((size_t)threads, sizeof *s) : NULL;
    if (s == NULL) {
        run_all_here(threads, work, arg);
        return;
    }
    for (int i = 0; i < threads; i++) {
        s[i] = (struct share){.work = work, .arg = arg, .index = i};
        if (i < threads - 1)
            s[i].started = pthread_create(&s[i].thread, NULL, run_share, &s[i]) == 0;
    }
    for (int i = 0; i < threads; i++)
        if (!s[i].started)
            run_share(&s[i]);
    for (int i = 0; i < threads; i++)
        if (s[i].started)
            pthread_join(s[i].thread, NULL);
    free(s);
}

int tg_thread_count(int n)
{
    if (n > 0)
        return n;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}
