#include "tests/unit/codegen/expr_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/type.h"

struct input in[N];

static const enum rt_phys phys_of[NCOLS] = {RT_I64,  RT_I64,  RT_I32, RT_I32, RT_F64,  RT_F64,
                                            RT_I128, RT_I128, RT_STR, RT_STR, RT_BOOL, RT_BOOL};
static const bool nullable_of[NCOLS] = {
    [B] = true, [D] = true, [F] = true, [G] = true, [T] = true, [P] = true, [Q] = true};

#define PICK(list) list[(size_t)rand() % HD_COUNT(list)]

void fill(void)
{
    static const int64_t ints[] = {
        0,           1,          -1, 2, 7, -7, 49, 50, 51, -50, 149, 1000000007, INT64_MAX, INT64_MIN, INT64_MAX / 2,
        86400000000, -1234567891};
    static const int32_t small[] = {0, 1, -1, 5, 9, 11016, -400, 19000, INT32_MAX, INT32_MIN};
    const double floats[] = {0.0, -0.0, 1.5, -1.5, 2.5, NAN, INFINITY, -INFINITY, 1e300};
    static const char *const texts[] = {"", "a", "ab", "abc", "abd", "b", "12", "-7"};
    srand(11);
    for (int i = 0; i < N; i++) {
        struct input *r = &in[i];
        r->a = PICK(ints);
        r->b = PICK(ints);
        r->c = PICK(small);
        r->d = PICK(small);
        r->e = PICK(floats);
        r->f = PICK(floats);
        r->h = (hd_i128)PICK(ints) * PICK(small);
        r->g = (hd_i128)PICK(ints) * PICK(small);
        r->s = PICK(texts);
        r->t = PICK(texts);
        r->p = rand() & 1;
        r->q = rand() & 1;
        r->bv = rand() % 4 != 0;
        r->dv = rand() % 4 != 0;
        r->fv = rand() % 4 != 0;
        r->gv = rand() % 4 != 0;
        r->tv = rand() % 4 != 0;
        r->pv = rand() % 3 != 0;
        r->qv = rand() % 3 != 0;
    }
}

static bool valid_at(int col, const struct input *r)
{
    switch (col) {
    case B: return r->bv;
    case D: return r->dv;
    case F: return r->fv;
    case G: return r->gv;
    case T: return r->tv;
    case P: return r->pv;
    case Q: return r->qv;
    default: return true;
    }
}

static void put(int col, const struct input *r, void *at)
{
    int32_t c = col == C ? r->c : r->d;
    switch (col) {
    case A: memcpy(at, &r->a, 8); break;
    case B: memcpy(at, &r->b, 8); break;
    case C:
    case D: memcpy(at, &c, 4); break;
    case E: memcpy(at, &r->e, 8); break;
    case F: memcpy(at, &r->f, 8); break;
    case G: memcpy(at, &r->g, 16); break;
    case H: memcpy(at, &r->h, 16); break;
    case P: memcpy(at, &r->p, 1); break;
    case Q: memcpy(at, &r->q, 1); break;
    default: HD_BUG("column %d", col);
    }
}

/* Texts as the store has them. */
static void put_texts(struct fx *x, struct fe_table_column *c, int col)
{
    uint32_t *ends = HD_NEWN(&x->arena, uint32_t, N), at = 0;
    char *bytes = hd_alloc(&x->arena, N * 4);
    for (int i = 0; i < N; i++) {
        const char *s = col == S ? in[i].s : in[i].t;
        memcpy(bytes + at, s, strlen(s));
        at += (uint32_t)strlen(s);
        ends[i] = at;
    }
    c->at.data = ends;
    c->at.text_base = HD_NEW(&x->arena, uint64_t);
    c->at.text_bytes = bytes;
}

/* A pipeline over the input with all columns loaded into slots 1 + column. */
struct fx *start(void)
{
    static const int width[NCOLS] = {8, 8, 4, 4, 8, 8, 16, 16, 4, 4, 1, 1};
    struct fx *x = fx_new();
    fx_pipeline(x, RT_SOURCE_TABLE);
    struct fe_table *t = fx_table(x, NCOLS);
    for (int k = 0; k < NCOLS; k++) {
        uint8_t *valid = nullable_of[k] ? hd_zalloc(&x->arena, N / 8 + 9) : NULL;
        char *data = hd_zalloc(&x->arena, (size_t)(N * width[k]));
        enum rt_phys p = phys_of[k];
        enum fe_storage st = p == RT_STR ? FE_STORE_TEXT : p == RT_F64 ? FE_STORE_F64 : FE_STORE_INT;
        fx_column(t, k, st, width[k], data, valid);
        for (int i = 0; i < N; i++) {
            if (valid && valid_at(k, &in[i]))
                valid[i >> 3] = (uint8_t)(valid[i >> 3] | 1 << (i & 7));
            if (p != RT_STR)
                put(k, &in[i], data + i * width[k]);
        }
        if (p == RT_STR)
            put_texts(x, &t->cols[k], k);
        fx_load(x, fx_slot(x, p, nullable_of[k]), t, k, 0);
    }
    return x;
}

int col(struct fx *x, int k)
{
    return fx_col(x, 1 + k);
}

int scaled(struct fx *x, int e, int scale)
{
    x->exprs[e].scale = scale;
    return e;
}

int typed(struct fx *x, int e, enum hd_type_kind from, enum hd_type_kind to)
{
    x->exprs[e].in_type = hd_type_of(from);
    x->exprs[e].out_type = hd_type_of(to);
    return e;
}
