/* Prints the kinds that pipelines are made of, as lines `category name`, the names as dumps have them:
 * tests/golden/run.py wants each in one of its plans. */
#include <stdio.h>

#include "planner/pipeline.h"

static const char *probe_name(enum pl_probe_kind k)
{
    switch (k) {
    case PL_INNER: return "inner";
    case PL_LEFT: return "left";
    case PL_SEMI: return "semi";
    case PL_ANTI: return "anti";
    case PL_MARK: return "mark";
    }
    return NULL;
}

static const char *source_name(enum rt_source_kind k)
{
    switch (k) {
    case RT_SOURCE_TABLE: return "scan";
    case RT_SOURCE_ROWS: return "rows";
    case RT_SOURCE_INDEX: return "indexes";
    case RT_SOURCE_DICT: return "dictionary";
    }
    return NULL;
}

/* Kinds are numbered from 0; no name: there are no more. */
#define PRINT(category, name, type) \
    for (int k = 0; name((type)k); k++) \
    printf("%s %s\n", category, name((type)k))

int main(void)
{
    for (int k = 0; k < PL_STEP_COUNT; k++)
        printf("step %s\n", pl_step_name((enum pl_step_kind)k));
    PRINT("probe", probe_name, enum pl_probe_kind);
    PRINT("source", source_name, enum rt_source_kind);
#define T_SINK(id, name, ...) puts("sink " name);
#include "planner/sinks.def"
#define P_PLACE(id, name, sinks, flags, alone, beside, unit, text) puts("place " text);
#define P_CACHE(id, name, limit, unit, text)                       puts("cache " text);
#include "planner/places.def"
#define S_STATE(id, stem, name, filling, aggregate, head) puts("state " name);
#include "runtime/states.def"
#define X(id, name) puts("shape " name);
    RT_SHAPES(X)
#undef X
    return 0;
}
