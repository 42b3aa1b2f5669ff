/* Text on the line, without printf: it would be half of the firmware. */
#ifndef EDGEBENCH_TEXT_H
#define EDGEBENCH_TEXT_H

#include <stdint.h>

/* The largest magnitude that put_score writes in digits is below 2^53; above it is "inf". */

void put(const char *text);
void put_line(const char *text); /* and CR LF */
void put_unsigned(uint32_t value);
void put_hex_byte(uint8_t value);

/* A word of the host's: what is not printable, and brackets, as `?`. */
void put_quoted(const char *word);

/* As printf's %0.3f: nearest, ties to even. */
void put_score(float value);

#endif
