/* Registers that every Cortex-M has at the same place: Armv7-M Architecture Reference Manual, chapter B3 and C1. */
#ifndef EDGEBENCH_CORTEX_M_REGISTERS_H
#define EDGEBENCH_CORTEX_M_REGISTERS_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define SYST_CSR REGISTER(0xE000E010) /* bit 0 enable, 1 interrupt, 2 core clock */
#define SYST_RVR REGISTER(0xE000E014)
#define SYST_CVR REGISTER(0xE000E018)
#define SCB_ICSR REGISTER(0xE000ED04)  /* bit 26: SysTick is pending */
#define SCB_VTOR REGISTER(0xE000ED08)
#define SCB_AIRCR REGISTER(0xE000ED0C) /* key 0x05FA, bit 2: system reset */
#define SCB_CCR REGISTER(0xE000ED14)   /* bit 16 data cache, 17 instruction cache */
#define SCB_CCSIDR REGISTER(0xE000ED80)
#define SCB_CSSELR REGISTER(0xE000ED84)
#define SCB_CPACR REGISTER(0xE000ED88) /* bits 20 to 23: the floating-point unit */
#define SCB_DEMCR REGISTER(0xE000EDFC) /* bit 24: DWT and ITM */
#define SCB_ICIALLU REGISTER(0xE000EF50)
#define SCB_DCISW REGISTER(0xE000EF60)
#define DWT_CTRL REGISTER(0xE0001000) /* bit 0: count cycles */
#define DWT_CYCCNT REGISTER(0xE0001004)
#define DWT_LAR REGISTER(0xE0001FB0) /* 0xC5ACCE55 unlocks, on a Cortex-M7 */

static inline void barrier(void)
{
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

#endif
