#include "frontend/catalog.h"

#include <string.h>

const struct fe_table *fe_catalog_find(const struct fe_catalog *c, const char *name)
{
    for (int i = 0; i < c->ntables; i++)
        if (strcmp(c->tables[i]->name, name) == 0)
            return c->tables[i];
    return NULL;
}

int fe_table_find_column(const struct fe_table *t, const char *name)
{
    for (int i = 0; i < t->ncols; i++)
        if (strcmp(t->cols[i].name, name) == 0)
            return i;
    return -1;
}

const char *fe_index_kind_name(enum fe_index_kind k)
{
    static const char *const names[] = {[FE_INDEX_NONE] = "none",
                                        [FE_INDEX_POSITIONAL] = "positional",
                                        [FE_INDEX_BITMAP] = "bitmap",
                                        [FE_INDEX_ARRAY] = "array"};
    return names[k];
}

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = HD_MIN(na, nb);
    int c = n ? memcmp(a, b, n) : 0;
    return c ? c : (na > nb) - (na < nb);
}

uint32_t fe_dict_find(const struct fe_dict *d, const char *s, size_t n, bool *found)
{
    uint32_t lo = 0, hi = d->n;
    *found = false;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        uint32_t start = d->offsets[mid];
        int c = compare(d->bytes + start, d->offsets[mid + 1] - start, s, n);
        if (c == 0) {
            *found = true;
            return mid;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
