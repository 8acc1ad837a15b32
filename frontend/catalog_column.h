/* Internal to reading a catalog: files and columns. All fail with a path into the catalog. */
#ifndef HEDDLE_FRONTEND_CATALOG_COLUMN_H
#define HEDDLE_FRONTEND_CATALOG_COLUMN_H

#include "frontend/catalog_json.h"

/* Files of a document that is being read; they get numbers in the order in which they are named. */
struct fe_file_list {
    struct fe_catalog_doc *doc;
    int cap;
};

/* Member `key`: {"file", "size", "checksum"} of exactly `size` bytes (any size if -1). out: the number of the file. */
int fe_catalog_file(const struct fe_json *v, const char *key, struct fe_file_list *l, int64_t size, int *out);
/* No file is used twice. */
int fe_catalog_check_names(const struct fe_json *root, const struct fe_catalog_doc *doc);
/* The column of a table of so many rows. */
int fe_catalog_column(const struct fe_json *v, int64_t rows, struct fe_file_list *l, struct fe_table_column *c,
                      struct fe_column_files *files);

#endif
