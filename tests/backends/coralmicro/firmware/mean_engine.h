/*
 * An engine that needs no network, and its model file: the class of a byte of the input is its place modulo the number of
 * classes; the score of a class is the sum of its bytes modulo 256, or as a float that sum as it is. Like the Edge TPU's
 * operator it leaves its input changed.
 */
#ifndef EDGEBENCH_MEAN_ENGINE_H
#define EDGEBENCH_MEAN_ENGINE_H

#include <cstring>
#include <vector>

#include "engine.h"

class MeanEngine final : public edgebench::Engine {
public:
    const char *load(edgebench::Bytes model, edgebench::Text, edgebench::ModelFacts &facts) override
    {
        Header header;
        if (model.size < sizeof header || memcmp(model.data, "MEAN", 4) != 0) {
            return "operator \"SHAPE\" is not in this firmware";
        }
        memcpy(&header, model.data, sizeof header);
        input_.assign(header.input_bytes, 0);
        facts = {header.input_bytes, (edgebench::TensorType)header.input_type, header.input_scale, header.input_zero_point,
                 (edgebench::TensorType)header.output_type, header.output_scale, header.output_zero_point, header.classes,
                 1234, 1};
        facts_ = facts;
        fails_at_ = header.fails_at;
        return nullptr;
    }

    void unload() override
    {
        input_ = std::vector<uint8_t>();
        output_ = std::vector<uint8_t>();
    }

    void *input() override { return input_.data(); }

    bool invoke() override
    {
        std::vector<uint32_t> sums(facts_.classes);
        for (size_t index = 0; index < input_.size(); ++index) {
            sums[index % sums.size()] += input_[index];
        }
        const bool is_done = input_[0] != fails_at_;
        for (uint8_t &byte : input_) {
            byte ^= 0x80;
        }
        output_.clear();
        for (const uint32_t sum : sums) {
            const float value = (float)sum;
            uint8_t bytes[4] = {(uint8_t)sum};
            memcpy(bytes, &value, facts_.output_type == edgebench::TensorType::float32 ? 4 : 0);
            output_.insert(output_.end(), bytes, bytes + (facts_.output_type == edgebench::TensorType::float32 ? 4 : 1));
        }
        return is_done;
    }

    const void *output() override { return output_.data(); }

private:
    struct Header { /* little-endian, as mean_model of micro_core.py writes it */
        char magic[4];
        uint32_t input_bytes;
        uint32_t input_type;
        uint32_t output_type;
        uint32_t classes;
        float input_scale;
        int32_t input_zero_point;
        float output_scale;
        int32_t output_zero_point;
        uint32_t fails_at; /* the first byte of an input that invoke fails at */
    };

    edgebench::ModelFacts facts_ = {};
    uint32_t fails_at_ = 256;
    std::vector<uint8_t> input_, output_;
};

#endif
