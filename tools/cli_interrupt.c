/* Signals, time limits and the progress bar.
 *
 * SIGINT, SIGTERM and the timer's SIGALRM are blocked in every thread and taken by one thread
 * of our own, so that cancelling a statement is ordinary code and not a signal handler. Once the main
 * thread is to stop, the taker also interrupts its system calls, again and again: whatever it waits
 * for, to open, to read or to write, fails with EINTR and is reported as the stop that it is. */
#include "tools/cli.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tools/text.h"

enum {
    KICK = SIGURG, /* nobody sends it, and who does not know it ignores it */
    KICK_NS = 10000000
};

static atomic_bool interrupted, timed_out, was_stopped, nothing_to_undo;
static pthread_t taker, main_thread;
static struct {
    pthread_mutex_t lock;
    heddle_statement *statement; /* NULL: none */
    double deadline;             /* in seconds of now(); 0: none */
    double timeout;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGALRM);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* An alarm may come late, when the statement it was for has ended: hence the deadline. */
static void cancel_watched(bool by_time)
{
    pthread_mutex_lock(&watch.lock);
    bool due = watch.deadline > 0 && now() >= watch.deadline;
    if (watch.statement && (!by_time || due)) {
        if (by_time)
            timed_out = was_stopped = true;
        heddle_statement_cancel(watch.statement);
    }
    pthread_mutex_unlock(&watch.lock);
}

static void kick(void)
{
    pthread_mutex_lock(&watch.lock);
    if (cli_stopped())
        pthread_kill(main_thread, KICK);
    pthread_mutex_unlock(&watch.lock);
}

static _Noreturn void end_at_once(void)
{
    struct cli_error err = {0};
    cli_progress_end();
    cli_fail_stopped(&err);
    cli_error_print(&err, false);
    _exit(err.status);
}

static void handle_signal(const sigset_t *set)
{
    static const struct timespec soon = {0, KICK_NS};
    int sig = sigtimedwait(set, NULL, cli_stopped() ? &soon : NULL), old;
    if (sig > 0 && sig != SIGALRM) {
        was_stopped = true;
        if (atomic_exchange(&interrupted, true))
            _exit(128 + sig);
        if (nothing_to_undo)
            end_at_once();
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old); /* it holds locks */
    if (sig > 0)
        cancel_watched(sig == SIGALRM);
    kick();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
}

static void *wait_for_signals(void *unused)
{
    (void)unused;
    sigset_t set;
    signal_set(&set);
    for (;;)
        handle_signal(&set);
    return NULL;
}

static void do_nothing(int sig)
{
    (void)sig;
}

int cli_interrupt_start(struct cli_error *err)
{
    sigset_t set;
    signal_set(&set);
    main_thread = pthread_self();
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error like others */
    sigaction(KICK, &(struct sigaction){.sa_handler = do_nothing}, NULL); /* no SA_RESTART */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int rc = pthread_create(&taker, NULL, wait_for_signals, NULL);
    if (rc)
        return cli_fail(err, CLI_NO_RESOURCE, NULL, "cannot start a thread: %s", strerror(rc));
    return 0;
}

void cli_interrupt_stop(void)
{
    sigset_t set;
    signal_set(&set);
    pthread_cancel(taker); /* in sigtimedwait */
    pthread_join(taker, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

bool cli_interrupted(void)
{
    return atomic_load_explicit(&interrupted, memory_order_relaxed);
}

bool cli_stopped(void)
{
    return cli_interrupted() || atomic_load_explicit(&timed_out, memory_order_relaxed);
}

void cli_leave(void)
{
    was_stopped = true;
}

bool cli_was_stopped(void)
{
    return was_stopped;
}

int cli_fail_stopped(struct cli_error *err)
{
    if (cli_interrupted()) {
        cli_fail(err, CLI_FAILED, NULL, "interrupted");
        err->class = heddle_error_class_name(HEDDLE_ERROR_CANCELLED);
    } else {
        cli_fail(err, CLI_TIMED_OUT, NULL, "timed out after %g s", watch.timeout);
        err->class = "timeout";
    }
    err->stop = true;
    return -1;
}

bool cli_is_stop(const struct cli_error *err)
{
    return err->stop;
}

void cli_nothing_to_undo(bool so)
{
    nothing_to_undo = so;
    if (so && cli_interrupted())
        end_at_once();
}

/* seconds 0 stops the timer. */
static void set_timer(double seconds)
{
    struct itimerval t = {{0, 0}, {0, 0}};
    t.it_value.tv_sec = (time_t)seconds;
    t.it_value.tv_usec = (suseconds_t)((seconds - floor(seconds)) * 1e6);
    setitimer(ITIMER_REAL, &t, NULL);
}

void cli_watch(heddle_statement *s, double timeout)
{
    pthread_mutex_lock(&watch.lock);
    watch.statement = s;
    watch.timeout = timeout;
    watch.deadline = timeout > 0 ? now() + timeout : 0;
    pthread_mutex_unlock(&watch.lock);
    if (timeout > 0)
        set_timer(timeout + 1e-3); /* no alarm before the deadline */
    if (cli_interrupted())
        cancel_watched(false);
}

bool cli_unwatch(void)
{
    set_timer(0);
    pthread_mutex_lock(&watch.lock);
    watch.statement = NULL;
    bool late = atomic_exchange(&timed_out, false);
    pthread_mutex_unlock(&watch.lock);
    if (late)
        sched_yield(); /* a last kick must not meet the system calls of what follows */
    return late;
}

/* ---- progress ---- */

static struct {
    pthread_mutex_t lock;
    double shown_at, started_at; /* seconds */
    int width;                   /* characters on the line now */
} bar = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void draw(double fraction, const char *what, double at)
{
    enum { CELLS = 30 };
    char cells[CELLS + 1], left[32] = "";
    int full = (int)(fraction * CELLS);
    for (int i = 0; i < CELLS; i++)
        cells[i] = i < full ? '#' : '.';
    cells[CELLS] = 0;
    double past = at - bar.started_at;
    if (fraction > 0.02 && past > 2)
        snprintf(left, sizeof left, " %.0f s left", past * (1 - fraction) / fraction);
    char *shown = text_printable(what ? what : "", what ? strlen(what) : 0, "");
    int n = fprintf(stderr, "\r[%s] %3.0f %% %.24s%s", cells, 100 * fraction, shown, left);
    free(shown);
    int blank = bar.width > n ? bar.width - n : 0;
    fprintf(stderr, "%*s", blank, "");
    fflush(stderr);
    bar.width = n;
}

int cli_progress(void *user, double fraction, const char *what)
{
    (void)user;
    static atomic_int terminal = -1;
    if (terminal < 0)
        terminal = isatty(STDERR_FILENO);
    if (terminal && pthread_mutex_trylock(&bar.lock) == 0) {
        double at = now();
        if (bar.width == 0)
            bar.started_at = at;
        if (bar.width == 0 || at - bar.shown_at > 0.1) {
            bar.shown_at = at;
            draw(fmin(fmax(fraction, 0), 1), what, at);
        }
        pthread_mutex_unlock(&bar.lock);
    }
    return cli_interrupted();
}

void cli_progress_end(void)
{
    pthread_mutex_lock(&bar.lock);
    if (bar.width)
        fprintf(stderr, "\r%*s\r", bar.width, "");
    bar.width = 0;
    pthread_mutex_unlock(&bar.lock);
}
