/* The method `describe`: who answers, what fits, what is there, and a stamp of the clock. */
#include "firmware.h"

namespace edgebench {
namespace {

Text name_of(TensorType type)
{
    return type == TensorType::int8 ? "int8" : type == TensorType::uint8 ? "uint8" : "float32";
}

/* The members of an object; the first has no comma before it. */
class Members {
public:
    explicit Members(Answer &answer) : answer_(answer) {}

    Answer &name(Text name)
    {
        answer_.put(is_first_ ? "\"" : ",\"");
        answer_.put(name);
        answer_.put("\":");
        is_first_ = false;
        return answer_;
    }

    void text(Text name, Text value) { this->name(name).put_string(value); }

    void integer(Text name, int64_t value) { this->name(name).put_integer(value); }

    void content(Text name, const Block &block)
    {
        if (block.is_whole()) {
            text(name, block.sha256());
        } else {
            this->name(name).put("null");
        }
    }

private:
    Answer &answer_;
    bool is_first_ = true;
};

} // namespace

void Firmware::put_model(Answer &answer)
{
    if (!model_.is_whole()) {
        answer.put("null");
        return;
    }
    answer.put("{");
    Members members(answer);
    members.text("sha256", model_.sha256());
    members.integer("input_bytes", facts_.input_bytes);
    members.text("input_type", name_of(facts_.input_type));
    members.name("input_scale").put_float(facts_.input_scale);
    members.integer("input_zero_point", facts_.input_zero_point);
    members.text("output_type", name_of(facts_.output_type));
    members.name("output_scale").put_float(facts_.output_scale);
    members.integer("output_zero_point", facts_.output_zero_point);
    members.integer("classes", facts_.classes);
    members.integer("arena_used", facts_.arena_used);
    members.integer("edgetpu", facts_.edgetpu_operators);
    answer.put("}");
}

Error Firmware::describe(const Params &params, Answer &answer)
{
    const uint32_t now_us = board_.microseconds();
    const Text stranger = params.stranger({});
    if (!stranger.empty()) {
        return bad_param(stranger, "describe takes no parameters");
    }
    const Identity identity = board_.identity();
    Members members(answer);
    members.text("firmware", "edgebench-coral-micro");
    members.text("version", "1.0");
    members.integer("protocol", 1);
    members.text("board", identity.board);
    members.text("cpu", identity.cpu);
    members.text("runtime", identity.runtime);
    members.text("runtime_version", identity.runtime_version);
    members.text("tpu", identity.tpu);
    members.text("times", "pass");
    members.integer("clock_bits", 32);
    members.integer("us", now_us);
    members.integer("piece_bytes", kPieceBytes);
    members.integer("model_bytes", (int64_t)model_.room());
    members.integer("arena_bytes", (int64_t)arena_bytes_);
    members.integer("scene_bytes", (int64_t)scene_.room());
    members.integer("images_bytes", (int64_t)images_.room());
    put_model(members.name("model"));
    members.content("scene", scene_);
    members.content("images", images_);
    float celsius;
    if (board_.temperature_c(celsius)) {
        members.name("temperature_c").put_float(celsius);
    } else {
        members.name("temperature_c").put("null");
    }
    return {};
}

} // namespace edgebench
