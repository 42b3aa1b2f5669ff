/* A Coral Dev Board Micro with coralmicro, as a board. */
#ifndef EDGEBENCH_CORAL_MICRO_BOARD_H
#define EDGEBENCH_CORAL_MICRO_BOARD_H

#include "core/board.h"

namespace edgebench {

class CoralMicroBoard final : public Board {
public:
    /* Sets the clock; `tpu` is what the Edge TPU was opened with, empty where it could not be, and outlives it. */
    explicit CoralMicroBoard(Text tpu);

    Identity identity() override;
    uint32_t microseconds() override;
    bool temperature_c(float &celsius) override;

private:
    Text tpu_;
    char cpu_[64];
};

} // namespace edgebench

#endif
