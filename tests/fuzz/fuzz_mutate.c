/* Mutations that leave a plan a plan, mostly: its JSON tree with nodes exchanged, repeated, taken
 * out, operators wrapped in others, texts and numbers replaced. Bytes that are no JSON are mutated
 * as bytes. */
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { NODES = 4096 };

struct tree {
    cJSON *root, *nodes[NODES]; /* in preorder, the root first */
    int n;
    uint64_t state;
};

static unsigned next(struct tree *t, unsigned below)
{
    t->state ^= t->state << 13;
    t->state ^= t->state >> 7;
    t->state ^= t->state << 17;
    return (unsigned)(t->state % below);
}

static void collect(struct tree *t, cJSON *node)
{
    if (t->n == NODES)
        return;
    t->nodes[t->n++] = node;
    for (cJSON *c = node->child; c; c = c->next)
        collect(t, c);
}

static const char *const words[] = {"scan",
                                    "filter",
                                    "project",
                                    "join",
                                    "aggregate",
                                    "distinct",
                                    "sort",
                                    "limit",
                                    "union_all",
                                    "union",
                                    "intersect",
                                    "except",
                                    "repeat",
                                    "values",
                                    "ref",
                                    "pairs",
                                    "top",
                                    "asof",
                                    "cut",
                                    "keep",
                                    ">=",
                                    "<=",
                                    "inner",
                                    "left",
                                    "right",
                                    "full",
                                    "semi",
                                    "anti",
                                    "mark",
                                    "auto",
                                    "hash",
                                    "direct",
                                    "index",
                                    "merge",
                                    "band",
                                    "radix",
                                    "loop",
                                    "sum",
                                    "count",
                                    "avg",
                                    "min",
                                    "max",
                                    "arg_min",
                                    "arg_max",
                                    "count_if",
                                    "bool_and",
                                    "bool_or",
                                    "bit_and",
                                    "bit_xor",
                                    "var_samp",
                                    "corr",
                                    "median",
                                    "quantile_disc",
                                    "mode",
                                    "approx_count_distinct",
                                    "string_agg",
                                    "first",
                                    "parent",
                                    "child",
                                    "every",
                                    "empty",
                                    "l",
                                    "r",
                                    "id",
                                    "grp",
                                    "name",
                                    "note",
                                    "amount",
                                    "ratio",
                                    "day",
                                    "cid",
                                    "pid",
                                    "pname",
                                    "qty",
                                    "tag",
                                    "wide",
                                    "b",
                                    "i",
                                    "k",
                                    "w",
                                    "f",
                                    "ts",
                                    "s",
                                    "e",
                                    "t",
                                    "x",
                                    "y",
                                    "bool",
                                    "int32",
                                    "int64",
                                    "decimal(38,0)",
                                    "decimal(38,38)",
                                    "decimal(1,1)",
                                    "float64",
                                    "float32",
                                    "date",
                                    "timestamp",
                                    "string",
                                    "list(string)",
                                    "list(int64)",
                                    "1",
                                    "-1",
                                    "0.5",
                                    "9223372036854775807",
                                    "1994-01-31",
                                    "true",
                                    "99999999999999999999999999999999999999",
                                    "nan",
                                    "null",
                                    "1 = 1",
                                    "id > 7 and qty < 50",
                                    "case when grp > 0 then amount else 0 end",
                                    "coalesce(grp, qty, 0)",
                                    "name like '%1%'",
                                    "substring(name from 2 for 3)",
                                    "cast(name as int64)",
                                    "cast(id as string)",
                                    "cast(ratio as decimal(20,2))",
                                    "extract(year from day)",
                                    "day + interval '1' month",
                                    "grp in (1, 2, 3)",
                                    "tag in ('red', 'green')",
                                    "pname = name",
                                    "id * id",
                                    "id / 3",
                                    "qty % 5",
                                    "-amount",
                                    "amount * wide",
                                    "w * w",
                                    "k + k",
                                    "f / 0",
                                    "is_null",
                                    "not",
                                    "and",
                                    "or",
                                    "=",
                                    "<>",
                                    "<",
                                    "+",
                                    "*",
                                    "/",
                                    "in",
                                    "like",
                                    "neg",
                                    "case"};

static const char *word(struct tree *t)
{
    return words[next(t, sizeof words / sizeof *words)];
}

static cJSON *pick(struct tree *t)
{
    return t->nodes[next(t, (unsigned)t->n)];
}

/* Puts `with` where `old` is; old becomes the caller's. The root stays. */
static int exchange(struct tree *t, cJSON *old, cJSON *with)
{
    for (int i = 0; i < t->n && with; i++)
        for (cJSON *c = t->nodes[i]->child; c; c = c->next)
            if (c == old) {
                if (old->string && !with->string) {
                    with->string = malloc(strlen(old->string) + 1);
                    if (with->string)
                        strcpy(with->string, old->string);
                }
                return cJSON_ReplaceItemViaPointer(t->nodes[i], old, with) ? 1 : 0;
            }
    cJSON_Delete(with);
    return 0;
}

static cJSON *copy(const cJSON *node)
{
    cJSON *c = cJSON_Duplicate(node, 1);
    if (c && c->string && !(c->type & cJSON_StringIsConst)) {
        free(c->string);
        c->string = NULL;
    }
    return c;
}

/* ---- the mutations --------------------------------------------------------------------------- */

static void replace_by_other(struct tree *t)
{
    cJSON *to = pick(t), *from = pick(t);
    for (int i = 0; i < 30 && (from->type & 255) != (to->type & 255); i++)
        from = pick(t);
    exchange(t, to, copy(from));
}

static void repeat(struct tree *t)
{
    cJSON *list = pick(t);
    for (int i = 0; i < 30 && !(cJSON_IsArray(list) && list->child); i++)
        list = pick(t);
    if (!cJSON_IsArray(list) || !list->child)
        return;
    cJSON *item = cJSON_GetArrayItem(list, (int)next(t, (unsigned)cJSON_GetArraySize(list)));
    cJSON_AddItemToArray(list, copy(item));
}

static void remove_node(struct tree *t)
{
    cJSON *from = pick(t);
    int n = cJSON_GetArraySize(from);
    if (n > 0) {
        cJSON *c = from->child;
        for (unsigned i = next(t, (unsigned)n); i; i--)
            c = c->next;
        cJSON_Delete(cJSON_DetachItemViaPointer(from, c));
    }
}

static void change_leaf(struct tree *t)
{
    static const double numbers[] = {0, 1, 2, -1, 100, 4096, 1e9, 2147483648.0, 9007199254740992.0};
    cJSON *leaf = pick(t);
    for (int i = 0; i < 30 && leaf->child; i++)
        leaf = pick(t);
    if (cJSON_IsString(leaf))
        exchange(t, leaf, cJSON_CreateString(word(t)));
    else if (cJSON_IsNumber(leaf))
        exchange(t, leaf, cJSON_CreateNumber(numbers[next(t, sizeof numbers / sizeof *numbers)]));
    else if (cJSON_IsBool(leaf))
        exchange(t, leaf, cJSON_CreateBool(!cJSON_IsTrue(leaf)));
    else if (cJSON_IsNull(leaf))
        exchange(t, leaf, cJSON_CreateString(word(t)));
}

static void splice_text(struct tree *t)
{
    static const char *const between[] = {" + ", " * ", " and ", " or ",         " = ",
                                          " < ", " / ", " - ",   " is null or ", ", "};
    cJSON *leaf = pick(t);
    for (int i = 0; i < 30 && !cJSON_IsString(leaf); i++)
        leaf = pick(t);
    if (!cJSON_IsString(leaf))
        return;
    const char *more = word(t), *op = between[next(t, sizeof between / sizeof *between)];
    char *s = malloc(strlen(leaf->valuestring) + strlen(op) + strlen(more) + 3);
    if (!s)
        return;
    strcpy(s, "(");
    strcat(s, leaf->valuestring);
    strcat(s, ")");
    strcat(s, op);
    strcat(s, more);
    exchange(t, leaf, cJSON_CreateString(s));
    free(s);
}

/* Operators around %, which stands for what is there. */
static const char *const wrappers[] = {
    "{\"op\":\"distinct\",\"input\":%}",
    "{\"op\":\"limit\",\"limit\":3,\"offset\":1,\"input\":%}",
    "{\"op\":\"filter\",\"pred\":\"id > 3 and id < 90\",\"input\":%}",
    "{\"op\":\"sort\",\"keys\":[{\"expr\":\"id\",\"desc\":true}],\"limit\":7,\"input\":%}",
    "{\"op\":\"union_all\",\"inputs\":[%,%]}",
    "{\"op\":\"union\",\"inputs\":[%,%]}",
    "{\"op\":\"intersect\",\"inputs\":[%,%]}",
    "{\"op\":\"except\",\"inputs\":[%,%]}",
    "{\"op\":\"intersect\",\"all\":true,\"inputs\":[%,%]}",
    "{\"op\":\"values\",\"columns\":[{\"name\":\"v\",\"type\":\"int64\"}],\"rows\":[[{\"expr\":\"id\"}],[3]],\"input\":"
    "%}",
    "{\"op\":\"repeat\",\"count\":\"id - 3\",\"input\":%}",
    "{\"op\":\"distinct\",\"on\":[\"id\"],\"input\":%}",
    "{\"op\":\"project\",\"exprs\":[{\"expr\":\"id + 1\",\"as\":\"id\"}],\"input\":%}",
    "{\"op\":\"project\",\"keep\":true,\"exprs\":[{\"expr\":\"id * "
    "2\",\"as\":\"twice\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"keys\":[\"id\"],\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],"
    "\"input\":%}",
    "{\"op\":\"aggregate\",\"keys\":[\"id\",{\"expr\":\"id - 3\",\"as\":\"k\"}],\"cube\":true,\"aggs\":[{\"fn\":"
    "\"grouping\",\"arg\":\"id\",\"as\":\"g\"},{\"fn\":\"avg\",\"arg\":\"id\",\"as\":\"n\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"aggs\":[{\"fn\":\"bool_and\",\"filter\":\"id > 3\",\"arg\":\"id < 90\","
    "\"as\":\"b\"},{\"fn\":\"count_if\",\"arg\":\"id > 9\",\"as\":\"id\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"aggs\":[{\"fn\":\"regr_r2\",\"arg\":\"id\",\"by\":\"id * id\",\"as\":\"r\"},"
    "{\"fn\":\"stddev_pop\",\"arg\":\"cast(id as float64)\",\"as\":\"id\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"keys\":[\"id\"],\"aggs\":[{\"fn\":\"median\",\"arg\":\"id\",\"as\":\"r\"},"
    "{\"fn\":\"quantile_disc\",\"filter\":\"id > 3\",\"arg\":\"id\",\"q\":\"0.9\",\"as\":\"m\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"keys\":[\"id\"],\"aggs\":[{\"fn\":\"mode\",\"arg\":\"id\",\"as\":\"r\"},"
    "{\"fn\":\"last\",\"arg\":\"id\",\"order\":[{\"expr\":\"id\",\"desc\":true}],\"as\":\"m\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"keys\":[\"id\"],\"aggs\":[{\"fn\":\"string_agg\",\"arg\":\"cast(id as "
    "string)\",\"separator\":"
    "\"-\",\"order\":[\"id\"],\"as\":\"r\"}],\"input\":%}",
    "{\"op\":\"aggregate\",\"aggs\":[{\"fn\":\"count\",\"distinct\":true,\"arg\":\"id\","
    "\"as\":\"id\"}],\"input\":%}",
    "{\"op\":\"join\",\"kind\":\"left\",\"on\":[[\"id\",\"pid\"]],\"left\":%,\"right\":{"
    "\"op\":\"scan\",\"table\":\"child\"}}",
    "{\"op\":\"join\",\"kind\":\"anti\",\"on\":[[\"id\",\"pid\"]],\"residual\":\"qty <> "
    "id\",\"left\":%,\"right\":{\"op\":\"scan\",\"table\":\"child\"}}",
    "{\"op\":\"join\",\"kind\":\"mark\",\"mark\":\"m\",\"on\":[[\"id\",\"cid\"]],\"left\":%,"
    "\"right\":{\"op\":\"scan\",\"table\":\"child\"}}",
    "{\"op\":\"join\",\"kind\":\"full\",\"on\":[[\"id\",\"k\"]],\"left\":%,\"right\":{\"op\":"
    "\"scan\",\"table\":\"every\"}}",
    "{\"op\":\"join\",\"kind\":\"left\",\"single\":true,\"left\":%,\"right\":{\"op\":"
    "\"aggregate\",\"aggs\":[{\"fn\":\"max\",\"arg\":\"s\",\"as\":\"most\"}],\"input\":{"
    "\"op\":\"scan\",\"table\":\"every\"}}}"};

static cJSON *wrapped(struct tree *t, const cJSON *node)
{
    const char *form = wrappers[next(t, sizeof wrappers / sizeof *wrappers)];
    char *inner = cJSON_PrintUnformatted(node);
    char *s = inner ? malloc(strlen(form) + 2 * strlen(inner) + 1) : NULL, *to = s;
    for (const char *c = form; s && *c; c++) {
        size_t n = *c == '%' ? strlen(inner) : 1;
        memcpy(to, *c == '%' ? inner : c, n);
        to += n;
    }
    if (s)
        *to = 0;
    cJSON *w = s ? cJSON_Parse(s) : NULL;
    free(s);
    free(inner);
    return w;
}

static void wrap(struct tree *t)
{
    cJSON *node = pick(t);
    for (int i = 0; i < 60 && !cJSON_GetObjectItem(node, "op"); i++)
        node = pick(t);
    if (cJSON_GetObjectItem(node, "op"))
        exchange(t, node, wrapped(t, node));
}

static void mutate(struct tree *t)
{
    static void (*const ways[])(struct tree *) = {replace_by_other, replace_by_other, repeat, remove_node, change_leaf,
                                                  change_leaf,      splice_text,      wrap,   wrap};
    t->n = 0;
    collect(t, t->root);
    ways[next(t, sizeof ways / sizeof *ways)](t);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct tree t = {.root = cJSON_ParseWithLength((const char *)data, size),
                     .state = seed * 2654435761u + 88172645463325252u};
    if (!t.root || next(&t, 50) == 0) {
        cJSON_Delete(t.root);
        return LLVMFuzzerMutate(data, size, max);
    }
    for (unsigned i = 1 + next(&t, 4); i; i--)
        mutate(&t);
    char *s = cJSON_PrintUnformatted(t.root);
    size_t n = s ? strlen(s) : max + 1;
    if (n <= max)
        memcpy(data, s, n);
    free(s);
    cJSON_Delete(t.root);
    return n <= max ? n : LLVMFuzzerMutate(data, size, max);
}
