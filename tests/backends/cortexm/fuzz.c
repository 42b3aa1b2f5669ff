/*
 * Random and mutated commands into the firmware's core: `fuzz COMMANDS SEED`. The core must answer each with lines
 * of which exactly the last is `m-ready`, send nothing unasked, and come back from every upload.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "port.h"
#include "protocol.h"
#include "upload.h"

#define SURPLUS 3 /* bytes that a frame may be longer than the longest */

static const char ready[] = "m-ready\r\n";
static char answer[4096]; /* of the line, its end; longer answers lose their beginning */
static size_t answered;
static unsigned readies;
static uint32_t now_us;
static uint64_t state;

void port_write(const char *bytes, size_t length)
{
    for (size_t index = 0; index < length; ++index) {
        if (answered == sizeof answer) {
            memmove(answer, answer + sizeof answer / 2, sizeof answer / 2);
            answered = sizeof answer / 2;
        }
        answer[answered++] = bytes[index];
        const size_t size = sizeof ready - 1;
        readies += answered >= size && memcmp(answer + answered - size, ready, size) == 0;
    }
}

uint32_t port_microseconds(void)
{
    return now_us++;
}

void port_timing_pin(bool high)
{
    (void)high;
}

const char *port_board(void)
{
    return "fuzz";
}

const char *port_timer(void)
{
    return "counter";
}

const char *port_reset_reason(void)
{
    return "unknown";
}

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static void require(bool holds, const char *what, const uint8_t *bytes, size_t length)
{
    if (holds) {
        return;
    }
    fprintf(stderr, "%s, after ", what);
    for (size_t index = 0; index < length; ++index) {
        fprintf(stderr, bytes[index] > 32 && bytes[index] < 127 ? "%c" : "\\x%02x", bytes[index]);
    }
    fprintf(stderr, "\nanswer: %.*s\n", (int)answered, answer);
    abort();
}

static bool ends_ready(void)
{
    const size_t size = sizeof ready - 1;
    return readies == 1 && answered >= size && memcmp(answer + answered - size, ready, size) == 0;
}

static size_t command(uint8_t *bytes)
{
    static const char *const words[] = {
        "name",    "timestamp", "profile", "help",    "db load",  "db bin",   "db print", "db",   "infer", "results",
        "db load 40", "db bin 40", "db bin 9", "infer 1 0", "infer 3", "infer 2 -1", "db load 41", "db load -1", "db 00ff7a",
        "db 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "db 99999999999999999999", "db f",
    };
    size_t length = 0;
    if (draw(8) == 0) { /* anything */
        length = draw(200);
        for (size_t index = 0; index < length; ++index) {
            bytes[index] = (uint8_t)draw(256);
        }
        return length;
    }
    const char *word = words[draw(sizeof words / sizeof words[0])];
    length = strlen(word);
    memcpy(bytes, word, length);
    if (draw(3) == 0) {
        length += (size_t)sprintf((char *)bytes + length, " %ld", (long)draw(2000) - 100);
    }
    for (uint32_t changes = draw(3) == 0 ? draw(6) : 0; changes > 0; --changes) {
        const size_t place = draw((uint32_t)length + 1);
        if (draw(2) == 0 || place == length) { /* insert */
            memmove(bytes + place + 1, bytes + place, length - place);
            ++length;
        }
        bytes[place] = (uint8_t)(draw(3) == 0 ? draw(256) : (uint8_t)"% 0a-\r\n+"[draw(8)]);
    }
    return length;
}

static void number(uint8_t *bytes, uint32_t value, unsigned size)
{
    for (unsigned index = 0; index < size; ++index) {
        bytes[index] = (uint8_t)(value >> 8 * index);
    }
}

/* A frame, often a sound one; not always where it belongs. */
static size_t make_frame(uint8_t *bytes)
{
    const uint32_t most = UPLOAD_PAYLOAD_BYTES + SURPLUS;
    const uint32_t payload = draw(10) != 0 ? draw(24) : draw(2) == 0 ? draw(most + 1) : most - draw(2 * SURPLUS);
    bytes[0] = 0xA5;
    bytes[1] = 0x5A;
    number(bytes + 2, draw(20) == 0 ? draw(65536) : draw(4), 2);
    number(bytes + 4, draw(20) == 0 ? draw(65536) : payload, 2);
    for (uint32_t index = 0; index < payload; ++index) {
        bytes[6 + index] = (uint8_t)draw(256);
    }
    number(bytes + 6 + payload, crc32(bytes + 2, 4 + payload), 4);
    if (draw(10) == 0) {
        bytes[draw(10 + payload)] ^= (uint8_t)(1u << draw(8));
    }
    return 10 + payload;
}

static void upload(uint8_t *bytes)
{
    for (uint32_t frames = draw(6); frames > 0 && readies == 0; --frames) {
        const size_t length = make_frame(bytes), sent = draw(8) == 0 ? draw((uint32_t)length) : length;
        for (size_t index = 0; index < sent && readies == 0; ++index) {
            protocol_receive(bytes[index]);
        }
        if (draw(3) == 0 && readies == 0) {
            now_us += draw(2 * UPLOAD_SILENCE_US);
            protocol_wait();
        }
    }
    for (unsigned waits = 0; readies == 0; ++waits) {
        require(waits < 100, "the upload does not end", bytes, 0);
        now_us += UPLOAD_SILENCE_US;
        protocol_wait();
    }
}

int main(int count, char **values)
{
    const unsigned long commands = count == 3 ? strtoul(values[1], NULL, 10) : 0;
    state = count == 3 ? strtoul(values[2], NULL, 10) * 2 + 1 : 1;
    unsigned long uploads = 0;
    static uint8_t bytes[1024], frame[UPLOAD_PAYLOAD_BYTES + SURPLUS + 10];
    protocol_start();
    require(ends_ready(), "no banner", bytes, 0);
    for (unsigned long done = 0; done < commands;) {
        size_t length = command(bytes);
        bytes[length++] = '%';
        for (size_t index = 0; index < length; ++index) {
            answered = readies = 0;
            protocol_receive(bytes[index]);
            protocol_wait();
            if (bytes[index] != '%') {
                require(answered == 0, "an answer to no command", bytes, index);
                continue;
            }
            ++done;
            if (readies == 0) {
                require(answered > 10 && memcmp(answer, "m-[Expecting", 12) == 0, "no m-ready", bytes, index);
                ++uploads;
                upload(frame);
            }
            require(ends_ready(), "not one m-ready at the end", bytes, index);
        }
    }
    printf("%lu commands, %lu uploads\n", commands, uploads);
    return 0;
}
