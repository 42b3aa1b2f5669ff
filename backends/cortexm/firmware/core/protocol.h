/*
 * The serial protocol of MLPerf Tiny's benchmark, on the device's side.
 *
 * Commands are ASCII words up to a `%`, at most 79 characters before it; lines of the answer end with CR LF, and
 * the last line of every answer is `m-ready`. An error is a line `e-[text]` before it. README.md beside this folder has
 * every command; upload.h has the binary load, which `help` offers.
 */
#ifndef EDGEBENCH_PROTOCOL_H
#define EDGEBENCH_PROTOCOL_H

#include <stdint.h>

#define PROTOCOL_COMMAND_BYTES 80 /* with the terminating zero */

/* Inferences of one `infer`, and as many warm-ups: no typing mistake keeps a board busy for days. */
#ifndef PROTOCOL_MOST_INFERENCES
#define PROTOCOL_MOST_INFERENCES 10000000u
#endif

/* 1: `timestamp` is a pulse of the timing pin, for builds whose energy is measured, and no line. */
#ifndef PROTOCOL_ENERGY_MODE
#define PROTOCOL_ENERGY_MODE 0
#endif

/* Starts the model and sends the boot banner; commands before it get no answer. */
void protocol_start(void);

/* One byte of the line. */
void protocol_receive(uint8_t byte);

/* No byte of the line for now. */
void protocol_wait(void);

#endif
