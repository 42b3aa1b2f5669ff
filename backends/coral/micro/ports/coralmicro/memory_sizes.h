/*
 * What lies where in the board's 64 MB of SDRAM. coralmicro's linker script for the Cortex-M7
 * (libs/nxp/rt1176-sdk/MIMXRT1176xxxxx_cm7_ram.ld) gives
 *
 *   0x80000000   16 MB  heap
 *   0x81000000   32 MB  m_sdram: code of the second core, .sdram_data and .sdram_bss
 *   0x83000000   16 MB  the second core, a Cortex-M4
 *
 * so that 33,554,432 bytes are there for all of .sdram_bss. Of coralmicro itself the camera's frames (4 x 324 x 324) and
 * the Bluetooth patch (60,997) lie there: 480,901 at most. The firmware's:
 *
 *   scene      15,052,800   100 patches of 224 x 224 x 3: as many as the published measurements time
 *   images      4,816,896   32 such patches
 *   model       6,292,480   6 MB, and 64 places to shift it to (tflm_engine.h)
 *   arena       4,194,304   4 MB; MobileNet v1 0.5 without the Edge TPU took 653,024
 *   answer        262,144   a pass of 100 patches, up to 1,900 classes as bytes
 *   records       196,608   its stamps and scores before base64
 *   body           44,714   the longest that is taken
 *              30,859,946
 */
#ifndef EDGEBENCH_MEMORY_SIZES_H
#define EDGEBENCH_MEMORY_SIZES_H

#include "core/firmware.h"
#include "tflm_engine.h"

namespace edgebench {

constexpr size_t kPatchBytes = 224 * 224 * 3;
constexpr size_t kSceneBytes = 100 * kPatchBytes;
constexpr size_t kImagesBytes = 32 * kPatchBytes;
constexpr size_t kModelBytes = 6 * 1024 * 1024;
constexpr size_t kArenaBytes = 4 * 1024 * 1024;
constexpr size_t kAnswerBytes = 256 * 1024;
constexpr size_t kRecordBytes = 192 * 1024;

constexpr size_t kSdramBytes = 32 * 1024 * 1024;
constexpr size_t kOthersBytes = 4 * 324 * 324 + 60997;
static_assert(kSceneBytes + kImagesBytes + kModelBytes + TflmEngine::kShiftBytes + kArenaBytes + kAnswerBytes +
                      kRecordBytes + kMostBodyBytes + kOthersBytes <=
                  kSdramBytes,
              "more than coralmicro's linker script leaves in SDRAM");

} // namespace edgebench

#endif
