/* catalog.json to struct. Strict: every number is checked against what the runtime will
 * assume (file sizes against row counts, stored ranges against widths, indexes against
 * facts), so that a damaged catalog is an error with a path and never a crash. */
#include <string.h>

#include "frontend/catalog_json.h"
#include "frontend/segments.h"

/* ---- files ---------------------------------------------------------------------------- */

struct file_list {
    struct fe_catalog_doc *doc;
    int cap;
};

/* A plain name below the database's directory: no way out of it. */
static bool is_file_name(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || n > 255 || s[0] == '.' || strstr(s, ".."))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || s[i] == '/' || s[i] == '\\' || s[i] == 0x7f)
            return false;
    return true;
}

static bool is_checksum(const char *s)
{
    return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

static int push_file(const struct fe_json *v, struct file_list *l, struct fe_file f, int *out)
{
    struct fe_catalog_doc *doc = l->doc;
    if (doc->nfiles == l->cap) {
        l->cap = HD_MAX(64, l->cap * 2);
        struct fe_file *files = HD_NEWN(v->r->arena, struct fe_file, l->cap);
        if (doc->nfiles)
            memcpy(files, doc->files, (size_t)doc->nfiles * sizeof f);
        doc->files = files;
    }
    *out = doc->nfiles;
    doc->files[doc->nfiles++] = f;
    return 0;
}

/* Member `key`: {"file", "size", "checksum"} of exactly `size` bytes (any size if -1). */
static int read_file(const struct fe_json *v, const char *key, struct file_list *l, int64_t size, int *out)
{
    struct fe_json f, m;
    struct fe_file file = {0};
    const char *sum;
    int64_t found;
    HD_TRY(fe_json_need(v, key, &f));
    HD_TRY(fe_json_object(&f, "file", "size", "checksum", NULL));
    HD_TRY(fe_json_need(&f, "file", &m));
    HD_TRY(fe_json_string(&m, &file.name));
    if (!is_file_name(file.name))
        return fe_json_expected(&m, "the name of a file in the database's directory");
    HD_TRY(fe_json_need(&f, "size", &m));
    HD_TRY(fe_json_int(&m, 0, (int64_t)1 << 56, &found));
    if (size >= 0 && found != size)
        return fe_json_fail(&m, "expected %lld bytes, found %lld", (long long)size, (long long)found);
    HD_TRY(fe_json_need(&f, "checksum", &m));
    HD_TRY(fe_json_string(&m, &sum));
    if (!is_checksum(sum))
        return fe_json_expected(&m, "a checksum of 16 hexadecimal digits");
    memcpy(file.checksum, sum, 17);
    file.size = (uint64_t)found;
    return push_file(v, l, file, out);
}

static int check_file_names(const struct fe_json *root, const struct fe_catalog_doc *doc)
{
    /* Open addressing: a catalog may name many thousands of files. */
    size_t cap = (size_t)hd_pow2_ceil((uint64_t)doc->nfiles * 2 + 2);
    int *slots = HD_NEWN(root->r->arena, int, cap);
    for (int i = 0; i < doc->nfiles; i++) {
        uint64_t h = 1469598103934665603u;
        for (const char *p = doc->files[i].name; *p; p++)
            h = (h ^ (unsigned char)*p) * 1099511628211u;
        size_t k = (size_t)h & (cap - 1);
        for (; slots[k]; k = (k + 1) & (cap - 1))
            if (strcmp(doc->files[slots[k] - 1].name, doc->files[i].name) == 0)
                return fe_json_fail(root, "the file \"%s\" is used twice", doc->files[i].name);
        slots[k] = i + 1;
    }
    return 0;
}

/* ---- facts ---------------------------------------------------------------------------- */

static int read_range(const struct fe_json *v, struct fe_facts *f)
{
    struct fe_json min, max;
    bool has_min = fe_json_get(v, "min", &min), has_max = fe_json_get(v, "max", &max);
    if (has_min != has_max)
        return fe_json_fail(v, "expected both \"min\" and \"max\" or neither");
    f->has_range = has_min;
    if (!has_min)
        return 0;
    HD_TRY(fe_json_i128(&min, &f->min));
    HD_TRY(fe_json_i128(&max, &f->max));
    return f->min <= f->max ? 0 : fe_json_fail(v, "\"min\" is above \"max\"");
}

static int read_facts(const struct fe_json *column, int64_t rows, struct fe_facts *f)
{
    struct fe_json v;
    *f = (struct fe_facts){.nulls = -1, .distinct = -1, .max_mult = -1};
    HD_TRY(fe_json_need(column, "facts", &v));
    HD_TRY(fe_json_object(&v, "known", "nulls", "min", "max", "distinct", "distinct_exact", "unique", "dense", "sorted",
                          "clustered", "max_multiplicity", NULL));
    HD_TRY(fe_json_opt_bool(&v, "known", &f->known));
    HD_TRY(fe_json_opt_int(&v, "nulls", -1, rows, &f->nulls));
    HD_TRY(read_range(&v, f));
    HD_TRY(fe_json_opt_int(&v, "distinct", -1, rows, &f->distinct));
    HD_TRY(fe_json_opt_bool(&v, "distinct_exact", &f->distinct_exact));
    HD_TRY(fe_json_opt_bool(&v, "unique", &f->unique));
    HD_TRY(fe_json_opt_bool(&v, "dense", &f->dense));
    HD_TRY(fe_json_opt_bool(&v, "sorted", &f->sorted));
    HD_TRY(fe_json_opt_bool(&v, "clustered", &f->clustered));
    HD_TRY(fe_json_opt_int(&v, "max_multiplicity", -1, rows, &f->max_mult));
    if (f->known && f->nulls < 0)
        return fe_json_fail(&v, "facts that are known have a number of \"nulls\"");
    if (f->dense && !f->unique)
        return fe_json_fail(&v, "a dense column is unique");
    if (f->sorted && f->nulls != 0)
        return fe_json_fail(&v, "a sorted column has no NULLs");
    return 0;
}

/* ---- columns -------------------------------------------------------------------------- */

static const char *const storage_names[] = {"int", "f64", "f32", "dict", "text"};

static bool storage_fits(struct hd_type t, enum fe_storage s)
{
    if (hd_type_is_text(t))
        return s == FE_STORE_DICT || s == FE_STORE_TEXT;
    if (hd_type_is_float(t))
        return s == (t.kind == HD_FLOAT64 ? FE_STORE_F64 : FE_STORE_F32);
    return s == FE_STORE_INT;
}

static int read_storage(const struct fe_json *v, struct fe_table_column *c)
{
    struct fe_json m;
    const char *s;
    char type[HD_TEXT_MAX];
    HD_TRY(fe_json_need(v, "storage", &m));
    HD_TRY(fe_json_string(&m, &s));
    for (int k = FE_STORE_INT; k <= FE_STORE_TEXT; k++)
        if (strcmp(s, storage_names[k]) == 0) {
            c->storage = (enum fe_storage)k;
            if (!storage_fits(c->type, c->storage))
                return fe_json_fail(&m, "type %s is not stored as \"%s\"", hd_type_text(c->type, type), s);
            return 0;
        }
    return fe_json_expected(&m, "one of int, f64, f32, dict, text");
}

static bool width_fits(const struct fe_table_column *c, int64_t w)
{
    switch (c->storage) {
    case FE_STORE_INT: return w == 1 || w == 2 || w == 4 || w == 8 || w == 16;
    case FE_STORE_F64: return w == 8;
    case FE_STORE_F32: return w == 4;
    case FE_STORE_DICT: return w == 1 || w == 2 || w == 4;
    case FE_STORE_TEXT: return w == 4;
    }
    return false;
}

static int read_width(const struct fe_json *v, struct fe_table_column *c)
{
    struct fe_json m;
    int64_t w;
    HD_TRY(fe_json_need(v, "width", &m));
    HD_TRY(fe_json_int(&m, 1, 16, &w));
    if (!width_fits(c, w))
        return fe_json_fail(&m, "no column is stored as \"%s\" of %lld bytes", storage_names[c->storage], (long long)w);
    c->width = (int)w;
    return 0;
}

/* Packed numbers would fit the width with a sign, so that readers may widen them to it. */
static int read_bits(const struct fe_json *v, struct fe_table_column *c)
{
    struct fe_json m;
    int64_t bits;
    if (!fe_json_get(v, "bits", &m))
        return 0;
    HD_TRY(fe_json_int(&m, 1, FE_BITS_MAX, &bits));
    if (bits >= 8 * c->width || c->width > 8)
        return fe_json_fail(&m, "%d bits are not stored with a width of %d bytes", (int)bits, c->width);
    c->bits = (int)bits;
    return 0;
}

/* Bounds of (value - base) / factor in a signed integer of w bytes, or in packed bits. */
static bool stored_fits(hd_i128 value, const struct fe_table_column *c)
{
    hd_i128 diff;
    if (__builtin_sub_overflow(value, c->base, &diff) || diff % c->factor != 0)
        return false;
    if (c->width == 16)
        return true;
    hd_i128 q = diff / c->factor, limit = (hd_i128)1 << (c->bits ? c->bits : 8 * c->width - 1);
    return q >= (c->bits ? 0 : -limit) && q < limit;
}

static int read_int_form(const struct fe_json *v, struct fe_table_column *c)
{
    struct fe_json m;
    c->base = 0;
    c->factor = 1;
    if (fe_json_get(v, "base", &m))
        HD_TRY(fe_json_i128(&m, &c->base));
    if (fe_json_get(v, "factor", &m)) {
        HD_TRY(fe_json_i128(&m, &c->factor));
        if (c->factor < 1)
            return fe_json_expected(&m, "a factor of at least 1");
    }
    const struct fe_facts *f = &c->facts;
    hd_i128 lo, hi;
    if (!f->has_range)
        return 0;
    if (!(stored_fits(f->min, c) && stored_fits(f->max, c)))
        return fe_json_fail(v, "\"min\" and \"max\" do not fit width, base and factor");
    if (hd_type_domain(c->type, &lo, &hi) && (f->min < lo || f->max > hi))
        return fe_json_fail(v, "\"min\" and \"max\" are not values of the type");
    return 0;
}

static int read_dict_form(const struct fe_json *v, struct fe_table_column *c, struct file_list *l,
                          struct fe_column_files *files)
{
    struct fe_json m;
    int64_t n;
    HD_TRY(fe_json_need(v, "entries", &m));
    HD_TRY(fe_json_int(&m, 0, UINT32_MAX - 1, &n));
    int bits = c->bits ? c->bits : 8 * c->width;
    if (n > (int64_t)1 << bits)
        return fe_json_fail(&m, "%lld entries need codes wider than %d bits", (long long)n, bits);
    c->dict.n = (uint32_t)n;
    const struct fe_facts *f = &c->facts;
    if (f->has_range && (f->min < 0 || f->max >= n))
        return fe_json_fail(v, "\"min\" and \"max\" are not codes of the dictionary");
    HD_TRY(read_file(v, "dict_offsets", l, 4 * (n + 1), &files->dict_offsets));
    return read_file(v, "dict_bytes", l, -1, &files->dict_bytes);
}

static int read_text_form(const struct fe_json *v, struct fe_table_column *c, int64_t rows, struct file_list *l,
                          struct fe_column_files *files)
{
    const int64_t block = (int64_t)1 << FE_TEXT_BLOCK_SHIFT;
    HD_TRY(read_file(v, "text_base", l, 8 * ((rows + block - 1) / block), &files->text_base));
    HD_TRY(read_file(v, "text", l, -1, &files->text_bytes));
    c->at.text_size = l->doc->files[files->text_bytes].size;
    return 0;
}

/* Keys of a column that its storage does not have are unknown keys. */
static int check_column_keys(const struct fe_json *v, enum fe_storage s)
{
#define COMMON "name", "type", "nullable", "storage", "width", "facts", "data", "valid"
    switch (s) {
    case FE_STORE_INT: return fe_json_object(v, COMMON, "bits", "base", "factor", "zones", NULL);
    case FE_STORE_F64:
    case FE_STORE_F32: return fe_json_object(v, COMMON, "zones", NULL);
    case FE_STORE_DICT:
        return fe_json_object(v, COMMON, "bits", "entries", "dict_offsets", "dict_bytes", "zones", NULL);
    case FE_STORE_TEXT: return fe_json_object(v, COMMON, "text_base", "text", NULL);
    }
#undef COMMON
    return -1;
}

static int read_validity(const struct fe_json *v, const struct fe_table_column *c, int64_t rows, struct file_list *l,
                         struct fe_column_files *files)
{
    struct fe_json m;
    if (!fe_json_get(v, "valid", &m)) {
        if (c->facts.nulls > 0)
            return fe_json_fail(v, "%lld NULLs but no \"valid\" file", (long long)c->facts.nulls);
        return 0;
    }
    if (!c->nullable)
        return fe_json_fail(&m, "the column is not nullable");
    return read_file(v, "valid", l, (rows + 7) / 8, &files->validity);
}

static int read_zones(const struct fe_json *v, const struct fe_table_column *c, int64_t rows, struct file_list *l,
                      struct fe_column_files *files)
{
    struct fe_json m;
    if (!fe_json_get(v, "zones", &m))
        return 0;
    return read_file(v, "zones", l, fe_zones_of(rows) * (int64_t)sizeof *c->zones, &files->zones);
}

static int read_column(const struct fe_json *v, int64_t rows, struct file_list *l, struct fe_table_column *c,
                       struct fe_column_files *files)
{
    *files = (struct fe_column_files){-1, -1, -1, -1, -1, -1, -1};
    if (fe_json_kind(v) != FE_JSON_OBJECT)
        return fe_json_expected(v, "a column (an object)");
    HD_TRY(fe_read_column_head(v, false, c));
    HD_TRY(read_storage(v, c));
    HD_TRY(check_column_keys(v, c->storage));
    HD_TRY(read_width(v, c));
    HD_TRY(read_bits(v, c));
    HD_TRY(read_facts(v, rows, &c->facts));
    HD_TRY(read_file(v, "data", l, (int64_t)fe_column_bytes(c, rows), &files->data));
    HD_TRY(read_validity(v, c, rows, l, files));
    HD_TRY(read_zones(v, c, rows, l, files));
    switch (c->storage) {
    case FE_STORE_INT: return read_int_form(v, c);
    case FE_STORE_F64:
    case FE_STORE_F32: return 0;
    case FE_STORE_DICT: return read_dict_form(v, c, l, files);
    case FE_STORE_TEXT: return read_text_form(v, c, rows, l, files);
    }
    return -1;
}

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

static int read_key_index(const struct fe_json *v, const struct fe_table *t, struct file_list *l,
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
    return read_file(v, x->kind == FE_INDEX_BITMAP ? "words" : "rows", l, (int64_t)fe_key_index_bytes(x), file);
}

static int read_key_indexes(const struct fe_json *table, struct fe_table *t, struct file_list *l, int **files)
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
static int read_fk_index(const struct fe_json *v, const struct fe_table *t, struct file_list *l,
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
    HD_TRY(read_file(&x, "offsets", l, width * (f->parent->rows + 1), &files->offsets));
    if (!fe_json_get(&x, "child_rows", &m))
        return 0;
    HD_TRY(read_file(&x, "child_rows", l, -1, &files->child_rows));
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

static int read_columns(const struct fe_json *v, struct fe_table *t, struct file_list *l,
                        struct fe_column_files **files)
{
    struct fe_json list, m;
    int n;
    HD_TRY(fe_read_list(v, "columns", FE_MAX_COLUMNS, &list, &n));
    t->cols = HD_NEWN(v->r->arena, struct fe_table_column, n);
    *files = HD_NEWN(v->r->arena, struct fe_column_files, n);
    for (bool more = fe_json_first(&list, &m); more; more = fe_json_next(&m)) {
        HD_TRY(read_column(&m, t->rows, l, &t->cols[m.index], &(*files)[m.index]));
        t->ncols++;
    }
    return fe_check_column_names(&list, t);
}

/* A table in one piece, or a segment: number k of those stored. */
static int read_stored(const struct fe_json *v, int k, const char *name, struct file_list *l)
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
                         struct file_list *l)
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

static int read_table(const struct fe_json *v, struct fe_table *t, int stored, struct file_list *l)
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
static int read_foreign_keys(const struct fe_json *v, int k, struct file_list *l)
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

static int read_all_keys(const struct fe_json *v, struct fe_table *t, int stored, struct file_list *l)
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

static int read_tables(const struct fe_json *list, struct fe_catalog_doc *doc, struct file_list *l)
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
    struct file_list l = {doc, 0};
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
    return check_file_names(v, doc);
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
