/*
 * The least that sends an input by digits over a serial port: it writes a command, reads to the end of the line, and
 * checks nothing. Prints the seconds of the commands that carry digits.
 *
 *   plain_load PORT BYTES
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define BYTES_A_COMMAND 31

static int port;

static double monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The end of the answer's last line; the program ends where none comes. */
static void await_ready(void)
{
    char answer[256];
    size_t length = 0;
    while (length < 3 || memcmp(answer + length - 3, "y\r\n", 3) != 0) {
        struct pollfd input = {.fd = port, .events = POLLIN};
        const ssize_t came = poll(&input, 1, 10000) == 1 ? read(port, answer + length, sizeof answer - length) : 0;
        if (came <= 0) {
            exit(1);
        }
        length += (size_t)came;
    }
}

static void ask(const char *command, size_t length)
{
    if (write(port, command, length) != (ssize_t)length) {
        exit(1);
    }
    await_ready();
}

int main(int count, char **values)
{
    port = count == 3 ? open(values[1], O_RDWR | O_NOCTTY) : -1;
    struct termios settings;
    if (port < 0 || tcgetattr(port, &settings) != 0) {
        return 2;
    }
    cfmakeraw(&settings);
    tcsetattr(port, TCSANOW, &settings);
    tcflush(port, TCIFLUSH);
    const long bytes = atol(values[2]);
    char command[80];
    ask(command, (size_t)snprintf(command, sizeof command, "db load %ld%%", bytes));
    const double start_s = monotonic_s();
    for (long sent = 0; sent < bytes; sent += BYTES_A_COMMAND) {
        const long left = bytes - sent;
        const size_t digits = 2 * (size_t)(left < BYTES_A_COMMAND ? left : BYTES_A_COMMAND);
        memcpy(command, "db ", 3);
        memset(command + 3, 'a', digits);
        command[3 + digits] = '%';
        ask(command, digits + 4);
    }
    printf("%.9f\n", monotonic_s() - start_s);
    return 0;
}
