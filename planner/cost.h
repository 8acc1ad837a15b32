/* All estimates of time and all thresholds by which the planner chooses a strategy. Nanoseconds of one thread, rough:
 * they order the ways of one decision and are no prediction. */
#ifndef HEDDLE_PLANNER_COST_H
#define HEDDLE_PLANNER_COST_H

#include <stdbool.h>
#include <stdint.h>

struct fe_expr;

/* What rows cost on who runs the plan: nanoseconds of a thread of a CPU, or picoseconds of a whole GPU, whose units only
 * compare with each other. */
struct pl_rates {
    double scan, build, probe;
    double random, cached; /* a row anywhere in a large table, and in one that stays in the cache */
    double child; /* that lies beside the one before, in a loop of its parent */
    double
        sampled; /* so many times the children that averages tell of are counted where samples tell of them: each is a sector. A
                       CPU goes through long lists ahead of its misses */
};
const struct pl_rates *pl_rates(bool on_gpu);

/* A join that builds a table of `build` rows, found by scanning `scanned` rows (0: not a scan), and probes it. */
double pl_cost_build(const struct pl_rates *r, double scanned, double build, double probe);
/* The same with a hash table, which stays in the cache or does not. */
double pl_cost_hash_build(const struct pl_rates *r, double scanned, double build, double probe, bool cached);
/* Keeping `build` rows in their order and finding those of each probe row's key, with probe rows in the key's order, too. */
double pl_cost_merge(double build, double probe, double pairs);
/* A lookup per probe row in the key index of a table. */
double pl_cost_key_index(const struct pl_rates *r, double table_rows, double probe);
/* A lookup in a foreign key's index: `children` rows are met per probe row; each of the `columns` that are
 * read is a miss of its own where the child rows are scattered. */
double pl_cost_foreign_key(const struct pl_rates *r, double children, bool scattered, int columns, double probe);
/* A search among so many children of a parent, which are sorted. */
double pl_cost_child(double children, double probe);
/* A binary search per probe row in a sorted column of a table, from where the row before ended if they come in its order;
 * `matches` rows are met per probe row. */
double pl_cost_column(double table_rows, double matches, bool in_order, double probe);
/* Looking at so many pairs, with so many comparisons for each. */
double pl_cost_loop(double pairs, int comparisons);
/* Sorting `build` rows, unless they come in order, looking for a range of them per probe row, and looking at the pairs that come of it. */
double pl_cost_search(double build, bool in_order, double probe, double pairs, int comparisons);
/* The same in a column by which a table of so many rows is sorted. */
double pl_cost_band(double rows, double probe, double pairs, int comparisons);
/* Sorting `build` rows for a loop over pairs, unless they come in order, and finding what of each part of them, which a
 * cache holds, lies in a probe row's range. */
double pl_cost_near(double build, bool in_order, double probe);
/* Rows that are looked up in a bitmap of the nearest cache, before they are in a table. */
double pl_cost_sieve(double rows);
/* The share of rows that a range with so many ends leaves, where nothing is known of it. */
double pl_range_share(int ends);
/* The same for two ends of two values: intervals that overlap, or two inequalities that know nothing of each other. */
double pl_overlap_share(void);
double pl_cost_scan(const struct pl_rates *r, double rows);
/* Sorting rows with so many threads; and keeping the order that they have. */
double pl_cost_sort(double rows, int threads);
double pl_cost_in_order(double rows, int threads);
/* Children of one row, -1 unknown, that are too many for one warp. */
bool pl_worth_splitting(int64_t children);
/* Whether each block of a GPU copies a bitmap of so many bytes to its shared memory: of `rows` lookups so many are spared that
 * would ask the L2 cache. any: however few. */
bool pl_worth_block_bits(double rows, double spared, double bytes, bool any);
/* A step's or sink's work for rows that reach it, ns of a thread. */
double pl_cost_step(double rows, bool lookup);
double pl_cost_sink(double rows, bool hashed);
/* What optimised code saves, by its work in ns, is more than compiling a pipeline of that weight takes. loops: over
 * pairs. */
bool pl_worth_optimising(double work, bool loops, int weight);
/* Exchanged sides must be cheaper than written ones by more than estimates tell apart. */
bool pl_cost_exchange(double written, double exchanged);

/* Copying from a GPU's memory. */
double pl_cost_fetched(double bytes);
/* Computing a column's facts, values of so many bytes that have a range or do not; counts: its distinct values are counted and
 * not estimated. */
double pl_cost_facts(double rows, bool has_range, int width, bool counts);
/* So much may facts cost in any case, where a plan's scans read so many rows in all; and whether any pay there. */
double pl_facts_spare(double rows);
bool pl_worth_facts(double rows);

/* Whether a semi join that leaves `share` of the rows that are grouped into so many groups, and is made by scanning
 * `scanned` rows, costs less than grouping the others. */
bool pl_worth_reducing(double rows, double groups, double share, double scanned);

/* Whether conditions on strings, of so many rows in so many scans, are tested of `together` rows instead, and those that they
 * leave kept and read by each. */
bool pl_worth_sharing(double apart, double together, double kept, int uses);

/* Grouping the whole build side by key, and only those rows whose key some probe row has. */
double pl_cost_extremes(double scanned, double build, double probe);
double pl_cost_extremes_reduced(double scanned, double build, double probe, double keys);

/* Whether an array of so many bytes is worth it for so many rows that are stored in it by index. */
bool pl_worth_bitmap(double range, double rows);
bool pl_worth_direct(double range, double row_bytes, double rows);
bool pl_worth_csr(double range, double rows);
/* Whether rows of which so many will stay are compared with what has come so far before they are looked at as a whole;
 * on a large GPU, or else on a CPU. */
bool pl_worth_bound(bool gpu, double rows, double wanted);
/* Whether a CPU should drop rows while they come, of which so many of each group, and so many in all, will stay. */
bool pl_worth_pruning(double rows, double wanted, double stay);
/* Asking for direct addressing is no licence to clear gigabytes for a thousand rows. */
bool pl_direct_fits(double bytes);

/* Whether a hash table of so many rows stays in a cache of so many bytes (0: the last one); what it costs to put rows in
 * or to look them up; and to do so part by part, after `moved` of them were put into parts. */
bool pl_table_cached(double rows, double bytes);
double pl_cost_table(bool cached, double rows);
double pl_cost_parts(double moved, double rows);
/* Whether so many bytes that are touched at random would keep too little of a memory limit (0: none) for the rest. A
 * table's rows are in parts then, each of which is touched at random alone, or hashed instead of addressed. */
bool pl_table_spills(double rows, double memory);
bool pl_array_spills(double bytes, double memory);
/* Slots of a part, as powers of two, that stay in the cache: in a core's own, and in a large GPU's; and parts at most. */
enum { PL_PART_SLOTS_CPU = 15, PL_PART_SLOTS_GPU = 19, PL_PARTS_CPU = 9, PL_PARTS_TOP = 40 };

/* Aggregation of `rows`: hashing them, and clearing and reading groups that are addressed by key. */
double pl_cost_agg_hash(double rows);
double pl_cost_agg_private(double bytes, int copies);
double pl_cost_agg_shared(double bytes);
/* Adding rows to groups that lie elsewhere. */
double pl_cost_agg_added(double rows);
/* Going through the children of so many parents, and trying conditions on so many of these one by one. */
double pl_cost_agg_fold(double parents, double tested, double long_children, bool gpu);
bool pl_agg_private_fits(double bytes, double limit, double rows);
bool pl_agg_copies_fit(double bytes, int copies, double rows);
bool pl_agg_shared_fits(double bytes, double rows);

/* Shares of the rows that one group can have. One place of memory takes 1.4 additions a nanosecond
 * (docs/performance.md, "What memory of a GPU gives"), the device reads some hundred rows in that time: from the first
 * share on a block keeps frequent groups in shared memory. Half of a warp in one group is what heavier ones often
 * fill: from the second on a warp keeps one in registers. Adding up runs of equal keys costs a tile two additions to
 * memory, which are as fast as the tile is read as long as not most rows have one key. */
#define PL_FREQUENT_SHARE (1.0 / 8192)
#define PL_CACHED_SHARE   (1.0 / 64)
#define PL_RUN_SHARE      0.5
/* Groups of so few rows are never a crowd at one place, which takes their additions in 0.2 us. */
enum { PL_APART_ROWS = 256 };
/* Dense groups that a block can have in shared memory (places.def), and a core of a CPU in its first cache. */
enum { PL_BLOCK_GROUPS_BYTES = 32768 };
/* Share of a scan's rows that must reach its end for rows to stay where the tile has them: from there on nearly
 * all of a column's sectors are read anyway. */
#define PL_IN_PLACE_SHARE 0.4

/* Class of a conjunct by what it costs, 0 .. PL_COST_CLASSES - 1: cheap ones are tried first. */
enum { PL_COST_CLASSES = 4 };
int pl_cost_class(const struct fe_expr *e);

#endif
