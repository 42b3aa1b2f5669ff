#include "text.h"

#include <string.h>

#include "port.h"

void put(const char *text)
{
    port_write(text, strlen(text));
}

void put_line(const char *text)
{
    put(text);
    put("\r\n");
}

static void put_digits(uint64_t value, unsigned least)
{
    char digits[20];
    unsigned start = sizeof digits;
    do {
        digits[--start] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0 || sizeof digits - start < least);
    port_write(digits + start, sizeof digits - start);
}

void put_unsigned(uint32_t value)
{
    put_digits(value, 1);
}

void put_hex_byte(uint8_t value)
{
    static const char digit[] = "0123456789abcdef";
    const char pair[2] = {digit[value >> 4], digit[value & 15]};
    port_write(pair, sizeof pair);
}

void put_quoted(const char *word)
{
    for (; *word != '\0'; ++word) {
        const bool shown = *word > ' ' && *word < 0x7F && *word != '[' && *word != ']';
        port_write(shown ? word : "?", 1);
    }
}

/* value * 2^exponent, rounded to the nearest integer, ties to even; value < 2^34. */
static uint64_t scaled(uint64_t value, int exponent)
{
    if (exponent >= 0) {
        return value << exponent;
    }
    const unsigned shift = (unsigned)-exponent;
    if (shift > 35) {
        return 0;
    }
    const uint64_t whole = value >> shift;
    const uint64_t rest = value & (((uint64_t)1 << shift) - 1);
    const uint64_t half = (uint64_t)1 << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

void put_score(float value)
{
    /* In integers: exact, and no double arithmetic for boards that lack it. */
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 23 & 0xFF);
    const uint32_t fraction = bits & 0x7FFFFF;
    if (exponent == 0xFF && fraction != 0) {
        put("nan");
        return;
    }
    if (bits >> 31) {
        put("-");
    }
    const uint32_t significand = exponent == 0 ? fraction : fraction | 0x800000;
    const int power = (exponent == 0 ? 1 : exponent) - 150;
    if (power > 29) { /* infinity, and what 64 bits of thousandths do not hold */
        put("inf");
        return;
    }
    const uint64_t thousandths = scaled((uint64_t)significand * 1000, power);
    put_digits(thousandths / 1000, 1);
    put(".");
    put_digits(thousandths % 1000, 3);
}
