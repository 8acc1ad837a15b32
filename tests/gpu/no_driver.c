/* In place of the CUDA driver where nobody may open it: compiling needs none. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int cuInit(unsigned flags);
__attribute__((visibility("default"))) int cuGetExportTable(const void **table, const void *id);

static int opened(void)
{
    fprintf(stderr, "a compiler opens the driver\n");
    abort();
}

int cuInit(unsigned flags)
{
    (void)flags;
    return opened();
}

int cuGetExportTable(const void **table, const void *id)
{
    (void)table;
    (void)id;
    return opened();
}
