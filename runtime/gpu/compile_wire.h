/* What a process that compiles (compile_server.h) and the library that uses it (compile_process.h)
 * say to each other, over stream sockets of one machine: numbers are in its byte order.
 *
 * On the control socket, which is the server's standard input, the server says hello once it is
 * ready. Then each byte that arrives there brings a descriptor: a connection, for requests one after
 * the other. The end of the control socket ends the server with all its connections. */
#ifndef HEDDLE_RUNTIME_GPU_COMPILE_WIRE_H
#define HEDDLE_RUNTIME_GPU_COMPILE_WIRE_H

#include "runtime/base/err.h"
#include "runtime/gpu/nvrtc.h"

enum {
    RT_WIRE_MAGIC = 0x48644331, /* of this protocol */
    RT_WIRE_CONTROL = 0,        /* the server's descriptor */
    RT_WIRE_TEXT_MAX = 4096,    /* a hello, a name, a message */
};
#define RT_WIRE_MAX ((uint64_t)1 << 30) /* a source, an image, a log */

struct rt_wire_hello {
    uint32_t magic, class; /* HD_ERR_NONE: the text is who the server is, else what is wrong */
    uint64_t text;         /* bytes that follow */
};
struct rt_wire_request {
    uint32_t magic, name;
    uint64_t source; /* bytes of both that follow */
};
struct rt_wire_answer {
    uint32_t magic, class; /* HD_ERR_NONE: an image follows, else a message and a log */
    uint64_t message, bytes;
};

/* All of it, or false: the other side is gone. */
bool rt_wire_send(int fd, const void *p, size_t n);
bool rt_wire_receive(int fd, void *p, size_t n);
/* There is something to receive, the end included. */
bool rt_wire_readable(int fd, int timeout_ms);
/* Bytes on the heap with a NUL behind them; NULL also if there are more than `max`. */
char *rt_wire_receive_bytes(int fd, uint64_t n, uint64_t max);
/* Gives `given` away over the control socket; takes it there, -1: the other side is gone. */
bool rt_wire_send_fd(int control, int given);
int rt_wire_receive_fd(int control);

/* Who a server is, for a library that was built from the same headers and opened the same NVRTC:
 * both make this text, and differ where one would compile something else than the other. */
void rt_wire_identity(const struct rt_nvrtc *n, char text[RT_WIRE_TEXT_MAX]);

#endif
