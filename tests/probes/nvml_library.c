/* A stand-in for libnvidia-ml.so.1, with the real names and signatures; the environment says how it behaves.
   STANDIN_GPUS: how many; STANDIN_WATTS: what each draws; STANDIN_STEP_MS: how often the counter of energy steps;
   STANDIN_INIT, STANDIN_ENERGY, STANDIN_POWER: what these calls return, 0 for success. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

nvmlReturn_t nvmlInit_v2(void) { return setting("STANDIN_INIT", 0); }
nvmlReturn_t nvmlShutdown(void) { return 0; }

const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    *count = setting("STANDIN_GPUS", 1);
    return 0;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    *device = (nvmlDevice_t)(0x7f0000000000UL + index); /* no int holds it */
    return index < (unsigned int)setting("STANDIN_GPUS", 1) ? 0 : 2;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    strncpy(name, (unsigned long)device & 1 ? "NVIDIA B" : "NVIDIA A", length);
    return 0;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) {
    struct timespec now;
    unsigned long long step_ms = setting("STANDIN_STEP_MS", 10), ms;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
    *energy = (step_ms ? ms / step_ms * step_ms : 0) * setting("STANDIN_WATTS", 100);
    return setting("STANDIN_ENERGY", 0);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) {
    *power = 1000 * setting("STANDIN_WATTS", 100);
    return setting("STANDIN_POWER", 0);
}
