#include "runtime/base/bigfile.h"

#include <errno.h>
#include <time.h>

static void only(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGXFSZ);
}

void hd_bigfile_begin(struct hd_bigfile *b)
{
    sigset_t set, waiting;
    only(&set);
    sigpending(&waiting);
    b->pending = sigismember(&waiting, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &set, &b->mask);
}

void hd_bigfile_end(const struct hd_bigfile *b)
{
    sigset_t set;
    int kept = errno;
    only(&set);
    if (!b->pending)
        sigtimedwait(&set, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &b->mask, NULL);
    errno = kept;
}
