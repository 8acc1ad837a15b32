/* Good arguments for calls of the C API, and what they are about. */
#ifndef HEDDLE_TESTS_API_FIXTURE_H
#define HEDDLE_TESTS_API_FIXTURE_H

#include "include/heddle.h"

extern char dir[64];
extern heddle_context *context;
extern heddle_database *database;
extern const char schema[], plan[]; /* of a table t with a column x; with a parameter p */

const char *in_dir(const char *name);
void ok(int rc, heddle_error *e);
void make_schema(struct ArrowSchema *out);
void make_batch(struct ArrowArray *out);
struct ArrowArrayStream make_stream(void);
heddle_context *new_context(void);
heddle_database *new_database(void);
heddle_database *new_database_of_one(void);
heddle_writer *new_writer(void);
heddle_statement *new_statement(void);
heddle_error *new_error(void);
void execute(heddle_statement *s);
void remove_database(const char *path);
int go_on(void *user, double fraction, const char *what);

#endif
