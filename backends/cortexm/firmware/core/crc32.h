/* CRC-32 as in zlib and Ethernet: polynomial 0xEDB88320 reflected, start and final XOR 0xFFFFFFFF. */
#ifndef EDGEBENCH_CRC32_H
#define EDGEBENCH_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32(const uint8_t *bytes, size_t length);

#endif
