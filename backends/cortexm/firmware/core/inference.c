#include "inference.h"

#include <stdbool.h>
#include <stddef.h>

#include "model.h"
#include "port.h"
#include "protocol.h"
#include "tensor.h"
#include "text.h"

static bool has_started;
static uint32_t copy_us;

void inference_start(void)
{
    has_started = model_start();
    if (!has_started) {
        return;
    }
    tensor_copy_to_model(); /* the first one fills caches */
    const uint32_t start_us = port_microseconds();
    tensor_copy_to_model();
    copy_us = port_microseconds() - start_us;
}

uint32_t inference_copy_us(void)
{
    return copy_us;
}

static void pulse(void)
{
    port_timing_pin(false);
    const uint32_t start_us = port_microseconds();
    while (port_microseconds() - start_us < 2) { /* at least 1 us, whatever part of one had gone by */
    }
    port_timing_pin(true);
}

static void put_lap(uint32_t now_us)
{
    put("m-lap-us-");
    put_unsigned(now_us);
    put("\r\n");
}

void inference_stamp(void)
{
    if (PROTOCOL_ENERGY_MODE) {
        pulse();
    } else {
        put_lap(port_microseconds());
    }
}

static void put_failure(const char *text)
{
    const char *failure = model_facts()->failure;
    put("e-[");
    put(text);
    if (failure != NULL) {
        put(": ");
        put(failure);
    }
    put_line("]");
}

/* False after the first inference that fails. */
static bool infer(uint32_t times)
{
    for (uint32_t done = 0; done < times; ++done) {
        tensor_copy_to_model(); /* engines may overwrite their input while they work */
        if (!model_invoke()) {
            return false;
        }
    }
    return true;
}

static void put_count(const char *text, uint32_t count)
{
    put(text);
    put_unsigned(count);
    put("\r\n");
}

/* The inferences between two stamps. Lines are sent outside of them: a line takes a millisecond. */
static bool timed(uint32_t inferences)
{
    if (PROTOCOL_ENERGY_MODE) {
        pulse();
        const bool is_done = infer(inferences);
        pulse();
        return is_done;
    }
    port_timing_pin(false);
    const uint32_t start_us = port_microseconds();
    const bool is_done = infer(inferences);
    const uint32_t end_us = port_microseconds();
    port_timing_pin(true);
    put_lap(start_us);
    put_lap(end_us);
    return is_done;
}

void inference_run(uint32_t inferences, uint32_t warm_ups)
{
    if (!has_started) {
        put_failure("The model cannot be started");
        return;
    }
    put_count("m-warmup-start-", warm_ups);
    bool is_done = infer(warm_ups);
    put_line("m-warmup-done");
    if (is_done) {
        put_count("m-infer-start-", inferences);
        is_done = timed(inferences);
        put_line("m-infer-done");
    }
    if (is_done) {
        inference_results();
    } else {
        put_failure("An inference failed");
    }
}

static float score(unsigned index)
{
    const struct model_facts *facts = model_facts();
    const void *output = model_output();
    if (facts->output_type == MODEL_FLOAT32) {
        return ((const float *)output)[index];
    }
    const int32_t level = facts->output_type == MODEL_INT8 ? ((const int8_t *)output)[index]
                                                           : ((const uint8_t *)output)[index];
    return (float)(level - facts->output_zero_point) * facts->output_scale;
}

void inference_results(void)
{
    if (!has_started) {
        put_failure("The model cannot be started");
        return;
    }
    put("m-results-[");
    for (unsigned index = 0; index < MODEL_SCORES; ++index) {
        if (index > 0) {
            put(",");
        }
        put_score(score(index));
    }
    put_line("]");
}
