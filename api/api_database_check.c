#include <stdlib.h>

#include "api/api_internal.h"
#include "runtime/store/store.h"

static int check(heddle_database *db, struct rt_progress *progress, const char *path, char **report, struct hd_err *err)
{
    int problems = 0;
    HD_TRY(rt_store_check(db->store, db->context->threads, progress, &problems, report, err));
    if (problems)
        return HD_FAIL(err, CORRUPT, path, "%d problem%s found: see the report", problems, problems > 1 ? "s" : "");
    return 0;
}

static int check_database(heddle_context *c, const char *path, struct rt_progress *progress, char **report,
                          struct hd_err *err)
{
    heddle_database *db;
    *report = NULL;
    HD_TRY(api_database_open(c, path, HEDDLE_OPEN_TRUST, &db, err));
    int rc = check(db, progress, path, report, err);
    heddle_database_free(db);
    return rc;
}

/* Where problems are found it fails as CORRUPT, and the report is there all the same. */
int heddle_database_check(heddle_context *c, const char *path, heddle_progress_fn progress, void *user, char **report,
                          heddle_error **err)
{
    struct hd_err e;
    API_NEED(c, err);
    API_NEED(path, err);
    API_NEED(report, err);
    hd_err_init(&e);
    struct rt_progress p = {progress, user, 0, 1};
    return api_finish(check_database(c, path, &p, report, &e), &e, err);
}
