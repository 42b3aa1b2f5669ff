#pragma once

#include "third_party/tflite-micro/tensorflow/lite/c/common.h"

namespace coralmicro {

inline TfLiteRegistration *RegisterCustomOp()
{
    static TfLiteRegistration registration = {nullptr};
    return &registration;
}

} // namespace coralmicro
