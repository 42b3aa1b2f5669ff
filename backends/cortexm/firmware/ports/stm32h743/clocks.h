/* The clock tree: the core at 400 MHz, peripherals of APB1 at 100 MHz. */
#ifndef EDGEBENCH_CLOCKS_H
#define EDGEBENCH_CLOCKS_H

#include <stdbool.h>

#define CORE_MHZ 400
#define APB1_HZ 100000000u

/* Whether the ST-LINK's 8 MHz are there; else the core runs from its own oscillator, which is off by 1 %. */
bool clocks_start(void);

#endif
