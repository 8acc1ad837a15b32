/* Rules of steps: what each kind reads and yields, and that rows and slots are there before. */
#include <limits.h>

#include "planner/verify.h"

#define S(kind) VF_BIT(RT_STATE_##kind)
#define P(kind) VF_BIT(PL_##kind)
enum {
    ALL_PROBES = 1u << PL_INNER | 1u << PL_LEFT | 1u << PL_SEMI | 1u << PL_ANTI | 1u << PL_MARK,
    EXPANDS = 1u << PL_INNER | 1u << PL_LEFT
};

/* What planner/verify_steps.def says. */
static const struct form {
    unsigned states; /* kinds that it can read; 0: reads none */
    unsigned probes; /* kinds that it can do; 0: is no probe */
} forms[PL_STEP_COUNT] = {
#define V_STEP(step, states, probes) [PL_STEP_##step] = {states, probes},
#include "planner/verify_steps.def"
};

static const struct form *form_of(const struct pl_step *s)
{
    return &forms[s->kind];
}

static bool has(const struct pl_step *s, enum pl_reads what)
{
    return pl_step_form(s->kind)->reads == what;
}

static bool reads_table(const struct pl_step *s)
{
    enum pl_subject of = pl_step_form(s->kind)->subject;
    return of == PL_OF_COLUMN || of == PL_OF_KEYIDX || of == PL_OF_FK || of == PL_OF_ORDER;
}

/* ---- slots ---------------------------------------------------------------------------------- */

static bool yields(const struct pl_step *s)
{
    return form_of(s)->probes ? s->probe != PL_SEMI && s->probe != PL_ANTI
                              : pl_step_form(s->kind)->yields == PL_YIELDS_ONE;
}

static bool check_slot(struct vf *v, const struct pl_step *s, int at)
{
    if (!yields(s)) {
        VF_CHECK(v, STEP_SLOT, s->slot == -1);
        return true;
    }
    VF_CHECK(v, STEP_SLOT, s->slot >= 0 && s->slot < v->p->nslots);
    VF_CHECK(v, SLOT_TWICE, v->set_by[s->slot] == INT_MAX);
    v->set_by[s->slot] = at + 1;
    if (form_of(s)->probes) {
        const struct pl_slot *slot = &v->p->slots[s->slot];
        VF_CHECK(v, PROBE_SLOT, slot->phys == (s->probe == PL_MARK ? RT_BOOL : RT_I32) && !slot->nullable);
    }
    return true;
}

bool vf_row_read(struct vf *v, int slot, int at, const struct fe_table *table, int state, bool may_miss)
{
    VF_CHECK(v, STEP_ROW, slot >= 0 && slot < v->p->nslots);
    VF_CHECK(v, STEP_ROW, v->p->slots[slot].phys == RT_I32 && !v->p->slots[slot].nullable);
    VF_CHECK(v, SLOT_DEFINED, v->set_by[slot] <= at);
    const struct vf_row *r = &v->rows[slot];
    VF_CHECK(v, ROW_OF, !r->known || (r->table == table && r->state == state));
    VF_CHECK(v, ROW_MISSING, !r->missing || may_miss);
    return true;
}

static bool check_row(struct vf *v, const struct pl_step *s, int at)
{
    const struct fe_table *t = s->table;
    if (!has(s, PL_READS_ROW) && !has(s, PL_READS_BOTH)) {
        VF_CHECK(v, STEP_ROW, s->row_slot == -1);
        return true;
    }
    if (pl_step_form(s->kind)->subject == PL_OF_FK)
        t = s->table->fks[s->index].parent;
    bool bits = s->state >= 0 && v->spec->states[s->state].kind == RT_STATE_BITMAP; /* of a table's rows */
    return vf_row_read(v, s->row_slot, at, t, bits ? -1 : s->state, s->row_nullable);
}

/* What the slot that a step sets is known to name. */
static void note_row(struct vf *v, const struct pl_step *s)
{
    if (s->slot < 0)
        return;
    struct vf_row *r = &v->rows[s->slot];
    if (form_of(s)->probes && s->probe != PL_MARK)
        *r = (struct vf_row){true, s->table, s->state, s->probe == PL_LEFT && !pl_opens_fold(s->kind)};
    if (s->kind == PL_STEP_LOAD_FIELD && v->p->slots[s->slot].phys == RT_I32 && !v->p->slots[s->slot].nullable) {
        *r = v->field_rows[s->state][s->field];
        r->missing |= s->row_nullable;
    }
}

/* ---- tables and states ------------------------------------------------------------------------ */

static bool check_table(struct vf *v, const struct pl_step *s)
{
    if (!reads_table(s))
        return true;
    VF_CHECK(v, STEP_TABLE, s->table);
    if (s->kind == PL_STEP_LOAD_COLUMN)
        VF_CHECK(v, STEP_COLUMN, s->column >= 0 && s->column < s->table->ncols);
    if (s->kind == PL_STEP_PROBE_KEY)
        VF_CHECK(v, STEP_INDEX,
                 s->index >= 0 && s->index < s->table->nkeyidx && s->table->keyidx[s->index].kind != FE_INDEX_NONE);
    if (pl_step_form(s->kind)->subject == PL_OF_FK)
        VF_CHECK(v, STEP_INDEX,
                 s->index >= 0 && s->index < s->table->nfks && s->table->fks[s->index].offsets &&
                     s->table->fks[s->index].n_columns == 1);
    VF_CHECK(v, SORTED_CHILDREN,
             s->kind != PL_STEP_PROBE_CHILD || pl_children_are_sorted(s->table, s->index, s->column));
    VF_CHECK(v, SORTED_COLUMN,
             pl_step_form(s->kind)->subject != PL_OF_ORDER || pl_column_is_sorted(s->table, s->column));
    return true;
}

static bool check_state(struct vf *v, const struct pl_step *s)
{
    unsigned kinds = form_of(s)->states;
    VF_CHECK(v, STEP_STATE, kinds ? vf_state_is(v, s->state, kinds) : s->state == -1);
    if (s->kind == PL_STEP_LOAD_FIELD)
        VF_CHECK(v, STEP_FIELD, s->field >= 0 && s->field < v->spec->states[s->state].nfields);
    if (s->kind == PL_STEP_MARK || s->kind == PL_STEP_TEST)
        VF_CHECK(v, MATCH_BITS, v->spec->states[s->state].track_matches);
    return true;
}

static bool is_column_phys(const struct fe_table_column *c, enum rt_phys p)
{
    switch (c->storage) {
    case FE_STORE_TEXT: return p == RT_STR;
    case FE_STORE_DICT: return p == RT_I32;
    case FE_STORE_F64: return p == RT_F64;
    case FE_STORE_F32: return p == RT_F32;
    case FE_STORE_INT: return c->type.kind == HD_BOOL ? p == RT_BOOL : p == RT_I32 || p == RT_I64 || p == RT_I128;
    }
    return false;
}

/* NULL stands as -1 where the slot has no room for it: row ids. */
static bool holds_null(const struct pl_slot *s, bool null)
{
    return s->nullable || !null || s->phys == RT_I32;
}

static bool check_load(struct vf *v, const struct pl_step *s)
{
    const struct pl_slot *slot = &v->p->slots[s->slot];
    if (s->kind == PL_STEP_LOAD_COLUMN) {
        VF_CHECK(v, COLUMN_TYPE, is_column_phys(&s->table->cols[s->column], slot->phys));
        VF_CHECK(v, LOAD_NULL, slot->nullable || (s->a_valid < 0 && !s->row_nullable));
    }
    if (s->kind == PL_STEP_LOAD_FIELD) {
        const struct rt_field *f = &v->spec->states[s->state].fields[s->field];
        VF_CHECK(v, FIELD_TYPE, f->phys == slot->phys);
        VF_CHECK(v, LOAD_NULL, holds_null(slot, f->valid_offset >= 0 || s->row_nullable));
    }
    return true;
}

/* ---- expressions ------------------------------------------------------------------------------ */

static bool check_expr(struct vf *v, const struct pl_step *s, int at)
{
    VF_CHECK(v, STEP_EXPR, (has(s, PL_READS_EXPR) || has(s, PL_READS_BOTH)) == (s->expr >= 0));
    if (s->expr < 0)
        return true;
    VF_TRY(vf_expr(v, s->expr, at));
    const struct pl_expr *e = &v->g->exprs[s->expr];
    VF_CHECK(v, INDEX_TYPE, !form_of(s)->probes || e->phys == RT_I64);
    VF_CHECK(v, FILTER_TYPE, s->kind != PL_STEP_FILTER || e->phys == RT_BOOL);
    if (s->kind != PL_STEP_LET)
        return true;
    VF_CHECK(v, LET_TYPE, s->slot >= 0 && s->slot < v->p->nslots && e->phys == v->p->slots[s->slot].phys);
    VF_CHECK(v, LET_TYPE, !e->nullable || v->p->slots[s->slot].nullable);
    return true;
}

/* Word i of the state is there to be searched by. */
static bool is_sorted_by_word(const struct rt_state *st, int i)
{
    const struct rt_field *f = i < st->nsort ? &st->fields[st->sort[i].field] : NULL;
    return f && f->phys == RT_I64 && f->valid_offset < 0 && !st->sort[i].desc;
}

static bool is_reach(const struct rt_state *st, int f)
{
    return f < st->nfields && rt_state_field_runs(st, f) && st->merge[f] == RT_MERGE_MAX &&
           st->fields[f].phys == RT_I64;
}

static bool check_words(struct vf *v, const struct pl_step *s, int at)
{
    const struct rt_state *st = s->state >= 0 ? &v->spec->states[s->state] : NULL;
    int words = s->nkeys - 1 - (s->reach >= 0);
    VF_CHECK(v, STEP_WORDS, words >= 1 && words <= (st ? PL_SEARCH_WORDS : 1));
    for (int i = 0; i < words && st; i++)
        VF_CHECK(v, STEP_WORDS, is_sorted_by_word(st, i));
    VF_CHECK(v, STEP_REACH, s->reach < 0 || (st && words == 1 && is_reach(st, s->reach)));
    for (int i = 0; i < s->nkeys; i++) {
        VF_TRY(vf_expr(v, s->keys[i], at));
        VF_CHECK(v, STEP_WORDS, v->g->exprs[s->keys[i]].phys == RT_I64);
    }
    return true;
}

/* The state is sorted by what is looked for. */
static bool check_order(struct vf *v, const struct pl_step *s)
{
    const struct rt_state *st = s->kind == PL_STEP_PROBE_SORTED ? &v->spec->states[s->state] : NULL;
    VF_CHECK(v, STEP_STRICT, st || !s->strict);
    for (int i = 0; st && i < s->nkeys; i++)
        VF_CHECK(v, STEP_SORTED, !st->sort[i].nulls_first && (!st->sort[i].desc || i == s->nkeys - 1));
    VF_CHECK(v, STEP_SORTED, !st || st->limit < 0);
    return true;
}

static bool check_keys(struct vf *v, const struct pl_step *s, int at)
{
    if (has(s, PL_READS_WORDS))
        return check_words(v, s, at);
    const struct rt_state *st = has(s, PL_READS_KEYS) ? &v->spec->states[s->state] : NULL;
    bool sorted = s->kind == PL_STEP_PROBE_SORTED;
    VF_CHECK(v, STEP_KEYS, sorted ? s->nkeys > 0 && s->nkeys <= st->nsort : s->nkeys == (st ? st->nkeys : 0));
    for (int i = 0; i < s->nkeys; i++) {
        VF_TRY(vf_expr(v, s->keys[i], at));
        VF_CHECK(v, KEY_TYPE, v->g->exprs[s->keys[i]].phys == st->fields[sorted ? st->sort[i].field : i].phys);
    }
    VF_TRY(check_order(v, s));
    VF_CHECK(v, PROBE_ONE, s->kind != PL_STEP_PROBE_HASH || s->slot < 0 || s->probe == PL_MARK || st->unique);
    return true;
}

/* Nested ranges, or children that no key bounds, make a morsel long. */
static bool must_poll(const struct vf *v, const struct pl_step *s)
{
    return pl_opens_level(s->kind) && (v->p->nlevels > 2 || pl_children_are_many(s->kind));
}

static bool check_flags(struct vf *v, const struct pl_step *s)
{
    VF_CHECK(v, STEP_SPLIT, (!s->splittable && !s->piece_children) || pl_opens_level(s->kind));
    VF_CHECK(v, STEP_POLLS, s->polls ? pl_opens_level(s->kind) : !must_poll(v, s));
    VF_CHECK(v, STEP_NEAR, !s->near || (pl_step_form(s->kind)->subject == PL_OF_ORDER && !v->p->framed));
    bool searches = s->kind == PL_STEP_SEARCH || s->kind == PL_STEP_PROBE_SORTED || s->kind == PL_STEP_EXPAND_SORTED;
    VF_CHECK(v, STEP_AHEAD,
             !s->ahead || (searches && s->level == 0 && v->p->cpu_ahead && !v->p->framed && !v->p->loop.rows));
    VF_CHECK(v, STEP_NEGATE, !s->negate || s->kind == PL_STEP_TEST);
    VF_CHECK(v, STEP_BEHIND, !s->behind || s->kind == PL_STEP_SEARCH);
    VF_CHECK(v, STEP_KEY_PARTS, !s->key_parts || (v->p->framed && has(s, PL_READS_KEYS)));
    return true;
}

static bool check_search(struct vf *v, const struct pl_step *s)
{
    if (s->kind != PL_STEP_SEARCH)
        return true;
    const struct rt_state *st = &v->spec->states[s->state];
    const struct pl_slot *slot = &v->p->slots[s->slot];
    VF_CHECK(v, STEP_SEARCH, s->field >= 0 && s->field < st->nfields);
    VF_CHECK(v, STEP_SEARCH, st->fields[s->field].phys == RT_I64 && st->fields[s->field].valid_offset < 0);
    VF_CHECK(v, STEP_SEARCH, st->nsort > 0 && st->sort[0].field == s->field && !st->sort[0].desc);
    VF_CHECK(v, STEP_SEARCH, v->g->exprs[s->expr].phys == RT_I64 && !v->g->exprs[s->expr].nullable);
    VF_CHECK(v, STEP_SEARCH, slot->phys == RT_I32 && !slot->nullable);
    return true;
}

static bool check_step(struct vf *v, const struct pl_step *s, int at, int level)
{
    VF_CHECK(v, STEP_KIND, s->kind < PL_STEP_COUNT);
    VF_CHECK(v, STEP_LEVEL, s->level == level);
    VF_CHECK(v, PROBE_KIND, !form_of(s)->probes || vf_is_one_of((int)s->probe, form_of(s)->probes));
    VF_TRY(check_flags(v, s));
    VF_TRY(check_table(v, s));
    VF_TRY(check_state(v, s));
    VF_TRY(check_row(v, s, at));
    VF_TRY(check_expr(v, s, at));
    VF_TRY(check_keys(v, s, at));
    VF_TRY(check_slot(v, s, at));
    VF_TRY(vf_step_args(v, s));
    VF_TRY(check_load(v, s));
    VF_TRY(check_search(v, s));
    note_row(v, s);
    return true;
}

bool vf_steps(struct vf *v)
{
    const struct rt_pipeline *r = v->p->spec;
    int level = 0;
    if (r->source != RT_SOURCE_DICT)
        v->rows[v->p->source_slot] =
            (struct vf_row){true, r->source == RT_SOURCE_TABLE ? r->table : NULL, r->state, false};
    for (int i = 0; i < v->p->nsteps; i++) {
        v->step = i;
        VF_TRY(check_step(v, &v->p->steps[i], i, level));
        level += pl_opens_level(v->p->steps[i].kind);
    }
    v->step = -1;
    return true;
}
