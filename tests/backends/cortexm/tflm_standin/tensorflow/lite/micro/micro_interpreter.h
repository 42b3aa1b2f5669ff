/* A stand-in for TFLM's interpreter: one input and one output, and no network. */
#ifndef STANDIN_MICRO_INTERPRETER_H
#define STANDIN_MICRO_INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"

#define TFLITE_SCHEMA_VERSION (3)

enum TfLiteType { kTfLiteFloat32 = 1, kTfLiteInt32 = 2, kTfLiteUInt8 = 3, kTfLiteInt8 = 9 };

struct TfLiteQuantizationParams {
    float scale;
    int32_t zero_point;
};

union TfLitePtrUnion {
    int8_t *int8;
    void *data;
};

struct TfLiteTensor {
    TfLiteType type;
    TfLitePtrUnion data;
    TfLiteQuantizationParams params;
    size_t bytes;
};

namespace tflite {

class MicroInterpreter {
public:
    MicroInterpreter(const Model *model, const MicroOpResolver &op_resolver, uint8_t *tensor_arena,
                     size_t tensor_arena_size);
    ~MicroInterpreter();
    TfLiteStatus AllocateTensors();
    TfLiteStatus Invoke();
    TfLiteStatus Reset();
    size_t inputs_size() const;
    size_t outputs_size() const { return 1; }
    TfLiteTensor *input(size_t index);
    TfLiteTensor *output(size_t index);
    size_t arena_used_bytes() const;

private:
    const Model *model_;
    const MicroOpResolver &op_resolver_;
    uint8_t *arena_;
    size_t arena_size_;
    TfLiteTensor input_ = {};
    TfLiteTensor output_ = {};
};

} // namespace tflite

#endif
