/* What a board does for the firmware. */
#ifndef EDGEBENCH_BOARD_H
#define EDGEBENCH_BOARD_H

#include "bytes.h"

namespace edgebench {

struct Identity {
    Text board;
    Text cpu;
    Text runtime;
    Text runtime_version; /* empty where it is not known */
    Text tpu; /* with the clock that it was opened with */
};

class Board {
public:
    virtual Identity identity() = 0;

    /* A clock that runs through: it wraps at 2^32 and nowhere else. */
    virtual uint32_t microseconds() = 0;

    /* Of the Edge TPU; false where it cannot be read. */
    virtual bool temperature_c(float &celsius) = 0;

protected:
    ~Board() = default;
};

} // namespace edgebench

#endif
