/* The table by which Morris and Pratt search a string in linear time. */
#ifndef HEDDLE_RUNTIME_EXEC_BORDERS_H
#define HEDDLE_RUNTIME_EXEC_BORDERS_H

#include <stddef.h>
#include <stdint.h>

/* border[i]: bytes of the longest end of bytes[0 .. i] that they begin with too, itself apart. */
void rt_borders(const unsigned char *bytes, size_t n, uint32_t *border);

#endif
