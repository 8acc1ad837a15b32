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

static void catalog_goes_there_and_back(void **state)
{
    char *json = read_source_file("tests/unit/frontend/stored.json");
    char *first = fe_catalog_write(must_read_catalog(*state, json));
    char *second = fe_catalog_write(must_read_catalog(*state, first));
    assert_string_equal(first, second);
    check_golden("tests/unit/frontend/stored.json", first);
    free(first);
    free(second);
    free(json);
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
    assert_int_equal(doc->keyidx_files[0][0], -1);
    assert_string_equal(doc->files[doc->keyidx_files[0][1]].name, "parent.code.key");
    assert_true(p->cols[0].facts.known && p->cols[0].facts.sorted && p->cols[0].facts.unique);
    assert_true(p->cols[0].facts.min == 1 && p->cols[0].facts.max == 100);
    assert_int_equal(p->cols[2].storage, FE_STORE_DICT);
    assert_int_equal(p->cols[2].dict.n, 5);
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
static const struct {
    const char *from, *to, *path, *message;
} damages[] = {
    {"\"heddle_catalog\": 1", "\"heddle_catalog\": 2", "$.heddle_catalog",
     "expected catalog format version 1, found 2"},
    {"\"rows\": 100,", "\"rows\": -1,", "$.tables[0].rows",
     "expected an integer from 0 to 17592186044416, found the number -1"},
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
    {"\"entries\": 5", "\"entries\": 6", "$.tables[0].columns[2].dict_offsets.size", "expected 28 bytes, found 24"},
    {"\"entries\": 5", "\"entries\": 500", "$.tables[0].columns[2].entries",
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
     "expected one of positional, array, found \"btree\""},
    {"\"range\": 100", "\"range\": 99", "$.tables[0].key_indexes[0]",
     "\"min\" and \"range\" differ from the facts of column \"id\""},
    {"\"column\": \"code\", \"kind\": \"array\"", "\"column\": \"kind\", \"kind\": \"array\"",
     "$.tables[0].key_indexes[1]", "column \"kind\" is not known to be a unique integer column"},
    {"\"table\": \"parent\"", "\"table\": \"nobody\"", "$.tables[1].foreign_keys[0].table",
     "table \"nobody\" not found"},
    {"\"size\": 808", "\"size\": 800", "$.tables[1].foreign_keys[0].index.offsets.size",
     "expected 808 bytes, found 800"},
    {"\"max_children\": 7", "\"max_children\": 1001", "$.tables[1].foreign_keys[0].max_children",
     "expected an integer from -1 to 1000, found the number 1001"},
    {"\"base\": \"10\"", "\"bass\": \"10\"", "$.tables[1].columns[2]",
     "unknown key \"bass\" (did you mean \"base\"?); expected one of: name, type, "
     "nullable, "
     "storage, width, facts, data, valid, bits, base, factor"},
};

static void damage_is_told_with_its_place(void **state)
{
    struct fixture *f = *state;
    char *json = read_source_file("tests/unit/frontend/stored.json");
    for (size_t i = 0; i < HD_COUNT(damages); i++) {
        char path[256], *bad = replace(json, damages[i].from, damages[i].to);
        struct fe_catalog_doc *doc = NULL;
        hd_err_release(&f->err);
        if (fe_catalog_read(&f->arena, bad, "db/catalog.json", &doc, &f->err) == 0)
            fail_msg("accepted: %s", damages[i].to);
        snprintf(path, sizeof path, "db/catalog.json:%s", damages[i].path);
        assert_error(f, CORRUPT, path, damages[i].message);
        free(bad);
    }
    free(json);
}

/* A flipped bit anywhere is either noticed or harmless: the answer must not be a crash. */
static void flipped_bits_never_crash(void **state)
{
    struct fixture *f = *state;
    char *json = read_source_file("tests/unit/frontend/stored.json");
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
                free(fe_catalog_write(doc));
                accepted++;
            }
            json[i] = old;
            hd_arena_rewind(&f->arena, mark);
        }
    print_message("%d flips refused, %d accepted\n", refused, accepted);
    assert_true(refused > accepted);
    free(json);
}

static void cut_catalogs_are_refused(void **state)
{
    struct fixture *f = *state;
    char *json = read_source_file("tests/unit/frontend/stored.json");
    for (size_t n = strlen(json) - 2; n > 0; n -= n > 97 ? 97 : n) {
        struct fe_catalog_doc *doc = NULL;
        json[n] = 0;
        hd_err_release(&f->err);
        assert_int_equal(fe_catalog_read(&f->arena, json, "c", &doc, &f->err), -1);
        assert_int_equal(f->err.class, HD_ERR_CORRUPT);
    }
    free(json);
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
         "unknown key \"extra\"; expected one of: name, rows, columns, primary_key, "
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

/* Before any of its rows is written. */
static void too_many_declared_rows_are_refused(void **state)
{
    static const char json[] = "{\"tables\":[{\"name\":\"t\",\"rows\":2147483648,"
                               "\"columns\":[{\"name\":\"a\",\"type\":\"int32\"}]}]}";
    struct fixture *f = *state;
    struct fe_schema *s = NULL;
    hd_err_release(&f->err);
    assert_int_equal(fe_schema_read(&f->arena, json, &s, &f->err), -1);
    assert_error(f, UNSUPPORTED, "$.tables[0]", "table \"t\" has 2147483648 rows; at most 2147483647 are supported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dictionary_lookup_gives_lower_bound),
        cmocka_unit_test(names_are_case_sensitive),
        cmocka_unit_test(catalog_goes_there_and_back),
        cmocka_unit_test(catalog_is_read_in_full),
        cmocka_unit_test(damage_is_told_with_its_place),
        cmocka_unit_test(flipped_bits_never_crash),
        cmocka_unit_test(cut_catalogs_are_refused),
        cmocka_unit_test(schema_has_defaults),
        cmocka_unit_test(bad_schemas_are_refused),
        cmocka_unit_test(too_many_declared_rows_are_refused),
    };
    return cmocka_run_group_tests_name("frontend_catalog", tests, fixture_setup, fixture_teardown);
}
