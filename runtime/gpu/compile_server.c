/* Opens NVRTC; then a fork of that (under 1 ms) compiles the requests of one connection. So any number compile side by
 * side. Headers are read once, for the forks that come after: nobody who has a source waits for that. */
#include "runtime/gpu/compile_server.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/gpu/compile_wire.h"

enum {
    IDLE_MS = 10000, /* after which a connection's process ends: it holds some 15 MB of its own */
    QUIET_MS = 5,    /* without a connection: those who waited for the server have one */
    HEADERS = 2,     /* times that headers are read: plain, relocatable */
};

struct server {
    struct rt_nvrtc *n;
    enum rt_nvrtc_form form;
    int arch;
    int headers; /* read so far */
};

/* ---- one connection -------------------------------------------------------------------- */

static bool answer(int fd, int rc, const struct rt_bytes *image, const struct hd_err *err)
{
    const char *log = err->detail ? err->detail : "";
    struct rt_wire_answer a = {.magic = RT_WIRE_MAGIC, .class = HD_ERR_NONE, .bytes = image->n};
    if (rc != 0) {
        a.class = err->class;
        a.message = strlen(err->message);
        a.bytes = strlen(log);
    }
    return rt_wire_send(fd, &a, sizeof a) && rt_wire_send(fd, err->message, a.message) &&
           rt_wire_send(fd, rc == 0 ? (const char *)image->p : log, a.bytes);
}

static bool compile(const struct server *s, int fd, const char *name, const char *source)
{
    struct rt_bytes image = {NULL, 0};
    struct hd_err err;
    hd_err_init(&err);
    int rc = rt_nvrtc_compile(s->n, name, source, s->arch, s->form, &image, NULL, &err);
    bool sent = answer(fd, rc, &image, &err);
    rt_bytes_release(&image);
    hd_err_release(&err);
    return sent;
}

static bool serve_request(const struct server *s, int fd)
{
    struct rt_wire_request r;
    if (!rt_wire_readable(fd, IDLE_MS) || !rt_wire_receive(fd, &r, sizeof r) || r.magic != RT_WIRE_MAGIC)
        return false;
    char *name = rt_wire_receive_bytes(fd, r.name, RT_WIRE_TEXT_MAX);
    char *source = name ? rt_wire_receive_bytes(fd, r.source, RT_WIRE_MAX) : NULL;
    bool served = source && compile(s, fd, name, source);
    free(name);
    free(source);
    return served;
}

/* In the child. */
static _Noreturn void serve_connection(const struct server *s, int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGHUP, SIG_DFL);
    close(RT_WIRE_CONTROL);
    while (serve_request(s, fd) && s->headers == HEADERS)
        ; /* without headers: one source, so that the next one has them */
    _exit(0);
}

/* ---- the server ------------------------------------------------------------------------ */

static void say_hello(enum hd_err_class class, const char *text)
{
    struct rt_wire_hello h = {RT_WIRE_MAGIC, class, strlen(text)};
    if (rt_wire_send(RT_WIRE_CONTROL, &h, sizeof h))
        rt_wire_send(RT_WIRE_CONTROL, text, h.text);
}

/* A compilation takes and gives back some 15 MB, most of it several times. Kept by the process it costs page faults once: where
 * many compile side by side, a third of the time is waiting for the kernel. */
static void keep_memory(void)
{
    enum { LARGE = 1 << 30, STEP = 1 << 24 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
    mallopt(M_TOP_PAD, STEP);
}

static int start(struct server *s, char **argv, struct hd_err *err)
{
    char identity[RT_WIRE_TEXT_MAX];
    bool cubin;
    HD_TRY(rt_nvrtc_open(argv[1], &s->n, err));
    s->form = strcmp(argv[2], "ptx") == 0 ? RT_NVRTC_PTX : RT_NVRTC_CUBIN;
    s->arch = atoi(argv[3]);
    if (s->arch && rt_nvrtc_arch(s->n, s->arch, &cubin) != s->arch)
        return HD_FAIL(err, RESOURCE, NULL, "NVRTC %s does not know architecture %d", rt_nvrtc_version(s->n), s->arch);
    s->headers = s->arch ? 0 : HEADERS;
    rt_wire_identity(s->n, identity);
    say_hello(HD_ERR_NONE, identity);
    return 0;
}

/* A process group of its own, because a terminal's interrupt is the user's to handle; nothing of
 * the user's open or held: files, folder. */
static void stand_apart(void)
{
    setpgid(0, 0);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}, NULL);
    if (chdir("/") != 0)
        return; /* then it keeps that folder busy */
}

static void end_children(void)
{
    if (getpgrp() != getpid())
        return;
    /* For SIGINT and SIGTERM NVRTC has handlers of its own, which may wait for ever. */
    signal(SIGHUP, SIG_IGN);
    kill(0, SIGHUP);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

/* Of the time that nobody wants a connection some goes to the headers. */
static int next_connection(struct server *s)
{
    for (; s->headers < HEADERS && !rt_wire_readable(RT_WIRE_CONTROL, QUIET_MS); s->headers++)
        rt_nvrtc_precompile(s->n, s->arch, s->form, s->headers > 0);
    return rt_wire_receive_fd(RT_WIRE_CONTROL);
}

static void serve(struct server *s)
{
    for (int fd; (fd = next_connection(s)) >= 0;) {
        if (fork() == 0)
            serve_connection(s, fd);
        close(fd); /* without a child the other side sees the end of it, and helps itself */
    }
}

int rt_compile_server(int argc, char **argv)
{
    struct server s = {0};
    struct hd_err err;
    int type;
    socklen_t n = sizeof type;
    if (argc != 4 || getsockopt(RT_WIRE_CONTROL, SOL_SOCKET, SO_TYPE, &type, &n) != 0) {
        fprintf(stderr, "%s compiles for the Heddle library, which starts it by itself\n", argv[0]);
        return 2;
    }
    stand_apart();
    keep_memory();
    hd_err_init(&err);
    if (start(&s, argv, &err) == 0) {
        serve(&s);
        end_children();
    } else {
        say_hello(err.class, err.message);
    }
    _exit(0); /* NVRTC keeps memory that it does not give back */
}
