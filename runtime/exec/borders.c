#include "runtime/exec/borders.h"

void rt_borders(const unsigned char *bytes, size_t n, uint32_t *border)
{
    uint32_t k = 0;
    if (n)
        border[0] = 0;
    for (size_t i = 1; i < n; i++) {
        while (k && bytes[i] != bytes[k])
            k = border[k - 1];
        k += bytes[i] == bytes[k];
        border[i] = k;
    }
}
