/* What a runtime does for the firmware: it runs one model at a time. */
#ifndef EDGEBENCH_ENGINE_H
#define EDGEBENCH_ENGINE_H

#include "bytes.h"

namespace edgebench {

enum class TensorType : uint8_t { int8, uint8, float32 };

struct ModelFacts {
    uint32_t input_bytes; /* of one patch */
    TensorType input_type; /* int8 or uint8 */
    float input_scale;
    int32_t input_zero_point;
    TensorType output_type;
    float output_scale; /* of integer outputs: score = (output - output_zero_point) * output_scale */
    int32_t output_zero_point;
    uint32_t classes;
    uint32_t arena_used; /* bytes */
    uint32_t edgetpu_operators;
};

class Engine {
public:
    /*
     * Makes a model ready; nullptr, or the reason why it cannot be, which is valid until the next call. What was
     * loaded before is unloaded already. The bytes have that hash; nobody else reads or writes them before unload.
     */
    virtual const char *load(Bytes model, Text sha256, ModelFacts &facts) = 0;

    /* Lets go of the model; its bytes are about to change. */
    virtual void unload() = 0;

    /* input_bytes that the next invoke reads, and may overwrite: the Edge TPU's operator flips signs in place. */
    virtual void *input() = 0;

    /* One inference; false: it failed. */
    virtual bool invoke() = 0;

    /* `classes` values of output_type, of the last invoke. */
    virtual const void *output() = 0;

protected:
    ~Engine() = default;
};

} // namespace edgebench

#endif
