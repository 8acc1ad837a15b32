/* What the frontend's fuzz targets share. */
#ifndef HEDDLE_TESTS_FUZZ_FRONTEND_H
#define HEDDLE_TESTS_FUZZ_FRONTEND_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/catalog.h"
#include "frontend/plan.h"
#include "runtime/base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(c) ((c) ? (void)0 : fuzz_stop(#c, __LINE__))
_Noreturn static inline void fuzz_stop(const char *what, int line)
{
    fprintf(stderr, "line %d: %s does not hold\n", line, what);
    abort();
}

/* A failure says what and where, a success says nothing. */
static inline void fuzz_check_error(int rc, const struct hd_err *err, enum hd_err_class class)
{
    if (rc == 0) {
        FUZZ_CHECK(err->class == HD_ERR_NONE);
        return;
    }
    FUZZ_CHECK(rc == -1 && err->class == class);
    FUZZ_CHECK(err->path[0] && err->message[0]);
}

/* The catalog of the unit tests, read once and kept for the life of the process. */
static HD_UNUSED const struct fe_catalog *fuzz_catalog(void)
{
    static struct hd_arena a;
    static struct fe_catalog cat;
    char json[1 << 16];
    struct hd_err err;
    struct fe_schema *s;
    if (cat.tables)
        return &cat;
    FILE *f = fopen(HEDDLE_SOURCE_DIR "/tests/unit/frontend/catalog.json", "rb");
    FUZZ_CHECK(f);
    json[fread(json, 1, sizeof json - 1, f)] = 0;
    fclose(f);
    hd_arena_init(&a);
    hd_err_init(&err);
    FUZZ_CHECK(fe_schema_read(&a, json, &s, &err) == 0);
    cat.ntables = s->ntables;
    cat.tables = HD_NEWN(&a, struct fe_table *, s->ntables);
    for (int i = 0; i < s->ntables; i++)
        cat.tables[i] = &s->tables[i].table;
    return &cat;
}

#endif
