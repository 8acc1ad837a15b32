#include "frontend/plan_any.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "frontend/json_make.h"
#include "frontend/plan_read.h"
#include "frontend/substrait.h"
#include "frontend/substrait_binary.h"
#include "frontend/substrait_produce.h"

enum { SUBSTRAIT_MAX_DEPTH = 900 }; /* of its JSON, where each call is four levels */

/* What the bytes are made to: a plan of Heddle's. */
struct document {
    struct fe_json_reader reader, translated;
    struct fe_json root;
    const struct cJSON *substrait; /* what they are; NULL: a plan of Heddle's */
    struct cJSON *plan;            /* made of that */
    struct sub_origin *origins; /* of a plan that was translated */
};

static size_t blanks(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && memchr(" \t\r\n", s[i], 4))
        i++;
    return i;
}

/* Not mistaken for binary: there, the length of a message may be a brace, but no quote begins one. */
static bool is_object(const char *s, size_t n)
{
    size_t i = blanks(s, n);
    if (i == n || s[i] != '{')
        return false;
    size_t k = i + 1 + blanks(s + i + 1, n - i - 1);
    return k < n && (s[k] == '"' || s[k] == '}');
}

static int open_text(struct document *d, const char *bytes, size_t size, struct hd_err *err)
{
    if (memchr(bytes, 0, size))
        return HD_FAIL(err, USER, "$",
                       "expected a plan of Heddle (JSON) or of Substrait (JSON or binary), found a NUL byte in a text");
    const char *text = hd_strndup(d->reader.arena, bytes, size);
    d->reader.max_depth = strstr(text, "\"relations\"") ? SUBSTRAIT_MAX_DEPTH : FE_JSON_MAX_DEPTH;
    HD_TRY(fe_json_open(&d->reader, text, &d->root));
    if (sub_is_plan(&d->root)) {
        d->substrait = d->root.item;
        return sub_translate(&d->root, &d->plan, &d->origins);
    }
    return fe_json_check(text, size, FE_JSON_MAX_DEPTH, HD_ERR_USER, "$", err);
}

static int open_binary(struct document *d, const void *bytes, size_t size, struct hd_err *err)
{
    struct cJSON *tree;
    HD_TRY(sub_read_binary(d->reader.arena, bytes, size, &tree, err));
    d->root = (struct fe_json){.item = tree, .index = -1, .r = &d->reader};
    d->substrait = tree;
    return sub_translate(&d->root, &d->plan, &d->origins);
}

static int open_document(struct document *d, struct hd_arena *a, const void *bytes, size_t size, struct hd_err *err)
{
    *d = (struct document){.reader = {.arena = a, .err = err, .class = HD_ERR_USER}};
    d->translated = d->reader;
    if (!is_object(bytes, size) && sub_is_binary(bytes, size))
        HD_TRY(open_binary(d, bytes, size, err));
    else
        HD_TRY(open_text(d, bytes, size, err));
    if (d->plan)
        d->root = (struct fe_json){.item = d->plan, .index = -1, .r = &d->translated};
    return 0;
}

int fe_plan_read_any(struct hd_arena *a, const void *bytes, size_t size, const struct fe_catalog *cat,
                     struct fe_plan **out, struct hd_err *err)
{
    struct document d;
    int rc = open_document(&d, a, bytes, size, err);
    if (rc == 0 && (rc = fe_plan_read_value(&d.root, cat, out)) != 0 && d.plan)
        sub_map_error(d.plan, d.origins, err);
    fe_json_close(&d.reader);
    return rc;
}

/* A plan of Heddle's has types once it is read over tables. */
static int produce(struct document *d, const struct fe_catalog *cat, struct cJSON **out, struct hd_err *err)
{
    struct fe_plan *plan;
    if (!cat)
        return HD_FAIL(
            err, USER, "$",
            "a plan of Heddle's becomes one of Substrait with the tables that it reads: expected a database");
    HD_TRY(fe_plan_read_value(&d->root, cat, &plan));
    return sub_produce(d->reader.arena, plan, out, err);
}

static int write(struct document *d, const struct fe_catalog *cat, enum fe_plan_form to, struct hd_strbuf *out,
                 struct hd_err *err)
{
    const struct cJSON *substrait = d->substrait;
    struct cJSON *produced;
    if (to == FE_FORM_JSON)
        return fe_print_json(d->root.item, out, err);
    if (!substrait) {
        HD_TRY(produce(d, cat, &produced, err));
        substrait = produced;
    }
    return to == FE_FORM_SUBSTRAIT ? sub_write_binary(d->reader.arena, substrait, out, err)
                                   : fe_print_json(substrait, out, err);
}

int fe_plan_convert(struct hd_arena *a, const void *bytes, size_t size, const struct fe_catalog *cat,
                    enum fe_plan_form to, struct hd_strbuf *out, struct hd_err *err)
{
    struct document d;
    int rc = open_document(&d, a, bytes, size, err);
    if (rc == 0)
        rc = write(&d, cat, to, out, err);
    fe_json_close(&d.reader);
    return rc;
}

int fe_plan_tree(struct hd_arena *a, const void *bytes, size_t size, const struct cJSON **out, struct hd_err *err)
{
    struct document d;
    int rc = open_document(&d, a, bytes, size, err);
    if (rc == 0)
        *out = fe_own_json(a, d.root.item);
    fe_json_close(&d.reader);
    return rc;
}
