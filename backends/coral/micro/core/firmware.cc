#include "firmware.h"

namespace edgebench {
namespace {

constexpr size_t kMostNameCharacters = 64; /* of a host's word that an error carries back */
constexpr size_t kMostMessageCharacters = 500;

void put_error(const Call &call, const Error &error, Answer &answer)
{
    answer.clear();
    answer.put("{\"jsonrpc\":\"2.0\",\"id\":");
    answer.put(call.id);
    answer.put(",\"error\":{\"code\":");
    answer.put_integer(error.code);
    answer.put(",\"message\":");
    answer.put_string(error.message.substr(0, kMostMessageCharacters));
    if (!error.name.empty()) {
        answer.put(",\"data\":");
        answer.put_string(error.name.substr(0, kMostNameCharacters));
    } else if (error.number >= 0) {
        answer.put(",\"data\":");
        answer.put_integer(error.number);
    }
    answer.put("}}");
}

} // namespace

Firmware::Firmware(Board &board, Engine &engine, const Memory &memory)
    : board_(board), engine_(engine), model_(memory.model), scene_(memory.scene), images_(memory.images),
      records_(memory.records), arena_bytes_(memory.arena_bytes)
{
}

Error Firmware::dispatch(const Call &call, Answer &answer)
{
    if (call.method == "describe") {
        return describe(call.params, answer);
    }
    if (call.method == "load") {
        return load(call.params, answer);
    }
    if (call.method == "run") {
        return run(call.params, answer);
    }
    if (call.method == "predict") {
        return predict(call.params, answer);
    }
    return {kNoMethod, "expected describe, load, run or predict", {}, -1};
}

size_t Firmware::handle(Text body, Room room)
{
    Answer answer(room);
    Call call;
    Error error = read_call(body, call);
    if (error.code == kNone) {
        answer.put("{\"jsonrpc\":\"2.0\",\"id\":");
        answer.put(call.id);
        answer.put(",\"result\":{");
        error = dispatch(call, answer);
        answer.put("}}");
    }
    if (error.code == kNone && answer.has_overflown()) {
        error = {kTooLarge, "the answer does not fit into the board's memory for it", {}, (int64_t)room.size};
    }
    if (error.code != kNone) {
        put_error(call, error, answer);
    }
    return answer.size();
}

} // namespace edgebench
