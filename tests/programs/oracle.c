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
#include <unistd.h>

struct counts {
    _Atomic uint64_t allocations, frees, bytes;
};

static struct counts until_mapped;
static struct counts *counts = &until_mapped;

/* dlsym may call calloc before the real one is known. */
static _Alignas(16) char early[4096];
static size_t early_used;

#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* The environment reaches tidemark as well, whose own allocations are not the program's. */
static int is_tidemark(void)
{
    static const char own[] = "/tidemark";
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path));

    return size >= (ssize_t)sizeof(own) - 1 &&
           !memcmp(path + size - (sizeof(own) - 1), own, sizeof(own) - 1);
}

/* Maps the file when the first block is asked for, which is before any constructor of ours runs. */
static void start(void)
{
    static atomic_flag started = ATOMIC_FLAG_INIT;
    /* Not getenv: bash has its own, which allocates. */
    const char *name = secure_getenv("ORACLE_FILE");
    int saved_errno = errno;

    if (!name || atomic_flag_test_and_set(&started) || is_tidemark())
        return;
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0 && ftruncate(file, sizeof(*counts)) == 0) {
        /* By the kernel's number: the mapping is ours and not the program's. */
        void *area =
            (void *)syscall(9, 0, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (area != MAP_FAILED)
            counts = area;
    }
    close(file);
    errno = saved_errno;
}

static void *allocated(void *block, size_t size)
{
    if (block) {
        start();
        counts->allocations++;
        counts->bytes += size;
    }
    return block;
}

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);

void *malloc(size_t size)
{
    NEXT(malloc);
    return allocated(next(size), size);
}

void *calloc(size_t count, size_t size)
{
    static void *(*next)(size_t, size_t);
    static _Thread_local int inside;

    if (!next) {
        if (inside) {
            void *block = early + early_used;

            early_used += (count * size + 15) & ~(size_t)15;
            return block;
        }
        inside = 1;
        next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
        inside = 0;
    }
    return allocated(next(count, size), count * size);
}

/* glibc's reallocarray comes here too. */
void *realloc(void *old, size_t size)
{
    NEXT(realloc);
    void *block = next(old, size);

    if (old && (block || !size))
        counts->frees++;
    return allocated(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    NEXT(posix_memalign);
    int result = next(block, alignment, size);

    if (!result)
        allocated(*block, size);
    return result;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    NEXT(aligned_alloc);
    return allocated(next(alignment, size), size);
}

void *memalign(size_t alignment, size_t size)
{
    void *(*next)(size_t, size_t) = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    return allocated(next(alignment, size), size);
}

void *valloc(size_t size)
{
    NEXT(valloc);
    return allocated(next(size), size);
}

void *pvalloc(size_t size)
{
    void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");
    return allocated(next(size), size);
}

void free(void *block)
{
    NEXT(free);

    if ((char *)block >= early && (char *)block < early + sizeof(early))
        return;
    if (block)
        counts->frees++;
    next(block);
}
