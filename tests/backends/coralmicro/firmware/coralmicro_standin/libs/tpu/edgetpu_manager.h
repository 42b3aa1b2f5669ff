/* Packages by their address, none ever forgotten. */
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace coralmicro {

class EdgeTpuManager {
public:
    static EdgeTpuManager *GetSingleton()
    {
        static EdgeTpuManager manager;
        return &manager;
    }

    /* The text that was at the address when it was first registered. */
    void *RegisterPackage(const char *content, size_t length)
    {
        return &packages_.emplace(content, std::string(content, length)).first->second;
    }

private:
    std::map<const void *, std::string> packages_;
};

} // namespace coralmicro
