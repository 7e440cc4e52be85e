/*
 * The hooks for memory of graphics processors (gpu.h). The functions' own code jumps to them, and
 * they continue there. Compiled with frame pointers (CALLER()). What the driver allocates from the
 * heap meanwhile is recorded as usual, so an allocation is recorded when the original function has
 * returned. A free is recorded before: another thread that gets the address next records it later.
 * If the driver refuses it, that is recorded, too.
 */
#include "record/gpu.h"
#include "record/recorder.h"

#define HOOK_OF(name)  gpu_hook_##name
#define DEVICE         1 /* CU_MEM_LOCATION_TYPE_DEVICE */
#define PROCESSOR_TYPE 0 /* c10::DeviceType::CPU: what its tensors take is in the heap */

typedef unsigned long long device_address;
typedef unsigned long long memory_handle;

/* CUmemAllocationProp, as far as it matters. */
struct memory_properties {
    int type, handle_types;
    struct {
        int type, number;
    } location;
};

/* c10::Device */
struct tensor_device {
    int8_t type, number;
};

static inline __attribute__((always_inline)) void record(unsigned pool, uint64_t address,
                                                         size_t size, const uint64_t *caller)
{
    struct thread *t = address ? thread_enter() : NULL; /* no bytes are at address 0 */
    if (!t)
        return;
    if (!recorder_paused())
        event_gpu_alloc(t, pool, address, size, caller);
    thread_leave();
}

static inline __attribute__((always_inline)) void record_free(unsigned pool, uint64_t address)
{
    struct thread *t = address ? thread_enter() : NULL;
    if (!t)
        return;
    event_pool_free(t, pool, (const void *)(uintptr_t)address);
    thread_leave();
}

/* Followed while recording is paused, like a free: the memory may be recorded. */
static void record_reference(enum wire_unmap what, uint64_t address, uint64_t first,
                             uint64_t second)
{
    struct thread *t = thread_enter();
    if (!t)
        return;
    event_gpu_reference(t, what, address, first, second);
    thread_leave();
}

/* Is the memory still there? Other errors are of what was done before, or the driver is ending, and
 * takes the memory along. */
static bool is_refused(int result)
{
    return result == 1 /* CUDA_ERROR_INVALID_VALUE */ || result == 201 /* .._INVALID_CONTEXT */ ||
           result == 400 /* .._INVALID_HANDLE */ || result == 800 /* .._NOT_PERMITTED */ ||
           result == 801 /* .._NOT_SUPPORTED */ ||
           (result >= 900 && result <= 908) /* .._STREAM_CAPTURE_.. */;
}

/* `note` is done if the call succeeded. */
#define NOTING(name, parameters, arguments, note)                                                  \
    int HOOK_OF(name) parameters;                                                                  \
    int HOOK_OF(name) parameters                                                                   \
    {                                                                                              \
        int(*function) parameters = gpu_next[GPU_##name];                                          \
        int result = function arguments;                                                           \
        if (result == 0)                                                                           \
            note;                                                                                  \
        return result;                                                                             \
    }

#define ALLOCATING(name, pool, size, parameters, arguments)                                        \
    NOTING(name, parameters, arguments, record(pool, *out, size, CALLER()))

#define FREEING(name, pool, parameters, arguments)                                                 \
    int HOOK_OF(name) parameters;                                                                  \
    int HOOK_OF(name) parameters                                                                   \
    {                                                                                              \
        int(*function) parameters = gpu_next[GPU_##name];                                          \
        record_free(pool, block);                                                                  \
        int result = function arguments;                                                           \
        if (UNLIKELY(block && is_refused(result)))                                                 \
            record_reference(WIRE_GPU_REFUSED, block, 0, 0);                                       \
        return result;                                                                             \
    }

ALLOCATING(cuMemAlloc_v2, WIRE_POOL_GPU, size, (device_address * out, size_t size), (out, size))
ALLOCATING(cuMemAllocPitch_v2, WIRE_POOL_GPU, *pitch *height,
           (device_address * out, size_t *pitch, size_t width, size_t height, unsigned element),
           (out, pitch, width, height, element))
ALLOCATING(cuMemAllocManaged, WIRE_POOL_GPU, size,
           (device_address * out, size_t size, unsigned flags), (out, size, flags))
ALLOCATING(cuMemAllocAsync, WIRE_POOL_GPU, size, (device_address * out, size_t size, void *stream),
           (out, size, stream))
ALLOCATING(cuMemAllocAsync_ptsz, WIRE_POOL_GPU, size,
           (device_address * out, size_t size, void *stream), (out, size, stream))
ALLOCATING(cuMemAllocFromPoolAsync, WIRE_POOL_GPU, size,
           (device_address * out, size_t size, void *pool, void *stream), (out, size, pool, stream))
ALLOCATING(cuMemAllocFromPoolAsync_ptsz, WIRE_POOL_GPU, size,
           (device_address * out, size_t size, void *pool, void *stream), (out, size, pool, stream))
FREEING(cuMemFree_v2, WIRE_POOL_GPU, (device_address block), (block))
FREEING(cuMemFreeAsync, WIRE_POOL_GPU, (device_address block, void *stream), (block, stream))
FREEING(cuMemFreeAsync_ptsz, WIRE_POOL_GPU, (device_address block, void *stream), (block, stream))
/* The memory itself stays for as long as it is mapped, or the handle was retained. */
FREEING(cuMemRelease, WIRE_POOL_GPU_HANDLES, (memory_handle block), (block))

/* The memory may also be the host's. */
int HOOK_OF(cuMemCreate)(memory_handle *out, size_t size, const struct memory_properties *of,
                         unsigned long long flags);
int HOOK_OF(cuMemCreate)(memory_handle *out, size_t size, const struct memory_properties *of,
                         unsigned long long flags)
{
    int (*function)(memory_handle *, size_t, const struct memory_properties *, unsigned long long) =
        gpu_next[GPU_cuMemCreate];
    int result = function(out, size, of, flags);
    if (result == 0 && of->location.type == DEVICE)
        record(WIRE_POOL_GPU_HANDLES, *out, size, CALLER());
    return result;
}

NOTING(cuMemRetainAllocationHandle, (memory_handle * out, void *address), (out, address),
       record_reference(WIRE_GPU_RETAINED, *out, 0, 0))
NOTING(cuMemImportFromShareableHandle, (memory_handle * out, void *shareable, int type),
       (out, shareable, type), record_reference(WIRE_GPU_RETAINED, *out, 0, 0))
NOTING(cuMemMap,
       (device_address to, size_t size, size_t offset, memory_handle handle,
        unsigned long long flags),
       (to, size, offset, handle, flags), record_reference(WIRE_GPU_MAPPED, to, handle, size))

int HOOK_OF(cuMemUnmap)(device_address from, size_t size);
int HOOK_OF(cuMemUnmap)(device_address from, size_t size)
{
    int (*function)(device_address, size_t) = gpu_next[GPU_cuMemUnmap];
    record_reference(WIRE_GPU_UNMAPPED, from, size, 0);
    return function(from, size);
}

/* PyTorch calls it for each block of its caching allocator: a negative size is a free. */
#define REPORTING(name)                                                                            \
    void HOOK_OF(name)(void *block, int64_t size, size_t allocated, size_t reserved,               \
                       struct tensor_device device);                                               \
    void HOOK_OF(name)(void *block, int64_t size, size_t allocated, size_t reserved,               \
                       struct tensor_device device)                                                \
    {                                                                                              \
        void (*function)(void *, int64_t, size_t, size_t, struct tensor_device) =                  \
            gpu_next[GPU_##name];                                                                  \
        if (device.type != PROCESSOR_TYPE && size < 0)                                             \
            record_free(WIRE_POOL_TENSORS, (uintptr_t)block);                                      \
        else if (device.type != PROCESSOR_TYPE && size > 0)                                        \
            record(WIRE_POOL_TENSORS, (uintptr_t)block, (size_t)size, CALLER());                   \
        function(block, size, allocated, reserved, device);                                        \
    }
GPU_TENSOR_FUNCTIONS(REPORTING)
