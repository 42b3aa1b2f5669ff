/*
 * A stand-in for TFLM's library: scores are the mean brightnesses of the input's fifths. The build defines
 * STANDIN_INPUT_BYTES; on this machine the environment's TFLM_STANDIN names what fails.
 */
#include <stdlib.h>
#include <string.h>

#include "tensorflow/lite/micro/debug_log.h"
#include "tensorflow/lite/micro/micro_interpreter.h"

namespace {

constexpr unsigned kScores = 5;

bool fails(const char *where)
{
#if defined(__arm__)
    (void)where;
    return false;
#else
    const char *failure = getenv("TFLM_STANDIN");
    return failure != nullptr && strcmp(failure, where) == 0;
#endif
}

void log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    DebugLog(format, arguments);
    char text[8];
    DebugVsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
}

/* Right only where constructors are run before main. */
struct ZeroPoint {
    ZeroPoint() : value(-128) {}
    volatile int value;
} zero_point;

} // namespace

namespace tflite {

uint32_t Model::version() const
{
    return memcmp(bytes() + 4, "TFL3", 4) == 0 && !fails("schema") ? 3 : 0;
}

MicroInterpreter::MicroInterpreter(const Model *model, const MicroOpResolver &op_resolver, uint8_t *tensor_arena,
                                   size_t tensor_arena_size)
    : model_(model), op_resolver_(op_resolver), arena_(tensor_arena), arena_size_(tensor_arena_size)
{
}

MicroInterpreter::~MicroInterpreter() {}

TfLiteStatus MicroInterpreter::AllocateTensors()
{
    const bool is_aligned = ((uintptr_t)model_ | (uintptr_t)arena_) % 16 == 0;
    if (fails("abort")) {
        abort();
    }
    if (fails("halt")) {
        log("HALTED");
        for (;;) {
        }
    }
    if (!is_aligned || op_resolver_.size() == 0 || arena_used_bytes() > arena_size_ ||
        fails("arena")) {
        log("the arena has %u bytes", (unsigned)arena_size_);
        return kTfLiteError;
    }
    input_.type = fails("input type") ? kTfLiteInt32 : kTfLiteInt8;
    input_.data.data = arena_;
    input_.bytes = STANDIN_INPUT_BYTES - (fails("input size") ? 1 : 0);
    output_.type = kTfLiteInt8;
    output_.data.data = arena_ + STANDIN_INPUT_BYTES;
    output_.bytes = kScores + (fails("output size") ? 1 : 0);
    output_.params.scale = 1.0f / 256;
    output_.params.zero_point = zero_point.value;
    return kTfLiteOk;
}

TfLiteStatus MicroInterpreter::Invoke()
{
    if (fails("abort in invoke")) {
        abort();
    }
    if (fails("invoke")) {
        return kTfLiteError;
    }
    const int32_t part = STANDIN_INPUT_BYTES / kScores;
    for (unsigned index = 0; index < kScores; ++index) {
        int32_t sum = 0;
        for (int32_t byte = 0; byte < part; ++byte) {
            sum += input_.data.int8[index * part + byte] + 128;
        }
        output_.data.int8[index] = (int8_t)(sum / part - 128);
    }
    memset(arena_, 0, STANDIN_INPUT_BYTES); /* as TFLM, which reuses its input's memory */
    return kTfLiteOk;
}

TfLiteStatus MicroInterpreter::Reset()
{
    return fails("reset") ? kTfLiteError : kTfLiteOk;
}

size_t MicroInterpreter::inputs_size() const
{
    return fails("inputs") ? 2 : 1;
}

TfLiteTensor *MicroInterpreter::input(size_t)
{
    return &input_;
}

TfLiteTensor *MicroInterpreter::output(size_t)
{
    return &output_;
}

size_t MicroInterpreter::arena_used_bytes() const
{
    return STANDIN_INPUT_BYTES + kScores;
}

} // namespace tflite
