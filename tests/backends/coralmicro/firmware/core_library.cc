/*
 * The firmware's core for a program that lends it an engine by functions: real clock, memory of the sizes that it names.
 * An identity as a board with coralmicro tells it.
 */
#include <chrono>
#include <memory>

#include "firmware.h"

namespace {

using namespace edgebench;

extern "C" {

struct CoreFacts {
    uint32_t input_bytes;
    uint32_t input_type;
    uint32_t output_type;
    uint32_t classes;
    uint32_t edgetpu_operators;
    int32_t input_zero_point;
    int32_t output_zero_point;
    float input_scale;
    float output_scale;
};

struct CoreEngine {
    /* 0, and the reason as text with its terminating zero: the model is refused. */
    int (*load)(const uint8_t *model, size_t size, CoreFacts *facts, char *reason, size_t reason_bytes);
    void (*unload)();
    void *(*input)();
    int (*invoke)();
    const void *(*output)();
};

} // extern "C"

class LentEngine final : public Engine {
public:
    explicit LentEngine(const CoreEngine &functions) : functions_(functions) {}

    const char *load(Bytes model, Text, ModelFacts &facts) override
    {
        CoreFacts told = {};
        if (functions_.load(model.data, model.size, &told, reason_, sizeof reason_) == 0) {
            return reason_;
        }
        facts = {told.input_bytes, (TensorType)told.input_type, told.input_scale, told.input_zero_point,
                 (TensorType)told.output_type, told.output_scale, told.output_zero_point, told.classes, 1000,
                 told.edgetpu_operators};
        return nullptr;
    }

    void unload() override { functions_.unload(); }

    void *input() override { return functions_.input(); }

    bool invoke() override { return functions_.invoke() != 0; }

    const void *output() override { return functions_.output(); }

private:
    CoreEngine functions_;
    char reason_[300] = "";
};

class LibraryBoard final : public Board {
public:
    explicit LibraryBoard(uint32_t start_us) : start_us_(start_us) {}

    Identity identity() override
    {
        return {"Coral Dev Board Micro", "NXP i.MX RT1176 Cortex-M7 at 800 MHz", "tflite-micro", "",
                "Edge TPU at 250 MHz"};
    }

    uint32_t microseconds() override
    {
        const auto passed = std::chrono::steady_clock::now() - boot_;
        return start_us_ + (uint32_t)std::chrono::duration_cast<std::chrono::microseconds>(passed).count();
    }

    bool temperature_c(float &) override { return false; }

private:
    uint32_t start_us_;
    std::chrono::steady_clock::time_point boot_ = std::chrono::steady_clock::now();
};

struct Core {
    Core(const CoreEngine &functions, const size_t (&sizes)[4], uint32_t start_us)
        : board(start_us), engine(functions),
          firmware(board, engine, {room(0, sizes), room(1, sizes), room(2, sizes), room(3, sizes), 1 << 20})
    {
    }

    Room room(int index, const size_t (&sizes)[4])
    {
        places[index].reset(new uint8_t[sizes[index]]);
        return {places[index].get(), sizes[index]};
    }

    std::unique_ptr<uint8_t[]> places[4];
    LibraryBoard board;
    LentEngine engine;
    Firmware firmware;
};

} // namespace

extern "C" {

void *core_create(const CoreEngine *functions, size_t model, size_t scene, size_t images, size_t records,
                  uint32_t start_us)
{
    return new Core(*functions, {model, scene, images, records}, start_us);
}

size_t core_handle(void *core, const char *body, size_t size, uint8_t *answer, size_t room)
{
    return static_cast<Core *>(core)->firmware.handle(Text(body, size), {answer, room});
}

void core_destroy(void *core)
{
    delete static_cast<Core *>(core);
}

} // extern "C"
