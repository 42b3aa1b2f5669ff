#include "clocks.h"

#include <stdint.h>

#include "registers_h743.h"

#define HSE_ON (1u << 16)
#define HSE_READY (1u << 17)
#define HSE_BYPASS (1u << 18) /* a clock comes in, no crystal is driven */
#define PLL1_ON (1u << 24)
#define PLL1_READY (1u << 25)

#define FROM_HSI 0u
#define FROM_HSE 2u

static void wait_for(volatile uint32_t *flags, uint32_t bits)
{
    while ((*flags & bits) != bits) {
    }
}

static bool external_clock_starts(void)
{
    RCC_CR |= HSE_BYPASS;
    RCC_CR |= HSE_ON;
    for (unsigned spin = 0; spin < 1000000; ++spin) {
        if (RCC_CR & HSE_READY) {
            return true;
        }
    }
    RCC_CR &= ~HSE_ON;
    return false;
}

/* Voltage scale 1, which 400 MHz take. */
static void raise_voltage(void)
{
    PWR_CR3 = (PWR_CR3 & ~7u) | 2u;
    wait_for(&PWR_CSR1, 1u << 13);
    PWR_D3CR |= 3u << 14;
    wait_for(&PWR_D3CR, 1u << 13);
}

bool clocks_start(void)
{
    raise_voltage();
    const bool is_external = external_clock_starts();
    /* 2 MHz times 400, by 2. HSI is 64 MHz, the ST-LINK's clock 8 MHz. */
    const uint32_t source = is_external ? FROM_HSE : FROM_HSI;
    const uint32_t divider = is_external ? 4 : 32;
    RCC_PLLCKSELR = source | divider << 4;
    RCC_PLLCFGR = 1u << 2 | 1u << 16; /* input of 2 to 4 MHz, wide VCO, output P */
    RCC_PLL1DIVR = (400 - 1) | (2 - 1) << 9 | (2 - 1) << 16 | (2 - 1) << 24;
    RCC_CR |= PLL1_ON;
    wait_for(&RCC_CR, PLL1_READY);
    /* AXI and AHB at 200 MHz, all APB at 100 MHz; the flash waits 2 cycles of 200 MHz at this voltage. */
    RCC_D1CFGR = 8u | 4u << 4;
    RCC_D2CFGR = 4u << 4 | 4u << 8;
    RCC_D3CFGR = 4u << 4;
    FLASH_ACR = 2u | 2u << 4;
    while (FLASH_ACR != (2u | 2u << 4)) {
    }
    RCC_CFGR = (RCC_CFGR & ~7u) | 3u;
    while ((RCC_CFGR >> 3 & 7u) != 3u) {
    }
    return is_external;
}
