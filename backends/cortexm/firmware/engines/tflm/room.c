/*
 * The memory that a model takes with TFLM, without TFLM: its .tflite in flash, and its arena. It infers nothing: the
 * linker tells whether a board has room, before a library was built. The build defines what model_tflm.cc has.
 */
#include <stddef.h>

#include "model.h"

__asm__(".pushsection .rodata.tflm_model,\"a\",%progbits\n"
        ".balign 16\n"
        ".global tflm_model\n"
        "tflm_model:\n"
        ".incbin \"" TFLM_MODEL_FILE "\"\n"
        ".balign 4\n"
        ".popsection\n");
extern const uint8_t tflm_model[];

static uint8_t arena[TFLM_ARENA_BYTES] __attribute__((aligned(16)));

static struct model_facts facts = {.engine = TFLM_ENGINE, .failure = "TFLM is not in this firmware"};

bool model_start(void)
{
    arena[0] = tflm_model[0]; /* both stay in the firmware */
    return false;
}

const struct model_facts *model_facts(void)
{
    return &facts;
}

void *model_input(void)
{
    return arena;
}

bool model_invoke(void)
{
    return false;
}

const void *model_output(void)
{
    return arena;
}
