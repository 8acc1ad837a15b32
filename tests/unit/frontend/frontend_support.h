/* What the frontend's tests share: files of the source tree, a fixed catalog, plans in it. */
#ifndef HEDDLE_TESTS_UNIT_FRONTEND_SUPPORT_H
#define HEDDLE_TESTS_UNIT_FRONTEND_SUPPORT_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "frontend/catalog.h"
#include "frontend/plan.h"
#include "runtime/base/strbuf.h"

struct fixture {
    struct hd_arena arena;
    struct hd_err err;
    struct fe_catalog cat; /* catalog.json beside this file */
};

/* cmocka setup and teardown; *state becomes a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Contents of a file below the source directory, NUL-terminated, freed with free(). */
char *read_source_file(const char *path);
/* Names in a directory below the source directory that end in suffix, sorted; NULL ends. In
 * the arena. */
const char **list_source_files(struct hd_arena *a, const char *dir, const char *suffix);
/* Compares text with a file below the source directory; with HEDDLE_UPDATE set in the
 * environment it writes the file instead. */
void check_golden(const char *path, const char *text);

/* Reads a plan that must be right. */
struct fe_plan *must_read(struct fixture *f, const char *json);
/* Reads a plan that must be wrong; the error is in f->err. */
void must_refuse(struct fixture *f, const char *json);
/* Printed plan, freed with free(). */
char *print_plan(const struct fe_plan *p);
#define assert_error(f, cls, where, text) \
    do { \
        assert_int_equal((f)->err.class, HD_ERR_##cls); \
        assert_string_equal((f)->err.path, where); \
        assert_string_equal((f)->err.message, text); \
    } while (0)

#endif
