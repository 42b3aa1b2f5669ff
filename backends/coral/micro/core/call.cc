#include "call.h"

namespace edgebench {
namespace {

constexpr size_t kMostIdCharacters = 64;

const Error kBadCall = {kNoCall, "expected one JSON-RPC 2.0 call with jsonrpc, id, method and params", {}, -1};

/* The id as it was written, quotes and all; false: none that an answer can carry back. */
bool take_id(const Json &id, Text &written)
{
    uint32_t number;
    if (id.kind == Kind::string && id.text.size() <= kMostIdCharacters) {
        written = Text(id.text.data() - 1, id.text.size() + 2);
        return true;
    }
    if (whole_number(id, number)) {
        written = id.text;
        return true;
    }
    return false;
}

/* coralmicro's convention: a list of one object. */
bool take_object(const Json &params, Json &object)
{
    Items items(params);
    Text name;
    Json second;
    return params.kind == Kind::list && items.next(name, object) && object.kind == Kind::object &&
           !items.next(name, second);
}

} // namespace

bool Params::read(const Json &object, Text &name)
{
    Items items(object);
    Json value;
    while (items.next(name, value)) {
        if (count_ == kMost || find(name).kind != Kind::absent) {
            return false;
        }
        members_[count_++] = {name, value};
    }
    return true;
}

Json Params::find(Text name) const
{
    for (size_t index = 0; index < count_; ++index) {
        if (members_[index].name == name) {
            return members_[index].value;
        }
    }
    return Json();
}

Text Params::stranger(std::initializer_list<Text> known) const
{
    for (size_t index = 0; index < count_; ++index) {
        bool is_known = false;
        for (const Text name : known) {
            is_known = is_known || members_[index].name == name;
        }
        if (!is_known) {
            return members_[index].name.empty() ? Text("\"\"") : members_[index].name;
        }
    }
    return Text();
}

Error read_call(Text body, Call &call)
{
    const Json root = parse_json(body);
    if (root.kind == Kind::absent) {
        return {kNoJson, "the body is no JSON", {}, -1};
    }
    Params members;
    Text name;
    if (root.kind != Kind::object || !members.read(root, name)) {
        return kBadCall;
    }
    const bool has_id = take_id(members.find("id"), call.id);
    const Json version = members.find("jsonrpc"), method = members.find("method"), params = members.find("params");
    if (!has_id || version.kind != Kind::string || version.text != "2.0" || method.kind != Kind::string ||
        !members.stranger({"jsonrpc", "id", "method", "params"}).empty()) {
        return kBadCall;
    }
    call.method = method.text;
    Json object;
    if (!take_object(params, object)) {
        return bad_param("params", "params has to be a list of one object");
    }
    if (!call.params.read(object, name)) {
        return bad_param(name, "given twice, or one parameter too many");
    }
    return {};
}

} // namespace edgebench
