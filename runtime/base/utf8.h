/* UTF-8 as Unicode defines it: shortest forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef HEDDLE_BASE_UTF8_H
#define HEDDLE_BASE_UTF8_H

#include <stddef.h>

#include "runtime/base/util.h"

/* Length of the character that starts at p, 0 if the bytes up to end start none. p < end. */
int hd_utf8_length(const unsigned char *p, const unsigned char *end);
/* Position of the first byte that belongs to no character; n if there is none. ASCII passes at
 * the speed of memory. */
size_t hd_utf8_check(const char *s, size_t n);
bool hd_is_ascii(const char *s, size_t n);

#endif
