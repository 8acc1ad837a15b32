#include "frontend_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void source_path(char *out, size_t cap, const char *path)
{
    snprintf(out, cap, "%s/%s", HEDDLE_SOURCE_DIR, path);
}

char *read_source_file(const char *path)
{
    char full[1024];
    source_path(full, sizeof full, path);
    FILE *file = fopen(full, "rb");
    if (!file)
        fail_msg("cannot open %s", full);
    fseek(file, 0, SEEK_END);
    size_t n = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, n, file), n);
    text[n] = 0;
    fclose(file);
    return text;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **list_source_files(struct hd_arena *a, const char *dir, const char *suffix)
{
    enum { MAX = 1000 };
    char full[1024];
    size_t n = 0, k = strlen(suffix);
    const char **names = HD_NEWN(a, const char *, MAX + 1);
    source_path(full, sizeof full, dir);
    DIR *d = opendir(full);
    if (!d)
        fail_msg("cannot open %s", full);
    for (struct dirent *e; (e = readdir(d)) && n < MAX;) {
        size_t len = strlen(e->d_name);
        if (len > k && strcmp(e->d_name + len - k, suffix) == 0)
            names[n++] = hd_strdup(a, e->d_name);
    }
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    return names;
}

void check_golden(const char *path, const char *text)
{
    char full[1024];
    source_path(full, sizeof full, path);
    if (getenv("HEDDLE_UPDATE")) {
        FILE *file = fopen(full, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        fclose(file);
        return;
    }
    char *want = read_source_file(path);
    if (strcmp(want, text) != 0)
        fail_msg("%s differs; now it is:\n%s", path, text);
    free(want);
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct fe_schema *schema;
    assert_non_null(f);
    hd_arena_init(&f->arena);
    hd_err_init(&f->err);
    char *json = read_source_file("tests/unit/frontend/catalog.json");
    if (fe_schema_read(&f->arena, json, &schema, &f->err) != 0)
        fail_msg("catalog.json: %s: %s", f->err.path, f->err.message);
    free(json);
    f->cat.ntables = schema->ntables;
    f->cat.tables = HD_NEWN(&f->arena, struct fe_table *, schema->ntables);
    for (int i = 0; i < schema->ntables; i++)
        f->cat.tables[i] = &schema->tables[i].table;
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    hd_err_release(&f->err);
    hd_arena_release(&f->arena);
    free(f);
    return 0;
}

struct fe_plan *must_read(struct fixture *f, const char *json)
{
    struct fe_plan *p = NULL;
    hd_err_release(&f->err);
    if (fe_plan_read(&f->arena, json, &f->cat, &p, &f->err) != 0)
        fail_msg("%s: %s\n%s", f->err.path, f->err.message, json);
    assert_int_equal(f->err.class, HD_ERR_NONE);
    return p;
}

void must_refuse(struct fixture *f, const char *json)
{
    struct fe_plan *p = NULL;
    hd_err_release(&f->err);
    if (fe_plan_read(&f->arena, json, &f->cat, &p, &f->err) == 0)
        fail_msg("accepted, but wrong:\n%s", json);
    assert_null(p);
    assert_int_not_equal(f->err.class, HD_ERR_NONE);
}

char *print_plan(const struct fe_plan *p)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    fe_plan_print(&b, p);
    return b.s;
}
