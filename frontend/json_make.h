/* Makes JSON values in an arena, of the kind that json.h reads: for plans that are translated and for what is no text.
 * Nothing of them is freed by itself. Keys are kept as they are. */
#ifndef HEDDLE_FRONTEND_JSON_MAKE_H
#define HEDDLE_FRONTEND_JSON_MAKE_H

#include "runtime/base/arena.h"
#include "runtime/base/err.h"
#include "runtime/base/strbuf.h"

struct cJSON;

struct cJSON *fe_make_object(struct hd_arena *a);
struct cJSON *fe_make_list(struct hd_arena *a);
struct cJSON *fe_make_string(struct hd_arena *a, const char *s); /* copied */
struct cJSON *fe_make_text(struct hd_arena *a, char *s);         /* kept */
struct cJSON *fe_make_number(struct hd_arena *a, double d);
struct cJSON *fe_make_bool(struct hd_arena *a, bool b);
struct cJSON *fe_make_null(struct hd_arena *a);

/* Appends: each value stands in one place. */
void fe_put(struct cJSON *object, const char *key, struct cJSON *value);
void fe_push(struct cJSON *list, struct cJSON *value);

/* Of an object: the member, or NULL. */
struct cJSON *fe_member(const struct cJSON *object, const char *key);
/* A member's text; NULL: there is none, or it is no string. */
const char *fe_member_text(const struct cJSON *object, const char *key);
/* Elements of a list, members of an object. */
struct cJSON *fe_first_json(const struct cJSON *v);
struct cJSON *fe_next_json(const struct cJSON *v);
const char *fe_key_of(const struct cJSON *member);
bool fe_is_list(const struct cJSON *v);
/* Of a number. */
double fe_number_of(const struct cJSON *v);
/* Of a string. */
const char *fe_text_of(const struct cJSON *v);
struct cJSON *fe_copy_json(struct hd_arena *a, const struct cJSON *v);
/* The same, with texts of its own. */
struct cJSON *fe_own_json(struct hd_arena *a, const struct cJSON *v);
/* As text, with a line feed behind it. */
int fe_print_json(const struct cJSON *v, struct hd_strbuf *out, struct hd_err *err);
bool fe_same_json(const struct cJSON *a, const struct cJSON *b);

#endif
