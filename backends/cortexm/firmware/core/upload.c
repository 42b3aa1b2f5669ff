#include "upload.h"

#include <string.h>

#include "crc32.h"
#include "port.h"
#include "tensor.h"
#include "text.h"

#define SYNC_0 0xA5
#define SYNC_1 0x5A
#define HEADER_BYTES 6
#define CRC_BYTES 4

static uint8_t frame[HEADER_BYTES + UPLOAD_PAYLOAD_BYTES + CRC_BYTES];
static size_t held;         /* bytes of it that have come */
static uint16_t next;       /* the sequence number that is expected */
static bool is_gap_told;    /* the frames after a gap are all out of order: one answer is enough */
static uint32_t last_byte_us;
static uint32_t last_frame_us;

static uint16_t number16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t number32(const uint8_t *bytes)
{
    return number16(bytes) | (uint32_t)number16(bytes + 2) << 16;
}

static void answer(const char *kind)
{
    put(kind);
    put_unsigned(next);
    put("\r\n");
}

void upload_begin(void)
{
    held = 0;
    next = 0;
    is_gap_told = false;
    last_byte_us = last_frame_us = port_microseconds();
}

/* Leaves the first byte and what is no beginning of a frame. */
static void skip(void)
{
    size_t start = 1;
    while (start < held && frame[start] != SYNC_0) {
        ++start;
    }
    held -= start;
    memmove(frame, frame + start, held);
}

/* Drops what cannot be a frame's beginning; how long a whole frame is, 0 while that is not known. */
static size_t frame_length(void)
{
    while (held > 0) {
        const bool is_sync = frame[0] == SYNC_0 && (held < 2 || frame[1] == SYNC_1);
        if (is_sync && held < HEADER_BYTES) {
            return 0;
        }
        if (is_sync && number16(frame + 4) <= UPLOAD_PAYLOAD_BYTES) {
            return HEADER_BYTES + number16(frame + 4) + CRC_BYTES;
        }
        skip();
    }
    return 0;
}

/* A frame in its order; false when it ends the upload. */
static bool take(const uint8_t *payload, size_t length)
{
    if (length == 0) {
        put_line("e-[Binary load: given up by the host]");
        return false;
    }
    if (tensor_filled() < tensor_expected()) {
        tensor_append(payload, length);
        ++next;
        answer("m-ack-");
        return true;
    }
    const bool is_equal =
        length == CRC_BYTES && number32(payload) == crc32(tensor_bytes(), tensor_expected());
    put_line(is_equal ? "m-load-done" : "e-[Binary load: checksum differs]");
    return false;
}

/* A whole frame whose CRC holds; false when it ends the upload. */
static bool sort_in(uint16_t sequence, size_t length)
{
    const uint16_t ahead = (uint16_t)(sequence - next);
    if (length == 0 || ahead == 0) {
        is_gap_told = false;
        last_frame_us = port_microseconds();
        return take(frame + HEADER_BYTES, length);
    }
    if (ahead >= 0x8000) { /* one that was taken: its acknowledgement was lost */
        answer("m-ack-");
    } else if (!is_gap_told) {
        is_gap_told = true;
        answer("m-nack-");
    }
    return true;
}

/* Whether no new frame has come for too long, which is then said. */
static bool has_timed_out(uint32_t now_us)
{
    if (now_us - last_frame_us < UPLOAD_TIMEOUT_US) {
        return false;
    }
    put("e-[Binary load: ");
    put_unsigned((uint32_t)tensor_filled());
    put(" of ");
    put_unsigned((uint32_t)tensor_expected());
    put_line(" bytes]");
    return true;
}

bool upload_receive(uint8_t byte)
{
    last_byte_us = port_microseconds();
    if (has_timed_out(last_byte_us)) { /* garbage without end is no upload */
        return false;
    }
    frame[held++] = byte;
    for (;;) {
        const size_t length = frame_length();
        if (length == 0 || held < length) {
            return true; /* the longest frame fits, so there is room for the next byte */
        }
        const size_t checked = length - CRC_BYTES - 2;
        if (crc32(frame + 2, checked) != number32(frame + length - CRC_BYTES)) {
            skip();
            continue;
        }
        const bool goes_on = sort_in(number16(frame + 2), number16(frame + 4));
        held -= length;
        memmove(frame, frame + length, held);
        if (!goes_on) {
            return false;
        }
    }
}

bool upload_wait(void)
{
    const uint32_t now_us = port_microseconds();
    if (has_timed_out(now_us)) {
        return false;
    }
    if (now_us - last_byte_us >= UPLOAD_SILENCE_US) {
        last_byte_us = now_us;
        held = 0; /* the rest of a frame that began does not come any more */
        is_gap_told = false;
        answer("m-nack-");
    }
    return true;
}
