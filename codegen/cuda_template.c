/* Filling the named slots of a kernel skeleton. */
#include <string.h>

#include "codegen/cuda_source.h"
#include "runtime/base/strbuf.h"

static int find_slot(const struct cg_slot *slots, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(slots[i].name) == length && memcmp(slots[i].name, name, length) == 0)
            return i;
    HD_BUG("unknown slot @%.*s@ in a template", (int)length, name);
}

/* The value's lines, each at the indentation of the slot; blank ones stay blank. */
static void add_block(struct hd_strbuf *out, const char *value, size_t indent)
{
    while (*value) {
        size_t n = strcspn(value, "\n");
        if (n) {
            hd_strbuf_addn(out, ' ', (int)indent);
            hd_strbuf_add(out, value, n);
        }
        hd_strbuf_addc(out, '\n');
        value += n + (value[n] == '\n');
    }
}

/* A line may hold several slots; one that stands alone is a block. */
static void fill_line(struct hd_strbuf *out, const char *line, size_t n, const struct cg_slot *slots, int nslots,
                      bool *used)
{
    size_t indent = 0;
    while (indent < n && line[indent] == ' ')
        indent++;
    const char *end = n > indent + 1 && line[indent] == '@' ? memchr(line + indent + 1, '@', n - indent - 1) : NULL;
    if (end && end == line + n - 1) {
        int s = find_slot(slots, nslots, line + indent + 1, n - indent - 2);
        used[s] = true;
        add_block(out, slots[s].value, indent);
        return;
    }
    for (const char *at; (at = memchr(line, '@', n)) != NULL;) {
        const char *close = memchr(at + 1, '@', n - (size_t)(at + 1 - line));
        if (!close)
            HD_BUG("a slot is not closed in a template");
        int s = find_slot(slots, nslots, at + 1, (size_t)(close - at - 1));
        used[s] = true;
        hd_strbuf_add(out, line, (size_t)(at - line));
        hd_strbuf_adds(out, slots[s].value);
        n -= (size_t)(close + 1 - line);
        line = close + 1;
    }
    hd_strbuf_add(out, line, n);
    hd_strbuf_addc(out, '\n');
}

/* Blank lines that a removed block leaves behind collapse into one. */
static void squeeze(struct hd_strbuf *b)
{
    size_t to = 0;
    int newlines = 1;
    for (size_t i = 0; i < b->n; i++) {
        newlines = b->s[i] == '\n' ? newlines + 1 : 0;
        if (newlines <= 2)
            b->s[to++] = b->s[i];
    }
    b->s[to] = 0;
    b->n = to;
}

char *cg_template_fill(struct hd_arena *a, const char *text, const struct cg_slot *slots, int n)
{
    struct hd_strbuf out;
    bool *used = HD_NEWN(a, bool, n + 1);
    hd_strbuf_init(&out);
    while (*text) {
        size_t length = strcspn(text, "\n");
        fill_line(&out, text, length, slots, n, used);
        text += length + (text[length] == '\n');
    }
    for (int i = 0; i < n; i++)
        if (!used[i])
            HD_BUG("slot @%s@ is not in the template", slots[i].name);
    squeeze(&out);
    char *filled = hd_strndup(a, out.s, out.n);
    hd_strbuf_release(&out);
    return filled;
}
