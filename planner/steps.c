#include "planner/steps.h"

#include "runtime/base/util.h"

static const struct pl_step_form forms[] = {
#define T_STEP(id, text, yields, reads, subject, tile) \
    {text, PL_YIELDS_##yields, PL_READS_##reads, PL_OF_##subject, tile},
#include "planner/steps.def"
};

static const enum pl_children children[] = {
#define T_LEVEL(id, text, reads, subject, children, ...) [PL_STEP_EXPAND_##id] = PL_CHILDREN_##children,
#include "planner/levels.def"
};

const struct pl_step_form *pl_step_form(enum pl_step_kind k)
{
    return &forms[k];
}

const char *pl_step_name(enum pl_step_kind k)
{
    return forms[k].name;
}

bool pl_opens_level(enum pl_step_kind k)
{
    return forms[k].yields == PL_YIELDS_MANY;
}

bool pl_opens_fold(enum pl_step_kind k)
{
    return k == PL_STEP_FOLD || k == PL_STEP_FOLD_PIECE;
}

bool pl_children_are_many(enum pl_step_kind k)
{
    return pl_children(k) == PL_CHILDREN_ALL || pl_children(k) == PL_CHILDREN_COUNT;
}

enum pl_children pl_children(enum pl_step_kind k)
{
    HD_ASSERT(pl_opens_level(k));
    return children[k];
}
