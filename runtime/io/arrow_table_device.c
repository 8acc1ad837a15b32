/* Tables whose batches lie in the memory of a device: which of their buffers serve as they are, and what is to be converted. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"
#include "runtime/io/arrow_check.h"
#include "runtime/io/arrow_table_internal.h"
#include "runtime/store/store.h"
#include "templates/device.cuh"

/* A column of all batches, and their chunks of it. */
struct column {
    struct rt_memtable *m;
    const struct ArrowSchema *schema;
    struct fe_table_column *col;
    struct rt_device_column *d;
    struct rt_device_chunk *chunks;
    int64_t nulls; /* that producers tell of; -1: somebody does not */
    bool bits; /* some chunk has a bitmap */
};

static const struct ArrowArray *array_of(const struct column *x, int batch)
{
    return x->m->batches[batch].children[x->d->number];
}

static int refuse(const struct column *x, const char *what, struct hd_err *err)
{
    return HD_FAIL(err, UNSUPPORTED, x->m->table.name, "column \"%s\": %s", x->col->name, what);
}

static int check_address(const struct column *x, const void *p, size_t align, struct hd_err *err)
{
    if (!p || (uintptr_t)p % align == 0)
        return 0;
    return HD_FAIL(err, UNSUPPORTED, x->m->table.name,
                   "column \"%s\" lies at %p on the device: expected an address of a multiple of %zu", x->col->name, p,
                   align);
}

/* What kernels load at once of a buffer of the format. */
static size_t alignment(enum rt_arrow_format f)
{
    switch (rt_arrow_layout(f)) {
    case RT_ARROW_LAYOUT_INT:
    case RT_ARROW_LAYOUT_FLOAT:
    case RT_ARROW_LAYOUT_DECIMAL:
    case RT_ARROW_LAYOUT_UNIT: return (size_t)HD_MIN(HD_MAX(rt_arrow_width(f), 1), 16);
    case RT_ARROW_LAYOUT_INTERVAL: return f == RT_ARROW_MONTH_DAY_NANOS ? 8 : 4;
    case RT_ARROW_LAYOUT_STRING: return f == RT_ARROW_UTF8 ? 4 : 8;
    case RT_ARROW_LAYOUT_VIEW: return 4;
    case RT_ARROW_LAYOUT_FIXED:
    case RT_ARROW_LAYOUT_NOTHING: return 1;
    }
    HD_BUG("layout %d", (int)rt_arrow_layout(f));
}

/* ---- chunks -------------------------------------------------------------------------------------- */

static int view_buffers(const struct column *x, const struct ArrowArray *a, struct rt_device_chunk *k,
                        struct hd_err *err)
{
    int n = (int)a->n_buffers - 3;
    struct rt_device_buffer *b = HD_NEWN(&x->m->arena, struct rt_device_buffer, n + 1);
    int64_t *sizes = HD_NEWN(&x->m->arena, int64_t, n + 1);
    if (n)
        HD_TRY(x->m->memory.read(x->m->memory.self, sizes, a->buffers[n + 2], (size_t)n * sizeof *sizes, err));
    for (int i = 0; i < n; i++) {
        if (sizes[i] < 0 || (sizes[i] && !a->buffers[i + 2]))
            return HD_FAIL(err, USER, x->m->table.name, "column \"%s\": buffer %d of the views: %lld bytes%s",
                           x->col->name, i + 1, (long long)sizes[i], sizes[i] > 0 ? ", but no data" : "");
        b[i] = (struct rt_device_buffer){(uint64_t)(uintptr_t)a->buffers[i + 2], (uint64_t)sizes[i]};
    }
    k->buffers = b;
    k->nbuffers = n;
    return 0;
}

/* Values of the array itself, or of the entries of its dictionary. */
static int values_of(struct column *x, const struct ArrowArray *a, struct rt_device_chunk *k, struct hd_err *err)
{
    if (!a->n_buffers)
        return 0;
    k->values = a->buffers[1];
    HD_TRY(check_address(x, k->values, alignment(x->d->format), err));
    if (rt_arrow_layout(x->d->format) == RT_ARROW_LAYOUT_STRING)
        k->strings = a->buffers[2];
    if (rt_arrow_layout(x->d->format) == RT_ARROW_LAYOUT_FIXED)
        k->strings = a->buffers[1];
    return rt_arrow_layout(x->d->format) == RT_ARROW_LAYOUT_VIEW ? view_buffers(x, a, k, err) : 0;
}

static const uint8_t *bitmap_of(const struct ArrowArray *a)
{
    return a->n_buffers && a->null_count != 0 ? a->buffers[0] : NULL;
}

static int chunk_of(struct column *x, int batch, struct hd_err *err)
{
    const struct ArrowArray *b = &x->m->batches[batch], *a = array_of(x, batch), *entries = a->dictionary;
    struct rt_device_chunk *k = &x->chunks[batch];
    *k = (struct rt_device_chunk){.rows = b->length, .offset = a->offset + b->offset, .valid = bitmap_of(a)};
    bool whole = b->offset == 0 && b->length == a->length;
    x->bits |= k->valid != NULL;
    x->nulls = x->nulls < 0 || (k->valid && (a->null_count < 0 || !whole)) ? -1 : x->nulls + a->null_count;
    if (!entries)
        return values_of(x, a, k, err);
    k->indices = a->buffers[1];
    k->entry_valid = bitmap_of(entries);
    k->entry_offset = entries->offset;
    k->nentries = entries->length;
    x->bits |= k->entry_valid != NULL;
    HD_TRY(check_address(x, k->indices, alignment(x->d->index), err));
    return x->col->storage == FE_STORE_DICT ? 0 : values_of(x, entries, k, err);
}

/* ---- dictionaries of strings --------------------------------------------------------------------- */

static int32_t code_of(const struct fe_table_column *entries, int64_t i)
{
    uint32_t code = 0;
    memcpy(&code, (const char *)entries->at.data + (size_t)i * (size_t)entries->width, (size_t)entries->width);
    return (int32_t)code;
}

/* The rows' values are codes of one dictionary then, which the host makes of those of the chunks. */
static int read_dictionaries(struct column *x, struct hd_err *err)
{
    struct rt_memtable *m = x->m, **own = &m->entries[x->d->number];
    HD_TRY(
        rt_device_entries(&m->memory, m->table.name, &m->schema, x->d->number, m->batches, (int)m->nbatches, own, err));
    const struct fe_table_column *entries = &(*own)->table.cols[0];
    int32_t *codes = HD_NEWN(&m->arena, int32_t, (size_t)(*own)->table.rows + 1);
    for (int64_t i = 0; i < (*own)->table.rows; i++)
        codes[i] = code_of(entries, i);
    x->d->codes = codes;
    x->d->codes_valid = entries->at.validity;
    x->d->ncodes = (*own)->table.rows;
    x->d->format = RT_ARROW_I32;
    x->bits |= entries->at.validity != NULL;
    x->col->dict = entries->dict;
    int64_t first = 0;
    for (int64_t b = 0; b < m->nbatches; b++) {
        x->chunks[b].entry_valid = NULL;
        x->chunks[b].entry_offset = first;
        first += x->chunks[b].nentries;
    }
    return 0;
}

/* ---- what is to be done -------------------------------------------------------------------------- */

/* Widths that integers are stored in, signed: values of such a format need none of their own. */
static int stored_width(const struct column *x)
{
    enum rt_arrow_format f = x->d->format;
    bool narrow = f == RT_ARROW_I8 || f == RT_ARROW_I16 || f == RT_ARROW_DEC32 || f == RT_ARROW_DEC64;
    return narrow ? rt_arrow_width(f) : x->col->width;
}

/* Values lie as the store has them: signed integers, floats, decimals of up to 128 bits. */
static bool is_stored_layout(const struct column *x)
{
    enum rt_arrow_layout layout = rt_arrow_layout(x->d->format);
    bool same = layout == RT_ARROW_LAYOUT_INT || layout == RT_ARROW_LAYOUT_FLOAT || layout == RT_ARROW_LAYOUT_DECIMAL;
    return same && !x->schema->dictionary && rt_arrow_width(x->d->format) == x->col->width &&
           !(x->d->format == RT_ARROW_U8 || x->d->format == RT_ARROW_U16 || x->d->format == RT_ARROW_U32);
}

/* A lane of a warp reads HDD_LANE_ROWS at once, also behind the last row: where groups of so many are aligned, never
 * beyond the memory's page. */
static void use_where_it_lies(struct column *x)
{
    const struct rt_device_chunk *k = &x->chunks[0];
    const char *data = (const char *)k->values + k->offset * x->col->width;
    if (x->m->nbatches != 1 || !is_stored_layout(x) || (uintptr_t)data % ((size_t)x->col->width * HDD_LANE_ROWS) != 0)
        return;
    x->col->at.data = data;
    x->d->make_data = false;
}

/* Bitmaps are read in words. */
static void use_bits(struct column *x)
{
    const struct rt_device_chunk *k = &x->chunks[0];
    const uint8_t *bits = k->valid + (k->offset >> 3);
    if (x->m->nbatches != 1 || k->indices || (k->offset & 7) != 0 || (uintptr_t)bits % 4 != 0)
        return;
    x->col->at.validity = bits;
    x->d->make_bits = false;
}

static void bound(struct column *x)
{
    struct hd_type type = x->col->type;
    enum rt_arrow_format f = x->d->format;
    bool is_time = type.kind == HD_DATE || type.kind == HD_TIME || type.kind == HD_TIMESTAMP;
    if (x->d->codes)
        return;
    x->d->bounded = is_time || type.kind == HD_DECIMAL || f == RT_ARROW_U64;
    if (x->d->bounded)
        hd_type_domain(type, &x->d->least, &x->d->most);
}

static void choose_form(struct column *x)
{
    struct rt_device_column *d = x->d;
    enum rt_arrow_layout layout = rt_arrow_layout(d->format);
    d->form = layout == RT_ARROW_LAYOUT_NOTHING                       ? RT_DEVICE_NOTHING
              : !rt_arrow_is_text(d->format)                          ? RT_DEVICE_VALUES
              : layout == RT_ARROW_LAYOUT_VIEW || x->m->nbatches != 1 ? RT_DEVICE_COPIES
                                                                      : RT_DEVICE_STRINGS;
    d->make_data = true;
    d->make_bits = x->bits || d->form == RT_DEVICE_NOTHING;
    if (d->form == RT_DEVICE_VALUES) {
        x->col->width = stored_width(x);
        bound(x);
        use_where_it_lies(x);
    }
    d->width = layout == RT_ARROW_LAYOUT_FIXED ? (int)rt_arrow_fixed_bytes(x->schema->format) : x->col->width;
    if (x->bits)
        use_bits(x);
    x->col->facts.nulls = x->bits ? x->nulls : 0;
    x->col->nullable |= d->make_bits || x->bits;
}

static int parse(struct column *x, struct hd_err *err)
{
    struct hd_type type;
    const struct ArrowSchema *s = x->schema, *values = s->dictionary ? s->dictionary : s;
    if (rt_arrow_is_runs(s->format))
        return refuse(x, "run-end encoded columns cannot be used on a device", err);
    rt_arrow_format_parse(values->format, &x->d->format, &type);
    if (s->dictionary)
        rt_arrow_index_parse(s->format, &x->d->index);
    x->d->utf8 = type.kind == HD_STRING;
    return 0;
}

static int open_column(struct rt_memtable *m, int c, struct rt_device_column *d, struct hd_err *err)
{
    struct column x = {.m = m, .schema = m->schema.children[c], .col = &m->table.cols[c], .d = d};
    *d = (struct rt_device_column){.number = c, .name = x.col->name, .bad = -1};
    HD_TRY(parse(&x, err));
    rt_memtable_choose_storage(m, c);
    x.chunks = HD_NEWN(&m->arena, struct rt_device_chunk, m->nbatches + 1);
    d->chunks = x.chunks;
    for (int b = 0; b < m->nbatches; b++)
        HD_TRY(chunk_of(&x, b, err));
    if (x.col->storage == FE_STORE_DICT) {
        x.col->width = 4;
        HD_TRY(read_dictionaries(&x, err));
    }
    if (m->table.rows > 0)
        choose_form(&x);
    return 0;
}

/* ---- what became of it --------------------------------------------------------------------------- */

static void use_converted(struct rt_memtable *m, const struct rt_device_column *d)
{
    struct fe_table_column *col = &m->table.cols[d->number];
    if (d->make_data) {
        col->at.data = d->data;
        col->at.text_base = d->bases;
        col->at.text_bytes = d->text;
        col->at.text_size = d->bytes;
    }
    if (!d->make_bits)
        return;
    col->facts.nulls = d->nulls;
    col->at.validity = d->nulls > 0 ? d->bits : NULL;
}

/* Says what is wrong as the host would, which looks at the row. */
static int explain_bad(struct rt_memtable *m, const struct rt_device_column *d, struct hd_err *err)
{
    int64_t row = d->bad;
    int b = 0;
    struct ArrowArray one;
    struct rt_arrow_column c = {0};
    while (row >= m->batches[b].length)
        row -= m->batches[b++].length;
    const struct ArrowSchema *s = m->schema.children[d->number];
    HD_TRY(rt_device_fetch(&m->memory, s, m->batches[b].children[d->number], m->batches[b].offset + row, 1, &one, err));
    struct rt_arrow_source source = {.table = &m->table, .rows = 1, .first_row = d->bad};
    int rc = rt_arrow_open_array(&source, d->number, RT_ARROW_ROWS, s, &one, 0, 1, &c, err);
    rt_arrow_column_close(&c);
    one.release(&one);
    return rc != 0 ? rc
                   : HD_FAIL(err, UNSUPPORTED, m->table.name,
                             "row %lld: column \"%s\": a string of 2 GiB, or 65536 strings of 4 GiB",
                             (long long)d->bad + 1, d->name);
}

static bool has_work(const struct rt_device_column *d)
{
    return d->make_data || d->make_bits || d->bounded;
}

static int use_columns(struct rt_memtable *m, struct hd_err *err)
{
    struct rt_device_column *d = HD_NEWN(&m->arena, struct rt_device_column, m->table.ncols + 1);
    int n = 0;
    for (int c = 0; c < m->table.ncols; c++) {
        HD_TRY(open_column(m, c, &d[n], err));
        n += has_work(&d[n]);
    }
    if (n == 0 || m->table.rows == 0)
        return 0;
    HD_TRY(m->memory.convert(m->memory.self, d, n, m->table.rows, err));
    for (int i = 0; i < n; i++) {
        if (d[i].bad >= 0)
            return explain_bad(m, &d[i], err);
        use_converted(m, &d[i]);
    }
    return 0;
}

/* What has no rows makes no chunk. */
static void drop_empty(struct rt_memtable *m)
{
    int64_t n = 0;
    for (int64_t b = 0; b < m->nbatches; b++) {
        struct ArrowArray batch = m->batches[b];
        if (batch.length)
            m->batches[n++] = batch;
        else
            batch.release(&batch);
    }
    m->nbatches = n;
}

static int use_device(struct rt_memtable *m, struct hd_err *err)
{
    HD_TRY(rt_memtable_declare(m, err));
    for (int64_t b = 0; b < m->nbatches; b++) {
        HD_TRY(rt_arrow_check_device_batch(m->table.name, &m->schema, &m->batches[b], m->table.rows, err));
        m->table.rows += m->batches[b].length;
    }
    drop_empty(m);
    m->entries = hd_try_calloc((size_t)m->table.ncols + 1, sizeof(struct rt_memtable *));
    return m->entries ? use_columns(m, err) : rt_memtable_no_memory(m, err);
}

static void take_batches(struct rt_memtable *m, struct ArrowArray *batches, int n)
{
    for (int i = 0; i < n; i++) {
        m->batches[i] = batches[i];
        batches[i].release = NULL;
    }
    m->nbatches = n;
}

int rt_memtable_of_device(const char *name, struct ArrowSchema *schema, struct ArrowArray *batches, int n, int device,
                          const struct rt_device_memory *memory, struct rt_memtable **out, struct hd_err *err)
{
    struct rt_memtable *m = hd_try_calloc(1, sizeof *m);
    struct ArrowArray *own = hd_try_calloc((size_t)n + 1, sizeof *own);
    if (!m || !own) {
        free(m);
        free(own);
        memory->release(memory->self);
        return HD_FAIL(err, RESOURCE, name, "out of memory");
    }
    hd_arena_init(&m->arena);
    m->memory = *memory;
    m->table.name = hd_strdup(&m->arena, name);
    m->table.id = rt_table_next_id();
    m->table.device = device + 1;
    m->batches = own;
    take_batches(m, batches, n);
    m->schema = *schema;
    schema->release = NULL;
    int rc = use_device(m, err);
    if (rc == 0)
        *out = m;
    else
        rt_memtable_free(m);
    return rc;
}

/* ---- back on the host ------------------------------------------------------------------------------ */

int rt_memtable_fetch(const struct rt_memtable *m, int c, struct fe_table_column *out, void **memory,
                      struct hd_err *err)
{
    enum { ROUND = 64, WORD = 8 };
    const struct fe_table_column *col = &m->table.cols[c];
    const size_t rows = (size_t)m->table.rows, data = rows * (size_t)col->width, bits = (rows + 7) / 8;
    const size_t at_bits = (data + ROUND - 1) / ROUND * ROUND;
    char *p = *memory = hd_try_calloc(at_bits + (bits + WORD - 1) / WORD * WORD + ROUND, 1);
    if (!p)
        return rt_memtable_no_memory(m, err);
    int rc = m->memory.read(m->memory.self, p, col->at.data, data, err);
    if (rc == 0 && col->at.validity)
        rc = m->memory.read(m->memory.self, p + at_bits, col->at.validity, bits, err);
    *out = *col;
    out->at.data = p;
    out->at.validity = col->at.validity ? (const uint8_t *)p + at_bits : NULL;
    if (rc != 0)
        free(p);
    return rc;
}
