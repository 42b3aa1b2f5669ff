#include "cycle_clock.h"

#include <stdbool.h>

#include "registers.h"

#define SYSTICK_PERIOD 0x1000000u
#define SYSTICK_IS_PENDING (1u << 26)

static bool has_dwt;
static uint32_t mhz;
static volatile uint64_t cycles; /* up to the last reading of DWT, or the last wrap of SysTick */
static uint32_t last_dwt;

static uint32_t mask_interrupts(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before)::"memory");
    return before;
}

static void restore_interrupts(uint32_t before)
{
    __asm__ volatile("msr primask, %0" ::"r"(before) : "memory");
}

static void add_dwt(void)
{
    const uint32_t now = DWT_CYCCNT;
    cycles += now - last_dwt;
    last_dwt = now;
}

/* An emulated counter, or one that a debugger holds, stands still. */
static bool dwt_moves(void)
{
    SCB_DEMCR |= 1u << 24;
    DWT_LAR = 0xC5ACCE55;
    DWT_CYCCNT = 0;
    DWT_CTRL |= 1u;
    const uint32_t start = DWT_CYCCNT;
    for (volatile unsigned spin = 0; spin < 100; ++spin) {
    }
    return DWT_CYCCNT != start;
}

void cycle_clock_start(uint32_t core_mhz)
{
    mhz = core_mhz;
    has_dwt = dwt_moves();
    last_dwt = DWT_CYCCNT;
    SYST_RVR = SYSTICK_PERIOD - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

void cycle_clock_systick(void)
{
    if (has_dwt) {
        add_dwt();
    } else {
        cycles += SYSTICK_PERIOD;
    }
}

static uint64_t cycles_now(void)
{
    const uint32_t before = mask_interrupts();
    uint64_t now;
    if (has_dwt) {
        add_dwt();
        now = cycles;
    } else {
        uint32_t value = SYST_CVR;
        const bool has_wrapped = (SCB_ICSR & SYSTICK_IS_PENDING) != 0;
        if (has_wrapped) {
            value = SYST_CVR; /* surely of after the wrap */
        }
        now = cycles + (has_wrapped ? SYSTICK_PERIOD : 0) + (SYSTICK_PERIOD - 1 - value);
    }
    restore_interrupts(before);
    return now;
}

uint32_t cycle_clock_microseconds(void)
{
    return (uint32_t)(cycles_now() / mhz);
}

const char *cycle_clock_name(void)
{
    return has_dwt ? "DWT" : "SysTick";
}
