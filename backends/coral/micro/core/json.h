/*
 * Reads JSON (RFC 8259) where it lies, as far as calls need it. Two limits are its own: values are nested
 * kJsonDepth deep at most, and strings are ASCII (others can be written with \u). Strings are not unescaped.
 */
#ifndef EDGEBENCH_JSON_H
#define EDGEBENCH_JSON_H

#include "bytes.h"

namespace edgebench {

constexpr unsigned kJsonDepth = 6;

enum class Kind : uint8_t { absent, null, boolean, number, string, list, object };

struct Json {
    Kind kind = Kind::absent;
    Text text; /* as it was written; a string without its quotes */
};

/* The one value of a text; absent where the text is no JSON. */
Json parse_json(Text text);

/* The values of a list or the members of an object that parse_json gave; nothing for other kinds. */
class Items {
public:
    explicit Items(const Json &of);

    /* False after the last; names of a list's values are empty. */
    bool next(Text &name, Json &value);

private:
    Text rest_;
    bool has_names_;
};

/* A number that is written as digits alone and fits into 32 bits. */
bool whole_number(const Json &json, uint32_t &number);

} // namespace edgebench

#endif
