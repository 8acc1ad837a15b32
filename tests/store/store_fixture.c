#include "tests/store/store_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- directories -------------------------------------------------------------------------- */

int fx_setup(void **state)
{
    struct fx_dir *d = calloc(1, sizeof *d);
    heddle_options o;
    heddle_error *e = NULL;
    snprintf(d->path, sizeof d->path, "store-test-XXXXXX");
    assert_non_null(mkdtemp(d->path));
    snprintf(d->db, sizeof d->db, "%s/db", d->path);
    heddle_options_init(&o);
    o.threads = 3;
    fx_ok(heddle_context_new(&o, &d->context, &e), &e);
    *state = d;
    return 0;
}

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char sub[600];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(sub, sizeof sub, "%s/%s", path, e->d_name);
        if (unlink(sub) != 0)
            remove_tree(sub);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

int fx_teardown(void **state)
{
    struct fx_dir *d = *state;
    heddle_context_free(d->context);
    remove_tree(d->path);
    free(d);
    return 0;
}

const char *fx_path(const struct fx_dir *d, const char *name)
{
    static char buffers[8][256];
    static int next;
    char *p = buffers[next++ % 8];
    snprintf(p, 256, "%s/%s", d->path, name);
    return p;
}

void fx_write_file(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

int fx_count_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* ---- Arrow batches ------------------------------------------------------------------------ */

enum { MAX_COLUMNS = 16 };

struct column {
    char name[32], format[16];
    struct ArrowSchema schema, entry_schema;
    struct ArrowArray array, entry_array;
    const void *buffers[3], *entry_buffers[3];
};

struct fx_batch {
    struct ArrowSchema schema, *schemas[MAX_COLUMNS];
    struct ArrowArray array, *arrays[MAX_COLUMNS];
    const void *none[1];
    struct column columns[MAX_COLUMNS];
    int64_t rows, offset;
    int n;
};

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}
static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

struct fx_batch *fx_batch_new(int64_t rows, int64_t offset)
{
    struct fx_batch *b = calloc(1, sizeof *b);
    b->rows = rows;
    b->offset = offset;
    b->schema = (struct ArrowSchema){.format = "+s", .name = "", .children = b->schemas, .release = release_schema};
    b->array = (struct ArrowArray){
        .length = rows, .n_buffers = 1, .buffers = b->none, .children = b->arrays, .release = release_array};
    return b;
}

void fx_batch_free(struct fx_batch *b)
{
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < 3; k++) {
            free((void *)(uintptr_t)b->columns[i].buffers[k]);
            free((void *)(uintptr_t)b->columns[i].entry_buffers[k]);
        }
    free(b);
}

static struct column *new_column(struct fx_batch *b, const char *name, const char *format, int buffers,
                                 const uint8_t *valid)
{
    struct column *c = &b->columns[b->n];
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->format, sizeof c->format, "%s", format);
    c->schema = (struct ArrowSchema){
        .format = c->format, .name = c->name, .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    c->array = (struct ArrowArray){
        .length = b->rows, .offset = b->offset, .n_buffers = buffers, .buffers = c->buffers, .release = release_array};
    if (valid) {
        uint8_t *bits = calloc(1, (size_t)(b->rows + b->offset) / 8 + 1);
        for (int64_t i = 0; i < b->rows; i++)
            if (valid[i])
                bits[(i + b->offset) / 8] |= (uint8_t)(1 << (i + b->offset) % 8);
        c->buffers[0] = bits;
        c->array.null_count = -1;
    }
    b->schemas[b->n] = &c->schema;
    b->arrays[b->n] = &c->array;
    b->schema.n_children = b->array.n_children = ++b->n;
    return c;
}

void fx_add(struct fx_batch *b, const char *name, const char *format, const void *values, size_t width,
            const uint8_t *valid)
{
    struct column *c = new_column(b, name, format, 2, valid);
    size_t before = (size_t)b->offset * width, n = (size_t)b->rows * width;
    char *p = aligned_alloc(64, hd_align_up(before + n + 1, 64));
    memset(p, 0x5a, before);
    if (n)
        memcpy(p + before, values, n);
    c->buffers[1] = p;
}

void fx_add_bool(struct fx_batch *b, const char *name, const uint8_t *values, const uint8_t *valid)
{
    struct column *c = new_column(b, name, "b", 2, valid);
    uint8_t *bits = calloc(1, (size_t)(b->rows + b->offset) / 8 + 1);
    for (int64_t i = 0; i < b->rows; i++)
        if (values[i])
            bits[(i + b->offset) / 8] |= (uint8_t)(1 << (i + b->offset) % 8);
    c->buffers[1] = bits;
}

/* Offsets and bytes of n texts behind `before` rows of "rubbish". */
static void put_text(const void **buffers, const char *const *v, int64_t n, int64_t before, bool large)
{
    size_t size = 1, at = 0;
    for (int64_t i = 0; i < n; i++)
        size += v[i] ? strlen(v[i]) : 0;
    char *bytes = malloc(size + (size_t)before * 7);
    int64_t *wide = malloc((size_t)(n + before + 1) * sizeof *wide);
    int32_t *narrow = malloc((size_t)(n + before + 1) * sizeof *narrow);
    for (int64_t i = 0; i <= n + before; i++) {
        wide[i] = (int64_t)at;
        narrow[i] = (int32_t)at;
        const char *s = i < before ? "rubbish" : i < n + before ? v[i - before] : NULL;
        if (s)
            memcpy(bytes + at, s, strlen(s));
        at += s ? strlen(s) : 0;
    }
    buffers[1] = large ? (void *)wide : (void *)narrow;
    free(large ? (void *)narrow : (void *)wide);
    buffers[2] = bytes;
}

void fx_add_text(struct fx_batch *b, const char *name, const char *const *values, bool large)
{
    uint8_t *valid = malloc((size_t)b->rows + 1);
    bool nulls = false;
    for (int64_t i = 0; i < b->rows; i++) {
        valid[i] = values[i] != NULL;
        nulls |= !valid[i];
    }
    struct column *c = new_column(b, name, large ? "U" : "u", 3, nulls ? valid : NULL);
    put_text(c->buffers, values, b->rows, b->offset, large);
    free(valid);
}

void fx_add_dict(struct fx_batch *b, const char *name, const char *format, const void *codes, size_t width,
                 const uint8_t *valid, const char *const *entries, int n)
{
    fx_add(b, name, format, codes, width, valid);
    struct column *c = &b->columns[b->n - 1];
    put_text(c->entry_buffers, entries, n, 0, false);
    c->entry_schema = (struct ArrowSchema){.format = "u", .name = "", .release = release_schema};
    c->entry_array =
        (struct ArrowArray){.length = n, .n_buffers = 3, .buffers = c->entry_buffers, .release = release_array};
    c->schema.dictionary = &c->entry_schema;
    c->array.dictionary = &c->entry_array;
}

struct ArrowSchema *fx_schema(struct fx_batch *b)
{
    return &b->schema;
}
struct ArrowArray *fx_array(struct fx_batch *b)
{
    return &b->array;
}

/* ---- streams: a batch is freed when its consumer releases it ------------------------------- */

struct stream {
    struct fx_batch **batches;
    int n, next;
};

static void free_batch(struct ArrowArray *a)
{
    fx_batch_free(a->private_data);
    a->release = NULL;
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct stream *x = s->private_data;
    *out = x->batches[0]->schema; /* children are the first batch's: it must outlive this */
    return 0;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct stream *x = s->private_data;
    memset(out, 0, sizeof *out);
    if (x->next == x->n)
        return 0;
    struct fx_batch *b = x->batches[x->next++];
    *out = b->array;
    out->release = free_batch;
    out->private_data = b;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}

static void release_stream(struct ArrowArrayStream *s)
{
    struct stream *x = s->private_data;
    for (int i = x->next; i < x->n; i++)
        fx_batch_free(x->batches[i]);
    free(x->batches);
    free(x);
    s->release = NULL;
}

void fx_stream(struct fx_batch **batches, int n, struct ArrowArrayStream *out)
{
    struct stream *x = calloc(1, sizeof *x);
    x->batches = malloc((size_t)n * sizeof *x->batches);
    memcpy(x->batches, batches, (size_t)n * sizeof *x->batches);
    x->n = n;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, x};
}

/* ---- databases ---------------------------------------------------------------------------- */

void fx_ok(int rc, heddle_error **e)
{
    if (rc != 0)
        print_error("%s: %s: %s\n", heddle_error_class_name(heddle_error_get_class(*e)), heddle_error_path(*e),
                    heddle_error_message(*e));
    assert_int_equal(rc, 0);
    assert_null(*e);
}

void fx_expect(int rc, heddle_error **e, heddle_error_class c, const char *path_end, const char *message_part)
{
    assert_int_equal(rc, -1);
    assert_non_null(*e);
    const char *path = heddle_error_path(*e), *message = heddle_error_message(*e);
    size_t n = strlen(path), m = strlen(path_end);
    bool good = heddle_error_get_class(*e) == c && n >= m && strcmp(path + n - m, path_end) == 0 &&
                strstr(message, message_part);
    if (!good)
        print_error("expected %s: ...%s: ...%s...\nfound %s: %s: %s\n", heddle_error_class_name(c), path_end,
                    message_part, heddle_error_class_name(heddle_error_get_class(*e)), path, message);
    assert_true(good);
    heddle_error_free(*e);
    *e = NULL;
}

heddle_writer *fx_writer(struct fx_dir *d, const char *schema)
{
    heddle_writer *w = NULL;
    heddle_error *e = NULL;
    fx_ok(heddle_writer_open(d->context, d->db, schema, &w, &e), &e);
    return w;
}

void fx_append(heddle_writer *w, const char *table, int64_t first_row, struct fx_batch *b)
{
    heddle_error *e = NULL;
    fx_ok(heddle_writer_append(w, table, first_row, fx_schema(b), fx_array(b), &e), &e);
    fx_batch_free(b);
}

void fx_commit(heddle_writer *w)
{
    heddle_error *e = NULL;
    fx_ok(heddle_writer_commit(w, NULL, NULL, &e), &e);
    heddle_writer_free(w);
}

void fx_open(struct fx_db *db, const char *path)
{
    struct hd_err e;
    char *text = NULL;
    hd_err_init(&e);
    memset(db, 0, sizeof *db);
    hd_arena_init(&db->arena);
    int rc = rt_store_read_catalog(path, &text, &e) || fe_catalog_read(&db->arena, text, path, &db->doc, &e) ||
             rt_store_open(path, db->doc, (struct rt_open_mode){0}, &db->store, &e);
    if (rc)
        print_error("%s: %s\n", e.path, e.message);
    assert_int_equal(rc, 0);
    free(text);
}

void fx_close(struct fx_db *db)
{
    rt_store_close(db->store);
    hd_arena_release(&db->arena);
}

const struct fe_table *fx_table(const struct fx_db *db, const char *name)
{
    const struct fe_table *t = fe_catalog_find(&db->doc->cat, name);
    assert_non_null(t);
    return t;
}

const struct fe_table_column *fx_column(const struct fe_table *t, const char *name)
{
    int c = fe_table_find_column(t, name);
    assert_true(c >= 0);
    return &t->cols[c];
}

uint64_t fx_random(uint64_t *state)
{
    return rt_hash64(*state += UINT64_C(0x9e3779b97f4a7c15));
}
