/* The methods `run`, timed passes over the scene, and `predict`, scores of other images. */
#include "base64.h"
#include "firmware.h"

namespace edgebench {
namespace {

constexpr size_t kWordsBytes = 400; /* of an answer: all that is neither stamps nor scores */

/* How many characters of base64 a patch takes at most, were it written alone. */
size_t characters(size_t bytes_a_patch)
{
    return (bytes_a_patch * 4 + 2) / 3;
}

Error invoke_failed(const Pass &pass)
{
    return {kInvokeFailed, "Invoke failed at the patch that data counts, from 0", {}, pass.patches_done};
}

} // namespace

Error Firmware::take_count(const Params &params, const Block &block, size_t stamp_bytes, size_t answer_bytes,
                           uint32_t &n)
{
    const Text stranger = params.stranger({"n"});
    if (!stranger.empty()) {
        return bad_param(stranger, "n is the one parameter");
    }
    if (!whole_number(params.find("n"), n) || n == 0) {
        return bad_param("n", "expected a whole number of patches, 1 or more");
    }
    if (!model_.is_whole()) {
        return {kNotLoaded, "no model is loaded", {}, -1};
    }
    if (!block.is_whole()) {
        return {kNotLoaded, &block == &scene_ ? "no scene is loaded" : "no images are loaded", {}, -1};
    }
    const size_t score = score_bytes(facts_);
    size_t most = block.size() / facts_.input_bytes;
    most = most < records_.size / (stamp_bytes + score) ? most : records_.size / (stamp_bytes + score);
    const size_t written = (answer_bytes - kWordsBytes) / (characters(stamp_bytes) + characters(score));
    most = most < written ? most : written;
    if (n > most) {
        return {kTooLarge, "more patches than are loaded, or than an answer holds", {}, (int64_t)most};
    }
    return {};
}

Error Firmware::run(const Params &params, Answer &answer)
{
    uint32_t n;
    const Error error = take_count(params, scene_, kStampBytes, answer.capacity(), n);
    if (error.code != kNone) {
        return error;
    }
    uint8_t *stamps = records_.data, *scores = stamps + n * kStampBytes;
    const Pass pass = pass_over(scene_.bytes().data, n, facts_, table_, engine_, board_, stamps, scores);
    if (pass.patches_done < n) {
        return invoke_failed(pass);
    }
    answer.put("\"n\":");
    answer.put_integer(n);
    answer.put(",\"start_us\":");
    answer.put_integer(pass.start_us);
    answer.put(",\"end_us\":");
    answer.put_integer(pass.end_us);
    answer.put(",\"stamps\":");
    answer.put_base64({stamps, n * kStampBytes});
    answer.put(",\"scores\":");
    answer.put_base64({scores, n * score_bytes(facts_)});
    return {};
}

Error Firmware::predict(const Params &params, Answer &answer)
{
    uint32_t n;
    const Error error = take_count(params, images_, 0, answer.capacity(), n);
    if (error.code != kNone) {
        return error;
    }
    uint8_t *scores = records_.data;
    const Pass pass = pass_over(images_.bytes().data, n, facts_, table_, engine_, board_, nullptr, scores);
    if (pass.patches_done < n) {
        return invoke_failed(pass);
    }
    answer.put("\"n\":");
    answer.put_integer(n);
    answer.put(",\"scores\":");
    answer.put_base64({scores, n * score_bytes(facts_)});
    return {};
}

} // namespace edgebench
