/*
 * gpu MODE DRIVER TENSORS: memory of graphics processors, from stand-ins for CUDA's driver and for
 * PyTorch that are loaded by these paths. It prints the sum of what the driver gave, and how often it
 * refused.
 *
 * plain: known blocks by every function, live at marks.
 *
 * threads: 4 threads allocate and free, also each other's blocks.
 *
 * mapped: memory by handles that are released while it is mapped, or after they were retained.
 *
 * resumed: the driver is loaded and used while recording is paused.
 *
 * later: the driver is loaded and used, and used again after a line on stdin.
 *
 * refused: the driver refuses to free live blocks, and a block that was freed.
 *
 * before: its peak is before the heap's.
 *
 * wrapped: some calls reach the driver through a library of the same names, the last argument.
 *
 * reload: the driver is loaded, unloaded, and loaded again.
 *
 * child: a child process alone uses the driver; its parent has the larger heap.
 *
 * wait: it allocates what `plain` does when it is told to by a line on stdin.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidemark.h"

#define MIB     ((size_t)1 << 20)
#define THREADS 4
#define ROUNDS  2000

typedef unsigned long long address;
struct properties {
    int type, handle_types, location_type, location;
};
struct device {
    int8_t type, number;
};

static void *driver, *tensors;
static unsigned refused;
static size_t given;

static void *driver_function(const char *name)
{
    int (*get)(const char *, void **);
    void *f = dlsym(driver, "cuGetProcAddress_v2");
    memcpy(&get, &f, sizeof f);
    if (get(name, &f))
        abort();
    return f;
}

static int check(int result, size_t size)
{
    if (result)
        refused++;
    else
        given += size;
    return result;
}

#define CALL(name, ...)                                                                            \
    __extension__({                                                                                \
        int (*function)() = __extension__(int (*)()) driver_function(#name);                       \
        function(__VA_ARGS__);                                                                     \
    })

static void load(const char *path)
{
    int (*init)(unsigned);
    driver = dlopen(path, RTLD_NOW);
    void *f = driver ? dlsym(driver, "cuInit") : NULL;
    if (!f)
        abort();
    memcpy(&init, &f, sizeof f);
    init(0);
}

__attribute__((noinline)) static address large(void)
{
    address a = 0;
    check(CALL(cuMemAlloc_v2, &a, 100 * MIB), 100 * MIB);
    return a;
}

__attribute__((noinline)) static address small(int i)
{
    address a = 0;
    switch (i % 5) {
    case 0:
        check(CALL(cuMemAllocManaged, &a, MIB, 1u), MIB);
        break;
    case 1:
        check(CALL(cuMemAllocAsync, &a, MIB, NULL), MIB);
        break;
    case 2:
        check(CALL(cuMemAllocAsync_ptsz, &a, MIB, NULL), MIB);
        break;
    case 3:
        check(CALL(cuMemAllocFromPoolAsync, &a, MIB, NULL, NULL), MIB);
        break;
    default:
        check(CALL(cuMemAllocFromPoolAsync_ptsz, &a, MIB, NULL, NULL), MIB);
        break;
    }
    return a;
}

__attribute__((noinline)) static address pitched(void)
{
    address a = 0;
    size_t pitch = 0;
    check(CALL(cuMemAllocPitch_v2, &a, &pitch, (size_t)100, (size_t)2048, 4u), 0);
    given += pitch * 2048;
    return a;
}

/* location_type: 1 for the device, 2 for the host. */
__attribute__((noinline)) static address created(int location_type)
{
    address handle = 0;
    struct properties of = {.type = 1, .location_type = location_type};
    check(CALL(cuMemCreate, &handle, 2 * MIB, &of, 0ull), 2 * MIB);
    return handle;
}

static void report(uintptr_t block, int64_t size, int8_t type)
{
    void (*function)(void *, int64_t, size_t, size_t, struct device);
    void *f = dlsym(tensors, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
    f = f ? f : dlsym(tensors, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
    memcpy(&function, &f, sizeof f);
    function((void *)block, size, 5, 5, (struct device){type, 0});
}

__attribute__((noinline)) static void tensor(uintptr_t block, size_t size)
{
    report(block, (int64_t)size, 1);
}

static void plain(void)
{
    address a[3], s[10], none = 0;
    for (int i = 0; i < 3; i++)
        a[i] = large();
    tide_mark("large");
    for (int i = 0; i < 10; i++)
        s[i] = small(i);
    address p = pitched(), device = created(1), host = created(2);
    check(CALL(cuMemAlloc_v2, &none, (size_t)1 << 50), 0); /* is refused */
    tide_mark("all");                                      /* the peak */
    CALL(cuMemFree_v2, a[2]);
    CALL(cuMemFree_v2, a[1]);
    for (int i = 0; i < 6; i++)
        i % 2 ? CALL(cuMemFreeAsync, s[i], NULL) : CALL(cuMemFreeAsync_ptsz, s[i], NULL);
    CALL(cuMemRelease, device);
    CALL(cuMemRelease, host);
    CALL(cuMemFree_v2, (address)0);     /* nothing */
    CALL(cuMemFree_v2, (address)12345); /* is refused */
    tide_mark("half");
    tide_pause();
    large();                  /* not recorded */
    CALL(cuMemFree_v2, s[9]); /* followed */
    tide_resume();
    CALL(cuMemFree_v2, p);
    if (!tensors)
        return;
    for (uintptr_t i = 0; i < 8; i++)
        tensor(4096 * i + 4096, 1000);
    tensor(1 << 20, 50000);
    for (uintptr_t i = 0; i < 4; i++)
        report(4096 * i + 4096, -1000, 1);
    report(1 << 20, -50000, 1);
    report(1 << 21, 77, 0); /* a tensor of the processor is in the heap */
    tide_mark("tensors");
}

static void resumed(const char *path)
{
    tide_pause();
    load(path);
    address a = large();
    tide_resume();
    large();
    large();
    CALL(cuMemFree_v2, a);
}

static void later(const char *path)
{
    char line[16];
    load(path);
    large();
    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin)) {
        large();
        large();
    }
}

static void freed_in_vain(void)
{
    address a = large(), b = large(), nothing = 1;
    CALL(cuMemFreeAsync, a, (void *)1); /* is refused */
    tide_mark("refused");
    large(); /* the peak */
    CALL(cuMemFree_v2, b);
    CALL(cuMemFreeAsync, (address)0, (void *)1); /* is refused */
    CALL(cuMemAllocAsync, &nothing, (size_t)0, NULL);
    CALL(cuMemFreeAsync, nothing, NULL);
    CALL(cuMemFree_v2, b); /* is refused */
    tide_mark("one freed");
    CALL(cuMemFreeAsync, a, NULL);
}

static void before(void)
{
    CALL(cuMemFree_v2, large());
    tide_mark("freed");
    void *volatile heap = malloc(8 * MIB);
    tide_mark("heap");
    free(heap);
}

/* The driver is asked for the wrapper's function first, as dlsym finds it. */
static void wrapped(const char *wrapper, const char *path)
{
    int (*alloc)(address *, size_t), (*give_back)(address);
    address a[3] = {0};
    void *library = dlopen(wrapper, RTLD_NOW), **to = dlsym(library, "wrapped");
    void *f = dlsym(library, "cuMemAlloc_v2"), *g = dlsym(library, "cuMemFree_v2");
    memcpy(&alloc, &f, sizeof f);
    memcpy(&give_back, &g, sizeof g);
    load(path);
    *to = driver;
    for (int i = 0; i < 3; i++)
        alloc(&a[i], MIB);
    give_back(a[0]);
    created(1);
    large();
}

static void mapped(void)
{
    address base = 0x600000000000, a = created(1), b = created(1), c = created(1), again = 0;
    check(CALL(cuMemMap, base, 2 * MIB, (size_t)0, a, 0ull), 0);
    check(CALL(cuMemMap, base + 2 * MIB, 2 * MIB, (size_t)0, b, 0ull), 0);
    CALL(cuMemRelease, a);
    CALL(cuMemRelease, b);
    tide_mark("released"); /* the mappings hold the memory of a and b */
    CALL(cuMemRetainAllocationHandle, &again, (void *)base);
    CALL(cuMemRelease, again);
    CALL(cuMemImportFromShareableHandle, &again, (void *)c, 1);
    CALL(cuMemRelease, again);
    tide_mark("retained");
    check(CALL(cuMemUnmap, base, 4 * MIB), 0);
    tide_mark("unmapped");
    check(CALL(cuMemMap, base, 2 * MIB, (size_t)0, c, 0ull), 0);
    tide_pause();
    check(CALL(cuMemMap, base + 4 * MIB, 2 * MIB, (size_t)0, c, 0ull), 0);
    check(CALL(cuMemUnmap, base, 2 * MIB), 0);
    tide_resume();
    CALL(cuMemRelease, c);
    tide_mark("followed");
    check(CALL(cuMemUnmap, base + 4 * MIB, 2 * MIB), 0);
}

static address shared[THREADS][ROUNDS];
static pthread_barrier_t all;

__attribute__((noinline)) static address in_thread(void)
{
    address a = 0;
    CALL(cuMemAlloc_v2, &a, 4096);
    return a;
}

static void *work(void *number)
{
    size_t own = (size_t)number, other = (own + 1) % THREADS;
    for (int i = 0; i < ROUNDS; i++)
        shared[own][i] = in_thread();
    pthread_barrier_wait(&all);
    for (int i = 0; i < ROUNDS; i++)
        if (i % 4)
            CALL(cuMemFree_v2, shared[other][i]);
    return NULL;
}

static void threads(void)
{
    pthread_t t[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

static void child(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        load(path);
        large();
        _exit(0);
    }
    void *volatile heap = malloc(8 * MIB);
    free(heap);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *mode = argv[1];
    char line[16];
    if (strcmp(mode, "child") == 0) {
        child(argv[2]);
        return 0;
    }
    if (strcmp(mode, "wrapped") == 0) {
        wrapped(argv[3], argv[2]);
        return 0;
    }
    if (strcmp(mode, "resumed") == 0) {
        resumed(argv[2]);
        return 0;
    }
    if (strcmp(mode, "later") == 0) {
        later(argv[2]);
        return 0;
    }
    load(argv[2]);
    if (argc > 3 && !(tensors = dlopen(argv[3], RTLD_NOW)))
        return 3;
    if (strcmp(mode, "reload") == 0) {
        large();
        dlclose(driver);
        load(argv[2]);
        large();
        large();
    } else if (strcmp(mode, "threads") == 0) {
        threads();
    } else if (strcmp(mode, "mapped") == 0) {
        mapped();
    } else if (strcmp(mode, "before") == 0) {
        before();
    } else if (strcmp(mode, "refused") == 0) {
        freed_in_vain();
    } else {
        if (strcmp(mode, "wait") == 0 &&
            (puts("ready"), fflush(stdout), !fgets(line, sizeof line, stdin)))
            return 4;
        plain();
    }
    printf("%zu given, %u refused\n", given, refused);
    return 0;
}
