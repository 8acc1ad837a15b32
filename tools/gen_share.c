#include "tools/gen_share.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "tools/cli.h"

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool same_text(const cJSON *a, const cJSON *b, const char *key)
{
    const char *x = cJSON_GetStringValue(get(a, key)), *y = cJSON_GetStringValue(get(b, key));
    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

/* One link, under another name until it takes the file's place. */
static void link_file(const char *from, const char *to, const char *name)
{
    char *source = cli_format("%s/%s", from, name), *target = cli_format("%s/%s", to, name);
    char *making = cli_format("%s/%s.link", to, name);
    unlink(making);
    if (link(source, making) == 0 && rename(making, target) != 0)
        unlink(making);
    free(source);
    free(target);
    free(making);
}

/* Two descriptions of one table: they have the same members, or the tables are not alike. */
static void share(const char *from, const char *to, const cJSON *a, const cJSON *b)
{
    if (same_text(a, b, "file") && same_text(a, b, "checksum") && cJSON_Compare(get(a, "size"), get(b, "size"), 1))
        link_file(from, to, cJSON_GetStringValue(get(b, "file")));
    for (a = a->child, b = b->child; a != NULL && b != NULL; a = a->next, b = b->next)
        share(from, to, a, b);
}

static cJSON *read_catalog(const char *directory)
{
    struct cli_error err = {0};
    char *path = cli_format("%s/catalog.json", directory), *text = NULL;
    cJSON *catalog = cli_read_file(path, &text, &err) == 0 ? cJSON_Parse(text) : NULL;
    cli_error_clear(&err);
    free(text);
    free(path);
    return catalog;
}

void gen_share_files(const char *from, const char *to)
{
    cJSON *x = read_catalog(from), *y = read_catalog(to);
    const cJSON *a = x != NULL && y != NULL ? get(x, "tables")->child : NULL,
                *b = a != NULL ? get(y, "tables")->child : NULL;
    for (; a != NULL && b != NULL; a = a->next, b = b->next)
        if (get(a, "cut_by") == NULL && get(b, "cut_by") == NULL)
            share(from, to, a, b);
    cJSON_Delete(x);
    cJSON_Delete(y);
}
