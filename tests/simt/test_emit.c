/* The CUDA emitter: templates are filled as told, text of a plan never reaches the source,
 * and equal shapes give equal sources.
 *
 *   test_emit DB SCRATCH     over the database of make_small.py */
#include <string.h>

#include "runtime/base/strbuf.h"
#include "tests/simt/check.h"
#include "tests/simt/sim.h"

static const char *db, *scratch;

/* ---- templates
 * ------------------------------------------------------------------------------ */

static void test_template(void)
{
    struct hd_arena a;
    hd_arena_init(&a);
    const struct cg_slot slots[] = {{"A", "x"}, {"B", "one\n\n  two\n"}, {"C", ""}};
    char *s = cg_template_fill(&a, "f(@A@, @A@)\n    @B@\n\n@C@\n\nend\n", slots, 3);
    CHECK(strcmp(s, "f(x, x)\n    one\n\n      two\n\nend\n") == 0, "found:\n%s", s);
    hd_arena_release(&a);
}

/* ---- plans
 * ---------------------------------------------------------------------------------- */

static const char *write_plan(struct hd_arena *a, const char *root)
{
    const char *path = hd_asprintf(a, "%s/test_emit_plan.json", scratch);
    FILE *f = fopen(path, "w");
    CHECK(f, "%s cannot be written", path);
    fprintf(f, "{\"heddle\": 1, \"root\": %s}", root);
    fclose(f);
    return path;
}

static int emit(const char *root, char **text, struct hd_err *err)
{
    struct sim_program p;
    struct hd_arena a;
    struct hd_strbuf b;
    hd_arena_init(&a);
    struct pl_options po = {.threads = 1};
    int status = sim_program_init(&p, write_plan(&a, root), db, NULL, &po, err);
    hd_arena_release(&a);
    if (status != 0)
        return -1;
    hd_strbuf_init(&b);
    for (int i = 0; i < p.art.nunits; i++)
        hd_strbuf_adds(&b, p.art.units[i].text);
    *text = hd_strbuf_detach(&b);
    hd_strbuf_release(&b);
    sim_program_release(&p);
    return 0;
}

static char *must_emit(const char *root)
{
    struct hd_err err;
    char *text = NULL;
    hd_err_init(&err);
    CHECK(emit(root, &text, &err) == 0, "%s: %s", err.path, err.message);
    return text;
}

static void test_equal_shapes(void)
{
    static const char plan[] = "{\"op\": \"scan\", \"table\": \"parent\", \"filter\": "
                               "\"amount > %s and note like '%s' and name <> '%s'\"}";
    char one[512], two[512], three[512];
    snprintf(one, sizeof one, plan, "10", "note 0.5%", "evil");
    snprintf(two, sizeof two, plan, "-77", "%x-y%", "name 3 of the kind");
    snprintf(three, sizeof three, plan, "10", "note_0.5%", "evil");
    char *a = must_emit(one), *b = must_emit(two), *wild = must_emit(three);
    CHECK(strcmp(a, b) == 0, "literals changed the source");
    CHECK(!strstr(a, "note 0.5") && !strstr(a, "evil"), "a literal is in the source");
    CHECK(strstr(a, "hdd_like<false>") && strstr(wild, "hdd_like<true>"), "which search");
    CHECK(strlen(a) == strlen(wild) + 1, "a pattern with `_` differs in no more");
    free(a);
    free(b);
    free(wild);
}

/* Names from the plan come out as words, with a number before them. */
static void test_names(void)
{
    char *a = must_emit("{\"op\": \"aggregate\", \"keys\": [{\"expr\": \"grp\", \"as\": \"x; } evil(\"}],"
                        " \"aggs\": [{\"fn\": \"sum\", \"arg\": \"id\", \"as\": \"*/ #include <evil>\"}],"
                        " \"input\": {\"op\": \"union_all\", \"inputs\": ["
                        "   {\"op\": \"project\", \"exprs\": [{\"expr\": \"grp\", \"as\": \"grp\"},"
                        "     {\"expr\": \"id\", \"as\": \"id\"}], \"input\": {\"op\": \"scan\", \"table\": "
                        "\"parent\"}},"
                        "   {\"op\": \"project\", \"exprs\": [{\"expr\": \"qty\", \"as\": \"a\\n#error "
                        "\\\"\"},"
                        "     {\"expr\": \"cid\", \"as\": \"int\"}], \"input\": {\"op\": \"scan\", \"table\": "
                        "\"child\"}}]}}");
    CHECK(!strstr(a, "evil(") && !strstr(a, "<evil>") && !strstr(a, "#error"), "found:\n%s", a);
    free(a);
}

/* ---- many arguments
 * ------------------------------------------------------------------------- */

/* Each literal is an argument of its own; more of them than fit a kernel's parameters go by
 * address. */
static void test_far_arguments(void)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, "{\"op\": \"scan\", \"table\": \"parent\", \"filter\": \"id = 0");
    for (int i = 1; i < 4100; i++)
        hd_strbuf_addf(&b, " or id * 2 = %d", i);
    hd_strbuf_adds(&b, "\"}");
    char *text = must_emit(b.s);
    CHECK(strstr(text, "HDD_PARAMETER(hdd_far_args, args)"), "found:\n%.2000s", text);
    free(text);
    hd_strbuf_release(&b);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3, "usage: test_emit DB SCRATCH");
    db = argv[1];
    scratch = argv[2];
    test_template();
    test_equal_shapes();
    test_names();
    test_far_arguments();
    return 0;
}
