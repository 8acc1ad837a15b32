/* Reads the grouping sets of an aggregate (docs/plan.md 1.2). */
#include <string.h>

#include "frontend/plan_read.h"
#include "runtime/base/suggest.h"

enum { MAX_SETS = 1024, MAX_CUBE_KEYS = 10, MAX_GROUPING = 62 };

bool fe_has_empty_set(const struct fe_node *n)
{
    bool found = !n->u.agg.nsets && !n->u.agg.nkeys;
    for (int i = 0; i < n->u.agg.nsets; i++) {
        bool empty = true;
        for (int k = 0; k < n->u.agg.nkeys; k++)
            empty &= !n->u.agg.sets[i][k];
        found |= empty;
    }
    return found;
}

static int find_key(const struct fe_json *v, const struct fe_node *n, const struct fe_column *keys, int *out)
{
    struct hd_suggestion suggestion;
    const char *name;
    HD_TRY(fe_json_string(v, &name));
    for (*out = 0; *out < n->u.agg.nkeys; (*out)++)
        if (strcmp(keys[*out].name, name) == 0)
            return 0;
    hd_suggest_init(&suggestion, name);
    for (int i = 0; i < n->u.agg.nkeys; i++)
        hd_suggest_offer(&suggestion, keys[i].name);
    return fe_json_fail(v, "\"%.100s\" is no key of the aggregate%s", name, hd_suggest_hint(&suggestion));
}

static bool *new_set(struct fe_plan_reader *r, struct fe_node *n)
{
    return n->u.agg.sets[n->u.agg.nsets++] = HD_NEWN(r->arena, bool, n->u.agg.nkeys + 1);
}

static int read_set(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n, const struct fe_column *keys)
{
    bool *set = new_set(r, n);
    struct fe_json m;
    HD_TRY(fe_json_array(v));
    for (bool more = fe_json_first(v, &m); more; more = fe_json_next(&m)) {
        int k;
        HD_TRY(find_key(&m, n, keys, &k));
        if (set[k])
            return fe_json_fail(&m, "key \"%.100s\" is in this set twice", keys[k].name);
        set[k] = true;
    }
    return 0;
}

static int read_list(struct fe_plan_reader *r, const struct fe_json *list, struct fe_node *n,
                     const struct fe_column *keys)
{
    struct fe_json m;
    HD_TRY(fe_json_array(list));
    int count = fe_json_length(list);
    if (count < 1 || count > MAX_SETS)
        return fe_json_fail(list, "expected 1 to %d grouping sets, found %d", MAX_SETS, count);
    n->u.agg.sets = HD_NEWN(r->arena, bool *, count);
    for (bool more = fe_json_first(list, &m); more; more = fe_json_next(&m))
        HD_TRY(read_set(r, &m, n, keys));
    return 0;
}

/* All keys, then all but the last one, and so on. */
static int rollup(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    int nk = n->u.agg.nkeys;
    if (nk >= MAX_SETS)
        return fe_json_fail(v, "expected fewer than %d keys, found %d", MAX_SETS, nk);
    n->u.agg.sets = HD_NEWN(r->arena, bool *, nk + 1);
    for (int last = nk; last >= 0; last--) {
        bool *set = new_set(r, n);
        for (int k = 0; k < last; k++)
            set[k] = true;
    }
    return 0;
}

/* In the order of binary numbers, of which the first key is the first digit: 0 stands for a key that is there. */
static int cube(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n)
{
    int nk = n->u.agg.nkeys;
    if (nk > MAX_CUBE_KEYS)
        return fe_json_fail(v, "expected at most %d keys, found %d", MAX_CUBE_KEYS, nk);
    n->u.agg.sets = HD_NEWN(r->arena, bool *, 1 << nk);
    for (int number = 0; number < 1 << nk; number++) {
        bool *set = new_set(r, n);
        for (int k = 0; k < nk; k++)
            set[k] = !(number >> (nk - 1 - k) & 1);
    }
    return 0;
}

int fe_read_sets(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node *n, struct fe_column *keys)
{
    static const char *const names[] = {"sets", "rollup", "cube"};
    struct fe_json m, at[HD_COUNT(names)];
    bool roll = false, all = false;
    int found = -1;
    HD_TRY(fe_json_opt_bool(v, "rollup", &roll));
    HD_TRY(fe_json_opt_bool(v, "cube", &all));
    for (int i = 0; i < (int)HD_COUNT(names); i++) {
        if (!fe_json_get(v, names[i], &m) || (i == 1 && !roll) || (i == 2 && !all))
            continue;
        if (found >= 0)
            return fe_json_fail(&m, "an aggregate has one of sets, rollup and cube, found %s, too", names[found]);
        at[found = i] = m;
    }
    if (found < 0)
        return 0;
    HD_TRY(found == 0 ? read_list(r, &at[0], n, keys) : found == 1 ? rollup(r, &at[1], n) : cube(r, &at[2], n));
    for (int i = 0; i < n->u.agg.nsets; i++)
        for (int k = 0; k < n->u.agg.nkeys; k++)
            keys[k].nullable |= !n->u.agg.sets[i][k];
    return 0;
}

int fe_read_grouping(struct fe_plan_reader *r, const struct fe_json *arg, const struct fe_node *n,
                     const struct fe_column *keys, struct fe_agg *g)
{
    struct fe_json m;
    if (fe_json_kind(arg) == FE_JSON_STRING) {
        g->of = HD_NEWN(r->arena, int, 1);
        g->nof = 1;
        return find_key(arg, n, keys, g->of);
    }
    if (fe_json_kind(arg) != FE_JSON_ARRAY)
        return fe_json_expected(arg, "the name of a key, or a list of some");
    int count = fe_json_length(arg);
    if (count < 1 || count > MAX_GROUPING)
        return fe_json_fail(arg, "expected 1 to %d keys, found %d", MAX_GROUPING, count);
    g->of = HD_NEWN(r->arena, int, count);
    for (bool more = fe_json_first(arg, &m); more; more = fe_json_next(&m))
        HD_TRY(find_key(&m, n, keys, &g->of[g->nof++]));
    return 0;
}
