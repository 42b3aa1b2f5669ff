/* `infer` and `results`: copies of the resident input, inferences and their scores. */
#ifndef EDGEBENCH_INFERENCE_H
#define EDGEBENCH_INFERENCE_H

#include <stdint.h>

/* Starts the model, and takes the time of one copy of the input. */
void inference_start(void);

uint32_t inference_copy_us(void);

/* A stamp: a line `m-lap-us-`, or in energy mode a pulse of the timing pin. */
void inference_stamp(void);

/* All lines of `infer` but `m-ready`. */
void inference_run(uint32_t inferences, uint32_t warm_ups);

void inference_results(void);

#endif
