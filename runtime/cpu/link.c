/* A linker for what LLVM emits here: sections of one object are laid out in three segments, each page with one kind of
 * access, and relocations of the small code model are applied. LLVM's own (LLJIT) starts a session with libraries, a
 * target machine and a platform for that, which takes 0.5 ms of 0.7; here all takes 0.05.
 * Constructors do not run and tables for unwinding are left out: nothing is thrown through generated code.
 * "System V Application Binary Interface, AMD64 Architecture Processor Supplement" has the relocations. */
#include "runtime/cpu/link.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fault.h"
#include "runtime/base/util.h"
#include "runtime/cpu/helpers.h"

enum segment { CODE, CONSTANTS, DATA, SEGMENTS };

static const int access_of[SEGMENTS] = {
    [CODE] = PROT_READ | PROT_EXEC, [CONSTANTS] = PROT_READ, [DATA] = PROT_READ | PROT_WRITE};

/* Of one symbol in the segment of code: a jump to its address, which follows and is its entry in the table of offsets,
 * too. Helpers are further from code than a call reaches. */
struct far {
    unsigned char jump[8];
    uint64_t address;
};
static const unsigned char JUMP[8] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc}; /* jmp *2(%rip) */

/* So much in all is no code of ours. */
static const size_t LARGEST = (size_t)1 << 30;

struct section {
    Elf64_Shdr h;
    size_t offset; /* in its segment */
    unsigned char *at; /* NULL: it is not loaded */
};

struct object {
    const unsigned char *p;
    size_t n;
    struct section *sections;
    size_t nsections;
    Elf64_Sym *symbols;
    size_t nsymbols;
    uint64_t *addresses; /* of symbols */
    const char *names;   /* ends with 0 */
    size_t names_size, far_offset;
    struct far *far;     /* of symbols */
};

struct name {
    char *name;
    void *address;
};

struct rt_code {
    unsigned char *map;
    size_t size;
    struct name *names;
    size_t nnames;
};

struct linking {
    struct object *objects;
    int n;
    size_t size[SEGMENTS], start[SEGMENTS];
    struct rt_code *code;
};

static int damaged(const char *what, struct hd_err *err)
{
    return HD_FAIL(err, TOOL, NULL, "the compiled code cannot be linked: %s", what);
}

static int no_memory(struct hd_err *err)
{
    return HD_FAIL(err, RESOURCE, NULL, "out of memory while linking");
}

/* ---- reading --------------------------------------------------------------------------- */

static bool is_within(const struct object *o, uint64_t offset, uint64_t size)
{
    return offset <= o->n && size <= o->n - offset;
}

/* A copy of a table of the file, aligned, with room for one more entry; NULL: it is not within the file, or no memory. */
static void *copy_table(const struct object *o, uint64_t offset, uint64_t n, size_t size)
{
    if (n > o->n / size || !is_within(o, offset, n * size))
        return NULL;
    void *p = hd_try_calloc(n + 1, size);
    if (p)
        memcpy(p, o->p + offset, n * size);
    return p;
}

static int read_sections(struct object *o, struct hd_err *err)
{
    Elf64_Ehdr h;
    if (o->n < sizeof h)
        return damaged("no object file", err);
    memcpy(&h, o->p, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_REL ||
        h.e_machine != EM_X86_64 || h.e_shentsize != sizeof(Elf64_Shdr))
        return damaged("no object file of this machine", err);
    Elf64_Shdr *table = copy_table(o, h.e_shoff, h.e_shnum, sizeof *table);
    o->sections = hd_try_calloc((size_t)h.e_shnum + 1, sizeof *o->sections);
    for (size_t i = 0; table && o->sections && i < h.e_shnum; i++)
        o->sections[i].h = table[i];
    o->nsections = table && o->sections ? h.e_shnum : 0;
    free(table);
    return o->nsections ? 0 : damaged("no sections", err);
}

static int read_symbols(struct object *o, struct hd_err *err)
{
    const Elf64_Shdr *table = NULL;
    for (size_t i = 0; i < o->nsections; i++)
        if (o->sections[i].h.sh_type == SHT_SYMTAB)
            table = &o->sections[i].h;
    if (!table || table->sh_link >= o->nsections)
        return damaged("no symbols", err);
    const Elf64_Shdr *names = &o->sections[table->sh_link].h;
    if (!is_within(o, names->sh_offset, names->sh_size) || names->sh_size == 0 ||
        o->p[names->sh_offset + names->sh_size - 1] != 0)
        return damaged("no names of symbols", err);
    o->names = (const char *)o->p + names->sh_offset;
    o->names_size = names->sh_size;
    o->nsymbols = table->sh_size / sizeof(Elf64_Sym);
    o->symbols = copy_table(o, table->sh_offset, o->nsymbols, sizeof *o->symbols);
    if (!o->symbols)
        return damaged("no table of symbols", err);
    o->addresses = hd_try_calloc(o->nsymbols + 1, sizeof *o->addresses);
    return o->addresses ? 0 : no_memory(err);
}

static const char *name_of(const struct object *o, size_t symbol)
{
    uint32_t at = o->symbols[symbol].st_name;
    return at < o->names_size ? o->names + at : "";
}

/* ---- layout ---------------------------------------------------------------------------- */

static bool is_loaded(const Elf64_Shdr *h)
{
    return (h->sh_flags & SHF_ALLOC) && h->sh_type != SHT_X86_64_UNWIND && h->sh_size > 0;
}

static enum segment segment_of(const Elf64_Shdr *h)
{
    return h->sh_flags & SHF_EXECINSTR ? CODE : h->sh_flags & SHF_WRITE ? DATA : CONSTANTS;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static int place_section(struct linking *l, const struct object *o, struct section *s, size_t page, struct hd_err *err)
{
    size_t align = s->h.sh_addralign ? s->h.sh_addralign : 1;
    size_t *size = &l->size[segment_of(&s->h)];
    if (align > page || (align & (align - 1)) || s->h.sh_size > LARGEST)
        return damaged("a section's size", err);
    if (s->h.sh_flags & SHF_TLS || (s->h.sh_type != SHT_NOBITS && !is_within(o, s->h.sh_offset, s->h.sh_size)))
        return damaged("a section's contents", err);
    s->offset = round_up(*size, align);
    *size = s->offset + s->h.sh_size;
    return *size > LARGEST ? damaged("its size", err) : 0;
}

/* Zeroed data of no section, which sanitizers use: its alignment is the symbol's value. Leaves the offset in addresses. */
static int place_common(struct linking *l, struct object *o, size_t page, struct hd_err *err)
{
    for (size_t i = 0; i < o->nsymbols; i++) {
        size_t align = o->symbols[i].st_value, *size = &l->size[DATA];
        if (o->symbols[i].st_shndx != SHN_COMMON)
            continue;
        if (align == 0 || align > page || (align & (align - 1)) || o->symbols[i].st_size > LARGEST)
            return damaged("a symbol's size", err);
        o->addresses[i] = round_up(*size, align);
        *size = o->addresses[i] + o->symbols[i].st_size;
        if (*size > LARGEST)
            return damaged("its size", err);
    }
    return 0;
}

static int lay_out(struct linking *l, struct hd_err *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total = 0;
    for (int i = 0; i < l->n; i++) {
        struct object *o = &l->objects[i];
        for (size_t k = 0; k < o->nsections; k++)
            if (is_loaded(&o->sections[k].h))
                HD_TRY(place_section(l, o, &o->sections[k], page, err));
        HD_TRY(place_common(l, o, page, err));
        o->far_offset = round_up(l->size[CODE], sizeof(struct far));
        l->size[CODE] = o->far_offset + o->nsymbols * sizeof(struct far);
    }
    for (int g = 0; g < SEGMENTS; g++) {
        l->start[g] = total;
        l->size[g] = round_up(l->size[g], page);
        total += l->size[g];
    }
    void *map = mmap(NULL, HD_MAX(total, page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return no_memory(err);
    l->code->map = map;
    l->code->size = HD_MAX(total, page);
    return 0;
}

static void copy_sections(struct linking *l, struct object *o)
{
    unsigned char *map = l->code->map;
    for (size_t k = 0; k < o->nsections; k++) {
        struct section *s = &o->sections[k];
        if (!is_loaded(&s->h))
            continue;
        s->at = map + l->start[segment_of(&s->h)] + s->offset;
        if (s->h.sh_type != SHT_NOBITS)
            memcpy(s->at, o->p + s->h.sh_offset, s->h.sh_size);
    }
    o->far = (struct far *)(void *)(map + l->start[CODE] + o->far_offset);
}

/* ---- symbols --------------------------------------------------------------------------- */

static void *find_outside(const char *name)
{
    for (int i = 0; i < hdr_nsymbols; i++)
        if (strcmp(hdr_symbols[i].name, name) == 0)
            return hdr_symbols[i].address;
    return dlsym(RTLD_DEFAULT, name);
}

static int resolve_symbol(const struct linking *l, struct object *o, size_t i, struct hd_err *err)
{
    const Elf64_Sym *s = &o->symbols[i];
    if (s->st_shndx == SHN_UNDEF) {
        void *p = *name_of(o, i) ? find_outside(name_of(o, i)) : NULL;
        o->addresses[i] = (uintptr_t)p;
        if (!p && *name_of(o, i) && ELF64_ST_BIND(s->st_info) != STB_WEAK)
            return HD_FAIL(err, TOOL, NULL, "the compiled code cannot be linked: nothing is called %s", name_of(o, i));
    } else if (s->st_shndx == SHN_ABS) {
        o->addresses[i] = s->st_value;
    } else if (s->st_shndx == SHN_COMMON) {
        o->addresses[i] += (uintptr_t)l->code->map + l->start[DATA];
    } else if (s->st_shndx >= o->nsections) {
        return damaged("a symbol's section", err);
    } else if (o->sections[s->st_shndx].at) {
        if (s->st_value > o->sections[s->st_shndx].h.sh_size)
            return damaged("a symbol's place", err);
        o->addresses[i] = (uintptr_t)o->sections[s->st_shndx].at + s->st_value;
    }
    memcpy(o->far[i].jump, JUMP, sizeof JUMP);
    o->far[i].address = o->addresses[i];
    return 0;
}

static bool is_exported(const struct object *o, size_t i)
{
    const Elf64_Sym *s = &o->symbols[i];
    return ELF64_ST_BIND(s->st_info) != STB_LOCAL && s->st_shndx != SHN_UNDEF && o->addresses[i];
}

static int export_symbols(struct linking *l, struct hd_err *err)
{
    size_t n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->objects[i].nsymbols;
    l->code->names = hd_try_calloc(n + 1, sizeof *l->code->names);
    if (!l->code->names)
        return no_memory(err);
    for (int i = 0; i < l->n; i++) {
        const struct object *o = &l->objects[i];
        for (size_t k = 0; k < o->nsymbols; k++) {
            struct name *to = &l->code->names[l->code->nnames];
            if (!is_exported(o, k))
                continue;
            if (!(to->name = strdup(name_of(o, k))))
                return no_memory(err);
            to->address = (void *)(uintptr_t)o->addresses[k];
            l->code->nnames++;
        }
    }
    return 0;
}

/* ---- relocations ----------------------------------------------------------------------- */

static int write_distance(unsigned char *place, uint64_t target, int64_t addend, struct hd_err *err)
{
    int64_t distance = (int64_t)(target + (uint64_t)addend - (uintptr_t)place);
    int32_t near = (int32_t)distance;
    if (near != distance)
        return damaged("a symbol is too far", err);
    memcpy(place, &near, sizeof near);
    return 0;
}

static int write_call(unsigned char *place, const struct object *o, size_t symbol, int64_t addend, struct hd_err *err)
{
    int64_t distance = (int64_t)(o->addresses[symbol] + (uint64_t)addend - (uintptr_t)place);
    bool far = distance != (int32_t)distance;
    return write_distance(place, far ? (uintptr_t)&o->far[symbol] : o->addresses[symbol], addend, err);
}

static int relocate(struct object *o, const struct section *s, const Elf64_Rela *r, struct hd_err *err)
{
    size_t symbol = ELF64_R_SYM(r->r_info);
    unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
    size_t width = type == R_X86_64_64 ? sizeof(uint64_t) : sizeof(uint32_t);
    if (symbol >= o->nsymbols || r->r_offset > s->h.sh_size || width > s->h.sh_size - r->r_offset)
        return damaged("a relocation's place", err);
    unsigned char *place = s->at + r->r_offset;
    uint64_t value = o->addresses[symbol] + (uint64_t)r->r_addend;
    switch (type) {
    case R_X86_64_64: memcpy(place, &value, sizeof value); return 0;
    case R_X86_64_PC32: return write_distance(place, o->addresses[symbol], r->r_addend, err);
    case R_X86_64_PLT32: return write_call(place, o, symbol, r->r_addend, err);
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: return write_distance(place, (uintptr_t)&o->far[symbol].address, r->r_addend, err);
    default: return HD_FAIL(err, TOOL, NULL, "the compiled code cannot be linked: relocation of type %u", type);
    }
}

static int relocate_section(struct object *o, const Elf64_Shdr *h, struct hd_err *err)
{
    if (h->sh_type != SHT_RELA || h->sh_info >= o->nsections || !o->sections[h->sh_info].at)
        return 0;
    size_t n = h->sh_size / sizeof(Elf64_Rela);
    Elf64_Rela *list = copy_table(o, h->sh_offset, n, sizeof *list);
    if (!list)
        return damaged("no table of relocations", err);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = relocate(o, &o->sections[h->sh_info], &list[i], err);
    free(list);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------- */

static int link_object(struct linking *l, struct object *o, struct hd_err *err)
{
    copy_sections(l, o);
    for (size_t i = 0; i < o->nsymbols; i++)
        HD_TRY(resolve_symbol(l, o, i, err));
    for (size_t k = 0; k < o->nsections; k++)
        HD_TRY(relocate_section(o, &o->sections[k].h, err));
    return 0;
}

static int seal(const struct linking *l, struct hd_err *err)
{
    for (int g = 0; g < SEGMENTS; g++)
        if (g != DATA && l->size[g] && mprotect(l->code->map + l->start[g], l->size[g], access_of[g]) != 0)
            return damaged("the system refuses executable memory", err);
    return 0;
}

static int link_all(struct linking *l, const struct rt_bytes *objects, struct hd_err *err)
{
    for (int i = 0; i < l->n; i++) {
        l->objects[i].p = objects[i].p;
        l->objects[i].n = objects[i].n;
        HD_TRY(read_sections(&l->objects[i], err));
        HD_TRY(read_symbols(&l->objects[i], err));
    }
    HD_TRY(lay_out(l, err));
    for (int i = 0; i < l->n; i++)
        HD_TRY(link_object(l, &l->objects[i], err));
    HD_TRY(export_symbols(l, err));
    return seal(l, err);
}

int rt_code_load(const struct rt_bytes *objects, int n, struct rt_code **out, struct hd_err *err)
{
    struct linking l = {.objects = hd_try_calloc((size_t)n + 1, sizeof *l.objects), .n = n};
    l.code = hd_try_calloc(1, sizeof *l.code);
    int rc = l.objects && l.code ? link_all(&l, objects, err) : no_memory(err);
    for (int i = 0; l.objects && i < n; i++) {
        free(l.objects[i].sections);
        free(l.objects[i].symbols);
        free(l.objects[i].addresses);
    }
    free(l.objects);
    if (rc == 0)
        *out = l.code;
    else
        rt_code_free(l.code);
    return rc;
}

void *rt_code_find(const struct rt_code *c, const char *name, struct hd_err *err)
{
    for (size_t i = 0; i < c->nnames; i++)
        if (strcmp(c->names[i].name, name) == 0)
            return c->names[i].address;
    HD_FAIL(err, TOOL, NULL, "the compiled code has no function %s", name);
    return NULL;
}

void rt_code_free(struct rt_code *c)
{
    if (!c)
        return;
    if (c->map)
        munmap(c->map, c->size);
    for (size_t i = 0; i < c->nnames; i++)
        free(c->names[i].name);
    free(c->names);
    free(c);
}
