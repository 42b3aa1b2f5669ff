/*
 * The firmware's core with an engine that needs no network: on standard input bodies, on standard output answers, each
 * after its size as 32 bits, little-endian. Arguments: bytes of model, scene, images, records and answer; start of the
 * clock in microseconds, which goes on by 7 at each look.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "firmware.h"
#include "mean_engine.h"

namespace {

using namespace edgebench;

class ProgramBoard final : public Board {
public:
    explicit ProgramBoard(uint32_t now_us) : now_us_(now_us) {}

    Identity identity() override
    {
        return {"a program", "\"this\" machine", "mean", "", "none\n"};
    }

    uint32_t microseconds() override
    {
        now_us_ += 7;
        return now_us_;
    }

    bool temperature_c(float &celsius) override
    {
        celsius = 36.6f;
        return true;
    }

private:
    uint32_t now_us_;
};

bool read_exactly(void *to, size_t size)
{
    return fread(to, 1, size, stdin) == size;
}

/* Of exactly that size, so that AddressSanitizer sees a byte too far. */
std::unique_ptr<uint8_t[]> allocate(size_t size)
{
    return std::unique_ptr<uint8_t[]>(new uint8_t[size]);
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 7) {
        return 2;
    }
    size_t sizes[5];
    std::unique_ptr<uint8_t[]> places[5];
    for (int index = 0; index < 5; ++index) {
        sizes[index] = strtoul(arguments[index + 1], nullptr, 10);
        places[index] = allocate(sizes[index]);
    }
    const auto room = [&](int index) { return Room{places[index].get(), sizes[index]}; };
    ProgramBoard board((uint32_t)strtoul(arguments[6], nullptr, 10));
    MeanEngine engine;
    Firmware firmware(board, engine, {room(0), room(1), room(2), room(3), 4096});
    uint32_t size;
    while (read_exactly(&size, sizeof size)) {
        const auto body = allocate(size);
        if (!read_exactly(body.get(), size)) {
            return 3;
        }
        const uint32_t answered =
            (uint32_t)firmware.handle(Text(reinterpret_cast<const char *>(body.get()), size), room(4));
        fwrite(&answered, sizeof answered, 1, stdout);
        fwrite(places[4].get(), 1, answered, stdout);
        fflush(stdout);
    }
    return 0;
}
