#pragma once

namespace coralmicro {

enum class Led { kStatus, kUser };

inline bool LedSet(Led, bool)
{
    return true;
}

} // namespace coralmicro
