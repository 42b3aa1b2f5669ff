/* A stand-in for libedgetpu.so.1: the external delegate of one Edge TPU on USB, without the Edge TPU.
 *
 * It has the functions that a TFLite runtime looks up (tflite_plugin_*) and those that tell of devices and version
 * (edgetpu_*), takes the options that the real one takes, and claims no nodes: everything stays on the processor.
 * What of TFLite's C interface it needs is declared here; the layout of TfLiteDelegate is that of 2.11 to 2.14 and
 * of LiteRT 2, where the last member is not read unless it is set.
 *
 * Built with -DDIES_AT_CREATE=SIGABRT (or SIGSEGV, or DIES_AT_PREPARE) it dies there, as a libedgetpu does that was
 * built against another TFLite. Built with -DDEVICES=0 it finds no Edge TPU.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DEVICES
#define DEVICES 1
#endif

typedef enum { STATUS_OK = 0, STATUS_ERROR = 1 } TfLiteStatus;

struct TfLiteContext;
struct TfLiteTensor;

typedef struct TfLiteDelegate {
    void *data;
    TfLiteStatus (*prepare)(struct TfLiteContext *, struct TfLiteDelegate *);
    TfLiteStatus (*copy_from)(struct TfLiteContext *, struct TfLiteDelegate *, int, struct TfLiteTensor *);
    TfLiteStatus (*copy_to)(struct TfLiteContext *, struct TfLiteDelegate *, int, struct TfLiteTensor *);
    void (*free_handle)(struct TfLiteContext *, struct TfLiteDelegate *, int *);
    int64_t flags;
    void *opaque_builder;
} TfLiteDelegate;

typedef enum { APEX_PCI = 0, APEX_USB = 1 } DeviceType;

struct edgetpu_device {
    DeviceType type;
    const char *path;
};

static TfLiteStatus prepare(struct TfLiteContext *context, struct TfLiteDelegate *delegate) {
    (void)context;
    (void)delegate;
#ifdef DIES_AT_PREPARE
    raise(DIES_AT_PREPARE);
#endif
    fprintf(stderr, "stand-in: prepared, no nodes claimed\n");
    return STATUS_OK;
}

/* "", "usb", "pci", ":N", "usb:N" and "pci:N" name a device; whether this one is there. */
static int is_there(const char *device) {
    const char *number = strchr(device, ':');
    size_t kind = number ? (size_t)(number - device) : strlen(device);
    if (kind && !(kind == 3 && strncmp(device, "usb", 3) == 0)) return 0;
    if (!number) return DEVICES > 0;
    char *end;
    long wanted = strtol(number + 1, &end, 10);
    return end != number + 1 && *end == '\0' && wanted >= 0 && wanted < DEVICES;
}

TfLiteDelegate *tflite_plugin_create_delegate(
    char **keys, char **values, size_t options, void (*report)(const char *)) {
#ifdef DIES_AT_CREATE
    raise(DIES_AT_CREATE);
#endif
    const char *device = "";
    for (size_t option = 0; option < options; option++) {
        if (strcmp(keys[option], "device") != 0) {
            if (report) report("stand-in: no such option");
            return NULL;
        }
        device = values[option];
    }
    if (!is_there(device)) return NULL; /* the real one gives no reason either */
    TfLiteDelegate *made = calloc(1, sizeof *made);
    if (made) made->prepare = prepare;
    fprintf(stderr, "stand-in: created, device=%s\n", device);
    return made;
}

void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
    if (delegate) fprintf(stderr, "stand-in: destroyed\n");
    free(delegate);
}

const char *edgetpu_version(void) {
    return "BuildLabel(COMPILER=stand-in,DATE=redacted,TIME=redacted), RuntimeVersion(14)";
}

struct edgetpu_device *edgetpu_list_devices(size_t *found) {
    struct edgetpu_device *devices = calloc(DEVICES + 1, sizeof *devices);
    for (int device = 0; devices && device < DEVICES; device++) {
        devices[device].type = APEX_USB;
        devices[device].path = "/sys/bus/usb/devices/2-1";
    }
    *found = devices ? DEVICES : 0;
    return devices;
}

void edgetpu_free_devices(struct edgetpu_device *devices) { free(devices); }
