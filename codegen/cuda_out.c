/* The indenting writer, and names, of the CUDA emitter. */
#include "codegen/cuda_gen.h"

#include <ctype.h>
#include <string.h>

static void begin_line(struct cu_out *o)
{
    hd_strbuf_addn(&o->b, ' ', o->indent * 4);
}

void cu_line(struct cu_out *o, const char *fmt, ...)
{
    va_list ap;
    begin_line(o);
    va_start(ap, fmt);
    hd_strbuf_vaddf(&o->b, fmt, ap);
    va_end(ap);
    hd_strbuf_addc(&o->b, '\n');
}

void cu_open(struct cu_out *o, const char *fmt, ...)
{
    va_list ap;
    begin_line(o);
    va_start(ap, fmt);
    hd_strbuf_vaddf(&o->b, fmt, ap);
    va_end(ap);
    hd_strbuf_addc(&o->b, '\n');
    o->indent++;
}

void cu_close(struct cu_out *o, const char *end)
{
    o->indent--;
    cu_line(o, "%s", end);
}

void cu_blank(struct cu_out *o)
{
    hd_strbuf_addc(&o->b, '\n');
}

const char *cu_word(struct hd_arena *a, const char *name, size_t max)
{
    char *word = hd_alloc(a, max + 1);
    size_t n = 0;
    for (; *name && n < max; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < 128 && isalnum(c))
            word[n++] = (char)tolower(c);
        else if (n > 0 && word[n - 1] != '_')
            word[n++] = '_';
    }
    while (n > 0 && word[n - 1] == '_')
        n--;
    word[n] = 0;
    return word;
}
