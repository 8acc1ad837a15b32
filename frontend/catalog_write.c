/* The struct to catalog.json, which catalog_read.c reads. Facts that say nothing are left
 * out. */
#include <inttypes.h>
#include <string.h>

#include "frontend/catalog_json.h"
#include "runtime/base/strbuf.h"

struct writer {
    struct hd_strbuf b;
    const struct fe_catalog_doc *doc;
    bool wholes;
};

static void put_text(struct writer *w, const char *s)
{
    hd_strbuf_add_json(&w->b, s, strlen(s));
}

static void put_name(struct writer *w, const char *key, const char *s)
{
    hd_strbuf_addf(&w->b, "\"%s\": ", key);
    put_text(w, s);
}

/* As text: a number would lose what is beyond 2^53. */
static void put_i128(struct writer *w, const char *key, hd_i128 v)
{
    char buf[HD_TEXT_MAX];
    hd_strbuf_addf(&w->b, ", \"%s\": \"%s\"", key, hd_dec_text(v, 0, buf));
}

static void put_int(struct writer *w, const char *key, int64_t v)
{
    if (v > -((int64_t)1 << 53) && v < (int64_t)1 << 53)
        hd_strbuf_addf(&w->b, ", \"%s\": %" PRId64, key, v);
    else
        put_i128(w, key, v);
}

static void put_flag(struct writer *w, const char *key, bool v)
{
    if (v)
        hd_strbuf_addf(&w->b, ", \"%s\": true", key);
}

static void put_file(struct writer *w, const char *separator, const char *key, int file)
{
    if (file < 0)
        return;
    const struct fe_file *f = &w->doc->files[file];
    hd_strbuf_addf(&w->b, "%s\n          \"%s\": {", separator, key);
    put_name(w, "file", f->name);
    put_int(w, "size", (int64_t)f->size);
    hd_strbuf_addf(&w->b, ", \"checksum\": \"%s\"}", f->checksum);
}

static void put_facts(struct writer *w, const struct fe_facts *f)
{
    hd_strbuf_addf(&w->b, ",\n          \"facts\": {\"known\": %s", f->known ? "true" : "false");
    if (f->nulls >= 0)
        put_int(w, "nulls", f->nulls);
    if (f->has_range) {
        put_i128(w, "min", f->min);
        put_i128(w, "max", f->max);
    }
    if (f->distinct >= 0)
        put_int(w, "distinct", f->distinct);
    put_flag(w, "distinct_exact", f->distinct_exact);
    put_flag(w, "unique", f->unique);
    put_flag(w, "dense", f->dense);
    put_flag(w, "sorted", f->sorted);
    put_flag(w, "clustered", f->clustered);
    if (f->max_mult >= 0)
        put_int(w, "max_multiplicity", f->max_mult);
    hd_strbuf_addc(&w->b, '}');
}

static void put_form(struct writer *w, const struct fe_table_column *c)
{
    static const char *const names[] = {"int", "f64", "f32", "dict", "text"};
    hd_strbuf_addf(&w->b, ", \"storage\": \"%s\"", names[c->storage]);
    put_int(w, "width", c->width);
    if (c->bits)
        put_int(w, "bits", c->bits);
    if (c->storage == FE_STORE_INT) {
        put_i128(w, "base", c->base);
        put_i128(w, "factor", c->factor);
    }
    if (c->storage == FE_STORE_DICT)
        put_int(w, "entries", c->dict.n);
}

static void put_column(struct writer *w, const struct fe_table_column *c, const struct fe_column_files *f)
{
    char type[HD_TEXT_MAX];
    hd_strbuf_adds(&w->b, "        {");
    put_name(w, "name", c->name);
    hd_strbuf_addf(&w->b, ", \"type\": \"%s\"", hd_type_text(c->type, type));
    put_flag(w, "nullable", c->nullable);
    put_form(w, c);
    put_facts(w, &c->facts);
    put_file(w, ",", "data", f->data);
    put_file(w, ",", "valid", f->validity);
    put_file(w, ",", "text_base", f->text_base);
    put_file(w, ",", "text", f->text_bytes);
    put_file(w, ",", "dict_offsets", f->dict_offsets);
    put_file(w, ",", "dict_bytes", f->dict_bytes);
    put_file(w, ",", "zones", f->zones);
    hd_strbuf_addc(&w->b, '}');
}

static void put_column_names(struct writer *w, const char *key, const struct fe_table *t, int n, const int *columns)
{
    hd_strbuf_addf(&w->b, "\"%s\": [", key);
    for (int i = 0; i < n; i++) {
        hd_strbuf_adds(&w->b, i ? ", " : "");
        put_text(w, t->cols[columns[i]].name);
    }
    hd_strbuf_addc(&w->b, ']');
}

static void put_key_index(struct writer *w, const struct fe_table *t, const struct fe_key_index *x, int file)
{
    hd_strbuf_adds(&w->b, "        {");
    put_name(w, "column", t->cols[x->column].name);
    hd_strbuf_addf(&w->b, ", \"kind\": \"%s\"", fe_index_kind_name(x->kind));
    put_i128(w, "min", x->min);
    put_int(w, "range", (int64_t)x->range);
    put_file(w, ",", x->kind == FE_INDEX_BITMAP ? "words" : "rows", file);
    hd_strbuf_addc(&w->b, '}');
}

static void put_foreign_key(struct writer *w, const struct fe_table *t, const struct fe_foreign_key *f,
                            const struct fe_fk_files *files)
{
    hd_strbuf_adds(&w->b, "        {");
    put_column_names(w, "columns", t, f->n_columns, f->columns);
    hd_strbuf_adds(&w->b, ", ");
    put_name(w, "table", f->parent->name);
    hd_strbuf_adds(&w->b, ", ");
    put_column_names(w, "references", f->parent, f->n_columns, f->parent_columns);
    if (f->max_children >= 0)
        put_int(w, "max_children", f->max_children);
    for (int i = 0; i < f->nlong; i++) {
        hd_strbuf_adds(&w->b, i ? ", {" : ", \"long_parents\": [{");
        hd_strbuf_addf(&w->b, "\"row\": %lld, \"children\": %lld}", (long long)f->longs[i].row,
                       (long long)f->longs[i].children);
    }
    if (f->nlong)
        hd_strbuf_addc(&w->b, ']');
    if (files && files->offsets >= 0) {
        hd_strbuf_addf(&w->b, ", \"index\": {\"offset_width\": %d", f->offset_width);
        put_file(w, ",", "offsets", files->offsets);
        put_file(w, ",", "child_rows", files->child_rows);
        hd_strbuf_addc(&w->b, '}');
    }
    hd_strbuf_addc(&w->b, '}');
}

static void open_list(struct writer *w, const char *key)
{
    hd_strbuf_addf(&w->b, ",\n     \"%s\": [", key);
}

static void next_line(struct writer *w, int i)
{
    hd_strbuf_adds(&w->b, i ? ",\n" : "\n");
}

static void put_primary_key(struct writer *w, const struct fe_table *t)
{
    if (!t->npk)
        return;
    hd_strbuf_adds(&w->b, ",\n     ");
    put_column_names(w, "primary_key", t, t->npk, t->pk);
    put_flag(w, "primary_key_sorted", t->pk_sorted);
}

static void put_foreign_keys(struct writer *w, const struct fe_table *t, const struct fe_fk_files *files)
{
    if (!t->nfks)
        return;
    open_list(w, "foreign_keys");
    for (int i = 0; i < t->nfks; i++) {
        next_line(w, i);
        put_foreign_key(w, t, &t->fks[i], files ? &files[i] : NULL);
    }
    hd_strbuf_addc(&w->b, ']');
}

/* Number k of those stored, from its columns on. */
static void put_stored(struct writer *w, int k, const struct fe_table *t)
{
    const struct fe_catalog_doc *doc = w->doc;
    open_list(w, "columns");
    for (int i = 0; i < t->ncols; i++) {
        next_line(w, i);
        put_column(w, &t->cols[i], &doc->column_files[k][i]);
    }
    hd_strbuf_addc(&w->b, ']');
    put_primary_key(w, t);
    if (t->nkeyidx) {
        open_list(w, "key_indexes");
        for (int i = 0; i < t->nkeyidx; i++) {
            next_line(w, i);
            put_key_index(w, t, &t->keyidx[i], doc->keyidx_files[k] ? doc->keyidx_files[k][i] : -1);
        }
        hd_strbuf_addc(&w->b, ']');
    }
    put_foreign_keys(w, t, doc->fk_files[k]);
    hd_strbuf_addc(&w->b, '}');
}

/* What a table of segments comes to: columns without files. */
static void put_whole(struct writer *w, const struct fe_table *t)
{
    static const struct fe_column_files none = {-1, -1, -1, -1, -1, -1, -1};
    open_list(w, "columns");
    for (int i = 0; i < t->ncols; i++) {
        next_line(w, i);
        put_column(w, &t->cols[i], &none);
    }
    hd_strbuf_addc(&w->b, ']');
    put_primary_key(w, t);
    put_foreign_keys(w, t, NULL);
}

static void put_table(struct writer *w, const struct fe_table *t, int *stored)
{
    hd_strbuf_adds(&w->b, "    {");
    put_name(w, "name", t->name);
    put_int(w, "rows", t->rows);
    if (t->divided) {
        hd_strbuf_adds(&w->b, ", \"cut_by\": ");
        if (t->cut >= 0)
            put_text(w, t->cols[t->cut].name);
        else
            hd_strbuf_adds(&w->b, "null");
    }
    if (!t->nsegments) {
        put_stored(w, (*stored)++, t);
        return;
    }
    if (w->wholes)
        put_whole(w, t);
    if (t->cut >= 0) {
        hd_strbuf_adds(&w->b, ", ");
        put_name(w, "cut_by", t->cols[t->cut].name);
    }
    open_list(w, "segments");
    for (int i = 0; i < t->nsegments; i++) {
        next_line(w, i);
        hd_strbuf_addf(&w->b, "    {\"rows\": %" PRId64, t->segments[i]->rows);
        put_stored(w, (*stored)++, t->segments[i]);
    }
    hd_strbuf_adds(&w->b, "]}");
}

char *fe_catalog_write(const struct fe_catalog_doc *doc, bool wholes)
{
    struct writer w = {.doc = doc, .wholes = wholes};
    hd_strbuf_init(&w.b);
    hd_strbuf_addf(&w.b, "{\"heddle_catalog\": %d,", FE_CATALOG_VERSION);
    if (doc->partition.of)
        hd_strbuf_addf(&w.b, " \"partition\": {\"number\": %d, \"of\": %d},", doc->partition.number, doc->partition.of);
    hd_strbuf_adds(&w.b, "\n  \"tables\": [");
    int stored = 0;
    for (int k = 0; k < doc->cat.ntables; k++) {
        next_line(&w, k);
        put_table(&w, doc->cat.tables[k], &stored);
    }
    hd_strbuf_adds(&w.b, "]}\n");
    char *text = hd_strbuf_detach(&w.b);
    hd_strbuf_release(&w.b);
    return text;
}
