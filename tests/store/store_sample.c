/* Writes the small database that check_memmap.py reads: store_sample DIR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/heddle.h"

enum { ROWS = 70000 };

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}
static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

static int append(heddle_writer *w, heddle_error **e)
{
    static int32_t narrow[ROWS], days[ROWS];
    static int64_t wide[ROWS];
    static uint8_t valid[ROWS / 8 + 1];
    static unsigned __int128 money[ROWS];
    for (int i = 0; i < ROWS; i++) {
        narrow[i] = i % 100 - 50;
        days[i] = 10000 + i % 300;
        wide[i] = (int64_t)i * i * 1000003;
        money[i] = (unsigned __int128)(i % 50) * 100;
        if (i % 3)
            valid[i / 8] |= (uint8_t)(1 << i % 8);
    }
    const void *values[] = {narrow, days, wide, money}, *buffers[4][2], *none[1] = {NULL};
    const char *names[] = {"narrow", "day", "wide", "money"};
    const char *formats[] = {"i", "tdD", "l", "d:12,2"};
    struct ArrowSchema schemas[4], *schema_children[4];
    struct ArrowArray arrays[4], *array_children[4];
    for (int c = 0; c < 4; c++) {
        buffers[c][0] = c == 2 ? valid : NULL;
        buffers[c][1] = values[c];
        schemas[c] = (struct ArrowSchema){.format = formats[c], .name = names[c], .release = release_schema};
        arrays[c] = (struct ArrowArray){.length = ROWS,
                                        .null_count = c == 2 ? -1 : 0,
                                        .n_buffers = 2,
                                        .buffers = buffers[c],
                                        .release = release_array};
        schema_children[c] = &schemas[c];
        array_children[c] = &arrays[c];
    }
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 4, .children = schema_children, .release = release_schema};
    struct ArrowArray array = {.length = ROWS,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 4,
                               .children = array_children,
                               .release = release_array};
    return heddle_writer_append(w, "sample", 0, &schema, &array, e);
}

int main(int argc, char **argv)
{
    static const char schema[] = "{\"tables\":[{\"name\":\"sample\",\"columns\":[{\"name\":"
                                 "\"narrow\",\"type\":\"int32\"},"
                                 "{\"name\":\"day\",\"type\":\"date\"},{\"name\":\"wide\","
                                 "\"type\":\"int64\",\"nullable\":"
                                 "true},{\"name\":\"money\",\"type\":\"decimal(12,2)\"}]}]}";
    heddle_context *c = NULL;
    heddle_writer *w = NULL;
    heddle_error *e = NULL;
    if (argc != 2)
        return 2;
    int rc = heddle_context_new(NULL, &c, &e) || heddle_writer_open(c, argv[1], schema, &w, &e) || append(w, &e) ||
             heddle_writer_commit(w, NULL, NULL, &e);
    if (rc)
        fprintf(stderr, "%s: %s\n", heddle_error_path(e), heddle_error_message(e));
    heddle_error_free(e);
    heddle_writer_free(w);
    heddle_context_free(c);
    return rc;
}
