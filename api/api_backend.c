#include "api/api_backend.h"

#include <string.h>

/* In the order in which `auto` asks them. */
static const struct api_backend *const backends[] = {&api_backend_cuda, &api_backend_cpu};

static const char ANY[] = "auto";

int api_backend_check(const char *name, struct hd_err *err)
{
    struct hd_strbuf known;
    if (strcmp(name, ANY) == 0)
        return 0;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (strcmp(name, backends[i]->name) == 0)
            return 0;
    hd_strbuf_init(&known);
    for (size_t i = HD_COUNT(backends); i-- > 0;)
        hd_strbuf_addf(&known, i ? ", %s" : " or %s", backends[i]->name);
    HD_FAIL(err, USER, NULL, "backend: expected %s%s, found \"%s\"", ANY, known.s, name);
    hd_strbuf_release(&known);
    return -1;
}

const struct api_backend *api_backend_choose(struct heddle_statement *s, const char *name)
{
    bool any = strcmp(name, ANY) == 0;
    for (size_t i = 0; i < HD_COUNT(backends); i++)
        if (any ? backends[i]->available(s) : strcmp(name, backends[i]->name) == 0)
            return backends[i];
    HD_BUG("backend %s", name);
}
