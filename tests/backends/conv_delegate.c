/* An external delegate that computes int8 convolutions on the processor, for tests of how delegates are loaded.
 *
 * It takes every CONV_2D and DEPTHWISE_CONV_2D with int8 weights by channel; its arithmetic is that of TFLite's
 * reference kernels, to the bit. With the option takes=nothing it takes no operation, with takes=first the first
 * one, and with takes=abort it aborts. What of TFLite's C interface it needs is declared here, as TFLite 2.11 to
 * 2.14 and LiteRT 2 lay it out.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK, ERROR, CONV_2D = 3, DEPTHWISE_CONV_2D = 4, SAME = 1, RELU = 1, RELU_6 = 3, INT8 = 9 };

typedef struct { int size; int data[]; } IntArray;
typedef struct { int size; float data[]; } FloatArray;
typedef struct { FloatArray *scale; IntArray *zero_point; int32_t axis; } Quantization;
typedef struct {
    int type;
    void *data;
    IntArray *dims;
    struct { float scale; int32_t zero_point; } params;
    int allocation_type;
    size_t bytes;
    const void *allocation;
    const char *name;
    void *delegate;
    int buffer_handle;
    _Bool data_is_stale, is_variable;
    struct { int type; Quantization *params; } quantization;
    void *sparsity;
    const IntArray *signature;
} Tensor;
typedef struct { IntArray *inputs, *outputs, *intermediates, *temporaries; void *user_data, *builtin_data; } Node;
typedef struct Context Context;
typedef struct Registration {
    void *(*init)(Context *, const char *, size_t);
    void (*free)(Context *, void *);
    int (*prepare)(Context *, Node *);
    int (*invoke)(Context *, Node *);
    const char *(*profiling_string)(const Context *, const Node *);
    int32_t builtin_code;
    const char *custom_name;
    int version;
    void *external, *async_kernel;
    uint64_t inplace_operator;
} Registration;
typedef struct Delegate {
    void *data;
    int (*prepare)(Context *, struct Delegate *);
    void *copy_from, *copy_to, *free_handle;
    int64_t flags;
    void *opaque_builder;
} Delegate;
struct Context {
    size_t tensors_size;
    int (*GetExecutionPlan)(Context *, IntArray **);
    Tensor *tensors;
    void *impl, *ResizeTensor, *ReportError, *AddTensors;
    int (*GetNodeAndRegistration)(Context *, int, Node **, Registration **);
    int (*ReplaceNodeSubsetsWithDelegateKernels)(Context *, Registration, const IntArray *, Delegate *);
};
typedef struct { Delegate *delegate; IntArray *nodes, *inputs, *outputs; } Part;
typedef struct { int padding, stride_width, stride_height, rest[4]; } Settings;

static int32_t rounded_product(int32_t value, int32_t multiplier, int shift) {
    int64_t product = (int64_t)value * (shift > 0 ? 1 << shift : 1) * multiplier;
    int32_t high = (int32_t)((product + (product >= 0 ? 1 << 30 : 1 - (1 << 30))) / (1ll << 31));
    int right = shift > 0 ? 0 : -shift;
    int32_t mask = (int32_t)((1ll << right) - 1), remainder = high & mask;
    return (high >> right) + (remainder > (mask >> 1) + (high < 0));
}

/* One convolution; a depthwise one has a filter of one input channel for each output channel. */
static void convolve(Context *context, Node *node, int depthwise) {
    Tensor *in = context->tensors + node->inputs->data[0], *filter = context->tensors + node->inputs->data[1];
    Tensor *bias = context->tensors + node->inputs->data[2], *out = context->tensors + node->outputs->data[0];
    const Settings *settings = node->builtin_data;
    const int activation = settings->rest[depthwise ? 1 : 0];
    const int *from = in->dims->data, *to = out->dims->data, *size = filter->dims->data;
    if (!out->data) out->data = calloc(1, out->bytes); /* between two operations of one part */
    int stride[2] = {settings->stride_height, settings->stride_width}, before[2] = {0, 0};
    for (int side = 0; side < 2 && settings->padding == SAME; side++) {
        int all = (to[1 + side] - 1) * stride[side] + size[1 + side] - from[1 + side];
        before[side] = all > 0 ? all / 2 : 0;
    }
    int low = -128, high = 127;
    if (activation == RELU || activation == RELU_6) low = fmax(low, out->params.zero_point);
    if (activation == RELU_6) high = fmin(high, out->params.zero_point + roundf(6.0f / out->params.scale));
    for (int channel = 0; channel < to[3]; channel++) {
        const FloatArray *scales = filter->quantization.params->scale;
        double scale = (double)in->params.scale * scales->data[scales->size > 1 ? channel : 0] / out->params.scale;
        int shift;
        int64_t multiplier = llround(frexp(scale, &shift) * (1ll << 31));
        if (multiplier == 1ll << 31) multiplier /= 2, shift++;
        for (int place = 0; place < to[0] * to[1] * to[2]; place++) {
            int image = place / (to[1] * to[2]), row = place / to[2] % to[1], column = place % to[2];
            int32_t sum = ((const int32_t *)bias->data)[channel];
            for (int tap = 0; tap < size[1] * size[2]; tap++) {
                int y = row * stride[0] - before[0] + tap / size[2], x = column * stride[1] - before[1] + tap % size[2];
                if (y < 0 || x < 0 || y >= from[1] || x >= from[2]) continue;
                const int8_t *pixel = (const int8_t *)in->data + ((image * from[1] + y) * from[2] + x) * from[3];
                const int8_t *weights = filter->data;
                if (depthwise) {
                    sum += (pixel[channel] - in->params.zero_point) * weights[tap * size[3] + channel];
                    continue;
                }
                weights += (channel * size[1] * size[2] + tap) * size[3];
                for (int c = 0; c < from[3]; c++) sum += (pixel[c] - in->params.zero_point) * weights[c];
            }
            int32_t value = rounded_product(sum, (int32_t)multiplier, shift) + out->params.zero_point;
            ((int8_t *)out->data)[place * to[3] + channel] = (int8_t)(value < low ? low : value > high ? high : value);
        }
    }
}

typedef struct { int size; struct { Node *node; int depthwise; } each[]; } Taken;

static void *init(Context *context, const char *buffer, size_t length) {
    const IntArray *nodes = ((const Part *)buffer)->nodes;
    Taken *taken = calloc(1, sizeof *taken + nodes->size * sizeof taken->each[0]);
    (void)length;
    for (; taken && taken->size < nodes->size; taken->size++) {
        Registration *kind;
        Node **node = &taken->each[taken->size].node;
        if (context->GetNodeAndRegistration(context, nodes->data[taken->size], node, &kind)) return NULL;
        taken->each[taken->size].depthwise = kind->builtin_code == DEPTHWISE_CONV_2D;
    }
    return taken;
}

static void drop(Context *context, void *taken) { (void)context, free(taken); }

static int invoke(Context *context, Node *part) {
    const Taken *taken = part->user_data;
    if (!taken) return ERROR;
    for (int place = 0; place < taken->size; place++)
        convolve(context, taken->each[place].node, taken->each[place].depthwise);
    return OK;
}

static int prepare(Context *context, Delegate *delegate) {
    IntArray *plan, *taken;
    const char *takes = delegate->data;
    if (context->GetExecutionPlan(context, &plan)) return ERROR;
    taken = calloc(plan->size + 1, sizeof(int));
    for (int place = 0; place < plan->size; place++) {
        Node *node;
        Registration *kind;
        if (context->GetNodeAndRegistration(context, plan->data[place], &node, &kind)) return ERROR;
        int is_ours = kind->builtin_code == CONV_2D || kind->builtin_code == DEPTHWISE_CONV_2D;
        is_ours = is_ours && context->tensors[node->inputs->data[1]].type == INT8;
        if (is_ours && strcmp(takes, "nothing") && (strcmp(takes, "first") || !taken->size))
            taken->data[taken->size++] = plan->data[place];
    }
    Registration kernel = {.init = init, .free = drop, .invoke = invoke, .custom_name = "StandInDelegate", .version = 1};
    int status = context->ReplaceNodeSubsetsWithDelegateKernels(context, kernel, taken, delegate);
    free(taken);
    return status;
}

Delegate *tflite_plugin_create_delegate(char **keys, char **values, size_t options, void (*report)(const char *)) {
    const char *takes = "convolutions";
    for (size_t option = 0; option < options; option++) {
        if (strcmp(keys[option], "takes")) {
            if (report) report("stand-in: no such option");
            return NULL;
        }
        takes = values[option];
    }
    if (!strcmp(takes, "abort")) abort();
    Delegate *made = calloc(1, sizeof *made);
    if (made) made->prepare = prepare, made->data = strdup(takes);
    return made;
}

void tflite_plugin_destroy_delegate(Delegate *delegate) {
    if (delegate) free(delegate->data);
    free(delegate);
}
