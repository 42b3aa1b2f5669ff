/*
 * What an engine does for the firmware: one file under engines/ an engine.
 *
 * The build defines of the artifact that the engine carries:
 *   MODEL_ID           its variant and the SHA-256 of its file, "mobilenet_v1-0.25-int8:2f07..."
 *   BENCHMARK_ID       optional: what `m-model` says in its place, such as "vww01"
 *   MODEL_INPUT_BYTES  of the input tensor, which is also the size of the resident input
 *   MODEL_SCORES       of one inference
 */
#ifndef EDGEBENCH_MODEL_H
#define EDGEBENCH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum model_type { MODEL_FLOAT32, MODEL_INT8, MODEL_UINT8 };

struct model_facts {
    const char *engine; /* name and version, without `]` */
    enum model_type input_type;
    enum model_type output_type;
    /* Of integer outputs: score = (output - output_zero_point) * output_scale. */
    float output_scale;
    int32_t output_zero_point;
    /* The most memory that an inference works in: arena or stack; beside input and weights. */
    uint32_t working_bytes;
    /* Why model_start or model_invoke returned false, in words without `]`; NULL where there is nothing to say. */
    const char *failure;
    /* Whether model_invoke resets the model's state first, so that no inference depends on an earlier one. */
    bool resets;
};

/* Called once at start; false: the engine cannot run, and every `infer` answers an error. */
bool model_start(void);

/* Valid after model_start; where that returned false, only `engine` and `failure`. */
const struct model_facts *model_facts(void);

/* MODEL_INPUT_BYTES that the next inference reads, and may overwrite. */
void *model_input(void);

/* One inference; false: it failed. */
bool model_invoke(void);

/* MODEL_SCORES scores of the last inference, of output_type. */
const void *model_output(void);

#ifdef __cplusplus
}
#endif
#endif
