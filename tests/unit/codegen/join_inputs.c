#include "tests/unit/codegen/join_inputs.h"

#include <stdlib.h>

int64_t keys[N];
uint8_t key_valid[N / 8 + 9];
uint64_t bits[RANGE / 64 + 1];

bool valid(int i)
{
    return key_valid[i >> 3] >> (i & 7) & 1;
}
bool present(int64_t k)
{
    return k >= 0 && k < RANGE && (bits[k >> 6] >> (k & 63) & 1);
}

void fill(void)
{
    srand(3);
    for (int i = 0; i < N; i++) {
        keys[i] = rand() % (RANGE + 100) - 50;
        key_valid[i >> 3] = (uint8_t)(key_valid[i >> 3] | (rand() % 5 != 0) << (i & 7));
    }
    keys[0] = INT64_MIN;
    keys[1] = INT64_MAX;
    keys[2] = RANGE;
    for (int k = 0; k < RANGE; k++)
        if (rand() % 3 == 0)
            bits[k >> 6] |= 1ULL << (k & 63);
}

struct fx *start(int *key, int *rows)
{
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, 1);
    fx_column(t, 0, FE_STORE_INT, 8, keys, key_valid);
    *key = fx_slot(x, RT_I64, true);
    fx_load(x, *key, t, 0, 0);
    *rows = fx_state(x, RT_STATE_ROWS, sizeof(struct out_row));
    fx_field(x, *rows, RT_I32, 0, -1);
    fx_field(x, *rows, RT_I32, 4, -1);
    fx_field(x, *rows, RT_BOOL, 8, -1);
    fx_field(x, *rows, RT_I64, 16, 9);
    x->p->sink.kind = PL_SINK_ROWS;
    x->p->sink.state = *rows;
    fx_out(x, 0, fx_col(x, 0), FE_AGG_ANY);
    return x;
}
