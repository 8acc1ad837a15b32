/* Files that a catalog names, facts, and columns: storages and forms against types and rows. */
#include "frontend/catalog_column.h"

#include <string.h>

/* ---- files ---------------------------------------------------------------------------- */

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

static int push_file(const struct fe_json *v, struct fe_file_list *l, struct fe_file f, int *out)
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

int fe_catalog_file(const struct fe_json *v, const char *key, struct fe_file_list *l, int64_t size, int *out)
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

int fe_catalog_check_names(const struct fe_json *root, const struct fe_catalog_doc *doc)
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

static int read_dict_form(const struct fe_json *v, struct fe_table_column *c, struct fe_file_list *l,
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
    HD_TRY(fe_catalog_file(v, "dict_offsets", l, 4 * (n + 1), &files->dict_offsets));
    return fe_catalog_file(v, "dict_bytes", l, -1, &files->dict_bytes);
}

static int read_text_form(const struct fe_json *v, struct fe_table_column *c, int64_t rows, struct fe_file_list *l,
                          struct fe_column_files *files)
{
    const int64_t block = (int64_t)1 << FE_TEXT_BLOCK_SHIFT;
    HD_TRY(fe_catalog_file(v, "text_base", l, 8 * ((rows + block - 1) / block), &files->text_base));
    HD_TRY(fe_catalog_file(v, "text", l, -1, &files->text_bytes));
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

static int read_validity(const struct fe_json *v, const struct fe_table_column *c, int64_t rows, struct fe_file_list *l,
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
    return fe_catalog_file(v, "valid", l, (rows + 7) / 8, &files->validity);
}

static int read_zones(const struct fe_json *v, const struct fe_table_column *c, int64_t rows, struct fe_file_list *l,
                      struct fe_column_files *files)
{
    struct fe_json m;
    if (!fe_json_get(v, "zones", &m))
        return 0;
    return fe_catalog_file(v, "zones", l, fe_zones_of(rows) * (int64_t)sizeof *c->zones, &files->zones);
}

int fe_catalog_column(const struct fe_json *v, int64_t rows, struct fe_file_list *l, struct fe_table_column *c,
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
    HD_TRY(fe_catalog_file(v, "data", l, (int64_t)fe_column_bytes(c, rows), &files->data));
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
