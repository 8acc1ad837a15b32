/* Prints any JSON for people to read: "key: value" lines, tables for lists of flat objects. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tools/cli.h"
#include "tools/text.h"
#include "tools/text_table.h"

static bool is_leaf(const cJSON *v)
{
    return !cJSON_IsObject(v) && !cJSON_IsArray(v);
}

/* An object whose values are all leaves. */
static bool is_flat(const cJSON *v)
{
    if (!cJSON_IsObject(v))
        return false;
    const cJSON *child;
    cJSON_ArrayForEach(child, v) if (!is_leaf(child)) return false;
    return true;
}

/* A list of flat objects with the same keys in the same order. */
static bool is_table(const cJSON *v)
{
    if (!cJSON_IsArray(v) || !v->child || !v->child->child)
        return false;
    const cJSON *row;
    cJSON_ArrayForEach(row, v)
    {
        if (!is_flat(row))
            return false;
        const cJSON *x = v->child->child, *y = row->child;
        while (x && y && strcmp(x->string, y->string) == 0) {
            x = x->next;
            y = y->next;
        }
        if (x || y)
            return false;
    }
    return true;
}

static char *leaf_text(const cJSON *v)
{
    if (cJSON_IsString(v))
        return cli_strdup(v->valuestring);
    if (cJSON_IsBool(v))
        return cli_strdup(cJSON_IsTrue(v) ? "yes" : "no");
    if (cJSON_IsNull(v))
        return cli_strdup("-");
    char *printed = cJSON_PrintUnformatted(v);
    char *text = cli_strdup(printed);
    cJSON_free(printed);
    return text;
}

static void print_table(FILE *f, const cJSON *v)
{
    struct text_table t;
    const cJSON *row, *cell;
    text_table_init(&t, f);
    cJSON_ArrayForEach(cell, v->child) text_table_column(&t, cell->string, cJSON_IsNumber(cell));
    cJSON_ArrayForEach(row, v)
    {
        cJSON_ArrayForEach(cell, row)
        {
            char *text = leaf_text(cell);
            text_table_text(&t, text);
            free(text);
        }
    }
    text_table_end(&t);
}

static void print_value(FILE *f, const cJSON *v, int depth);

static void print_member(FILE *f, const cJSON *v, int depth)
{
    fprintf(f, "%*s", 2 * depth, "");
    text_put_printable(f, v->string ? v->string : "-", "");
    fputs(v->string ? ":" : "", f);
    if (is_leaf(v)) {
        char *text = leaf_text(v);
        fputc(' ', f);
        text_put_printable(f, text, "");
        fputc('\n', f);
        free(text);
    } else if (!v->child) {
        fputs(" none\n", f);
    } else {
        fputc('\n', f);
        print_value(f, v, depth + 1);
    }
}

static void print_value(FILE *f, const cJSON *v, int depth)
{
    const cJSON *child;
    if (is_table(v))
        print_table(f, v);
    else
        cJSON_ArrayForEach(child, v) print_member(f, child, depth);
}

int cli_print_json(FILE *f, const char *json, struct cli_error *err)
{
    cJSON *v = cJSON_Parse(json);
    if (!v)
        return cli_fail(err, CLI_FAILED, NULL, "a report is not JSON: %.100s", json);
    print_value(f, v, 0);
    cJSON_Delete(v);
    return 0;
}
