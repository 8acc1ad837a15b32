//! --relocatable-device-code=true --maxrregcount=40
// Quotients of wide decimals, which kernels call (HDD_CALLED): compiled once, apart from them, and linked with those
// that do. The limit keeps rare calls from costing a kernel occupancy.
#define HDD_LIBRARY_WIDE
#include "hd/wide.cuh"
