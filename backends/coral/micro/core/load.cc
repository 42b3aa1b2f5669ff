/* The method `load`: content in pieces, named by its hash; what is there is not sent again. */
#include <cmath>

#include "base64.h"
#include "firmware.h"

namespace edgebench {
namespace {

/* A table of 256 or 3 x 256 bytes. */
bool read_table(const Json &json, PixelTable &table)
{
    size_t size = 0;
    if (json.kind != Kind::string || !base64_size(json.text, size) ||
        (size != kTableBytes && size != kChannels * kTableBytes)) {
        return false;
    }
    table.is_by_channel = size != kTableBytes;
    return base64_decode(json.text, table.values);
}

bool is_scale(float scale)
{
    return std::isfinite(scale) && scale > 0;
}

} // namespace

Block *Firmware::find_block(const Json &name)
{
    const Text text = name.kind == Kind::string ? name.text : Text();
    return text == "model" ? &model_ : text == "scene" ? &scene_ : text == "images" ? &images_ : nullptr;
}

Error Firmware::load(const Params &params, Answer &answer)
{
    Block *block = find_block(params.find("block"));
    if (block == nullptr) {
        return bad_param("block", "expected model, scene or images");
    }
    const Json sha256 = params.find("sha256");
    if (sha256.kind != Kind::string || !is_sha256(sha256.text)) {
        return bad_param("sha256", "expected 64 lower-case hexadecimal digits");
    }
    const bool is_piece = params.find("offset").kind != Kind::absent || params.find("data").kind != Kind::absent;
    const Error error = is_piece ? take_piece(*block, sha256.text, params) : begin(*block, sha256.text, params);
    answer.put("\"held\":");
    answer.put_integer((int64_t)block->held());
    return error;
}

Error Firmware::begin(Block &block, Text sha256, const Params &params)
{
    const bool is_model = &block == &model_;
    const Text stranger = is_model ? params.stranger({"block", "sha256", "size", "table"})
                                   : params.stranger({"block", "sha256", "size"});
    if (!stranger.empty()) {
        return bad_param(stranger, "no parameter of a load that begins");
    }
    uint32_t size;
    if (!whole_number(params.find("size"), size) || size == 0) {
        return bad_param("size", "expected a whole number of bytes, 1 or more");
    }
    if (size > block.room()) {
        return {kTooLarge, "the block is larger than the board's memory for it", {}, (int64_t)block.room()};
    }
    const bool is_there = block.is(sha256, size);
    if (is_model) {
        PixelTable table;
        if (!read_table(params.find("table"), table)) {
            return bad_param("table", "expected base64 of 256 or 768 bytes");
        }
        if (is_there && block.is_whole() && table.is_by_channel && facts_.input_bytes % kChannels != 0) {
            return bad_param("table", "the model's input has not 3 channels");
        }
        table_ = table;
    }
    if (!is_there) {
        if (is_model) {
            engine_.unload();
        }
        block.begin(sha256, size);
    }
    return {};
}

Error Firmware::take_piece(Block &block, Text sha256, const Params &params)
{
    const Text stranger = params.stranger({"block", "sha256", "offset", "data"});
    if (!stranger.empty()) {
        return bad_param(stranger, "no parameter of a piece");
    }
    if (sha256 != block.sha256()) {
        return bad_param("sha256", "no load of this hash has begun");
    }
    const Json data = params.find("data");
    size_t size;
    if (data.kind != Kind::string || !base64_size(data.text, size) || size == 0) {
        return bad_param("data", "expected base64 of one byte or more");
    }
    if (size > kPieceBytes) {
        return {kTooLarge, "the piece is too long", {}, (int64_t)kPieceBytes};
    }
    uint32_t offset;
    if (!whole_number(params.find("offset"), offset)) {
        return bad_param("offset", "expected a whole number of bytes");
    }
    if (uint64_t{offset} + size <= block.held()) {
        return {}; /* it is there: the answer to it was lost */
    }
    if (offset != block.held()) {
        return bad_param("offset", "a piece begins where the one before it ends");
    }
    if (size > block.size() - offset) {
        return bad_param("data", "the piece goes beyond the size that was said");
    }
    if (!base64_decode(data.text, block.next())) { /* nothing of it counts before `append` */
        return bad_param("data", "no base64");
    }
    block.append(size);
    return block.is_whole() ? finish(block) : Error();
}

Error Firmware::finish(Block &block)
{
    if (!block.verify()) {
        block.drop();
        return {kHashDiffers, "the bytes have another SHA-256 than was said", {}, -1};
    }
    if (&block != &model_) {
        return {};
    }
    const char *reason = make_ready();
    if (reason != nullptr) {
        engine_.unload();
        block.drop();
        return {kModelRefused, reason, {}, -1};
    }
    return {};
}

const char *Firmware::make_ready()
{
    const char *reason = engine_.load(model_.bytes(), model_.sha256(), facts_);
    if (reason != nullptr) {
        return reason;
    }
    if (facts_.input_type == TensorType::float32) {
        return "the model's input is not of int8 or uint8";
    }
    if (facts_.input_bytes == 0 || facts_.classes == 0) {
        return "the model's input or output is empty";
    }
    const bool has_output_scale = facts_.output_type == TensorType::float32 || is_scale(facts_.output_scale);
    if (!is_scale(facts_.input_scale) || !has_output_scale) {
        return "the model's input or output has no scale";
    }
    if (table_.is_by_channel && facts_.input_bytes % kChannels != 0) {
        return "the table is one for 3 channels, the model's input has not 3";
    }
    return nullptr;
}

} // namespace edgebench
