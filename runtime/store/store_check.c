/* heddle check: every checksum, and every fact and index computed again from the stored
 * columns and compared. Problems go into a report; only what keeps the check itself from being
 * done is an error. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/segments.h"
#include "runtime/base/fault.h"
#include "runtime/base/strbuf.h"
#include "runtime/store/store_column.h"
#include "runtime/store/store_derive.h"
#include "runtime/store/store_open.h"
#include "runtime/store/store_sum.h"

struct check {
    struct rt_store *s;
    struct rt_pool *pool;
    struct hd_arena arena;
    struct hd_strbuf problems;
    int nproblems;
    struct fe_catalog again; /* the same columns, facts and indexes derived anew */
};

/* ---- report --------------------------------------------------------------------------------- */

static void add_member(struct hd_strbuf *b, const char *key, const char *value)
{
    hd_strbuf_addf(b, ", \"%s\": ", key);
    hd_strbuf_add_json(b, value, strlen(value));
}

/* A table's name, and which segment of it. */
static const char *label(struct check *k, const struct fe_table *t)
{
    return t->whole ? hd_asprintf(&k->arena, "%s, segment %d", t->name, fe_segment_number(t)) : t->name;
}

/* column, fact may be NULL; so may stored and found. */
static void problem(struct check *k, const char *table, const char *column, const char *fact, const char *stored,
                    const char *found)
{
    struct hd_strbuf *b = &k->problems;
    hd_strbuf_addf(b, "%s\n    {\"table\": ", k->nproblems++ ? "," : "");
    hd_strbuf_add_json(b, table, strlen(table));
    if (column)
        add_member(b, "column", column);
    add_member(b, "what", fact);
    if (stored)
        add_member(b, "stored", stored);
    if (found)
        add_member(b, "found", found);
    hd_strbuf_addc(b, '}');
}

/* ---- files ---------------------------------------------------------------------------------- */

/* "table" and "column" of a file are in its name already. */
static void file_problem(struct check *k, int file, const char *found)
{
    const struct fe_file *f = &k->s->doc->files[file];
    struct hd_strbuf *b = &k->problems;
    hd_strbuf_addf(b, "%s\n    {\"file\": ", k->nproblems++ ? "," : "");
    hd_strbuf_add_json(b, f->name, strlen(f->name));
    add_member(b, "what", "checksum");
    add_member(b, "stored", f->checksum);
    add_member(b, "found", found);
    hd_strbuf_addc(b, '}');
}

static int check_files(struct check *k, struct rt_progress *progress, struct hd_err *err)
{
    const struct fe_catalog_doc *doc = k->s->doc;
    struct fe_file *found = HD_NEWN(&k->arena, struct fe_file, doc->nfiles);
    HD_TRY(rt_sum_maps(k->pool, k->s->maps, doc->nfiles, found, progress, err));
    for (int i = 0; i < doc->nfiles; i++)
        if (strcmp(found[i].checksum, doc->files[i].checksum) != 0)
            file_problem(k, i, found[i].checksum);
    return 0;
}

/* ---- structure ------------------------------------------------------------------------------ */

/* What would lead outside of texts and dictionaries, even under a right checksum. Numbers and
 * indexes are derived and compared anyway. */
static bool is_followed(const struct rt_part *x)
{
    return x->kind == RT_PART_ENDS || x->kind == RT_PART_DICT ||
           (x->kind == RT_PART_VALUES && x->table->cols[x->number].storage == FE_STORE_DICT);
}

static bool check_structure(struct check *k)
{
    const struct rt_store *s = k->s;
    bool sound = true;
    for (int i = 0; i < s->doc->nfiles; i++) {
        struct rt_part x = s->parts[i];
        const char *wrong = NULL;
        for (uint64_t at = 0; is_followed(&x) && !wrong && at < x.size; at += RT_PART_PIECE)
            wrong = rt_part_check(&x, s->maps[i].p, at, HD_MIN(x.size, at + RT_PART_PIECE));
        if (wrong)
            problem(k, label(k, x.table), x.table->cols[x.number].name, wrong, NULL, NULL);
        sound &= !wrong;
    }
    return sound;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void compare_number(struct check *k, const char *table, const char *column, const char *fact, hd_i128 stored,
                           hd_i128 found)
{
    char a[HD_TEXT_MAX], b[HD_TEXT_MAX];
    if (stored != found)
        problem(k, table, column, fact, hd_dec_text(stored, 0, a), hd_dec_text(found, 0, b));
}

static void compare_flag(struct check *k, const char *table, const char *column, const char *fact, bool stored,
                         bool found)
{
    if (stored != found)
        problem(k, table, column, fact, stored ? "true" : "false", found ? "true" : "false");
}

static void compare_facts(struct check *k, const char *table, const char *column, const struct fe_facts *a,
                          const struct fe_facts *b)
{
    compare_flag(k, table, column, "known", a->known, b->known);
    compare_number(k, table, column, "nulls", a->nulls, b->nulls);
    compare_flag(k, table, column, "has range", a->has_range, b->has_range);
    compare_number(k, table, column, "min", a->min, b->min);
    compare_number(k, table, column, "max", a->max, b->max);
    compare_number(k, table, column, "distinct", a->distinct, b->distinct);
    compare_flag(k, table, column, "distinct is exact", a->distinct_exact, b->distinct_exact);
    compare_flag(k, table, column, "unique", a->unique, b->unique);
    compare_flag(k, table, column, "dense", a->dense, b->dense);
    compare_flag(k, table, column, "sorted", a->sorted, b->sorted);
    compare_flag(k, table, column, "clustered", a->clustered, b->clustered);
    compare_number(k, table, column, "max multiplicity", a->max_mult, b->max_mult);
}

/* ---- indexes -------------------------------------------------------------------------------- */

static const struct fe_key_index *stored_index(const struct fe_table *t, int column)
{
    for (int k = 0; k < t->nkeyidx; k++)
        if (t->keyidx[k].column == column)
            return &t->keyidx[k];
    return NULL;
}

/* After comparing, the stored index serves on: it equals the derived one or is a problem, and
 * then foreign keys are checked by a copy. An array of an older version serves where a bitmap would be made. */
static int compare_key(void *ctx, int t, int number, struct fe_key_index *x, struct hd_err *err)
{
    struct check *k = ctx;
    const struct fe_table *table = k->s->doc->stored.tables[t];
    const char *column = table->cols[x->column].name;
    const struct fe_key_index *s = stored_index(table, x->column);
    (void)number;
    (void)err;
    if (s && rt_key_index_equal(s, x)) {
        *x = *s;
        return 0;
    }
    problem(k, label(k, table), column, "key index", s ? "differs" : "none", NULL);
    fe_key_index_place(x, hd_dup(&k->arena, fe_key_index_data(x), fe_key_index_bytes(x)));
    return 0;
}

static bool same_long_parents(const struct fe_foreign_key *s, const struct fe_foreign_key *x)
{
    bool same = s->nlong == x->nlong;
    for (int i = 0; i < s->nlong && same; i++)
        same = s->longs[i].row == x->longs[i].row && s->longs[i].children == x->longs[i].children;
    return same || s->nlong == 0; /* nobody has looked for them */
}

/* Of whatever widths. */
static bool same_offsets(const struct fe_foreign_key *s, const struct fe_foreign_key *x)
{
    int64_t row = 0;
    while (row <= x->parent->rows && fe_fk_offset(s, row) == fe_fk_offset(x, row))
        row++;
    return row > x->parent->rows;
}

static int compare_fk(void *ctx, int t, int number, struct fe_foreign_key *x, struct hd_err *err)
{
    struct check *k = ctx;
    const struct fe_table *table = k->s->doc->stored.tables[t];
    const struct fe_foreign_key *s = &table->fks[number];
    const struct fe_fk_files *files = &k->s->doc->fk_files[t][number];
    const char *column = table->cols[x->columns[0]].name;
    (void)err;
    compare_number(k, label(k, table), column, "max children", s->max_children, x->max_children);
    if (!same_long_parents(s, x))
        problem(k, label(k, table), column, "long parents", "differ", NULL);
    bool same = !s->offsets == !x->offsets && !s->child_rows == !x->child_rows;
    if (same && x->offsets)
        same = same_offsets(s, x);
    if (same && x->child_rows) {
        uint64_t size = fe_fk_offset(x, x->parent->rows) * 4;
        same = k->s->maps[files->child_rows].n == size && memcmp(s->child_rows, x->child_rows, size) == 0;
    }
    if (!same)
        problem(k, label(k, table), column, "foreign key index", "differs", NULL);
    return 0;
}

/* Older databases have none, and nothing says that there must be some. */
static int compare_zones(void *ctx, int t, int column, const struct fe_zone *z, int64_t n, struct hd_err *err)
{
    struct check *k = ctx;
    const struct fe_table *table = k->s->doc->stored.tables[t];
    const struct fe_zone *stored = table->cols[column].zones;
    (void)err;
    if (stored && memcmp(stored, z, (size_t)n * sizeof *z) != 0)
        problem(k, label(k, table), table->cols[column].name, "zones", "differ", NULL);
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* The tables again, with the same mapped columns, but nothing derived. */
static void copy_tables(struct check *k)
{
    const struct fe_catalog *from = &k->s->doc->stored;
    struct hd_arena *a = &k->arena;
    k->again.ntables = from->ntables;
    k->again.tables = HD_NEWN(a, struct fe_table *, from->ntables);
    for (int t = 0; t < from->ntables; t++) {
        const struct fe_table *x = from->tables[t];
        struct fe_table *y = k->again.tables[t] = hd_dup(a, x, sizeof *x);
        y->cols = hd_dup(a, x->cols, (size_t)x->ncols * sizeof *x->cols);
        y->fks = hd_dup(a, x->fks, (size_t)x->nfks * sizeof *x->fks);
        y->nkeyidx = 0;
    }
    for (int t = 0; t < from->ntables; t++)
        for (int f = 0; f < from->tables[t]->nfks; f++)
            for (int p = 0; p < from->ntables; p++)
                if (from->tables[t]->fks[f].parent == from->tables[p])
                    k->again.tables[t]->fks[f].parent = k->again.tables[p];
}

static void compare_tables(struct check *k)
{
    for (int t = 0; t < k->again.ntables; t++) {
        const struct fe_table *x = k->s->doc->stored.tables[t], *y = k->again.tables[t];
        for (int c = 0; c < x->ncols; c++)
            compare_facts(k, label(k, x), x->cols[c].name, &x->cols[c].facts, &y->cols[c].facts);
        compare_flag(k, label(k, x), NULL, "primary key is sorted", x->pk_sorted, y->pk_sorted);
        if (x->nkeyidx != y->nkeyidx)
            compare_number(k, label(k, x), NULL, "key indexes", x->nkeyidx, y->nkeyidx);
    }
}

static int check_derived(struct check *k, struct rt_progress *progress, struct hd_err *err)
{
    struct rt_derive_sink sink = {k, compare_key, compare_fk, compare_zones};
    struct hd_err e;
    if (!check_structure(k))
        return 0; /* following what is broken could lead anywhere */
    hd_err_init(&e);
    copy_tables(k);
    int rc = rt_derive(&k->again, k->pool, NULL, &k->arena, &sink, progress, &e);
    if (rc != 0 && e.class == HD_ERR_DATA) { /* a key does not hold */
        problem(k, e.path, NULL, e.message, NULL, NULL);
        hd_err_release(&e);
        return 0;
    }
    if (rc != 0) {
        *err = e;
        return -1;
    }
    compare_tables(k);
    return 0;
}

static char *write_report(const struct check *k)
{
    struct hd_strbuf b;
    const struct fe_catalog_doc *doc = k->s->doc;
    uint64_t bytes = 0;
    for (int i = 0; i < doc->nfiles; i++)
        bytes += doc->files[i].size;
    hd_strbuf_init(&b);
    hd_strbuf_addf(&b, "{\"ok\": %s, \"files\": %d, \"bytes\": %" PRIu64 ",\n  \"tables\": [",
                   k->nproblems ? "false" : "true", doc->nfiles, bytes);
    for (int t = 0; t < doc->cat.ntables; t++) {
        const struct fe_table *x = doc->cat.tables[t], *first = x->nsegments ? x->segments[0] : x;
        hd_strbuf_addf(&b, "%s\n    {\"name\": ", t ? "," : "");
        hd_strbuf_add_json(&b, x->name, strlen(x->name));
        hd_strbuf_addf(&b,
                       ", \"rows\": %" PRId64 ", \"columns\": %d, \"key_indexes\": %d, "
                       "\"foreign_keys\": %d}",
                       x->rows, x->ncols, first->nkeyidx, first->nfks);
    }
    hd_strbuf_addf(&b, "],\n  \"problems\": [%s]}\n", k->problems.s);
    return b.s;
}

int rt_store_check(struct rt_store *s, int threads, struct rt_progress *progress, int *problems, char **report,
                   struct hd_err *err)
{
    struct check k = {.s = s};
    struct rt_progress p = *progress;
    HD_TRY(rt_pool_new(threads, &k.pool, err));
    hd_arena_init(&k.arena);
    hd_strbuf_init(&k.problems);
    p.to = p.from + (p.to - p.from) * 0.2;
    int rc = 0;
    for (int i = 0; s->mode.copy && rc == 0 && i < s->doc->nfiles; i++)
        rc = rt_store_load(s, i, err);
    if (rc == 0)
        rc = check_files(&k, &p, err);
    p = (struct rt_progress){progress->fn, progress->user, p.to, progress->to};
    if (rc == 0)
        rc = check_derived(&k, &p, err);
    if (rc == 0) {
        *report = write_report(&k);
        *problems = k.nproblems;
    }
    hd_strbuf_release(&k.problems);
    hd_arena_release(&k.arena);
    rt_pool_free(k.pool);
    return rc;
}
