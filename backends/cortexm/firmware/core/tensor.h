/* The resident input: what `db` fills, and what is copied to the engine before every inference. */
#ifndef EDGEBENCH_TENSOR_H
#define EDGEBENCH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Expects `bytes` from the start; false, and expects none, where they do not fit. */
bool tensor_expect(uint32_t bytes);

size_t tensor_expected(void);
size_t tensor_filled(void);
const uint8_t *tensor_bytes(void);

/* Appends; what is more than was expected is dropped. True when these bytes made it full. */
bool tensor_append(const uint8_t *bytes, size_t length);

/* MODEL_INPUT_BYTES to where the engine reads them. */
void tensor_copy_to_model(void);

#endif
