#include "runtime/gpu/gpu_sources.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/fault.h"

enum {
    SOURCES_MIN = 32,     /* that many are left to the cores to compile side by side */
    UNITS_MAX = 8,        /* beyond, a source costs what its units do */
    SMALL_BYTES = 1 << 15 /* a unit of more text is compiled alone */
};

/* ---- which units go together ------------------------------------------------------------ */

/* A source that takes further units. Only units that call libraries are compiled as relocatable
 * code (codegen/cuda_pipeline.c), so there is one for each kind. */
struct open_sources {
    int max;   /* units of a source */
    int at[2]; /* plain, relocatable; -1: none */
};

static bool is_full(const struct rt_gpu_sources *s, const struct open_sources *open, int kind)
{
    return open->at[kind] < 0 || s->v[open->at[kind]].nunits == open->max;
}

static int source_of(struct rt_gpu_sources *s, struct open_sources *open, const struct rt_unit *u)
{
    int kind = u->libraries != 0;
    if (u->size > SMALL_BYTES)
        return s->n++;
    if (is_full(s, open, kind))
        open->at[kind] = s->n++;
    return open->at[kind];
}

static void assign(struct rt_gpu_sources *s, const struct rt_unit *units, int n)
{
    struct open_sources open = {HD_MAX(HD_MIN(n / SOURCES_MIN, UNITS_MAX), 1), {-1, -1}};
    for (int i = 0; i < n; i++) {
        s->of[i] = source_of(s, &open, &units[i]);
        struct rt_gpu_source *source = &s->v[s->of[i]];
        if (source->nunits++ == 0) {
            source->name = units[i].entry;
            source->text = units[i].text;
        }
        source->libraries |= units[i].libraries;
        source->first = source->nunits == 1 ? units[i].first : NULL;
    }
}

/* ---- their text ------------------------------------------------------------------------- */

/* Units name their rows by state and may share states, hence a namespace for each. */
#define BEGIN "namespace in_"
#define OPEN  " {\n"
#define CLOSE "}\n"

static size_t joined_bytes(const struct rt_unit *u)
{
    return u->size + strlen(u->entry) + strlen(BEGIN OPEN CLOSE);
}

static int make_room(struct rt_gpu_sources *s, const struct rt_unit *units, int n, struct hd_err *err)
{
    for (int i = 0; i < n; i++)
        s->v[s->of[i]].size += joined_bytes(&units[i]);
    for (int i = 0; i < s->n; i++) {
        struct rt_gpu_source *source = &s->v[i];
        if (source->nunits < 2)
            continue;
        source->text = source->joined = hd_try_calloc(source->size + 1, 1);
        source->size = 0;
        if (!source->joined)
            return HD_FAIL(err, RESOURCE, NULL, "out of memory for sources");
    }
    return 0;
}

static void add(struct rt_gpu_source *to, const char *text, size_t n)
{
    if (to->joined) {
        memcpy(to->joined + to->size, text, n);
        to->size += n;
    }
}

static void add_code(struct rt_gpu_source *to, const struct rt_unit *u)
{
    add(to, BEGIN, strlen(BEGIN));
    add(to, u->entry, strlen(u->entry));
    add(to, OPEN, strlen(OPEN));
    add(to, u->text + u->head, u->size - u->head);
    add(to, CLOSE, strlen(CLOSE));
}

/* The heads first: includes stand outside of namespaces. All units of a source have the same
 * options, of which the first ones count and the others are comments. */
static void join(struct rt_gpu_sources *s, const struct rt_unit *units, int n)
{
    for (int i = 0; i < n; i++)
        add(&s->v[s->of[i]], units[i].text, units[i].head);
    for (int i = 0; i < n; i++)
        add_code(&s->v[s->of[i]], &units[i]);
}

/* ---- all of them ------------------------------------------------------------------------ */

int rt_gpu_sources_init(struct rt_gpu_sources *s, const struct rt_unit *units, int n, struct hd_err *err)
{
    *s = (struct rt_gpu_sources){0};
    s->v = hd_try_calloc((size_t)n + 1, sizeof *s->v);
    s->of = hd_try_calloc((size_t)n + 1, sizeof *s->of);
    if (!s->v || !s->of)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory for sources");
    assign(s, units, n);
    HD_TRY(make_room(s, units, n, err));
    join(s, units, n);
    return 0;
}

void rt_gpu_sources_release(struct rt_gpu_sources *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->v[i].joined);
    free(s->v);
    free(s->of);
    *s = (struct rt_gpu_sources){0};
}
