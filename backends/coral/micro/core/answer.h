/* Writes JSON into memory that is given to it. What does not fit is left out and remembered. */
#ifndef EDGEBENCH_ANSWER_H
#define EDGEBENCH_ANSWER_H

#include "bytes.h"

namespace edgebench {

class Answer {
public:
    explicit Answer(Room room) : room_(room) {}

    size_t size() const { return used_; }
    size_t capacity() const { return room_.size; }
    bool has_overflown() const { return has_overflown_; }
    void clear();

    void put(Text text);
    void put_integer(int64_t number);

    /* Nine significant digits, which tell all floats apart; `null` for what JSON has no number for. */
    void put_float(float number);

    /* As a string of ASCII, quotes and all; what is none is a question mark. */
    void put_string(Text text);
    void put_base64(Bytes bytes);

private:
    char *take(size_t size); /* nullptr: it does not fit */

    Room room_;
    size_t used_ = 0;
    bool has_overflown_ = false;
};

} // namespace edgebench

#endif
