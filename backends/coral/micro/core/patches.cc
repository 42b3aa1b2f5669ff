#include "patches.h"

#include <cstring>

namespace edgebench {
namespace {

void preprocess(const uint8_t *pixels, size_t size, const PixelTable &table, uint8_t *to)
{
    const uint8_t *values = table.values;
    if (!table.is_by_channel) {
        for (size_t index = 0; index < size; ++index) {
            to[index] = values[pixels[index]];
        }
        return;
    }
    for (size_t index = 0; index < size; index += kChannels) { /* size is a multiple: `load` sees to it */
        to[index] = values[pixels[index]];
        to[index + 1] = values[kTableBytes + pixels[index + 1]];
        to[index + 2] = values[2 * kTableBytes + pixels[index + 2]];
    }
}

void write_little_endian(uint32_t number, uint8_t *to)
{
    for (unsigned byte = 0; byte < 4; ++byte) {
        to[byte] = (uint8_t)(number >> (8 * byte));
    }
}

} // namespace

size_t score_bytes(const ModelFacts &facts)
{
    return facts.classes * (facts.output_type == TensorType::float32 ? size_t{4} : size_t{1});
}

Pass pass_over(const uint8_t *pixels, uint32_t patches, const ModelFacts &facts, const PixelTable &table,
               Engine &engine, Board &board, uint8_t *stamps, uint8_t *scores)
{
    const size_t bytes_a_score = score_bytes(facts);
    Pass pass = {0, board.microseconds(), 0};
    for (; pass.patches_done < patches; ++pass.patches_done) {
        const uint32_t before_us = board.microseconds();
        preprocess(pixels, facts.input_bytes, table, static_cast<uint8_t *>(engine.input()));
        const uint32_t invoke_us = board.microseconds();
        const bool is_done = engine.invoke();
        const uint32_t done_us = board.microseconds();
        if (!is_done) {
            break;
        }
        if (stamps != nullptr) {
            write_little_endian(before_us, stamps);
            write_little_endian(invoke_us, stamps + 4);
            write_little_endian(done_us, stamps + 8);
            stamps += kStampBytes;
        }
        memcpy(scores, engine.output(), bytes_a_score);
        scores += bytes_a_score;
        pixels += facts.input_bytes;
    }
    pass.end_us = board.microseconds();
    return pass;
}

} // namespace edgebench
