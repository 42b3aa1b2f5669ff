/* The firmware as an application of coralmicro. */
#include <cstdio>

#include "call_server.h"
#include "coral_micro_board.h"
#include "libs/base/led.h"
#include "libs/tensorflow/utils.h"
#include "libs/tpu/edgetpu_manager.h"
#include "memory_sizes.h"
#include "tflm_engine.h"

namespace edgebench {
namespace {

STATIC_TENSOR_ARENA_IN_SDRAM(scene_memory, kSceneBytes);
STATIC_TENSOR_ARENA_IN_SDRAM(images_memory, kImagesBytes);
STATIC_TENSOR_ARENA_IN_SDRAM(model_memory, kModelBytes + TflmEngine::kShiftBytes);
STATIC_TENSOR_ARENA_IN_SDRAM(arena_memory, kArenaBytes);
STATIC_TENSOR_ARENA_IN_SDRAM(answer_memory, kAnswerBytes);
STATIC_TENSOR_ARENA_IN_SDRAM(record_memory, kRecordBytes);
STATIC_TENSOR_ARENA_IN_SDRAM(body_memory, kMostBodyBytes);

#if EDGEBENCH_TPU_MAX
constexpr auto kMode = coralmicro::PerformanceMode::kMax;
constexpr char kTpu[] = "Edge TPU at 500 MHz";
#else
constexpr auto kMode = coralmicro::PerformanceMode::kHigh;
constexpr char kTpu[] = "Edge TPU at 250 MHz";
#endif

[[noreturn]] void start()
{
    /* As long as it lives the Edge TPU has power: here for ever. */
    static const auto edgetpu = coralmicro::EdgeTpuManager::GetSingleton()->OpenDevice(kMode);
    if (edgetpu == nullptr) {
        printf("The Edge TPU could not be opened.\r\n");
    }
    static CoralMicroBoard board(edgetpu == nullptr ? "" : kTpu);
    static TflmEngine engine({model_memory, sizeof model_memory}, {arena_memory, sizeof arena_memory}, edgetpu != nullptr);
    static Firmware firmware(board, engine,
                             {{model_memory, kModelBytes},
                              {scene_memory, sizeof scene_memory},
                              {images_memory, sizeof images_memory},
                              {record_memory, sizeof record_memory},
                              sizeof arena_memory});
    static CallServer server({body_memory, sizeof body_memory}, {answer_memory, sizeof answer_memory});
    coralmicro::UseHttpServer(&server);
    coralmicro::LedSet(coralmicro::Led::kStatus, true);
    printf("EdgeBench's firmware answers POST /jsonrpc.\r\n");
    server.serve(firmware);
}

} // namespace
} // namespace edgebench

extern "C" void app_main(void *)
{
    edgebench::start();
}
