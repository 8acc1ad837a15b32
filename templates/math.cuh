// Functions of float64 (T_FLOAT64 in frontend/ops.def): one source for kernels, the CPU's runtime and the emulator, so
// that they give the same bits everywhere. Shared with host C (templates/host.h). They use + - * / and square roots,
// which IEEE 754 rounds to the nearest, and compilers must not fuse them (--fmad=false, -ffp-contract=off). One thread
// at a time.
//
// Where a function is not defined the result is NaN, where it is too large, infinite. hdd_sqrt is the machine's.
#ifndef HDD_MATH_CUH
#define HDD_MATH_CUH

#ifdef __cplusplus
#include "hd/machine.cuh"
#else
#include "templates/host.h"
#endif

#endif
