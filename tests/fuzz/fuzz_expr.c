/* Any text as an expression: never a crash; what is read prints to text that is read again and
 * prints the same. */
#include "fuzz_frontend.h"

static const char head[] = "{\"heddle\":1,\"params\":{\"n\":{\"type\":\"int64\"},\"p\":{\"type\":\"decimal(12,2)\"},"
                           "\"t\":{\"type\":\"date\"},\"q\":{\"type\":\"string\"},\"l\":{\"type\":\"list(string)\"}},"
                           "\"root\":{\"op\":\"project\",\"input\":{\"op\":\"scan\",\"table\":\"every\"},"
                           "\"exprs\":[{\"as\":\"x\",\"expr\":";

static int read_text(struct hd_arena *a, const struct fe_catalog *cat, const char *s, size_t n, struct fe_plan **out,
                     struct hd_err *err)
{
    struct hd_strbuf b;
    hd_strbuf_init(&b);
    hd_strbuf_adds(&b, head);
    hd_strbuf_add_json(&b, s, n);
    hd_strbuf_adds(&b, "}]}}");
    int rc = fe_plan_read(a, b.s, cat, out, err);
    hd_strbuf_release(&b);
    return rc;
}

static void print(struct hd_strbuf *b, const struct fe_plan *p)
{
    const struct fe_node *in = p->root->inputs[0];
    const char **names = HD_NEWN(p->arena, const char *, in->ncols);
    for (int i = 0; i < in->ncols; i++)
        names[i] = in->cols[i].name;
    hd_strbuf_init(b);
    fe_expr_print(b, p->root->u.project.exprs[0], names);
}

static void check_round_trip(struct hd_arena *a, const struct fe_catalog *cat, const struct fe_plan *p)
{
    struct hd_strbuf first, second;
    struct hd_err err;
    struct fe_plan *again = NULL;
    print(&first, p);
    hd_err_init(&err);
    if (read_text(a, cat, first.s, first.n, &again, &err) == 0) {
        print(&second, again);
        FUZZ_CHECK(strcmp(first.s, second.s) == 0);
        hd_strbuf_release(&second);
    } else {
        /* The printed form is longer: only a limit on size may stand in its way. */
        FUZZ_CHECK(strstr(err.message, "nested") || strstr(err.message, "at most") || strstr(err.message, "more than"));
    }
    hd_err_release(&err);
    hd_strbuf_release(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_plan *p = NULL;
    hd_arena_init(&a);
    hd_err_init(&err);
    int rc = read_text(&a, fuzz_catalog(), (const char *)data, size, &p, &err);
    fuzz_check_error(rc, &err, HD_ERR_USER);
    if (rc == 0)
        check_round_trip(&a, fuzz_catalog(), p);
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
