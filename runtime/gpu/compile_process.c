#include "runtime/gpu/compile_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/compile_wire.h"

extern char **environ;

enum {
    HELLO_MS = 10000, /* a server opens NVRTC in 10 ms, from a cold disk in some 0.1 s */
    GRACE_MS = 1000,  /* to end by itself */
    IDLE_MAX = 64,    /* connections that are kept */
};

/* ---- the executable -------------------------------------------------------------------- */

static bool is_executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* FILE's folder, then relative. */
static char *beside(const char *file, const char *relative)
{
    char *path = NULL, *real = NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (slash && asprintf(&path, "%.*s/%s", (int)(slash - file), file, relative) > 0 && is_executable(path))
        real = realpath(path, NULL);
    free(path);
    return real;
}

static char *find_beside(char *file, const char *installed)
{
    char *path = beside(file, "heddle-nvrtc");
    if (!path)
        path = beside(file, installed);
    free(file);
    return path;
}

static char *this_library(void)
{
    int (*function)(const struct rt_nvrtc *, char **, struct hd_err *) = rt_compile_process_check;
    void *address;
    Dl_info info;
    memcpy(&address, &function, sizeof address);
    return dladdr(address, &info) ? realpath(info.dli_fname, NULL) : NULL;
}

/* What the variable says must be so. */
static int named_executable(const char *named, char **path, struct hd_err *err)
{
    if (*named != '/' || !is_executable(named))
        return HD_FAIL(err, RESOURCE, named, "$HEDDLE_COMPILER: expected none or the absolute path of heddle-nvrtc");
    *path = strdup(named);
    return *path ? 0 : HD_FAIL(err, RESOURCE, NULL, "out of memory");
}

/* *path: heap; NULL with the reason in none. */
static int find_executable(char **path, struct hd_err *none, struct hd_err *err)
{
    const char *named = secure_getenv("HEDDLE_COMPILER");
    *path = NULL;
    if (named && strcmp(named, "none") == 0) {
        HD_FAIL(none, RESOURCE, NULL, "$HEDDLE_COMPILER is none");
        return 0;
    }
    if (named && *named)
        return named_executable(named, path, err);
    *path = find_beside(realpath("/proc/self/exe", NULL), HEDDLE_LIBEXEC_FROM_BIN);
    if (!*path)
        *path = find_beside(this_library(), HEDDLE_LIBEXEC_FROM_LIB);
    if (!*path)
        HD_FAIL(none, RESOURCE, NULL, "heddle-nvrtc is not beside the executable or the library, nor installed");
    return 0;
}

/* ---- a server -------------------------------------------------------------------------- */

struct server {
    pid_t pid;
    int control;
};

static int spawn(const char *path, const char *library, const char *form, int arch, int theirs, pid_t *pid)
{
    char number[16];
    char *const argv[] = {(char *)path, (char *)library, (char *)form, number, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    snprintf(number, sizeof number, "%d", arch);
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, theirs, RT_WIRE_CONTROL);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    int status = posix_spawn(pid, path, &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return status;
}

static int server_start(struct server *s, const char *path, const struct rt_nvrtc *n, const char *form, int arch,
                        struct hd_err *err)
{
    int pair[2];
    if (hd_fault(HD_FAULT_OPEN) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return HD_FAIL(err, RESOURCE, path, "no socket for it: %s", strerror(errno));
    int status = spawn(path, rt_nvrtc_path(n), form, arch, pair[1], &s->pid);
    close(pair[1]);
    s->control = pair[0];
    if (status == 0)
        return 0;
    close(s->control);
    return HD_FAIL(err, RESOURCE, path, "it does not start: %s", strerror(status));
}

/* True: it has ended and been waited for, by us or by the process's own ways. */
static bool server_ended(const struct server *s, int options, int *status)
{
    pid_t ended;
    while ((ended = waitpid(s->pid, status, options)) < 0 && errno == EINTR)
        ;
    return ended != 0;
}

/* The end of its control socket ends it, once it has said hello. */
static void server_stop(struct server *s)
{
    int status;
    shutdown(s->control, SHUT_RDWR); /* a fork of the program may hold it open */
    close(s->control);
    for (int ms = 0; ms < GRACE_MS; ms++) {
        if (server_ended(s, WNOHANG, &status))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (server_ended(s, WNOHANG, &status))
        return;
    kill(s->pid, SIGKILL);
    server_ended(s, 0, &status);
}

static int judge_hello(const struct rt_wire_hello *h, const char *text, const char *path, const struct rt_nvrtc *n,
                       struct hd_err *err)
{
    char expected[RT_WIRE_TEXT_MAX];
    if (h->class != HD_ERR_NONE)
        return HD_FAIL(err, RESOURCE, path, "%s", text);
    rt_wire_identity(n, expected);
    if (strcmp(text, expected) == 0)
        return 0;
    return HD_FAIL(err, RESOURCE, path, "it is of another build than this library: expected %s; found %s", expected,
                   text);
}

/* Waits for it. */
static int hear_hello(const struct server *s, const char *path, const struct rt_nvrtc *n, struct hd_err *err)
{
    struct rt_wire_hello h;
    struct timeval max = {.tv_sec = 1}; /* between the parts of one message */
    char *text = NULL;
    setsockopt(s->control, SOL_SOCKET, SO_RCVTIMEO, &max, sizeof max);
    if (rt_wire_readable(s->control, HELLO_MS) && rt_wire_receive(s->control, &h, sizeof h) && h.magic == RT_WIRE_MAGIC)
        text = rt_wire_receive_bytes(s->control, h.text, RT_WIRE_TEXT_MAX - 1);
    int rc = text ? judge_hello(&h, text, path, n, err) : HD_FAIL(err, RESOURCE, path, "it does not say who it is");
    free(text);
    return rc;
}

int rt_compile_process_check(const struct rt_nvrtc *n, char **path, struct hd_err *err)
{
    struct server s;
    HD_TRY(find_executable(path, err, err));
    int rc = *path ? server_start(&s, *path, n, "cubin", 0, err) : -1;
    if (rc == 0) {
        rc = hear_hello(&s, *path, n, err);
        server_stop(&s);
    }
    if (rc != 0) {
        free(*path);
        *path = NULL;
    }
    return rc;
}

/* ---- a request ------------------------------------------------------------------------- */

enum outcome { COMPILED, REFUSED, UNANSWERED };

static bool send_request(int fd, const char *name, const char *source)
{
    struct rt_wire_request r = {
        .magic = RT_WIRE_MAGIC, .name = (uint32_t)strnlen(name, RT_WIRE_TEXT_MAX), .source = strlen(source)};
    return rt_wire_send(fd, &r, sizeof r) && rt_wire_send(fd, name, r.name) && rt_wire_send(fd, source, r.source);
}

static enum outcome hear_answer(int fd, struct rt_bytes *image, struct hd_err *err)
{
    struct rt_wire_answer a;
    if (!rt_wire_receive(fd, &a, sizeof a) || a.magic != RT_WIRE_MAGIC || a.class > HD_ERR_TOOL ||
        (a.class == HD_ERR_NONE && (a.message || !a.bytes)))
        return UNANSWERED;
    char *message = rt_wire_receive_bytes(fd, a.message, RT_WIRE_TEXT_MAX);
    char *bytes = message ? rt_wire_receive_bytes(fd, a.bytes, RT_WIRE_MAX) : NULL;
    enum outcome o = !bytes ? UNANSWERED : a.class == HD_ERR_NONE ? COMPILED : REFUSED;
    if (o == COMPILED) {
        *image = (struct rt_bytes){(unsigned char *)bytes, a.bytes};
        bytes = NULL;
    } else if (o == REFUSED) {
        hd_err_set(err, a.class, __FILE__, __LINE__, NULL, "%s", message);
        hd_err_set_detail(err, bytes);
    }
    free(message);
    free(bytes);
    return o;
}

/* ---- as the compiler of a device ------------------------------------------------------- */

enum state {
    ASLEEP,   /* not started */
    STARTING, /* it has not said hello yet */
    READY,
    LOST, /* compiled in this process from now on */
};

struct process {
    struct rt_compiler c;
    struct rt_compiler *here; /* NVRTC in this process; owns n */
    struct rt_nvrtc *n;
    char *path;
    int arch;
    const char *form;
    /* Under the lock, as what is sent on the control socket: */
    pthread_mutex_t lock;
    enum state state;
    struct server server;
    int idle[IDLE_MAX], nidle; /* connections */
    struct hd_err lost;        /* why; does not change once it is */
    /* Without: */
    _Atomic int inside; /* threads that compile */
    _Atomic bool busy;  /* one of them in this process, while there is no server yet */
};

/* Under the lock, as what follows. */
static void wake(struct process *p)
{
    p->state = server_start(&p->server, p->path, p->n, p->form, p->arch, &p->lost) == 0 ? STARTING : LOST;
}

static void await(struct process *p)
{
    p->state = READY;
    if (hear_hello(&p->server, p->path, p->n, &p->lost) == 0)
        return;
    server_stop(&p->server);
    p->state = LOST;
}

/* Whether the server compiles the next source. A source that comes alone does not start one, and
 * while it starts one thread need not wait for it. */
static bool goes_there(struct process *p)
{
    if (p->state == ASLEEP && p->inside > 1)
        wake(p);
    if (p->state == ASLEEP || (p->state == STARTING && !rt_wire_readable(p->server.control, 0)))
        if (!atomic_exchange(&p->busy, true))
            return false;
    if (p->state == STARTING)
        await(p);
    return p->state == READY;
}

/* A connection that nobody uses, or a new one; -1 none. */
static int get_connection(struct process *p)
{
    int pair[2];
    while (p->nidle) {
        int fd = p->idle[--p->nidle];
        if (!rt_wire_readable(fd, 0))
            return fd;
        close(fd); /* it was idle for long, or died */
    }
    if (hd_fault(HD_FAULT_OPEN) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    bool given = rt_wire_send_fd(p->server.control, pair[1]);
    close(pair[1]);
    if (given)
        return pair[0];
    close(pair[0]);
    return -1;
}

static void keep_connection(struct process *p, int fd)
{
    pthread_mutex_lock(&p->lock);
    bool kept = p->nidle < IDLE_MAX;
    if (kept)
        p->idle[p->nidle++] = fd;
    pthread_mutex_unlock(&p->lock);
    if (!kept)
        close(fd);
}

static void drop_connections(struct process *p)
{
    while (p->nidle)
        close(p->idle[--p->nidle]);
}

static enum outcome compile_there(struct process *p, const char *name, const char *source, struct rt_bytes *image,
                                  struct hd_err *err)
{
    pthread_mutex_lock(&p->lock);
    int fd = p->state == READY ? get_connection(p) : -1;
    pthread_mutex_unlock(&p->lock);
    if (fd < 0)
        return UNANSWERED;
    enum outcome o = send_request(fd, name, source) ? hear_answer(fd, image, err) : UNANSWERED;
    if (o == UNANSWERED)
        close(fd);
    else
        keep_connection(p, fd);
    return o;
}

/* After a request without an answer. */
static void look_after(struct process *p)
{
    int status = 0;
    pthread_mutex_lock(&p->lock);
    if (p->state == READY && server_ended(&p->server, WNOHANG, &status)) {
        HD_FAIL(&p->lost, RESOURCE, p->path, "it ended by itself (status %d)", status);
        drop_connections(p);
        close(p->server.control);
        p->state = LOST;
    }
    pthread_mutex_unlock(&p->lock);
}

static int process_compile(struct rt_compiler *c, const char *name, const char *source, struct rt_bytes *image,
                           struct hd_err *err)
{
    struct process *p = c->self;
    enum outcome o = UNANSWERED;
    *image = (struct rt_bytes){NULL, 0};
    p->inside++;
    pthread_mutex_lock(&p->lock);
    bool there = goes_there(p);
    pthread_mutex_unlock(&p->lock);
    if (there) {
        o = compile_there(p, name, source, image, err);
        if (o == UNANSWERED)
            look_after(p);
    }
    int rc = o == COMPILED ? 0 : o == REFUSED ? -1 : p->here->compile(p->here, name, source, image, err);
    if (!there)
        p->busy = false;
    p->inside--;
    return rc;
}

static void process_close(struct rt_compiler *c)
{
    struct process *p = c->self;
    drop_connections(p);
    if (p->state == STARTING || p->state == READY)
        server_stop(&p->server);
    p->here->close(p->here);
    hd_err_release(&p->lost);
    pthread_mutex_destroy(&p->lock);
    free(p->path);
    free(p);
}

static const char *process_trouble(struct rt_compiler *c)
{
    struct process *p = c->self;
    pthread_mutex_lock(&p->lock);
    const char *why = p->state == LOST ? p->lost.message : NULL;
    pthread_mutex_unlock(&p->lock);
    return why;
}

static int fill(struct process *p, int arch, struct hd_err *err)
{
    bool cubin;
    HD_TRY(find_executable(&p->path, &p->lost, err));
    p->state = p->path ? ASLEEP : LOST;
    p->arch = rt_nvrtc_arch(p->n, arch, &cubin);
    p->form = cubin ? "cubin" : "ptx";
    return rt_nvrtc_compiler(p->n, arch, &p->here, err);
}

int rt_compile_process_open(struct rt_nvrtc *n, int arch, bool cold, struct rt_compiler **out, struct hd_err *err)
{
    struct process *p = hd_try_calloc(1, sizeof *p);
    if (!p)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    p->n = n;
    hd_err_init(&p->lost);
    if (fill(p, arch, err) != 0) {
        free(p->path);
        free(p);
        return -1;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->c = (struct rt_compiler){.identity = p->here->identity,
                                .compile = process_compile,
                                .trouble = process_trouble,
                                .beside = p->state == ASLEEP,
                                .close = process_close,
                                .self = p};
    if (cold && p->state == ASLEEP)
        wake(p);
    *out = &p->c;
    return 0;
}
