/* The dump of the physical plan: one operator a line, inputs indented in the order in which they are lowered,
 * below each operator what was decided there. */
#include "frontend/catalog.h"
#include "planner/physical.h"
#include "planner/pipeline.h"
#include "runtime/base/show.h"
#include "runtime/base/strbuf.h"

static const char *const op_names[] = {
#define T_NODE(id, name) name,
#include "planner/physical.def"
};

struct physical_printer {
    const struct pl_program *g;
    struct hd_strbuf *o;
    bool *seen; /* by node: was printed */
};

static void print_alternative(struct hd_strbuf *o, const struct pl_alternative *a, bool taken)
{
    hd_strbuf_addf(o, "%s%s", taken ? "" : "; not ", a->name);
    if (a->ns >= 0)
        hd_strbuf_addf(o, " %.3g ms", a->ns / 1e6);
    if (a->why || a->detail)
        hd_strbuf_addf(o, " (%s%s", a->why ? a->why : "", a->why && a->detail ? ": " : "");
    if (a->detail)
        hd_strbuf_addf(o, a->detail, a->numbers[0], a->numbers[1]);
    if (a->why || a->detail)
        hd_strbuf_addc(o, ')');
}

static void print_decisions(struct hd_strbuf *o, const struct pl_node *n, int depth)
{
    for (int i = 0; i < n->ndecisions; i++) {
        const struct pl_decision *d = &n->decisions[i];
        hd_strbuf_addn(o, ' ', 2 * depth + 4);
        hd_strbuf_addf(o, "%s: ", d->name);
        print_alternative(o, &d->v[d->taken], true);
        for (int k = 0; k < d->n; k++)
            if (k != d->taken)
                print_alternative(o, &d->v[k], false);
        hd_strbuf_addc(o, '\n');
    }
}

/* Where a GPU keeps the accumulators of an aggregate, and the places that are preferred to it. */
static void print_place(struct hd_strbuf *o, const struct pl_pipeline *p, int depth)
{
    const struct pl_sink *s = &p->sink;
    const struct pl_place_row *place = pl_place_row(s->place);
    hd_strbuf_addn(o, ' ', 2 * depth + 4);
    hd_strbuf_addf(o, "place on a GPU in %s: ", p->spec->name);
    if (place->sized)
        hd_strbuf_addf(o, "%d ", s->place_size);
    hd_strbuf_adds(o, *place->text ? place->text : "memory");
    for (int k = 0; k < PL_CACHE_COUNT; k++)
        if (s->caches[k])
            hd_strbuf_addf(o, ", %s groups", pl_cache_text((enum pl_cache)k));
    hd_strbuf_adds(o, s->by_lane ? ", lane by lane" : "");
    for (int i = 0; i < (int)s->place; i++)
        if (s->no_place[i])
            hd_strbuf_addf(o, "; not %s (%s)", pl_place_row((enum pl_place)i)->text, s->no_place[i]);
    hd_strbuf_adds(o, p->framed ? "; the pipeline is framed\n" : "\n");
}

/* What holds rows of the node, and on which devices, once later passes have decided that. */
static void print_states(const struct physical_printer *w, const struct pl_node *n, int depth)
{
    for (int i = 0; i < n->nstates; i++) {
        const struct rt_state *st = &w->g->spec->states[n->states[i]];
        hd_strbuf_addn(w->o, ' ', 2 * depth + 4);
        hd_strbuf_addf(w->o, "state %s: %s, ", st->name, rt_state_kind_name(st->kind));
        if (st->nfields)
            hd_strbuf_addf(w->o, "row %d bytes, ", st->stride);
        hd_strbuf_addf(w->o, "%s", rt_distribution_name(st->distribution));
        if (st->sorted)
            hd_strbuf_addf(w->o, ", rows come by %d of %d sort keys", st->sorted, st->nsort);
        hd_strbuf_addc(w->o, '\n');
        for (int k = 0; k < w->g->npipelines && rt_state_aggregates(st->kind); k++)
            if (w->g->pipelines[k].sink.state == n->states[i])
                print_place(w->o, &w->g->pipelines[k], depth);
    }
}

static void print_node(struct physical_printer *w, const struct pl_node *n, int depth)
{
    struct hd_strbuf *o = w->o;
    size_t line = o->n;
    hd_strbuf_addn(o, ' ', 2 * depth);
    hd_strbuf_adds(o, op_names[n->op]);
    if (n->op == PL_NODE_SCAN || n->op == PL_NODE_INDEX)
        hd_strbuf_addf(o, " %s%s", n->n->u.scan.table->name,
                       n->op == PL_NODE_SCAN && n->u.filter.by_parent ? " by parents" : "");
    else if (n->op == PL_NODE_JOIN)
        hd_strbuf_addf(o, " %s", fe_join_kind_name(n->u.join.kind));
    else if (n->op == PL_NODE_KEEP)
        hd_strbuf_addf(o, " \"%s\"", n->u.keep.name);
    if (w->seen[n->id]) {
        hd_strbuf_adds(o, " (as above)");
        hd_show_end_line(o, line);
        return;
    }
    w->seen[n->id] = true;
    hd_strbuf_addf(o, "  ~%.0f%s    # %s", n->rows, n->ordered ? " ordered" : "", n->path);
    hd_show_end_line(o, line);
    print_decisions(o, n, depth);
    print_states(w, n, depth);
    for (int i = 0; i < n->ninputs; i++)
        print_node(w, n->inputs[i], depth + 1);
}

void pl_physical_print(struct hd_strbuf *out, const struct pl_program *p)
{
    struct physical_printer w = {p, out, HD_NEWN(p->arena, bool, p->nnodes + 1)};
    print_node(&w, p->physical, 0);
}
