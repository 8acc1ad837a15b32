/* Finished rows as an Arrow stream. */
#include "tests/exec/exec_fixture.h"

#include "runtime/base/fault.h"
#include "runtime/exec/keys.h"
#include "include/heddle.h" /* of it, the Arrow structs only */

enum { B, I32, I64, DEC, F64, DATE, TS, STR, CODE, NCOLS };

static const char dict_bytes[] = "applepearplum";
static const uint32_t dict_offsets[] = {0, 5, 9, 13};
static const char *const fruits[] = {"apple", "pear", "plum"};

struct typed {
    const struct rt_state *s;
};

static bool is_null(uint64_t i, int c)
{
    return c % 2 == 1 && i % 5 == (uint64_t)c % 5;
}

static int32_t fill(const uint64_t *args, struct hdd_thread *t, uint64_t begin, uint64_t end)
{
    const struct rt_state *s = ((const struct typed *)fx_context(args))->s;
    unsigned char row[256];
    for (uint64_t i = begin; i < end; i++) {
        int32_t small = (int32_t)i - 5, code = (int32_t)(i % 3);
        int64_t large = (int64_t)i * -1000000007;
        hd_i128 wide = (hd_i128)i << 80;
        double real = (double)i / 4;
        unsigned char odd = i & 1;
        struct rt_row_str str = {dict_bytes, i % 12};
        const void *values[NCOLS] = {&odd, &small, &large, &wide, &real, &small, &large, &str, &code};
        memset(row, 0xee, (size_t)s->stride);
        for (int c = 0; c < NCOLS; c++) {
            if (s->fields[c].valid_offset >= 0)
                row[s->fields[c].valid_offset] = 0;
            if (!is_null(i, c))
                fx_put(s, row, c, values[c]);
        }
        if (fx_append(t, 0, row, (size_t)s->stride) != 0)
            return 1;
    }
    return 0;
}

static void make(struct fx *f, struct typed *c, int64_t n, struct rt_result_column *cols)
{
    static const enum rt_phys phys[NCOLS] = {RT_BOOL, RT_I32, RT_I64, RT_I128, RT_F64, RT_I32, RT_I64, RT_STR, RT_I32};
    static const enum hd_type_kind kinds[NCOLS] = {HD_BOOL, HD_INT32,     HD_INT64,  HD_DECIMAL, HD_FLOAT64,
                                                   HD_DATE, HD_TIMESTAMP, HD_STRING, HD_STRING};
    static struct fe_table_column column;
    static struct fe_table dict_table = {.ncols = 1, .cols = &column};
    column.dict = (struct fe_dict){3, dict_offsets, dict_bytes};
    fx_init(f, 3, c);
    int s = fx_state(f, RT_STATE_ROWS);
    for (int k = 0; k < NCOLS; k++) {
        fx_field(f, s, phys[k], k % 2 == 1, RT_MERGE_ANY);
        struct hd_type type = kinds[k] == HD_DECIMAL ? hd_decimal(38, 4) : hd_type_of(kinds[k]);
        f->states[s].fields[k].type = type;
        cols[k] = (struct rt_result_column){"col", type, k % 2 == 1, k};
    }
    f->states[s].fields[CODE].dict_table = &dict_table;
    f->spec.nresult = NCOLS;
    f->spec.result = cols;
    c->s = &f->states[s];
    int p = fx_table_pipeline(f, n, fill);
    f->pipelines[p].ordered = true;
    fx_action(f, RT_RUN, p);
    fx_action(f, RT_FINISH, s);
}

static bool bit(const void *bits, int64_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> i % 8 & 1;
}

static void check_text(const struct ArrowArray *a, int64_t r, const char *s, size_t n)
{
    const int32_t *offsets = a->buffers[1];
    assert_int_equal(offsets[r + 1] - offsets[r], n);
    assert_memory_equal((const char *)a->buffers[2] + offsets[r], s, n);
}

static void check_value(const struct ArrowArray *a, int c, int64_t r, uint64_t i)
{
    bool valid = !a->buffers[0] || bit(a->buffers[0], r);
    const void *v = a->buffers[1];
    assert_int_equal(valid, !is_null(i, c));
    if (!valid)
        return;
    if (c == B)
        assert_int_equal(bit(v, r), i & 1);
    else if (c == I32 || c == DATE)
        assert_int_equal(((const int32_t *)v)[r], (int32_t)i - 5);
    else if (c == I64 || c == TS)
        assert_int_equal(((const int64_t *)v)[r], (int64_t)i * -1000000007);
    else if (c == DEC)
        assert_true(((const hd_i128 *)v)[r] == (hd_i128)i << 80);
    else if (c == F64)
        assert_true(((const double *)v)[r] == (double)i / 4);
    else if (c == STR)
        check_text(a, r, dict_bytes, i % 12);
    else
        check_text(a, r, fruits[i % 3], strlen(fruits[i % 3]));
}

static void check_schema(struct ArrowArrayStream *s)
{
    static const char *const formats[NCOLS] = {"b", "i", "l", "d:38,4", "g", "tdD", "tsu:", "u", "u"};
    struct ArrowSchema schema;
    assert_int_equal(s->get_schema(s, &schema), 0);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, NCOLS);
    for (int c = 0; c < NCOLS; c++) {
        assert_string_equal(schema.children[c]->format, formats[c]);
        assert_int_equal((schema.children[c]->flags & ARROW_FLAG_NULLABLE) != 0, c % 2);
    }
    schema.release(&schema);
}

static void a_stream_outlives_everything(void **state)
{
    static const int64_t sizes[] = {0, 1, 65536, 65537, 200000};
    (void)state;
    for (size_t k = 0; k < HD_COUNT(sizes); k++) {
        struct fx f;
        struct typed c;
        struct rt_result_column cols[NCOLS];
        struct ArrowArrayStream s;
        struct ArrowArray a;
        uint64_t at = 0, n;
        make(&f, &c, sizes[k], cols);
        fx_rows(&f, 0, &n);
        assert_int_equal(rt_result_stream(f.result, &s, &f.err), 0);
        fx_release(&f);
        check_schema(&s);
        for (;;) {
            assert_int_equal(s.get_next(&s, &a), 0);
            if (!a.release)
                break;
            assert_true(a.length > 0 && a.length <= 65536);
            for (int col = 0; col < NCOLS; col++)
                for (int64_t r = 0; r < a.length; r++)
                    check_value(a.children[col], col, r, at + (uint64_t)r);
            at += (uint64_t)a.length;
            a.release(&a);
        }
        assert_int_equal(at, sizes[k]);
        s.release(&s);
    }
}

/* Bytes that a consumer sees, each buffer filled up to 64 bytes as Arrow has it. */
static uint64_t bytes_of(const struct ArrowArray *a)
{
    static const size_t bits[NCOLS] = {1, 32, 64, 128, 64, 32, 64, 32, 32};
    uint64_t sum = 0;
    for (int c = 0; c < NCOLS; c++) {
        const struct ArrowArray *x = a->children[c];
        size_t rows = (size_t)a->length, ends = x->n_buffers == 3;
        sum += ((rows + ends) * bits[c] + 511) / 512 * 64 + (x->buffers[0] ? (rows + 511) / 512 * 64 : 0);
        sum += ends ? (size_t)((const int32_t *)x->buffers[1])[rows] : 0;
    }
    return sum;
}

/* Rows become columns once: what is allocated is one block a column that the consumer gets, and two small ones a batch, and
 * no memory is taken but for these. */
static void rows_are_moved_once(void **state)
{
    enum { BATCHES = 2, ROWS = 65536 * BATCHES, HEAD = 256 };
    struct fx f;
    struct typed c;
    struct rt_result_column cols[NCOLS];
    struct ArrowArrayStream s;
    struct ArrowArray a;
    uint64_t n, seen = 0;
    (void)state;
    make(&f, &c, ROWS, cols);
    fx_rows(&f, 0, &n);
    uint64_t before = f.memory.used;
    f.memory.peak = before;
    assert_true(hd_fault_arm("alloc:1000000"));
    assert_int_equal(rt_result_stream(f.result, &s, &f.err), 0);
    uint64_t calls = hd_fault_calls(HD_FAULT_ALLOC);
    hd_fault_arm(NULL);
    assert_true(calls <= BATCHES * (NCOLS + 1) + 2 + NCOLS + 4);
    uint64_t taken = f.memory.peak - before;
    for (int k = 0; k < BATCHES; k++) {
        assert_int_equal(s.get_next(&s, &a), 0);
        seen += bytes_of(&a);
        a.release(&a);
    }
    assert_true(taken >= seen && taken <= seen + BATCHES * NCOLS * HEAD);
    s.release(&s);
    fx_release(&f);
}

static void the_memory_limit_covers_batches(void **state)
{
    struct fx f;
    struct typed c;
    struct rt_result_column cols[NCOLS];
    struct ArrowArrayStream s;
    uint64_t n;
    (void)state;
    make(&f, &c, 100000, cols);
    fx_rows(&f, 0, &n);
    f.memory.limit = f.stats.peak_bytes + 100000;
    assert_int_equal(rt_result_stream(f.result, &s, &f.err), -1);
    assert_int_equal(f.err.class, HD_ERR_RESOURCE);
    fx_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_outlives_everything),
        cmocka_unit_test(rows_are_moved_once),
        cmocka_unit_test(the_memory_limit_covers_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
