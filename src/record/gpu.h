/*
 * gpu: memory of graphics processors. The program gets it from CUDA's driver (libcuda), and PyTorch
 * divides it among tensors.
 *
 * Programs reach the driver in ways that pass no symbol that we could export: CUDA's runtime, which
 * is mostly linked statically, asks the driver for its functions. So the entries of the driver's
 * functions are replaced (entry_patch.h), and so is the one function to which PyTorch's caching
 * allocator reports every block. This is done when an address of the file is seen for the first
 * time. The loader is still starting the file then, or the driver is being initialised: nobody can
 * have memory from it yet, so no thread is executing these functions. While stacks are not walked,
 * an address may be seen much later, so each file is checked when the loader has mapped it: while
 * recording is paused, when the loader allocates (event.c); with --sample and --dormant, when it
 * calls its function for debuggers (mark_on.c).
 *
 * Not counted: memory that the driver takes for itself (contexts, code, stacks), arrays and
 * textures (cuArrayCreate), and what other processes share with this one. [malloc-free]
 */
#ifndef TIDE_RECORD_GPU_H
#define TIDE_RECORD_GPU_H

#include <link.h>

/* The driver's functions, and that of PyTorch under the names that its versions give it. */
#define GPU_DRIVER_FUNCTIONS(F)                                                                    \
    F(cuMemAlloc_v2)                                                                               \
    F(cuMemAllocPitch_v2)                                                                          \
    F(cuMemAllocManaged)                                                                           \
    F(cuMemAllocAsync)                                                                             \
    F(cuMemAllocAsync_ptsz)                                                                        \
    F(cuMemAllocFromPoolAsync)                                                                     \
    F(cuMemAllocFromPoolAsync_ptsz)                                                                \
    F(cuMemCreate)                                                                                 \
    F(cuMemRetainAllocationHandle)                                                                 \
    F(cuMemImportFromShareableHandle)                                                              \
    F(cuMemMap)                                                                                    \
    F(cuMemUnmap)                                                                                  \
    F(cuMemFree_v2)                                                                                \
    F(cuMemFreeAsync)                                                                              \
    F(cuMemFreeAsync_ptsz)                                                                         \
    F(cuMemRelease)
#define GPU_TENSOR_FUNCTIONS(F)                                                                    \
    F(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)                                       \
    F(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)

enum gpu_function {
#define GPU_NUMBER(name) GPU_##name,
    GPU_DRIVER_FUNCTIONS(GPU_NUMBER) GPU_TENSOR_FUNCTIONS(GPU_NUMBER)
#undef GPU_NUMBER
        GPU_FUNCTIONS
};

/* The original functions, by number. */
extern void *gpu_next[GPU_FUNCTIONS];

/* Replaces the functions that this file has. Under modules.c's lock. */
void gpu_check_file(const struct link_map *m);
/* The same for all files that were loaded since the last call. Under modules.c's lock, by the
 * thread that loads, or while there is no other. */
void gpu_check_loaded(void);
/* Tells the collector of this process what is replaced already; after each connect. */
void gpu_reset(void);
/* Lists the functions of files that were loaded before `tidemark attach` (attach.h). Call it
 * once. */
void gpu_take_over_loaded(void);

#endif
