/* Stands in for CUDA's driver (libcuda) on a machine without a GPU: it accepts every call and computes nothing.
 *
 * With it CUDA's runtime compiler (NVRTC) compiles kernels as on a Hopper GPU, whose properties it claims. Memory is the
 * process's own. NVRTC looks for a driver itself and needs a real one, so this must not be named libcuda.so.1. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int result; /* CUresult: 0 is success. */
typedef uint64_t address;
typedef void *handle;

/* Room behind an allocation, for what is rounded up. */
enum { SLACK = 512 };

static size_t kernels = 0;

result cuInit(unsigned flags) { (void)flags; return 0; }
result cuDriverGetVersion(int *version) { *version = 13000; return 0; }
result cuGetErrorName(result error, const char **text) { (void)error; *text = "none"; return 0; }
result cuGetErrorString(result error, const char **text) { (void)error; *text = "no error"; return 0; }

/* Devices and contexts. */

result cuDeviceGetCount(int *count) { *count = 1; return 0; }
result cuDeviceGet(int *device, int number) { *device = number; return 0; }
result cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)80 << 30; return 0; }
result cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    strncpy(name, "no GPU", (size_t)length);
    return 0;
}
result cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break; /* Threads of a block, and along x and y. */
    case 4: *value = 64; break;                   /* Along z. */
    case 5: *value = 2147483647; break;           /* Blocks along x. */
    case 6: case 7: *value = 65535; break;        /* Along y and z. */
    case 8: *value = 49152; break;                /* Shared memory of a block. */
    case 10: *value = 32; break;                  /* Threads of a warp. */
    case 16: *value = 132; break;                 /* Multiprocessors. */
    case 75: *value = 9; break;                   /* Compute capability 9.0. */
    case 76: *value = 0; break;
    case 97: *value = 232448; break;              /* Shared memory of a block that asks for more. */
    default: *value = 1;
    }
    return 0;
}
result cuDevicePrimaryCtxRetain(handle *context, int device) { (void)device; *context = &kernels; return 0; }
result cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return 0; }
result cuCtxSetCurrent(handle context) { (void)context; return 0; }
result cuCtxGetCurrent(handle *context) { *context = &kernels; return 0; }
result cuCtxSynchronize(void) { return 0; }

/* Streams and events: all is done when it is asked for. */

result cuStreamCreate(handle *stream, unsigned flags) { (void)flags; *stream = &kernels; return 0; }
result cuStreamSynchronize(handle stream) { (void)stream; return 0; }
result cuStreamDestroy_v2(handle stream) { (void)stream; return 0; }
result cuStreamWaitEvent(handle stream, handle event, unsigned flags) {
    (void)stream; (void)event; (void)flags;
    return 0;
}
result cuEventCreate(handle *event, unsigned flags) { (void)flags; *event = &kernels; return 0; }
result cuEventRecord(handle event, handle stream) { (void)event; (void)stream; return 0; }
result cuEventSynchronize(handle event) { (void)event; return 0; }
result cuEventQuery(handle event) { (void)event; return 0; }
result cuEventDestroy_v2(handle event) { (void)event; return 0; }

/* Memory. */

static result allocate(void **memory, size_t bytes) {
    *memory = calloc(1, bytes + SLACK);
    return *memory ? 0 : 2;
}
result cuMemAlloc_v2(address *memory, size_t bytes) { return allocate((void **)memory, bytes); }
result cuMemAllocAsync(address *memory, size_t bytes, handle stream) {
    (void)stream;
    return allocate((void **)memory, bytes);
}
result cuMemAllocHost_v2(void **memory, size_t bytes) { return allocate(memory, bytes); }
result cuMemFree_v2(address memory) { free((void *)memory); return 0; }
result cuMemFreeAsync(address memory, handle stream) { (void)stream; free((void *)memory); return 0; }
result cuMemFreeHost(void *memory) { free(memory); return 0; }
result cuMemGetInfo_v2(size_t *unused, size_t *all) { *unused = *all = (size_t)80 << 30; return 0; }
result cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, handle stream) {
    (void)stream;
    memcpy((void *)to, from, bytes);
    return 0;
}
result cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, handle stream) {
    (void)stream;
    memcpy(to, (void *)from, bytes);
    return 0;
}
result cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, handle stream) {
    (void)stream;
    memmove((void *)to, (void *)from, bytes);
    return 0;
}
result cuMemsetD8Async(address memory, unsigned char value, size_t bytes, handle stream) {
    (void)stream;
    memset((void *)memory, value, bytes);
    return 0;
}

/* CUDA_MEMCPY2D: the source, then the destination, then their size. Kind 1 is the host's memory. */
struct side { size_t x, y; unsigned kind; void *host; address device; handle array; size_t pitch; };
struct copy { struct side from, to; size_t width, height; };
static char *row(const struct side *side, size_t number) {
    char *start = side->kind == 1 ? side->host : (char *)side->device;
    return start + (side->y + number) * side->pitch + side->x;
}
result cuMemcpy2DAsync_v2(const struct copy *copy, handle stream) {
    (void)stream;
    for (size_t at = 0; at < copy->height; at++) memcpy(row(&copy->to, at), row(&copy->from, at), copy->width);
    return 0;
}

/* Kernels. */

result cuModuleLoadData(handle *module, const void *image) { (void)image; *module = (handle)++kernels; return 0; }
result cuModuleUnload(handle module) { (void)module; return 0; }
result cuModuleGetFunction(handle *function, handle module, const char *name) {
    (void)name;
    *function = module;
    return 0;
}
result cuFuncSetAttribute(handle function, int attribute, int value) {
    (void)function; (void)attribute; (void)value;
    return 0;
}
result cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, handle stream, void **arguments, void **extra) {
    (void)function; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz;
    (void)shared; (void)stream; (void)arguments; (void)extra;
    return 0;
}
