/* A stand-in for TFLM's schema: a model is a file with TFL3 at its fifth byte. */
#ifndef STANDIN_SCHEMA_GENERATED_H
#define STANDIN_SCHEMA_GENERATED_H

#include <stdint.h>

#include "flatbuffers/flatbuffers.h"

namespace tflite {

class Model {
public:
    uint32_t version() const;
    const uint8_t *bytes() const { return reinterpret_cast<const uint8_t *>(this); }
};

inline const Model *GetModel(const void *buffer)
{
    return static_cast<const Model *>(buffer);
}

} // namespace tflite

#endif
