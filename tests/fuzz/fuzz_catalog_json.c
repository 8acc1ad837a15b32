/* Any bytes as catalog.json: never a crash; a failure is damage with a path; what is read is
 * written to text that reads and writes the same. */
#include "fuzz_frontend.h"

static char *there_and_back(struct hd_arena *a, const char *text)
{
    struct fe_catalog_doc *doc = NULL;
    struct hd_err err;
    hd_err_init(&err);
    FUZZ_CHECK(fe_catalog_read(a, text, "catalog.json", &doc, &err) == 0);
    return fe_catalog_write(doc, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_catalog_doc *doc = NULL;
    hd_arena_init(&a);
    hd_err_init(&err);
    const char *text = hd_strndup(&a, (const char *)data, size);
    int rc = fe_catalog_read(&a, text, "catalog.json", &doc, &err);
    fuzz_check_error(rc, &err, HD_ERR_CORRUPT);
    if (rc == 0) {
        char *first = fe_catalog_write(doc, false), *second = there_and_back(&a, first);
        FUZZ_CHECK(strcmp(first, second) == 0);
        free(first);
        free(second);
    }
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
