/* In the place of heddle-nvrtc: a server that does what $FAKE_COMPILER says (test_compile.c). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/gpu/compile_wire.h"

static const char *mode;

static bool is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void say_hello(const char *library)
{
    char text[RT_WIRE_TEXT_MAX] = "";
    struct rt_nvrtc *n;
    struct rt_wire_hello h = {.magic = RT_WIRE_MAGIC, .class = HD_ERR_NONE};
    if (rt_nvrtc_open(library, &n, NULL) != 0)
        exit(1);
    rt_wire_identity(n, text);
    if (is("other build"))
        text[8] ^= 1;
    if (is("refuses"))
        h.class = HD_ERR_RESOURCE;
    if (is("no hello"))
        h.magic = 0;
    h.text = is("huge hello") ? (uint64_t)1 << 60 : strlen(text);
    rt_wire_send(RT_WIRE_CONTROL, &h, sizeof h);
    rt_wire_send(RT_WIRE_CONTROL, text, is("half a hello") ? 4 : strlen(text));
    rt_nvrtc_close(n);
}

static bool answer(int fd)
{
    struct rt_wire_request r;
    if (!rt_wire_receive(fd, &r, sizeof r))
        return false;
    free(rt_wire_receive_bytes(fd, r.name + r.source, RT_WIRE_MAX));
    struct rt_wire_answer a = {RT_WIRE_MAGIC, HD_ERR_NONE, 0, 4};
    if (is("no answer"))
        a.magic = 0;
    if (is("odd class"))
        a.class = 99;
    if (is("message beside an image"))
        a.message = 4;
    if (is("nothing"))
        a.bytes = 0;
    if (is("truncated"))
        a.bytes = 1000;
    if (is("huge image"))
        a.bytes = (uint64_t)1 << 62;
    if (is("huge message")) {
        a.class = HD_ERR_TOOL;
        a.message = (uint64_t)1 << 62;
    }
    rt_wire_send(fd, &a, is("half an answer") ? 8 : sizeof a);
    rt_wire_send(fd, "fake", 4);
    /* Where bytes are missing, the other side waits for them or the end. */
    return a.bytes == 4 && !is("half an answer");
}

int main(int argc, char **argv)
{
    mode = getenv("FAKE_COMPILER");
    signal(SIGCHLD, SIG_IGN);
    if (!mode || argc != 4 || is("exits"))
        return 1;
    say_hello(argv[1]);
    for (int fd; (fd = rt_wire_receive_fd(RT_WIRE_CONTROL)) >= 0; close(fd)) {
        if (is("dies"))
            abort();
        if (is("closes") || fork() != 0)
            continue;
        while (answer(fd))
            ;
        return 0;
    }
    if (is("stays"))
        pause();
    return 0;
}
