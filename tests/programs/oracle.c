/*
 * A second opinion, to be preloaded: counts what passes through the malloc family into the file
 * named by ORACLE_FILE, which is mapped, so that the counts are there however the program ends. It
 * also stands for any library that a user preloads. Counts as the contract says: realloc is a free
 * and an allocation.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counts {
    _Atomic uint64_t allocations, frees, bytes;
};

static struct counts until_mapped;
static struct counts *counts = &until_mapped;

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
} next;

/* For what dlsym allocates before the next functions are known. */
static _Alignas(16) char early[4096];
static size_t early_used;
static int resolving;

static void *early_block(size_t size)
{
    void *block = early + early_used;

    early_used += (size + 15) & ~(size_t)15;
    return block;
}

static int is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

/* The environment reaches tidemark as well, whose own allocations are not the program's. */
static int is_tidemark(void)
{
    static const char own[] = "/tidemark";
    const ssize_t own_size = sizeof(own) - 1;
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path));

    return size >= own_size && !memcmp(path + size - own_size, own, (size_t)own_size);
}

/* By system call: the mapping is ours and not the program's. */
static void map_counts(void)
{
    /* Not getenv: bash has its own, which allocates. */
    const char *name = secure_getenv("ORACLE_FILE");

    if (!name || is_tidemark())
        return;
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(*counts)))
        return;
    long area = syscall(SYS_mmap, 0, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (area > 0)
        counts = (struct counts *)area;
    close(file);
}

/* With the first call, which comes before any constructor of ours and before there are threads. */
static void resolve(void)
{
    int saved_errno = errno;

    resolving = 1;
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next.valloc = dlsym(RTLD_NEXT, "valloc");
    *(void **)&next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
    *(void **)&next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    resolving = 0;
    map_counts();
    errno = saved_errno;
}

static void *allocated(void *block, size_t size)
{
    if (block) {
        counts->allocations++;
        counts->bytes += size;
    }
    return block;
}

#define RESOLVE_OR_EARLY(size)                                                                     \
    do {                                                                                           \
        if (resolving)                                                                             \
            return early_block(size);                                                              \
        if (!next.free)                                                                            \
            resolve();                                                                             \
    } while (0)

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);

void *malloc(size_t size)
{
    RESOLVE_OR_EARLY(size);
    return allocated(next.malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
    RESOLVE_OR_EARLY(count * size);
    return allocated(next.calloc(count, size), count * size);
}

/* glibc's reallocarray comes here too. */
void *realloc(void *old, size_t size)
{
    RESOLVE_OR_EARLY(size);
    void *block = next.realloc(old, size);

    if (old && (block || !size))
        counts->frees++;
    return allocated(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (!next.free)
        resolve();
    int result = next.posix_memalign(block, alignment, size);

    if (!result)
        allocated(*block, size);
    return result;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    RESOLVE_OR_EARLY(size);
    return allocated(next.aligned_alloc(alignment, size), size);
}

void *memalign(size_t alignment, size_t size)
{
    RESOLVE_OR_EARLY(size);
    return allocated(next.memalign(alignment, size), size);
}

void *valloc(size_t size)
{
    RESOLVE_OR_EARLY(size);
    return allocated(next.valloc(size), size);
}

void *pvalloc(size_t size)
{
    RESOLVE_OR_EARLY(size);
    return allocated(next.pvalloc(size), size);
}

void free(void *block)
{
    if (!block || is_early(block) || resolving)
        return;
    if (!next.free)
        resolve();
    counts->frees++;
    next.free(block);
}
