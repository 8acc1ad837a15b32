/* The device headers and kernel skeletons of this folder, embedded as bytes. Emitted source
 * names the headers as "hd/<name>"; the compiler gets them from memory. */
#ifndef HEDDLE_TEMPLATES_EMBED_H
#define HEDDLE_TEMPLATES_EMBED_H

#include <stddef.h>

struct hdd_template {
    const char *name; /* "nifs.cuh" */
    const char *text; /* NUL-terminated */
    size_t size;
};
extern const struct hdd_template hdd_templates[];
extern const int hdd_ntemplates;

#endif
