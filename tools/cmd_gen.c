/* heddle gen: generated data into a database or as text files. */
#include "tools/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/gen_graph.h"
#include "tpch/gen_core.h"
#include "tpch/gen_db.h"
#include "tools/gen_share.h"
#include "tpch/gen_tbl.h"

/* cause: Heddle's own error if it was the database that refused. */
static int adopt_error(const struct tg_error *e, heddle_error *cause, struct cli_error *err)
{
    if (cause)
        return cli_adopt(err, cause);
    if (e->cancelled)
        return cli_fail_stopped(err);
    return cli_fail(err, e->user ? CLI_BAD_INPUT : CLI_FAILED, e->path, "%s", e->text);
}

static int parse_chunk(const struct cli_args *a, struct tg_tbl_options *o, struct cli_error *err)
{
    const char *text = cli_text(a, CLI_CHUNK);
    const char *slash = text ? strchr(text, '/') : NULL;
    if (!text)
        return 0;
    char *first = cli_format("%.*s", slash ? (int)(slash - text) : 0, text);
    bool good =
        slash && cli_parse_count(slash + 1, 1, 1000000, &o->chunks) && cli_parse_count(first, 1, o->chunks, &o->chunk);
    free(first);
    if (good)
        return 0;
    return cli_fail(err, CLI_BAD_INPUT, NULL, "--chunk: expected I/N with 1 <= I <= N <= 1000000, found \"%s\"", text);
}

static int parse_tables(const struct cli_args *a, enum tg_scheme scheme, uint32_t *tables, struct cli_error *err)
{
    const char *largest = tg_table_name((enum tg_table)(tg_end_table(scheme) - 1));
    const char *p = cli_text(a, CLI_TABLES);
    while (p) {
        size_t n = strcspn(p, ",");
        int t = tg_find_table(scheme, p, n);
        if (t < 0)
            return cli_fail(err, CLI_BAD_INPUT, NULL, "--tables: expected names such as customer,%s, found \"%.*s\"",
                            largest, (int)n, p);
        *tables |= UINT32_C(1) << t;
        p = p[n] ? p + n + 1 : NULL;
    }
    return 0;
}

static int write_text(const struct cli_args *a, const struct tg_gen *g, struct cli_error *err)
{
    struct tg_error e = {0};
    struct tg_tbl_options o = {
        .dir = cli_text(a, CLI_TBL),
        .threads = (int)cli_count(a, CLI_THREADS, 0),
        .progress = cli_progress,
    };
    if (parse_chunk(a, &o, err) || parse_tables(a, tg_gen_scheme(g), &o.tables, err))
        return -1;
    int rc = tg_tbl_write(g, &o, &e);
    cli_progress_end();
    return rc ? adopt_error(&e, NULL, err) : 0;
}

static int write_one(heddle_context *context, const char *path, const struct tg_gen *g, const struct tg_db_options *o,
                     struct cli_error *err)
{
    struct tg_error e = {0};
    heddle_error *cause = NULL;
    int rc = tg_db_write(g, context, path, o, &e, &cause);
    cli_progress_end();
    return rc ? adopt_error(&e, cause, err) : 0;
}

/* A database at path has the tables with as many rows as would be written. */
static bool is_there(heddle_context *context, const char *path, const struct tg_gen *g, const struct tg_db_options *o)
{
    heddle_database *db;
    if (heddle_database_open(context, path, 0, &db, NULL) != 0)
        return false;
    bool same = true;
    for (int t = tg_first_table(tg_gen_scheme(g)); t < tg_end_table(tg_gen_scheme(g)) && same; t++) {
        int64_t rows = -1;
        same = heddle_database_table_rows(db, tg_table_name((enum tg_table)t), &rows, NULL) == 0 &&
               rows == tg_db_rows(g, (enum tg_table)t, o);
    }
    heddle_database_free(db);
    return same;
}

/* A step: if it is there already it is left as it is. What it has in common with the first other one that is there takes its space
 * once. */
static int write_partition(heddle_context *context, const char *out, const struct tg_gen *g,
                           const struct tg_db_options *o, struct cli_error *err)
{
    char *path = cli_format("%s/partition-%d", out, o->partition);
    bool there = is_there(context, path, g, o);
    int rc = there ? 0 : write_one(context, path, g, o, err), first = 0;
    for (; first < o->partitions && rc == 0 && !there; first++) {
        char *other = cli_format("%s/partition-%d", out, first);
        bool found = first != o->partition && access(other, F_OK) == 0;
        if (found)
            gen_share_files(other, path);
        free(other);
        if (found)
            break;
    }
    free(path);
    return rc;
}

static int write_partitions(const struct cli_args *a, heddle_context *context, const struct tg_gen *g,
                            struct tg_db_options *o, struct cli_error *err)
{
    const char *out = cli_text(a, CLI_OUT);
    bool one = cli_given(a, CLI_PARTITION);
    int first = (int)cli_count(a, CLI_PARTITION, 0);
    o->partitions = (int)cli_count(a, CLI_PARTITIONS, 0);
    if (mkdir(out, 0777) != 0 && errno != EEXIST)
        return cli_fail(err, CLI_FAILED, out, "cannot create directory: %s", strerror(errno));
    char *catalog = cli_format("%s/catalog.json", out);
    int rc = access(catalog, F_OK) == 0
                 ? cli_fail(err, CLI_BAD_INPUT, out, "exists already and is a database, not a directory of partitions")
                 : 0;
    free(catalog);
    for (int k = first; k < (one ? first + 1 : o->partitions) && rc == 0; k++) {
        o->partition = k;
        rc = write_partition(context, out, g, o, err);
    }
    return rc;
}

static int write_database(const struct cli_args *a, const struct tg_gen *g, struct cli_error *err)
{
    heddle_context *context;
    struct tg_db_options o = {
        .used_only = cli_given(a, CLI_COLUMNS) && strcmp(cli_text(a, CLI_COLUMNS), "used") == 0,
        .pack = cli_given(a, CLI_PACK),
        .segment_rows = cli_count(a, CLI_SEGMENT_ROWS, 0),
        .threads = (int)cli_count(a, CLI_THREADS, 0),
        .progress = cli_progress,
    };
    if (cli_context_open(a, &context, err))
        return -1;
    int rc = cli_given(a, CLI_PARTITIONS) ? write_partitions(a, context, g, &o, err)
                                          : write_one(context, cli_text(a, CLI_OUT), g, &o, err);
    heddle_context_free(context);
    return rc;
}

static int parse_scheme(const char *set, enum tg_scheme *scheme, struct cli_error *err)
{
    static const struct {
        const char *name;
        enum tg_scheme scheme;
    } sets[] = {{"tpch", TG_PLAIN}, {"jcch", TG_JCCH}, {"ssb", TG_SSB}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(set, sets[i].name) == 0) {
            *scheme = sets[i].scheme;
            return 0;
        }
    return cli_fail(err, CLI_BAD_INPUT, NULL, "expected tpch, jcch, ssb or graph, found \"%s\"", set);
}

static int check_args(const struct cli_args *a, struct cli_error *err)
{
    static const enum cli_option_id of_graphs[] = {CLI_VERTICES, CLI_EDGES, CLI_SEED};
    if (cli_refuse(a, of_graphs, sizeof of_graphs / sizeof of_graphs[0], err) || cli_require(a, CLI_SCALE, err) ||
        cli_exclude(a, CLI_OUT, CLI_TBL, err) || cli_exclude(a, CLI_OUT, CLI_CHUNK, err) ||
        cli_exclude(a, CLI_OUT, CLI_TABLES, err) || cli_exclude(a, CLI_TBL, CLI_COLUMNS, err) ||
        cli_exclude(a, CLI_TBL, CLI_PACK, err) || cli_exclude(a, CLI_TBL, CLI_SEGMENT_ROWS, err) ||
        cli_exclude(a, CLI_TBL, CLI_PARTITIONS, err) || cli_exclude(a, CLI_SEGMENT_ROWS, CLI_PARTITIONS, err))
        return -1;
    if (cli_given(a, CLI_PARTITION) && cli_count(a, CLI_PARTITION, 0) >= cli_count(a, CLI_PARTITIONS, 0))
        return cli_fail(err, CLI_BAD_INPUT, NULL, "--partition: expected a number below that of --partitions");
    if (!cli_given(a, CLI_OUT) && !cli_given(a, CLI_TBL))
        return cli_fail(err, CLI_BAD_INPUT, NULL, "expected --out DB or --tbl DIR");
    return 0;
}

static int write_graph(const struct cli_args *a, const struct gg_graph *g, struct cli_error *err)
{
    const struct gg_db_options o = {.threads = (int)cli_count(a, CLI_THREADS, 0), .progress = cli_progress};
    struct tg_error e = {0};
    heddle_error *cause = NULL;
    heddle_context *context;
    if (cli_context_open(a, &context, err))
        return -1;
    int rc = gg_db_write(g, context, cli_text(a, CLI_OUT), &o, &e, &cause);
    cli_progress_end();
    heddle_context_free(context);
    return rc ? adopt_error(&e, cause, err) : 0;
}

static int run_graph(const struct cli_args *a, struct cli_error *err)
{
    static const enum cli_option_id of_suites[] = {CLI_SCALE, CLI_COLUMNS, CLI_PACK,       CLI_SEGMENT_ROWS, CLI_TBL,
                                                   CLI_CHUNK, CLI_TABLES,  CLI_PARTITIONS, CLI_PARTITION};
    const struct gg_options o = {
        .vertices = cli_count(a, CLI_VERTICES, 0),
        .edges = cli_count(a, CLI_EDGES, 0),
        .seed = (uint64_t)cli_count(a, CLI_SEED, 1),
        .threads = (int)cli_count(a, CLI_THREADS, 0),
    };
    struct tg_error e = {0};
    struct gg_graph *g;
    if (cli_refuse(a, of_suites, sizeof of_suites / sizeof of_suites[0], err) || cli_require(a, CLI_VERTICES, err) ||
        cli_require(a, CLI_EDGES, err) || cli_require(a, CLI_OUT, err))
        return -1;
    cli_nothing_to_undo(true);
    int rc = gg_graph_new(&o, &g, &e);
    cli_nothing_to_undo(false);
    if (rc)
        return adopt_error(&e, NULL, err);
    rc = write_graph(a, g, err);
    gg_graph_free(g);
    return rc;
}

static int run(const struct cli_args *a, struct cli_error *err)
{
    if (strcmp(a->operands[0], "graph") == 0)
        return run_graph(a, err);
    struct tg_options o = {.scheme = TG_PLAIN, .sf = a->option[CLI_SCALE].real};
    struct tg_error e = {0};
    struct tg_gen *g;
    if (parse_scheme(a->operands[0], &o.scheme, err) || check_args(a, err))
        return -1;
    if (tg_gen_new(&o, &g, &e))
        return adopt_error(&e, NULL, err);
    cli_nothing_to_undo(true);
    int rc = tg_gen_prepare(g, (int)cli_count(a, CLI_THREADS, 0), &e);
    cli_nothing_to_undo(false);
    if (rc)
        adopt_error(&e, NULL, err);
    else
        rc = cli_given(a, CLI_TBL) ? write_text(a, g, err) : write_database(a, g, err);
    tg_gen_free(g);
    return rc;
}

static const enum cli_option_id options[] = {
    CLI_SCALE,     CLI_OUT,     CLI_COLUMNS, CLI_PACK,    CLI_SEGMENT_ROWS, CLI_PARTITIONS,
    CLI_PARTITION, CLI_TBL,     CLI_CHUNK,   CLI_TABLES,  CLI_VERTICES,     CLI_EDGES,
    CLI_SEED,      CLI_THREADS, CLI_MEMORY,  CLI_VERBOSE, CLI_HELP,
};

const struct cli_command cli_gen = {
    .name = "gen",
    .operands = "tpch|jcch|ssb|graph",
    .summary = "generate the data of a benchmark",
    .about = "Generates TPC-H data, or those of JCC-H (the same tables with skewed and\n"
             "correlated joins), bit for bit as the reference generator, or those of the Star\n"
             "Schema Benchmark, into a new database or as .tbl text files; or a random graph\n"
             "with a power law of degrees, into a new database.\n"
             "\n"
             "  heddle gen tpch --sf 1 --out tpch1\n"
             "  heddle gen tpch --sf 1000 --partitions 4 --out tpch1000   tpch1000/partition-0 to -3\n"
             "  heddle gen tpch --sf 1 --tbl text/\n"
             "  heddle gen tpch --sf 100 --tbl text/ --chunk 3/10   files TABLE.tbl.3\n"
             "  heddle gen graph --vertices 100000 --edges 1000000 --seed 7 --out graph",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .run = run,
};
