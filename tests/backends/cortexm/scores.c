/* Floats as 32-bit numbers on standard input; each as put_score writes it, a line. */
#include <stdio.h>
#include <string.h>

#include "port.h"
#include "text.h"

void port_write(const char *bytes, size_t length)
{
    fwrite(bytes, 1, length, stdout);
}

uint32_t port_microseconds(void)
{
    return 0;
}

void port_timing_pin(bool high)
{
    (void)high;
}

const char *port_board(void)
{
    return "";
}

const char *port_timer(void)
{
    return "";
}

const char *port_reset_reason(void)
{
    return "";
}

int main(void)
{
    float value;
    while (fread(&value, sizeof value, 1, stdin) == 1) {
        put_score(value);
        putchar('\n');
    }
    return 0;
}
