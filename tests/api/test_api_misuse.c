/* Every function of include/heddle.h with every pointer argument NULL in turn (calls.h), and options that no header has.
 * The table of calls is held against the header.
 *
 *   test_api_misuse HEADER
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/api/calls.h"
#include "tests/api/fixture.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *header; /* path */

static void every_pointer_may_be_null(void **state)
{
    (void)state;
    for (size_t i = 0; i < ncalls; i++)
        for (int k = -1; k < (int)strlen(calls[i].pointers); k++) {
            heddle_error *e = NULL;
            int want = k >= 0 && calls[i].pointers[k] == '!' ? -1 : 0;
            int rc = calls[i].call(k, &e);
            if (rc != want || (want && !strstr(heddle_error_message(e), calls[i].name)))
                print_error("%s, argument %d: %d, %s\n", calls[i].name, k, rc, heddle_error_message(e));
            assert_int_equal(rc, want);
            assert_int_equal(heddle_error_get_class(e), want ? HEDDLE_ERROR_USER : 0);
            if (want) {
                assert_non_null(strstr(heddle_error_message(e), calls[i].name));
                assert_non_null(strstr(heddle_error_message(e), " is NULL"));
            }
            heddle_error_free(e);
            assert_int_equal(calls[i].call(k, NULL), want); /* nobody wants the error */
        }
}

/* ---- the table and the header --------------------------------------------------------------- */

static char *read_header(void)
{
    FILE *f = fopen(header, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static const struct call *find_row(const char *name, size_t n)
{
    for (size_t i = 0; i < ncalls; i++)
        if (strlen(calls[i].name) == n && memcmp(calls[i].name, name, n) == 0)
            return &calls[i];
    return NULL;
}

/* Pointers among the parameters that p opens, but for `heddle_error **err`. */
static size_t count_pointers(const char *p)
{
    size_t n = 0;
    const char *end = strchr(p, ')'), *err = strstr(p, "heddle_error **err");
    end = err && err < end ? err : end;
    while (p < end) {
        const char *stop = p + strcspn(p, ",)");
        bool function = strstr(p, "_fn ") && strstr(p, "_fn ") < stop;
        n += function || memchr(p, '*', (size_t)((stop < end ? stop : end) - p));
        p = stop + 1;
    }
    return n;
}

static void no_function_is_forgotten(void **state)
{
    char *text = read_header();
    size_t found = 0;
    (void)state;
    for (const char *p = text; (p = strstr(p, "\nHEDDLE_API "));) {
        const char *open = strchr(p, '('), *name = open;
        while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
            name--;
        const struct call *r = find_row(name, (size_t)(open - name));
        if (!r || strlen(r->pointers) != count_pointers(open + 1))
            print_error("not in the table, or with other pointers: %.*s\n", (int)(open - name), name);
        assert_non_null(r);
        assert_int_equal(strlen(r->pointers), count_pointers(open + 1));
        found++;
        p = open;
    }
    assert_int_equal(found, ncalls);
    free(text);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Options with room behind them, as a newer header's would have. */
union wide_options {
    heddle_options context;
    heddle_statement_options statement;
    size_t struct_size;
    char bytes[256];
};

static int use(union wide_options *o, bool of_statement, heddle_error **e)
{
    heddle_context *c = NULL;
    heddle_statement *s = NULL;
    int rc =
        of_statement ? heddle_prepare(database, plan, &o->statement, &s, e) : heddle_context_new(&o->context, &c, e);
    heddle_statement_free(s);
    heddle_context_free(c);
    return rc;
}

static void struct_sizes_are_checked(void **state)
{
    (void)state;
    for (int of_statement = 0; of_statement < 2; of_statement++) {
        size_t known = of_statement ? sizeof(heddle_statement_options) : sizeof(heddle_options);
        const struct {
            size_t size;
            int byte; /* set behind what is known, -1 none */
            const char *message; /* NULL: fine */
        } cases[] = {
            {known, -1, NULL},
            {sizeof(size_t), -1, NULL},
            {known + 16, -1, NULL},
            {0, -1, "struct_size is 0, expected sizeof(heddle_"},
            {sizeof(size_t) - 1, -1, "struct_size is 7"},
            {known - 1, -1, "struct_size is"},
            {SIZE_MAX & ~(size_t)7, -1, "struct_size is 18446744073709551608"},
            {(size_t)1 << 20, -1, "struct_size is 1048576"},
            {known + 16, 9, "an option is set that this version does not have"},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
            union wide_options o;
            heddle_error *e = NULL;
            memset(&o, 0, sizeof o);
            o.struct_size = cases[i].size;
            if (cases[i].byte >= 0)
                o.bytes[known + (size_t)cases[i].byte] = 1;
            int rc = use(&o, of_statement, &e);
            if (rc != (cases[i].message ? -1 : 0))
                print_error("struct_size %zu: %s\n", cases[i].size, heddle_error_message(e));
            assert_int_equal(rc, cases[i].message ? -1 : 0);
            if (cases[i].message) {
                assert_int_equal(heddle_error_get_class(e), HEDDLE_ERROR_USER);
                assert_non_null(strstr(heddle_error_message(e), cases[i].message));
            }
            heddle_error_free(e);
        }
    }
}

/* Of an older header, of this one, of a newer one: all of it is set, nothing behind it, and it can be used. */
static void options_are_set_to_their_end(void **state)
{
    (void)state;
    for (int of_statement = 0; of_statement < 2; of_statement++) {
        size_t known = of_statement ? sizeof(heddle_statement_options) : sizeof(heddle_options);
        const size_t sizes[] = {0, 7, 8, 24, known - 8, known, known + 16, (size_t)1 << 20};
        for (size_t i = 0; i < COUNT(sizes); i++) {
            size_t written = sizes[i] >= sizeof(size_t) && sizes[i] <= known + 16 ? sizes[i] : 0;
            union wide_options o;
            memset(&o, 0xa5, sizeof o);
            if (of_statement)
                heddle_statement_options_init_sized(&o.statement, sizes[i]);
            else
                heddle_options_init_sized(&o.context, sizes[i]);
            for (size_t k = written ? sizeof(size_t) : 0; k < sizeof o; k++)
                assert_int_equal((unsigned char)o.bytes[k], k < written ? 0 : 0xa5);
            if (!written)
                continue;
            assert_int_equal(o.struct_size, written);
            assert_int_equal(use(&o, of_statement, NULL), 0);
        }
    }
    heddle_options o;
    heddle_statement_options of_statement;
    heddle_options_init(&o);
    heddle_statement_options_init(&of_statement);
    assert_int_equal(o.struct_size, sizeof o);
    assert_int_equal(of_statement.struct_size, sizeof of_statement);
}

static void tables_need_a_name(void **state)
{
    static const char *const names[] = {"", "\xff"};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct ArrowArrayStream s = make_stream();
        heddle_error *e = NULL;
        assert_int_equal(heddle_database_register(database, names[i], &s, 0, &e), -1);
        assert_int_equal(heddle_error_get_class(e), HEDDLE_ERROR_USER);
        assert_non_null(strstr(heddle_error_message(e), "name of a table"));
        assert_null(s.release);
        heddle_error_free(e);
    }
}

/* ---- a stored database, and a text file to load ----------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "api-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    FILE *f = fopen(in_dir("t.csv"), "w");
    assert_non_null(f);
    fputs("1|\n2|\n", f);
    fclose(f);
    context = new_context();
    database = new_database();
    heddle_writer *w = NULL;
    heddle_error *e = NULL;
    ok(heddle_writer_open(context, in_dir("db"), schema, &w, &e), e);
    ok(heddle_writer_commit(w, NULL, NULL, &e), e);
    heddle_writer_free(w);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    heddle_database_free(database);
    heddle_context_free(context);
    remove_database(dir);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pointer_may_be_null), cmocka_unit_test(no_function_is_forgotten),
        cmocka_unit_test(struct_sizes_are_checked),  cmocka_unit_test(options_are_set_to_their_end),
        cmocka_unit_test(tables_need_a_name),
    };
    if (argc != 2)
        return 2;
    header = argv[1];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
