#include "tflm_engine.h"

#include <cstdio>
#include <cstring>

#include "edgetpu_packages.h"
#include "libs/tpu/edgetpu_op.h"
#include "third_party/tflite-micro/tensorflow/lite/schema/schema_generated.h"
#include "third_party/tflite-micro/tensorflow/lite/schema/schema_utils.h"

namespace edgebench {
namespace {

bool type_of(const TfLiteTensor &tensor, TensorType &type, size_t &value_bytes)
{
    value_bytes = tensor.type == kTfLiteFloat32 ? 4 : 1;
    type = tensor.type == kTfLiteInt8    ? TensorType::int8
           : tensor.type == kTfLiteUInt8 ? TensorType::uint8
                                         : TensorType::float32;
    return tensor.type == kTfLiteInt8 || tensor.type == kTfLiteUInt8 || tensor.type == kTfLiteFloat32;
}

bool is_edgetpu(const tflite::OperatorCode &code)
{
    return tflite::GetBuiltinCode(&code) == tflite::BuiltinOperator_CUSTOM && code.custom_code() != nullptr &&
           strcmp(code.custom_code()->c_str(), coralmicro::kCustomOp) == 0;
}

} // namespace

/* The first one counts: those after it are its consequences. */
int TflmEngine::FirstMessage::Report(const char *format, va_list values)
{
    return text_[0] != '\0' ? 0 : vsnprintf(text_, sizeof text_, format, values);
}

/* What an int8 MobileNet has on the CPU, whole or behind the Edge TPU's part, and its near relatives. */
TflmEngine::TflmEngine(Room model, Room arena, bool has_edgetpu)
    : model_(model), arena_(arena), has_edgetpu_(has_edgetpu)
{
    resolver_.AddCustom(coralmicro::kCustomOp, edgetpu_operator());
    resolver_.AddAdd();
    resolver_.AddAveragePool2D();
    resolver_.AddConcatenation();
    resolver_.AddConv2D();
    resolver_.AddDepthwiseConv2D();
    resolver_.AddDequantize();
    resolver_.AddFullyConnected();
    resolver_.AddLogistic();
    resolver_.AddMaxPool2D();
    resolver_.AddMean();
    resolver_.AddMul();
    resolver_.AddPad();
    resolver_.AddQuantize();
    resolver_.AddRelu();
    resolver_.AddRelu6();
    resolver_.AddReshape();
    resolver_.AddSoftmax();
}

const char *TflmEngine::refuse(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(reason_, sizeof reason_, format, values);
    va_end(values);
    return reason_;
}

/* What TFLM takes for granted: one graph, and operators that are in the resolver. Counts those of the Edge TPU. */
const char *TflmEngine::check(const tflite::Model *model, ModelFacts &facts)
{
    if (model->version() != TFLITE_SCHEMA_VERSION) {
        return refuse("its schema is %lu, expected %d", (unsigned long)model->version(), TFLITE_SCHEMA_VERSION);
    }
    const auto *graphs = model->subgraphs();
    const auto *codes = model->operator_codes();
    if (graphs == nullptr || graphs->size() != 1 || codes == nullptr || graphs->Get(0)->operators() == nullptr ||
        graphs->Get(0)->tensors() == nullptr || model->buffers() == nullptr) {
        return "it is not one graph with operators";
    }
    const auto *inputs = graphs->Get(0)->inputs(), *outputs = graphs->Get(0)->outputs();
    if (inputs == nullptr || inputs->size() != 1 || outputs == nullptr || outputs->size() != 1) {
        return "it has not one input and one output";
    }
    facts.edgetpu_operators = 0;
    for (const auto *step : *graphs->Get(0)->operators()) {
        if (step->opcode_index() >= codes->size()) {
            return "an operator has no code";
        }
        const tflite::OperatorCode &code = *codes->Get(step->opcode_index());
        const tflite::BuiltinOperator builtin = tflite::GetBuiltinCode(&code);
        if (is_edgetpu(code)) {
            ++facts.edgetpu_operators;
        } else if (builtin == tflite::BuiltinOperator_CUSTOM) {
            const auto *name = code.custom_code();
            return refuse("the operator %.60s is not in this firmware", name == nullptr ? "CUSTOM" : name->c_str());
        } else if (resolver_.FindOp(builtin) == nullptr) {
            return refuse("the operator %s is not in this firmware", tflite::EnumNameBuiltinOperator(builtin));
        }
    }
    if (facts.edgetpu_operators > 0 && !has_edgetpu_) {
        return "it is compiled for the Edge TPU, which could not be opened: look at the serial console, and reset";
    }
    return nullptr;
}

const char *TflmEngine::build(const tflite::Model *model)
{
    message_.clear();
    interpreter_.emplace(model, resolver_, arena_.data, arena_.size, &message_);
    if (interpreter_->AllocateTensors() == kTfLiteOk) {
        return nullptr;
    }
    return refuse("AllocateTensors failed with an arena of %lu bytes: %s", (unsigned long)arena_.size,
                  message_.text()[0] == '\0' ? "the serial console says more" : message_.text());
}

const char *TflmEngine::read_tensors(ModelFacts &facts)
{
    input_ = interpreter_->input(0);
    output_ = interpreter_->output(0);
    size_t input_value_bytes, output_value_bytes;
    if (input_ == nullptr || output_ == nullptr ||
        !type_of(*input_, facts.input_type, input_value_bytes) ||
        !type_of(*output_, facts.output_type, output_value_bytes)) {
        return "its input or output is not of int8, uint8 or float32";
    }
    if (input_->dims->size < 1 || input_->dims->data[0] != 1) {
        return "its batch is not 1";
    }
    facts.input_bytes = (uint32_t)input_->bytes;
    facts.input_scale = input_->params.scale;
    facts.input_zero_point = input_->params.zero_point;
    facts.output_scale = output_->params.scale;
    facts.output_zero_point = output_->params.zero_point;
    facts.classes = (uint32_t)(output_->bytes / output_value_bytes);
    facts.arena_used = (uint32_t)interpreter_->arena_used_bytes();
    return nullptr;
}

const char *TflmEngine::load(Bytes model, Text sha256, ModelFacts &facts)
{
    flatbuffers::Verifier verifier(model.data, model.size);
    if (!tflite::VerifyModelBuffer(verifier)) {
        return "it is no .tflite: the flatbuffer is damaged or another file";
    }
    if (const char *reason = check(tflite::GetModel(model.data), facts)) {
        return reason;
    }
    const char *reason = nullptr;
    uint8_t *place = model_.data;
    for (size_t shift = 0; shift <= kShiftBytes && shift + model.size <= model_.size; shift += kShiftStep) {
        memmove(model_.data + shift, place, model.size);
        place = model_.data + shift;
        expect_packages_of(sha256);
        reason = build(tflite::GetModel(place));
        if (reason == nullptr) {
            return read_tensors(facts);
        }
        interpreter_.reset();
        if (!has_package_conflict()) {
            return are_packages_full() ? "too many models since the last reset: reset the board" : reason;
        }
    }
    return "no place is left for its Edge TPU package: reset the board";
}

void TflmEngine::unload()
{
    interpreter_.reset();
    input_ = nullptr;
    output_ = nullptr;
}

void *TflmEngine::input()
{
    return input_->data.data;
}

bool TflmEngine::invoke()
{
    return interpreter_->Invoke() == kTfLiteOk;
}

const void *TflmEngine::output()
{
    return output_->data.data;
}

} // namespace edgebench
