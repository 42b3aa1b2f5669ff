/* The Cortex-M7's caches. Nothing here uses DMA, so that no memory has to be kept out of them. */
#ifndef EDGEBENCH_CACHES_H
#define EDGEBENCH_CACHES_H

void caches_start(void);

#endif
