/* coralmicro's operator for the Edge TPU, and which model's package was registered at which address. */
#ifndef EDGEBENCH_EDGETPU_PACKAGES_H
#define EDGEBENCH_EDGETPU_PACKAGES_H

#include "core/bytes.h"
#include "third_party/tflite-micro/tensorflow/lite/c/common.h"

namespace edgebench {

/* The operator; a package at another model's address is not registered, and preparing the model fails. */
TfLiteRegistration *edgetpu_operator();

/* Before a model is built: packages that come are of the model with this hash. */
void expect_packages_of(Text sha256);

/* Since then: whether a package came to lie where another model's lay, and whether there is no room to note one. */
bool has_package_conflict();
bool are_packages_full();

} // namespace edgebench

#endif
