#include "answer.h"

#include <cmath>
#include <cstring>

#include "base64.h"

namespace edgebench {

void Answer::clear()
{
    used_ = 0;
    has_overflown_ = false;
}

char *Answer::take(size_t size)
{
    has_overflown_ = has_overflown_ || size > room_.size - used_;
    if (has_overflown_) {
        return nullptr;
    }
    char *start = reinterpret_cast<char *>(room_.data) + used_;
    used_ += size;
    return start;
}

void Answer::put(Text text)
{
    if (char *to = take(text.size())) {
        memcpy(to, text.data(), text.size());
    }
}

void Answer::put_integer(int64_t number)
{
    char digits[20];
    size_t start = sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--start] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (number < 0) {
        digits[--start] = '-';
    }
    put(Text(digits + start, sizeof digits - start));
}

/* Without printf, which boards link without floats. In double the scaling errs by some 1e-15, nine digits by 5e-10. */
void Answer::put_float(float number)
{
    if (!std::isfinite(number)) {
        put("null");
        return;
    }
    double scaled = std::fabs((double)number);
    int exponent = 0;
    while (scaled >= 10) {
        scaled /= 10;
        ++exponent;
    }
    while (scaled > 0 && scaled < 1) {
        scaled *= 10;
        --exponent;
    }
    const uint32_t digits = (uint32_t)(scaled * 1e8 + 0.5); /* 10.0000000 at most: one digit more, still that value */
    if (number < 0) {
        put("-");
    }
    put_integer(digits / 100000000);
    put(".");
    for (uint32_t unit = 10000000; unit > 0; unit /= 10) {
        put_integer(digits / unit % 10);
    }
    if (exponent != 0) {
        put("e");
        put_integer(exponent);
    }
}

void Answer::put_string(Text text)
{
    put("\"");
    for (const char character : text) {
        if (character == '"' || character == '\\') {
            put("\\");
        }
        put(character >= ' ' && character < 0x7F ? Text(&character, 1) : Text("?"));
    }
    put("\"");
}

void Answer::put_base64(Bytes bytes)
{
    put("\"");
    if (char *to = take(base64_length(bytes.size))) {
        base64_encode(bytes, to);
    }
    put("\"");
}

} // namespace edgebench
