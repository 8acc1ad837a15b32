/* Text that people may see: it is UTF-8 and cannot steer a terminal. */
#ifndef HEDDLE_BASE_SHOW_H
#define HEDDLE_BASE_SHOW_H

#include <stddef.h>

struct hd_strbuf;

enum { HD_SHOWN_MAX = 8 }; /* bytes that one character is shown as, NUL included */
/* How the character at s is shown: control characters (C0, DEL, C1) as \n, \t, \xNN or \u00NN,
 * bytes that are no UTF-8 as '?', all others as they are. Returns its length at s. */
int hd_show_character(const char *s, size_t n, char shown[HD_SHOWN_MAX]);
/* Shows the control characters of b from there on; line feeds and tabs of `keep` stay. */
void hd_show_controls(struct hd_strbuf *b, size_t from, const char *keep);

/* Ends a line that begins there: whatever its names hold, it stays one line. */
void hd_show_end_line(struct hd_strbuf *b, size_t from);

#endif
