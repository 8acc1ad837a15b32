/* Text as it is printed: UTF-8, escapes for terminals, JSON strings. */
#ifndef HEDDLE_TOOLS_TEXT_H
#define HEDDLE_TOOLS_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Length of the UTF-8 sequence at s, 0 if it is none; n is not 0. */
size_t text_utf8_length(const char *s, size_t n);
/* A copy on the heap that can neither steer a terminal nor break a line: control characters
 * (C0, DEL, C1) and bytes that are no UTF-8 become \n, \t, \xNN or \u00NN. Characters of `keep`
 * stay as they are. */
char *text_printable(const char *s, size_t n, const char *keep);
/* Prints the same of a string. */
void text_put_printable(FILE *f, const char *s, const char *keep);
/* Prints a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD. */
void text_put_json(FILE *f, const char *s, size_t n);

#endif
