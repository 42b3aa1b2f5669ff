/*
 * `db bin N%`: the input tensor as binary frames, version 1.
 *
 * The device answers `m-[Expecting N bytes]` and takes frames. All numbers are little-endian:
 *
 *   offset  bytes  what
 *        0      2  0xA5 0x5A
 *        2      2  sequence number: 0 for the first frame, counts up, wraps at 65536
 *        4      2  length of the payload, 0 to UPLOAD_PAYLOAD_BYTES
 *        6      n  payload
 *      6+n      4  CRC-32 (as zlib's) of sequence number, length and payload
 *
 * Data frames fill the tensor in order; what is more than N is dropped. Once all N bytes are there, the next
 * frame is the end: its payload is the CRC-32 of the whole tensor, four bytes. Because bytes keep their order on the line,
 * nothing of the upload comes after it, and the device is back at commands: `m-load-done`, or
 * `e-[Binary load: checksum differs]`, then `m-ready`. A frame without payload gives the upload up.
 *
 * The device answers with lines, NEXT being the sequence number that it expects, in decimal:
 *
 *   m-ack-NEXT   after every frame that it took, and after one that it had already
 *   m-nack-NEXT  go on from there: once after a gap, and after every UPLOAD_SILENCE_US without a byte
 *
 * The host may have UPLOAD_WINDOW frames under way that are not acknowledged: go-back-N, so the device keeps
 * no frame but the one that it reads. What is no frame, or fails its CRC, is skipped byte by byte until a frame
 * begins. UPLOAD_TIMEOUT_US without a new frame end the upload with `e-[Binary load: K of N bytes]`, `m-ready`.
 */
#ifndef EDGEBENCH_UPLOAD_H
#define EDGEBENCH_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#define UPLOAD_VERSION 1
#define UPLOAD_PAYLOAD_BYTES 512
#define UPLOAD_WINDOW 8
#define UPLOAD_SILENCE_US 200000u
#define UPLOAD_TIMEOUT_US 5000000u

/* The tensor expects its bytes already. */
void upload_begin(void);

/* One byte of the line; false: the upload has ended, and its last line before `m-ready` is sent. */
bool upload_receive(uint8_t byte);

/* No byte of the line for now; as upload_receive. */
bool upload_wait(void);

#endif
