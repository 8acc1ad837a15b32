/* What tests of the C API over emulated devices share: a context with one database, statements, their rows and reports. */
#ifndef HEDDLE_TESTS_SIMT_SESSION_H
#define HEDDLE_TESTS_SIMT_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "include/heddle.h"
#include "tests/simt/check.h"

#define EXPECT(condition) CHECK(condition, "not so")

enum { WAIT_MS = 60000 }; /* the longest that anything may take */

extern const char *folder; /* of the database */
extern heddle_context *context;
extern heddle_database *database;

/* What a call returned, with the error that it left. */
void ok(int rc, heddle_error **e);

/* Two threads and no cache. */
heddle_options session_options(void);
void session_begin(const heddle_options *o);
void end(void);
heddle_statement *session_prepare(const char *plan, const heddle_statement_options *o);

/* The bytes of all rows: columns are decimals, int64 and text of one batch, of which text is left out. */
struct rows {
    unsigned char bytes[256];
    size_t n;
};
struct rows run(heddle_statement *s);
void same(struct rows a, struct rows b);

/* Whether the last execution's report has a text; shown where TEST_VERBOSE is set. */
bool reports(heddle_statement *s, const char *text);
void wait_until_idle(void);

struct session_case {
    const char *name;
    void (*run)(void);
};
#define CASE(name) {#name, name}
void session_run(const struct session_case *c);

#endif
