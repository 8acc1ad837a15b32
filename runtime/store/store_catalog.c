#include "runtime/store/store_catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/store/store_sum.h"

int rt_catalog_store(const char *dir, const char *text, struct hd_err *err)
{
    char path[RT_PATH_MAX], sum[RT_SUM_TEXT + 1];
    rt_sum(text, strlen(text), sum);
    HD_TRY(rt_path_join(path, dir, "catalog.json", err));
    HD_TRY(rt_file_write_all(path, text, strlen(text), err));
    HD_TRY(rt_file_sync(path, err));
    memcpy(sum + RT_SUM_TEXT - 1, "\n", 2);
    HD_TRY(rt_path_join(path, dir, "catalog.sum", err));
    HD_TRY(rt_file_write_all(path, sum, strlen(sum), err));
    return rt_file_sync(path, err);
}

/* A missing file is damage if the directory is there. */
static int read_part(const char *dir, const char *name, char **text, size_t *n, struct hd_err *err)
{
    char path[RT_PATH_MAX];
    struct stat st;
    HD_TRY(rt_path_join(path, dir, name, err));
    if (stat(dir, &st) != 0)
        return HD_FAIL(err, IO, dir, "cannot open database: %s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return HD_FAIL(err, IO, dir, "cannot open database: not a directory");
    if (stat(path, &st) != 0 && errno == ENOENT)
        return HD_FAIL(err, CORRUPT, path, "file is missing: no database, or a damaged one");
    return rt_file_read_all(path, text, n, err);
}

int rt_catalog_load(const char *dir, char **text, struct hd_err *err)
{
    char *json = NULL, *sum = NULL, found[RT_SUM_TEXT];
    char path[RT_PATH_MAX], sum_path[RT_PATH_MAX];
    size_t n = 0, m = 0;
    HD_TRY(rt_path_join(path, dir, "catalog.json", err));
    HD_TRY(rt_path_join(sum_path, dir, "catalog.sum", err));
    int rc = read_part(dir, "catalog.json", &json, &n, err);
    if (rc == 0)
        rc = read_part(dir, "catalog.sum", &sum, &m, err);
    if (rc == 0) {
        rt_sum(json, n, found);
        if (m != RT_SUM_TEXT || sum[m - 1] != '\n')
            rc = HD_FAIL(err, CORRUPT, sum_path, "expected 16 hexadecimal digits and a line end, found %zu bytes%s", m,
                         m == RT_SUM_TEXT ? " without a line end" : "");
        else if (memcmp(sum, found, RT_SUM_TEXT - 1) != 0)
            rc = HD_FAIL(err, CORRUPT, path, "checksum of the catalog is %s, catalog.sum says %.16s", found, sum);
        else if (strlen(json) != n)
            rc = HD_FAIL(err, CORRUPT, path, "NUL byte in the catalog");
    }
    free(sum);
    if (rc == 0)
        *text = json;
    else
        free(json);
    return rc;
}
