/* From reset to main: vector table, floating-point unit, initialised and zeroed memory, constructors. */
#include <stdint.h>

#include "cycle_clock.h"
#include "registers.h"

/* Of the linker script: words. */
extern uint32_t stack_top[], data_load[], data_start[], data_end[], zero_start[], zero_end[];
extern uint32_t resident_start[], resident_end[];

typedef void (*handler)(void);
extern const handler constructors_start[], constructors_end[];

extern int main(void);
extern void port_memory(void);

/* The entry point, for the linker. */
__attribute__((noreturn)) void reset(void);

/* A fault resets the board: the host sees a boot banner amid an answer, and knows. */
__attribute__((noreturn)) static void restart(void)
{
    barrier();
    SCB_AIRCR = 0x05FA0004;
    barrier();
    for (;;) {
    }
}

/* A Cortex-M's own exceptions; no interrupt of a peripheral is enabled. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler handlers[15];
} vectors = {
    stack_top,
    {reset, restart, restart, restart, restart, restart, 0, 0, 0, 0, restart, restart, 0, restart,
     cycle_clock_systick},
};

static void zero(uint32_t *word, const uint32_t *end)
{
    while (word < end) {
        *word++ = 0;
    }
}

void reset(void)
{
    SCB_VTOR = (uint32_t)(uintptr_t)&vectors;
    SCB_CPACR |= 0xFu << 20;
    barrier();
    port_memory();
    const uint32_t *source = data_load;
    for (uint32_t *word = data_start; word < data_end; ++word) {
        *word = *source++;
    }
    zero(zero_start, zero_end);
    zero(resident_start, resident_end);
    for (const handler *construct = constructors_start; construct < constructors_end; ++construct) {
        (*construct)();
    }
    (void)main();
    for (;;) {
    }
}
