/* Rules of arguments: what code of a step or a sink reads from the vector, and what each entry is about. */
#include "planner/verify.h"

/* ---- what readers need -------------------------------------------------------------------- */

static const struct rt_state *state_of(const struct vf *v, const struct pl_step *s)
{
    return &v->spec->states[s->state];
}

static const struct fe_table_column *column_of(const struct pl_step *s)
{
    return &s->table->cols[s->column];
}

static bool always(const struct vf *v, const struct pl_step *s)
{
    return v && s;
}

static bool has_validity(const struct vf *v, const struct pl_step *s)
{
    return v && column_of(s)->at.validity != NULL;
}

static bool is_coded(const struct vf *v, const struct pl_step *s)
{
    const struct fe_table_column *c = column_of(s);
    return v && c->storage == FE_STORE_INT && (c->base != 0 || c->factor != 1);
}

static bool is_text(const struct vf *v, const struct pl_step *s)
{
    return v && column_of(s)->storage == FE_STORE_TEXT;
}

static bool is_direct(const struct vf *v, const struct pl_step *s)
{
    return state_of(v, s)->kind == RT_STATE_DIRECT;
}

static bool is_direct_null(const struct vf *v, const struct pl_step *s)
{
    return is_direct(v, s) && state_of(v, s)->fields[s->field].valid_offset >= 0;
}

static bool has_rows(const struct vf *v, const struct pl_step *s)
{
    return !is_direct(v, s);
}

static bool is_bitmap(const struct vf *v, const struct pl_step *s)
{
    return v && s->table->keyidx[s->index].kind == FE_INDEX_BITMAP;
}

static bool is_array(const struct vf *v, const struct pl_step *s)
{
    return v && s->table->keyidx[s->index].kind == FE_INDEX_ARRAY;
}

static bool lists_children(const struct vf *v, const struct pl_step *s)
{
    return v && s->table->fks[s->index].child_rows != NULL;
}

enum member {
#define X(name) M_##name,
    PL_STEP_ARGS(X)
#undef X
        M_COUNT
};

static const struct reads {
    enum pl_step_kind step;
    enum member member;
    enum rt_arg_kind kind;
    bool (*when)(const struct vf *v, const struct pl_step *s);
} reads[] = {
#define V_READ(step, member, kind, when) {PL_STEP_##step, M_##member, RT_ARG_##kind, when},
#include "planner/verify_steps.def"
};

static int member_of(const struct pl_step *s, enum member m)
{
    const int all[] = {
#define X(name) s->a_##name,
        PL_STEP_ARGS(X)
#undef X
    };
    return all[m];
}

/* Of what the step reads. */
static bool is_about(const struct rt_arg *a, const struct pl_step *s)
{
    switch (rt_arg_object(a->kind)) {
    case RT_OBJECT_COLUMN:
    case RT_OBJECT_DICT: return a->table == s->table && a->column == s->column;
    case RT_OBJECT_KEYIDX:
    case RT_OBJECT_FK: return a->table == s->table && a->index == s->index;
    case RT_OBJECT_STATE: return a->state == s->state;
    case RT_OBJECT_FIELD: return a->state == s->state && a->index == s->field;
    case RT_OBJECT_CONST:
    case RT_OBJECT_SET:
    case RT_OBJECT_LIKE: return true;
    case RT_OBJECT_SOURCE: break;
    }
    return false;
}

static const struct rt_arg *arg_of_kind(struct vf *v, int arg, enum rt_arg_kind kind)
{
    return v->spec->args[arg].kind == kind ? &v->spec->args[arg] : NULL;
}

static bool check_read(struct vf *v, const struct pl_step *s, const struct reads *r)
{
    int arg = member_of(s, r->member);
    v->arg = arg;
    VF_CHECK(v, ARG_MISSING, arg >= 0);
    const struct rt_arg *a = arg_of_kind(v, arg, r->kind);
    VF_CHECK(v, ARG_KIND, a);
    VF_CHECK(v, ARG_SUBJECT, is_about(a, s));
    v->arg = -1;
    return true;
}

bool vf_step_args(struct vf *v, const struct pl_step *s)
{
    unsigned read = 0;
    for (int m = 0; m < M_COUNT; m++) {
        int arg = member_of(s, (enum member)m);
        VF_CHECK(v, ARG_INDEX, arg >= -1 && arg < v->spec->nargs);
    }
    for (size_t i = 0; i < HD_COUNT(reads); i++)
        if (reads[i].step == s->kind && reads[i].when(v, s)) {
            VF_TRY(check_read(v, s, &reads[i]));
            read |= VF_BIT(reads[i].member);
        }
    for (int m = 0; m < M_COUNT; m++)
        VF_CHECK(v, ARG_EXTRA, member_of(s, (enum member)m) < 0 || vf_is_one_of(m, read));
    return true;
}

bool vf_state_arg(struct vf *v, int arg, enum rt_arg_kind kind, int state)
{
    VF_CHECK(v, ARG_INDEX, arg >= -1 && arg < v->spec->nargs);
    VF_CHECK(v, ARG_MISSING, arg >= 0);
    v->arg = arg;
    const struct rt_arg *a = arg_of_kind(v, arg, kind);
    VF_CHECK(v, ARG_KIND, a);
    VF_CHECK(v, ARG_SUBJECT, a->state == state);
    v->arg = -1;
    return true;
}

static bool vf_no_arg(struct vf *v, int arg)
{
    VF_CHECK(v, ARG_EXTRA, arg == -1);
    return true;
}

static bool check_arrays(struct vf *v, const struct pl_sink *s)
{
    const struct rt_state *st = &v->spec->states[s->state];
    VF_CHECK(v, ARG_MISSING, s->a_fields && s->a_valids);
    for (int i = 0; i < s->nouts; i++) {
        int field = s->outs[i].field;
        VF_TRY(vf_state_arg(v, s->a_fields[i], RT_ARG_STATE_FIELD, s->state));
        VF_CHECK(v, ARG_SUBJECT, v->spec->args[s->a_fields[i]].index == field);
        if (st->fields[field].valid_offset < 0) {
            VF_TRY(vf_no_arg(v, s->a_valids[i]));
            continue;
        }
        VF_TRY(vf_state_arg(v, s->a_valids[i], RT_ARG_STATE_FIELD_VALID, s->state));
        VF_CHECK(v, ARG_SUBJECT, v->spec->args[s->a_valids[i]].index == field);
    }
    return true;
}

bool vf_sink_args(struct vf *v, const struct pl_sink *s)
{
    static const enum {
        NOTHING,
        BITS,
        ARRAYS,
        ROWS,
        SHARED_ROWS
    } all[] = {
#define T_SINK(id, name, states, index, adds, reads) reads,
#include "planner/sinks.def"
    };
    bool arrays = all[s->kind] == ARRAYS, bits = arrays || all[s->kind] == BITS;
    bool rows = all[s->kind] == ROWS || (all[s->kind] == SHARED_ROWS && s->atomic);
    VF_TRY(bits ? vf_state_arg(v, s->a_bits, RT_ARG_STATE_BITS, s->state) : vf_no_arg(v, s->a_bits));
    VF_TRY(rows ? vf_state_arg(v, s->a_rows, RT_ARG_STATE_ROWS, s->state) : vf_no_arg(v, s->a_rows));
    if (arrays)
        return check_arrays(v, s);
    VF_CHECK(v, ARG_EXTRA, !s->a_fields && !s->a_valids);
    return true;
}

/* ---- what arguments are about ------------------------------------------------------------- */

enum {
    WITH_BITS = 1u << RT_STATE_BITMAP | 1u << RT_STATE_DIRECT,
    WITH_RANGE = 1u << RT_STATE_BITMAP | 1u << RT_STATE_DIRECT | 1u << RT_STATE_CSR | 1u << RT_STATE_AGG_DENSE |
                 1u << RT_STATE_ARRAY
};

static bool check_constant(struct vf *v, const struct rt_arg *a)
{
    VF_CHECK(v, ARG_SET, a->kind != RT_ARG_SET || (a->nset >= 0 && (a->nset == 0 || a->set)));
    VF_CHECK(v, ARG_SET, a->kind != RT_ARG_LIKE || a->n == 0 || a->s);
    return true;
}

static bool check_column(struct vf *v, const struct rt_arg *a, unsigned storages)
{
    VF_CHECK(v, ARG_TABLE, a->table && a->column >= 0 && a->column < a->table->ncols);
    VF_CHECK(v, ARG_TABLE, vf_is_one_of((int)a->table->cols[a->column].storage, storages));
    return true;
}

static bool check_index(struct vf *v, const struct rt_arg *a, int n)
{
    VF_CHECK(v, ARG_TABLE, a->index >= 0 && a->index < n);
    return true;
}

static bool check_state(struct vf *v, const struct rt_arg *a, unsigned kinds)
{
    VF_CHECK(v, ARG_STATE, vf_state_is(v, a->state, kinds));
    return true;
}

static bool check_field(struct vf *v, const struct rt_arg *a)
{
    VF_TRY(check_state(v, a, VF_BIT(RT_STATE_DIRECT)));
    const struct rt_state *st = &v->spec->states[a->state];
    VF_CHECK(v, ARG_FIELD, a->index >= 0 && a->index < st->nfields);
    VF_CHECK(v, ARG_FIELD, a->kind != RT_ARG_STATE_FIELD_VALID || st->fields[a->index].valid_offset >= 0);
    return true;
}

enum {
    ANY_STORAGE =
        1u << FE_STORE_INT | 1u << FE_STORE_F64 | 1u << FE_STORE_F32 | 1u << FE_STORE_DICT | 1u << FE_STORE_TEXT
};

static bool check_source(struct vf *v, const struct rt_arg *a)
{
    VF_CHECK(v, ARG_SOURCE, a->index >= 0 && a->index < v->spec->npipelines);
    const struct rt_pipeline *r = &v->spec->pipelines[a->index];
    VF_CHECK(v, ARG_SOURCE, r->source == RT_SOURCE_TABLE && r->nends > 0 && a->phys == RT_I32);
    return true;
}

static bool check_arg(struct vf *v, const struct rt_arg *a)
{
    switch (a->kind) {
    case RT_ARG_CONST:
    case RT_ARG_SET:
    case RT_ARG_LIKE: return check_constant(v, a);
    case RT_ARG_COL_DATA:
    case RT_ARG_COL_VALID: return check_column(v, a, ANY_STORAGE);
    case RT_ARG_COL_TEXT_BASE:
    case RT_ARG_COL_TEXT_BYTES: return check_column(v, a, VF_BIT(FE_STORE_TEXT));
    case RT_ARG_COL_BASE:
    case RT_ARG_COL_ROWS:
    case RT_ARG_COL_FACTOR: return check_column(v, a, VF_BIT(FE_STORE_INT));
    case RT_ARG_DICT_OFFSETS:
    case RT_ARG_DICT_BYTES: return check_column(v, a, VF_BIT(FE_STORE_DICT));
    case RT_ARG_KEYIDX_WORDS:
    case RT_ARG_KEYIDX_ROWS:
    case RT_ARG_KEYIDX_MIN:
    case RT_ARG_KEYIDX_RANGE: VF_CHECK(v, ARG_TABLE, a->table); return check_index(v, a, a->table->nkeyidx);
    case RT_ARG_SOURCE_FIRST: return check_source(v, a);
    case RT_ARG_FK_OFFSETS:
    case RT_ARG_FK_CHILD_ROWS: VF_CHECK(v, ARG_TABLE, a->table); return check_index(v, a, a->table->nfks);
    case RT_ARG_STATE_BITS: return check_state(v, a, WITH_BITS);
    case RT_ARG_STATE_MATCHES:
        VF_TRY(check_state(v, a, VF_MATCHED));
        VF_CHECK(v, ARG_STATE, v->spec->states[a->state].track_matches);
        return true;
    case RT_ARG_STATE_RANGE: return check_state(v, a, WITH_RANGE);
    case RT_ARG_STATE_ROWS: return check_state(v, a, VF_ROW_STATES);
    case RT_ARG_STATE_NROWS: return check_state(v, a, VF_ROW_STATES);
    case RT_ARG_STATE_BOUND:
        VF_TRY(check_state(v, a, VF_BIT(RT_STATE_ROWS)));
        VF_CHECK(v, ARG_STATE, v->spec->states[a->state].bounded);
        return true;
    case RT_ARG_STATE_OFFSETS: return check_state(v, a, VF_BIT(RT_STATE_CSR));
    case RT_ARG_STATE_SLOTS:
    case RT_ARG_STATE_MASK: return check_state(v, a, VF_BIT(RT_STATE_HASH));
    case RT_ARG_STATE_FIELD:
    case RT_ARG_STATE_FIELD_VALID: return check_field(v, a);
    case RT_ARG_KIND_COUNT: break;
    }
    return vf_broken(v, VF_ARG_KIND);
}

/* Rows that lie between ends, or children that lie in their order; of no argument but those that have rows. */
static bool check_scans(struct vf *v, const struct rt_arg *a)
{
    bool offsets = a->kind == RT_ARG_FK_OFFSETS;
    for (int i = 0; i < a->nscans; i++) {
        const struct rt_scan *s = &a->scans[i];
        VF_CHECK(v, ARG_SCANS, offsets || rt_arg_object(a->kind) == RT_OBJECT_COLUMN);
        VF_CHECK(v, ARG_SCANS, s->pipeline >= 0 && s->pipeline < v->spec->npipelines);
        const struct rt_pipeline *r = &v->spec->pipelines[s->pipeline];
        VF_CHECK(v, ARG_SCANS, r->source == RT_SOURCE_TABLE && r->nends > 0);
        const struct fe_table *t = offsets ? a->table->fks[a->index].parent : a->table;
        if (s->fk < 0) {
            VF_CHECK(v, ARG_SCANS, r->table == t);
            continue;
        }
        VF_CHECK(v, ARG_SCANS, !offsets && s->fk < t->nfks);
        VF_CHECK(v, ARG_SCANS, t->fks[s->fk].parent == r->table && !t->fks[s->fk].child_rows);
    }
    return true;
}

bool vf_args(struct vf *v)
{
    int words = 0;
    for (int i = 0; i < v->spec->nargs; i++) {
        const struct rt_arg *a = &v->spec->args[i];
        v->arg = i;
        VF_TRY(check_arg(v, a));
        VF_TRY(check_scans(v, a));
        VF_CHECK(v, ARG_WORDS, a->word == words);
        words += rt_arg_words(a);
    }
    v->arg = -1;
    VF_CHECK(v, ARG_WORDS, v->spec->nwords == words);
    VF_CHECK(v, ARG_FAR, v->g->gpu_far_args == (words > HDD_PARAMETER_WORDS));
    return true;
}
