/* SHA-256 of FIPS 180-4, over bytes that come in pieces. */
#ifndef EDGEBENCH_SHA256_H
#define EDGEBENCH_SHA256_H

#include "bytes.h"

namespace edgebench {

constexpr size_t kSha256TextBytes = 64;

class Sha256 {
public:
    Sha256();
    void update(Bytes bytes);

    /* The hash of all bytes so far, as 64 lower-case hexadecimal digits; nothing may be added after it. */
    void finish(char (&text)[kSha256TextBytes]);

private:
    void add_chunk(const uint8_t *chunk);

    uint32_t state_[8];
    uint8_t rest_[64]; /* the beginning of a chunk that is not full yet */
    uint64_t length_ = 0;
};

/* Whether a text is a hash as `finish` writes it. */
bool is_sha256(Text text);

} // namespace edgebench

#endif
