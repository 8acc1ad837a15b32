/* Minimal checks for the generator's tests: count failures, go on. */
#ifndef TESTS_GEN_CHECK_H
#define TESTS_GEN_CHECK_H

#include <stdio.h>

static int gen_failures;

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            gen_failures++; \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
        } \
    } while (0)

#endif
