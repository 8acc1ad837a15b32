/* Code in functions of bounded size. Optimizers and register allocators take more than linear time
 * for a function, so a plan of thousands of expressions would compile for minutes. A pipeline that
 * weighs more than one function should is framed (pipeline.h), and everything in it is cut: operators
 * of many arguments become trees of such with few, expressions that weigh too much become functions,
 * and so do runs of steps and of outs. What a frame costs, memory in place of registers, is little
 * beside what such a pipeline does per row. Most pipelines are far below the limit and left alone. */
#include "planner/parts.h"

#include "planner/build.h"

enum {
    FRAME_WEIGHT = 512, /* of a pipeline in one function; the heaviest of TPC-H and JCC-H weighs 177 */
    PART_WEIGHT = 256,  /* of a function in a framed pipeline */
    PART_WEIGHT_MIN = 8,
    CALL_WEIGHT = 3,    /* of a call of a function */
    WEIGHT_MAX = 1 << 28
};

/* Of a function in a framed pipeline. */
static int part_weight(const struct ctx *c)
{
    return c->opt.frame_weight ? HD_MAX(c->opt.frame_weight, PART_WEIGHT_MIN) : PART_WEIGHT;
}

static int own_weight(const struct pl_expr *e)
{
    if (e->op == FE_LIT || e->op == FE_COL)
        return 1;
    return (e->phys == RT_I128 ? 4 : 2) + (e->fail ? 2 : 0) + (e->nullable ? 1 : 0);
}

static int sum_weight(int a, int b)
{
    return HD_MIN(a + b, WEIGHT_MAX);
}

static int weigh(struct ctx *c, int e);

/* In code that calls it where it is outlined. */
static int weigh_used(struct ctx *c, int e)
{
    return e >= 0 && c->exprs.v[e].outlined ? CALL_WEIGHT : weigh(c, e);
}

static int weigh(struct ctx *c, int e)
{
    if (e < 0)
        return 0;
    while (c->weights.n <= e)
        hd_vec_push(c->a, &c->weights, 0);
    if (c->weights.v[e])
        return c->weights.v[e];
    const struct pl_expr x = c->exprs.v[e];
    int n = own_weight(&x);
    for (int i = 0; i < x.nargs; i++)
        n = sum_weight(n, weigh_used(c, x.args[i]));
    c->weights.v[e] = n;
    return n;
}

static int weigh_step(struct ctx *c, const struct pl_step *s)
{
    int n = 3 + weigh_used(c, s->expr);
    for (int i = 0; i < s->nkeys; i++)
        n = sum_weight(n, 4 + weigh_used(c, s->keys[i]));
    return n;
}

static int weigh_out(struct ctx *c, const struct pl_out *o)
{
    return sum_weight(4, weigh_used(c, o->expr));
}

static int weigh_pipeline(struct ctx *c, const struct open_pipeline *p)
{
    int n = 0;
    for (int i = 0; i < p->steps.n; i++)
        n = sum_weight(n, weigh_step(c, &p->steps.v[i]));
    for (int i = 0; i < p->sink.nouts; i++)
        n = sum_weight(n, weigh_out(c, &p->sink.outs[i]));
    return sum_weight(n, weigh_used(c, p->sink.index));
}

/* ---- operators of few arguments ----------------------------------------------------------------- */

struct framer {
    struct ctx *c;
    HD_VEC(int) becomes; /* by expression: 0 not looked at, else 1 + what it becomes */
};

static int node_like(struct framer *f, int e, enum fe_op op, bool nullable, int nargs, const int *args)
{
    struct pl_expr x = f->c->exprs.v[e];
    x.op = op;
    x.nullable = nullable;
    x.nargs = nargs;
    x.args = hd_dup(f->c->a, args, sizeof *args * (size_t)nargs);
    return pb_expr(f->c, x);
}

static bool any_nullable(const struct ctx *c, int n, const int *args)
{
    for (int i = 0; i < n; i++)
        if (c->exprs.v[args[i]].nullable)
            return true;
    return false;
}

/* Makes functions of the heaviest arguments until the rest weighs little enough. */
static void bound_arguments(struct framer *f, int e)
{
    struct ctx *c = f->c;
    const struct pl_expr x = c->exprs.v[e];
    if (e < c->weights.n)
        c->weights.v[e] = 0; /* arguments may weigh less than they did */
    while (weigh(c, e) > part_weight(f->c)) {
        int heaviest = -1, max = CALL_WEIGHT + 1;
        for (int i = 0; i < x.nargs; i++) {
            int n = weigh_used(c, x.args[i]);
            if (n > max) {
                max = n;
                heaviest = x.args[i];
            }
        }
        if (heaviest < 0)
            return;
        c->exprs.v[heaviest].outlined = true;
        c->weights.v[e] = 0;
    }
}

static int weigh_run(struct ctx *c, int n, const int *args)
{
    int weight = 0;
    for (int i = 0; i < n; i++)
        weight = sum_weight(weight, weigh_used(c, args[i]));
    return weight;
}

static void outline(struct ctx *c, int e)
{
    if (weigh_used(c, e) > CALL_WEIGHT)
        c->exprs.v[e].outlined = true;
}

/* Arguments from the i-th on that make one function: at least two, that runs become fewer. */
static int run_length(struct ctx *c, int n, const int *args, int i)
{
    int k = HD_MIN(2, n - i);
    int weight = weigh_run(c, k, args + i);
    while (i + k < n && weight + weigh_used(c, args[i + k]) <= part_weight(c))
        weight += weigh_used(c, args[i + k++]);
    return k;
}

/* One run: coalesce gives NULL where all of it is NULL, and, or where one may be. */
static int run_node(struct framer *f, int e, enum fe_op op, int n, int *args)
{
    if (n == 1)
        return args[0];
    bool nullable = op == FE_COALESCE ? f->c->exprs.v[args[n - 1]].nullable : any_nullable(f->c, n, args);
    int r = node_like(f, e, op, nullable, n, args);
    bound_arguments(f, r); /* two may be too much for a run */
    outline(f->c, r);
    return r;
}

/* Arguments of an associative operator as a tree of runs. */
static int tree_of(struct framer *f, int e, enum fe_op op, int n, int *args)
{
    bool nullable = f->c->exprs.v[e].nullable;
    while (n > 2 && weigh_run(f->c, n, args) > part_weight(f->c)) {
        int runs = 0;
        for (int i = 0, k; i < n; i += k) {
            k = run_length(f->c, n, args, i);
            args[runs++] = run_node(f, e, op, k, args + i);
        }
        n = runs;
    }
    return n == 1 ? args[0] : node_like(f, e, op, nullable, n, args);
}

/* x in (a, b, c, d): x in (a, b) or x in (c, d). */
static int split_in(struct framer *f, int e, int n, const int *args)
{
    struct ctx *c = f->c;
    int runs = 0, *ins = HD_NEWN(c->a, int, n), *run = HD_NEWN(c->a, int, n);
    outline(c, args[0]);
    run[0] = args[0];
    for (int i = 1, k; i < n; i += k) {
        k = run_length(c, n, args, i);
        memcpy(run + 1, args + i, sizeof *args * (size_t)k);
        ins[runs] = node_like(f, e, FE_IN, any_nullable(c, k + 1, run), k + 1, run);
        bound_arguments(f, ins[runs]);
        outline(c, ins[runs++]);
    }
    return tree_of(f, e, FE_OR, runs, ins);
}

/* A condition that is true where one of n is, which are evaluated from left to right as far as needed. */
static int any_of(struct framer *f, int e, int whens, const int *args)
{
    int *conditions = HD_NEWN(f->c->a, int, whens);
    for (int i = 0; i < whens; i++)
        conditions[i] = args[2 * i];
    if (whens == 1)
        return conditions[0];
    int like = pb_op(f->c, FE_OR, RT_BOOL, any_nullable(f->c, whens, conditions), whens, conditions);
    f->c->exprs.v[like].path = f->c->exprs.v[e].path;
    bound_arguments(f, like);
    outline(f->c, like);
    return like;
}

/* The value of a run of whens where one of the conditions is true: the last, if none before it. */
static int case_of_run(struct framer *f, int e, int whens, const int *args)
{
    int n = 2 * whens, *run = hd_dup(f->c->a, args, sizeof *args * (size_t)n);
    bool nullable = false;
    for (int i = 0; i < whens; i++)
        nullable = nullable || f->c->exprs.v[args[2 * i + 1]].nullable;
    run[n - 2] = run[n - 1];
    if (whens == 1)
        return run[0];
    int r = node_like(f, e, FE_CASE, nullable, n - 1, run);
    bound_arguments(f, r);
    outline(f->c, r);
    return r;
}

/* Where no value is NULL, the NULL of a run without else says that no condition was true. */
static int coalesce_case(struct framer *f, int e, int n, int *args)
{
    struct ctx *c = f->c;
    int runs = 0, last = n / 2 * 2, *parts = HD_NEWN(c->a, int, n / 4 + 2);
    for (int i = 0, k; i < last; i += k) {
        k = HD_MAX(run_length(c, last, args, i) / 2 * 2, HD_MIN(4, last - i));
        parts[runs] = node_like(f, e, FE_CASE, true, k, args + i);
        bound_arguments(f, parts[runs]);
        outline(c, parts[runs++]);
    }
    if (n % 2)
        parts[runs++] = args[n - 1];
    return tree_of(f, e, FE_COALESCE, runs, parts);
}

static bool is_null_free(const struct ctx *c, int n, const int *args)
{
    for (int i = 1; i < n; i += 2)
        if (c->exprs.v[args[i]].nullable)
            return false;
    return true;
}

/* Whens in runs: case when (c1 or c2) then (case when c1 then v1 else v2) when (c3 or c4) ... The run
 * that is entered evaluates its conditions again, which a value cannot tell. */
static int split_case(struct framer *f, int e, int n, int *args)
{
    struct ctx *c = f->c;
    while (n > 5 && weigh_run(c, n, args) > part_weight(f->c)) {
        int m = 0, last = n / 2 * 2;
        for (int i = 0, k; i < last; i += k) {
            k = HD_MAX(run_length(c, last, args, i) / 2 * 2, HD_MIN(4, last - i));
            int condition = any_of(f, e, k / 2, args + i);
            args[m + 1] = case_of_run(f, e, k / 2, args + i);
            args[m] = condition;
            m += 2;
        }
        if (n % 2)
            args[m++] = args[n - 1];
        n = m;
    }
    return node_like(f, e, FE_CASE, c->exprs.v[e].nullable, n, args);
}

/* An operator of any number of arguments as one of few, of runs of them. */
static int split_node(struct framer *f, int e, int n, int *args)
{
    enum fe_op op = f->c->exprs.v[e].op;
    if (op == FE_AND || op == FE_OR || op == FE_COALESCE)
        return tree_of(f, e, op, n, args);
    if (op == FE_IN)
        return split_in(f, e, n, args);
    if (op == FE_CASE)
        return is_null_free(f->c, n, args) ? coalesce_case(f, e, n, args) : split_case(f, e, n, args);
    return node_like(f, e, op, f->c->exprs.v[e].nullable, n, args);
}

/* ---- expressions of bounded weight -------------------------------------------------------------- */

static int bounded(struct framer *f, int e);

static int bounded_node(struct framer *f, int e)
{
    const struct pl_expr x = f->c->exprs.v[e];
    int *args = HD_NEWN(f->c->a, int, x.nargs + 1), r = e;
    bool same = true;
    for (int i = 0; i < x.nargs; i++) {
        args[i] = bounded(f, x.args[i]);
        same = same && args[i] == x.args[i];
    }
    if (weigh_run(f->c, x.nargs, args) > part_weight(f->c))
        r = split_node(f, e, x.nargs, args);
    else if (!same)
        r = node_like(f, e, x.op, x.nullable, x.nargs, args);
    bound_arguments(f, r);
    return r;
}

/* The expression with few arguments everywhere and functions for what weighs too much. */
static int bounded(struct framer *f, int e)
{
    if (e < 0 || f->c->exprs.v[e].nargs == 0)
        return e;
    while (f->becomes.n <= e)
        hd_vec_push(f->c->a, &f->becomes, 0);
    if (!f->becomes.v[e]) {
        int r = bounded_node(f, e);
        while (f->becomes.n <= r)
            hd_vec_push(f->c->a, &f->becomes, 0);
        f->becomes.v[e] = 1 + r;
        f->becomes.v[r] = 1 + r;
    }
    return f->becomes.v[e] - 1;
}

/* ---- framed pipelines --------------------------------------------------------------------------- */

/* The value of an expression as a slot, set by a step that goes before step `at`. */
static int slot_of(struct ctx *c, struct open_pipeline *p, int e, int at)
{
    const struct pl_expr x = c->exprs.v[e];
    if (x.op == FE_COL)
        return e;
    struct pl_val v = {.expr = e, .phys = x.phys, .nullable = x.nullable};
    int slot = pb_let(c, p, "x", v);
    struct pl_step let = p->steps.v[p->steps.n - 1];
    if (at < p->steps.n - 1) {
        let.level = p->steps.v[at].level;
        let.est = p->steps.v[at].est;
        memmove(&p->steps.v[at + 1], &p->steps.v[at], sizeof let * (size_t)(p->steps.n - 1 - at));
        p->steps.v[at] = let;
    }
    return pb_slot_expr(c, p, slot);
}

static void keys_of_step(struct framer *f, struct open_pipeline *p, int at)
{
    int n = p->steps.v[at].nkeys, *keys = HD_NEWN(f->c->a, int, n);
    for (int i = 0; i < n; i++) {
        int before = p->steps.n, key = bounded(f, p->steps.v[at].keys[i]);
        keys[i] = slot_of(f->c, p, key, at);
        at += p->steps.n - before;
    }
    p->steps.v[at].keys = keys;
    p->steps.v[at].key_parts = true;
}

static void frame_steps(struct framer *f, struct open_pipeline *p)
{
    for (int i = 0; i < p->steps.n; i++) {
        int before = p->steps.n;
        p->steps.v[i].expr = bounded(f, p->steps.v[i].expr);
        if (p->steps.v[i].nkeys > PL_PART_KEYS && p->steps.v[i].kind != PL_STEP_PROBE_SORTED)
            keys_of_step(f, p, i);
        i += p->steps.n - before;
    }
}

/* What a hash table's rows are found by: their number. */
static int key_outs(const struct ctx *c, const struct pl_sink *s)
{
    const struct rt_state *st = &c->states.v[s->state];
    return st->kind == RT_STATE_HASH || st->kind == RT_STATE_AGG_HASH ? st->nkeys : 0;
}

static void frame_sink(struct framer *f, struct open_pipeline *p)
{
    struct pl_sink *s = &p->sink;
    int keys = key_outs(f->c, s);
    for (int i = 0; i < s->nouts; i++) {
        s->outs[i].expr = bounded(f, s->outs[i].expr);
        if (s->outs[i].field < keys)
            s->outs[i].expr = slot_of(f->c, p, s->outs[i].expr, p->steps.n);
    }
    s->index = bounded(f, s->index);
    if (s->index >= 0)
        s->index = slot_of(f->c, p, s->index, p->steps.n);
}

/* The slot that an expression is, but for operators of one argument, such as a wider type; -1: it is none. */
static int slot_below(const struct ctx *c, int e)
{
    while (e >= 0 && c->exprs.v[e].nargs == 1)
        e = c->exprs.v[e].args[0];
    return e >= 0 && c->exprs.v[e].op == FE_COL ? c->exprs.v[e].slot : -1;
}

/* Such an expression with another in the place of the slot. */
static int put_below(struct ctx *c, int e, int value)
{
    struct pl_expr x = c->exprs.v[e];
    if (x.op == FE_COL)
        return value;
    int arg = put_below(c, x.args[0], value);
    x.args = hd_dup(c->a, &arg, sizeof arg);
    return pb_expr(c, x);
}

/* Slots that steps, copies, the index and expressions of the sink look at; direct: outs that are one slot. */
static void count_readers(struct ctx *c, const struct open_pipeline *p, bool *read, int *direct)
{
    struct pl_sink sink = p->sink;
    sink.nouts = 0;
    pl_sink_reads(c->exprs.v, &sink, read);
    for (int i = 0; i < p->steps.n; i++)
        pl_step_reads(c->exprs.v, &p->steps.v[i], read);
    for (int i = 0; i < p->sink.nouts; i++) {
        int e = p->sink.outs[i].expr, slot = slot_below(c, e);
        if (slot >= 0)
            direct[slot]++;
        else if (e >= 0)
            pl_expr_reads(c->exprs.v, e, read);
    }
}

/* By slot: the last steps that set one and that end no row, from which `first` on; -1: none. */
static int last_lets(const struct open_pipeline *p, int *let)
{
    int first = p->steps.n;
    for (int i = 0; i < p->slots.n; i++)
        let[i] = -1;
    while (first > 0) {
        const struct pl_step *s = &p->steps.v[first - 1];
        if (s->kind == PL_STEP_LET)
            let[s->slot] = first - 1;
        else if (pl_step_form(s->kind)->yields != PL_YIELDS_ONE)
            break;
        first--;
    }
    return first;
}

/* A value that one out alone takes is computed there: the frame keeps what is shared. */
static void move_lets(struct ctx *c, struct open_pipeline *p)
{
    int n = p->slots.n + 1, *direct = HD_NEWN(c->a, int, n), *let = HD_NEWN(c->a, int, n);
    bool *read = HD_NEWN(c->a, bool, n), *moved = HD_NEWN(c->a, bool, p->steps.n + 1);
    int to = last_lets(p, let);
    count_readers(c, p, read, direct);
    for (int i = 0; i < p->sink.nouts; i++) {
        struct pl_out *o = &p->sink.outs[i];
        int slot = slot_below(c, o->expr);
        if (slot < 0 || read[slot] || direct[slot] > 1 || let[slot] < 0)
            continue;
        o->expr = put_below(c, o->expr, p->steps.v[let[slot]].expr);
        moved[let[slot]] = true;
    }
    for (int i = to; i < p->steps.n; i++)
        if (!moved[i])
            p->steps.v[to++] = p->steps.v[i];
    p->steps.n = to;
}

void pl_frame(struct ctx *c, struct open_pipeline *p)
{
    struct framer f = {.c = c};
    int max = c->opt.frame_weight ? c->opt.frame_weight : FRAME_WEIGHT;
    if (weigh_pipeline(c, p) <= max)
        return;
    p->framed = true;
    for (int i = 0; i < p->steps.n; i++)
        p->steps.v[i].near = false; /* functions remember nothing from row to row */
    move_lets(c, p);
    frame_steps(&f, p);
    frame_sink(&f, p);
}

int pl_weight(struct ctx *c, const struct pl_pipeline *q)
{
    int n = 0;
    for (int i = 0; i < q->nsteps; i++)
        n = sum_weight(n, weigh_step(c, &q->steps[i]));
    for (int i = 0; i < q->sink.nouts; i++)
        n = sum_weight(n, weigh_out(c, &q->sink.outs[i]));
    return sum_weight(n, weigh_used(c, q->sink.index));
}

bool pl_fits_tile(struct ctx *c, const struct pl_pipeline *q, const struct pl_step *s, int *weight)
{
    *weight = sum_weight(*weight, weigh_step(c, s));
    return !q->framed || *weight <= part_weight(c);
}

/* ---- runs --------------------------------------------------------------------------------------- */

static void add_part(struct ctx *c, struct pl_part **parts, int *n, int first, int end)
{
    hd_grow1(c->a, *parts, *n);
    (*parts)[(*n)++] = (struct pl_part){first, end};
}

static void cut_steps(struct ctx *c, struct pl_pipeline *q)
{
    int first = HD_MAX(q->cpu_tile.steps, q->gpu_tile.steps), weight = 0;
    bool folding = false; /* a loop stays in one function */
    for (int i = first; i < q->nsteps; i++) {
        const struct pl_step *s = &q->steps[i];
        int n = weigh_step(c, s);
        bool alone = pl_opens_level(s->kind);
        if (i > first && !folding && (alone || weight + n > part_weight(c))) {
            add_part(c, &q->parts, &q->nparts, first, i);
            first = i;
            weight = 0;
        }
        if (alone)
            first = i + 1;
        else
            weight += n;
        folding = pl_opens_fold(s->kind) || (folding && s->kind != PL_STEP_FOLD_END);
    }
    if (first < q->nsteps)
        add_part(c, &q->parts, &q->nparts, first, q->nsteps);
}

static void cut_outs(struct ctx *c, struct pl_sink *s)
{
    int first = 0, weight = 0, keys = s->kind == PL_SINK_AGG_HASH ? key_outs(c, s) : 0;
    for (int i = 0; i < s->nouts; i++) {
        int n = weigh_out(c, &s->outs[i]);
        if (i > first && (weight + n > part_weight(c) || i == keys)) {
            add_part(c, &s->parts, &s->nparts, first, i);
            first = i;
            weight = 0;
        }
        weight += n;
    }
    if (first < s->nouts)
        add_part(c, &s->parts, &s->nparts, first, s->nouts);
}

void pl_cut_parts(struct ctx *c, struct pl_pipeline *q)
{
    if (!q->framed)
        return;
    cut_steps(c, q);
    cut_outs(c, &q->sink);
}
