/* Passes over patches: preprocessing by a table, inference, stamps and scores. */
#ifndef EDGEBENCH_PATCHES_H
#define EDGEBENCH_PATCHES_H

#include "board.h"
#include "engine.h"

namespace edgebench {

constexpr size_t kChannels = 3;
constexpr size_t kTableBytes = 256;
constexpr size_t kStampBytes = 3 * 4; /* of one patch: before preprocessing, before and after invoke */

/* What each value of a pixel becomes in the input's type: one table for all channels, or one each for R, G and B. */
struct PixelTable {
    uint8_t values[kChannels * kTableBytes];
    bool is_by_channel;
};

size_t score_bytes(const ModelFacts &facts); /* of one patch */

struct Pass {
    uint32_t patches_done; /* fewer than were asked for: that patch's invoke failed */
    uint32_t start_us;
    uint32_t end_us;
};

/*
 * The first `patches` patches, one after another. `stamps` takes kStampBytes a patch, little-endian, or is nullptr;
 * `scores` takes score_bytes a patch.
 */
Pass pass_over(const uint8_t *pixels, uint32_t patches, const ModelFacts &facts, const PixelTable &table,
               Engine &engine, Board &board, uint8_t *stamps, uint8_t *scores);

} // namespace edgebench

#endif
