#include "tests/api/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char dir[64];
heddle_context *context;
heddle_database *database;

const char schema[] = "{\"tables\":[{\"name\":\"t\",\"columns\":[{\"name\":\"x\","
                      "\"type\":\"int32\",\"nullable\":true}]}]}";
const char plan[] = "{\"heddle\":1,\"params\":{\"p\":{\"type\":\"int32\",\"default\":1,\"nullable\":true}},"
                    "\"root\":{\"op\":\"values\",\"columns\":[{\"name\":\"a\",\"type\":\"int32\"}],"
                    "\"rows\":[[1]]}}";

const char *in_dir(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

void ok(int rc, heddle_error *e)
{
    if (rc != 0)
        print_error("%s: %s\n", heddle_error_path(e), heddle_error_message(e));
    assert_int_equal(rc, 0);
}

/* ---- good arguments -------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}
static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}
static void release_stream(struct ArrowArrayStream *s)
{
    s->release = NULL;
}

/* One column x of int32; the structs are static, and lent. */
void make_schema(struct ArrowSchema *out)
{
    static struct ArrowSchema column, *columns[] = {&column};
    column = (struct ArrowSchema){.format = "i", .name = "x", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    *out = (struct ArrowSchema){.format = "+s", .n_children = 1, .children = columns, .release = release_schema};
}

void make_batch(struct ArrowArray *out)
{
    static const int32_t values[] = {1, 2};
    static const void *buffers[] = {NULL, values}, *none[] = {NULL};
    static struct ArrowArray column, *columns[] = {&column};
    column = (struct ArrowArray){.length = 2, .n_buffers = 2, .buffers = buffers, .release = release_array};
    *out = (struct ArrowArray){
        .length = 2, .n_buffers = 1, .n_children = 1, .buffers = none, .children = columns, .release = release_array};
}

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    make_schema(out);
    return s->private_data != NULL;
}
static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    memset(out, 0, sizeof *out);
    return s->private_data != NULL;
}
static const char *get_last_error(struct ArrowArrayStream *s)
{
    return s->private_data;
}
struct ArrowArrayStream make_stream(void)
{
    return (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, NULL};
}

heddle_context *new_context(void)
{
    heddle_options o;
    heddle_context *c = NULL;
    heddle_options_init(&o);
    o.threads = 2;
    o.backend = "cpu";
    o.cache_dir = "";
    assert_int_equal(heddle_context_new(&o, &c, NULL), 0);
    return c;
}
heddle_database *new_database(void)
{
    heddle_database *db = NULL;
    assert_int_equal(heddle_database_open(context, NULL, 0, &db, NULL), 0);
    return db;
}
/* With a table m of no rows. */
heddle_database *new_database_of_one(void)
{
    struct ArrowArrayStream s = make_stream();
    heddle_database *db = new_database();
    assert_int_equal(heddle_database_register(db, "m", &s, 0, NULL), 0);
    return db;
}
heddle_writer *new_writer(void)
{
    heddle_writer *w = NULL;
    heddle_error *e = NULL;
    ok(heddle_writer_open(context, in_dir("new"), schema, &w, &e), e);
    return w;
}
heddle_statement *new_statement(void)
{
    heddle_statement *s = NULL;
    heddle_error *e = NULL;
    ok(heddle_prepare(database, plan, NULL, &s, &e), e);
    return s;
}
heddle_error *new_error(void)
{
    heddle_error *e = NULL;
    assert_int_equal(heddle_database_drop(database, "nothing", &e), -1);
    return e;
}
void execute(heddle_statement *s)
{
    struct ArrowArrayStream rows;
    heddle_error *e = NULL;
    ok(heddle_execute(s, &rows, &e), e);
    rows.release(&rows);
}
int go_on(void *user, double fraction, const char *what)
{
    (void)user;
    (void)what;
    return fraction < 0;
}

void remove_database(const char *path)
{
    char command[160];
    snprintf(command, sizeof command, "rm -r '%s'", path);
    assert_int_equal(system(command), 0);
}
