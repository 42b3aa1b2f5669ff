/*
 * Microseconds from core cycles: by DWT where its counter moves, else by SysTick.
 *
 * SysTick interrupts once in 2^24 cycles, some tens of cycles each time: it counts its own wraps, and it adds up
 * those of DWT's 32 bits, which take 10.7 s at 400 MHz.
 */
#ifndef EDGEBENCH_CYCLE_CLOCK_H
#define EDGEBENCH_CYCLE_CLOCK_H

#include <stdint.h>

void cycle_clock_start(uint32_t core_mhz);

uint32_t cycle_clock_microseconds(void);

/* "DWT" or "SysTick". */
const char *cycle_clock_name(void);

/* The interrupt; the vector table has it. */
void cycle_clock_systick(void);

#endif
