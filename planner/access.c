#include "planner/access.h"

enum { CSR_OFFSETS = 16, OFFSET = 8, ROW_NUMBER = 4, TEXT_END = 4, HASH_SLOT = 8, GROUP_SLOT = 8, WORD = 8 };
static const double BIT = 0.125;
/* Tables of keys are at most two thirds full. */
static const double SLOTS_OF_A_ROW = 1.5;

/* An access, and the slot that it is about: of the row, to which more of its fields are added, or of a text. */
struct noted {
    struct rt_access x;
    int slot; /* -1 none */
};

struct accesses {
    const struct ctx *c;
    const struct pl_pipeline *q;
    HD_VEC(struct noted) v;
    int *runs; /* [slot]: the counter of the runs in which its rows are neighbours; -1: they are not */
};

static struct rt_access *add(struct accesses *a, enum rt_access_kind kind, int counter, double items, double stride)
{
    struct rt_access x = {.kind = kind,
                          .counter = counter,
                          .runs = -1,
                          .items = items,
                          .state = -1,
                          .stride = stride,
                          .bytes = stride,
                          .column = -1};
    hd_vec_push(a->c->a, &a->v, (struct noted){x, -1});
    return &a->v.v[a->v.n - 1].x;
}

/* How rows at this slot are met: those of the source one after the other. */
static struct rt_access *add_at(struct accesses *a, int row_slot, int counter, double items, double stride)
{
    bool source = row_slot == a->q->source_slot;
    struct rt_access *x = add(a, source ? RT_ACCESS_SCAN : RT_ACCESS_LOOKUP, counter, items, stride);
    x->runs = source ? -1 : a->runs[row_slot];
    return x;
}

/* More bytes of a state's row at a slot. Fields of one row lie side by side. */
static void add_row(struct accesses *a, int state, int row_slot, int counter, double bytes)
{
    const struct rt_state *s = &a->c->states.v[state];
    for (int i = 0; i < a->v.n; i++) {
        struct rt_access *x = &a->v.v[i].x;
        if (x->state != state || a->v.v[i].slot != row_slot)
            continue;
        x->bytes = HD_MIN(x->bytes + bytes, (double)s->stride);
        return;
    }
    struct rt_access *x = add_at(a, row_slot, counter, 1, s->stride);
    x->state = state;
    x->bytes = bytes;
    a->v.v[a->v.n - 1].slot = row_slot;
}

static double field_bytes(const struct rt_field *f)
{
    return rt_field_size(f) + (f->valid_offset >= 0);
}

static void add_field(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct rt_state *t = &a->c->states.v[s->state];
    double bytes = field_bytes(&t->fields[s->field]);
    if (t->kind == RT_STATE_DIRECT)
        add_at(a, s->row_slot, counter, (double)t->range, bytes);
    else
        add_row(a, s->state, s->row_slot, counter, bytes);
}

static void add_column(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct fe_table_column *col = &s->table->cols[s->column];
    double rows = (double)s->table->rows;
    add_at(a, s->row_slot, counter, rows, col->storage == FE_STORE_TEXT ? TEXT_END : col->width);
    if (s->a_valid >= 0)
        add_at(a, s->row_slot, counter, rows, BIT);
}

/* ---- values ------------------------------------------------------------------------------ */

static const struct pl_step *text_of_slot(const struct pl_pipeline *q, int slot)
{
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        if (s->kind == PL_STEP_LOAD_COLUMN && s->slot == slot && s->table->cols[s->column].storage == FE_STORE_TEXT)
            return s;
    }
    return NULL;
}

/* The strings of a slot are read, the first time that somebody looks into them. */
static void add_text(struct accesses *a, int slot, int counter)
{
    const struct pl_step *s = text_of_slot(a->q, slot);
    if (!s)
        return;
    for (int i = 0; i < a->v.n; i++)
        if (a->v.v[i].x.table && a->v.v[i].slot == slot)
            return;
    struct rt_access *x = add_at(a, s->row_slot, counter, (double)s->table->rows, 0);
    x->table = s->table;
    x->column = s->column;
    a->v.v[a->v.n - 1].slot = slot;
}

static void add_dict(struct accesses *a, const struct rt_arg *arg, int counter)
{
    struct rt_access *x = add(a, RT_ACCESS_LOOKUP, counter, arg->table->cols[arg->column].dict.n, 0);
    x->table = arg->table;
    x->column = arg->column;
}

/* What an expression looks up and reads. A string that is the value itself (bare) is passed on by its address. */
static void add_value(struct accesses *a, int e, int counter, bool bare)
{
    const struct pl_expr *x = &a->c->exprs.v[e];
    if (x->op == FE_LOOKUP) {
        const struct rt_state *s = &a->c->states.v[x->state];
        add(a, RT_ACCESS_LOOKUP, counter, (double)s->range, s->stride);
    } else if (x->op == FE_DICT_STRING) {
        add_dict(a, &a->c->args.v[x->arg], counter);
    } else if (x->op == FE_COL && !bare) {
        add_text(a, x->slot, counter);
    }
    for (int i = 0; i < x->nargs; i++)
        add_value(a, x->args[i], counter, false);
}

/* ---- steps ------------------------------------------------------------------------------- */

static void add_slots(struct accesses *a, const struct pl_step *s, int counter)
{
    struct rt_access *x = add(a, RT_ACCESS_LOOKUP, counter, SLOTS_OF_A_ROW, HASH_SLOT);
    x->state = s->state;
}

/* Keys of the rows that were found, as far as it is known how many these are. */
static void add_found(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct rt_state *t = &a->c->states.v[s->state];
    double bytes = 0;
    for (int i = 0; i < t->nkeys; i++)
        bytes += field_bytes(&t->fields[i]);
    if (s->slot >= 0 && s->probe == PL_INNER)
        add_row(a, s->state, s->slot, counter + 1, bytes);
}

/* Fields of rows that a binary search compares with: the last ones that it looks at are far from others' rows. */
static void add_searched(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct rt_state *t = &a->c->states.v[s->state];
    double bytes = 0;
    for (int i = 0; i < s->nkeys; i++)
        bytes += field_bytes(&t->fields[t->sort[i].field]);
    add(a, RT_ACCESS_LOOKUP, counter, 1, bytes)->state = s->state;
}

static void add_bits(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct rt_state *t = &a->c->states.v[s->state];
    bool indexed = t->range > 0;
    struct rt_access *x =
        s->row_slot >= 0 ? add_at(a, s->row_slot, counter, 1, BIT) : add(a, RT_ACCESS_LOOKUP, counter, 1, BIT);
    if (indexed)
        x->items = (double)t->range;
    else
        x->state = s->state;
}

static void add_present(struct accesses *a, const struct pl_step *s, int counter)
{
    if (rt_state_aggregates(a->c->states.v[s->state].kind))
        add_row(a, s->state, s->row_slot, counter, 1);
    else
        add_bits(a, s, counter);
}

static void add_fk(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct fe_foreign_key *fk = &s->table->fks[s->index];
    add_at(a, s->row_slot, counter, (double)fk->parent->rows + 1, fk->offset_width);
    if (s->a_child_rows < 0) /* children are neighbours in their table, too */
        return;
    struct rt_access *x = add(a, RT_ACCESS_LOOKUP, counter + 1, (double)s->table->rows, ROW_NUMBER);
    x->runs = counter;
    a->runs[s->slot] = -1;
}

static void add_csr(struct accesses *a, const struct pl_step *s, int counter)
{
    struct rt_access *x = add(a, RT_ACCESS_LOOKUP, counter, (double)a->c->states.v[s->state].range + 1, OFFSET);
    x->bytes = CSR_OFFSETS;
}

/* A binary search for both ends: only its last rows are no other search's. The words of what it finds are read, too. */
static void add_search(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct rt_state *t = &a->c->states.v[s->state];
    struct rt_access *x = add(a, RT_ACCESS_LOOKUP, counter, 1, t->stride);
    x->state = s->state;
    x->bytes = 2.0 * WORD * (s->nkeys - 1);
}

static void add_mark(struct accesses *a, const struct pl_step *s, int counter)
{
    add_bits(a, s, counter);
    a->v.v[a->v.n - 1].x.kind = RT_ACCESS_UPDATE;
}

/* The rows at which most searches halve stay in a cache: each takes about one from elsewhere. */
static void add_position(struct accesses *a, const struct pl_step *s, int counter)
{
    const struct rt_state *t = &a->c->states.v[s->state];
    struct rt_access *x = add(a, RT_ACCESS_LOOKUP, counter, 1, t->stride);
    x->state = s->state;
    x->bytes = rt_phys_size(RT_I64);
}

/* Entries of a key index; a positional one has none. */
static void add_key(struct accesses *a, const struct fe_key_index *x, int counter)
{
    const double entry = x->kind == FE_INDEX_BITMAP ? WORD : ROW_NUMBER;
    if (x->kind != FE_INDEX_POSITIONAL)
        add(a, RT_ACCESS_LOOKUP, counter, (double)fe_key_index_bytes(x) / entry, entry);
}

static void add_step(struct accesses *a, const struct pl_step *s, int counter)
{
    switch (s->kind) {
    case PL_STEP_LOAD_COLUMN: add_column(a, s, counter); return;
    case PL_STEP_LOAD_FIELD: add_field(a, s, counter); return;
    case PL_STEP_PROBE_KEY: add_key(a, &s->table->keyidx[s->index], counter); return;
    case PL_STEP_PROBE_CHILD:
        add_fk(a, s, counter);
        add(a, RT_ACCESS_LOOKUP, counter, (double)s->table->rows, s->table->cols[s->column].width);
        return;
    case PL_STEP_PROBE_COLUMN:
    case PL_STEP_EXPAND_COLUMN:
    case PL_STEP_EXPAND_BAND:
        add(a, RT_ACCESS_LOOKUP, counter, (double)s->table->rows, s->table->cols[s->column].width);
        return;
    case PL_STEP_PROBE_BITMAP:
    case PL_STEP_PROBE_DIRECT: add_bits(a, s, counter); return;
    case PL_STEP_PROBE_HASH:
        add_slots(a, s, counter);
        add_found(a, s, counter);
        return;
    case PL_STEP_PROBE_SORTED: add_searched(a, s, counter); return;
    case PL_STEP_EXPAND_HASH: add_slots(a, s, counter); return;
    case PL_STEP_EXPAND_CSR: add_csr(a, s, counter); return;
    case PL_STEP_FOLD:
    case PL_STEP_FOLD_PIECE:
    case PL_STEP_EXPAND_FK: add_fk(a, s, counter); return;
    case PL_STEP_EXPAND_SORTED: add_search(a, s, counter); return;
    case PL_STEP_MARK: add_mark(a, s, counter); return;
    case PL_STEP_TEST: add_bits(a, s, counter); return;
    case PL_STEP_PRESENT: add_present(a, s, counter); return;
    case PL_STEP_SEARCH: add_position(a, s, counter); return;
    case PL_STEP_LET:
    case PL_STEP_FILTER:
    case PL_STEP_FOLD_ADD:
    case PL_STEP_FOLD_END:
    case PL_STEP_EXPAND_ALL:
    case PL_STEP_EXPAND_LATER:
    case PL_STEP_EXPAND_COUNT:
    case PL_STEP_COUNT: return;
    }
}

static void add_values_of_step(struct accesses *a, const struct pl_step *s, int counter)
{
    if (s->expr >= 0)
        add_value(a, s->expr, counter, true);
    for (int i = 0; i < s->nkeys; i++)
        add_value(a, s->keys[i], counter, false);
}

/* ---- sinks ------------------------------------------------------------------------------- */

static void add_appended(struct accesses *a, int counter)
{
    const struct pl_sink *k = &a->q->sink;
    const struct rt_state *s = &a->c->states.v[k->state];
    add(a, RT_ACCESS_APPEND, counter, 0, s->stride);
    for (int i = 0; i < k->ncopies; i++)
        if (k->copies[i].state >= 0)
            add_row(a, k->copies[i].state, k->copies[i].row_slot, counter, k->copies[i].bytes);
}

static void add_groups(struct accesses *a, int counter)
{
    const struct pl_sink *k = &a->q->sink;
    if (!a->c->states.v[k->state].word)
        add(a, RT_ACCESS_UPDATE, counter, SLOTS_OF_A_ROW, GROUP_SLOT)->state = k->state;
    add(a, RT_ACCESS_UPDATE, counter, 1, a->c->states.v[k->state].stride)->state = k->state;
}

static void add_sink(struct accesses *a, int counter)
{
    const struct pl_sink *k = &a->q->sink;
    const struct rt_state *s = &a->c->states.v[k->state];
    double range = (double)s->range;
    switch (k->kind) {
    case PL_SINK_DIRECT:
        for (int i = 0; i < k->nouts; i++)
            add(a, RT_ACCESS_UPDATE, counter, range, field_bytes(&s->fields[k->outs[i].field]));
        add(a, RT_ACCESS_UPDATE, counter, range, BIT);
        return;
    case PL_SINK_BITMAP: add(a, RT_ACCESS_UPDATE, counter, range, BIT); return;
    case PL_SINK_ROWS: add_appended(a, counter); return;
    case PL_SINK_ARRAY: add(a, RT_ACCESS_APPEND, counter, 0, s->stride); return;
    case PL_SINK_AGG_HASH: add_groups(a, counter); return;
    case PL_SINK_AGG_DENSE: add(a, RT_ACCESS_UPDATE, counter, range, s->stride); return;
    case PL_SINK_AGG_SCALAR: return; /* one row */
    }
}

/* Keys and what is compared are read, other strings passed on. */
static bool looks_into(const struct pl_sink *k, const struct rt_state *s, const struct pl_out *o)
{
    bool compared = k->kind != PL_SINK_ROWS && (o->fn == FE_AGG_MIN || o->fn == FE_AGG_MAX);
    return compared || (k->kind == PL_SINK_AGG_HASH && o->field < s->nkeys);
}

static void add_values_of_sink(struct accesses *a, int counter)
{
    const struct pl_sink *k = &a->q->sink;
    if (k->index >= 0)
        add_value(a, k->index, counter, true);
    for (int i = 0; i < k->nouts; i++)
        if (k->outs[i].expr >= 0)
            add_value(a, k->outs[i].expr, counter, !looks_into(k, &a->c->states.v[k->state], &k->outs[i]));
}

/* ---- all --------------------------------------------------------------------------------- */

void pl_seal_accesses(struct ctx *c, const struct pl_pipeline *q)
{
    struct accesses a = {.c = c, .q = q, .runs = HD_NEWN(c->a, int, q->nslots)};
    for (int i = 0; i < q->nslots; i++)
        a.runs[i] = -1;
    for (int i = 0; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        if ((pl_opens_level(s->kind) || pl_opens_fold(s->kind)) && s->slot >= 0) /* children are neighbours */
            a.runs[s->slot] = i;
        add_values_of_step(&a, s, i);
        add_step(&a, s, i);
    }
    add_values_of_sink(&a, q->nsteps);
    add_sink(&a, q->nsteps);
    q->spec->naccesses = a.v.n;
    q->spec->accesses = HD_NEWN(c->a, struct rt_access, a.v.n);
    for (int i = 0; i < a.v.n; i++)
        q->spec->accesses[i] = a.v.v[i].x;
}

void pl_access_atomics(const struct pl_pipeline *q, const struct rt_state *st)
{
    struct rt_access *groups = q->spec->naccesses ? &q->spec->accesses[q->spec->naccesses - 1] : NULL;
    if (groups && groups->kind == RT_ACCESS_UPDATE)
        groups->atomics = q->sink.nouts - st->nkeys;
}
