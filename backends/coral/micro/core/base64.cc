#include "base64.h"

namespace edgebench {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0 to 63; 64: no digit. */
uint32_t digit(char character)
{
    if (character >= 'A' && character <= 'Z') {
        return (uint32_t)(character - 'A');
    }
    if (character >= 'a' && character <= 'z') {
        return (uint32_t)(character - 'a') + 26;
    }
    if (character >= '0' && character <= '9') {
        return (uint32_t)(character - '0') + 52;
    }
    return character == '+' ? 62 : character == '/' ? 63 : 64;
}

size_t padding_of(Text text)
{
    size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') {
        ++padding;
    }
    return padding;
}

} // namespace

bool base64_size(Text text, size_t &size)
{
    size = text.size() / 4 * 3 - padding_of(text);
    return text.size() % 4 == 0;
}

bool base64_decode(Text text, uint8_t *to)
{
    const size_t digits = text.size() - padding_of(text);
    uint32_t bits = 0, held = 0; /* the lowest `held` of `bits` are not written yet */
    for (size_t index = 0; index < digits; ++index) {
        const uint32_t value = digit(text[index]);
        if (value > 63) {
            return false;
        }
        bits = bits << 6 | value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *to++ = (uint8_t)(bits >> held);
        }
    }
    return text.size() % 4 == 0 && (bits & ((1u << held) - 1)) == 0;
}

void base64_encode(Bytes bytes, char *to)
{
    for (size_t index = 0; index < bytes.size; index += 3) {
        const size_t left = bytes.size - index;
        const uint32_t second = left > 1 ? bytes.data[index + 1] : 0;
        const uint32_t third = left > 2 ? bytes.data[index + 2] : 0;
        const uint32_t bits = (uint32_t)bytes.data[index] << 16 | second << 8 | third;
        *to++ = kDigits[bits >> 18];
        *to++ = kDigits[bits >> 12 & 63];
        *to++ = left > 1 ? kDigits[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? kDigits[bits & 63] : '=';
    }
}

} // namespace edgebench
