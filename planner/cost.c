/* Costs and thresholds of strategies. */
#include "planner/cost.h"

#include <math.h>

#include "frontend/expr.h"
#include "runtime/base/util.h"
#include "templates/device.cuh"

/* ---- joins: nanoseconds per row ---- */

enum {
    NS_SCAN = 2,
    NS_BUILD = 6,
    NS_PROBE = 4,
    NS_RANDOM = 20, /* a row anywhere in a large table */
    NS_CACHED = 6,  /* and in one that stays in the cache */
    NS_NEAR = 6,  /* a few rows further on than the one before */
    NS_MATCH = 6, /* a row of a range that was found: on a GPU balancing it costs more than many pairs of a loop */
    NS_MERGE = 9, /* both ends of a range, near those of the row before */
    NS_RUN = 4,   /* a row of a range, on a CPU */
    NEAR_ROWS = 1 << 16,
    CHILDREN_OF_A_WARP = 4096
};
static const double child_column = 0.7; /* of a random row: misses of one row overlap */
static const double exchange_margin = 0.9;
static const double ns_child_halving = 0.5; /* most of them in the cache */
static const double ns_pair = 0.3, ns_comparison = 0.4; /* of neighbours, in vectors */
static const double ns_sort_level = 4, ns_search_level = 3; /* of a binary tree over the rows */

/* A GPU hides what lookups wait for but pays for what they move: a sector for each (docs/performance.md, "What memory of a
 * GPU gives"). A table costs it the clearing of its places, too, and children the sharing of levels among warps. */
const struct pl_rates *pl_rates(bool on_gpu)
{
    static const struct pl_rates of[] = {
        {.scan = NS_SCAN,
         .build = NS_BUILD,
         .probe = NS_PROBE,
         .random = NS_RANDOM,
         .cached = NS_CACHED,
         .child = NS_SCAN,
         .sampled = HUGE_VAL},
        {.scan = 2, .build = 12, .probe = 3, .random = 20, .cached = 6, .child = 5, .sampled = 4}};
    return &of[on_gpu];
}

double pl_cost_scan(const struct pl_rates *r, double rows)
{
    return rows * r->scan;
}

double pl_cost_sort(double rows, int threads)
{
    return rows * log2(HD_MAX(rows, 2)) * ns_sort_level / HD_MAX(threads, 1);
}

double pl_cost_in_order(double rows, int threads)
{
    enum { NS_COPIED = 3 };
    return rows * NS_COPIED / HD_MAX(threads, 1);
}

double pl_cost_loop(double pairs, int comparisons)
{
    return pairs * (ns_pair + ns_comparison * comparisons);
}

double pl_cost_band(double rows, double probe, double pairs, int comparisons)
{
    return probe * log2(HD_MAX(rows, 2)) * ns_search_level + pairs * (NS_MATCH + ns_comparison * comparisons);
}

double pl_cost_near(double build, bool in_order, double probe)
{
    enum { NS_PART = 4, PART_ROWS = 1024 };
    return (in_order ? pl_cost_in_order(build, 1) : pl_cost_sort(build, 1)) + probe * (1 + build / PART_ROWS) * NS_PART;
}

double pl_cost_search(double build, bool in_order, double probe, double pairs, int comparisons)
{
    return (in_order ? pl_cost_in_order(build, 1) : pl_cost_sort(build, 1)) +
           pl_cost_band(build, probe, pairs, comparisons);
}

double pl_range_share(int ends)
{
    static const double shares[] = {1, 0.3, 0.005};
    return shares[ends];
}

double pl_overlap_share(void)
{
    return 0.2;
}

double pl_cost_build(const struct pl_rates *r, double scanned, double build, double probe)
{
    return scanned * r->scan + build * r->build + probe * r->probe;
}

double pl_cost_sieve(double rows)
{
    static const double ns_bit = 2; /* JCC-H's Q20: 1.5 million in 3 ms */
    return rows * ns_bit;
}

double pl_cost_hash_build(const struct pl_rates *r, double scanned, double build, double probe, bool cached)
{
    return pl_cost_build(r, scanned, build, probe) + pl_cost_table(cached, build + probe);
}

/* Neighbouring searches read the same rows. */
double pl_cost_merge(double build, double probe, double pairs)
{
    return pl_cost_in_order(build, 1) + probe * NS_MERGE + pairs * NS_RUN;
}

double pl_cost_key_index(const struct pl_rates *r, double table_rows, double probe)
{
    return probe * (table_rows < NEAR_ROWS ? r->cached : r->random);
}

double pl_cost_foreign_key(const struct pl_rates *r, double children, bool scattered, int columns, double probe)
{
    return probe * (r->random + children * (scattered ? child_column * r->random * columns : r->child));
}

/* A search of children that are neighbours: the lookup of their parent, and halvings. */
double pl_cost_child(double children, double probe)
{
    return probe * (NS_PROBE + ns_child_halving * log2(1 + children));
}

double pl_cost_column(double table_rows, double matches, bool in_order, double probe)
{
    double search = in_order ? NS_NEAR : log2(HD_MAX(table_rows, 2)) * ns_search_level;
    return probe * (search + matches * NS_SCAN);
}

bool pl_worth_splitting(int64_t children)
{
    return children < 0 || children > CHILDREN_OF_A_WARP;
}

bool pl_cost_exchange(double written, double exchanged)
{
    return exchanged < written * exchange_margin;
}

/* ---- extremes of a key: grouping, and keeping a probe row with its key's bit ---- */

enum { NS_GROUP = 20, NS_LOOKUP = 10, NS_KEEP = 10, NS_TEST = 3 };

double pl_cost_extremes(double scanned, double build, double probe)
{
    return scanned * NS_SCAN + probe * NS_LOOKUP + build * NS_GROUP;
}

/* Keeping the probe rows and testing a bit per build row pays where that leaves few. */
double pl_cost_extremes_reduced(double scanned, double build, double probe, double keys)
{
    double share = HD_MIN(1, probe / keys);
    return scanned * NS_SCAN + probe * NS_LOOKUP + probe * NS_KEEP + build * NS_TEST + build * share * NS_GROUP;
}

/* Few groups may be dense, which costs half as much. */
bool pl_worth_reducing(double rows, double groups, double share, double scanned)
{
    double ns = groups < NEAR_ROWS ? NS_GROUP / 2 : NS_GROUP;
    return rows * (1 - share) * ns > pl_cost_build(pl_rates(false), scanned, scanned * share, rows);
}

/* TPC-H Q22 on a CPU: 150,000 prefixes of a telephone number 4 ms; JCC-H Q20: 200,000 `like` 1.5 ms. */
bool pl_worth_sharing(double apart, double together, double kept, int uses)
{
    static const double ns_strings = 8, ns_kept = 3, ns_pipeline = 20000, gain = 0.8;
    const double ns = together * ns_strings + kept * (ns_kept + uses * NS_SCAN) + ns_pipeline;
    return ns < gain * apart * ns_strings;
}

/* ---- tiers of code on a CPU ---- */

/* The first tier takes 1.5 times as long as optimised code in the median of the queries of TPC-H, 2.7 times at most; a
 * loop over pairs 50 times. */
static const double ns_step = 0.5, ns_sink = 3, optimised_saves = 0.35, loops_save = 20;
enum { NS_COMPILED = 90000 }; /* a unit of weight, optimised */

double pl_cost_step(double rows, bool lookup)
{
    return rows * (lookup ? NS_PROBE : ns_step);
}

double pl_cost_sink(double rows, bool hashed)
{
    return rows * (hashed ? NS_GROUP : ns_sink);
}

bool pl_worth_optimising(double work, bool loops, int weight)
{
    return work * (loops ? loops_save : optimised_saves) > (double)weight * NS_COMPILED;
}

/* ---- tables of joins ---- */

enum {
    BITMAP_SMALL = 1 << 26, /* bits that are worth clearing for any number of rows */
    BITMAP_SPARSE = 256, /* bits per row */
    DIRECT_SMALL = 64000000, /* bytes */
    DIRECT_SPARSE = 32,
    CSR_SMALL = 1 << 20,
    CSR_SPARSE = 8,
    DIRECT_BYTES_MAX = 1000000000,
    FEW_ROWS = 1024 /* fewer are taken for that many */
};

static double at_least_few(double rows)
{
    return HD_MAX(rows, FEW_ROWS);
}

bool pl_worth_bitmap(double range, double rows)
{
    return range <= BITMAP_SMALL || range <= BITMAP_SPARSE * at_least_few(rows);
}

bool pl_worth_direct(double range, double row_bytes, double rows)
{
    return range * row_bytes <= DIRECT_SMALL || range <= DIRECT_SPARSE * at_least_few(rows);
}

/* A buffer with very many rows that stay costs more than sorting all, unless those would fill the memory. */
bool pl_worth_pruning(double rows, double wanted, double stay)
{
    enum { WANTED_MAX = 4096, DROPPED = 4, STAY_MAX = 1 << 17, DROPPED_OF_MANY = 32 };
    return wanted <= WANTED_MAX && rows >= (stay <= STAY_MAX ? DROPPED : DROPPED_OF_MANY) * stay;
}

/* On a GPU the kernel stops for the host to find each bound: some 0.4 ms, in which millions of rows are sorted. */
bool pl_worth_bound(bool gpu, double rows, double wanted)
{
    enum { ROWS_MIN = 1 << 16, ROWS_MIN_GPU = 1 << 23, DROPPED = 16, WANTED_MAX = 1 << 14 };
    return wanted <= WANTED_MAX && rows >= (gpu ? ROWS_MIN_GPU : ROWS_MIN) && rows >= DROPPED * wanted;
}

bool pl_worth_csr(double range, double rows)
{
    return range <= CSR_SMALL || range <= CSR_SPARSE * at_least_few(rows);
}

bool pl_direct_fits(double bytes)
{
    return bytes <= DIRECT_BYTES_MAX;
}

/* ---- parts of hash tables ---- */

/* A copy for each multiprocessor comes from the L2 cache once, and a lookup is a sector of it. */
bool pl_worth_block_bits(double rows, double spared, double bytes, bool any)
{
    enum { SECTOR = 32, PROCESSORS = HDD_LARGE_BLOCKS / 8, GAIN_MIN = 4 };
    const double share_min = 0.15, spared_min = 1e6;
    return rows > 0 && spared >= share_min * rows &&
           (any || (spared >= spared_min && spared * SECTOR >= bytes * PROCESSORS * GAIN_MIN));
}

/* A slot and a row each. Beyond the last cache of a CPU, and of a GPU, an access is a miss; in parts none is, but each
 * row is written once more. */
static const double table_row_bytes = 40, table_cached_bytes = 64e6;
enum { NS_MOVED = 5 };

bool pl_table_cached(double rows, double bytes)
{
    return rows * table_row_bytes <= (bytes > 0 ? bytes : table_cached_bytes);
}

bool pl_table_spills(double rows, double memory)
{
    return pl_array_spills(2 * rows * table_row_bytes, memory);
}

bool pl_array_spills(double bytes, double memory)
{
    return memory > 0 && bytes > memory / 2;
}

double pl_cost_table(bool cached, double rows)
{
    return rows * (cached ? NS_CACHED : NS_RANDOM);
}

double pl_cost_parts(double moved, double rows)
{
    return moved * NS_MOVED + rows * NS_CACHED;
}

/* ---- aggregation ---- */

static const double ns_agg_row = 25; /* of a hash table */
static const double ns_group_byte = 0.2; /* cleared and read */
static const double ns_merged_byte = 0.3; /* and added to another copy */
enum { NS_PARENT = 6, NS_TESTED = 5, NS_ADDED = 6, NS_LONG = 3 };
static const double shared_bytes_max = 4e9, copies_bytes_max = 64e6, input_row_bytes = 32;

double pl_cost_agg_hash(double rows)
{
    return at_least_few(rows) * ns_agg_row;
}

double pl_cost_agg_private(double bytes, int copies)
{
    return bytes * ns_merged_byte * HD_MAX(1, copies);
}

double pl_cost_agg_shared(double bytes)
{
    return bytes * ns_group_byte;
}

double pl_cost_agg_added(double rows)
{
    return rows * NS_ADDED;
}

/* The end of a loop over few children is mispredicted; conditions on them are tried one by one, not in vectors. They take
 * less, but those that drop most rows, as estimates often fail to see, leave little for groups elsewhere. A GPU waits for
 * memory meanwhile. */
double pl_cost_agg_fold(double parents, double tested, double long_children, bool gpu)
{
    return parents * (gpu ? 1 : NS_PARENT) + tested * (gpu ? 0 : NS_TESTED) + long_children * (gpu ? 1 : NS_LONG);
}

/* A copy that is small beside the cache costs nothing. */
bool pl_agg_private_fits(double bytes, double limit, double rows)
{
    return bytes <= limit / 4 || (bytes <= limit && pl_cost_agg_shared(bytes) < pl_cost_agg_hash(rows));
}

bool pl_agg_copies_fit(double bytes, int copies, double rows)
{
    return pl_cost_agg_private(bytes, copies) < pl_cost_agg_hash(rows) && bytes < copies_bytes_max;
}

/* As large as what it sums up, it is no worse to keep. */
bool pl_agg_shared_fits(double bytes, double rows)
{
    return pl_cost_agg_shared(bytes) < pl_cost_agg_hash(rows) &&
           bytes < HD_MAX(shared_bytes_max, rows * input_row_bytes);
}

/* ---- filters ---- */

static int own_class(enum fe_cost cost)
{
    switch (cost) {
    case FE_COST_LOW:
    case FE_COST_COMPARE:
    case FE_COST_LOAD:
    case FE_COST_CONVERT:
    case FE_COST_DIVIDE: return 0;
    case FE_COST_CHOICE: return 1;
    case FE_COST_LIST:
    case FE_COST_TEXT: return 2;
    case FE_COST_SEARCH: return 3;
    }
    HD_BUG("cost %d", (int)cost);
}

int pl_cost_class(const struct fe_expr *e)
{
    int k = own_class(fe_op_form(e->op)->cost);
    for (int i = 0; i < e->nargs; i++)
        k = HD_MAX(k, pl_cost_class(e->args[i]));
    return k;
}

/* ---- facts of tables in memory ---------------------------------------------------------------- */

double pl_cost_fetched(double bytes)
{
    static const double ns_byte = 0.1; /* 10 GB/s, of pages that are not locked */
    return bytes * ns_byte;
}

double pl_cost_facts(double rows, bool has_range, int width, bool counts)
{
    enum {
        NS_HASHED = 20,
        NS_RANGE = 1,
        NS_WIDE_RANGE = 2,
        NS_COUNT = 3,
        NS_WIDE_COUNT = 6,
        NS_SAMPLED = 50,
        SAMPLE = 1024
    };
    bool wide = width > 8;
    double pass = !has_range ? 0 : wide ? NS_WIDE_RANGE : NS_RANGE;
    if (!counts)
        return rows * pass + HD_MIN(rows, SAMPLE) * NS_SAMPLED;
    return rows * (!has_range ? NS_HASHED : pass + (wide ? NS_WIDE_COUNT : NS_COUNT));
}

double pl_facts_spare(double rows)
{
    enum { NS_ROW = 5, NS_ANY_PLAN = 100000 };
    const double share = 0.02;
    return HD_MAX(rows * NS_ROW * share, NS_ANY_PLAN);
}

bool pl_worth_facts(double rows)
{
    enum { FACTS_ROWS = 10000 };
    return rows >= FACTS_ROWS;
}
