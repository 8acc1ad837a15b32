/* catalog.json to struct. Strict: every number is checked against what the runtime will
 * assume (file sizes against row counts, stored ranges against widths, indexes against
 * facts), so that a damaged catalog is an error with a path and never a crash. */
#include <string.h>

#include "frontend/catalog_column.h"
#include "frontend/segments.h"

/* ---- indexes -------------------------------------------------------------------------- */

static bool is_integer_column(const struct fe_table_column *c)
{
    return !hd_type_is_text(c->type) && !hd_type_is_float(c->type);
}

static int read_key_range(const struct fe_json *v, const struct fe_table *t, struct fe_key_index *x)
{
    struct fe_json m;
    const struct fe_table_column *c = &t->cols[x->column];
    int64_t range;
    HD_TRY(fe_json_need(v, "min", &m));
    HD_TRY(fe_json_i128(&m, &x->min));
    HD_TRY(fe_json_need(v, "range", &m));
    HD_TRY(fe_json_int(&m, 1, FE_MAX_ROWS, &range));
    x->range = (uint64_t)range;
    if (!is_integer_column(c) || !c->facts.unique || !c->facts.has_range)
        return fe_json_fail(v, "column \"%.60s\" is not known to be a unique integer column", c->name);
    if (x->min != c->facts.min || c->facts.max - c->facts.min != range - 1)
        return fe_json_fail(v, "\"min\" and \"range\" differ from the facts of column \"%.60s\"", c->name);
    if (x->kind == FE_INDEX_POSITIONAL && (range != t->rows || !c->facts.sorted))
        return fe_json_fail(v, "a positional index needs a sorted column without gaps");
    if (x->kind == FE_INDEX_BITMAP && !c->facts.sorted)
        return fe_json_fail(v, "a bitmap needs a sorted column");
    return 0;
}

/* By its name; false: there is none of that name. */
static bool find_kind(const char *name, enum fe_index_kind *kind)
{
    for (int k = FE_INDEX_POSITIONAL; k <= FE_INDEX_ARRAY; k++)
        if (strcmp(name, fe_index_kind_name(k)) == 0) {
            *kind = k;
            return true;
        }
    return false;
}

static int read_key_index(const struct fe_json *v, const struct fe_table *t, struct fe_file_list *l,
                          struct fe_key_index *x, int *file)
{
    struct fe_json m;
    const char *s;
    *file = -1;
    HD_TRY(fe_json_object(v, "column", "kind", "min", "range", "words", "rows", NULL));
    HD_TRY(fe_json_need(v, "column", &m));
    HD_TRY(fe_json_string(&m, &s));
    x->column = fe_table_find_column(t, s);
    if (x->column < 0)
        return fe_json_fail(&m, "table \"%.60s\" has no column \"%.60s\"", t->name, s);
    HD_TRY(fe_json_need(v, "kind", &m));
    HD_TRY(fe_json_string(&m, &s));
    if (!find_kind(s, &x->kind))
        return fe_json_expected(&m, "one of positional, bitmap, array");
    HD_TRY(read_key_range(v, t, x));
    if (x->kind == FE_INDEX_POSITIONAL)
        return 0;
    if (t->rows >= UINT32_MAX)
        return fe_json_fail(v, "a key index holds 32-bit row numbers");
    return fe_catalog_file(v, x->kind == FE_INDEX_BITMAP ? "words" : "rows", l, (int64_t)fe_key_index_bytes(x), file);
}

static int read_key_indexes(const struct fe_json *table, struct fe_table *t, struct fe_file_list *l, int **files)
{
    struct fe_json list, m;
    if (!fe_json_get(table, "key_indexes", &list))
        return 0;
    HD_TRY(fe_json_array(&list));
    int n = fe_json_length(&list);
    if (n > t->ncols)
        return fe_json_fail(&list, "expected at most one index a column, found %d", n);
    t->keyidx = HD_NEWN(table->r->arena, struct fe_key_index, n);
    *files = HD_NEWN(table->r->arena, int, n);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(read_key_index(&m, t, l, &t->keyidx[m.index], &(*files)[m.index]));
        t->nkeyidx++;
    }
    return 0;
}

/* "long_parents": [{"row": number, "children": number}, ...], optional */
static int read_long_parents(const struct fe_json *v, const struct fe_table *t, struct fe_foreign_key *f)
{
    struct fe_json list, x, m;
    int64_t last = -1;
    if (!fe_json_get(v, "long_parents", &list))
        return 0;
    HD_TRY(fe_json_array(&list));
    f->nlong = fe_json_length(&list);
    if (f->nlong > FE_LONG_PARENTS)
        return fe_json_fail(&list, "expected at most %d, found %d", FE_LONG_PARENTS, f->nlong);
    struct fe_long_parent *longs = HD_NEWN(v->r->arena, struct fe_long_parent, f->nlong + 1);
    for (bool more = fe_json_first(&list, &x); more; more = fe_json_next(&x)) {
        struct fe_long_parent *p = &longs[x.index];
        HD_TRY(fe_json_object(&x, "row", "children", NULL));
        HD_TRY(fe_json_need(&x, "row", &m));
        HD_TRY(fe_json_int(&m, last + 1, f->parent->rows - 1, &p->row));
        HD_TRY(fe_json_need(&x, "children", &m));
        HD_TRY(fe_json_int(&m, FE_LONG_CHILDREN + 1, HD_MIN(f->max_children, t->rows), &p->children));
        last = p->row;
    }
    f->longs = longs;
    return 0;
}

/* "index": {"offset_width": 4, "offsets": file, "child_rows": file?}; without a width they are 8 bytes each */
static int read_fk_index(const struct fe_json *v, const struct fe_table *t, struct fe_file_list *l,
                         struct fe_foreign_key *f, struct fe_fk_files *files)
{
    struct fe_json x, m;
    *files = (struct fe_fk_files){-1, -1};
    HD_TRY(fe_json_opt_int(v, "max_children", -1, t->rows, &f->max_children));
    HD_TRY(read_long_parents(v, t, f));
    if (!fe_json_get(v, "index", &x))
        return 0;
    HD_TRY(fe_json_object(&x, "offset_width", "offsets", "child_rows", NULL));
    if (f->n_columns != 1)
        return fe_json_fail(&x, "a key of %d columns has no index", f->n_columns);
    if (f->parent->nsegments)
        return fe_json_fail(&x, "a key to a table of segments that is cut otherwise has no index");
    int64_t width = 8;
    HD_TRY(fe_json_opt_int(&x, "offset_width", 4, 8, &width));
    if (width != 4 && width != 8)
        return fe_json_fail(&x, "offsets have 4 or 8 bytes, not %d", (int)width);
    f->offset_width = (int)width;
    HD_TRY(fe_catalog_file(&x, "offsets", l, width * (f->parent->rows + 1), &files->offsets));
    if (!fe_json_get(&x, "child_rows", &m))
        return 0;
    HD_TRY(fe_catalog_file(&x, "child_rows", l, -1, &files->child_rows));
    uint64_t size = l->doc->files[files->child_rows].size;
    if (size % 4 || size > 4 * (uint64_t)t->rows)
        return fe_json_fail(&m, "%llu bytes are not row numbers of %lld rows", (unsigned long long)size,
                            (long long)t->rows);
    return 0;
}

/* ---- tables --------------------------------------------------------------------------- */

static const struct fe_table *get_table(const void *set, int i)
{
    return ((const struct fe_catalog *)set)->tables[i];
}

static const struct fe_table *find_table(const void *set, const char *name)
{
    return fe_catalog_find(set, name);
}

static int read_columns(const struct fe_json *v, struct fe_table *t, struct fe_file_list *l,
                        struct fe_column_files **files)
{
    struct fe_json list, m;
    int n;
    HD_TRY(fe_read_list(v, "columns", FE_MAX_COLUMNS, &list, &n));
    t->cols = HD_NEWN(v->r->arena, struct fe_table_column, n);
    *files = HD_NEWN(v->r->arena, struct fe_column_files, n);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(fe_catalog_column(&m, t->rows, l, &t->cols[m.index], &(*files)[m.index]));
        t->ncols++;
    }
    return fe_check_column_names(&list, t);
}

/* A table in one piece, or a segment: number k of those stored. */
static int read_stored(const struct fe_json *v, int k, const char *name, struct fe_file_list *l)
{
    struct fe_catalog_doc *doc = l->doc;
    struct fe_table *t = doc->stored.tables[k];
    struct fe_json m;
    t->name = name;
    HD_TRY(fe_json_need(v, "rows", &m));
    HD_TRY(fe_json_int(&m, 0, FE_TABLE_MAX_ROWS, &t->rows));
    HD_TRY(read_columns(v, t, l, &doc->column_files[k]));
    HD_TRY(fe_read_primary_key(v, t));
    HD_TRY(fe_json_opt_bool(v, "primary_key_sorted", &t->pk_sorted));
    if (t->pk_sorted && t->npk < 2)
        return fe_json_fail(v, "only a primary key of several columns says that it is sorted");
    return read_key_indexes(v, t, l, &doc->keyidx_files[k]);
}

bool fe_same_declaration(const struct fe_table *a, const struct fe_table *b)
{
    bool same = a->ncols == b->ncols && a->npk == b->npk;
    for (int c = 0; c < a->ncols && same; c++)
        same = strcmp(a->cols[c].name, b->cols[c].name) == 0 && hd_type_eq(a->cols[c].type, b->cols[c].type) &&
               a->cols[c].nullable == b->cols[c].nullable;
    for (int k = 0; k < a->npk && same; k++)
        same = a->pk[k] == b->pk[k];
    return same;
}

/* Values of the column ascend from segment to segment. */
static int check_cut(const struct fe_json *v, const struct fe_table *t)
{
    const struct fe_facts *last = NULL;
    for (int i = 0; i < t->nsegments && t->cut >= 0; i++) {
        const struct fe_facts *f = &t->segments[i]->cols[t->cut].facts;
        if (!t->segments[i]->rows)
            continue;
        if (t->cols[t->cut].storage != FE_STORE_INT || !f->has_range || f->nulls || (last && f->min <= last->max))
            return fe_json_fail(v, "segment %d: column \"%.60s\" has no range of its own, by which the table is cut", i,
                                t->cols[t->cut].name);
        last = f;
    }
    return 0;
}

static int read_cut(const struct fe_json *v, struct fe_table *t)
{
    struct fe_json m;
    const char *name;
    t->cut = -1;
    if (fe_json_get(v, "cut_by", &m)) {
        HD_TRY(fe_json_string(&m, &name));
        t->cut = fe_table_find_column(t, name);
        if (t->cut < 0)
            return fe_json_fail(&m, "table \"%.60s\" has no column \"%.60s\"", t->name, name);
    }
    for (int i = 0; i < t->nsegments; i++)
        t->segments[i]->cut = t->cut;
    return check_cut(v, t);
}

/* stored: the number of the first one among all that are stored. */
static int read_segments(const struct fe_json *v, struct fe_json *list, struct fe_table *t, int stored,
                         struct fe_file_list *l)
{
    struct fe_json m;
    int64_t rows = t->rows;
    t->nsegments = fe_json_length(list);
    t->segments = HD_NEWN(v->r->arena, struct fe_table *, t->nsegments);
    t->rows = 0;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        struct fe_table *s = t->segments[m.index] = l->doc->stored.tables[stored + m.index];
        HD_TRY(fe_json_object(&m, "rows", "columns", "primary_key", "primary_key_sorted", "key_indexes", "foreign_keys",
                              NULL));
        HD_TRY(read_stored(&m, stored + m.index, t->name, l));
        if (!fe_same_declaration(t->segments[0], s))
            return fe_json_fail(&m, "columns or keys are not declared as those of the first segment");
        s->whole = t;
        s->first_row = t->rows;
        t->rows += s->rows;
    }
    if (t->rows != rows)
        return fe_json_fail(v, "%lld rows, those of the segments are %lld", (long long)rows, (long long)t->rows);
    fe_segments_declare(v->r->arena, t);
    return read_cut(v, t);
}

/* Other partitions have other values of the column. */
static int check_divided(const struct fe_json *v, const struct fe_table *t)
{
    if (!t->divided || t->cut < 0 || !t->rows)
        return 0;
    const struct fe_table_column *c = &t->cols[t->cut];
    if (c->storage == FE_STORE_INT && c->facts.sorted && c->facts.has_range)
        return 0;
    return fe_json_fail(v, "column \"%.60s\", by which the table is cut, is not known to ascend", c->name);
}

static int read_table(const struct fe_json *v, struct fe_table *t, int stored, struct fe_file_list *l)
{
    struct fe_json m, list;
    HD_TRY(fe_json_need(v, "name", &m));
    HD_TRY(fe_json_name(&m, &t->name));
    if (!fe_json_get(v, "segments", &list)) {
        HD_TRY(fe_json_object(v, "name", "rows", "cut_by", "columns", "primary_key", "primary_key_sorted",
                              "key_indexes", "foreign_keys", NULL));
        HD_TRY(read_stored(v, stored, t->name, l));
        HD_TRY(fe_read_divided(v, &l->doc->partition, t));
        return check_divided(v, t);
    }
    if (l->doc->partition.of)
        return fe_json_fail(&list, "the tables of a partition have no segments");
    HD_TRY(fe_json_object(v, "name", "rows", "cut_by", "segments", NULL));
    HD_TRY(fe_json_need(v, "rows", &m));
    HD_TRY(fe_json_int(&m, 0, FE_MAX_ROWS, &t->rows));
    return read_segments(v, &list, t, stored, l);
}

/* After all tables, because a key may refer to a later one. */
static int read_foreign_keys(const struct fe_json *v, int k, struct fe_file_list *l)
{
    struct fe_catalog_doc *doc = l->doc;
    struct fe_table *t = doc->stored.tables[k];
    struct fe_json list, m;
    HD_TRY(fe_read_foreign_keys(v, t, find_table, &doc->cat, true));
    for (int f = 0; f < t->nfks; f++)
        t->fks[f].parent = fe_segment_parent(t, &t->fks[f], t->fks[f].parent);
    doc->fk_files[k] = HD_NEWN(v->r->arena, struct fe_fk_files, t->nfks);
    bool more = fe_json_get(v, "foreign_keys", &list) && fe_json_first(&list, &m);
    for (; more; more = fe_json_next(&m))
        HD_TRY(read_fk_index(&m, t, l, &t->fks[m.index], &doc->fk_files[k][m.index]));
    return 0;
}

bool fe_same_keys(const struct fe_table *a, const struct fe_table *b)
{
    bool same = a->nfks == b->nfks;
    for (int k = 0; k < a->nfks && same; k++) {
        const struct fe_foreign_key *x = &a->fks[k], *y = &b->fks[k];
        same = x->n_columns == y->n_columns && strcmp(x->parent->name, y->parent->name) == 0;
        for (int i = 0; i < x->n_columns && same; i++)
            same = x->columns[i] == y->columns[i] && x->parent_columns[i] == y->parent_columns[i];
    }
    return same;
}

static int read_all_keys(const struct fe_json *v, struct fe_table *t, int stored, struct fe_file_list *l)
{
    struct fe_json list, m;
    if (!t->nsegments)
        return read_foreign_keys(v, stored, l);
    fe_json_get(v, "segments", &list);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(read_foreign_keys(&m, stored + m.index, l));
        if (!fe_same_keys(t->segments[0], t->segments[m.index]))
            return fe_json_fail(&m, "foreign keys are not declared as those of the first segment");
    }
    fe_segments_join(v->r->arena, t);
    return 0;
}

/* How many tables are stored for the element of the list; a table of no segments is none. */
static int count_stored(const struct fe_json *v, int *out)
{
    struct fe_json list;
    int n = 0;
    if (fe_json_get(v, "segments", &list))
        HD_TRY(fe_read_list(v, "segments", FE_MAX_SEGMENTS, &list, &n));
    *out += HD_MAX(n, 1);
    return 0;
}

static void make_tables(struct hd_arena *a, struct fe_catalog_doc *doc, int n, int stored)
{
    doc->cat.tables = HD_NEWN(a, struct fe_table *, n);
    doc->stored.ntables = stored;
    doc->stored.tables = HD_NEWN(a, struct fe_table *, stored);
    for (int i = 0; i < stored; i++)
        doc->stored.tables[i] = HD_NEW(a, struct fe_table);
    doc->column_files = HD_NEWN(a, struct fe_column_files *, stored);
    doc->keyidx_files = HD_NEWN(a, int *, stored);
    doc->fk_files = HD_NEWN(a, struct fe_fk_files *, stored);
}

static int read_tables(const struct fe_json *list, struct fe_catalog_doc *doc, struct fe_file_list *l)
{
    struct fe_json m;
    int stored = 0;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m))
        HD_TRY(count_stored(&m, &stored));
    make_tables(list->r->arena, doc, doc->cat.ntables, stored);
    stored = 0;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        int first = stored;
        HD_TRY(count_stored(&m, &stored));
        struct fe_table **t = &doc->cat.tables[m.index], *one = doc->stored.tables[first];
        struct fe_json segments;
        *t = fe_json_get(&m, "segments", &segments) ? HD_NEW(list->r->arena, struct fe_table) : one;
        HD_TRY(read_table(&m, *t, first, l));
    }
    HD_TRY(fe_check_table_names(list, doc->cat.ntables, get_table, &doc->cat));
    stored = 0;
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(read_all_keys(&m, doc->cat.tables[m.index], stored, l));
        HD_TRY(count_stored(&m, &stored));
    }
    return 0;
}

static int read_catalog(const struct fe_json *v, struct fe_catalog_doc *doc)
{
    struct fe_file_list l = {doc, 0};
    struct fe_json list, m;
    int64_t version;
    HD_TRY(fe_json_object(v, "heddle_catalog", "partition", "tables", NULL));
    HD_TRY(fe_json_need(v, "heddle_catalog", &m));
    HD_TRY(fe_json_int(&m, INT64_MIN, INT64_MAX, &version));
    if (version != FE_CATALOG_VERSION)
        return fe_json_fail(&m, "expected catalog format version %d, found %lld", FE_CATALOG_VERSION,
                            (long long)version);
    HD_TRY(fe_read_partition(v, &doc->partition));
    HD_TRY(fe_read_list(v, "tables", FE_MAX_TABLES, &list, &doc->cat.ntables));
    HD_TRY(read_tables(&list, doc, &l));
    return fe_catalog_check_names(v, doc);
}

int fe_catalog_read(struct hd_arena *a, const char *json, const char *path, struct fe_catalog_doc **out,
                    struct hd_err *err)
{
    struct fe_json_reader r = {.arena = a, .err = err, .class = HD_ERR_CORRUPT, .prefix = path};
    struct fe_catalog_doc *doc = HD_NEW(a, struct fe_catalog_doc);
    struct fe_json root;
    int rc = fe_json_open(&r, json, &root);
    if (rc == 0)
        rc = read_catalog(&root, doc);
    fe_json_close(&r);
    if (rc == 0)
        *out = doc;
    return rc;
}
