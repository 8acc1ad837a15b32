#include "runtime/gpu/compile_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/fault.h"
#include "templates/embed.h"

bool rt_wire_send(int fd, const void *p, size_t n)
{
    for (const char *at = p; n > 0;) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool rt_wire_receive(int fd, void *p, size_t n)
{
    for (char *at = p; n > 0;) {
        ssize_t got = recv(fd, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

bool rt_wire_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, timeout_ms)) < 0 && errno == EINTR)
        ;
    return n > 0;
}

char *rt_wire_receive_bytes(int fd, uint64_t n, uint64_t max)
{
    char *p = n <= max ? hd_try_malloc(n + 1) : NULL;
    if (!p || !rt_wire_receive(fd, p, n)) {
        free(p);
        return NULL;
    }
    p[n] = 0;
    return p;
}

/* One byte with room for one descriptor beside it. */
struct parcel {
    char byte;
    struct iovec vector;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message;
};

static void parcel_init(struct parcel *p)
{
    memset(p, 0, sizeof *p);
    p->vector = (struct iovec){&p->byte, 1};
    p->message = (struct msghdr){.msg_iov = &p->vector,
                                 .msg_iovlen = 1,
                                 .msg_control = p->control.bytes,
                                 .msg_controllen = sizeof p->control.bytes};
}

bool rt_wire_send_fd(int control, int given)
{
    struct parcel p;
    ssize_t sent;
    parcel_init(&p);
    struct cmsghdr *h = CMSG_FIRSTHDR(&p.message);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof given);
    memcpy(CMSG_DATA(h), &given, sizeof given);
    while ((sent = sendmsg(control, &p.message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return sent == 1;
}

int rt_wire_receive_fd(int control)
{
    struct parcel p;
    ssize_t got;
    int taken;
    parcel_init(&p);
    while ((got = recvmsg(control, &p.message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *h = got == 1 ? CMSG_FIRSTHDR(&p.message) : NULL;
    if (!h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(sizeof taken))
        return -1;
    memcpy(&taken, CMSG_DATA(h), sizeof taken);
    return taken;
}

static void digest_text(XXH3_state_t *state, const char *text)
{
    XXH3_128bits_update(state, text, strlen(text) + 1);
}

void rt_wire_identity(const struct rt_nvrtc *n, char text[RT_WIRE_TEXT_MAX])
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (int i = 0; i < hdd_ntemplates; i++) {
        digest_text(&state, hdd_templates[i].name);
        digest_text(&state, hdd_templates[i].text);
    }
    XXH128_hash_t h = XXH3_128bits_digest(&state);
    int at = snprintf(text, RT_WIRE_TEXT_MAX, "headers %016" PRIx64 "%016" PRIx64 ", ", h.high64, h.low64);
    rt_nvrtc_describe(n, text + at, (size_t)(RT_WIRE_TEXT_MAX - at));
    at += (int)strlen(text + at);
    snprintf(text + at, (size_t)(RT_WIRE_TEXT_MAX - at), ", %s", rt_nvrtc_path(n));
}
