/* The catalog: lookups, catalog.json there and back, damage, and the schema JSON. */
#include <stdlib.h>
#include <string.h>

#include "frontend_support.h"

/* ---- lookups -------------------------------------------------------------------------- */

static void dictionary_lookup_gives_lower_bound(void **state)
{
    static const uint32_t offsets[] = {0, 0, 2, 5, 6};
    const struct fe_dict d = {4, offsets, "aaabcb"}; /* "" "aa" "abc" "b" */
    static const struct {
        const char *s;
        uint32_t at;
        bool found;
    } cases[] = {{"", 0, true},    {"a", 1, false},    {"aa", 1, true}, {"ab", 2, false},
                 {"abc", 2, true}, {"abcd", 3, false}, {"b", 3, true},  {"c", 4, false}};
    (void)state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        bool found;
        assert_int_equal(fe_dict_find(&d, cases[i].s, strlen(cases[i].s), &found), cases[i].at);
        assert_true(found == cases[i].found);
    }
    const struct fe_dict none = {0, offsets, ""};
    bool found = true;
    assert_int_equal(fe_dict_find(&none, "a", 1, &found), 0);
    assert_false(found);
}

static void names_are_case_sensitive(void **state)
{
    struct fixture *f = *state;
    const struct fe_table *t = fe_catalog_find(&f->cat, "orders");
    assert_non_null(t);
    assert_null(fe_catalog_find(&f->cat, "Orders"));
    assert_int_equal(fe_table_find_column(t, "o_custkey"), 1);
    assert_int_equal(fe_table_find_column(t, "O_CUSTKEY"), -1);
}

/* ---- catalog.json --------------------------------------------------------------------- */

static struct fe_catalog_doc *must_read_catalog(struct fixture *f, const char *json)
{
    struct fe_catalog_doc *doc = NULL;
    hd_err_release(&f->err);
    if (fe_catalog_read(&f->arena, json, "db/catalog.json", &doc, &f->err) != 0)
        fail_msg("%s: %s", f->err.path, f->err.message);
    return doc;
}

/* Of tables in one piece, with tables of segments, and of two partitions. */
static const char *const catalogs[] = {"tests/unit/frontend/stored.json", "tests/unit/frontend/segments.json",
                                       "tests/unit/frontend/partition_0.json", "tests/unit/frontend/partition_1.json"};

static void catalog_goes_there_and_back(void **state)
{
    for (size_t i = 0; i < HD_COUNT(catalogs); i++) {
        char *json = read_source_file(catalogs[i]);
        char *first = fe_catalog_write(must_read_catalog(*state, json), false);
        char *second = fe_catalog_write(must_read_catalog(*state, first), false);
        assert_string_equal(first, second);
        check_golden(catalogs[i], first);
        free(first);
        free(second);
        free(json);
    }
}

static void segments_come_to_a_table(void **state)
{
    char *json = read_source_file(catalogs[1]);
    struct fe_catalog_doc *doc = must_read_catalog(*state, json);
    const struct fe_table *parent = doc->cat.tables[0], *child = doc->cat.tables[1], *heap = doc->cat.tables[2];
    assert_int_equal(doc->cat.ntables, 4);
    assert_int_equal(doc->stored.ntables, 10);
    assert_ptr_equal(doc->stored.tables[9], doc->cat.tables[3]);
    assert_int_equal(parent->nsegments, 3);
    assert_int_equal(parent->rows, 5);
    assert_int_equal(parent->segments[2]->first_row, 4);
    const struct fe_facts *id = &parent->cols[0].facts, *of = &child->cols[0].facts, *x = &child->cols[2].facts;
    assert_true(id->unique && id->sorted && id->clustered && id->dense && id->distinct_exact);
    assert_true(id->has_range && id->min == 1 && id->max == 8 && id->distinct == 5);
    assert_true(of->sorted && !of->unique && of->distinct == 5 && of->max_mult == 2);
    assert_true(x->nulls == 1 && x->min == 3 && x->max == 9 && !x->sorted && x->max_mult == -1);
    assert_int_equal(parent->cols[1].storage, FE_STORE_TEXT); /* each segment has its own dictionary */
    assert_false(parent->cols[1].facts.has_range);
    assert_true(child->pk_sorted);
    assert_ptr_equal(child->fks[0].parent, parent);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(child->segments[i]->fks[0].parent, parent->segments[i]);
        assert_ptr_equal(heap->segments[i]->fks[0].parent, parent);
        assert_ptr_equal(heap->segments[i]->whole, heap);
    }
    free(json);
}

static int join_partitions(struct fixture *f, const char *first, const char *second, int home,
                           struct fe_catalog_doc **out)
{
    struct fe_catalog_doc *docs[2];
    hd_err_release(&f->err);
    HD_TRY(fe_catalog_read(&f->arena, first, "c", &docs[0], &f->err));
    HD_TRY(fe_catalog_read(&f->arena, second, "c", &docs[1], &f->err));
    return fe_catalog_join(&f->arena, "db", docs, 2, home, out, &f->err);
}

static void partitions_come_to_a_database(void **state)
{
    struct fixture *f = *state;
    char *first = read_source_file(catalogs[2]), *second = read_source_file(catalogs[3]);
    struct fe_catalog_doc *doc;
    assert_int_equal(join_partitions(f, first, second, 1, &doc), 0);
    const struct fe_table *parent = doc->cat.tables[0], *child = doc->cat.tables[1], *few = doc->cat.tables[2];
    assert_int_equal(doc->partition.of, 0);
    assert_int_equal(doc->cat.ntables, 3);
    assert_int_equal(doc->stored.ntables, 5);
    assert_int_equal(parent->nsegments, 2);
    assert_int_equal(parent->rows, 5);
    assert_int_equal(parent->segments[1]->first_row, 3);
    assert_true(parent->cols[0].facts.unique && parent->cols[0].facts.sorted && parent->cols[0].facts.max == 9);
    assert_int_equal(few->nsegments, 0);
    assert_false(few->divided);
    for (int k = 0; k < 2; k++) {
        assert_ptr_equal(child->segments[k]->whole, child);
        assert_ptr_equal(child->segments[k]->fks[0].parent, parent->segments[k]);
        assert_ptr_equal(child->segments[k]->fks[1].parent, few);
    }
    assert_ptr_equal(child->fks[0].parent, parent);
    assert_string_equal(doc->files[doc->column_files[0][0].data].name, "partition-0/parent.id.data");
    assert_string_equal(doc->files[doc->column_files[4][0].data].name, "partition-1/few.k.data");
    free(first);
    free(second);
}

/* Whatever the catalogs say, they are joined or refused. */
static void flipped_bits_of_partitions_never_crash(void **state)
{
    struct fixture *f = *state;
    char *first = read_source_file(catalogs[2]), *second = read_source_file(catalogs[3]);
    for (size_t i = 0; first[i]; i++) {
        struct fe_catalog_doc *doc;
        struct hd_arena_mark mark = hd_arena_mark(&f->arena);
        char old = first[i];
        first[i] = (char)(old ^ 1);
        if (join_partitions(f, first, second, 0, &doc) != 0)
            assert_int_equal(f->err.class, HD_ERR_CORRUPT);
        first[i] = old;
        hd_arena_rewind(&f->arena, mark);
    }
    free(first);
    free(second);
}

static void catalog_is_read_in_full(void **state)
{
    char *json = read_source_file("tests/unit/frontend/stored.json");
    const struct fe_catalog_doc *doc = must_read_catalog(*state, json);
    const struct fe_table *p = fe_catalog_find(&doc->cat, "parent");
    const struct fe_table *c = fe_catalog_find(&doc->cat, "child");
    assert_int_equal(p->rows, 100);
    assert_int_equal(p->npk, 1);
    assert_int_equal(p->keyidx[0].kind, FE_INDEX_POSITIONAL);
    assert_int_equal(p->keyidx[1].kind, FE_INDEX_ARRAY);
    assert_int_equal(p->keyidx[1].range, 200);
    assert_int_equal(p->keyidx[2].kind, FE_INDEX_BITMAP);
    assert_string_equal(doc->files[doc->keyidx_files[0][2]].name, "parent.even.key");
    assert_int_equal(doc->keyidx_files[0][0], -1);
    assert_string_equal(doc->files[doc->keyidx_files[0][1]].name, "parent.code.key");
    assert_true(p->cols[0].facts.known && p->cols[0].facts.sorted && p->cols[0].facts.unique);
    assert_true(p->cols[0].facts.min == 1 && p->cols[0].facts.max == 100);
    assert_int_equal(p->cols[3].storage, FE_STORE_DICT);
    assert_int_equal(p->cols[3].dict.n, 5);
    assert_int_equal(c->nfks, 2);
    assert_true(c->fks[0].parent == p);
    assert_int_equal(c->fks[0].max_children, 7);
    assert_int_equal(c->fks[1].n_columns, 2);
    assert_int_equal(doc->fk_files[1][1].offsets, -1);
    assert_int_equal(c->cols[2].width, 8);
    assert_true(c->cols[2].factor == 5 && c->cols[2].base == 10);
    assert_int_equal(c->cols[3].at.text_size, 12345);
    assert_string_equal(doc->files[doc->column_files[1][3].text_base].name, "child.note.text_base");
    free(json);
}

/* Replaces the first `from` in the text. */
static char *replace(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("%s not found", from);
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_add(&b, text, (size_t)(at - text));
    hd_strbuf_adds(&b, to);
    hd_strbuf_adds(&b, at + strlen(from));
    return b.s;
}

/* What is replaced in the catalog, and what is said then. */
static const struct damage {
    const char *from, *to, *path, *message;
} damages[] = {
    {"\"heddle_catalog\": 1", "\"heddle_catalog\": 2", "$.heddle_catalog",
     "expected catalog format version 1, found 2"},
    {"\"rows\": 100,", "\"rows\": -1,", "$.tables[0].rows",
     "expected an integer from 0 to 2147483647, found the number -1"},
    {"\"rows\": 100,", "\"rows\": 101,", "$.tables[0].columns[0].data.size", "expected 101 bytes, found 100"},
    {"\"type\": \"int32\"", "\"type\": \"int33\"", "$.tables[0].columns[0].type",
     "expected a type (bool, int32, int64, decimal(p,s), float32, float64, date, timestamp, time, "
     "string, binary, interval), "
     "found \"int33\""},
    {"\"storage\": \"int\"", "\"storage\": \"text\"", "$.tables[0].columns[0].storage",
     "type int32 is not stored as \"text\""},
    {"\"width\": 1", "\"width\": 3", "$.tables[0].columns[0].width", "no column is stored as \"int\" of 3 bytes"},
    {"\"width\": 1", "\"width\": 1, \"bits\": 8", "$.tables[0].columns[0].bits",
     "8 bits are not stored with a width of 1 bytes"},
    {"\"width\": 1", "\"width\": 16, \"bits\": 7", "$.tables[0].columns[0].bits",
     "7 bits are not stored with a width of 16 bytes"},
    {"\"width\": 1", "\"width\": 8, \"bits\": 64", "$.tables[0].columns[0].bits",
     "expected an integer from 1 to 63, found the number 64"},
    {"\"width\": 1", "\"width\": 1, \"bits\": 7", "$.tables[0].columns[0].data.size", "expected 104 bytes, found 100"},
    {"\"max\": \"100\"", "\"max\": \"1000\"", "$.tables[0].columns[0]",
     "\"min\" and \"max\" do not fit width, base and factor"},
    {"\"min\": \"1\"", "\"min\": \"101\"", "$.tables[0].columns[0].facts", "\"min\" is above \"max\""},
    {"\"factor\": \"1\"", "\"factor\": \"0\"", "$.tables[0].columns[0].factor",
     "expected a factor of at least 1, found \"0\""},
    {"\"nulls\": 0", "\"nulls\": 101", "$.tables[0].columns[0].facts.nulls",
     "expected an integer from -1 to 100, found the number 101"},
    {"\"unique\": true", "\"unique\": false", "$.tables[0].columns[0].facts", "a dense column is unique"},
    {"\"entries\": 5", "\"entries\": 6", "$.tables[0].columns[3].dict_offsets.size", "expected 28 bytes, found 24"},
    {"\"entries\": 5", "\"entries\": 500", "$.tables[0].columns[3].entries",
     "500 entries need codes wider than 8 bits"},
    {"parent.id.data", "../secret", "$.tables[0].columns[0].data.file",
     "expected the name of a file in the database's directory, found \"../secret\""},
    {"parent.id.data", "/etc/passwd", "$.tables[0].columns[0].data.file",
     "expected the name of a file in the database's directory, found \"/etc/passwd\""},
    {"parent.id.data", "child.id.data", "$", "the file \"child.id.data\" is used twice"},
    {"0123456789abcdef", "0123456789abcdeg", "$.tables[0].columns[0].data.checksum",
     "expected a checksum of 16 hexadecimal digits, found \"0123456789abcdeg\""},
    {"\"name\": \"code\"", "\"name\": \"id\"", "$.tables[0].columns", "two columns are called \"id\""},
    {"\"name\": \"child\"", "\"name\": \"parent\"", "$.tables", "two tables are called \"parent\""},
    {"\"primary_key\": [\"id\"]", "\"primary_key\": [\"ix\"]", "$.tables[0].primary_key[0]",
     "table \"parent\" has no column \"ix\""},
    {"\"kind\": \"positional\"", "\"kind\": \"btree\"", "$.tables[0].key_indexes[0].kind",
     "expected one of positional, bitmap, array, found \"btree\""},
    {"\"range\": 100", "\"range\": 99", "$.tables[0].key_indexes[0]",
     "\"min\" and \"range\" differ from the facts of column \"id\""},
    {"\"column\": \"code\", \"kind\": \"array\"", "\"column\": \"kind\", \"kind\": \"array\"",
     "$.tables[0].key_indexes[1]", "column \"kind\" is not known to be a unique integer column"},
    {"\"column\": \"even\", \"kind\": \"bitmap\"", "\"column\": \"even\", \"kind\": \"array\"",
     "$.tables[0].key_indexes[2]", "missing key \"rows\""},
    {"\"column\": \"code\", \"kind\": \"array\"", "\"column\": \"code\", \"kind\": \"bitmap\"",
     "$.tables[0].key_indexes[1]", "a bitmap needs a sorted column"},
    {"\"min\": \"-10\", \"range\": 199", "\"min\": \"-10\", \"range\": 200", "$.tables[0].key_indexes[2]",
     "\"min\" and \"range\" differ from the facts of column \"even\""},
    {"\"size\": 56", "\"size\": 48", "$.tables[0].key_indexes[2].words.size", "expected 56 bytes, found 48"},
    {"\"table\": \"parent\"", "\"table\": \"nobody\"", "$.tables[1].foreign_keys[0].table",
     "table \"nobody\" not found"},
    {"\"offset_width\": 4,", "", "$.tables[1].foreign_keys[0].index.offsets.size", "expected 808 bytes, found 404"},
    {"\"offset_width\": 4,", "\"offset_width\": 6,", "$.tables[1].foreign_keys[0].index",
     "offsets have 4 or 8 bytes, not 6"},
    {"\"size\": 404", "\"size\": 400", "$.tables[1].foreign_keys[0].index.offsets.size",
     "expected 404 bytes, found 400"},
    {"\"max_children\": 7", "\"max_children\": 1001", "$.tables[1].foreign_keys[0].max_children",
     "expected an integer from -1 to 1000, found the number 1001"},
    {"\"max_children\": 7", "\"max_children\": 70, \"long_parents\": [{\"row\": 100, \"children\": 65}]",
     "$.tables[1].foreign_keys[0].long_parents[0].row", "expected an integer from 0 to 99, found the number 100"},
    {"\"max_children\": 7", "\"max_children\": 70, \"long_parents\": [{\"row\": 9, \"children\": 71}]",
     "$.tables[1].foreign_keys[0].long_parents[0].children", "expected an integer from 65 to 70, found the number 71"},
    {"\"base\": \"10\"", "\"bass\": \"10\"", "$.tables[1].columns[2]",
     "unknown key \"bass\" (did you mean \"base\"?); expected one of: name, type, "
     "nullable, "
     "storage, width, facts, data, valid, bits, base, factor, zones"},
};

/* The same of segments. */
static const struct damage damages_of_segments[] = {
    {"\"rows\": 5", "\"rows\": 6", "$.tables[0]", "6 rows, those of the segments are 5"},
    {"\"cut_by\": \"id\"", "\"cut_by\": \"ix\"", "$.tables[0].cut_by", "table \"parent\" has no column \"ix\""},
    {"\"cut_by\": \"id\"", "\"cut_by\": \"name\"", "$.tables[0]",
     "segment 0: column \"name\" has no range of its own, by which the table is cut"},
    {"\"min\": \"3\", \"max\": \"5\"", "\"min\": \"2\", \"max\": \"5\"", "$.tables[0].segments[1].key_indexes[0]",
     "\"min\" and \"range\" differ from the facts of column \"id\""},
    {"{\"rows\": 2,", "{\"rows\": 3000000000,", "$.tables[0].segments[0].rows",
     "expected an integer from 0 to 2147483647, found the number 3000000000"},
    {"\"type\": \"string\"", "\"type\": \"binary\"", "$.tables[0].segments[1]",
     "columns or keys are not declared as those of the first segment"},
    {"\"columns\": [\"of\"], \"table\": \"parent\"", "\"columns\": [\"n\"], \"table\": \"parent\"",
     "$.tables[1].segments[0].foreign_keys[0].index",
     "a key to a table of segments that is cut otherwise has no index"},
};

static const struct damage damages_of_partitions[] = {
    {"\"number\": 0, \"of\": 2", "\"number\": 2, \"of\": 2", "$.partition.number",
     "expected an integer from 0 to 1, found the number 2"},
    {"\"number\": 0, \"of\": 2", "\"number\": 0", "$.partition", "expected \"number\" and \"of\""},
    {" \"partition\": {\"number\": 0, \"of\": 2},", "", "$.tables[0].cut_by",
     "only a table of segments, or of a partition, is cut"},
    {"\"cut_by\": \"id\"", "\"cut_by\": \"ix\"", "$.tables[0].cut_by", "table \"parent\" has no column \"ix\""},
    {"\"cut_by\": \"of\"", "\"cut_by\": \"s\"", "$.tables[1]",
     "column \"s\", by which the table is cut, is not known to ascend"},
};

static void check_damages(struct fixture *f, const char *file, const struct damage *d, size_t n)
{
    char *json = read_source_file(file);
    for (size_t i = 0; i < n; i++) {
        char path[256], *bad = replace(json, d[i].from, d[i].to);
        struct fe_catalog_doc *doc = NULL;
        hd_err_release(&f->err);
        if (fe_catalog_read(&f->arena, bad, "db/catalog.json", &doc, &f->err) == 0)
            fail_msg("accepted: %s", d[i].to);
        snprintf(path, sizeof path, "db/catalog.json:%s", d[i].path);
        assert_error(f, CORRUPT, path, d[i].message);
        free(bad);
    }
    free(json);
}

static void damage_is_told_with_its_place(void **state)
{
    check_damages(*state, catalogs[0], damages, HD_COUNT(damages));
    check_damages(*state, catalogs[1], damages_of_segments, HD_COUNT(damages_of_segments));
    check_damages(*state, catalogs[2], damages_of_partitions, HD_COUNT(damages_of_partitions));
}

/* A flipped bit anywhere is either noticed or harmless: the answer must not be a crash. */
static void flip_bits(struct fixture *f, const char *file)
{
    char *json = read_source_file(file);
    int refused = 0, accepted = 0;
    for (size_t i = 0; json[i]; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            struct fe_catalog_doc *doc = NULL;
            struct hd_arena_mark mark = hd_arena_mark(&f->arena);
            char old = json[i];
            json[i] = (char)(json[i] ^ (1 << bit));
            hd_err_release(&f->err);
            if (json[i] && fe_catalog_read(&f->arena, json, "c", &doc, &f->err) != 0) {
                assert_int_equal(f->err.class, HD_ERR_CORRUPT);
                refused++;
            } else if (json[i]) {
                free(fe_catalog_write(doc, false));
                accepted++;
            }
            json[i] = old;
            hd_arena_rewind(&f->arena, mark);
        }
    print_message("%d flips refused, %d accepted\n", refused, accepted);
    assert_true(refused > accepted);
    free(json);
}

static void flipped_bits_never_crash(void **state)
{
    for (size_t i = 0; i < HD_COUNT(catalogs); i++)
        flip_bits(*state, catalogs[i]);
}

static void cut(struct fixture *f, const char *file)
{
    char *json = read_source_file(file);
    for (size_t n = strlen(json) - 2; n > 0; n -= n > 97 ? 97 : n) {
        struct fe_catalog_doc *doc = NULL;
        json[n] = 0;
        hd_err_release(&f->err);
        assert_int_equal(fe_catalog_read(&f->arena, json, "c", &doc, &f->err), -1);
        assert_int_equal(f->err.class, HD_ERR_CORRUPT);
    }
    free(json);
}

static void cut_catalogs_are_refused(void **state)
{
    for (size_t i = 0; i < HD_COUNT(catalogs); i++)
        cut(*state, catalogs[i]);
}

/* ---- schema --------------------------------------------------------------------------- */

static void schema_has_defaults(void **state)
{
    struct fixture *f = *state;
    struct fe_schema *s;
    assert_int_equal(fe_schema_read(&f->arena,
                                    "{\"format\":{\"delimiter\":\",\",\"header\":true,\"null\":\"\\\\N\"},"
                                    "\"tables\":[{\"name\":\"c\",\"columns\":[{\"name\":\"x\",\"type\":"
                                    "\"int64\",\"nullable\":true}],\"foreign_keys\":[{\"columns\":[\"x\"],"
                                    "\"table\":\"p\",\"references\":[\"id\"]}]},"
                                    "{\"name\":\"p\",\"rows\":5,\"columns\":[{\"name\":\"id\",\"type\":"
                                    "\"int32\"},{\"name\":\"t\",\"type\":\"string\"}],\"primary_key\":[\"id\"],"
                                    "\"format\":{\"quote\":\"'\",\"trailing_delimiter\":false}}]}",
                                    &s, &f->err),
                     0);
    assert_int_equal(s->ntables, 2);
    const struct fe_schema_table *c = &s->tables[0], *p = &s->tables[1];
    assert_int_equal(c->rows, -1);
    assert_int_equal(p->rows, 5);
    assert_true(c->table.cols[0].nullable && !p->table.cols[0].nullable);
    assert_true(c->table.fks[0].parent == &p->table);
    assert_int_equal(c->format.delimiter, ',');
    assert_int_equal(c->format.quote, 0);
    assert_true(c->format.header && c->format.trailing_delimiter);
    assert_string_equal(c->format.null_text, "\\N");
    assert_int_equal(p->format.delimiter, ',');
    assert_int_equal(p->format.quote, '\'');
    assert_true(p->format.header && !p->format.trailing_delimiter);
    assert_string_equal(p->path, "$.tables[1]");
    assert_int_equal(p->table.npk, 1);
}

static void bad_schemas_are_refused(void **state)
{
#define COLUMN "\"columns\":[{\"name\":\"a\",\"type\":\"int32\"}]"
    static const struct {
        const char *json, *path, *message;
    } cases[] = {
        {"{}", "$", "missing key \"tables\""},
        {"[]", "$", "expected an object, found a list"},
        {"{\"tables\":[]}", "$.tables", "expected 1 to 1024 elements, found 0"},
        {"{\"tables\":[{\"name\":\"t\"}]}", "$.tables[0]", "missing key \"columns\""},
        {"{\"tables\":[{\"name\":\"\"," COLUMN "}]}", "$.tables[0].name", "expected a name, found an empty string"},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN ",\"rows\":-5}]}", "$.tables[0].rows",
         "expected an integer from 0 to 17592186044416, found the number -5"},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN "},{\"name\":\"t\"," COLUMN "}]}", "$.tables",
         "two tables are called \"t\""},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN ",\"extra\":1}]}", "$.tables[0]",
         "unknown key \"extra\"; expected one of: name, rows, cut_by, columns, primary_key, "
         "foreign_keys, format"},
        {"{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"type\":\"decimal(3,4)\"}"
         "]}]"
         "}",
         "$.tables[0].columns[0].type",
         "expected a type (bool, int32, int64, decimal(p,s), float32, float64, date, timestamp, time, "
         "string, binary, interval), "
         "found \"decimal(3,4)\""},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN ",\"primary_key\":[\"b\"]}]}", "$.tables[0].primary_key[0]",
         "table \"t\" has no column \"b\""},
        {"{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"type\":\"interval\"}],\"primary_key\":[\"a\"]}]}",
         "$.tables[0].primary_key[0]", "column \"a\" is an interval, which no key has: equal ones may look different"},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN ",\"primary_key\":[\"a\",\"a\"]}]}", "$.tables[0].primary_key[1]",
         "column \"a\" is listed twice"},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN ",\"foreign_keys\":[{\"columns\":[\"a\"],"
         "\"table\":\"u\",\"references\":[\"a\"]}]}]}",
         "$.tables[0].foreign_keys[0].table", "table \"u\" not found"},
        {"{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"type\":\"int32\"},"
         "{\"name\":\"s\",\"type\":\"string\"}],\"foreign_keys\":[{\"columns\":[\"a\"],"
         "\"table\":\"t\",\"references\":[\"s\"]}]}]}",
         "$.tables[0].foreign_keys[0]", "column \"a\" is int32, the referenced \"s\" is string"},
        {"{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"a\",\"type\":\"int32\"},"
         "{\"name\":\"s\",\"type\":\"string\"}],\"foreign_keys\":[{\"columns\":[\"a\"],"
         "\"table\":\"t\",\"references\":[\"a\",\"s\"]}]}]}",
         "$.tables[0].foreign_keys[0]", "1 columns reference 2 columns"},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN "}],\"format\":{\"delimiter\":\"ab\"}}", "$.format.delimiter",
         "expected one ASCII character, found \"ab\""},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN "}],\"format\":{\"quote\":\"|\"}}", "$.format",
         "delimiter and quote must differ, found '|' for both"},
        {"{\"tables\":[{\"name\":\"t\"," COLUMN ",\"format\":{\"null\":\"a|b\"}}]}", "$.tables[0].format",
         "\"null\" may contain neither the delimiter nor a line end"},
    };
#undef COLUMN
    struct fixture *f = *state;
    for (size_t i = 0; i < HD_COUNT(cases); i++) {
        struct fe_schema *s = NULL;
        hd_err_release(&f->err);
        if (fe_schema_read(&f->arena, cases[i].json, &s, &f->err) == 0)
            fail_msg("accepted: %s", cases[i].json);
        assert_error(f, USER, cases[i].path, cases[i].message);
    }
}

static void schema_says_how_large_segments_are(void **state)
{
    static const char json[] = "{\"segment_rows\": %s, \"tables\":[{\"name\":\"t\",\"rows\":%s,"
                               "\"columns\":[{\"name\":\"a\",\"type\":\"int32\"}]}]}";
    static const struct {
        const char *segment_rows, *rows, *path, *message;
    } bad[] = {
        {"0", "5", "$.segment_rows", "expected an integer from 1 to 2147483647, found the number 0"},
        {"2147483648", "5", "$.segment_rows", "expected an integer from 1 to 2147483647, found the number 2147483648"},
        {"7", "17592186044417", "$.tables[0].rows",
         "expected an integer from 0 to 17592186044416, found the number 17592186044417"}};
    struct fixture *f = *state;
    struct fe_schema *s = NULL;
    hd_err_release(&f->err);
    assert_int_equal(fe_schema_read(&f->arena, hd_asprintf(&f->arena, json, "1000", "6000000000"), &s, &f->err), 0);
    assert_int_equal(s->segment_rows, 1000);
    assert_int_equal(s->tables[0].rows, INT64_C(6000000000));
    for (size_t i = 0; i < HD_COUNT(bad); i++) {
        hd_err_release(&f->err);
        assert_int_equal(
            fe_schema_read(&f->arena, hd_asprintf(&f->arena, json, bad[i].segment_rows, bad[i].rows), &s, &f->err), -1);
        assert_error(f, USER, bad[i].path, bad[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dictionary_lookup_gives_lower_bound),
        cmocka_unit_test(names_are_case_sensitive),
        cmocka_unit_test(catalog_goes_there_and_back),
        cmocka_unit_test(segments_come_to_a_table),
        cmocka_unit_test(partitions_come_to_a_database),
        cmocka_unit_test(flipped_bits_of_partitions_never_crash),
        cmocka_unit_test(catalog_is_read_in_full),
        cmocka_unit_test(damage_is_told_with_its_place),
        cmocka_unit_test(flipped_bits_never_crash),
        cmocka_unit_test(cut_catalogs_are_refused),
        cmocka_unit_test(schema_has_defaults),
        cmocka_unit_test(bad_schemas_are_refused),
        cmocka_unit_test(schema_says_how_large_segments_are),
    };
    return cmocka_run_group_tests_name("frontend_catalog", tests, fixture_setup, fixture_teardown);
}
