/*
 * TFLM (TensorFlow Lite Micro) with coralmicro's operator for the Edge TPU, as an engine.
 *
 * coralmicro remembers an Edge TPU package by the address that it lies at, and forgets none: another model's package at
 * the same address would be run as the old one. So a model whose packages come to lie where another's lay is shifted by
 * 16 bytes until they do not; the model's memory has kShiftBytes more than the longest model.
 */
#ifndef EDGEBENCH_TFLM_ENGINE_H
#define EDGEBENCH_TFLM_ENGINE_H

#include <cstdarg>
#include <optional>

#include "core/engine.h"
#include "third_party/tflite-micro/tensorflow/lite/micro/micro_interpreter.h"
#include "third_party/tflite-micro/tensorflow/lite/micro/micro_mutable_op_resolver.h"

namespace edgebench {

class TflmEngine final : public Engine {
public:
    static constexpr size_t kShiftStep = 16; /* TFLM asks for that alignment */
    static constexpr size_t kShiftBytes = 64 * kShiftStep;

    /* The model is loaded at the start of its memory; `has_edgetpu` false: models with its operator are refused. */
    TflmEngine(Room model, Room arena, bool has_edgetpu);

    const char *load(Bytes model, Text sha256, ModelFacts &facts) override;
    void unload() override;
    void *input() override;
    bool invoke() override;
    const void *output() override;

private:
    static constexpr unsigned kOperators = 18;

    /* The first message since `clear`: why an interpreter could not be built. */
    class FirstMessage final : public tflite::ErrorReporter {
    public:
        int Report(const char *format, va_list values) override;
        void clear() { text_[0] = '\0'; }
        const char *text() const { return text_; }

    private:
        char text_[160] = "";
    };

    const char *check(const tflite::Model *model, ModelFacts &facts);
    const char *build(const tflite::Model *model);
    const char *read_tensors(ModelFacts &facts);
    const char *refuse(const char *format, ...) __attribute__((format(printf, 2, 3)));

    Room model_;
    Room arena_;
    bool has_edgetpu_;
    tflite::MicroMutableOpResolver<kOperators> resolver_;
    FirstMessage message_;
    std::optional<tflite::MicroInterpreter> interpreter_;
    TfLiteTensor *input_ = nullptr;
    const TfLiteTensor *output_ = nullptr;
    char reason_[280] = "";
};

} // namespace edgebench

#endif
