/* Any bytes as a schema: never a crash; a failure has a path; what is read is consistent. */
#include "fuzz_frontend.h"

static void check_table(const struct fe_schema *s, const struct fe_schema_table *t)
{
    FUZZ_CHECK(t->table.name[0] && t->table.ncols > 0 && t->rows >= -1);
    for (int i = 0; i < t->table.npk; i++)
        FUZZ_CHECK(t->table.pk[i] >= 0 && t->table.pk[i] < t->table.ncols);
    for (int i = 0; i < t->table.nfks; i++) {
        const struct fe_foreign_key *f = &t->table.fks[i];
        bool known = false;
        for (int k = 0; k < s->ntables; k++)
            known |= f->parent == &s->tables[k].table;
        FUZZ_CHECK(known);
        for (int k = 0; k < f->n_columns; k++)
            FUZZ_CHECK(f->columns[k] < t->table.ncols && f->parent_columns[k] < f->parent->ncols);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hd_arena a;
    struct hd_err err;
    struct fe_schema *s = NULL;
    hd_arena_init(&a);
    hd_err_init(&err);
    int rc = fe_schema_read(&a, hd_strndup(&a, (const char *)data, size), &s, &err);
    fuzz_check_error(rc, &err, HD_ERR_USER);
    for (int i = 0; rc == 0 && i < s->ntables; i++)
        check_table(s, &s->tables[i]);
    hd_err_release(&err);
    hd_arena_release(&a);
    return 0;
}
