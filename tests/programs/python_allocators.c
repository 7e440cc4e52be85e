/*
 * python_allocators LIBPYTHON HOW: embeds Python, whose allocators
 *
 *   raw    are the program's own for `raw`, set before it is initialised: each block begins a page,
 *   mem    the same for `mem`; and the page before it cannot be read
 *   debug  are the debugging ones, set then
 *   steps  as mem; afterwards every instruction of three calls is interrupted by a handler that
 *          maps and unmaps a page
 *   ends   are its own; it is initialised and finalised 20 times while two threads allocate. Ends
 *          with 6 if one of those asked for Python's allocators: the lock of these may be freed
 * then again  are its own; it is initialised and finalised twice: in each life 100 functions are
 *          compiled, run and dropped, and each allocates 200,000 bytes and a header
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "known.h"
#include "python_memory.h"

enum { PAGE = 4096 };

/* A page that tells the size, one that nobody may read, the block. */
static size_t mapping_of(size_t size)
{
    return 2 * PAGE + ((size + PAGE) & ~(size_t)(PAGE - 1));
}

static void *own_malloc(void *context, size_t size)
{
    char *p =
        mmap(NULL, mapping_of(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)context;
    if (p == MAP_FAILED)
        return NULL;
    memcpy(p, &size, sizeof size);
    mprotect(p + PAGE, PAGE, PROT_NONE);
    return p + 2 * PAGE;
}

static void *own_calloc(void *context, size_t count, size_t size)
{
    return own_malloc(context, count * size);
}

static void own_free(void *context, void *block)
{
    size_t size;
    (void)context;
    if (!block)
        return;
    memcpy(&size, (char *)block - 2 * PAGE, sizeof size);
    munmap((char *)block - 2 * PAGE, mapping_of(size));
}

static void *own_realloc(void *context, void *old, size_t size)
{
    size_t before = 0;
    void *block = own_malloc(context, size);
    if (old && block) {
        memcpy(&before, (char *)old - 2 * PAGE, sizeof before);
        memcpy(block, old, before < size ? before : size);
        own_free(context, old);
    }
    return block;
}

static void *library;
static volatile long steps;
static _Atomic int stop;

static void find(const char *name, void *slot)
{
    void *f = dlsym(library, name);
    memcpy(slot, &f, sizeof f);
    if (!f)
        exit(9);
}

static _Atomic int asked_beside;
static _Thread_local bool beside;

/* With -rdynamic the recorder finds this one first. */
__attribute__((visibility("default"))) void PyMem_GetAllocator(int domain, struct allocator *out);

void PyMem_GetAllocator(int domain, struct allocator *out)
{
    void *next = dlsym(RTLD_NEXT, "PyMem_GetAllocator");
    void (*get)(int, struct allocator *);
    memcpy(&get, &next, sizeof get);
    asked_beside |= beside;
    get(domain, out);
}

static void step(int number)
{
    void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)number;
    munmap(p, PAGE);
    steps = steps + 1;
}

#ifdef __x86_64__
#define STEPS_BEGIN() __asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "memory", "cc")
#define STEPS_END()   __asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "memory", "cc")
#else
#define STEPS_BEGIN() raise(SIGTRAP)
#define STEPS_END()   raise(SIGTRAP)
#endif

static void make_steps(void)
{
    void *(*allocate)(size_t), *(*reallocate)(void *, size_t), (*release)(void *);
    find("PyMem_Malloc", &allocate);
    find("PyMem_Realloc", &reallocate);
    find("PyMem_Free", &release);
    signal(SIGTRAP, step);
    for (int i = 0; i < 10; i++) {
        STEPS_BEGIN();
        void *block = allocate(600);
        block = reallocate(block, 9000);
        release(block);
        STEPS_END();
    }
    if (!steps)
        exit(8);
}

static void *work(void *unused)
{
    beside = true;
    while (!stop)
        for (int i = 0; i < 8; i++) {
            void *volatile block = malloc(24 + (size_t)i * 8);
            free(block);
        }
    return unused;
}

#define DROP(life)                                                                                 \
    "for i in range(100):\n"                                                                       \
    "    exec(compile('def " life "_%d(): bytes(200000)\\n" life                                   \
    "_%d()' % (i, i), 'f', 'exec'), {})\n"
static const char first[] = DROP("first"), second[] = DROP("second");

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    void (*initialize)(int), (*set)(int, struct allocator *), (*debug)(void);
    int (*finalize)(void), (*run)(const char *);
    struct allocator own = {NULL, own_malloc, own_calloc, own_realloc, own_free};
    pthread_t threads[2];
    bool ends = strcmp(how, "ends") == 0, again = strcmp(how, "again") == 0;
    library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!library)
        return 9;
    find("Py_InitializeEx", &initialize);
    find("Py_FinalizeEx", &finalize);
    find("PyRun_SimpleString", &run);
    find("PyMem_SetAllocator", &set);
    find("PyMem_SetupDebugHooks", &debug);
    if (strcmp(how, "raw") == 0)
        set(RAW, &own);
    else if (strcmp(how, "debug") == 0)
        debug();
    else if (!ends && !again)
        set(MEM, &own);
    for (int i = 0; ends && i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < (ends ? 20 : again ? 2 : 1); i++) {
        initialize(0);
        if (run("kept = bytes(30001)") || (again && run(i ? second : first)))
            return 7;
        if (strcmp(how, "steps") == 0)
            make_steps();
        if (!ends && !again)
            _exit(0);
        finalize();
    }
    stop = 1;
    for (int i = 0; ends && i < 2; i++)
        pthread_join(threads[i], NULL);
    return asked_beside ? 6 : 0;
}
