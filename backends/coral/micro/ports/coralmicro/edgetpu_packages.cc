#include "edgetpu_packages.h"

#include <cstring>

#include "core/sha256.h"
#include "libs/tpu/edgetpu_manager.h"
#include "libs/tpu/edgetpu_op.h"

namespace edgebench {
namespace {

constexpr size_t kMostPackages = 64;

struct Package {
    const char *address;
    char model[kSha256TextBytes];
};

Package packages[kMostPackages];
size_t package_count;
char expected_model[kSha256TextBytes];
bool has_conflict;
bool is_full;

/* Whether the address is this model's, or nobody's yet, which is then noted. */
bool claim(const char *address)
{
    for (size_t index = 0; index < package_count; ++index) {
        if (packages[index].address == address) {
            const bool is_same = memcmp(packages[index].model, expected_model, sizeof expected_model) == 0;
            has_conflict = has_conflict || !is_same;
            return is_same;
        }
    }
    if (package_count == kMostPackages) {
        is_full = true;
        return false;
    }
    packages[package_count].address = address;
    memcpy(packages[package_count].model, expected_model, sizeof expected_model);
    ++package_count;
    return true;
}

/* As TFLM calls it; nullptr makes coralmicro's own `prepare` fail. */
void *start_operator(TfLiteContext *, const char *package, size_t length)
{
    if (package == nullptr || length == 0 || !claim(package)) {
        return nullptr;
    }
    return coralmicro::EdgeTpuManager::GetSingleton()->RegisterPackage(package, length);
}

} // namespace

TfLiteRegistration *edgetpu_operator()
{
    static TfLiteRegistration registration = [] {
        TfLiteRegistration copy = *coralmicro::RegisterCustomOp();
        copy.init = start_operator;
        return copy;
    }();
    return &registration;
}

void expect_packages_of(Text sha256)
{
    memcpy(expected_model, sha256.data(), sizeof expected_model);
    has_conflict = is_full = false;
}

bool has_package_conflict()
{
    return has_conflict;
}

bool are_packages_full()
{
    return is_full;
}

} // namespace edgebench
