#include "tests/store/craft.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/store/store_column.h"
#include "runtime/store/store_sum.h"

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    return rt_hash64(*seed += UINT64_C(0x9e3779b97f4a7c15)) % n;
}

bool craft_read(const char *db, const char *name, char **text, size_t *n)
{
    char path[RT_PATH_MAX];
    return rt_path_join(path, db, name, NULL) == 0 && rt_file_read_all(path, text, n, NULL) == 0;
}

bool craft_write(const char *db, const char *name, const char *text, size_t n)
{
    char path[RT_PATH_MAX];
    return rt_path_join(path, db, name, NULL) == 0 && rt_file_write_all(path, text, n, NULL) == 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Sets a number of `width` bytes at an aligned place to something that may hurt. */
static void change_number(char *p, size_t n, uint64_t *seed)
{
    static const uint64_t hard[] = {0,
                                    1,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    INT64_MAX,
                                    (uint64_t)INT64_MAX + 1,
                                    UINT64_MAX};
    size_t width = (size_t)1 << draw(seed, 4), places = n / width;
    if (!places)
        return;
    char *at = p + draw(seed, places) * width;
    uint64_t v = 0;
    memcpy(&v, at, width);
    switch (draw(seed, 4)) {
    case 0: v = hard[draw(seed, sizeof hard / sizeof *hard)]; break;
    case 1: v += draw(seed, 64) - 32; break;
    case 2: v ^= (uint64_t)1 << draw(seed, 8 * width); break;
    default: v = draw(seed, UINT64_MAX); break;
    }
    memcpy(at, &v, width);
}

bool craft_file(const char *db, const char *name, uint64_t *seed, char what[128])
{
    char *text;
    size_t n, was;
    if (!craft_read(db, name, &text, &n))
        return false;
    was = n;
    int changes = 1 + (int)draw(seed, 4);
    for (int k = 0; k < changes && n; k++)
        change_number(text, n, seed);
    if (n && draw(seed, 8) == 0)
        n -= draw(seed, n);
    snprintf(what, 128, "%s: %d changes, %zu of %zu bytes", name, changes, n, was);
    bool ok = was && craft_write(db, name, text, n);
    free(text);
    return ok;
}

/* ---- catalog -------------------------------------------------------------------------------- */

/* The whole numbers and flags of the text, but those of names, files and checksums. */
static size_t find_places(const char *text, size_t *at, size_t max)
{
    static const char *const keys[] = {
        "\"rows\": ",
        "\"width\": ",
        "\"bits\": ",
        "\"base\": ",
        "\"factor\": ",
        "\"nulls\": ",
        "\"min\": ",
        "\"max\": ",
        "\"distinct\": ",
        "\"unique\": ",
        "\"dense\": ",
        "\"sorted\": ",
        "\"clustered\": ",
        "\"max_children\": ",
        "\"range\": ",
        "\"entries\": ",
        "\"distinct_exact\": ",
        "\"max_multiplicity\": ",
        "\"nullable\": ",
        "\"known\": ",
    };
    size_t n = 0;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (const char *p = text; (p = strstr(p, keys[k])) && n < max;) {
            p += strlen(keys[k]);
            if (*p != '{') /* "rows" is a file too */
                at[n++] = (size_t)(p - text);
        }
    return n;
}

/* A fact that the writer did not state, which is false. */
static bool claim_more(const char *text, char *out, uint64_t *seed, char what[128])
{
    static const char *const claims[] = {"\"unique\": true, ", "\"sorted\": true, ", "\"clustered\": true, "};
    static const char head[] = "\"facts\": {";
    const char *claim = claims[draw(seed, 3)], *at = text;
    for (uint64_t skip = draw(seed, 40); at && (skip || at == text); skip -= skip > 0) {
        const char *next = strstr(at + 1, head);
        if (!next)
            break;
        at = next;
    }
    if (at == text)
        return false;
    at += strlen(head);
    size_t used = (size_t)(at - text);
    memcpy(out, text, used);
    strcpy(out + used, claim);
    strcat(out, at);
    snprintf(what, 128, "catalog.json: at %zu comes %s", used, claim);
    return true;
}

bool craft_catalog(const char *db, uint64_t *seed, char what[128])
{
    enum { MAX_PLACES = 4096 };
    char *text, *out = NULL, fresh[48];
    size_t n, at[MAX_PLACES], used;
    if (!craft_read(db, "catalog.json", &text, &n))
        return false;
    size_t places = find_places(text, at, MAX_PLACES);
    bool ok = places && (out = malloc(n + sizeof fresh));
    if (ok && draw(seed, 4) == 0) {
        ok = claim_more(text, out, seed, what) && craft_write(db, "catalog.json", out, strlen(out));
    } else if (ok) {
        char *p = text + at[draw(seed, places)];
        bool quoted = *p == '"';
        size_t old = strcspn(p, ",}\n");
        long long v = strtoll(p + quoted, NULL, 10);
        static const long long far[] = {0, 1, -1, 255, 65536, INT32_MAX, INT64_MAX, INT64_MIN};
        v = draw(seed, 3) ? v + (long long)draw(seed, 17) - 8 : far[draw(seed, 8)];
        if (*p == 't' || *p == 'f')
            snprintf(fresh, sizeof fresh, "%s", *p == 't' ? "false" : "true");
        else
            snprintf(fresh, sizeof fresh, quoted ? "\"%lld\"" : "%lld", v);
        used = (size_t)(p - text);
        memcpy(out, text, used);
        memcpy(out + used, fresh, strlen(fresh));
        strcpy(out + used + strlen(fresh), p + old);
        snprintf(what, 128, "catalog.json: at %zu %.*s becomes %s", used, (int)HD_MIN(old, 40), p, fresh);
        ok = craft_write(db, "catalog.json", out, strlen(out));
    }
    free(text);
    free(out);
    return ok;
}

/* ---- checksums ------------------------------------------------------------------------------ */

/* Replaces {"file": "NAME", "size": N, "checksum": "S"} behind `from`, copying text up to it. */
static const char *seal_file(const char *db, const char *from, char **out)
{
    char name[300], sum[RT_SUM_TEXT], *content;
    size_t n;
    const char *at = strstr(from, "{\"file\": \"");
    if (!at || sscanf(at, "{\"file\": \"%255[^\"]\"", name) != 1)
        return NULL;
    const char *end = strchr(at, '}');
    if (!end || !craft_read(db, name, &content, &n))
        return NULL;
    rt_sum(content, n, sum);
    free(content);
    memcpy(*out, from, (size_t)(at - from));
    *out += at - from;
    *out += sprintf(*out, "{\"file\": \"%s\", \"size\": %zu, \"checksum\": \"%s\"", name, n, sum);
    return end;
}

bool craft_seal(const char *db)
{
    char *text, sum[RT_SUM_TEXT + 1];
    size_t n;
    if (!craft_read(db, "catalog.json", &text, &n))
        return false;
    char *sealed = malloc(2 * n + 1), *out = sealed;
    const char *from = text;
    for (const char *next; (next = seal_file(db, from, &out));)
        from = next;
    strcpy(out, from);
    rt_sum(sealed, strlen(sealed), sum);
    memcpy(sum + RT_SUM_TEXT - 1, "\n", 2);
    bool ok =
        craft_write(db, "catalog.json", sealed, strlen(sealed)) && craft_write(db, "catalog.sum", sum, RT_SUM_TEXT);
    free(text);
    free(sealed);
    return ok;
}
