#include "tests/fuzz/fuzz_database.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heddle.h"
#include "runtime/base/arena.h"
#include "runtime/store/store.h"

#define CHECK(c) ((c) ? (void)0 : stop(#c, __LINE__))
_Noreturn static void stop(const char *what, int line)
{
    fprintf(stderr, "fuzz_database.c:%d: %s does not hold\n", line, what);
    abort();
}

enum { PARENTS = 700, CHILDREN = 5000, ROWS = 40, PATH_BYTES = 256 };

static const char schema[] = "{\"format\": {\"delimiter\": \",\", \"null\": \"\", \"trailing_delimiter\": false},"
                             " \"tables\": ["
                             "{\"name\": \"parent\", \"primary_key\": [\"id\"], \"columns\": ["
                             " {\"name\": \"id\", \"type\": \"int64\"},"
                             " {\"name\": \"grp\", \"type\": \"int32\", \"nullable\": true},"
                             " {\"name\": \"name\", \"type\": \"string\"},"
                             " {\"name\": \"note\", \"type\": \"string\", \"nullable\": true},"
                             " {\"name\": \"amount\", \"type\": \"decimal(12,2)\", \"nullable\": true},"
                             " {\"name\": \"ratio\", \"type\": \"float64\", \"nullable\": true},"
                             " {\"name\": \"day\", \"type\": \"date\", \"nullable\": true}]},"
                             "{\"name\": \"child\", \"primary_key\": [\"cid\"],"
                             " \"foreign_keys\": [{\"columns\": [\"pid\"], \"table\": \"parent\", \"references\": "
                             "[\"id\"]}],"
                             " \"columns\": ["
                             " {\"name\": \"cid\", \"type\": \"int64\"}, {\"name\": \"pid\", \"type\": \"int64\"},"
                             " {\"name\": \"pname\", \"type\": \"string\", \"nullable\": true},"
                             " {\"name\": \"qty\", \"type\": \"int32\", \"nullable\": true},"
                             " {\"name\": \"tag\", \"type\": \"string\", \"nullable\": true},"
                             " {\"name\": \"wide\", \"type\": \"decimal(18,4)\", \"nullable\": true}]},"
                             "{\"name\": \"every\", \"columns\": ["
                             " {\"name\": \"b\", \"type\": \"bool\", \"nullable\": true}, {\"name\": \"i\", \"type\": "
                             "\"int32\"},"
                             " {\"name\": \"k\", \"type\": \"int64\"}, {\"name\": \"w\", \"type\": \"decimal(38,10)\", "
                             "\"nullable\": true},"
                             " {\"name\": \"f\", \"type\": \"float64\"}, {\"name\": \"ts\", \"type\": \"timestamp\", "
                             "\"nullable\": true},"
                             " {\"name\": \"s\", \"type\": \"string\"}]},"
                             "{\"name\": \"empty\", \"columns\": ["
                             " {\"name\": \"e\", \"type\": \"int32\"}, {\"name\": \"t\", \"type\": \"string\"}]}]}";

static FILE *create(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f);
    return f;
}

static void write_parents(FILE *f)
{
    for (int i = 0; i < PARENTS; i++) {
        fprintf(f, "%d,", 3 * i);
        if (i % 6)
            fprintf(f, "%d", i % 12 - 3);
        fprintf(f, ",name %d of the kind,", i % 150);
        if (i % 5)
            fprintf(f, "note %d", i * 7919);
        fprintf(f, ",%d.%02d,%g,%d-%02d-%02d\n", i * 31 - 900, i % 100, i / 8.0 - 9, 1970 + i % 60, 1 + i % 12,
                1 + i % 28);
    }
}

static void write_children(FILE *f)
{
    static const char *const tags[] = {"red", "green", "", "a%b"};
    for (int i = 0; i < CHILDREN; i++) {
        fprintf(f, "%d,%d,", i, 3 * (i % 3 ? 7 : i % PARENTS));
        if (i % 7)
            fprintf(f, "name %d of the kind", i % 400);
        fprintf(f, ",%d,%s,%s%d.%04d\n", i % 100, tags[i % 4], i % 2 ? "-" : "", i * 99991, i);
    }
}

static void write_rest(const char *dir)
{
    FILE *f = create(dir, "every.csv");
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%s,%d,%lld,%d.5,%de%d,%s,text %d\n", i % 3 ? i % 2 ? "true" : "false" : "", i * 1000003,
                (long long)i << 57, i - 20, i, i * 15 - 300, i % 4 ? "2000-01-01 00:00:00.5" : "", i);
    fclose(f);
    fclose(create(dir, "empty.csv"));
}

static void write_tables(const char *dir)
{
    FILE *f = create(dir, "parent.csv");
    write_parents(f);
    fclose(f);
    f = create(dir, "child.csv");
    write_children(f);
    fclose(f);
    write_rest(dir);
}

static void load(const char *dir, const char *db)
{
    heddle_options o;
    heddle_context *c;
    heddle_writer *w;
    heddle_error *e = NULL;
    heddle_options_init(&o);
    o.threads = 1;
    o.cache_dir = "";
    if (heddle_context_new(&o, &c, &e) || heddle_writer_open(c, db, schema, &w, &e) ||
        heddle_writer_load_text(w, dir, NULL, NULL, &e) || heddle_writer_commit(w, NULL, NULL, &e)) {
        fprintf(stderr, "%s: %s\n", heddle_error_path(e), heddle_error_message(e));
        abort();
    }
    heddle_writer_free(w);
    heddle_context_free(c);
}

static void adjust(struct fe_catalog *cat, enum fuzz_facts facts)
{
    for (int i = 0; i < cat->ntables; i++) {
        struct fe_table *t = cat->tables[i];
        if (facts == FUZZ_MANY_ROWS)
            t->rows *= 100000;
        for (int k = 0; k < t->ncols && facts == FUZZ_NO_FACTS; k++)
            t->cols[k].facts = (struct fe_facts){0};
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static const struct fe_catalog *catalogs[FUZZ_FACTS];
static struct rt_store *stores[FUZZ_FACTS]; /* open as long as the process lives */

static void make_catalogs(void)
{
    static struct hd_arena a;
    char dir[] = "/tmp/heddle-fuzz-XXXXXX", db[PATH_BYTES], *text;
    struct hd_err err;
    CHECK(mkdtemp(dir));
    snprintf(db, sizeof db, "%s/db", dir);
    write_tables(dir);
    load(dir, db);
    hd_arena_init(&a);
    hd_err_init(&err);
    CHECK(rt_store_read_catalog(db, &text, &err) == 0);
    for (int i = 0; i < FUZZ_FACTS; i++) {
        struct fe_catalog_doc *doc;
        CHECK(fe_catalog_read(&a, text, db, &doc, &err) == 0);
        CHECK(rt_store_open(db, doc, (struct rt_open_mode){0}, &stores[i], &err) == 0);
        adjust(&doc->cat, (enum fuzz_facts)i);
        catalogs[i] = &doc->cat;
    }
    free(text);
    CHECK(nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

const struct fe_catalog *fuzz_database(enum fuzz_facts facts)
{
    if (!catalogs[0])
        make_catalogs();
    return catalogs[facts];
}
