/* The Star Schema Benchmark (O'Neil, O'Neil and Chen, revision 3, 2009) as a scheme of the generator of TPC-H:
 * what differs from it when a generator is set up. */
#ifndef SSB_GEN_SSB_H
#define SSB_GEN_SSB_H

#include "tpch/gen_internal.h"

/* Fills the calendar; parts grow with the logarithm of the scale factor. */
void tg_ssb_init(struct tg_gen *g);

#endif
