/*
 * ST's Nucleo-H743ZI2, bare metal. The line is USART3 on the ST-LINK's virtual port (PD8, PD9); the timing pin
 * is PB0, which is LD1, too.
 */
#include "caches.h"
#include "clocks.h"
#include "cycle_clock.h"
#include "port.h"
#include "registers_h743.h"

#ifndef PORT_BAUD
#define PORT_BAUD 115200u
#endif

#define RECEIVED (1u << 5)
#define ROOM_TO_SEND (1u << 7)
#define OVERRUN (1u << 3)

static const char *board;
static uint32_t reset_flags;

/* Before variables are initialised: it has none. */
void port_memory(void)
{
    RCC_AHB2ENR |= 7u << 29;
    (void)RCC_AHB2ENR;
    if (DBGMCU_IDCODE >> 16 < 0x2000) {
        AXI_TARG7_FN_MOD = 1;
    }
}

static void start_line(void)
{
    RCC_APB1LENR |= 1u << 18;
    (void)RCC_APB1LENR;
    GPIOD_PUPDR = (GPIOD_PUPDR & ~(3u << 18)) | 1u << 18; /* a receiver without a sender hears nothing */
    GPIOD_AFRH = (GPIOD_AFRH & ~0xFFu) | 0x77u;
    GPIOD_MODER = (GPIOD_MODER & ~(0xFu << 16)) | 0xAu << 16;
    USART3_BRR = (APB1_HZ + PORT_BAUD / 2) / PORT_BAUD;
    USART3_CR1 = 1u << 29 | 1u << 3 | 1u << 2; /* FIFOs of 16 bytes, transmitter, receiver */
    USART3_CR1 |= 1u;
}

void port_start(void)
{
    reset_flags = RCC_RSR;
    RCC_RSR |= 1u << 16;
    caches_start();
    const bool is_external = clocks_start();
    board = is_external ? "nucleo-h743zi2, Cortex-M7, 400 MHz of the ST-LINK's clock"
                        : "nucleo-h743zi2, Cortex-M7, 400 MHz of its own oscillator (1 %)";
    RCC_AHB4ENR |= 1u << 1 | 1u << 3;
    (void)RCC_AHB4ENR;
    port_timing_pin(true);
    GPIOB_MODER = (GPIOB_MODER & ~3u) | 1u;
    start_line();
    cycle_clock_start(CORE_MHZ);
}

bool port_read(uint8_t *byte)
{
    const uint32_t status = USART3_ISR;
    if (status & OVERRUN) {
        USART3_ICR = OVERRUN;
    }
    if ((status & RECEIVED) == 0) {
        return false;
    }
    *byte = (uint8_t)USART3_RDR;
    return true;
}

void port_write(const char *bytes, size_t length)
{
    for (size_t index = 0; index < length; ++index) {
        while ((USART3_ISR & ROOM_TO_SEND) == 0) {
        }
        USART3_TDR = (uint8_t)bytes[index];
    }
}

uint32_t port_microseconds(void)
{
    return cycle_clock_microseconds();
}

void port_timing_pin(bool high)
{
    GPIOB_BSRR = high ? 1u : 1u << 16;
    barrier();
}

const char *port_board(void)
{
    return board;
}

const char *port_timer(void)
{
    return cycle_clock_name();
}

const char *port_reset_reason(void)
{
    static const struct {
        uint32_t flags;
        const char *reason;
    } reasons[] = {
        {1u << 23 | 1u << 21, "power on"}, {1u << 26 | 1u << 28, "watchdog"},
        {1u << 24, "software"},            {1u << 30, "low power"},
        {1u << 22, "reset pin"},
    };
    for (unsigned index = 0; index < sizeof reasons / sizeof reasons[0]; ++index) {
        if (reset_flags & reasons[index].flags) {
            return reasons[index].reason;
        }
    }
    return "unknown";
}
