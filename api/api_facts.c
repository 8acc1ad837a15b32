#include "api/api_facts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/zones.h"
#include "planner/wanted.h"
#include "runtime/base/fault.h"
#include "runtime/io/arrow_table.h"
#include "runtime/store/store_count.h"
#include "runtime/store/store_facts.h"
#include "runtime/store/store_stage.h"

/* Of a registered table. One thread computes at a time; others that want facts of the table wait, and find them then. */
struct api_facts {
    pthread_mutex_t mutex;
    pthread_cond_t idle;
    bool busy;
    int ncols;
    struct column {
        struct fe_facts facts; /* known: in place of those of the table */
        enum rt_facts_level level;
        struct fe_zone *zones; /* of a column that has them; never changed once there */
    } column[];
};

struct api_facts *api_facts_new(int ncols)
{
    struct api_facts *f = hd_try_calloc(1, sizeof *f + (size_t)ncols * sizeof *f->column);
    if (!f)
        return NULL;
    f->ncols = ncols;
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->idle, NULL);
    return f;
}

void api_facts_free(struct api_facts *f)
{
    if (!f)
        return;
    for (int c = 0; c < f->ncols; c++)
        free(f->column[c].zones);
    pthread_mutex_destroy(&f->mutex);
    pthread_cond_destroy(&f->idle);
    free(f);
}

/* ---- computing ------------------------------------------------------------------------------- */

struct work {
    int threads;
    const char *dir; /* for large arrays; NULL: memory */
    struct rt_memory *memory; /* that they count in */
    const struct hd_stop *stop;
    struct rt_pool *pool; /* NULL: not needed yet */
};

static bool has(const struct api_facts *f, int column, enum rt_facts_level level)
{
    return f->column[column].facts.known && f->column[column].level >= level;
}

static bool is_known(struct api_facts *f, int column, enum rt_facts_level level)
{
    pthread_mutex_lock(&f->mutex);
    bool known = has(f, column, level);
    pthread_mutex_unlock(&f->mutex);
    return known;
}

/* Of a known one: distinct values were counted. */
static bool is_exact(struct api_facts *f, int column)
{
    pthread_mutex_lock(&f->mutex);
    bool exact = f->column[column].facts.distinct_exact;
    pthread_mutex_unlock(&f->mutex);
    return exact;
}

/* Waits until nobody computes. Under the mutex; cancels are seen within 20 ms. */
static int wait_until_idle(struct api_facts *f, const struct hd_stop *stop, struct hd_err *err)
{
    while (f->busy) {
        struct timespec until;
        if (hd_stopped(stop))
            return HD_FAIL(err, CANCELLED, NULL, "cancelled");
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&f->idle, &f->mutex, &until);
    }
    return 0;
}

/* Threads are made where a block is not all there is. */
static int make_pool(struct work *w, int64_t rows, struct hd_err *err)
{
    int threads = rows > RT_BLOCK_ROWS ? w->threads : 1;
    if (w->pool && rt_pool_threads(w->pool) >= threads)
        return 0;
    rt_pool_free(w->pool);
    w->pool = NULL;
    HD_TRY(rt_pool_new(threads, &w->pool, err));
    rt_pool_stop_by(w->pool, w->stop);
    return 0;
}

/* The pass over the column finds its zones, too: room for them, or NULL where it has none, where there may be no pass (the level
 * can fall), or no memory. */
static struct fe_zone *zones_of(const struct fe_table *t, int column, enum rt_facts_level level)
{
    const struct fe_table_column *c = &t->cols[column];
    bool passes = !t->device && (level == RT_FACTS_ALL || c->storage == FE_STORE_INT || c->storage == FE_STORE_DICT);
    bool has = passes && fe_column_has_zones(c) && t->rows > FE_ZONE_ROWS;
    return has ? hd_try_calloc((size_t)fe_zones_of(t->rows), sizeof(struct fe_zone)) : NULL;
}

static uint64_t bytes_of(const struct fe_table *t, int column)
{
    return (uint64_t)t->rows * ((uint64_t)t->cols[column].width + 1);
}

/* Of a column in the host's memory, or of a copy of it there. */
static int compute_there(const struct api_table *of, int column, enum rt_facts_level level, struct work *w,
                         struct column *out, struct hd_err *err)
{
    const struct fe_table *t = of->table;
    struct fe_table_column copy;
    void *memory;
    if (!t->device)
        return rt_facts_compute(&t->cols[column], t->rows, level, w->pool, w->dir, &out->facts, out->zones, err);
    if (!rt_memory_reserve(w->memory, bytes_of(t, column)))
        return HD_FAIL(err, RESOURCE, t->name, "no memory for a copy of column \"%s\"", t->cols[column].name);
    int rc = rt_memtable_fetch(of->mem, column, &copy, &memory, err);
    if (rc == 0) {
        rc = rt_facts_compute(&copy, t->rows, level, w->pool, w->dir, &out->facts, NULL, err);
        free(memory);
    }
    rt_memory_unreserve(w->memory, bytes_of(t, column));
    return rc;
}

/* *level falls to estimates where the limit leaves no memory to count in. */
static int compute(const struct api_table *of, int column, enum rt_facts_level *level, struct work *w,
                   struct column *out, struct hd_err *err)
{
    const struct fe_table *t = of->table;
    /* an array of counters, RT_DENSE_RATIO of 4 bytes a row, is the most that counting takes */
    uint64_t bytes = *level == RT_FACTS_ESTIMATED ? 0 : (uint64_t)t->rows * RT_DENSE_RATIO * sizeof(uint32_t);
    HD_TRY(make_pool(w, t->rows, err));
    if (!rt_memory_reserve(w->memory, bytes)) {
        if (*level == RT_FACTS_ALL)
            return HD_FAIL(err, RESOURCE, t->name, "no memory to count distinct values");
        *level = RT_FACTS_ESTIMATED;
        bytes = 0;
    }
    int rc = compute_there(of, column, *level, w, out, err);
    rt_memory_unreserve(w->memory, bytes);
    return rc;
}

/* Under the mutex. Views may have the zones that are there. */
static void keep(struct column *c, const struct column *found, enum rt_facts_level level)
{
    c->facts = found->facts;
    c->level = level;
    if (found->zones)
        c->zones = found->zones;
}

/* *known: they were there. */
static int learn_column(const struct api_table *of, int column, enum rt_facts_level level, struct work *w, bool *known,
                        struct hd_err *err)
{
    struct api_facts *f = of->facts;
    struct column found = {.zones = NULL};
    pthread_mutex_lock(&f->mutex);
    int rc = wait_until_idle(f, w->stop, err);
    *known = rc == 0 && has(f, column, level);
    f->busy |= rc == 0 && !*known;
    pthread_mutex_unlock(&f->mutex);
    if (rc != 0 || *known)
        return rc;
    found.zones = f->column[column].zones ? NULL : zones_of(of->table, column, level);
    rc = compute(of, column, &level, w, &found, err);
    pthread_mutex_lock(&f->mutex);
    if (rc == 0)
        keep(&f->column[column], &found, level);
    else
        free(found.zones);
    f->busy = false;
    pthread_cond_broadcast(&f->idle);
    pthread_mutex_unlock(&f->mutex);
    return rc;
}

static int complete(heddle_database *db, struct api_table *t, struct hd_err *err)
{
    struct api_engine *engine;
    HD_TRY(api_engine_get(db->context, &engine, err));
    struct work w = {.threads = db->context->threads, .dir = db->context->temp_dir, .memory = &engine->memory};
    int rc = 0;
    bool known;
    for (int c = 0; c < t->table->ncols && rc == 0; c++)
        if (!t->table->device || t->table->cols[c].storage != FE_STORE_TEXT)
            rc = learn_column(t, c, RT_FACTS_ALL, &w, &known, err);
    rt_pool_free(w.pool);
    return rc;
}

int heddle_database_compute_facts(heddle_database *db, const char *table, heddle_error **err)
{
    struct hd_err e;
    int rc = 0;
    API_NEED(db, err);
    API_NEED(table, err);
    hd_err_init(&e);
    struct api_snapshot *s = api_database_snapshot(db);
    int i = api_snapshot_find(s, table);
    if (i < 0)
        rc = HD_FAIL(&e, USER, table, "no such table");
    else if (s->owners[i]->facts)
        rc = complete(db, s->owners[i], &e);
    api_snapshot_release(s);
    return api_finish(rc, &e, err);
}

/* ---- views ----------------------------------------------------------------------------------- */

static int copy_table(struct hd_arena *a, const struct api_table *base, struct fe_table **out)
{
    const struct fe_table *t = base->table;
    struct fe_table *copy = hd_dup(a, t, sizeof *t);
    copy->cols = hd_dup(a, t->cols, (size_t)t->ncols * sizeof *t->cols);
    copy->fks = hd_dup(a, t->fks, (size_t)t->nfks * sizeof *t->fks);
    if (base->facts)
        pthread_mutex_lock(&base->facts->mutex);
    for (int c = 0; c < t->ncols && base->facts; c++)
        if (base->facts->column[c].facts.known) {
            copy->cols[c].facts = base->facts->column[c].facts;
            copy->cols[c].zones = base->facts->column[c].zones;
        }
    if (base->facts)
        pthread_mutex_unlock(&base->facts->mutex);
    *out = copy;
    return 0;
}

static struct api_table *view_of(struct api_table *base, struct hd_err *err)
{
    int rc;
    struct api_table *view = api_table_new(NULL, NULL);
    if (!view) {
        HD_FAIL(err, RESOURCE, base->table->name, "out of memory");
        return NULL;
    }
    atomic_fetch_add(&base->refs, 1);
    view->of = base;
    HD_GUARDED(rc, NULL, err, copy_table(&view->arena, base, &view->table));
    if (rc == 0)
        return view;
    api_table_release(view);
    return NULL;
}

/* What is known of it later: facts, and which tables its keys refer to. */
static bool has_views(const struct api_table *t)
{
    return t->facts || t->keys;
}

/* Foreign keys refer to the tables of this snapshot. One whose parent is not there any more still leads by its index from that
 * one's rows, which are kept, and tells nothing of another table of the name: of all, to be listed, it is left out. */
static void refer(const struct api_snapshot *s, struct fe_table *t, bool all)
{
    int n = 0;
    for (int k = 0; k < t->nfks; k++) {
        struct fe_foreign_key f = t->fks[k];
        int i = 0;
        while (i < s->cat.ntables && s->cat.tables[i]->id != f.parent->id)
            i++;
        if (i < s->cat.ntables)
            f.parent = s->cat.tables[i];
        if (i < s->cat.ntables || !all)
            t->fks[n++] = f;
    }
    t->nfks = n;
}

int api_facts_views(const struct api_snapshot *from, const bool *which, struct api_snapshot **out, struct hd_err *err)
{
    struct api_snapshot *to = api_snapshot_with(from, NULL, 0);
    if (!to)
        return HD_FAIL(err, RESOURCE, NULL, "out of memory");
    for (int i = 0; i < to->cat.ntables; i++) {
        if (!has_views(to->owners[i]) || (which && !which[i]))
            continue;
        struct api_table *view = view_of(to->owners[i], err);
        if (!view) {
            api_snapshot_release(to);
            return -1;
        }
        api_table_release(to->owners[i]);
        to->owners[i] = view;
        to->cat.tables[i] = view->table;
    }
    for (int i = 0; i < to->cat.ntables; i++)
        if (to->owners[i]->of)
            refer(to, to->cat.tables[i], !which);
    *out = to;
    return 0;
}

/* ---- a statement ----------------------------------------------------------------------------- */

/* X(id, text) */
#define API_LEARNED(X) \
    X(COMPUTED, "computed") \
    X(KNOWN, "known") \
    X(COSTLY, "not computed: it costs more than the plan gains") \
    X(REFUSED, "not computed: there is no memory for it") \
    X(NEVER, "not computed: registered without facts")
enum api_how {
#define X(id, text) API_LEARNED_##id,
    API_LEARNED(X)
#undef X
};

struct api_learned {
    int n;
    struct api_learned_fact {
        const struct pl_wanted_fact *wanted;
        const char *table, *column;
        enum api_how how;
        bool exact; /* distinct values were counted */
        double ms;
    } *v;
    const char *why; /* nothing was wanted, or NULL */
};

static int table_number(const struct api_snapshot *s, const struct fe_table *t)
{
    for (int i = 0; i < s->cat.ntables; i++)
        if (s->cat.tables[i] == t)
            return i;
    HD_BUG("a table of no snapshot");
}

/* The plan's tables that may be without facts: any, and by number those that a view is made of. */
struct scanned {
    const struct api_snapshot *of, *views;
    bool *which, any, learns;
};

static void note_scan(void *ctx, struct fe_node *n)
{
    struct scanned *x = ctx;
    int i = table_number(x->of, n->u.scan.table);
    const struct fe_table *t = n->u.scan.table;
    for (int c = 0; c < t->ncols; c++)
        x->any |= x->of->owners[i]->mem && !t->cols[c].facts.known;
    x->which[i] = has_views(x->of->owners[i]);
    x->learns |= x->which[i];
}

static void use_view(void *ctx, struct fe_node *n)
{
    const struct scanned *x = ctx;
    n->u.scan.table = x->views->cat.tables[table_number(x->of, n->u.scan.table)];
}

static int find_wanted(struct heddle_statement *s, struct scanned *x)
{
    struct pl_wanted wanted;
    x->which = HD_NEWN(&s->arena, bool, s->tables->cat.ntables + 1);
    fe_plan_scans(s->plan, note_scan, x);
    if (!x->any)
        return 0;
    pl_facts_wanted(&s->arena, s->plan, secure_getenv("HEDDLE_FACTS_ALWAYS") != NULL, &wanted);
    struct api_learned *l = HD_NEW(&s->arena, struct api_learned);
    l->n = wanted.n;
    l->why = wanted.why;
    l->v = HD_NEWN(&s->arena, struct api_learned_fact, wanted.n + 1);
    for (int i = 0; i < wanted.n; i++) {
        const struct pl_wanted_fact *f = &wanted.v[i];
        l->v[i] =
            (struct api_learned_fact){f, f->table->name, f->table->cols[f->column].name, API_LEARNED_COSTLY, false, 0};
    }
    s->learned = l;
    return 0;
}

/* A failure for want of memory is no failure of the plan. */
static int learn_one(const struct heddle_statement *s, struct api_learned_fact *x, struct work *w, struct hd_err *err)
{
    const struct pl_wanted_fact *f = x->wanted;
    const struct api_table *of = s->tables->owners[table_number(s->tables, f->table)];
    struct api_facts *facts = of->facts;
    enum rt_facts_level level = f->counts ? RT_FACTS_UNIQUE : RT_FACTS_ESTIMATED;
    double start = api_now_ms();
    struct hd_err e;
    bool known;
    if (!facts) {
        x->how = API_LEARNED_NEVER;
        return 0;
    }
    if (!f->pays && !is_known(facts, f->column, level))
        return 0;
    hd_err_init(&e);
    if (learn_column(of, f->column, level, w, &known, &e) == 0) {
        x->how = known ? API_LEARNED_KNOWN : API_LEARNED_COMPUTED;
        x->ms = api_now_ms() - start;
        x->exact = is_exact(facts, f->column);
        return 0;
    }
    if (e.class != HD_ERR_RESOURCE) {
        *err = e;
        return -1;
    }
    hd_err_release(&e);
    x->how = API_LEARNED_REFUSED;
    return 0;
}

static int learn_all(struct heddle_statement *s, struct hd_err *err)
{
    const heddle_context *c = s->db->context;
    struct work w = {.threads = s->threads, .dir = c->temp_dir, .memory = &s->engine->memory, .stop = &s->cancel.flag};
    int rc = 0;
    for (int i = 0; i < s->learned->n && rc == 0; i++)
        rc = learn_one(s, &s->learned->v[i], &w, err);
    rt_pool_free(w.pool);
    return rc;
}

static int learn(struct heddle_statement *s, struct hd_err *err)
{
    int rc;
    struct scanned x = {.of = s->tables};
    struct api_snapshot *views;
    HD_GUARDED(rc, &s->cancel.flag, err, find_wanted(s, &x));
    HD_TRY(rc);
    if (s->learned)
        HD_TRY(learn_all(s, err));
    if (!x.learns)
        return 0;
    HD_TRY(api_facts_views(s->tables, x.which, &views, err));
    x.views = views;
    fe_plan_scans(s->plan, use_view, &x);
    api_snapshot_release(s->tables);
    s->tables = views;
    return 0;
}

int api_statement_learn(struct heddle_statement *s, struct hd_err *err)
{
    if (s->has_learned || s->is_part)
        return 0;
    double start = api_now_ms();
    int rc = learn(s, err);
    s->facts_ms += api_now_ms() - start;
    s->has_learned = rc == 0;
    if (rc != 0)
        s->learned = NULL;
    return rc;
}

/* ---- explain and report ---------------------------------------------------------------------- */

static const char *how_text(enum api_how how)
{
    static const char *const text[] = {
#define X(id, name) name,
        API_LEARNED(X)
#undef X
    };
    return text[how];
}

void api_facts_show_learned(const struct heddle_statement *s, struct hd_strbuf *out)
{
    const struct api_learned *l = s->learned;
    if (!l)
        return;
    if (l->why)
        hd_strbuf_addf(out, "none: %s\n", l->why);
    for (int i = 0; i < l->n; i++) {
        const struct api_learned_fact *f = &l->v[i];
        bool sep = false;
        hd_strbuf_addf(out, "%s.%s (", f->table, f->column);
        for (int u = 0; u < PL_FACT_USES; u++)
            if (f->wanted->uses >> u & 1) {
                hd_strbuf_addf(out, "%s%s", sep ? ", " : "", pl_fact_use_text((enum pl_fact_use)u));
                sep = true;
            }
        hd_strbuf_addf(out, "): %s", how_text(f->how));
        if (f->how == API_LEARNED_COMPUTED)
            hd_strbuf_addf(out, ", %s, %.3f ms", f->exact ? "counted" : "estimated", f->ms);
        hd_strbuf_addc(out, '\n');
    }
}

int api_facts_show(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    size_t before = out->n;
    HD_TRY(api_statement_learn(s, err));
    api_facts_show_learned(s, out);
    if (out->n == before)
        hd_strbuf_adds(out, s->learned ? "none: the tables have what the plan asks for\n"
                                       : "none: the tables have theirs from when they were made\n");
    return 0;
}

static void report_fact(struct hd_strbuf *b, const struct api_learned_fact *f)
{
    bool sep = false;
    hd_strbuf_adds(b, "{\"table\":");
    hd_strbuf_add_json(b, f->table, strlen(f->table));
    hd_strbuf_adds(b, ",\"column\":");
    hd_strbuf_add_json(b, f->column, strlen(f->column));
    hd_strbuf_addf(b, ",\"exact\":%s,\"uses\":[", f->exact ? "true" : "false");
    for (int u = 0; u < PL_FACT_USES; u++)
        if (f->wanted->uses >> u & 1) {
            hd_strbuf_addf(b, "%s\"%s\"", sep ? "," : "", pl_fact_use_text((enum pl_fact_use)u));
            sep = true;
        }
    hd_strbuf_addf(b, "],\"how\":\"%s\",\"ms\":%.3f}", how_text(f->how), f->ms);
}

void api_facts_report(struct hd_strbuf *b, const struct heddle_statement *s)
{
    hd_strbuf_adds(b, ",\"facts\":[");
    for (int i = 0; s->learned && i < s->learned->n; i++) {
        hd_strbuf_adds(b, i ? "," : "");
        report_fact(b, &s->learned->v[i]);
    }
    hd_strbuf_adds(b, "]");
}
