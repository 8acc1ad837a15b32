// All that the source of a pipeline may use, in one header: what it includes first, so that a
// compiler with precompiled headers reads it once for all of them. Dates and conversions come
// after it, where they are used.
#ifndef HDD_PIPELINE_CUH
#define HDD_PIPELINE_CUH

#include "hd/aggregate.cuh"
#include "hd/block.cuh"
#include "hd/block_bits.cuh"
#include "hd/decimal.cuh"
#include "hd/frequent.cuh"
#include "hd/groups_by_lane.cuh"
#include "hd/lanes.cuh"
#include "hd/like.cuh"
#include "hd/load.cuh"
#include "hd/block_local.cuh"
#include "hd/probe.cuh"
#include "hd/store.cuh"
#include "hd/string.cuh"
#include "hd/traverse.cuh"

#endif
