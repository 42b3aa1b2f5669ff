/* Arm's MPS2 board with the Cortex-M7 image AN500, as QEMU emulates it: UART0, no reset reason, no pin. */
#include "cycle_clock.h"
#include "port.h"
#include "registers.h"

#define CORE_MHZ 25

/* CMSDK APB UART, Cortex-M System Design Kit Technical Reference Manual, 4.3. */
#define UART0_DATA REGISTER(0x40004000)
#define UART0_STATE REGISTER(0x40004004)   /* bit 0: transmit buffer full, bit 1: receive buffer full */
#define UART0_CTRL REGISTER(0x40004008)    /* bit 0: transmit, bit 1: receive */
#define UART0_BAUDDIV REGISTER(0x40004010)

#ifndef PORT_BAUD
#define PORT_BAUD 115200u
#endif

void port_memory(void)
{
}

void port_start(void)
{
    UART0_BAUDDIV = CORE_MHZ * 1000000u / PORT_BAUD;
    UART0_CTRL = 3;
    cycle_clock_start(CORE_MHZ);
}

bool port_read(uint8_t *byte)
{
    if ((UART0_STATE & 2u) == 0) {
        return false;
    }
    *byte = (uint8_t)UART0_DATA;
    return true;
}

void port_write(const char *bytes, size_t length)
{
    for (size_t index = 0; index < length; ++index) {
        while (UART0_STATE & 1u) {
        }
        UART0_DATA = (uint8_t)bytes[index];
    }
}

uint32_t port_microseconds(void)
{
    return cycle_clock_microseconds();
}

void port_timing_pin(bool high)
{
    (void)high;
}

const char *port_board(void)
{
    return "mps2-an500, Cortex-M7, 25 MHz";
}

const char *port_timer(void)
{
    return cycle_clock_name();
}

const char *port_reset_reason(void)
{
    return "unknown";
}
