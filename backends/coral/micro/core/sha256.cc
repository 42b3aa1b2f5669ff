#include "sha256.h"

#include <cstring>

namespace edgebench {
namespace {

constexpr size_t kChunkBytes = 64;
constexpr size_t kLengthBytes = 8; /* at the end of the last chunk */

/* Section 4.2.2: of the cube roots of the first 64 primes. */
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Section 5.3.3: of the square roots of the first 8 primes. */
constexpr uint32_t kStart[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

uint32_t rotated(uint32_t word, unsigned right)
{
    return word >> right | word << (32 - right);
}

uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

} // namespace

Sha256::Sha256()
{
    memcpy(state_, kStart, sizeof state_);
}

/* Section 6.2.2, with its letters. */
void Sha256::add_chunk(const uint8_t *chunk)
{
    uint32_t schedule[64];
    for (unsigned t = 0; t < 16; ++t) {
        schedule[t] = big_endian(chunk + 4 * t);
    }
    for (unsigned t = 16; t < 64; ++t) {
        const uint32_t early = schedule[t - 15], late = schedule[t - 2];
        const uint32_t sigma0 = rotated(early, 7) ^ rotated(early, 18) ^ early >> 3;
        const uint32_t sigma1 = rotated(late, 17) ^ rotated(late, 19) ^ late >> 10;
        schedule[t] = sigma1 + schedule[t - 7] + sigma0 + schedule[t - 16];
    }
    uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3];
    uint32_t e = state_[4], f = state_[5], g = state_[6], h = state_[7];
    for (unsigned t = 0; t < 64; ++t) {
        const uint32_t sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        const uint32_t choice = (e & f) ^ (~e & g);
        const uint32_t first = h + sum1 + choice + kRound[t] + schedule[t];
        const uint32_t sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + sum0 + majority;
    }
    const uint32_t added[8] = {a, b, c, d, e, f, g, h};
    for (unsigned word = 0; word < 8; ++word) {
        state_[word] += added[word];
    }
}

void Sha256::update(Bytes bytes)
{
    while (bytes.size > 0) {
        const size_t held = length_ % kChunkBytes;
        size_t taken = kChunkBytes;
        if (held == 0 && bytes.size >= kChunkBytes) {
            add_chunk(bytes.data);
        } else {
            taken = bytes.size < kChunkBytes - held ? bytes.size : kChunkBytes - held;
            memcpy(rest_ + held, bytes.data, taken);
            if (held + taken == kChunkBytes) {
                add_chunk(rest_);
            }
        }
        length_ += taken;
        bytes.data += taken;
        bytes.size -= taken;
    }
}

void Sha256::finish(char (&text)[kSha256TextBytes])
{
    const uint64_t bits = length_ * 8;
    static const uint8_t padding[kChunkBytes] = {0x80};
    const size_t held = length_ % kChunkBytes;
    const size_t end = held < kChunkBytes - kLengthBytes ? kChunkBytes : 2 * kChunkBytes;
    update({padding, end - kLengthBytes - held});
    uint8_t length[kLengthBytes];
    for (unsigned byte = 0; byte < kLengthBytes; ++byte) {
        length[byte] = (uint8_t)(bits >> (8 * (kLengthBytes - 1 - byte)));
    }
    update({length, sizeof length});
    for (unsigned digit = 0; digit < kSha256TextBytes; ++digit) {
        text[digit] = "0123456789abcdef"[state_[digit / 8] >> (28 - digit % 8 * 4) & 15];
    }
}

bool is_sha256(Text text)
{
    return text.size() == kSha256TextBytes && text.find_first_not_of("0123456789abcdef") == Text::npos;
}

} // namespace edgebench
