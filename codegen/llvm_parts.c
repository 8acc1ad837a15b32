/* Framed pipelines (planner/parts.c): slots lie in memory, and functions of bounded size do what
 * would else be one long function. All take (args, thread, frame, row, other), of which they use what
 * they need, and return one of the outcomes below. */
#include "codegen/llvm_build.h"
#include "codegen/llvm_sink.h"

#include "templates/abi.h"

/* What a function returns: go on, an error was raised, the row ends here (or keys differ). */
enum { GO_ON, FAILED, ENDS };

/* --- the frame --- */

static const struct cg_frame *frame_of(struct cg_fn *f)
{
    struct cg_frame *fr = &f->m->frames[f->index];
    if (!fr->fields) {
        fr->fields = HD_NEWN(f->m->arena, struct rt_field, f->pipeline->nslots + 1);
        for (int i = 0; i < f->pipeline->nslots; i++)
            fr->fields[i] = cg_carry_field(&f->pipeline->slots[i], &fr->bytes);
    }
    return fr;
}

void cg_frame_open(struct cg_fn *f)
{
    f->frame = cg_alloca(f, HD_MAX(frame_of(f)->bytes, 8));
}

struct cg_val cg_frame_load(struct cg_fn *f, int slot)
{
    return cg_load_field(f, &frame_of(f)->fields[slot], f->frame, false);
}

void cg_frame_store(struct cg_fn *f, int slot, struct cg_val v)
{
    cg_store_field(f, &frame_of(f)->fields[slot], v, f->frame);
}

/* --- calls --- */

static LLVMValueRef call(struct cg_fn *f, int kind, int first, LLVMValueRef row, LLVMValueRef other)
{
    const struct cg_job job = {f->index, kind, first};
    LLVMValueRef none = LLVMConstNull(f->m->ptr);
    LLVMValueRef args[] = {f->args, f->thread, f->frame, row ? row : none, other ? other : none};
    LLVMValueRef fn = cg_function(f->m, &job);
    LLVMValueRef status = LLVMBuildCall2(f->b, f->m->part_type, fn, args, 5, "");
    l_rarely(f, l_eq(f, status, l_i32(f, FAILED)), cg_failed_block(f), "called");
    return status;
}

const struct pl_part *cg_part_at(const struct cg_fn *f, int k)
{
    int lo = 0, hi = f->pipeline->nparts;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (f->pipeline->parts[mid].first < k)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->pipeline->nparts && f->pipeline->parts[lo].first == k ? &f->pipeline->parts[lo] : NULL;
}

static const struct pl_part *part_from(const struct cg_fn *f, int k)
{
    const struct pl_part *p = cg_part_at(f, k);
    HD_ASSERT(p);
    return p;
}

static const struct pl_part *outs_from(const struct cg_fn *f, int first)
{
    const struct pl_sink *s = &f->pipeline->sink;
    for (int i = 0; i < s->nparts; i++)
        if (s->parts[i].first == first)
            return &s->parts[i];
    HD_BUG("no outs of %s begin at %d", f->pipeline->spec->name, first);
}

void cg_call_steps(struct cg_fn *f, const struct pl_part *p)
{
    LLVMValueRef status = call(f, CG_FUNCTION_STEPS, p->first, NULL, NULL);
    l_need(f, l_eq(f, status, l_i32(f, GO_ON)), f->next, "on");
}

/* An expression as a field of a row that is its value. */
static struct rt_field value_field(const struct pl_expr *e)
{
    struct pl_slot s = {.phys = e->phys, .nullable = e->nullable};
    int at = 0;
    return cg_carry_field(&s, &at);
}

struct cg_val cg_call_expr(struct cg_fn *f, int e)
{
    struct rt_field fd = value_field(&f->m->prog->exprs[e]);
    if (!f->value)
        f->value = cg_alloca(f, CG_TMP_BYTES + 8);
    call(f, CG_FUNCTION_EXPR, e, f->value, NULL);
    return cg_load_field(f, &fd, f->value, false);
}

void cg_call_outs(struct cg_fn *f, enum cg_function kind, int first, int end, LLVMValueRef row, LLVMValueRef other)
{
    const struct pl_sink *s = &f->pipeline->sink;
    for (int i = 0; i < s->nparts; i++)
        if (s->parts[i].first >= first && s->parts[i].first < end)
            call(f, kind, s->parts[i].first, row, other);
}

/* --- keys --- */

/* Hashing and comparing the keys of a step, or of the sink. */
enum { HASHED, COMPARED };

static int key_kind(int step, int what)
{
    return CG_FUNCTION_KEYS + 2 * (step + 1) + what;
}

struct keys {
    int n;
    const struct rt_state *st;
    bool null_equal;
    const struct pl_step *step; /* NULL: the sink */
};

static struct keys keys_of(const struct cg_fn *f, int step)
{
    const struct pl_step *s = step < 0 ? NULL : &f->pipeline->steps[step];
    const struct rt_state *st = &f->m->prog->spec->states[s ? s->state : f->pipeline->sink.state];
    return (struct keys){st->nkeys, st, s ? s->null_equal : true, s};
}

static int key_expr(const struct cg_fn *f, const struct keys *k, int field)
{
    const struct pl_sink *s = &f->pipeline->sink;
    if (k->step)
        return k->step->keys[field];
    for (int i = 0; i < s->nouts; i++)
        if (s->outs[i].field == field)
            return s->outs[i].expr;
    HD_BUG("%s has no key %d", f->pipeline->spec->name, field);
}

LLVMValueRef cg_call_hash(struct cg_fn *f, int step, LLVMBasicBlockRef null)
{
    struct keys k = keys_of(f, step);
    LLVMValueRef h = cg_alloca(f, 8);
    l_store(f, l_u64(f, HDD_HASH_SEED), h, 8);
    for (int i = 0; i < k.n; i += PL_PART_KEYS) {
        LLVMValueRef status = call(f, key_kind(step, HASHED), i, h, NULL);
        if (null)
            l_need(f, l_eq(f, status, l_i32(f, GO_ON)), null, "notnull");
    }
    return l_load(f, f->m->i64, h, 8);
}

void cg_call_equal(struct cg_fn *f, int step, LLVMValueRef row, LLVMBasicBlockRef differ)
{
    struct keys k = keys_of(f, step);
    for (int i = 0; i < k.n; i += PL_PART_KEYS) {
        LLVMValueRef status = call(f, key_kind(step, COMPARED), i, row, NULL);
        l_need(f, l_eq(f, status, l_i32(f, GO_ON)), differ, "equal");
    }
}

/* Keys from `first` on, as many as a function has. Without validity where NULL never matches: such
 * rows went elsewhere when they were hashed. */
static int eval_keys(struct cg_fn *f, const struct keys *k, int first, bool valid, struct cg_val *vals,
                     enum rt_phys *phys)
{
    int n = HD_MIN(k->n - first, (int)PL_PART_KEYS);
    for (int i = 0; i < n; i++) {
        vals[i] = cg_expr(f, key_expr(f, k, first + i));
        phys[i] = k->st->fields[first + i].phys;
        if (!valid)
            vals[i].valid = NULL;
    }
    return n;
}

static void hash_keys(struct cg_fn *f, const struct keys *k, int first)
{
    struct cg_val vals[PL_PART_KEYS];
    enum rt_phys phys[PL_PART_KEYS];
    int n = eval_keys(f, k, first, true, vals, phys);
    for (int i = 0; i < n && !k->null_equal; i++) {
        if (vals[i].valid)
            l_need(f, vals[i].valid, f->next, "notnull");
        vals[i].valid = NULL;
    }
    LLVMValueRef h = cg_hash_more(f, l_load(f, f->m->i64, f->row, 8), n, vals, phys);
    l_store(f, h, f->row, 8);
}

static void compare_keys(struct cg_fn *f, const struct keys *k, int first)
{
    struct cg_val vals[PL_PART_KEYS];
    enum rt_phys phys[PL_PART_KEYS];
    int n = eval_keys(f, k, first, k->null_equal, vals, phys);
    cg_keys_equal(f, n, &k->st->fields[first], f->row, vals, k->null_equal, f->next);
}

/* --- bodies --- */

static void steps(struct cg_fn *f, const struct pl_part *p)
{
    for (int k = p->first; k < p->end; k++) {
        cg_count(f, k, NULL);
        cg_step(f, &f->pipeline->steps[k]);
    }
}

static void expr(struct cg_fn *f, int e)
{
    struct rt_field fd = value_field(&f->m->prog->exprs[e]);
    struct cg_val v = cg_expr_here(f, e);
    v.wide = NULL;
    cg_store_field(f, &fd, v, f->row);
}

static void body(struct cg_fn *f, const struct cg_job *j)
{
    if (j->kind == CG_FUNCTION_STEPS) {
        steps(f, part_from(f, j->first));
    } else if (j->kind == CG_FUNCTION_EXPR) {
        expr(f, j->first);
    } else if (j->kind < CG_FUNCTION_KEYS) {
        cg_sink_part(f, (enum cg_function)j->kind, outs_from(f, j->first));
    } else {
        int number = j->kind - CG_FUNCTION_KEYS;
        struct keys k = keys_of(f, number / 2 - 1);
        if (number % 2 == HASHED)
            hash_keys(f, &k, j->first);
        else
            compare_keys(f, &k, j->first);
    }
}

void cg_part(struct cg_mod *m, const struct cg_job *job)
{
    struct cg_fn *f = cg_fn_open(m, job);
    f->frame = LLVMGetParam(f->fn, 2);
    f->row = LLVMGetParam(f->fn, 3);
    f->other = LLVMGetParam(f->fn, 4);
    f->next = l_block(f, "ends");
    body(f, job);
    l_br(f, f->exit);
    l_goto(f, f->next);
    LLVMBuildRet(f->b, l_i32(f, ENDS));
    cg_fn_close(f);
}
