/* What a board does for the firmware. One folder under ports/ a board. */
#ifndef EDGEBENCH_PORT_H
#define EDGEBENCH_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Clocks, memory, line and timing pin; called once, before everything else. */
void port_start(void);

/* One byte of the line, if there is one. It waits a few milliseconds at most. */
bool port_read(uint8_t *byte);

/* Sends all bytes; a line that has a buffer may still be sending some when it returns. */
void port_write(const char *bytes, size_t length);

/* A clock that runs through: it wraps at 2^32 and nowhere else. */
uint32_t port_microseconds(void);

/* The pin that a power analyser is triggered by; high after port_start. */
void port_timing_pin(bool high);

/* In words without `]`: "mps2-an500, Cortex-M7, 25 MHz". */
const char *port_board(void);

/* What counts time ("DWT", "SysTick"), and why the board was reset ("unknown" where it does not say). */
const char *port_timer(void);
const char *port_reset_reason(void);

#endif
