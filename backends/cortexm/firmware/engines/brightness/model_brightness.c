/*
 * No network: the mean of each part of the input, as one part a score, in 0..1. For a board's first light, and
 * for tests of the line. It overwrites its input, as TFLM does.
 */
#include <string.h>

#include "model.h"

static uint8_t input[MODEL_INPUT_BYTES];
static uint8_t means[MODEL_SCORES];

static const struct model_facts facts = {
    .engine = "brightness 1",
    .input_type = MODEL_UINT8,
    .output_type = MODEL_UINT8,
    .output_scale = 1.0f / 255.0f,
    .output_zero_point = 0,
    .working_bytes = 0,
};

bool model_start(void)
{
    return true;
}

const struct model_facts *model_facts(void)
{
    return &facts;
}

void *model_input(void)
{
    return input;
}

bool model_invoke(void)
{
    const uint32_t part = MODEL_INPUT_BYTES / MODEL_SCORES;
    for (uint32_t index = 0; index < MODEL_SCORES; ++index) {
        uint32_t sum = 0;
        for (uint32_t byte = 0; byte < part; ++byte) {
            sum += input[index * part + byte];
        }
        means[index] = (uint8_t)(sum / part);
    }
    memset(input, 0, sizeof input);
    return true;
}

const void *model_output(void)
{
    return means;
}
