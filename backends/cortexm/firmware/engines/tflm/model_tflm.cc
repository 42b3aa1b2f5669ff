/*
 * TFLM (TensorFlow Lite Micro) behind model.h, by its public API alone: a MicroInterpreter over the model's .tflite,
 * which lies in flash, and a MicroMutableOpResolver with the operators that the model has. The build defines
 *   TFLM_MODEL_FILE   the .tflite, as a string
 *   TFLM_ENGINE       what is known of the library, as a string
 *   TFLM_ARENA_BYTES  of the tensors and of what TFLM keeps of the model
 *   TFLM_RESETS       optional: 1 where the model has variable tensors, which are reset before each inference
 *   TFLM_OPERATORS    OPERATOR(Conv2D) OPERATOR(Mean) ..., each the name of the resolver's method without Add
 */
#include <setjmp.h>
#include <string.h>

#include "tensorflow/lite/micro/debug_log.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"

#include "model.h"

#ifndef TFLM_RESETS
#define TFLM_RESETS 0
#endif
#define TEXT_OF(value) #value
#define NUMBER_TEXT(number) TEXT_OF(number)

/* A flatbuffer is read where it lies; TFLM asks for 16 bytes. */
__asm__(".pushsection .rodata.tflm_model,\"a\",%progbits\n"
        ".balign 16\n"
        ".global tflm_model\n"
        "tflm_model:\n"
        ".incbin \"" TFLM_MODEL_FILE "\"\n"
        ".balign 4\n"
        ".popsection\n");
extern "C" const uint8_t tflm_model[];

namespace {

#define OPERATOR(name) +1
constexpr unsigned kOperators = 0 TFLM_OPERATORS;
#undef OPERATOR

using Resolver = tflite::MicroMutableOpResolver<kOperators>;

alignas(16) uint8_t arena[TFLM_ARENA_BYTES];
tflite::MicroInterpreter *interpreter;
TfLiteTensor *input;
const TfLiteTensor *output;
/* TFLM aborts or halts where a check of its own fails, as with an arena of a few bytes: an answer, too. */
jmp_buf before_call;
volatile bool is_calling;
bool has_aborted;

struct model_facts facts = {TFLM_ENGINE, MODEL_INT8, MODEL_INT8, 1.0f, 0, 0, nullptr, TFLM_RESETS};

bool fail(const char *failure)
{
    facts.failure = failure;
    return false;
}

bool add_operators(Resolver &resolver)
{
#define OPERATOR(name) &&resolver.Add##name() == kTfLiteOk
    return true TFLM_OPERATORS;
#undef OPERATOR
}

/* False for a type that model.h does not have. */
bool type_of(const TfLiteTensor &tensor, model_type *type, uint32_t *width)
{
    *width = 1;
    switch (tensor.type) {
    case kTfLiteInt8:
        *type = MODEL_INT8;
        return true;
    case kTfLiteUInt8:
        *type = MODEL_UINT8;
        return true;
    case kTfLiteFloat32:
        *type = MODEL_FLOAT32;
        *width = 4;
        return true;
    default:
        return false;
    }
}

bool take_tensors()
{
    if (interpreter->inputs_size() != 1 || interpreter->outputs_size() != 1) {
        return fail("the model has not one input and one output");
    }
    input = interpreter->input(0);
    output = interpreter->output(0);
    if (input == nullptr || output == nullptr) {
        return fail("TFLM gives no tensor for the input or the output");
    }
    uint32_t input_width, output_width;
    if (!type_of(*input, &facts.input_type, &input_width) ||
        !type_of(*output, &facts.output_type, &output_width)) {
        return fail("input or output is not float32, int8 or uint8");
    }
    if (input->bytes != MODEL_INPUT_BYTES) {
        return fail("the model's input is not of " NUMBER_TEXT(MODEL_INPUT_BYTES) " bytes");
    }
    if (output->bytes != MODEL_SCORES * output_width) {
        return fail("the model's output is not of " NUMBER_TEXT(MODEL_SCORES) " scores");
    }
    facts.output_scale = output->params.scale;
    facts.output_zero_point = output->params.zero_point;
    return true;
}

bool start()
{
    const tflite::Model *model = tflite::GetModel(tflm_model);
    if (model->version() != TFLITE_SCHEMA_VERSION) {
        return fail("the model is no .tflite of the schema that TFLM reads");
    }
    static Resolver resolver;
    if (!add_operators(resolver)) {
        return fail("TFLM refuses an operator of the model");
    }
    static tflite::MicroInterpreter the_interpreter(model, resolver, arena, sizeof arena);
    interpreter = &the_interpreter;
    if (interpreter->AllocateTensors() != kTfLiteOk) {
        return fail("AllocateTensors failed with an arena of " NUMBER_TEXT(TFLM_ARENA_BYTES) " bytes");
    }
    facts.working_bytes = (uint32_t)interpreter->arena_used_bytes();
    return take_tensors();
}

bool invoke()
{
    if (TFLM_RESETS && interpreter->Reset() != kTfLiteOk) {
        return fail("Reset failed");
    }
    return interpreter->Invoke() == kTfLiteOk || fail("Invoke failed");
}

/* False where the function says so or TFLM aborts; once it has, its state is nothing to go on with. */
template <bool (*function)()> bool without_abort() /* a call that the call graph has */
{
    if (has_aborted) {
        return false;
    }
    if (setjmp(before_call) != 0) {
        is_calling = false;
        has_aborted = true;
        return fail("TFLM aborted, with an arena of " NUMBER_TEXT(TFLM_ARENA_BYTES) " bytes");
    }
    is_calling = true;
    const bool is_done = function();
    is_calling = false;
    return is_done;
}

} // namespace

extern "C" __attribute__((noreturn)) void abort(void)
{
    if (is_calling) {
        longjmp(before_call, 1);
    }
    for (;;) {
        __builtin_trap();
    }
}

/* TFLM's messages: there is nobody to read them, and printf would be half of the firmware. After the last of
 * these it goes round in circles for ever. */
extern "C" void DebugLog(const char *format, va_list)
{
    if (strcmp(format, "HALTED") == 0) {
        abort();
    }
}

extern "C" int DebugVsnprintf(char *text, size_t size, const char *, va_list)
{
    if (size > 0) {
        *text = '\0';
    }
    return 0;
}

bool model_start(void)
{
    return without_abort<start>();
}

const struct model_facts *model_facts(void)
{
    return &facts;
}

void *model_input(void)
{
    return input->data.data;
}

bool model_invoke(void)
{
    return without_abort<invoke>();
}

const void *model_output(void)
{
    return output->data.data;
}
