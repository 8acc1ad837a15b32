/* JCC-H's permutations, populous rows and pool shifts against their published values. */
#include "gen_check.h"
#include "gen_internal.h"

static struct tg_gen *gen_of(double sf)
{
    struct tg_options o = {.scheme = TG_JCCH, .sf = sf};
    struct tg_gen *g = NULL;
    CHECK(tg_gen_new(&o, &g, NULL) == 0, "sf %g", sf);
    return g;
}

static void check_perm(const struct tg_perm *p, uint64_t add, uint64_t inverse, double sf)
{
    CHECK(p->add == add && p->inverse == inverse, "%llu %llu at %g", (unsigned long long)p->add,
          (unsigned long long)p->inverse, sf);
}

static void permutations_are_known(void)
{
    static const struct {
        double sf;
        uint64_t p[2], s[2], c[2], o[2];
    } known[] = {
        {0.01, {881, 1057}, {49, 57}, {881, 557}, {7025, 11057}},
        {0.1, {7025, 1057}, {369, 57}, {7025, 11057}, {23409, 41057}},
        {1, {23409, 141057}, {7025, 1057}, {23409, 41057}, {940913, 341057}},
        {10, {940913, 1341057}, {23409, 41057}, {940913, 341057}, {3038065, 9341057}},
        {30, {3038065, 3341057}, {154481, 41057}, {3038065, 3341057}, {3038065, 39341057}},
        {100, {3038065, 9341057}, {416625, 341057}, {3038065, 9341057}, {3038065, 129341057}},
        {1000, {3038065, 29341057}, {3038065, 9341057}, {3038065, 129341057}, {405691249, 1029341057}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct tg_gen *g = gen_of(known[i].sf);
        check_perm(&g->part_perm, known[i].p[0], known[i].p[1], known[i].sf);
        check_perm(&g->supplier_perm, known[i].s[0], known[i].s[1], known[i].sf);
        check_perm(&g->customer_perm, known[i].c[0], known[i].c[1], known[i].sf);
        check_perm(&g->order_perm, known[i].o[0], known[i].o[1], known[i].sf);
        tg_gen_free(g);
    }
}

static void populous_orders_are_known(void)
{
    static const struct {
        double sf;
        int64_t row[5];
    } known[] = {
        {0.01, {9576, 5633, 1690, 12747, 8804}},
        {1, {534960, 876017, 1217074, 58131, 399188}},
        {100, {61665296, 41006353, 20347410, 149688467, 129029524}},
        {1000, {938689808, 468030865, 1497371922, 1026712979, 556054036}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct tg_gen *g = gen_of(known[i].sf);
        for (int h = 0; h < 5; h++) {
            int at = tg_populous_find(&g->big_orders, known[i].row[h] - 1);
            CHECK(at >= 0 && g->big_orders.hash[at] == h, "order %d at %g", h, known[i].sf);
        }
        tg_gen_free(g);
    }
}

/* All scale factors below 1 and the whole ones where the pool starts late, and by how much. */
static void pool_shifts_are_known(void)
{
    static const struct {
        int thousandths;
        uint64_t shift;
    } known[] = {
        {3, 2},  {4, 3},   {8, 3},   {12, 1},  {14, 1},  {28, 1},  {61, 1},
        {92, 1}, {110, 1}, {220, 1}, {488, 1}, {732, 1}, {878, 1},
    };
    size_t next = 0;
    for (int m = 3; m < 1000; m++) {
        struct tg_gen *g = gen_of(m / 1000.0);
        bool listed = next < sizeof known / sizeof known[0] && known[next].thousandths == m;
        CHECK(g->pool_shift == (listed ? known[next].shift : 0), "shift %llu at 0.%03d",
              (unsigned long long)g->pool_shift, m);
        next += listed;
        tg_gen_free(g);
    }
    for (int sf = 1; sf <= 1000; sf++) {
        struct tg_gen *g = gen_of(sf);
        CHECK(g->pool_shift == 0, "shift at %d", sf);
        tg_gen_free(g);
    }
}

int main(void)
{
    permutations_are_known();
    populous_orders_are_known();
    pool_shifts_are_known();
    printf("%d failures\n", gen_failures);
    return gen_failures == 0 ? 0 : 1;
}
