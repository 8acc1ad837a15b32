#include "api/api_internal.h"
#include "runtime/io/text_load.h"

int heddle_writer_load_text(heddle_writer *w, const char *from, heddle_progress_fn progress, void *user,
                            heddle_error **err)
{
    struct hd_err e;
    API_NEED(w, err);
    API_NEED(from, err);
    hd_err_init(&e);
    struct rt_progress p = {progress, user, 0, 1};
    int rc = rt_text_load(w->w, from, &p, &e);
    if (rc != 0)
        rt_writer_poison(w->w); /* some tables may be complete, but none may be published */
    return api_finish(rc, &e, err);
}
