/* Reads the operator pairs: each unordered pair of distinct rows of one input (docs/plan.md 1). */
#include <string.h>

#include "frontend/plan_read.h"

static int read_aliases(const struct fe_json *v, const char **aliases)
{
    struct fe_json list, e;
    HD_TRY(fe_json_need(v, "aliases", &list));
    HD_TRY(fe_json_array(&list));
    if (fe_json_length(&list) != 2)
        return fe_json_fail(&list, "expected two aliases, one for each row of a pair, found %d", fe_json_length(&list));
    fe_json_first(&list, &e);
    HD_TRY(fe_json_name(&e, &aliases[0]));
    fe_json_next(&e);
    HD_TRY(fe_json_name(&e, &aliases[1]));
    if (strcmp(aliases[0], aliases[1]) == 0)
        return fe_json_fail(&e, "the two aliases must differ, found \"%.100s\" twice", aliases[0]);
    return 0;
}

int fe_read_PAIRS(struct fe_plan_reader *r, const struct fe_json *v, struct fe_node **out)
{
    HD_TRY(fe_json_object(v, "op", "comment", "input", "aliases", "pred", NULL));
    struct fe_node *n = fe_new_node(r, v, FE_PAIRS_OP, 1);
    HD_TRY(fe_read_input(r, v, "input", &n->inputs[0]));
    HD_TRY(read_aliases(v, n->u.pairs.aliases));
    int half = n->inputs[0]->ncols;
    struct fe_column *cols = HD_NEWN(r->arena, struct fe_column, 2 * half);
    for (int i = 0; i < 2 * half; i++) {
        cols[i] = n->inputs[0]->cols[i % half];
        cols[i].name = hd_asprintf(r->arena, "%s.%s", n->u.pairs.aliases[i / half], cols[i].name);
    }
    HD_TRY(fe_set_columns(r, v, n, 2 * half, cols));
    struct fe_scope scope = fe_scope_of(n);
    *out = n;
    return fe_read_condition(r, v, "pred", &scope, &n->u.pairs.pred);
}
