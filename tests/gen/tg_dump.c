/* Writes generated tables or the text pool to files or standard output; for tests.
 *
 *   tg_dump [-k|-b] [-s SF] [-C n -S i] [-R] [-t threads] [-T table] DIR
 *   tg_dump [-k] [-s SF] pool
 *
 * -k JCC-H; -b the Star Schema Benchmark; -C, -S: chunk i of n, with -R as the reference's chunk run prints it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen_pool.h"
#include "gen_tbl.h"

struct settings {
    struct tg_options gen;
    struct tg_tbl_options tbl;
    bool reference_chunk;
};

static uint32_t table_bit(enum tg_scheme scheme, const char *name)
{
    const int t = tg_find_table(scheme, name, strlen(name));
    if (t >= 0)
        return UINT32_C(1) << t;
    fprintf(stderr, "tg_dump: no table %s\n", name);
    exit(2);
}

static void read_settings(int argc, char **argv, struct settings *s)
{
    for (int c; (c = getopt(argc, argv, "kbs:C:S:Rt:T:")) != -1;) {
        switch (c) {
        case 'k': s->gen.scheme = TG_JCCH; break;
        case 'b': s->gen.scheme = TG_SSB; break;
        case 's': s->gen.sf = strtod(optarg, NULL); break;
        case 'C': s->tbl.chunks = atoll(optarg); break;
        case 'S': s->tbl.chunk = atoll(optarg); break;
        case 'R': s->reference_chunk = true; break;
        case 't': s->tbl.threads = atoi(optarg); break;
        case 'T': s->tbl.tables |= table_bit(s->gen.scheme, optarg); break;
        default: exit(2);
        }
    }
    if (optind + 1 != argc)
        exit(2);
    s->tbl.dir = argv[optind];
    if (s->reference_chunk) {
        s->gen.chunk = s->tbl.chunk;
        s->gen.chunks = s->tbl.chunks;
    }
}

int main(int argc, char **argv)
{
    struct settings s = {.gen = {.sf = 1}};
    struct tg_gen *g = NULL;
    struct tg_error err = {.text = ""};
    read_settings(argc, argv, &s);
    int rc = tg_gen_new(&s.gen, &g, &err);
    if (rc == 0)
        rc = tg_gen_prepare(g, s.tbl.threads, &err);
    if (rc == 0 && strcmp(s.tbl.dir, "pool") == 0)
        rc = fwrite(tg_gen_pool(g), 1, TG_POOL_BYTES, stdout) == TG_POOL_BYTES ? 0 : -1;
    else if (rc == 0)
        rc = tg_tbl_write(g, &s.tbl, &err);
    if (rc != 0)
        fprintf(stderr, "tg_dump: %s: %s\n", err.path, err.text);
    tg_gen_free(g);
    return rc == 0 ? 0 : 1;
}
