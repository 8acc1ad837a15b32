/* What turns device source into an image that a device loads: NVRTC, or the host compiler of the
 * tests' emulator. */
#ifndef HEDDLE_RUNTIME_GPU_COMPILER_H
#define HEDDLE_RUNTIME_GPU_COMPILER_H

#include "runtime/base/err.h"
#include "runtime/cache/bytes.h"

struct rt_compiler {
    const char *identity; /* all that an image depends on besides its source: the compiler's version,
                             options, the architecture; the headers are added by the cache */
    /* Source with the embedded device headers as "hd/<name>". Any thread; several at a time.
     * TOOL with the compiler's log as detail. */
    int (*compile)(struct rt_compiler *c, const char *name, const char *source, struct rt_bytes *image,
                   struct hd_err *err);
    /* Why compiling takes longer than it has to, for reports; lives as long as the compiler. NULL:
     * nothing to tell. The function may be NULL. */
    const char *(*trouble)(struct rt_compiler *c);
    /* What is compiled takes nothing from other compilations but a core: it is done in another process. */
    bool beside;
    void (*close)(struct rt_compiler *c);
    void *self; /* of the implementation */
};

#endif
