#include "tests/simt/grid.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/util.h"

void grid_options_init(struct grid_options *o)
{
    *o = (struct grid_options){.blocks = 2, .take = 1, .balance = HDD_NIFS, .share_every = 1};
}

static void *zeroed(size_t n)
{
    void *p = aligned_alloc(64, hd_align_up(n + 1, 64));
    if (!p)
        HD_BUG("out of memory");
    return memset(p, 0, hd_align_up(n + 1, 64));
}

struct call {
    grid_kernel kernel;
    const hdd_u64 *args;
    struct hdd_launch launch;
};

static void run_thread(void *context)
{
    const struct call *c = context;
    c->kernel(c->args, &c->launch);
}

int grid_run(const struct grid_options *o, grid_kernel kernel, const hdd_u64 *args,
             struct hdd_launch launch, hdd_u64 mailbox_bytes, struct hdd_progress *progress,
             struct simt_report *report)
{
    uint32_t warps = o->blocks * GRID_WARPS;
    void *idle = zeroed((warps + 63) / 64 * 8);
    void *mail = zeroed((size_t)(mailbox_bytes * warps));
    launch.progress = (uintptr_t)memset(progress, 0, sizeof *progress);
    launch.idle_words = (uintptr_t)idle;
    launch.mailboxes = (uintptr_t)mail;
    launch.warps = warps;
    launch.take = o->take;
    launch.balance = (hdd_u32)o->balance;
    launch.share_every = o->share_every;
    launch.start_idle = o->start_idle ? o->start_idle : warps;
    struct call c = {kernel, args, launch};
    struct simt_options so = {.blocks = o->blocks,
                              .warps = GRID_WARPS,
                              .seed = o->seed,
                              .max_switches = o->max_switches};
    int status = simt_launch(&so, run_thread, &c, report);
    free(idle);
    free(mail);
    return status;
}
