//! --relocatable-device-code=true --maxrregcount=40
// Decimals and strings to and from float64, which kernels call (HDD_CALLED): compiled once, apart from them, and linked
// with those that do. The limit keeps rare calls from costing a kernel occupancy.
#define HDD_LIBRARY_FLOAT
#include "hd/float.cuh"
