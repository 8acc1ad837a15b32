/* Rows of keys, some NULL and some of another range, that probes of tables with RANGE keys are tried on. */
#ifndef HEDDLE_TESTS_UNIT_CODEGEN_JOIN_INPUTS_H
#define HEDDLE_TESTS_UNIT_CODEGEN_JOIN_INPUTS_H

#include "tests/unit/codegen/codegen_fixture.h"

enum { N = 500, RANGE = 300 };

extern int64_t keys[N];
extern uint8_t key_valid[N / 8 + 9];
extern uint64_t bits[RANGE / 64 + 1]; /* of the keys that the table has */

/* The key of row i is no NULL. */
bool valid(int i);
bool present(int64_t k);
void fill(void);

struct out_row {
    int32_t src, hit;
    uint8_t mark, val_valid, pad[6];
    int64_t val;
};

/* A pipeline over the keys, slot `key` loaded, with a sink of out_rows. */
struct fx *start(int *key, int *rows);

#endif
