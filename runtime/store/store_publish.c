/* The last step of writing: catalog, flush, rename. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/claim.h"
#include "runtime/base/fault.h"
#include "runtime/store/store_catalog.h"
#include "runtime/store/store_writer_impl.h"

static int sync_task(void *ctx, int worker, int64_t task, struct hd_err *err)
{
    const struct rt_writer *w = ctx;
    char path[RT_PATH_MAX];
    (void)worker;
    HD_TRY(rt_path_join(path, w->dir, w->doc->files[task].name, err));
    return rt_file_sync(path, err);
}

static int sync_files(struct rt_writer *w, struct rt_progress *progress, struct hd_err *err)
{
    struct rt_pool *pool;
    struct rt_progress p = {progress ? progress->fn : NULL, progress ? progress->user : NULL, 0.85, 1};
    HD_TRY(rt_pool_new(w->threads, &pool, err));
    int rc = rt_pool_run(pool, w->doc->nfiles, sync_task, w, &p, "flushing to disk", err);
    rt_pool_free(pool);
    return rc;
}

static int move(struct rt_writer *w, struct hd_err *err)
{
    if (hd_fault(HD_FAULT_RENAME) || rename(w->dir, w->path) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
            return HD_FAIL(err, IO, w->path, "cannot publish: something appeared there: %s", strerror(errno));
        return HD_FAIL(err, IO, w->path, "cannot rename %s: %s", w->dir, strerror(errno));
    }
    hd_claim_end(w->dir, w->lock);
    w->dir[0] = 0;
    char parent[RT_PATH_MAX];
    snprintf(parent, sizeof parent, "%s", w->path);
    if (rt_file_sync(dirname(parent), err) == 0)
        return 0;
    hd_dir_remove(w->path); /* an error must leave nothing at the path */
    return -1;
}

int rt_writer_publish(struct rt_writer *w, const char *catalog, struct rt_progress *progress, struct hd_err *err)
{
    HD_ASSERT(atomic_load(&w->state) == WR_SEALED);
    atomic_store(&w->state, WR_POISONED);
    HD_TRY(rt_catalog_store(w->dir, catalog, err));
    HD_TRY(sync_files(w, progress, err));
    HD_TRY(rt_file_sync(w->dir, err));
    HD_TRY(move(w, err));
    atomic_store(&w->state, WR_PUBLISHED);
    return 0;
}
