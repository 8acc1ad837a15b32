/* Functions of framed pipelines. Large plans repeat themselves: sums of a + 0, a + 1, ..., thousands of
 * comparisons with constants. While the body of a function is printed, numbers that tell repetitions
 * apart (words of arguments, places in the frame and in rows, paths) are left open. Bodies whose text
 * is then the same are one function, and the numbers in which they differ are rows of a table that it
 * gets as `t`; the others are constants. Open numbers and rows are marked in the text:
 *   \1 N \2          number N of the function
 *   \3 F : ROW \4    row ROW of function F, as an argument; ROW may be open itself */
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda_gen.h"

struct shared {
    const char *name, *type, *params, *text;
    bool changes;
    uint64_t hash;
    int nnumbers, ncolumns; /* open ones; those that differ, of the table */
    int *column;            /* by number: of the table, -1: it is the same in all rows */
    HD_VEC(const char **) rows;
};

typedef HD_VEC(const char *) numbers;

struct cu_functions {
    HD_VEC(struct shared *) list;
    numbers *open; /* of the body that is printed; NULL: none is */
};

static struct cu_functions *functions_of(struct cu_unit *u)
{
    if (!u->functions)
        u->functions = HD_NEW(u->arena, struct cu_functions);
    return u->functions;
}

bool cu_in_function(const struct cu_unit *u)
{
    return u->functions && u->functions->open;
}

const char *cu_number_text(struct cu_unit *u, const char *constant)
{
    if (!cu_in_function(u))
        return constant;
    numbers *open = u->functions->open;
    hd_vec_push(u->arena, open, constant);
    return hd_asprintf(u->arena, "\1%d\2", open->n - 1);
}

const char *cu_number(struct cu_unit *u, int n)
{
    return cu_number_text(u, hd_asprintf(u->arena, "%d", n));
}

/* ---- finding the same ------------------------------------------------------------------- */

static uint64_t hash_text(const char *s)
{
    uint64_t h = 14695981039346656037u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static struct shared *find(const struct cu_functions *all, const struct cu_function *f, const char *text, uint64_t hash,
                           int *number)
{
    for (int i = 0; i < all->list.n; i++) {
        struct shared *s = all->list.v[i];
        if (s->hash == hash && strcmp(s->text, text) == 0 && strcmp(s->type, f->type) == 0 &&
            strcmp(s->params, f->params) == 0) {
            *number = i;
            return s;
        }
    }
    return NULL;
}

/* What is being printed around it goes on afterwards. */
static const char *print_body(struct cu_unit *u, const struct cu_function *f, numbers *open)
{
    struct cu_functions *all = functions_of(u);
    struct cu_out body = {.indent = 1}, *out = u->out;
    numbers *before = all->open;
    bool guarded = u->guarded, recounted = u->recounted;
    int first_out = u->first_out;
    hd_strbuf_init(&body.b);
    u->out = &body;
    u->guarded = u->recounted = false;
    all->open = open;
    f->body(u, f->what, f->first);
    all->open = before;
    u->out = out;
    u->guarded = guarded;
    u->recounted = recounted;
    u->first_out = first_out;
    const char *text = hd_strndup(u->arena, body.b.s, body.b.n);
    hd_strbuf_release(&body.b);
    return text;
}

struct cu_call cu_define(struct cu_unit *u, const struct cu_function *f)
{
    struct cu_functions *all = functions_of(u);
    numbers open = {0};
    const char *text = print_body(u, f, &open);
    uint64_t hash = hash_text(text);
    int number;
    struct shared *s = find(all, f, text, hash, &number);
    if (!s) {
        s = HD_NEW(u->arena, struct shared);
        s->name = f->name, s->type = f->type, s->params = f->params;
        s->changes = f->changes;
        s->text = text;
        s->hash = hash;
        s->nnumbers = open.n;
        number = all->list.n;
        hd_vec_push(u->arena, &all->list, s);
    }
    hd_vec_push(u->arena, &s->rows, open.v);
    return (struct cu_call){number, s->rows.n - 1};
}

/* ---- calls ------------------------------------------------------------------------------ */

static const char *row_argument(struct cu_unit *u, int function, const char *row)
{
    return hd_asprintf(u->arena, "\3%d:%s\4", function, row);
}

static const char *row_of_call(struct cu_unit *u, struct cu_call c)
{
    return row_argument(u, c.function, cu_number(u, c.row));
}

const char *cu_call(struct cu_unit *u, struct cu_call c, const char *arguments)
{
    return hd_asprintf(u->arena, "%s(%s%s)", u->functions->list.v[c.function]->name, arguments, row_of_call(u, c));
}

static void print_call(struct cu_unit *u, const char *before, struct cu_call c, const char *arguments, const char *row)
{
    cu_line(u->out, "%s%s(%s%s);", before, u->functions->list.v[c.function]->name, arguments, row);
}

/* Calls from i on of one function with one row after the other. */
static int run_of_calls(const struct cu_call *calls, int n, int i)
{
    int k = i + 1;
    while (k < n && calls[k].function == calls[i].function && calls[k].row == calls[i].row + (k - i))
        k++;
    return k - i;
}

void cu_print_calls(struct cu_unit *u, const char *before, const struct cu_call *calls, int n, const char *arguments)
{
    for (int i = 0, run; i < n; i += run) {
        struct cu_call c = calls[i];
        run = run_of_calls(calls, n, i);
        if (run == 1) {
            print_call(u, before, c, arguments, row_of_call(u, c));
            continue;
        }
        const char *row = c.row ? hd_asprintf(u->arena, "%d + k", c.row) : "k";
        cu_line(u->out, "HDD_NO_UNROLL");
        cu_open(u->out, "for (u32 k = 0; k < %d; k++)", run);
        print_call(u, before, c, arguments, row_argument(u, c.function, row));
        u->out->indent--;
    }
}

/* ---- settling --------------------------------------------------------------------------- */

static bool has_table(const struct shared *s)
{
    return s->ncolumns > 0;
}

static bool differs(const struct shared *s, int number)
{
    for (int i = 1; i < s->rows.n; i++)
        if (strcmp(s->rows.v[i][number], s->rows.v[0][number]) != 0)
            return true;
    return false;
}

void cu_settle_tables(struct cu_unit *u)
{
    for (int i = 0; u->functions && i < u->functions->list.n; i++) {
        struct shared *s = u->functions->list.v[i];
        s->column = HD_NEWN(u->arena, int, s->nnumbers + 1);
        for (int k = 0; k < s->nnumbers; k++)
            s->column[k] = differs(s, k) ? s->ncolumns++ : -1;
    }
}

/* The text of function `of` (NULL: of none) up to `end`. Returns what follows. */
static const char *settle(const struct cu_functions *all, const char *text, char end, const struct shared *of,
                          struct hd_strbuf *out)
{
    while (*text && *text != end) {
        if (*text == '\1') {
            char *rest;
            long n = strtol(text + 1, &rest, 10);
            if (of->column[n] < 0)
                hd_strbuf_adds(out, of->rows.v[0][n]);
            else
                hd_strbuf_addf(out, "t[%d]", of->column[n]);
            text = rest + 1;
        } else if (*text == '\3') {
            char *rest;
            const struct shared *s = all->list.v[strtol(text + 1, &rest, 10)];
            size_t before = out->n;
            if (has_table(s))
                hd_strbuf_addf(out, ", %s_t[", s->name);
            text = settle(all, rest + 1, '\4', of, out) + 1;
            if (has_table(s)) {
                hd_strbuf_addc(out, ']');
            } else {
                out->n = before;
                out->s[before] = 0;
            }
        } else {
            hd_strbuf_addc(out, *text++);
        }
    }
    return text;
}

static const char *settled(struct cu_unit *u, const char *text, const struct shared *of)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    settle(functions_of(u), text, 0, of, &b);
    const char *s = hd_strndup(u->arena, b.s, b.n);
    hd_strbuf_release(&b);
    return s;
}

const char *cu_settle(struct cu_unit *u, const char *text)
{
    return u->functions ? settled(u, text, NULL) : text;
}

/* ---- printing --------------------------------------------------------------------------- */

static void print_row(struct cu_out *o, const struct shared *s, int row)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    for (int i = 0; i < s->nnumbers; i++)
        if (s->column[i] >= 0)
            hd_strbuf_addf(&b, "%s%s", s->column[i] ? ", " : "", s->rows.v[row][i]);
    cu_line(o, "{%s},", b.s);
    hd_strbuf_release(&b);
}

void cu_print_tables(struct cu_unit *u, struct cu_out *o)
{
    for (int i = 0; u->functions && i < u->functions->list.n; i++) {
        const struct shared *s = u->functions->list.v[i];
        if (!has_table(s))
            continue;
        cu_line(o, "// What tells the calls of %s apart.", s->name);
        cu_open(o, "HDD_TABLE i32 %s_t[%d][%d] = {", s->name, s->rows.n, s->ncolumns);
        for (int row = 0; row < s->rows.n; row++)
            print_row(o, s, row);
        cu_close(o, "};");
        cu_blank(o);
    }
}

static void print_lines(struct cu_out *o, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        hd_strbuf_addn(&o->b, ' ', o->indent * 4);
        hd_strbuf_add(&o->b, text, n);
        hd_strbuf_addc(&o->b, '\n');
        text += n + (text[n] == '\n');
    }
}

void cu_print_functions(struct cu_unit *u)
{
    for (int i = 0; u->functions && i < u->functions->list.n; i++) {
        const struct shared *s = u->functions->list.v[i];
        bool table = has_table(s);
        cu_line(u->out, "HDD_PART %s %s(%s%s)%s", s->type, s->name, s->params, table ? ", const i32 *t" : "",
                s->changes ? "" : " const");
        cu_line(u->out, "{");
        cu_line(u->out, "    (void)frame;%s", table ? " (void)t;" : "");
        print_lines(u->out, settled(u, s->text, s));
        cu_line(u->out, "}");
        cu_blank(u->out);
    }
}
