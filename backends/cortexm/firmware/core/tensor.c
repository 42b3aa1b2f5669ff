#include "tensor.h"

#include <string.h>

#include "model.h"

/* Where it lies is the linker script's business: another bank than the engine's where there is one. */
#if defined(__arm__)
__attribute__((section(".resident_input"), aligned(32)))
#endif
static uint8_t resident[MODEL_INPUT_BYTES];
static size_t expected;
static size_t filled;

bool tensor_expect(uint32_t bytes)
{
    const bool fits = bytes <= sizeof resident;
    expected = fits ? bytes : 0;
    filled = 0;
    return fits;
}

size_t tensor_expected(void)
{
    return expected;
}

size_t tensor_filled(void)
{
    return filled;
}

const uint8_t *tensor_bytes(void)
{
    return resident;
}

bool tensor_append(const uint8_t *bytes, size_t length)
{
    const size_t room = expected - filled;
    const size_t taken = length < room ? length : room;
    memcpy(resident + filled, bytes, taken);
    filled += taken;
    return taken > 0 && filled == expected;
}

void tensor_copy_to_model(void)
{
    memcpy(model_input(), resident, sizeof resident);
}
