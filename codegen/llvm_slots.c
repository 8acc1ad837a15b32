/* Slots: values in registers, fields of a tuple that is carried to another function, and members of the frame that the
 * functions of a framed pipeline share. */
#include "codegen/llvm_build.h"

#include <string.h>

/* Carried slots: values as in rows of states, each followed by a valid byte if nullable. */
static int carry_offset(const struct pl_slot *s, int *at)
{
    int size = cg_phys_size(s->phys);
    int offset = (int)hd_align_up((size_t)*at, (size_t)HD_MIN(size, 8));
    *at = offset + size + (s->nullable ? 1 : 0);
    return offset;
}

struct rt_field cg_carry_field(const struct pl_slot *s, int *at)
{
    struct rt_field fd = {.name = s->name, .phys = s->phys, .offset = carry_offset(s, at)};
    fd.valid_offset = s->nullable ? *at - 1 : -1;
    return fd;
}

/* ---- the frame -------------------------------------------------------------------------- */

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

/* The value of a slot that this function did not set. */
static struct cg_val frame_load(struct cg_fn *f, int slot)
{
    return cg_load_field(f, &frame_of(f)->fields[slot], f->frame, false);
}

static void frame_store(struct cg_fn *f, int slot, struct cg_val v)
{
    cg_store_field(f, &frame_of(f)->fields[slot], v, f->frame);
}

/* ---- values ----------------------------------------------------------------------------- */

void cg_bind(struct cg_fn *f, int slot, struct cg_val v)
{
    if (slot < 0)
        return;
    HD_ASSERT(slot < f->pipeline->nslots);
    const char *name = f->pipeline->slots[slot].name;
    if (name && LLVMIsAInstruction(v.v))
        LLVMSetValueName2(v.v, name, strlen(name));
    f->slots[slot] = v;
    if (f->frame && !f->lanes)
        frame_store(f, slot, v);
}

struct cg_val cg_slot(struct cg_fn *f, int slot)
{
    if (slot < 0 || slot >= f->pipeline->nslots || (!f->slots[slot].v && !f->frame))
        HD_BUG("slot %d of %s is read before it is set", slot, f->pipeline->spec->name);
    return f->slots[slot].v ? f->slots[slot] : frame_load(f, slot);
}

LLVMValueRef cg_row_index(struct cg_fn *f, int slot)
{
    struct cg_val s = cg_slot(f, slot);
    return s.wide ? s.wide : l_zext(f, s.v, f->m->i64);
}

LLVMValueRef cg_row_is_null(struct cg_fn *f, int slot)
{
    return l_eq(f, cg_slot(f, slot).v, l_i32(f, -1));
}

void cg_bind_source(struct cg_fn *f, LLVMValueRef i)
{
    cg_bind(f, f->pipeline->source_slot, (struct cg_val){.v = l_trunc(f, i, f->m->i32), .wide = i});
}
