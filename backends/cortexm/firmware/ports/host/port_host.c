/*
 * The firmware as a Linux program, for tests: on a pty whose path is its first line of output, or with `--stdio`
 * on standard input and output. It ends with its input.
 *
 *   --stdio          the line is standard input and output
 *   --clock-us N     what the clock shows at the start, for laps that wrap
 *   --clock-speed N  per cent of the real one's, for waits that a test has no time for, or no mishap
 *   --baud N         bytes pass as slowly as over a UART, N / 10 a second each way; 0, the default, as they come
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "port.h"

static const int wait_ms = 5;
static const uint64_t spin_ns = 2000000; /* after a byte, how long not to sleep: waking up takes some bytes' time */
static int line_in, line_out;
static uint64_t clock_start_us;
static uint64_t clock_shown_us; /* at its start */
static uint64_t clock_percent = 100;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void open_pty(void)
{
    const int controller = posix_openpt(O_RDWR | O_NOCTTY);
    if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0) {
        fail("pty");
    }
    const char *path = ptsname(controller);
    /* Its other end stays open here too: a host that closes the port ends nothing. */
    const int end = path == NULL ? -1 : open(path, O_RDWR | O_NOCTTY);
    struct termios settings;
    if (end < 0 || tcgetattr(end, &settings) != 0) {
        fail("pty");
    }
    cfmakeraw(&settings);
    if (tcsetattr(end, TCSANOW, &settings) != 0) {
        fail("pty");
    }
    printf("%s\n", path);
    fflush(stdout);
    line_in = line_out = controller;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic_us(void)
{
    return monotonic_ns() / 1000u;
}

/* One direction of a UART: bytes, and when the first of them has passed. The others follow a byte's time apart. */
struct wire {
    uint8_t bytes[4096];
    size_t first, count;
    uint64_t passed_ns;
};

static uint64_t byte_ns; /* 0: a line without a baud rate */
static struct wire wire_in, wire_out;
static uint64_t last_byte_ns;

static void enter(struct wire *wire, uint8_t byte, uint64_t now_ns)
{
    if (wire->count == 0) {
        /* A byte that comes while the one before is still passing waits for it. */
        const uint64_t free_ns = wire->passed_ns;
        wire->passed_ns = (free_ns > now_ns ? free_ns : now_ns) + byte_ns;
    }
    wire->bytes[(wire->first + wire->count++) % sizeof wire->bytes] = byte;
    last_byte_ns = now_ns;
}

/* Whether a byte has passed; it is taken off the wire then. */
static bool leave(struct wire *wire, uint8_t *byte, uint64_t now_ns)
{
    if (wire->count == 0 || now_ns < wire->passed_ns) {
        return false;
    }
    *byte = wire->bytes[wire->first];
    wire->first = (wire->first + 1) % sizeof wire->bytes;
    if (--wire->count > 0) {
        wire->passed_ns += byte_ns;
    }
    return true;
}

/* Of the program, before main: main has no arguments on a board. */
__attribute__((constructor)) static void read_arguments(int count, char **values)
{
    bool has_pty = true;
    for (int index = 1; index < count; ++index) {
        if (strcmp(values[index], "--stdio") == 0) {
            has_pty = false;
        } else if (strcmp(values[index], "--clock-us") == 0 && index + 1 < count) {
            clock_shown_us = strtoull(values[++index], NULL, 10);
        } else if (strcmp(values[index], "--clock-speed") == 0 && index + 1 < count) {
            clock_percent = strtoull(values[++index], NULL, 10);
        } else if (strcmp(values[index], "--baud") == 0 && index + 1 < count) {
            const uint64_t baud = strtoull(values[++index], NULL, 10);
            byte_ns = baud == 0 ? 0 : 10000000000u / baud;
        } else {
            fprintf(stderr, "usage: %s [--stdio] [--clock-us N] [--clock-speed N] [--baud N]\n", values[0]);
            exit(2);
        }
    }
    clock_start_us = monotonic_us();
    line_in = STDIN_FILENO;
    line_out = STDOUT_FILENO;
    if (has_pty) {
        open_pty();
    }
}

void port_start(void)
{
}

static void write_all(const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(line_out, bytes, length);
        if (written < 0 && errno != EINTR) {
            exit(0);
        }
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
}

/* What has come by now, within a time that may be 0; it ends the program with its input. */
static size_t read_some(uint8_t *bytes, size_t room, int timeout_ms)
{
    struct pollfd line = {.fd = line_in, .events = POLLIN};
    const int ready = poll(&line, 1, timeout_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
        return 0;
    }
    const ssize_t length = read(line_in, bytes, room);
    if (length < 0 && errno == EINTR) {
        return 0;
    }
    if (length <= 0) {
        exit(0);
    }
    return (size_t)length;
}

/* Bytes enter and leave the wires as time goes by. */
static void move_bytes(int timeout_ms)
{
    uint8_t bytes[512];
    if (wire_in.count + sizeof bytes <= sizeof wire_in.bytes) {
        const size_t length = read_some(bytes, sizeof bytes, timeout_ms);
        const uint64_t now_ns = monotonic_ns();
        for (size_t index = 0; index < length; ++index) {
            enter(&wire_in, bytes[index], now_ns);
        }
    }
    size_t length = 0;
    const uint64_t now_ns = monotonic_ns();
    while (length < sizeof bytes && leave(&wire_out, &bytes[length], now_ns)) {
        ++length;
    }
    write_all((const char *)bytes, length);
}

bool port_read(uint8_t *byte)
{
    if (byte_ns == 0) {
        return read_some(byte, 1, wait_ms) > 0;
    }
    if (leave(&wire_in, byte, monotonic_ns())) {
        return true;
    }
    const bool is_idle = wire_in.count == 0 && wire_out.count == 0;
    move_bytes(is_idle && monotonic_ns() - last_byte_ns > spin_ns ? wait_ms : 0);
    return leave(&wire_in, byte, monotonic_ns());
}

void port_write(const char *bytes, size_t length)
{
    if (byte_ns == 0) {
        write_all(bytes, length);
        return;
    }
    for (size_t index = 0; index < length; ++index) {
        while (wire_out.count > 1) { /* a UART holds the byte that is passing and the next one */
            move_bytes(0);
        }
        enter(&wire_out, (uint8_t)bytes[index], monotonic_ns());
    }
}

uint32_t port_microseconds(void)
{
    return (uint32_t)(clock_shown_us + (monotonic_us() - clock_start_us) * clock_percent / 100);
}

void port_timing_pin(bool high)
{
    (void)high;
}

const char *port_board(void)
{
    return "host, a program of this machine";
}

const char *port_timer(void)
{
    return "CLOCK_MONOTONIC";
}

const char *port_reset_reason(void)
{
    return "unknown";
}
