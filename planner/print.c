/* The pipeline dump: what explain --dump pipelines and the goldens show. Deterministic. */
#include <math.h>

#include "planner/pipeline.h"
#include "runtime/base/strbuf.h"
#include "runtime/base/show.h"

static const char *const probe_names[] = {"inner", "left", "semi", "anti", "mark"};

struct printer {
    struct hd_strbuf *o;
    const struct pl_program *g;
    const struct pl_pipeline *p;
    const uint64_t *rows; /* counted per step, or NULL */
};

static void print_arg(const struct printer *w, int i)
{
    const struct rt_arg *a = &w->g->spec->args[i];
    char t[HD_TEXT_MAX];
    if (a->kind == RT_ARG_SET)
        hd_strbuf_addf(w->o, "set of %d", a->nset);
    else if (a->kind == RT_ARG_SOURCE_FIRST)
        hd_strbuf_adds(w->o, "first");
    else if (a->kind == RT_ARG_LIKE)
        hd_strbuf_add_json(w->o, a->s, a->n);
    else if (a->phys == RT_STR)
        hd_strbuf_add_json(w->o, a->s, a->n);
    else if (rt_phys_is_float(a->phys))
        hd_strbuf_addf(w->o, "%g", a->f);
    else
        hd_strbuf_adds(w->o, hd_dec_text(a->i, 0, t));
}

static void print_slot(const struct printer *w, int slot)
{
    hd_strbuf_addf(w->o, "%%%d", slot);
    if (slot != w->p->source_slot)
        hd_strbuf_addf(w->o, ".%s", w->p->slots[slot].name);
}

static void print_expr(const struct printer *w, int i)
{
    const struct pl_expr *e = &w->g->exprs[i];
    if (e->op == FE_COL) {
        print_slot(w, e->slot);
        return;
    }
    if (e->op == FE_LIT) {
        if (e->is_null)
            hd_strbuf_adds(w->o, "null");
        else
            print_arg(w, e->arg);
        return;
    }
    hd_strbuf_addf(w->o, "%s.%s%s(", fe_op_name(e->op), rt_phys_name(e->phys), e->fail ? "!" : "");
    int shown = e->op == FE_IN_BITS ? 1 : e->nargs; /* the word says what the set does */
    for (int k = 0; k < shown; k++) {
        if (k)
            hd_strbuf_adds(w->o, ", ");
        print_expr(w, e->args[k]);
    }
    if (pl_is_set(e->op) || e->op == FE_LIKE) {
        hd_strbuf_adds(w->o, ", ");
        print_arg(w, e->arg);
    }
    if (e->op == FE_LOOKUP)
        hd_strbuf_addf(w->o, ", %s", w->g->spec->states[e->state].name);
    if (e->op == FE_RESCALE || e->op == FE_DIVROUND || e->op == FE_TO_F64 || e->op == FE_TO_F32 ||
        e->op == FE_OF_PARTS || (e->op == FE_DIV && e->scale >= 0))
        hd_strbuf_addf(w->o, ", 10^%d", e->scale);
    if (e->op == FE_EXTRACT || e->op == FE_DATE_TRUNC)
        hd_strbuf_addf(w->o, ", %s", fe_field_name(e->field));
    hd_strbuf_addc(w->o, ')');
}

static void print_est(struct hd_strbuf *o, double est, const uint64_t *counted)
{
    if (est >= 0)
        hd_strbuf_addf(o, "  ~%.0f", est);
    if (counted)
        hd_strbuf_addf(o, "%s=%llu", est >= 0 ? " " : "  ", (unsigned long long)*counted);
}

static const uint64_t *counted_at(const struct printer *w, int step)
{
    return w->rows ? &w->rows[step] : NULL;
}

static void print_where(const struct printer *w, const struct pl_step *s)
{
    const struct rt_state *st = s->state >= 0 ? &w->g->spec->states[s->state] : NULL;
    switch (pl_step_form(s->kind)->subject) {
    case PL_OF_COLUMN: hd_strbuf_addf(w->o, " %s.%s at ", s->table->name, s->table->cols[s->column].name); break;
    case PL_OF_FIELD: hd_strbuf_addf(w->o, " %s.%s at ", st->name, st->fields[s->field].name); break;
    case PL_OF_ORDER:
        hd_strbuf_addf(w->o, " %s.%s %s ", s->table->name, s->table->cols[s->column].name, s->nkeys ? "in" : "=");
        break;
    case PL_OF_KEYIDX:
        hd_strbuf_addf(w->o, " %s.%s (%s) ", s->table->name, s->table->cols[s->column].name,
                       fe_index_kind_name(s->table->keyidx[s->index].kind));
        break;
    case PL_OF_FK:
        hd_strbuf_addf(w->o, " %s.%s of ", s->table->name, s->table->cols[s->table->fks[s->index].columns[0]].name);
        break;
    case PL_OF_STATE: hd_strbuf_addf(w->o, " %s ", st->name); break;
    case PL_OF_NOTHING: hd_strbuf_addc(w->o, ' '); break;
    }
    if (s->row_slot >= 0)
        print_slot(w, s->row_slot);
    if (s->kind == PL_STEP_PROBE_CHILD)
        hd_strbuf_addf(w->o, ", %s = ", s->table->cols[s->column].name);
    if (s->kind == PL_STEP_FOLD_PIECE)
        hd_strbuf_addf(w->o, ", of %d by %d, ", s->piece, s->stride);
}

/* Loads of a tile that survivors do: beside the tile's own, or in its place. */
static void print_again(const struct printer *w, int i)
{
    const struct pl_tile_steps *t = i < w->p->cpu_tile.steps ? &w->p->cpu_tile : &w->p->gpu_tile;
    if (i < t->steps && t->again[i])
        hd_strbuf_adds(w->o, t->early[i] || t->searched[i] ? " [again for survivors]" : " [for survivors]");
}

static bool is_in_fold(const struct pl_pipeline *p, int i)
{
    if (p->steps[i].kind == PL_STEP_FOLD_END)
        return false;
    while (--i >= 0 && p->steps[i].kind != PL_STEP_FOLD_END)
        if (pl_opens_fold(p->steps[i].kind))
            return true;
    return false;
}

static void print_step(const struct printer *w, int i)
{
    const struct pl_step *s = &w->p->steps[i];
    enum pl_yield yields = pl_step_form(s->kind)->yields;
    size_t line = w->o->n;
    hd_strbuf_addn(w->o, ' ', 4 + 2 * (s->level + is_in_fold(w->p, i)));
    if (s->slot >= 0) {
        print_slot(w, s->slot);
        hd_strbuf_addf(w->o, ":%s%s = ", rt_phys_name(w->p->slots[s->slot].phys),
                       w->p->slots[s->slot].nullable ? "?" : "");
    }
    hd_strbuf_adds(w->o, pl_step_name(s->kind));
    if (yields == PL_YIELDS_PROBED || yields == PL_YIELDS_MANY)
        hd_strbuf_addf(w->o, " %s", probe_names[s->probe]);
    if (s->kind == PL_STEP_FOLD_ADD)
        hd_strbuf_addf(w->o, " %s", fe_agg_name(s->fn));
    if (s->negate)
        hd_strbuf_adds(w->o, " not");
    if (s->behind)
        hd_strbuf_adds(w->o, " behind");
    print_where(w, s);
    if (s->expr >= 0)
        print_expr(w, s->expr);
    for (int k = 0; k < s->nkeys; k++) {
        hd_strbuf_adds(w->o, k ? ", " : "(");
        print_expr(w, s->keys[k]);
        hd_strbuf_adds(w->o, pl_null_equal(s, k) ? " null equal" : "");
    }
    if (s->nkeys)
        hd_strbuf_addc(w->o, ')');
    if (s->near)
        hd_strbuf_adds(w->o, " [in order]");
    if (s->splittable)
        hd_strbuf_adds(w->o, " [split]");
    if (s->piece_children)
        hd_strbuf_addf(w->o, " [cpu: split in %d]", s->piece_children);
    if (s->bits_bytes)
        hd_strbuf_addf(w->o, " [gpu: %s in %d bytes shared]", s->bits_folded ? "folded first" : "bits", s->bits_bytes);
    if (i < w->p->gpu_tile.steps && w->p->gpu_tile.searched[i])
        hd_strbuf_adds(w->o, " [gpu: searched by tile]");
    print_again(w, i);
    if (yields != PL_YIELDS_ONE) /* which changes no number */
        print_est(w->o, s->est, counted_at(w, i));
    hd_show_end_line(w->o, line);
}

static const char *const sink_names[] = {"bitmap",          "direct",         "rows", "aggregate scalar",
                                         "aggregate dense", "aggregate hash", "array"};

static void print_place(const struct printer *w)
{
    const struct pl_sink *s = &w->p->sink;
    const struct pl_place_row *place = pl_place_row(s->place);
    bool any = false;
    if (place->sized)
        hd_strbuf_addf(w->o, " [gpu: %d %s", s->place_size, place->text);
    else if (*place->text)
        hd_strbuf_addf(w->o, " [gpu: %s", place->text);
    if (s->place == PL_PLACE_LANES && s->lane_room)
        hd_strbuf_addf(w->o, ", for %d rows", 1 << s->lane_room);
    hd_strbuf_adds(w->o, place->sized || *place->text ? "]" : "");
    for (int k = PL_CACHE_COUNT - 1; k >= 0; k--)
        if (s->caches[k]) {
            hd_strbuf_addf(w->o, any ? ", %s" : " [gpu: %s groups", pl_cache_text((enum pl_cache)k));
            any = true;
        }
    hd_strbuf_adds(w->o, any ? "]" : "");
    hd_strbuf_adds(w->o, s->by_lane ? " [gpu: lane by lane]" : "");
}

static void print_sink(const struct printer *w)
{
    const struct pl_sink *s = &w->p->sink;
    const struct rt_state *st = &w->g->spec->states[s->state];
    size_t line = w->o->n;
    hd_strbuf_addf(w->o, "    -> %s %s", sink_names[s->kind], st->name);
    if (s->index >= 0) {
        hd_strbuf_adds(w->o, "[");
        print_expr(w, s->index);
        hd_strbuf_adds(w->o, "]");
    }
    for (int i = 0; i < s->nouts; i++) {
        const struct pl_out *o = &s->outs[i];
        bool agg = rt_state_aggregates(st->kind);
        bool key = st->merge && st->merge[o->field] == RT_MERGE_KEY;
        hd_strbuf_adds(w->o, i ? ", " : " ");
        if (agg && !key)
            hd_strbuf_addf(w->o, "%s ", fe_agg_name(o->fn));
        if (o->expr >= 0)
            print_expr(w, o->expr);
    }
    if (s->ncopies)
        hd_strbuf_addf(w->o, " [copies %d ranges of fields]", s->ncopies);
    if (s->clustered)
        hd_strbuf_adds(w->o, " [clustered]");
    if (s->atomic)
        hd_strbuf_adds(w->o, " [shared]");
    if (w->p->gpu.places_ahead)
        hd_strbuf_adds(w->o, " [gpu: places ahead]");
    if (w->p->gpu.row_piece)
        hd_strbuf_addf(w->o, " [gpu: stores of %d bytes]", w->p->gpu.row_piece);
    print_place(w);
    print_est(w->o, w->p->spec->counter_est[w->p->nsteps], counted_at(w, w->p->nsteps));
    hd_show_end_line(w->o, line);
}

static void print_tile(const struct printer *w)
{
    int cpu = w->p->cpu_tile.steps, gpu = w->p->gpu_tile.steps;
    if (cpu == gpu && cpu)
        hd_strbuf_addf(w->o, " [tile: %d steps]", cpu);
    if (cpu != gpu && cpu)
        hd_strbuf_addf(w->o, " [cpu: tile: %d steps]", cpu);
    if (cpu != gpu && gpu)
        hd_strbuf_addf(w->o, " [gpu: tile: %d steps]", gpu);
    if (w->p->gpu.most_pass)
        hd_strbuf_adds(w->o, " [gpu: rows where they lie]");
}

static void print_part(const struct printer *w, const struct pl_loop *l)
{
    int columns = 0;
    for (int i = 0; i < l->others; i++)
        columns += l->how[i] == PL_OTHER_COLUMN;
    hd_strbuf_addf(w->o, " [cpu: parts of %d rows, %d columns", l->part_rows, columns);
    if (l->part_copies)
        hd_strbuf_addf(w->o, ", %d %s of counts", l->part_copies, l->part_copies > 1 ? "copies" : "copy");
    if (l->last.step >= 0 || l->first.step >= 0)
        hd_strbuf_adds(w->o, ", runs");
    hd_strbuf_adds(w->o, "]");
}

static void print_ends(const struct printer *w)
{
    const struct rt_pipeline *r = w->p->spec;
    for (int i = 0; i < r->nends; i++) {
        const struct rt_end *e = &r->ends[i];
        hd_strbuf_addf(w->o, "%s %s %s%s ", i ? " and" : " [rows of", r->table->cols[e->column].name,
                       e->lower ? ">" : "<", e->strict ? "" : "=");
        print_arg(w, e->arg);
    }
    hd_strbuf_adds(w->o, r->nends ? "]" : "");
}

static void print_zones(const struct printer *w)
{
    const struct rt_zoning *z = &w->p->spec->zones;
    const struct fe_table *t = w->p->spec->table;
    for (int i = 0; i < z->nconditions; i++)
        for (int k = 0; k < z->conditions[i].ntests; k++) {
            const struct rt_zone_test *x = &z->conditions[i].tests[k];
            hd_strbuf_addf(w->o, "%s %s %s%s",
                           k   ? " or"
                           : i ? " and"
                               : " [zones:",
                           t->cols[x->column].name, rt_zone_test_text(x->kind), x->arg >= 0 ? " " : "");
            if (x->arg >= 0)
                print_arg(w, x->arg);
        }
    if (z->nconditions)
        hd_strbuf_addf(w->o, ": %lld of %lld]", (long long)z->visited, (long long)z->n);
}

/* Columns that come in chunks, each once; validity comes with its column. */
static void print_streamed(const struct printer *w)
{
    const struct rt_pipeline *r = w->p->spec;
    int n = 0;
    for (int i = 0; i < r->nstreamed; i++) {
        const struct rt_arg *a = &w->g->spec->args[r->streamed[i]];
        if (a->kind == RT_ARG_COL_DATA)
            hd_strbuf_addf(w->o, "%s %s", n++ ? "," : " [gpu: streams", a->table->cols[a->column].name);
    }
    if (r->nstreamed)
        hd_strbuf_addf(w->o, "%s by %llu rows]", n ? "" : " [gpu: streams validity", (unsigned long long)r->chunk_rows);
}

static void print_source(const struct printer *w)
{
    const struct rt_pipeline *r = w->p->spec;
    size_t line = w->o->n;
    hd_strbuf_addf(w->o, "%s: %%%d = ", r->name, w->p->source_slot);
    if (r->source == RT_SOURCE_TABLE)
        hd_strbuf_addf(w->o, "scan %s", r->table->name);
    else if (r->source == RT_SOURCE_DICT)
        hd_strbuf_addf(w->o, "dictionary %s.%s", r->table->name, r->table->cols[r->column].name);
    else
        hd_strbuf_addf(w->o, "%s %s", r->source == RT_SOURCE_ROWS ? "rows" : "indexes",
                       w->g->spec->states[r->state].name);
    print_ends(w);
    print_zones(w);
    print_tile(w);
    if (w->p->cpu_ahead)
        hd_strbuf_adds(w->o, " [cpu: searches ahead]");
    if (w->p->framed)
        hd_strbuf_addf(w->o, " [framed: %d parts]", w->p->nparts + w->p->sink.nparts);
    if (w->p->unoptimised)
        hd_strbuf_adds(w->o, " [unoptimised]");
    if (*rt_tiering_text(r->tiering))
        hd_strbuf_addf(w->o, " [cpu: %s]", rt_tiering_text(r->tiering));
    if (w->p->first_match)
        hd_strbuf_adds(w->o, w->p->loop.rows ? " [first match]" : " [cpu: first match]");
    if (r->shape != RT_SHAPE_STRAIGHT && r->shape != RT_SHAPE_ALL_ROWS) /* [tile] tells */
        hd_strbuf_addf(w->o, " [gpu: %s]", rt_shape_name(r->shape));
    if (w->p->gpu.first)
        hd_strbuf_addf(w->o, " [gpu: first tier%s]",
                       w->p->gpu.first->spec->shape == RT_SHAPE_BY_LANE ? " by lane" : "");
    if (w->p->loop.rows)
        hd_strbuf_addf(w->o, " [gpu: %d rows a thread%s%s]", w->p->loop.rows,
                       w->p->loop.fused   ? ""
                       : w->p->loop.top   ? ", pairs ranked"
                       : w->p->loop.again ? ", pairs tested again"
                                          : ", pairs tested",
                       w->p->loop.nbounds ? ", bounded" : "");
    if (pl_in_parts(w->p))
        print_part(w, &w->p->loop);
    if (w->p->gpu.shared_bytes)
        hd_strbuf_addf(w->o, " [gpu: %d bytes shared]", w->p->gpu.shared_bytes);
    print_streamed(w);
    if (r->ordered)
        hd_strbuf_adds(w->o, r->row_for_row ? " [ordered] [gpu: row for row]" : " [ordered]");
    hd_strbuf_addf(w->o, "    # %s", r->path);
    hd_show_end_line(w->o, line);
}

static void print_field(struct hd_strbuf *o, const struct rt_field *f, bool more)
{
    hd_strbuf_addf(o, "%s%s:%s%s", more ? ", " : "", f->name, rt_phys_name(f->phys), f->valid_offset >= 0 ? "?" : "");
    if (f->bytes)
        hd_strbuf_addf(o, " in %d", f->bytes);
}

static void print_state(struct hd_strbuf *o, const struct rt_state *s, const uint64_t *rows)
{
    size_t line = o->n;
    hd_strbuf_addf(o, "  %s: %s", s->name, rt_state_kind_name(s->kind));
    if (s->range)
        hd_strbuf_addf(o, " range %llu", (unsigned long long)s->range);
    if (s->nfields)
        hd_strbuf_addf(o, " row %d bytes {", s->stride);
    for (int i = 0; i < s->nfields; i++)
        print_field(o, &s->fields[i], i > 0);
    if (s->nfields)
        hd_strbuf_addc(o, '}');
    hd_strbuf_adds(o, s->unique ? " unique" : "");
    hd_strbuf_adds(o, s->dedupe ? " dedupe" : "");
    if (s->presence)
        hd_strbuf_addf(o, " present by %s", s->fields[s->presence - 1].name);
    hd_strbuf_adds(o, s->shared ? " shared" : "");
    hd_strbuf_adds(o, s->track_matches ? " matches" : "");
    if (s->partition.cpu_bits || s->partition.gpu_bits)
        hd_strbuf_addf(o, " parts %d, on a GPU %d", 1 << s->partition.cpu_bits, 1 << s->partition.gpu_bits);
    for (int i = 0; i < s->nsort; i++)
        hd_strbuf_addf(o, "%s%s%s%s", i ? ", " : " sort ", s->fields[s->sort[i].field].name,
                       s->sort[i].desc ? " desc" : "", s->sort[i].nulls_first ? " nulls first" : "");
    hd_strbuf_adds(o, s->sorted ? " as it comes" : "");
    if (s->sorted && s->sorted < s->nsort)
        hd_strbuf_addf(o, " by %d keys", s->sorted);
    for (int i = 0, n = 0; i < s->nfields; i++)
        if (rt_state_field_runs(s, i))
            hd_strbuf_addf(o, "%s%s", n++ ? ", " : " running ", s->fields[i].name);
    if (s->text)
        hd_strbuf_addf(o, " joins %s", s->fields[s->text->value].name);
    for (int i = 0, n = 0; i < s->nfields; i++)
        if (s->fields[i].frame)
            hd_strbuf_addf(o, "%s%s", n++ ? ", " : " frames of ", s->fields[i].name);
    if (s->top)
        hd_strbuf_addf(o, " top %lld offset %lld of %d keys%s", (long long)s->top->limit, (long long)s->top->offset,
                       s->top->ngroup, s->top->keep ? " and ties" : "");
    if (s->limit >= 0)
        hd_strbuf_addf(o, " limit %lld", (long long)s->limit);
    if (s->offset)
        hd_strbuf_addf(o, " offset %lld", (long long)s->offset);
    if (s->single)
        hd_strbuf_adds(o, " single");
    print_est(o, s->est_rows, rows);
    hd_show_end_line(o, line);
}

/* What a GPU has no room for. */
static void print_ways(struct hd_strbuf *out, const struct rt_spec *s)
{
    bool any = false;
    for (int i = 0; i < s->nargs; i++) {
        const struct rt_arg *a = &s->args[i];
        if (a->way == RT_WAY_RESIDENT)
            continue;
        bool column = rt_arg_object(a->kind) == RT_OBJECT_COLUMN || rt_arg_object(a->kind) == RT_OBJECT_DICT;
        hd_strbuf_addf(out, "%s  %s %s", any ? "" : "not resident on a GPU\n", rt_arg_kind_name(a->kind),
                       a->table->name);
        hd_strbuf_addf(out, column ? ".%s" : "%s", column ? a->table->cols[a->column].name : "");
        hd_strbuf_addf(out, ": %s, %llu of %llu bytes\n", rt_way_name(a->way), (unsigned long long)a->link_bytes,
                       (unsigned long long)rt_arg_bytes(a));
        any = true;
    }
}

/* What runs when, without where: the kernel spec's dump has the graph. */
static void print_order(struct hd_strbuf *out, const struct rt_spec *s)
{
    const char *comma = "";
    hd_strbuf_adds(out, "schedule");
    for (int i = 0; i < s->nactions; i++) {
        const struct rt_action *a = &s->actions[i];
        if (a->kind == RT_RUN && a->fragment.part == 0)
            hd_strbuf_addf(out, "%s run %s", comma, s->pipelines[a->index].name);
        else if (a->kind == RT_FINISH)
            hd_strbuf_addf(out, "%s finish %s", comma, s->states[a->index].name);
        else
            continue;
        comma = ",";
    }
    hd_strbuf_addc(out, '\n');
}

void pl_print(struct hd_strbuf *out, const struct pl_program *g, const struct pl_counted *counted)
{
    for (int i = 0; i < g->nnotes; i++)
        hd_strbuf_addf(out, "# %s\n", g->notes[i]);
    for (int i = 0; i < g->npipelines; i++) {
        struct printer w = {out, g, &g->pipelines[i], counted ? counted->steps[i] : NULL};
        print_source(&w);
        for (int s = 0; s < w.p->nsteps; s++)
            print_step(&w, s);
        print_sink(&w);
    }
    hd_strbuf_adds(out, "states\n");
    for (int i = 0; i < g->spec->nstates; i++)
        print_state(out, &g->spec->states[i], counted && !g->spec->states[i].range ? &counted->states[i] : NULL);
    if (g->gpu_far_args)
        hd_strbuf_addf(out, "arguments %d words [gpu: by address]\n", g->spec->nwords);
    print_ways(out, g->spec);
    print_order(out, g->spec);
    hd_strbuf_addf(out, "result %s\n", g->spec->states[g->spec->result_state].name);
}
