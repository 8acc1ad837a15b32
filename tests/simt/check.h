/* Assertions of the C tests in this folder. */
#ifndef HEDDLE_TESTS_SIMT_CHECK_H
#define HEDDLE_TESTS_SIMT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

enum { CHECK_SKIPPED = 77 }; /* exit status that ctest reports as skipped */

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
            exit(1); \
        } \
    } while (0)

#endif
