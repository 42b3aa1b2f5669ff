#include "coral_micro_board.h"

#include <cstdio>

#include "libs/base/timer.h"
#include "libs/tpu/edgetpu_manager.h"
#include "third_party/nxp/rt1176-sdk/devices/MIMXRT1176/drivers/fsl_clock.h"
#include "third_party/nxp/rt1176-sdk/devices/MIMXRT1176/drivers/fsl_gpt.h"

namespace edgebench {
namespace {

/*
 * coralmicro counts microseconds by GPT1 and runs it from the chip's RC oscillator, which is off by up to a percent or
 * so. The crystal has the same 24 MHz, so that the divider stays; the count goes on where it stood.
 */
void run_clock_from_crystal()
{
    clock_root_config_t root = {};
    root.mux = kCLOCK_GPT1_ClockRoot_MuxOsc24MOut;
    root.div = 1;
    GPT_StopTimer(GPT1);
    CLOCK_SetRootClock(kCLOCK_Root_Gpt1, &root);
    GPT_StartTimer(GPT1);
}

} // namespace

CoralMicroBoard::CoralMicroBoard(Text tpu) : tpu_(tpu)
{
    run_clock_from_crystal();
    snprintf(cpu_, sizeof cpu_, "NXP i.MX RT1176 Cortex-M7 at %lu MHz",
             (unsigned long)(CLOCK_GetRootClockFreq(kCLOCK_Root_M7) / 1000000));
}

Identity CoralMicroBoard::identity()
{
    return {"Coral Dev Board Micro", cpu_, "tflite-micro", EDGEBENCH_TFLM_VERSION, tpu_};
}

/* The lower half of coralmicro's: its upper one is counted by an interrupt. */
uint32_t CoralMicroBoard::microseconds()
{
    return (uint32_t)coralmicro::TimerMicros();
}

bool CoralMicroBoard::temperature_c(float &celsius)
{
    const std::optional<float> read = coralmicro::EdgeTpuManager::GetSingleton()->GetTemperature();
    celsius = read.value_or(0);
    return read.has_value();
}

} // namespace edgebench
