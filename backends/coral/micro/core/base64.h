/* Base64 of RFC 4648, section 4: with padding, without line breaks. */
#ifndef EDGEBENCH_BASE64_H
#define EDGEBENCH_BASE64_H

#include "bytes.h"

namespace edgebench {

constexpr size_t base64_length(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

/* How many bytes a text stands for, by its length and padding alone; false: base64 has no text of that length. */
bool base64_size(Text text, size_t &size);

/* Writes base64_size bytes to `to`; false: a character or padding that base64 does not have, or bits left over. */
bool base64_decode(Text text, uint8_t *to);

/* Writes base64_length characters to `to`. */
void base64_encode(Bytes bytes, char *to);

} // namespace edgebench

#endif
