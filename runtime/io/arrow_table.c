#include "runtime/io/arrow_table.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/zones.h"
#include "runtime/base/fault.h"
#include "runtime/io/arrow_check.h"
#include "runtime/io/arrow_table_internal.h"
#include "runtime/store/store.h"
#include "runtime/store/store_facts.h"
#include "runtime/store/store_text.h"

struct fe_table *rt_memtable_table(struct rt_memtable *m)
{
    return &m->table;
}

static void close_sources(struct rt_memtable *m)
{
    for (int64_t b = 0; m->sources && b < m->nbatches; b++)
        rt_arrow_source_close(&m->sources[b]);
    free(m->sources);
    m->sources = NULL;
}

void rt_memtable_free(struct rt_memtable *m)
{
    if (!m)
        return;
    close_sources(m);
    for (int64_t b = 0; b < m->nbatches; b++)
        if (m->batches[b].release)
            m->batches[b].release(&m->batches[b]);
    if (m->schema.release)
        m->schema.release(&m->schema);
    for (int i = 0; i < m->nbuffers; i++)
        free(m->buffers[i]);
    for (int c = 0; m->entries && c < m->table.ncols; c++)
        rt_memtable_free(m->entries[c]);
    free(m->entries);
    if (m->memory.release)
        m->memory.release(m->memory.self);
    rt_scratch_free(m->scratch);
    free(m->buffers);
    free(m->batches);
    hd_arena_release(&m->arena);
    free(m);
}

int rt_memtable_no_memory(const struct rt_memtable *m, struct hd_err *err)
{
    return HD_FAIL(err, RESOURCE, m->table.name, "out of memory");
}

/* Zeroed memory that lives as long as the table. */
static void *buffer(struct rt_memtable *m, uint64_t n, struct hd_err *err)
{
    if (m->nbuffers == m->buffer_cap) {
        int cap = HD_MAX(m->buffer_cap * 2, 16);
        void **v = hd_try_realloc(m->buffers, (size_t)cap * sizeof *v);
        if (!v) {
            rt_memtable_no_memory(m, err);
            return NULL;
        }
        m->buffers = v;
        m->buffer_cap = cap;
    }
    void *p = hd_try_calloc(1, (size_t)n + 16);
    if (p)
        m->buffers[m->nbuffers++] = p;
    else
        rt_memtable_no_memory(m, err);
    return p;
}

/* ---- the stream ----------------------------------------------------------------------------- */

static int stream_error(const struct rt_memtable *m, struct ArrowArrayStream *s, struct hd_err *err)
{
    const char *text = s->get_last_error(s);
    return HD_FAIL(err, DATA, m->table.name, "the Arrow stream failed: %s", text ? text : "no message");
}

static int grow_batches(struct rt_memtable *m, struct hd_err *err)
{
    if (m->nbatches < m->cap)
        return 0;
    int64_t cap = HD_MAX(m->cap * 2, 8);
    struct ArrowArray *b = hd_try_realloc(m->batches, (size_t)cap * sizeof *b);
    m->batches = b ? b : m->batches;
    struct rt_arrow_source *s = hd_try_realloc(m->sources, (size_t)cap * sizeof *s);
    m->sources = s ? s : m->sources;
    if (!b || !s)
        return rt_memtable_no_memory(m, err);
    m->cap = cap;
    return 0;
}

/* Each batch is checked as it arrives: a stream that goes bad is not read to its end. */
static int read_batches(struct rt_memtable *m, struct ArrowArrayStream *s, struct hd_err *err)
{
    for (;;) {
        HD_TRY(grow_batches(m, err));
        struct ArrowArray *b = &m->batches[m->nbatches];
        struct rt_arrow_source *source = &m->sources[m->nbatches];
        memset(b, 0, sizeof *b);
        memset(source, 0, sizeof *source);
        if (s->get_next(s, b) != 0)
            return stream_error(m, s, err);
        if (!b->release)
            return 0;
        m->nbatches++;
        HD_TRY(rt_arrow_source_open(source, &m->table, &m->schema, b, m->table.rows, err));
        HD_TRY(rt_rows_check(m->table.name, m->table.rows, b->length, FE_TABLE_MAX_ROWS, err));
        m->table.rows += b->length;
    }
}

static int declare_column(struct rt_memtable *m, int c, const struct ArrowSchema *s, struct hd_err *err)
{
    struct fe_table_column *col = &m->table.cols[c];
    bool coded;
    col->name = hd_strdup(&m->arena, s->name);
    col->nullable = (s->flags & ARROW_FLAG_NULLABLE) != 0;
    rt_arrow_column_type(s, &col->type, &coded);
    for (int k = 0; k < c; k++)
        if (strcmp(m->table.cols[k].name, col->name) == 0)
            return HD_FAIL(err, USER, m->table.name, "two columns are called \"%s\"", col->name);
    return 0;
}

int rt_memtable_declare(struct rt_memtable *m, struct hd_err *err)
{
    const struct ArrowSchema *s = &m->schema;
    HD_TRY(rt_arrow_check_schema(m->table.name, s, err));
    m->table.ncols = (int)s->n_children;
    m->table.cols = HD_NEWN(&m->arena, struct fe_table_column, m->table.ncols);
    for (int c = 0; c < m->table.ncols; c++)
        HD_TRY(declare_column(m, c, s->children[c], err));
    return 0;
}

/* ---- columns -------------------------------------------------------------------------------- */

struct sink {
    struct rt_memtable *m;
    struct fe_table_column *col;
    int c;
    char *data;
    uint8_t *validity;
    uint64_t *text_base;
    char *text;
    uint64_t text_n, text_cap;
    struct rt_strset set; /* DICT: all entries */
    uint32_t *rank;
};

void rt_memtable_choose_storage(struct rt_memtable *m, int c)
{
    struct fe_table_column *col = &m->table.cols[c];
    struct hd_type type;
    bool coded;
    rt_arrow_column_type(m->schema.children[c], &type, &coded);
    col->base = 0;
    col->factor = 1;
    col->width = hd_type_width(col->type);
    col->facts = (struct fe_facts){.distinct = -1, .max_mult = -1};
    if (hd_type_is_float(col->type))
        col->storage = col->type.kind == HD_FLOAT32 ? FE_STORE_F32 : FE_STORE_F64;
    else if (!hd_type_is_text(col->type))
        col->storage = FE_STORE_INT;
    else
        col->storage = coded ? FE_STORE_DICT : FE_STORE_TEXT;
}

/* The buffer of a single batch serves as it is if a row lies where the column wants it, at an
 * address that whole values may be loaded from. */
static bool fits_in_place(const struct sink *k)
{
    const struct rt_arrow_column *a = &k->m->sources[0].columns[k->c];
    enum rt_arrow_layout layout = rt_arrow_layout(a->format);
    bool same = layout == RT_ARROW_LAYOUT_INT || layout == RT_ARROW_LAYOUT_FLOAT || layout == RT_ARROW_LAYOUT_DECIMAL;
    return k->m->nbatches == 1 && same && !a->dictionary && !a->own_data && a->offset == 0 && k->m->table.rows > 0 &&
           rt_arrow_width(a->format) == k->col->width && (uintptr_t)a->data % (uintptr_t)k->col->width == 0;
}

static void use_in_place(struct sink *k)
{
    const struct rt_arrow_column *a = &k->m->sources[0].columns[k->c];
    k->col->at.data = a->data;
    k->col->facts.nulls = a->nulls;
    k->col->at.validity = a->validity;
}

static void put_numbers(struct sink *k, int64_t row, const struct rt_work *w)
{
    size_t width = (size_t)k->col->width;
    char *out = k->data + (size_t)row * width;
    for (int i = 0; i < w->n; i++) {
        if (w->nulls && !rt_bit(w->valid, i))
            continue; /* stays zero */
        hd_i128 v = 0;
        if (w->form == RT_WORK_I64)
            v = w->i64[i];
        else if (w->form == RT_WORK_I128)
            v = w->i128[i];
        else if (w->form == RT_WORK_F32)
            memcpy(&v, &w->f32[i], sizeof(float));
        else
            memcpy(&v, &w->f64[i], sizeof(double));
        memcpy(out + (size_t)i * width, &v, width); /* little-endian */
    }
}

static int put_texts(struct sink *k, int64_t row, const struct rt_work *w, struct hd_err *err)
{
    int64_t block = row >> RT_BLOCK_SHIFT;
    uint32_t *ends = (uint32_t *)(void *)k->data + row;
    if ((row & (RT_BLOCK_ROWS - 1)) == 0)
        k->text_base[block] = k->text_n;
    for (int i = 0; i < w->n; i++) {
        struct rt_str s = {"", 0};
        if (!w->nulls || rt_bit(w->valid, i))
            s = w->str[i];
        if (k->text_n + s.n > k->text_cap) {
            uint64_t cap = HD_MAX(k->text_cap * 2, k->text_n + s.n + 4096);
            char *p = hd_try_realloc(k->text, (size_t)cap);
            if (!p)
                return rt_memtable_no_memory(k->m, err);
            k->text = p;
            k->text_cap = cap;
        }
        if (s.n)
            memcpy(k->text + k->text_n, s.p, s.n);
        k->text_n += s.n;
        if (k->text_n - k->text_base[block] > UINT32_MAX)
            return HD_FAIL(err, UNSUPPORTED, k->m->table.name, "column \"%s\": more than 4 GiB of text in %d rows",
                           k->col->name, RT_BLOCK_ROWS);
        ends[i] = (uint32_t)(k->text_n - k->text_base[block]);
    }
    return 0;
}

static void put_codes(struct sink *k, int64_t row, const struct rt_work *w)
{
    size_t width = (size_t)k->col->width;
    for (int i = 0; i < w->n; i++) {
        if (w->nulls && !rt_bit(w->valid, i))
            continue;
        struct rt_str s = w->form == RT_WORK_STR ? w->str[i] : w->entries[w->codes[i]];
        uint32_t code = k->rank[rt_strset_find(&k->set, s)];
        memcpy(k->data + (size_t)(row + i) * width, &code, width);
    }
}

static void put_validity(struct sink *k, int64_t row, const struct rt_work *w)
{
    for (int i = 0; i < w->n; i++)
        if (!w->nulls || rt_bit(w->valid, i))
            k->validity[(row + i) >> 3] |= (uint8_t)(1 << ((row + i) & 7));
    k->col->facts.nulls += w->nulls;
}

static int convert_rows(struct sink *k, const struct rt_arrow_source *s, int64_t from, int64_t row, int n,
                        struct hd_err *err)
{
    struct rt_work *w = rt_scratch_work(k->m->scratch);
    w->n = n;
    s->base.fill(&s->base, k->c, from, w);
    put_validity(k, row, w);
    if (k->col->storage == FE_STORE_TEXT)
        return put_texts(k, row, w, err);
    if (k->col->storage == FE_STORE_DICT)
        put_codes(k, row, w);
    else
        put_numbers(k, row, w);
    return 0;
}

static int convert_batches(struct sink *k, struct hd_err *err)
{
    int64_t row = 0;
    for (int64_t b = 0; b < k->m->nbatches; b++) {
        int64_t rows = k->m->batches[b].length;
        for (int64_t from = 0; from < rows;) {
            int64_t room = RT_BLOCK_ROWS - (row & (RT_BLOCK_ROWS - 1));
            int n = (int)HD_MIN(rows - from, room);
            HD_TRY(convert_rows(k, &k->m->sources[b], from, row, n, err));
            from += n;
            row += n;
        }
    }
    return 0;
}

/* ---- dictionaries --------------------------------------------------------------------------- */

static int write_dictionary(struct sink *k, struct hd_err *err)
{
    struct fe_dict *d = &k->col->dict;
    uint32_t n = d->n = k->set.n;
    uint64_t size = 0;
    for (uint32_t i = 0; i < n; i++)
        size += k->set.v[i].n;
    if (size > UINT32_MAX)
        return HD_FAIL(err, UNSUPPORTED, k->m->table.name, "column \"%s\": dictionary of more than 4 GiB",
                       k->col->name);
    k->rank = rt_strset_rank(&k->set, err);
    uint32_t *offsets = k->rank ? buffer(k->m, ((uint64_t)n + 1) * sizeof *offsets, err) : NULL;
    char *bytes = offsets ? buffer(k->m, size, err) : NULL;
    if (!bytes)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        offsets[k->rank[i] + 1] = k->set.v[i].n;
    for (uint32_t i = 0; i < n; i++)
        offsets[i + 1] += offsets[i];
    for (uint32_t i = 0; i < n; i++)
        memcpy(bytes + offsets[k->rank[i]], k->set.v[i].p, k->set.v[i].n);
    d->offsets = offsets;
    d->bytes = bytes;
    return 0;
}

static int make_dictionary(struct sink *k, struct hd_err *err)
{
    HD_TRY(rt_strset_init(&k->set, err));
    for (int64_t b = 0; b < k->m->nbatches; b++) {
        const struct rt_arrow_column *a = &k->m->sources[b].columns[k->c];
        for (uint32_t i = 0; i < a->nentries; i++)
            if (rt_strset_add(&k->set, a->entries[i], err) < 0)
                return -1;
    }
    k->col->width = k->set.n <= 256 ? 1 : k->set.n <= 65536 ? 2 : 4;
    return write_dictionary(k, err);
}

/* ---- putting it together -------------------------------------------------------------------- */

static int convert_column(struct sink *k, struct hd_err *err)
{
    uint64_t rows = (uint64_t)k->m->table.rows;
    struct fe_table_column *col = k->col;
    if (col->storage == FE_STORE_DICT)
        HD_TRY(make_dictionary(k, err));
    k->data = buffer(k->m, rows * (uint64_t)col->width, err);
    k->validity = k->data ? buffer(k->m, rows / 8 + 1, err) : NULL;
    if (!k->validity)
        return -1;
    if (col->storage == FE_STORE_TEXT) {
        k->text_base = buffer(k->m, (rows / RT_BLOCK_ROWS + 1) * sizeof *k->text_base, err);
        if (!k->text_base)
            return -1;
    }
    HD_TRY(convert_batches(k, err));
    col->at.data = k->data;
    col->at.validity = col->facts.nulls ? k->validity : NULL;
    col->at.text_base = k->text_base;
    col->at.text_size = k->text_n;
    return 0;
}

/* The grown text becomes one of the table's buffers. */
static int keep_text(struct sink *k, struct hd_err *err)
{
    void *p = buffer(k->m, 0, err);
    if (!p)
        return -1;
    if (k->text) {
        free(p);
        k->m->buffers[k->m->nbuffers - 1] = k->text;
        p = k->text;
        k->text = NULL;
    }
    k->col->at.text_bytes = p;
    return 0;
}

static int import_column(struct rt_memtable *m, int c, struct hd_err *err)
{
    struct sink k = {.m = m, .col = &m->table.cols[c], .c = c};
    rt_memtable_choose_storage(m, c);
    if (k.col->storage != FE_STORE_TEXT && k.col->storage != FE_STORE_DICT && m->nbatches == 1 && fits_in_place(&k)) {
        use_in_place(&k);
        return 0;
    }
    int rc = convert_column(&k, err);
    if (rc == 0 && k.col->storage == FE_STORE_TEXT)
        rc = keep_text(&k, err);
    free(k.text);
    free(k.rank);
    rt_strset_release(&k.set);
    return rc;
}

static int find_facts(struct rt_memtable *m, int threads, struct hd_err *err)
{
    struct rt_pool *pool;
    HD_TRY(rt_pool_new(threads, &pool, err));
    int rc = 0;
    for (int c = 0; rc == 0 && c < m->table.ncols; c++) {
        struct fe_table_column *col = &m->table.cols[c];
        bool zoned = m->table.rows > FE_ZONE_ROWS && fe_column_has_zones(col);
        struct fe_zone *z = zoned ? HD_NEWN(&m->arena, struct fe_zone, fe_zones_of(m->table.rows)) : NULL;
        rc = rt_facts_compute(col, m->table.rows, RT_FACTS_ALL, pool, NULL, &col->facts, z, err);
        col->zones = z;
    }
    rt_pool_free(pool);
    return rc;
}

/* A failed call leaves what it was to fill in undefined: that is not released. */
static int read_schema(struct rt_memtable *m, struct ArrowArrayStream *s, struct hd_err *err)
{
    if (s->get_schema(s, &m->schema) == 0)
        return rt_memtable_declare(m, err);
    m->schema = (struct ArrowSchema){0};
    return stream_error(m, s, err);
}

static int import(struct rt_memtable *m, struct ArrowArrayStream *s, bool compute_facts, int threads,
                  struct hd_err *err)
{
    if (!s->get_schema || !s->get_next || !s->get_last_error)
        return HD_FAIL(err, USER, m->table.name, "an Arrow stream without its functions");
    HD_TRY(read_schema(m, s, err));
    HD_TRY(read_batches(m, s, err));
    m->scratch = rt_scratch_new();
    if (!m->scratch)
        return rt_memtable_no_memory(m, err);
    for (int c = 0; c < m->table.ncols; c++)
        HD_TRY(import_column(m, c, err));
    rt_scratch_free(m->scratch);
    m->scratch = NULL;
    close_sources(m);
    return compute_facts ? find_facts(m, threads, err) : 0;
}

int rt_memtable_new(const char *name, struct ArrowArrayStream *stream, bool compute_facts, int threads,
                    struct rt_memtable **out, struct hd_err *err)
{
    if (!stream->release)
        return HD_FAIL(err, USER, name, "the Arrow stream was released before");
    struct rt_memtable *m = hd_try_calloc(1, sizeof *m);
    int rc = -1;
    if (m) {
        hd_arena_init(&m->arena);
        m->table.name = hd_strdup(&m->arena, name);
        m->table.id = rt_table_next_id();
        rc = import(m, stream, compute_facts, threads, err);
    } else {
        HD_FAIL(err, RESOURCE, name, "out of memory");
    }
    stream->release(stream);
    if (rc == 0)
        *out = m;
    else
        rt_memtable_free(m);
    return rc;
}
