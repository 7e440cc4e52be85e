/*
 * A stand-in for CUDA's driver (libcuda.so.1): it hands out addresses and touches no memory there.
 * As the real one does, it keeps what it knows about a block in the heap, and says that it is not
 * initialised until cuInit was called.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT          __attribute__((visibility("default"), noinline))
#define NOT_INITIALISED 3
#define OUT_OF_MEMORY   2
#define INVALID         1
#define MOST            ((size_t)1 << 40)

struct block {
    unsigned long long address;
    size_t size;
    struct block *next;
    unsigned references;
};
static struct block *blocks;
static unsigned long long next_address = 0x7f0000000000, next_handle = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *initialised;

EXPORT int cuInit(unsigned flags)
{
    initialised = malloc(100 + flags);
    return 0;
}

static int give(unsigned long long *out, size_t size, unsigned long long *from, size_t step)
{
    struct block *b = malloc(sizeof *b);
    if (!initialised || !b || size > MOST) {
        free(b);
        return initialised ? OUT_OF_MEMORY : NOT_INITIALISED;
    }
    pthread_mutex_lock(&lock);
    *out = *from;
    *from += step;
    *b = (struct block){*out, size, blocks, 1};
    blocks = b;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int take(unsigned long long address)
{
    pthread_mutex_lock(&lock);
    struct block **at = &blocks, *b;
    while ((b = *at) && b->address != address)
        at = &b->next;
    if (b) {
        *at = b->next;
        if (b->address + b->size == next_address)
            next_address = b->address; /* the next block gets this address again */
    }
    pthread_mutex_unlock(&lock);
    free(b);
    return b ? 0 : INVALID;
}

EXPORT int cuMemAlloc_v2(unsigned long long *out, size_t size)
{
    return give(out, size, &next_address, size);
}

EXPORT int cuMemAllocPitch_v2(unsigned long long *out, size_t *pitch, size_t width, size_t height,
                              unsigned element)
{
    *pitch = (width + 511) / 512 * 512 + 0 * element;
    return give(out, *pitch * height, &next_address, *pitch * height);
}

EXPORT int cuMemAllocManaged(unsigned long long *out, size_t size, unsigned flags)
{
    return give(out, size + 0 * flags, &next_address, size);
}

/* As the real one does: no bytes are at address 0. */
static int give_some(unsigned long long *out, size_t size)
{
    *out = 0;
    return size ? give(out, size, &next_address, size) : 0;
}

#define ASYNC(name)                                                                                \
    EXPORT int name(unsigned long long *out, size_t size, void *stream)                            \
    {                                                                                              \
        return stream ? INVALID : give_some(out, size);                                            \
    }
ASYNC(cuMemAllocAsync)
ASYNC(cuMemAllocAsync_ptsz)

#define FROM_POOL(name)                                                                            \
    EXPORT int name(unsigned long long *out, size_t size, void *pool, void *stream)                \
    {                                                                                              \
        return stream || pool ? INVALID : give(out, size, &next_address, size);                    \
    }
FROM_POOL(cuMemAllocFromPoolAsync)
FROM_POOL(cuMemAllocFromPoolAsync_ptsz)

struct properties {
    int type, handle_types, location_type, location;
};

EXPORT int cuMemCreate(unsigned long long *out, size_t size, const struct properties *of,
                       unsigned long long flags)
{
    return of->type != 1 || flags ? INVALID : give(out, size, &next_handle, 1);
}

/* What is mapped: the handle's memory stays until it is unmapped. */
static struct mapping {
    unsigned long long address, handle;
    size_t size;
} mappings[16];

static struct block *find(unsigned long long address)
{
    struct block *b = blocks;
    while (b && b->address != address)
        b = b->next;
    return b;
}

static int release(unsigned long long handle)
{
    struct block *b = find(handle);
    if (b && b->references > 1) {
        b->references--;
        return 0;
    }
    return take(handle);
}

EXPORT int cuMemRelease(unsigned long long handle)
{
    return release(handle);
}

EXPORT int cuMemMap(unsigned long long address, size_t size, size_t offset,
                    unsigned long long handle, unsigned long long flags)
{
    struct block *b = find(handle);
    struct mapping *m = mappings;
    while (m->size)
        m++;
    if (!b || offset || flags || size != b->size)
        return INVALID;
    b->references++;
    *m = (struct mapping){address, handle, size};
    return 0;
}

EXPORT int cuMemUnmap(unsigned long long address, size_t size)
{
    size_t found = 0;
    for (struct mapping *m = mappings; m < mappings + 16; m++)
        if (m->size && m->address >= address && m->address < address + size) {
            release(m->handle);
            found += m->size;
            m->size = 0;
        }
    return found == size ? 0 : INVALID;
}

EXPORT int cuMemRetainAllocationHandle(unsigned long long *handle, void *address)
{
    struct mapping *m = mappings;
    while (m->address != (size_t)address || !m->size)
        m++;
    *handle = m->handle;
    find(m->handle)->references++;
    return 0;
}

EXPORT int cuMemImportFromShareableHandle(unsigned long long *handle, void *shareable, int type)
{
    struct block *b = find((size_t)shareable);
    if (!b || type != 1)
        return INVALID;
    b->references++;
    *handle = b->address;
    return 0;
}

EXPORT int cuMemFree_v2(unsigned long long address)
{
    return take(address);
}

EXPORT int cuMemFreeAsync(unsigned long long address, void *stream)
{
    return stream ? INVALID : take(address);
}

EXPORT int cuMemFreeAsync_ptsz(unsigned long long address, void *stream)
{
    return stream ? INVALID : take(address);
}

struct function {
    const char *name;
    void *address;
};
#define FUNCTION(name)                                                                             \
    {                                                                                              \
#name, (void *)name                                                                        \
    }

/* The runtime asks for functions in this way, and not the loader. */
EXPORT int cuGetProcAddress_v2(const char *name, void **out)
{
    static const struct function functions[] = {FUNCTION(cuMemAlloc_v2),
                                                FUNCTION(cuMemAllocPitch_v2),
                                                FUNCTION(cuMemAllocManaged),
                                                FUNCTION(cuMemAllocAsync),
                                                FUNCTION(cuMemAllocAsync_ptsz),
                                                FUNCTION(cuMemAllocFromPoolAsync),
                                                FUNCTION(cuMemAllocFromPoolAsync_ptsz),
                                                FUNCTION(cuMemCreate),
                                                FUNCTION(cuMemRetainAllocationHandle),
                                                FUNCTION(cuMemImportFromShareableHandle),
                                                FUNCTION(cuMemMap),
                                                FUNCTION(cuMemUnmap),
                                                FUNCTION(cuMemFree_v2),
                                                FUNCTION(cuMemFreeAsync),
                                                FUNCTION(cuMemFreeAsync_ptsz),
                                                FUNCTION(cuMemRelease)};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) {
            *out = functions[i].address;
            return 0;
        }
    return INVALID;
}
