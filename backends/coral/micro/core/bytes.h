/* Views of memory that somebody else owns. */
#ifndef EDGEBENCH_BYTES_H
#define EDGEBENCH_BYTES_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace edgebench {

using Text = std::string_view;

struct Bytes {
    const uint8_t *data;
    size_t size;
};

/* Bytes that may be written. */
struct Room {
    uint8_t *data;
    size_t size;
};

} // namespace edgebench

#endif
