/* The profile of an execution as one self-contained page of HTML (profile.html is its skeleton). */
#ifndef HEDDLE_TOOLS_PROFILE_PAGE_H
#define HEDDLE_TOOLS_PROFILE_PAGE_H

#include "tools/cli.h"

struct profile_page {
    const char *name;
    const char *text; /* NUL-terminated; @REPORT@ and @TEXTS@ stand for JSON */
    size_t size;
};
extern const struct profile_page profile_pages[];
extern const int profile_npages;

/* The page on the heap: the statement's report, its plan, pipelines and emitted code. title is
 * what the page is called. */
int profile_page_make(heddle_statement *s, const char *title, char **html, struct cli_error *err);

#endif
