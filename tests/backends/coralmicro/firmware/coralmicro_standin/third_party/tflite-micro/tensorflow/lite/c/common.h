/* An operator as TFLM knows it. */
#pragma once

#include <cstddef>

struct TfLiteContext;

struct TfLiteRegistration {
    void *(*init)(TfLiteContext *context, const char *buffer, size_t length);
};
