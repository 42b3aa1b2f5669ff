/* A stand-in for the CUDA runtime: the calls that a runner makes, over this machine's memory.
 *
 * Device memory is a memory file mapped twice: the address that the caller gets cannot be read or written by the
 * host, as on a device; the copies go by a second one. A stream is a thread with a queue, an event takes the time
 * at which its stream reaches it. Addresses are checked: what lies in no live allocation of the right kind is
 * cudaErrorInvalidValue. What STANDIN_... variables ask for is said in __init__.py.
 *
 * Names, numbers and texts of the errors and attributes: CUDA Runtime API (driver_types.h).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DIRECTION = 21, OLD_DRIVER = 35, NO_DEVICE = 100,
    INVALID_DEVICE = 101, INVALID_HANDLE = 400, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_FAILURE = 719,
};
enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

static const struct { int code; const char *name, *text; } errors[] = {
    {SUCCESS, "cudaSuccess", "no error"},
    {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {INVALID_DIRECTION, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {OLD_DRIVER, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {NOT_READY, "cudaErrorNotReady", "device not ready"},
    {ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {LAUNCH_FAILURE, "cudaErrorLaunchFailure", "unspecified launch failure"},
};

typedef struct Block { /* one allocation */
    struct Block *next;
    char *address, *shadow; /* what the caller has; where the bytes are */
    size_t size, mapped;
    int on_device;
} Block;

typedef struct Stream Stream;
typedef struct Event {
    struct Event *next;
    struct timespec at;
    int recorded, pending;
} Event;

typedef void (*HostFunction)(void *);
typedef struct Job {
    struct Job *next;
    enum { COPY, SET, RECORD, WAIT, CALL } kind;
    char *to;
    const char *from;
    size_t size;
    int value;
    Event *event;
    HostFunction function;
    void *data;
} Job;

struct Stream {
    Stream *next;
    pthread_t thread;
    Job *first, *last;
    int busy, ending;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Block *blocks;
static Stream *streams;
static Event *events;
static int last_error, sticky_error;
static size_t device_bytes, most_device_bytes;
static long pageable_copies, refused_addresses, calls;

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static int zero_work(void) { return *setting("STANDIN_ZERO_WORK", "0") == '1'; }

/* STANDIN_CUDA_FAIL=NAME:COUNT:CODE: the COUNTth call of NAME gives CODE, and all others then where that stays. */
static int ordered_failure(const char *name) {
    static int seen;
    const char *order = getenv("STANDIN_CUDA_FAIL");
    char wanted[64];
    int count, code;
    if (!order || sscanf(order, "%63[^:]:%d:%d", wanted, &count, &code) != 3) return SUCCESS;
    if (strcmp(wanted, name) != 0) return SUCCESS;
    return ++seen == count ? code : SUCCESS;
}

static int finish(int code) {
    if (code == ILLEGAL_ADDRESS || code == LAUNCH_FAILURE) sticky_error = code;
    if (code != SUCCESS && code != NOT_READY) last_error = code;
    return code;
}

/* What every call begins with: a failure that is due, or that has left the device unusable. */
static int enter(const char *name) {
    int code;
    pthread_mutex_lock(&lock);
    calls++;
    code = sticky_error ? sticky_error : ordered_failure(name);
    if (code == SUCCESS && *setting("STANDIN_NO_DEVICE", "0") == '1') code = NO_DEVICE;
    return code;
}

static int leave(int code) {
    code = finish(code);
    pthread_mutex_unlock(&lock);
    return code;
}

#define ENTER() do { int due = enter(__func__); if (due != SUCCESS) return leave(due); } while (0)

/* The block that holds all of [address, address + size); NULL where none does. */
static Block *block_of(const void *address, size_t size) {
    for (Block *block = blocks; block; block = block->next) {
        const char *start = address;
        if (start >= block->address && start < block->address + block->size) {
            return (size_t)(block->address + block->size - start) >= size ? block : NULL;
        }
    }
    return NULL;
}

/* Whether any live device memory begins before the end of the range and ends behind its beginning. */
static int touches_device(const void *address, size_t size) {
    const char *start = address;
    for (Block *block = blocks; block; block = block->next) {
        if (block->on_device && start < block->address + block->mapped && start + size > block->address) return 1;
    }
    return 0;
}

static char *bytes_at(Block *block, const void *address) {
    return block->shadow + ((const char *)address - block->address);
}

static int allocate(void **address, size_t size, int on_device) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t total = (size_t)strtoull(setting("STANDIN_MEMORY_MB", "4096"), NULL, 10) << 20;
    if (!address) return INVALID_VALUE;
    *address = NULL;
    if (!size) return on_device ? SUCCESS : INVALID_VALUE;
    if (on_device && size > total - device_bytes) return OUT_OF_MEMORY;
    Block *block = calloc(1, sizeof *block);
    if (!block) return OUT_OF_MEMORY;
    block->mapped = (size + page - 1) / page * page;
    block->size = size;
    block->on_device = on_device;
    int file = memfd_create("standin", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)block->mapped) != 0) {
        if (file >= 0) close(file);
        free(block);
        return OUT_OF_MEMORY;
    }
    block->shadow = mmap(NULL, block->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    block->address = block->shadow;
    if (on_device && block->shadow != MAP_FAILED) {
        block->address = mmap(NULL, block->mapped, PROT_NONE, MAP_SHARED, file, 0);
    }
    close(file);
    if (block->shadow == MAP_FAILED || block->address == MAP_FAILED) {
        if (block->shadow != MAP_FAILED) munmap(block->shadow, block->mapped);
        free(block);
        return OUT_OF_MEMORY;
    }
    block->next = blocks;
    blocks = block;
    if (on_device) {
        memset(block->shadow, 0xa5, block->mapped); /* what a device's memory holds is not known */
        device_bytes += size;
        if (device_bytes > most_device_bytes) most_device_bytes = device_bytes;
    }
    *address = block->address;
    return SUCCESS;
}

static int all_idle(void) {
    for (Stream *stream = streams; stream; stream = stream->next) {
        if (stream->first || stream->busy) return 0;
    }
    return 1;
}

static int is_idle(const Stream *stream) { return stream ? !stream->first && !stream->busy : all_idle(); }

static void wait_until_idle(const Stream *stream) {
    while (!is_idle(stream)) pthread_cond_wait(&changed, &lock);
}

static int release(void *address, int on_device) {
    if (!address) return SUCCESS;
    wait_until_idle(NULL); /* as cudaFree does */
    for (Block **link = &blocks; *link; link = &(*link)->next) {
        Block *block = *link;
        if (block->address != address || block->on_device != on_device) continue;
        *link = block->next;
        if (block->on_device) device_bytes -= block->size;
        if (block->address != block->shadow) munmap(block->address, block->mapped);
        munmap(block->shadow, block->mapped);
        free(block);
        return SUCCESS;
    }
    refused_addresses++;
    return INVALID_VALUE;
}

static int is_stream(const Stream *handle) {
    for (Stream *stream = streams; stream; stream = stream->next) {
        if (stream == handle) return 1;
    }
    return handle == NULL;
}

static int is_event(const Event *handle) {
    for (Event *event = events; event; event = event->next) {
        if (event == handle) return 1;
    }
    return 0;
}

/* A job, with the lock let go meanwhile. */
static void carry_out(const Job *job) {
    if (job->kind == WAIT) {
        while (job->event->pending) pthread_cond_wait(&changed, &lock);
        return;
    }
    if (job->kind == RECORD) {
        clock_gettime(CLOCK_MONOTONIC, &job->event->at);
        job->event->recorded = 1;
        job->event->pending--;
        return;
    }
    pthread_mutex_unlock(&lock);
    if (job->kind == COPY) memmove(job->to, job->from, job->size);
    if (job->kind == SET) memset(job->to, job->value, job->size);
    if (job->kind == CALL && job->function) job->function(job->data);
    pthread_mutex_lock(&lock);
}

static void *work(void *argument) {
    Stream *stream = argument;
    pthread_mutex_lock(&lock);
    while (stream->first || !stream->ending) {
        Job *job = stream->first;
        if (!job) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        stream->first = job->next;
        if (!stream->first) stream->last = NULL;
        stream->busy = 1;
        carry_out(job);
        free(job);
        stream->busy = 0;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Queue a job; on the default stream, and where nothing is to take time, it is carried out here. */
static int submit(Stream *stream, Job job) {
    if (job.kind == RECORD) job.event->pending++;
    if (!stream || zero_work()) {
        wait_until_idle(stream);
        carry_out(&job);
        return SUCCESS;
    }
    Job *queued = malloc(sizeof *queued);
    if (!queued) return OUT_OF_MEMORY;
    *queued = job;
    queued->next = NULL;
    if (stream->last) stream->last->next = queued; else stream->first = queued;
    stream->last = queued;
    pthread_cond_broadcast(&changed);
    return SUCCESS;
}

static int copy(void *to, const void *from, size_t size, int kind, Stream *stream, int asynchronous) {
    if (kind < HOST_TO_HOST || kind > BY_ADDRESS) return INVALID_DIRECTION;
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (!size) return SUCCESS;
    Block *target = block_of(to, size), *source = block_of(from, size);
    int to_device = target && target->on_device, from_device = source && source->on_device;
    int wants_to = kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE;
    int wants_from = kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE;
    if (kind == BY_ADDRESS) wants_to = to_device, wants_from = from_device;
    if (!to || !from || to_device != wants_to || from_device != wants_from
        || (!to_device && touches_device(to, size)) || (!from_device && touches_device(from, size))) {
        refused_addresses++;
        return INVALID_VALUE;
    }
    int pageable = (!to_device && !target) || (!from_device && !source);
    Job job = {.kind = COPY, .to = target ? bytes_at(target, to) : to,
               .from = source ? bytes_at(source, from) : from, .size = zero_work() ? 0 : size};
    if (asynchronous && pageable) pageable_copies++;
    int code = submit(stream, job);
    /* Memory that is not pinned is staged: such a copy does not overlap with anything. */
    if (code == SUCCESS && (!asynchronous || pageable)) wait_until_idle(stream);
    return code;
}

int cudaGetDeviceCount(int *count) {
    if (count) *count = 0;
    ENTER();
    if (!count) return leave(INVALID_VALUE);
    *count = 1;
    return leave(SUCCESS);
}
int cudaSetDevice(int device) { ENTER(); return leave(device == 0 ? SUCCESS : INVALID_DEVICE); }
int cudaGetDevice(int *device) { ENTER(); if (!device) return leave(INVALID_VALUE); *device = 0; return leave(SUCCESS); }
int cudaDeviceReset(void) { ENTER(); wait_until_idle(NULL); return leave(SUCCESS); }

int cudaDeviceGetAttribute(int *value, int attribute, int device) {
    int major = 0, minor = 0;
    ENTER();
    if (device != 0) return leave(INVALID_DEVICE);
    if (!value) return leave(INVALID_VALUE);
    sscanf(setting("STANDIN_CAPABILITY", "7.2"), "%d.%d", &major, &minor);
    switch (attribute) {
    case 1: *value = 1024; break;      /* cudaDevAttrMaxThreadsPerBlock */
    case 13: *value = 1109000; break;  /* cudaDevAttrClockRate, kHz */
    case 16: *value = 6; break;        /* cudaDevAttrMultiProcessorCount */
    case 18: *value = 1; break;        /* cudaDevAttrIntegrated */
    case 75: *value = major; break;    /* cudaDevAttrComputeCapabilityMajor */
    case 76: *value = minor; break;    /* cudaDevAttrComputeCapabilityMinor */
    default: return leave(INVALID_VALUE);
    }
    return leave(SUCCESS);
}

/* The structure has another size in each version; its first member, the name, is at the same place in all. */
static int properties(char *structure, int device) {
    if (!structure) return INVALID_VALUE;
    if (device != 0) return INVALID_DEVICE;
    snprintf(structure, 256, "%s", setting("STANDIN_GPU", "Stand-in GPU"));
    return SUCCESS;
}
int cudaGetDeviceProperties(char *structure, int device) { ENTER(); return leave(properties(structure, device)); }
#ifdef PROPERTIES_V2 /* CUDA 12's header calls it so */
int cudaGetDeviceProperties_v2(char *structure, int device) { ENTER(); return leave(properties(structure, device)); }
#endif

int cudaRuntimeGetVersion(int *version) {
    if (!version) return INVALID_VALUE;
    *version = atoi(setting("STANDIN_CUDA_VERSION", "10020"));
    return SUCCESS;
}
int cudaDriverGetVersion(int *version) { return cudaRuntimeGetVersion(version); }

int cudaMemGetInfo(size_t *available, size_t *total) {
    ENTER();
    if (!available || !total) return leave(INVALID_VALUE);
    *total = (size_t)strtoull(setting("STANDIN_MEMORY_MB", "4096"), NULL, 10) << 20;
    *available = *total - device_bytes;
    return leave(SUCCESS);
}

int cudaMalloc(void **address, size_t size) { ENTER(); return leave(allocate(address, size, 1)); }
int cudaFree(void *address) { ENTER(); return leave(release(address, 1)); }
int cudaHostAlloc(void **address, size_t size, unsigned flags) {
    ENTER();
    return leave(flags > 7 ? INVALID_VALUE : allocate(address, size, 0));
}
int cudaMallocHost(void **address, size_t size) { ENTER(); return leave(allocate(address, size, 0)); }
int cudaFreeHost(void *address) { ENTER(); return leave(release(address, 0)); }

int cudaMemcpy(void *to, const void *from, size_t size, int kind) {
    ENTER();
    return leave(copy(to, from, size, kind, NULL, 0));
}
int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
    ENTER();
    return leave(copy(to, from, size, kind, stream, 1));
}
static int set(void *address, int value, size_t size, Stream *stream) {
    Block *block = block_of(address, size);
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (!block || !block->on_device) {
        refused_addresses++;
        return INVALID_VALUE;
    }
    return submit(stream, (Job){.kind = SET, .to = bytes_at(block, address), .value = value, .size = size});
}
int cudaMemset(void *address, int value, size_t size) { ENTER(); return leave(set(address, value, size, NULL)); }
int cudaMemsetAsync(void *address, int value, size_t size, void *stream) {
    ENTER();
    return leave(set(address, value, size, stream));
}

static int new_stream(Stream **handle) {
    if (!handle) return INVALID_VALUE;
    Stream *stream = calloc(1, sizeof *stream);
    if (!stream) return OUT_OF_MEMORY;
    if (pthread_create(&stream->thread, NULL, work, stream) != 0) {
        free(stream);
        return OUT_OF_MEMORY;
    }
    stream->next = streams;
    streams = stream;
    *handle = stream;
    return SUCCESS;
}
int cudaStreamCreate(Stream **handle) { ENTER(); return leave(new_stream(handle)); }
int cudaStreamCreateWithFlags(Stream **handle, unsigned flags) {
    ENTER();
    return leave(flags > 1 ? INVALID_VALUE : new_stream(handle));
}
int cudaStreamDestroy(Stream *stream) {
    ENTER();
    if (!stream || !is_stream(stream)) return leave(INVALID_HANDLE);
    stream->ending = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&lock);
    for (Stream **link = &streams; *link; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    }
    free(stream);
    return leave(SUCCESS);
}
int cudaStreamSynchronize(Stream *stream) {
    ENTER();
    if (!is_stream(stream)) return leave(INVALID_HANDLE);
    wait_until_idle(stream);
    return leave(sticky_error);
}
int cudaStreamQuery(Stream *stream) {
    ENTER();
    if (!is_stream(stream)) return leave(INVALID_HANDLE);
    return leave(is_idle(stream) ? SUCCESS : NOT_READY);
}
int cudaStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    ENTER();
    if (!is_stream(stream) || !is_event(event)) return leave(INVALID_HANDLE);
    return leave(flags > 1 ? INVALID_VALUE : submit(stream, (Job){.kind = WAIT, .event = event}));
}
int cudaLaunchHostFunc(Stream *stream, HostFunction function, void *data) {
    ENTER();
    if (!is_stream(stream)) return leave(INVALID_HANDLE);
    return leave(submit(stream, (Job){.kind = CALL, .function = function, .data = data}));
}
int cudaDeviceSynchronize(void) { ENTER(); wait_until_idle(NULL); return leave(sticky_error); }

static int new_event(Event **handle) {
    if (!handle) return INVALID_VALUE;
    Event *event = calloc(1, sizeof *event);
    if (!event) return OUT_OF_MEMORY;
    event->next = events;
    events = event;
    *handle = event;
    return SUCCESS;
}
int cudaEventCreate(Event **handle) { ENTER(); return leave(new_event(handle)); }
int cudaEventCreateWithFlags(Event **handle, unsigned flags) {
    ENTER();
    return leave(flags > 7 ? INVALID_VALUE : new_event(handle));
}
int cudaEventDestroy(Event *event) {
    ENTER();
    if (!is_event(event)) return leave(INVALID_HANDLE);
    while (event->pending) pthread_cond_wait(&changed, &lock);
    for (Event **link = &events; *link; link = &(*link)->next) {
        if (*link == event) {
            *link = event->next;
            break;
        }
    }
    free(event);
    return leave(SUCCESS);
}
int cudaEventRecord(Event *event, Stream *stream) {
    ENTER();
    if (!is_event(event) || !is_stream(stream)) return leave(INVALID_HANDLE);
    return leave(submit(stream, (Job){.kind = RECORD, .event = event}));
}
int cudaEventSynchronize(Event *event) {
    ENTER();
    if (!is_event(event)) return leave(INVALID_HANDLE);
    while (event->pending) pthread_cond_wait(&changed, &lock);
    return leave(sticky_error);
}
int cudaEventQuery(Event *event) {
    ENTER();
    if (!is_event(event)) return leave(INVALID_HANDLE);
    return leave(event->pending ? NOT_READY : SUCCESS);
}
int cudaEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    ENTER();
    if (!milliseconds) return leave(INVALID_VALUE);
    if (!is_event(start) || !is_event(end) || !start->recorded || !end->recorded) return leave(INVALID_HANDLE);
    if (start->pending || end->pending) return leave(NOT_READY);
    *milliseconds = (float)((double)(end->at.tv_sec - start->at.tv_sec) * 1e3
                            + (double)(end->at.tv_nsec - start->at.tv_nsec) / 1e6);
    return leave(SUCCESS);
}

const char *cudaGetErrorName(int code) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == code) return errors[i].name;
    }
    return "unrecognized error code";
}
const char *cudaGetErrorString(int code) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == code) return errors[i].text;
    }
    return "unrecognized error code";
}
int cudaPeekAtLastError(void) { return sticky_error ? sticky_error : last_error; }
int cudaGetLastError(void) {
    int code = cudaPeekAtLastError();
    last_error = SUCCESS;
    return code;
}

/* For the stand-in's engine and for tests; no names of CUDA's. */

/* Where the bytes of device memory are; NULL where the range is no live device memory. */
char *standin_bytes(const void *address, size_t size) {
    pthread_mutex_lock(&lock);
    Block *block = block_of(address, size);
    char *bytes = block && block->on_device ? bytes_at(block, address) : NULL;
    if (!bytes) refused_addresses++;
    pthread_mutex_unlock(&lock);
    return bytes;
}
/* An engine's work that went wrong: as after a kernel that read where nothing is. */
void standin_break(int code) {
    pthread_mutex_lock(&lock);
    finish(code);
    pthread_mutex_unlock(&lock);
}
long standin_count(const char *what) {
    long count = 0;
    pthread_mutex_lock(&lock);
    if (!strcmp(what, "device_blocks") || !strcmp(what, "host_blocks")) {
        for (Block *block = blocks; block; block = block->next) count += block->on_device == (*what == 'd');
    } else if (!strcmp(what, "streams")) {
        for (Stream *stream = streams; stream; stream = stream->next) count++;
    } else if (!strcmp(what, "events")) {
        for (Event *event = events; event; event = event->next) count++;
    } else if (!strcmp(what, "device_bytes")) count = (long)device_bytes;
    else if (!strcmp(what, "most_device_bytes")) count = (long)most_device_bytes;
    else if (!strcmp(what, "pageable_copies")) count = pageable_copies;
    else if (!strcmp(what, "refused_addresses")) count = refused_addresses;
    else if (!strcmp(what, "calls")) count = calls;
    else count = -1;
    pthread_mutex_unlock(&lock);
    return count;
}

/* STANDIN_REPORT=FILE: a line of what is still held when the process ends. */
__attribute__((destructor)) static void report(void) {
    const char *path = getenv("STANDIN_REPORT");
    const char *names[] = {"device_blocks", "host_blocks", "streams", "events", "most_device_bytes",
                           "pageable_copies", "refused_addresses", "calls"};
    FILE *file = path && calls ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "{\"pid\": %ld", (long)getpid());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fprintf(file, ", \"%s\": %ld", names[i], standin_count(names[i]));
    }
    fprintf(file, "}\n");
    fclose(file);
}
