/*
 * C that emx-onnx-cgen made of an ONNX file, behind model.h. The build defines
 *   GENERATED_FILE      the file to include, which has GENERATED_FUNCTION(input, scores)
 *   GENERATED_FUNCTION
 *   GENERATED_ENGINE    the generator's name and version, as a string
 *   GENERATED_TYPE      of the input, as in model.h
 * and the linker the symbol ENGINE_BYTES: the stack that an inference takes, computed from the compiled code: its
 * temporaries lie there.
 */
#include GENERATED_FILE

#include "model.h"

extern const char ENGINE_BYTES[];

static union {
    uint8_t bytes[MODEL_INPUT_BYTES];
    float numbers; /* aligned for them */
} input;
static float scores[MODEL_SCORES];

static struct model_facts facts = {
    .engine = GENERATED_ENGINE,
    .input_type = GENERATED_TYPE,
    .output_type = MODEL_FLOAT32,
};

bool model_start(void)
{
    facts.working_bytes = (uint32_t)(uintptr_t)ENGINE_BYTES; /* its address is the number */
    return true;
}

const struct model_facts *model_facts(void)
{
    return &facts;
}

void *model_input(void)
{
    return input.bytes;
}

bool model_invoke(void)
{
    GENERATED_FUNCTION((const void *)input.bytes, (void *)scores);
    return true;
}

const void *model_output(void)
{
    return scores;
}
