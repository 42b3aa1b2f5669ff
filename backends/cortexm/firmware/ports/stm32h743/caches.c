#include "caches.h"

#include "registers.h"

/* By set and way: Armv7-M Architecture Reference Manual, B2.2.7. */
static void invalidate_data(void)
{
    SCB_CSSELR = 0;
    barrier();
    const uint32_t size = SCB_CCSIDR;
    const uint32_t sets = (size >> 13 & 0x7FFF) + 1, ways = (size >> 3 & 0x3FF) + 1;
    for (uint32_t set = 0; set < sets; ++set) {
        for (uint32_t way = 0; way < ways; ++way) {
            SCB_DCISW = way << 30 | set << 5; /* 4 ways, lines of 32 bytes */
        }
    }
    barrier();
}

void caches_start(void)
{
    SCB_ICIALLU = 0;
    barrier();
    SCB_CCR |= 1u << 17;
    invalidate_data();
    SCB_CCR |= 1u << 16;
    barrier();
}
