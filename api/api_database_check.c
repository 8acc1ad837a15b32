#include "api/api_internal.h"
#include "runtime/store/store.h"

static int check_database(heddle_context *c, const char *path, struct rt_progress *progress,
                          char **report, struct hd_err *err)
{
    heddle_database *db;
    if (!path)
        return HD_FAIL(err, USER, NULL, "path must be given");
    HD_TRY(api_database_open(c, path, true, &db, err));
    int rc = rt_store_check(db->store, c->threads, progress, report, err);
    heddle_database_free(db);
    return rc;
}

int heddle_database_check(heddle_context *c, const char *path, heddle_progress_fn progress,
                          void *user, char **report, heddle_error **err)
{
    struct hd_err e;
    hd_err_init(&e);
    struct rt_progress p = {progress, user, 0, 1};
    return api_finish(check_database(c, path, &p, report, &e), &e, err);
}
