/* A JSON-RPC 2.0 call: its id, its method, and its parameters by name. */
#ifndef EDGEBENCH_CALL_H
#define EDGEBENCH_CALL_H

#include <initializer_list>

#include "json.h"

namespace edgebench {

enum ErrorCode : int32_t {
    kNone = 0,
    kNoJson = -32700,
    kNoCall = -32600,
    kNoMethod = -32601,
    kBadParams = -32602,
    kNotLoaded = -32001,
    kTooLarge = -32002,
    kHashDiffers = -32003,
    kModelRefused = -32004,
    kInvokeFailed = -32005,
};

/* Why a call has no result. `data` is a name or a number, by the code; the texts outlive the answer. */
struct Error {
    ErrorCode code = kNone;
    Text message;
    Text name; /* of the parameter, for kBadParams */
    int64_t number = -1; /* what fits, for kTooLarge; the patch, for kInvokeFailed */
};

inline Error bad_param(Text name, Text message)
{
    return {kBadParams, message, name, -1};
}

/* The parameters of one call: the members of its one object. */
class Params {
public:
    /* False: more members than any call has, or one of them twice; `name` is that one's. */
    bool read(const Json &object, Text &name);

    /* Absent where the call has none of that name. */
    Json find(Text name) const;

    /* A parameter that is none of these; empty: there is none. */
    Text stranger(std::initializer_list<Text> known) const;

private:
    static constexpr size_t kMost = 8;
    struct Member {
        Text name;
        Json value;
    };
    Member members_[kMost];
    size_t count_ = 0;
};

struct Call {
    Text id = "null"; /* as it was written: a whole number or a short string */
    Text method;
    Params params;
};

/* Reads a call; its id is set where it could be read, whatever else was wrong. */
Error read_call(Text body, Call &call);

} // namespace edgebench

#endif
