/* The kernel spec as text, one state, arg, pipeline or action a line. */
#include "runtime/base/show.h"
#include "runtime/exec/spec_print.h"

static const char *const source_names[] = {
    [RT_SOURCE_TABLE] = "table",
    [RT_SOURCE_ROWS] = "rows of",
    [RT_SOURCE_INDEX] = "indexes of",
    [RT_SOURCE_DICT] = "dictionary of",
};

static void print_sort(struct hd_strbuf *out, const struct rt_state *t)
{
    if (t->nsort)
        hd_strbuf_adds(out, " sort");
    for (int k = 0; k < t->nsort; k++)
        hd_strbuf_addf(out, "%s %s%s nulls %s", k ? "," : "", t->fields[t->sort[k].field].name,
                       t->sort[k].desc ? " desc" : "", t->sort[k].nulls_first ? "first" : "last");
    if (t->sorted)
        hd_strbuf_adds(out, " as it comes");
    if (t->sorted && t->sorted < t->nsort)
        hd_strbuf_addf(out, " by %d keys", t->sorted);
    if (t->top)
        hd_strbuf_addf(out, " top %lld offset %lld of %d keys, %d stated%s", (long long)t->top->limit,
                       (long long)t->top->offset, t->top->ngroup, t->top->nstated, t->top->keep ? ", and ties" : "");
    if (t->bounded)
        hd_strbuf_adds(out, " bounded");
    if (t->limit >= 0 || t->offset > 0)
        hd_strbuf_addf(out, " limit %lld offset %lld", (long long)t->limit, (long long)t->offset);
}

static void print_field(struct hd_strbuf *out, const struct rt_state *t, int f)
{
    static const char *const merges[] = {"key", "sum", "min", "max", "any"};
    const struct rt_field *d = &t->fields[f];
    char type[HD_TEXT_MAX];
    size_t line = out->n;
    hd_strbuf_addf(out, "      +%d %s: %s", d->offset, d->name ? d->name : "", rt_phys_name(d->phys));
    hd_strbuf_addf(out, " (%s)", hd_type_text(d->type, type));
    if (d->valid_offset >= 0)
        hd_strbuf_addf(out, " valid +%d", d->valid_offset);
    if (d->dict_table)
        hd_strbuf_addf(out, " code of %s.%s", d->dict_table->name, d->dict_table->cols[d->dict_column].name);
    if (t->merge)
        hd_strbuf_addf(out, " %s", merges[t->merge[f]]);
    else if (f < t->nkeys)
        hd_strbuf_adds(out, " key");
    hd_show_end_line(out, line);
}

static void print_partition(struct hd_strbuf *out, const struct rt_state *t)
{
    const struct rt_partition *p = &t->partition;
    if (!p->cpu_bits && !p->gpu_bits)
        return;
    hd_strbuf_addf(out, " partition %d bits, on a GPU %d, below bit %d of", p->cpu_bits, p->gpu_bits, p->top);
    for (int i = 0; i < p->nfields; i++)
        hd_strbuf_addf(out, "%s %s", i ? "," : "", t->fields[p->fields[i]].name);
    if (!p->nfields)
        hd_strbuf_adds(out, " the key");
}

static void print_state(struct hd_strbuf *out, const struct rt_spec *s, int i)
{
    const struct rt_state *t = &s->states[i];
    size_t line = out->n;
    hd_strbuf_addf(out, "  s%d %s \"%s\"", i, rt_state_kind_name(t->kind), t->name ? t->name : "");
    hd_strbuf_addf(out, " stride %d range %llu", t->stride, (unsigned long long)t->range);
    hd_strbuf_addf(out, "%s%s%s%s%s", t->shared ? " shared" : "", t->unique ? " unique" : "",
                   t->dedupe ? " dedupe" : "", t->track_matches ? " matches" : "", t->single ? " single" : "");
    if (t->distribution != RT_SINGLE)
        hd_strbuf_addf(out, " %s", rt_distribution_name(t->distribution));
    if (t->nvalues)
        hd_strbuf_addf(out, " values %lld", (long long)t->nvalues);
    print_partition(out, t);
    print_sort(out, t);
    hd_strbuf_addf(out, " ~%.0f rows %s", t->est_rows, t->path ? t->path : "");
    hd_show_end_line(out, line);
    for (int f = 0; f < t->nfields; f++)
        print_field(out, t, f);
    for (int k = 0; k < t->nfinish; k++)
        hd_strbuf_addf(out, "%s%s%s", k ? ", " : "      finish: ", rt_finish_name(t->finish[k]),
                       k + 1 == t->nfinish ? "\n" : "");
}

static void print_const(struct hd_strbuf *out, const struct rt_arg *a)
{
    char buf[HD_TEXT_MAX];
    if (rt_phys_is_float(a->phys))
        hd_strbuf_addf(out, " %.17g", a->f);
    else if (a->phys != RT_STR)
        hd_strbuf_addf(out, " %s", hd_dec_text(a->i, 0, buf));
    else {
        hd_strbuf_addc(out, ' ');
        hd_strbuf_add_json(out, a->s, a->n);
    }
}

static void print_object(struct hd_strbuf *out, const struct rt_arg *a)
{
    switch (rt_arg_object(a->kind)) {
    case RT_OBJECT_CONST: print_const(out, a); return;
    case RT_OBJECT_SET: hd_strbuf_addf(out, " of %d %s", a->nset, rt_phys_name(a->phys)); return;
    case RT_OBJECT_LIKE:
        hd_strbuf_addc(out, ' ');
        hd_strbuf_add_json(out, a->s, a->n);
        return;
    case RT_OBJECT_COLUMN:
    case RT_OBJECT_DICT: hd_strbuf_addf(out, " %s.%s", a->table->name, a->table->cols[a->column].name); return;
    case RT_OBJECT_KEYIDX:
    case RT_OBJECT_FK: hd_strbuf_addf(out, " %s %d", a->table->name, a->index); return;
    case RT_OBJECT_SOURCE: hd_strbuf_addf(out, " p%d", a->index); return;
    case RT_OBJECT_STATE: hd_strbuf_addf(out, " s%d", a->state); return;
    case RT_OBJECT_FIELD: hd_strbuf_addf(out, " s%d field %d", a->state, a->index); return;
    }
}

static void print_arg(struct hd_strbuf *out, const struct rt_spec *s, int i)
{
    const struct rt_arg *a = &s->args[i];
    size_t line = out->n;
    hd_strbuf_addf(out, "  w%d %s", a->word, rt_arg_kind_name(a->kind));
    print_object(out, a);
    if (a->way != RT_WAY_RESIDENT)
        hd_strbuf_addf(out, ", %s", rt_way_name(a->way));
    hd_show_end_line(out, line);
}

static void print_pipeline(struct hd_strbuf *out, const struct rt_spec *s, int i)
{
    const struct rt_pipeline *p = &s->pipelines[i];
    size_t line = out->n;
    hd_strbuf_addf(out, "  %s: %s", p->name, source_names[p->source]);
    if (p->source == RT_SOURCE_TABLE)
        hd_strbuf_addf(out, " %s", p->table->name);
    else if (p->source == RT_SOURCE_DICT)
        hd_strbuf_addf(out, " %s.%s", p->table->name, p->table->cols[p->column].name);
    else
        hd_strbuf_addf(out, " s%d", p->state);
    hd_strbuf_addf(out, ", %d level%s%s, entry %s", p->nlevels, p->nlevels == 1 ? "" : "s",
                   p->ordered ? ", ordered" : "", p->entry ? p->entry : "-");
    for (int l = 0; l < RT_MAX_LEVELS; l++)
        if (p->level_entry[l])
            hd_strbuf_addf(out, ", level %d %s", l, p->level_entry[l]);
    if (p->zones.nconditions)
        hd_strbuf_addf(out, ", %lld of %lld zones in %d ranges", (long long)p->zones.visited, (long long)p->zones.n,
                       p->zones.nranges);
    for (int k = 0; k < p->nstreamed; k++)
        hd_strbuf_addf(out, "%s w%d", k ? "," : ", streams", s->args[p->streamed[k]].word);
    if (p->nstreamed)
        hd_strbuf_addf(out, " by %llu rows", (unsigned long long)p->chunk_rows);
    hd_strbuf_addf(out, " %s", p->path ? p->path : "");
    hd_show_end_line(out, line);
}

/* Devices are named where there are several, fragments where there is more than one. */
static void print_action(struct hd_strbuf *out, const struct rt_spec *s, int i)
{
    const struct rt_action *a = &s->actions[i];
    hd_strbuf_addf(out, "  %d %s", i, rt_action_name(a->kind));
    if (a->kind == RT_RUN)
        hd_strbuf_addf(out, " %s", s->pipelines[a->index].name);
    else if (a->index >= 0)
        hd_strbuf_addf(out, " s%d", a->index);
    if (a->kind == RT_RUN && a->fragment.parts > 1)
        hd_strbuf_addf(out, " fragment %d of %d", a->fragment.part, a->fragment.parts);
    if (a->kind == RT_EXCHANGE)
        hd_strbuf_addf(out, " %s from device %d to device %d", rt_exchange_name(a->exchange), a->from, a->device);
    else if (s->ndevices > 1)
        hd_strbuf_addf(out, " on device %d", a->device);
    for (int k = 0; k < a->nafter; k++)
        hd_strbuf_addf(out, "%s %d", k ? "," : " after", a->after[k]);
    hd_strbuf_addc(out, '\n');
}

void rt_spec_print(struct hd_strbuf *out, const struct rt_spec *s)
{
    char type[HD_TEXT_MAX];
    hd_strbuf_adds(out, "states\n");
    for (int i = 0; i < s->nstates; i++)
        print_state(out, s, i);
    hd_strbuf_addf(out, "args (%d words)\n", s->nwords);
    for (int i = 0; i < s->nargs; i++)
        print_arg(out, s, i);
    hd_strbuf_adds(out, "pipelines\n");
    for (int i = 0; i < s->npipelines; i++)
        print_pipeline(out, s, i);
    hd_strbuf_adds(out, "schedule\n");
    for (int i = 0; i < s->nactions; i++)
        print_action(out, s, i);
    hd_strbuf_addf(out, "result s%d\n", s->result_state);
    for (int i = 0; i < s->nresult; i++) {
        size_t line = out->n;
        hd_strbuf_addf(out, "  %s %s%s = field %d", s->result[i].name, hd_type_text(s->result[i].type, type),
                       s->result[i].nullable ? "" : " not null", s->result[i].field);
        hd_show_end_line(out, line);
    }
}
