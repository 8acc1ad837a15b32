/* The partitions of a database as one database, whose divided tables have segments. */
#include <string.h>

#include "frontend/catalog_json.h"
#include "frontend/segments.h"

const char *fe_partition_name(struct hd_arena *a, int number)
{
    return hd_asprintf(a, "partition-%d", number);
}

struct joining {
    struct hd_arena *a;
    const char *dir;
    struct fe_catalog_doc *const *docs;
    int n, home;
    struct fe_catalog_doc *out;
    struct hd_err *err;
};

static int fail(const struct joining *j, int k, const char *table, const char *what)
{
    const char *path = hd_asprintf(j->a, "%s/%s", j->dir, fe_partition_name(j->a, k));
    return HD_FAIL(j->err, CORRUPT, path, "%s%s%s%s", table ? "table \"" : "", table ? table : "", table ? "\": " : "",
                   what);
}

/* ---- whether they belong together --------------------------------------------------------------- */

static bool same_file(const struct fe_catalog_doc *a, int i, const struct fe_catalog_doc *b, int k)
{
    if (i < 0 || k < 0)
        return i < 0 && k < 0;
    const struct fe_file *x = &a->files[i], *y = &b->files[k];
    return x->size == y->size && strcmp(x->checksum, y->checksum) == 0;
}

/* The rows are the same ones in the same order, as checksums tell. */
static bool same_rows(const struct fe_catalog_doc *a, const struct fe_catalog_doc *b, int t)
{
    const struct fe_table *x = a->cat.tables[t], *y = b->cat.tables[t];
    bool same = x->rows == y->rows;
    for (int c = 0; c < x->ncols && same; c++) {
        const struct fe_column_files *f = &a->column_files[t][c], *g = &b->column_files[t][c];
        same = same_file(a, f->data, b, g->data) && same_file(a, f->validity, b, g->validity) &&
               same_file(a, f->text_base, b, g->text_base) && same_file(a, f->text_bytes, b, g->text_bytes) &&
               same_file(a, f->dict_offsets, b, g->dict_offsets) && same_file(a, f->dict_bytes, b, g->dict_bytes);
    }
    return same;
}

static int check_table(const struct joining *j, int k, int t)
{
    const struct fe_catalog_doc *first = j->docs[0], *doc = j->docs[k];
    const struct fe_table *x = first->cat.tables[t], *y = doc->cat.tables[t];
    if (strcmp(x->name, y->name) != 0)
        return fail(j, k, y->name, "partition 0 has another table there");
    if (!fe_same_declaration(x, y) || !fe_same_keys(x, y) || x->divided != y->divided || x->cut != y->cut)
        return fail(j, k, x->name, "columns or keys are not declared as those in partition 0");
    if (!x->divided && !same_rows(first, doc, t))
        return fail(j, k, x->name, "it is not divided, and its rows are not those in partition 0");
    return 0;
}

static int check_partitions(const struct joining *j)
{
    for (int k = 0; k < j->n; k++) {
        const struct fe_partition *p = &j->docs[k]->partition;
        if (p->number != k || p->of != j->n)
            return fail(j, k, NULL,
                        hd_asprintf(j->a, "expected partition %d of %d, found %d of %d", k, j->n, p->number, p->of));
        if (j->docs[k]->cat.ntables != j->docs[0]->cat.ntables)
            return fail(j, k, NULL, "it has other tables than partition 0");
        for (int t = 0; t < j->docs[k]->cat.ntables; t++)
            HD_TRY(check_table(j, k, t));
    }
    return 0;
}

/* Values of the column ascend from partition to partition. */
static int check_ranges(const struct joining *j, const struct fe_table *t)
{
    const struct fe_facts *last = NULL;
    for (int k = 0; k < t->nsegments && t->cut >= 0; k++) {
        const struct fe_facts *f = &t->segments[k]->cols[t->cut].facts;
        if (!t->segments[k]->rows)
            continue;
        if (last && f->min <= last->max)
            return fail(
                j, k, t->name,
                hd_asprintf(j->a, "values of column \"%s\" are in a partition before it, too", t->cols[t->cut].name));
        last = f;
    }
    return 0;
}

/* ---- files --------------------------------------------------------------------------------------- */

static int add_file(const struct joining *j, int k, int file)
{
    if (file < 0)
        return -1;
    struct fe_file *to = &j->out->files[j->out->nfiles];
    *to = j->docs[k]->files[file];
    to->name = hd_asprintf(j->a, "%s/%s", fe_partition_name(j->a, k), to->name);
    return j->out->nfiles++;
}

/* Table t of partition k becomes the next one that is stored. */
static void store(const struct joining *j, int k, int t)
{
    struct fe_catalog_doc *out = j->out;
    const struct fe_catalog_doc *doc = j->docs[k];
    struct fe_table *x = doc->cat.tables[t];
    int s = out->stored.ntables++;
    out->stored.tables[s] = x;
    out->column_files[s] = HD_NEWN(j->a, struct fe_column_files, x->ncols);
    out->keyidx_files[s] = HD_NEWN(j->a, int, x->nkeyidx + 1);
    out->fk_files[s] = HD_NEWN(j->a, struct fe_fk_files, x->nfks + 1);
    for (int c = 0; c < x->ncols; c++) {
        const struct fe_column_files *f = &doc->column_files[t][c];
        out->column_files[s][c] = (struct fe_column_files){
            add_file(j, k, f->data),       add_file(j, k, f->validity),     add_file(j, k, f->text_base),
            add_file(j, k, f->text_bytes), add_file(j, k, f->dict_offsets), add_file(j, k, f->dict_bytes),
            add_file(j, k, f->zones)};
    }
    for (int i = 0; i < x->nkeyidx; i++)
        out->keyidx_files[s][i] = add_file(j, k, doc->keyidx_files[t][i]);
    for (int i = 0; i < x->nfks; i++) {
        const struct fe_fk_files *f = &doc->fk_files[t][i];
        out->fk_files[s][i] = (struct fe_fk_files){add_file(j, k, f->offsets), add_file(j, k, f->child_rows)};
    }
}

/* ---- tables -------------------------------------------------------------------------------------- */

static struct fe_table *whole_of(const struct joining *j, int t)
{
    struct fe_table *whole = HD_NEW(j->a, struct fe_table);
    const struct fe_table *first = j->docs[0]->cat.tables[t];
    whole->name = first->name;
    whole->cut = first->cut;
    whole->nsegments = j->n;
    whole->segments = HD_NEWN(j->a, struct fe_table *, j->n);
    for (int k = 0; k < j->n; k++) {
        struct fe_table *s = whole->segments[k] = j->docs[k]->cat.tables[t];
        s->whole = whole;
        s->divided = false;
        s->first_row = whole->rows;
        whole->rows += s->rows;
    }
    fe_segments_declare(j->a, whole);
    return whole;
}

static int table_number(const struct fe_catalog_doc *doc, const struct fe_table *t)
{
    int i = 0;
    while (doc->cat.tables[i] != t)
        i++;
    return i;
}

/* Foreign keys to tables that are not divided lead to those of `home`, which have the same rows. */
static void lead_home(const struct joining *j, int k)
{
    const struct fe_catalog_doc *doc = j->docs[k], *home = j->docs[j->home];
    for (int t = 0; t < doc->cat.ntables; t++)
        for (int i = 0; i < doc->cat.tables[t]->nfks; i++) {
            const struct fe_table **parent = &doc->cat.tables[t]->fks[i].parent;
            if (!(*parent)->divided)
                *parent = home->cat.tables[table_number(doc, *parent)];
        }
}

static int join_tables(const struct joining *j)
{
    struct fe_catalog *cat = &j->out->cat;
    for (int k = 0; k < j->n; k++)
        lead_home(j, k);
    cat->ntables = j->docs[0]->cat.ntables;
    for (int t = 0; t < cat->ntables; t++) {
        bool divided = j->docs[0]->cat.tables[t]->divided && j->n > 1;
        j->docs[j->home]->cat.tables[t]->divided = false;
        cat->tables[t] = divided ? whole_of(j, t) : j->docs[j->home]->cat.tables[t];
        for (int k = 0; k < (divided ? j->n : 1); k++)
            store(j, divided ? k : j->home, t);
        HD_TRY(divided ? check_ranges(j, cat->tables[t]) : 0);
    }
    for (int t = 0; t < cat->ntables; t++)
        if (cat->tables[t]->nsegments)
            fe_segments_join(j->a, cat->tables[t]);
    return 0;
}

int fe_catalog_join(struct hd_arena *a, const char *dir, struct fe_catalog_doc *const *docs, int n, int home,
                    struct fe_catalog_doc **out, struct hd_err *err)
{
    struct fe_catalog_doc *doc = HD_NEW(a, struct fe_catalog_doc);
    const struct joining j = {.a = a, .dir = dir, .docs = docs, .n = n, .home = home, .out = doc, .err = err};
    int files = 0, tables = docs[0]->cat.ntables;
    HD_TRY(check_partitions(&j));
    for (int k = 0; k < n; k++)
        files += docs[k]->nfiles;
    doc->files = HD_NEWN(a, struct fe_file, files);
    doc->cat.tables = HD_NEWN(a, struct fe_table *, tables);
    doc->stored.tables = HD_NEWN(a, struct fe_table *, tables * n);
    doc->column_files = HD_NEWN(a, struct fe_column_files *, tables * n);
    doc->keyidx_files = HD_NEWN(a, int *, tables *n);
    doc->fk_files = HD_NEWN(a, struct fe_fk_files *, tables * n);
    HD_TRY(join_tables(&j));
    *out = doc;
    return 0;
}
