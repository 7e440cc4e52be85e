/* Allocates known amounts of device memory through CUDA's runtime, which is linked statically. */
#include <cstdio>
#include <cuda_runtime.h>

static void check(cudaError_t e)
{
    if (e != cudaSuccess) {
        printf("error: %s\n", cudaGetErrorString(e));
        exit(1);
    }
}

#define MIB ((size_t)1 << 20)

__attribute__((noinline)) static void *plain(size_t size)
{
    void *p;
    check(cudaMalloc(&p, size));
    return p;
}

__attribute__((noinline)) static void *managed(size_t size)
{
    void *p;
    check(cudaMallocManaged(&p, size));
    return p;
}

__attribute__((noinline)) static void *pitched(size_t width, size_t height, size_t *pitch)
{
    void *p;
    check(cudaMallocPitch(&p, pitch, width, height));
    return p;
}

__attribute__((noinline)) static void *ordered(size_t size, cudaStream_t stream)
{
    void *p;
    check(cudaMallocAsync(&p, size, stream));
    return p;
}

int main()
{
    cudaStream_t stream;
    size_t pitch;
    check(cudaStreamCreate(&stream));
    void *a = plain(300 * MIB), *b = plain(64 * MIB), *m = managed(32 * MIB), *p = pitched(1000, 1000, &pitch);
    void *o = ordered(16 * MIB, stream);
    check(cudaMemset(a, 1, 300 * MIB));
    check(cudaStreamSynchronize(stream));
    check(cudaFreeAsync(o, stream));
    check(cudaStreamSynchronize(stream));
    check(cudaFree(a));
    check(cudaFree(m));
    for (int i = 0; i < 1000; i++)
        check(cudaFree(plain(MIB)));
    printf("pitch %zu, left %p %p\n", pitch, b ? (void *)1 : b, p ? (void *)1 : p);
    return 0;
}
