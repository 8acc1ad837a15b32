/* Rows that go from GPU to GPU: each reader pulls what is for it into a table on its own GPU (runtime/gpu/gpu_sent.h), and
 * nobody waits on the host. */
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_spread.h"
#include "runtime/base/fault.h"
#include "runtime/base/guard.h"
#include "runtime/gpu/gpu_sent.h"
#include "runtime/store/store.h"

/* Where workers take turns on a GPU, what all of them send to each other has room on the host alone. */
static bool has_room(const struct api_spread *p, const struct api_spread_fragment *f)
{
    bool few = p->workers == p->lanes && p->workers <= RT_GPU_PARTS_MAX;
    return few || f->exchange == API_EXCHANGE_GATHER || f->exchange == API_EXCHANGE_KEEP;
}

static bool has_text(const struct fe_node *root)
{
    bool text = false;
    for (int i = 0; i < root->ncols; i++)
        text |= hd_type_is_text(root->cols[i].type);
    return text;
}

/* Few rows come to the host together with what it waits for anyway. There the CPU may read them; and strings go on as fast as
 * kernels would put them side by side: one H200 as two, TPC-H at SF 10, Q1 and Q4 0.1 ms more by way of kernels, the host's way
 * at some 0.3 GB/s. */
static bool is_better_on_host(const struct api_spread *p, const struct api_spread_fragment *f,
                              const struct fe_node *root)
{
    return f->bytes <= API_FEW_BYTES && (has_text(root) || api_spread_feeds_few(p, f));
}

bool api_spread_is_direct(const struct api_spread *p, const struct api_spread_fragment *f,
                          const struct heddle_statement *s)
{
    bool may = p->of->backend->exchange && p->passes == 1 && f->exchange != API_EXCHANGE_RESULT && has_room(p, f);
    return may && !is_better_on_host(p, f, s->plan->root);
}

/* Tables that rows of a part go to. */
static int readers_of(const struct api_spread *p, const struct api_spread_fragment *f)
{
    bool all = f->exchange == API_EXCHANGE_SHUFFLE || f->exchange == API_EXCHANGE_BROADCAST;
    return all ? p->workers : 1;
}

int api_spread_send(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err)
{
    struct api_spread_part *part = &f->part[w];
    struct rt_gpu_send send = {.out = &part->sent, .readers = readers_of(p, f)};
    const struct api_output out = {.send = &send};
    if (f->exchange == API_EXCHANGE_SHUFFLE) {
        send.parts = p->workers;
        send.by = api_statement_column(part->statement, f->column);
    }
    part->taken = 0;
    return api_statement_execute(part->statement, &out, err);
}

/* ---- the table -------------------------------------------------------------------------------- */

static enum fe_storage storage_of(struct hd_type t)
{
    if (hd_type_is_text(t))
        return FE_STORE_TEXT;
    if (t.kind == HD_FLOAT32)
        return FE_STORE_F32;
    return t.kind == HD_FLOAT64 ? FE_STORE_F64 : FE_STORE_INT;
}

static void describe_column(struct fe_table_column *to, const struct fe_column *c,
                            const struct rt_gpu_received_column *how, const struct rt_gpu_column *from)
{
    *to = (struct fe_table_column){.name = c->name,
                                   .type = c->type,
                                   .nullable = from->valid != 0,
                                   .storage = storage_of(c->type),
                                   .width = how->width,
                                   .factor = 1,
                                   .facts = {.nulls = from->nulls, .distinct = -1, .max_mult = -1}};
    to->at.data = (const void *)(uintptr_t)from->values;
    to->at.validity = (const void *)(uintptr_t)from->valid;
    if (!how->text)
        return;
    to->at.text_base = (const void *)(uintptr_t)how->bases;
    to->at.text_bytes = (const void *)(uintptr_t)from->strings;
    to->at.text_size = how->text_size;
}

static int describe(struct hd_arena *a, const char *name, const struct fe_node *root, const struct rt_gpu_columns *c,
                    const struct rt_gpu_received_column *received, int device, struct fe_table *out)
{
    *out = (struct fe_table){.name = name,
                             .id = rt_table_next_id(),
                             .rows = (int64_t)c->n,
                             .device = device + 1,
                             .ncols = c->ncolumns,
                             .cols = HD_NEWN(a, struct fe_table_column, c->ncolumns + 1)};
    for (int i = 0; i < c->ncolumns; i++)
        describe_column(&out->cols[i], &root->cols[received[i].from], &received[i], &c->column[i]);
    return 0;
}

static int use_columns(struct api_spread *p, struct api_spread_fragment *f, int table,
                       const struct rt_gpu_received_column *received, struct hd_err *err)
{
    int rc, device = p->of->db->context->devices[api_spread_slot(p, table)];
    struct hd_arena a;
    struct fe_table from;
    struct api_spread_table *t = &f->table[table];
    const struct fe_node *root = f->part[f->every ? table : 0].statement->plan->root;
    hd_arena_init(&a);
    HD_GUARDED(rc, NULL, err, describe(&a, f->name, root, t->columns, received, device, &from));
    if (rc == 0)
        rc = api_spread_use_rows(p, f, t, &from, err);
    hd_arena_release(&a);
    return rc;
}

/* Nobody reads the column with the number of the worker. */
static int columns_of(const struct api_spread_fragment *f, const struct fe_node *root,
                      struct rt_gpu_received_column *out)
{
    int n = 0;
    for (int i = 0; i < root->ncols; i++)
        if (!f->column || strcmp(root->cols[i].name, f->column) != 0)
            out[n++] = (struct rt_gpu_received_column){.from = i,
                                                       .width = hd_type_width(root->cols[i].type),
                                                       .narrow = root->cols[i].type.kind == HD_DECIMAL,
                                                       .text = hd_type_is_text(root->cols[i].type)};
    return n;
}

/* The parts whose rows go there; returns how many. */
static int parts_of(struct api_spread *p, struct api_spread_fragment *f, int table, struct api_spread_part **out)
{
    int n = 0;
    for (int w = 0; w < api_spread_runs(f, p->workers); w++)
        if (f->exchange != API_EXCHANGE_KEEP || w == table)
            out[n++] = &f->part[w];
    return n;
}

static int receive(struct api_spread *p, struct api_spread_fragment *f, int table, struct api_spread_part **parts,
                   int n, struct rt_gpu_sent **sent, struct rt_gpu_received_column *columns, struct hd_err *err)
{
    struct heddle_statement *s = parts[0]->statement;
    int ncolumns = columns_of(f, s->plan->root, columns), slot = api_spread_slot(p, table);
    int part = f->exchange == API_EXCHANGE_SHUFFLE ? table : -1;
    for (int k = 0; k < n; k++)
        sent[k] = parts[k]->sent;
    HD_TRY(p->of->backend->exchange->receive(s, slot, sent, n, part, columns, ncolumns, &f->table[table].columns, err));
    pthread_mutex_lock(&p->lock);
    for (int k = 0; k < n; k++)
        parts[k]->taken++;
    pthread_mutex_unlock(&p->lock);
    return use_columns(p, f, table, columns, err);
}

/* Where there is no room for them, more passes have less. */
static void note_lack(struct api_spread *p, const struct api_spread_fragment *f, const struct hd_err *err)
{
    pthread_mutex_lock(&p->lock);
    if (!p->lacked && err->class == HD_ERR_RESOURCE) {
        p->lacked = true;
        p->lacking = (int)(f - p->fragments);
    }
    pthread_mutex_unlock(&p->lock);
}

int api_spread_receive(struct api_spread *p, struct api_spread_fragment *f, int table, struct hd_err *err)
{
    size_t n = (size_t)p->workers, ncolumns = (size_t)f->part[0].statement->plan->root->ncols;
    struct api_spread_part **parts = hd_try_calloc(n, sizeof *parts);
    struct rt_gpu_sent **sent = hd_try_calloc(n, sizeof *sent);
    struct rt_gpu_received_column *columns = hd_try_calloc(ncolumns + 1, sizeof *columns);
    int rc = -1;
    if (parts && sent && columns)
        rc = receive(p, f, table, parts, parts_of(p, f, table, parts), sent, columns, err);
    else
        HD_FAIL(err, RESOURCE, NULL, "out of memory");
    free(parts);
    free(sent);
    free(columns);
    if (rc != 0)
        note_lack(p, f, err);
    return rc;
}

/* ---- the end ----------------------------------------------------------------------------------- */

static bool is_taken(struct api_spread *p, const struct api_spread_fragment *f, const struct api_spread_part *part)
{
    pthread_mutex_lock(&p->lock);
    bool taken = part->sent && part->taken == readers_of(p, f);
    pthread_mutex_unlock(&p->lock);
    return taken;
}

void api_spread_give_back(struct api_spread *p, int lane)
{
    for (int i = 0; i < p->nfragments; i++)
        for (int w = lane; w < p->workers && p->fragments[i].direct; w += p->lanes)
            if (is_taken(p, &p->fragments[i], &p->fragments[i].part[w]))
                p->of->backend->exchange->give_back(p->fragments[i].part[w].sent);
}
