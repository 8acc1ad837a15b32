#include <string.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "planner/choice.h"

static const char *const exchanges[] = {
#define X(id, name) name,
    API_EXCHANGES(X)
#undef X
};

static void add_number(struct hd_strbuf *b, const struct api_spread *p, int w)
{
    hd_strbuf_addf(b, "%d", p->of->db->context->devices[api_spread_slot(p, w)]);
}

/* The number of the GPU, or "cpu". */
static void add_place(struct hd_strbuf *b, const struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    if (api_spread_on_cpu(f, w) || p->of->backend->side != PL_GPU)
        hd_strbuf_adds(b, "\"cpu\"");
    else
        add_number(b, p, w);
}

/* ---- report ------------------------------------------------------------------------------------ */

/* Bytes that left a part, as the GPU had them. */
static void add_part(struct hd_strbuf *b, const struct api_spread *p, const struct api_spread_fragment *f, int w)
{
    const struct api_spread_part *part = &f->part[w];
    const struct api_execution *e = &part->statement->timed;
    hd_strbuf_adds(b, w ? ",{" : "{");
    if (p->segments)
        hd_strbuf_addf(b, "\"segment\":%d,", w);
    hd_strbuf_adds(b, "\"device\":");
    add_place(b, p, f, w);
    hd_strbuf_addf(b,
                   ",\"start_ms\":%.3f,\"ms\":%.3f,\"transfer_ms\":%.3f,\"execute_ms\":%.3f,\"rows\":%llu,"
                   "\"bytes\":%llu,\"peak_bytes\":%llu}",
                   part->start_ms, part->end_ms - part->start_ms, e->stats.transfer_ms, e->stats.execute_ms,
                   (unsigned long long)e->rows, (unsigned long long)e->bytes, (unsigned long long)e->stats.peak_bytes);
}

static void add_fragment(struct hd_strbuf *b, const struct api_spread *p, int i)
{
    const struct api_spread_fragment *f = &p->fragments[i];
    uint64_t bytes = 0;
    for (int w = 0; w < api_spread_runs(f, p->workers); w++)
        bytes += f->part[w].statement->timed.bytes;
    hd_strbuf_addf(
        b, "%s{\"id\":%d,\"exchange\":\"%s\",\"direct\":%s,\"estimated_bytes\":%.0f,\"bytes\":%llu,\"parts\":[",
        i ? "," : "", i, exchanges[f->exchange], f->direct ? "true" : "false", f->bytes, (unsigned long long)bytes);
    for (int w = 0; w < api_spread_runs(f, p->workers); w++)
        add_part(b, p, f, w);
    hd_strbuf_adds(b, "]}");
}

/* end: of the span before. The time between. */
static double add_span(struct hd_strbuf *b, const struct api_spread *p, int i, int w, bool first, double *end)
{
    const struct api_spread_part *part = &p->fragments[i].part[w];
    double gap = HD_MAX(part->start_ms - *end, 0.0);
    hd_strbuf_addf(b, "%s{\"what\":\"fragment\",\"fragment\":%d,", first ? "" : ",", i);
    if (p->segments)
        hd_strbuf_addf(b, "\"segment\":%d,", w);
    hd_strbuf_adds(b, "\"device\":");
    add_place(b, p, &p->fragments[i], w);
    hd_strbuf_addf(b, ",\"start_ms\":%.4f,\"ms\":%.4f,\"gap_ms\":%.4f}", part->start_ms, part->end_ms - part->start_ms,
                   gap);
    *end = part->end_ms;
    return gap;
}

/* What each GPU did from when to when, fragment after fragment; gap_ms: since it ended the one before. */
static void add_timeline(struct hd_strbuf *b, const struct api_spread *p)
{
    double gaps = 0;
    bool first = true;
    hd_strbuf_adds(b, ",\"timeline\":[");
    for (int lane = 0; lane < p->lanes; lane++) {
        double end = 0;
        for (int i = 0; i < p->nfragments; i++)
            for (int w = lane; w < api_spread_runs(&p->fragments[i], p->workers); w += p->lanes) {
                gaps += add_span(b, p, i, w, first, &end);
                first = false;
            }
    }
    hd_strbuf_addf(b, "],\"gaps_ms\":%.4f", gaps);
}

void api_spread_report(struct hd_strbuf *b, const struct heddle_statement *s)
{
    const struct api_spread *p = s->spread;
    if (!p)
        return;
    hd_strbuf_adds(b, ",\"devices\":{\"why\":");
    hd_strbuf_add_json(b, p->why, strlen(p->why));
    hd_strbuf_adds(b, ",\"used\":[");
    for (int w = 0; w < p->lanes; w++) {
        hd_strbuf_adds(b, w ? "," : "");
        add_number(b, p, w);
    }
    hd_strbuf_addf(b, "],\"passes\":%d,", p->passes);
    if (p->executed)
        hd_strbuf_addf(b, "\"exchanged_bytes\":%llu,\"file_bytes\":%llu,", (unsigned long long)p->host_bytes,
                       (unsigned long long)p->file_bytes);
    hd_strbuf_adds(b, "\"fragments\":[");
    for (int i = 0; i < p->nfragments && p->executed; i++)
        add_fragment(b, p, i);
    hd_strbuf_adds(b, "]}");
    if (p->executed)
        add_timeline(b, p);
}

/* ---- explain ----------------------------------------------------------------------------------- */

/* The values of a worker's parameters in one line. */
static void show_values(struct hd_strbuf *out, const char *json)
{
    bool text = false;
    for (const char *c = json; *c; c++) {
        text ^= *c == '"';
        if (text || !strchr("\t\n", *c))
            hd_strbuf_addc(out, *c);
    }
}

/* Of what is sent over links: how much, as docs/scale.md tells. One worker's rows travel as they are. */
static void show_links(struct hd_strbuf *out, const struct api_spread *p, const struct api_spread_fragment *f)
{
    bool shuffled = f->exchange == API_EXCHANGE_SHUFFLE;
    if (p->passes > 1 || p->segments || !f->every || f->exchange == API_EXCHANGE_KEEP ||
        f->exchange == API_EXCHANGE_RESULT)
        return;
    hd_strbuf_addf(out, ", %.0f over the links of %s", pl_link_bytes(f->bytes, p->workers, shuffled),
                   f->exchange == API_EXCHANGE_GATHER ? "one GPU" : "each GPU");
}

static void show_fragment(struct hd_strbuf *out, const struct api_spread *p, int i)
{
    const struct api_spread_fragment *f = &p->fragments[i];
    bool gpus = p->of->backend->side == PL_GPU, gpu = gpus && !api_spread_on_cpu(f, 0);
    hd_strbuf_addf(out, "fragment %d", i);
    if (p->segments)
        hd_strbuf_adds(out, f->every ? " of each segment" : " once");
    hd_strbuf_adds(out, gpu ? " on GPU" : gpus ? " on the CPU" : "");
    for (int w = 0; gpu && w < HD_MIN(api_spread_runs(f, p->workers), p->lanes); w++) {
        hd_strbuf_adds(out, w ? ", " : " ");
        add_number(out, p, w);
    }
    if (f->every && p->passes > 1)
        hd_strbuf_addf(out, " in %d passes", p->passes);
    for (int k = 0; k < f->ninputs; k++)
        hd_strbuf_addf(out, "%s%d", k ? ", " : ", reads fragment ", f->inputs[k].fragment);
    hd_strbuf_addf(out, ": %s", exchanges[f->exchange]);
    if (f->column)
        hd_strbuf_addf(out, " by %s", f->column);
    hd_strbuf_addf(out, ", about %.0f rows, %.0f bytes", f->rows, f->bytes);
    show_links(out, p, f);
    hd_strbuf_addc(out, '\n');
    for (int w = 0; w < api_spread_runs(f, p->workers) && f->values[w]; w++) {
        hd_strbuf_adds(out, "  GPU ");
        add_number(out, p, w);
        if (p->passes > 1)
            hd_strbuf_addf(out, ", pass %d", w / p->lanes + 1);
        hd_strbuf_adds(out, ": ");
        show_values(out, f->values[w]);
        hd_strbuf_addc(out, '\n');
    }
}

int api_spread_show(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err)
{
    bool spread;
    HD_TRY(api_spread_choose(s, &spread, err));
    const struct api_spread *p = s->spread;
    if (!p) {
        hd_strbuf_adds(out, "one\n");
        return 0;
    }
    hd_strbuf_addf(out, "%d of %d", p->lanes, p->of->backend->side == PL_GPU ? s->db->context->ndevices : 1);
    if (p->passes > 1)
        hd_strbuf_addf(out, ", %d passes", p->passes);
    hd_strbuf_addf(out, ": %s\n", p->why);
    for (int i = 0; i < p->nfragments && spread; i++)
        show_fragment(out, p, i);
    return 0;
}
