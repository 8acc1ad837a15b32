#include "tests/simt/grid.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/util.h"

void grid_options_init(struct grid_options *o)
{
    *o = (struct grid_options){.blocks = 2, .cursors = HDD_CURSORS, .balance = RT_BALANCE_NIFS, .threshold = 3};
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

/* Memory of one launch besides the pipeline's own. */
struct extra {
    unsigned char *share;
    struct hdd_warp_profile *profile;
    struct hdd_cursor *cursors;
};

static void fill_launch(const struct grid_options *o, const struct grid_code *code, struct hdd_launch *l,
                        struct extra *e)
{
    uint32_t warps = o->blocks * HDD_BLOCK_WARPS;
    struct rt_balance_memory m =
        rt_balance_layout(o->balance, warps, code->donation_bytes, code->slot_bytes, o->threshold, 0);
    e->share = zeroed(m.bytes);
    memset(e->share + m.clear, 0xa5, m.bytes - m.clear);
    m = rt_balance_layout(o->balance, warps, code->donation_bytes, code->slot_bytes, o->threshold, (uintptr_t)e->share);
    e->profile = o->report ? zeroed(sizeof *e->profile * warps) : NULL;
    l->share = m.at;
    l->profile = (uintptr_t)e->profile;
    l->warps = warps;
    e->cursors = zeroed(sizeof *e->cursors * HDD_CURSORS);
    l->cursors = (uintptr_t)e->cursors;
    l->ncursors = o->cursors;
    l->batch_bits = o->batch_bits;
    l->balance = (hdd_u32)o->balance;
    l->scan_warps = o->scan_warps ? o->scan_warps : warps;
}

int grid_run(const struct grid_options *o, const struct grid_code *code, const hdd_u64 *args, struct hdd_launch launch,
             struct hdd_progress *progress, struct simt_report *report)
{
    struct extra e;
    fill_launch(o, code, &launch, &e);
    launch.progress = (uintptr_t)memset(progress, 0, sizeof *progress);
    struct call c = {code->entry, args, launch};
    struct simt_options so = {.blocks = o->blocks,
                              .warps = HDD_BLOCK_WARPS,
                              .seed = o->seed,
                              .max_switches = o->max_switches,
                              .alarm_after = o->stop_after,
                              .alarm = &progress->abort};
    int status = simt_launch(&so, run_thread, &c, report);
    if (o->report)
        rt_balance_add_up(e.profile, launch.warps, o->report);
    free(e.share);
    free(e.profile);
    free(e.cursors);
    return status;
}
