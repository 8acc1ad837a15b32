/* Several CUDA devices: access to each other's memory, and copies between them. */
#include "runtime/gpu/cuda_internal.h"

/* Access is of one context to another and lasts as long as both: a reset ends it. */
int rt_cuda_open_peer(struct rt_device *d, struct rt_device *other, bool *direct, struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d), *o = rt_cuda(other);
    int can = 0;
    HD_TRY(rt_device_alive(&o->d, err));
    *direct = c->device == o->device;
    if (*direct)
        return 0;
    HD_TRY(rt_cuda_check(c, c->cu->cuDeviceCanAccessPeer(&can, c->device, o->device), "peer access", err));
    if (!can)
        return 0;
    int status = c->cu->cuCtxEnablePeerAccess(o->context, 0);
    if (status != CU_PEER_ALREADY_ENABLED)
        HD_TRY(rt_cuda_check(c, status, "peer access", err));
    *direct = true;
    return 0;
}

int rt_cuda_copy_peer(struct rt_device *d, enum rt_stream s, struct rt_place to, struct rt_place from, size_t n,
                      struct hd_err *err)
{
    struct rt_cuda *c = rt_cuda(d), *t = rt_cuda(to.device), *f = rt_cuda(from.device);
    HD_TRY(rt_device_alive(&t->d, err));
    HD_TRY(rt_device_alive(&f->d, err));
    if (n == 0)
        return 0;
    HD_TRY(rt_cuda_flush_for(c, s, err));
    int status = t->context == f->context
                     ? c->cu->cuMemcpyDtoDAsync(to.address, from.address, n, c->streams[s])
                     : c->cu->cuMemcpyPeerAsync(to.address, t->context, from.address, f->context, n, c->streams[s]);
    return rt_cuda_check(c, status, "copying between devices", err);
}
